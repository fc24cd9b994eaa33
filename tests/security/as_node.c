/* as_node POOLFILE NODE PUBLIC SECRET [DO [USER [GID]]]: uses a node's secret key to ask the pool's first daemon, whose
 * public key this is, to do something. Prints its answer. DO "record": asks for a reservation, which the daemon
 * refuses, and then for the daemon's state. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pool/client.h"

/* Writes the key that the two nodes share, from which the connection's key comes: the plugin treats it like a
 * user's. */
static void write_key(const char *path, const char *name, const char *public_text, const char *secret_text)
{
    uint8_t public[32], secret[32], shared[32];
    char text[65];
    FILE *file = fopen(path, "w");

    if (!file || sodium_hex2bin(public, 32, public_text, 64, NULL, NULL, NULL) ||
        sodium_hex2bin(secret, 32, secret_text, 64, NULL, NULL, NULL) || crypto_box_beforenm(shared, public, secret))
        exit(2);
    fprintf(file, "%s %s\n", name, sodium_bin2hex(text, sizeof(text), shared, 32));
    fclose(file);
}

/* Sends a message, and skips what arrives before the answer, which has this member. */
static int ask(struct client *client, json_t *question, const char *member, json_t **answer)
{
    int error = client_send(client, question);

    json_decref(*answer);
    *answer = NULL;
    while (!error && !json_object_get(*answer, member)) {
        json_decref(*answer);
        *answer = NULL;
        error = client_receive(client, answer, 60000);
    }
    return error;
}

/* Asks as a daemon that watches. */
static int reserve(struct client *client, json_t *question, json_t **answer)
{
    json_t *watch = json_pack("{s:s}", "do", "watch");
    int error = client_send(client, watch) || ask(client, question, "reserved", answer);

    json_decref(watch);
    return error;
}

static int record(struct client *client, json_t *question, const char *node, json_t **answer)
{
    json_t *watch = json_pack("{s:s, s:s}", "do", "watch", "news", "all");
    json_t *want = json_pack("{s:s, s:{s:i}}", "do", "want", "nodes", node, 1);
    int error = 0;

    while (!error && !json_object_get(json_object_get(*answer, "have"), node)) /* or it knows nothing of itself yet */
        error = ask(client, watch, "have", answer);
    json_object_set_new(question, "do", json_string("reserve"));
    error = error || ask(client, question, "reserved", answer) || ask(client, want, "record", answer);
    json_decref(watch);
    json_decref(want);
    return error;
}

/* What the words say. */
static int do_it(struct client *client, const char *what, const char *node, json_t *question, json_t **answer,
                 char why[512])
{
    if (!strcmp(what, "record"))
        return record(client, question, node, answer);
    return !strcmp(what, "reserve") ? reserve(client, question, answer)
                                    : client_call(client, question, answer, why, 512);
}

int main(int count, char **words)
{
    json_t *question, *answer = NULL;
    struct poolfile pool;
    struct client client;
    char why[512], name[80], path[] = "/tmp/as-node-XXXXXX";

    if (count < 5 || channel_prepare() || poolfile_read_file(&pool, words[1], why, sizeof(why)))
        return 2;
    close(mkstemp(path));
    snprintf(name, sizeof(name), "@%s", words[2]);
    write_key(path, name, words[3], words[4]);
    free(pool.key_file);
    pool.key_file = path;
    pool.user = name;
    question = json_pack("{s:s, s:s, s:s, s:s, s:i, s:I, s:[i]}", "do", count > 5 ? words[5] : "status", "session",
                         "0123456789abcdef0123456789abcdef", "owner", "root", "user", count > 6 ? words[6] : "root",
                         "uid", 0, "gid", (json_int_t)(count > 7 ? atoll(words[7]) : 0), "devices", 0);
    if (client_connect(&client, &pool, pool.nodes[0].address, why, sizeof(why)))
        printf("%s\n", why);
    else if (do_it(&client, count > 5 ? words[5] : "status", pool.nodes[0].name, question, &answer, why))
        printf("%s\n", why);
    else
        json_dumpf(answer, stdout, JSON_COMPACT);
    unlink(path);
    return 0;
}
