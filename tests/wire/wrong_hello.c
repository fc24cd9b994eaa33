/*
 * Stands in for a worker, and sends a greeting that is wrong in one way, named by VOCL_TEST_HELLO. Prints the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/socket.h"
#include "transport/rendezvous/greeting.h"
#include "transport/starter.h"

static void spoil(struct greeting *greeting, const char *how)
{
    if (!strcmp(how, "magic"))
        greeting->magic++;
    else if (!strcmp(how, "version"))
        greeting->version++;
    else if (!strcmp(how, "byte order"))
        greeting->byte_order = 0x04030201;
    else if (!strcmp(how, "pointer size"))
        greeting->pointer_size = 4;
    else if (!strcmp(how, "extra"))
        greeting->extra = 77;
}

/* Returns a socket to the program, and sets the token of the greeting. */
static int reach(const char *how, char token[2 * TOKEN_BYTES + 1])
{
    const char *bell = getenv(SESSION_BELL), *endpoint = getenv(SESSION_ENDPOINT), *given = getenv(SESSION_TOKEN);

    *token = '\0';
    if (bell)
        return atoi(bell);
    if (!endpoint || !given)
        return -1;
    snprintf(token, 2 * TOKEN_BYTES + 1, "%s", given);
    if (!strcmp(how, "token"))
        token[2 * TOKEN_BYTES - 1] ^= 1;
    return endpoint_connect(endpoint);
}

int main(void)
{
    const char *how = getenv("VOCL_TEST_HELLO"), *rank = getenv("PMI_RANK");
    char token[2 * TOKEN_BYTES + 1];
    struct welcome welcome;
    struct {
        char identity[TLS_IDENTITY];
        struct greeting greeting;
    } hello;
    int fd = how ? reach(how, token) : -1;

    if (fd < 0)
        return 98;
    identity_write(hello.identity, rank ? (unsigned)atoi(rank) : ANYBODY, 0, 0, token);
    greeting_fill(&hello.greeting, ANYBODY);
    spoil(&hello.greeting, how);
    if (!strcmp(how, "nothing"))
        return 0;
    if (socket_write_all(fd, &hello, strcmp(how, "half") ? sizeof(hello) : sizeof(hello) / 2))
        return 97;
    if (!strcmp(how, "half"))
        return 0;
    if (socket_read_all(fd, &welcome, sizeof(welcome), 5000)) {
        fprintf(stderr, "vocl: the worker was told nothing\n");
        return 96;
    }
    welcome.why[sizeof(welcome.why) - 1] = '\0';
    fprintf(stderr, "vocl: the worker was told: %s\n", welcome.accepted ? "welcome" : welcome.why);
    return 1;
}
