/*
 * say POOLFILE WORD...: says anything as a client of the pool's first daemon. A word is
 *
 *     as:USER   the next connections are in the name of that user, whose key is in the pool file's key-file
 *     {...}     a message: sent, and the answer printed; $ID in it is the last ID that was granted
 *     -{...}    a message: sent
 *     @         opens another connection for the following words
 *     read      prints the next message
 *     stay      waits until standard input ends
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pool/client.h"

enum { CONNECTIONS = 200, PATIENCE_MS = 60000 };

static struct poolfile pool;
static struct client clients[CONNECTIONS];
static char granted[64];

static void die(const char *what, const char *why)
{
    fprintf(stderr, "say: %s: %s\n", what, why);
    exit(2);
}

static json_t *message_of(const char *text)
{
    char filled[4096] = "";
    json_error_t error;
    json_t *message;

    for (size_t length = 0; *text && length + sizeof(granted) < sizeof(filled); length = strlen(filled)) {
        const bool id = !strncmp(text, "$ID", 3);

        snprintf(filled + length, sizeof(filled) - length, "%.*s", id ? (int)sizeof(granted) : 1, id ? granted : text);
        text += id ? 3 : 1;
    }
    message = json_loads(filled, 0, &error);
    if (!message)
        die(filled, error.text);
    return message;
}

static void send_message(struct client *client, const char *text)
{
    json_t *message = message_of(text);

    if (client_send(client, message))
        die(text, "the daemon is gone");
    json_decref(message);
}

static void print_answer(struct client *client)
{
    json_t *answer = NULL;
    const char *id;

    if (client_receive(client, &answer, PATIENCE_MS))
        die("answer", "none");
    json_dumpf(answer, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    id = json_string_value(json_object_get(answer, "granted"));
    if (id)
        snprintf(granted, sizeof(granted), "%s", id);
    json_decref(answer);
}

int main(int count, char **words)
{
    struct client *client = clients;
    char why[512], byte;

    if (count < 2 || poolfile_read_file(&pool, words[1], why, sizeof(why)))
        die("usage", "say POOLFILE WORD...");
    for (struct client *c = clients; c < clients + CONNECTIONS; c++)
        c->fd = -1;
    for (int i = 2; i < count; i++) {
        if (!strcmp(words[i], "@") && ++client == clients + CONNECTIONS)
            die("@", "too many connections");
        if (!strncmp(words[i], "as:", 3)) {
            pool.user = words[i] + 3;
            continue;
        }
        if (client->fd < 0 && client_connect(client, &pool, pool.nodes[0].address, why, sizeof(why)))
            die("connect", why);
        if (!strcmp(words[i], "stay")) {
            while (read(0, &byte, 1) > 0)
                ;
        } else if (*words[i] == '-') {
            send_message(client, words[i] + 1);
        } else if (!strcmp(words[i], "read")) {
            print_answer(client);
        } else if (*words[i] == '{') {
            send_message(client, words[i]);
            print_answer(client);
        }
    }
    return 0;
}
