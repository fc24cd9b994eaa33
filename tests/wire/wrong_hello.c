/*
 * Stands in for a worker, and says a hello that is wrong in one way, named by VOCL_TEST_HELLO. Prints the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/internal.h"

static void spoil(struct hello *hello, const char *how)
{
    if (!strcmp(how, "magic"))
        hello->magic++;
    else if (!strcmp(how, "version"))
        hello->version++;
    else if (!strcmp(how, "byte order"))
        hello->byte_order = 0x04030201;
    else if (!strcmp(how, "pointer size"))
        hello->pointer_size = 4;
    else if (!strcmp(how, "token"))
        hello->token[TOKEN_BYTES - 1] ^= 1;
    else if (!strcmp(how, "role"))
        hello->role = 77;
}

int main(void)
{
    const char *bell = getenv("VOCL_SESSION_BELL"), *how = getenv("VOCL_TEST_HELLO");
    const char *endpoint = getenv("VOCL_SESSION_ENDPOINT"); /* of one that is not born with a bell */
    uint8_t token[TOKEN_BYTES] = {0};
    struct hello_reply reply;
    struct hello hello;
    int fd;

    if (!how || (!bell && (!endpoint || !hex_read(getenv("VOCL_SESSION_TOKEN"), token, TOKEN_BYTES))))
        return 99;
    fd = bell ? atoi(bell) : endpoint_connect(endpoint);
    if (fd < 0)
        return 98;
    hello_fill(&hello, HELLO_WORKER, token, 0);
    spoil(&hello, how);
    if (!strcmp(how, "nothing"))
        return 0;
    if (socket_write_all(fd, &hello, strcmp(how, "half") ? sizeof(hello) : sizeof(hello) / 2))
        return 97;
    if (!strcmp(how, "half"))
        return 0;
    if (socket_read_all(fd, &reply, sizeof(reply), 5000))
        return 96;
    reply.why[sizeof(reply.why) - 1] = '\0';
    fprintf(stderr, "vocl: the worker was told: %s\n", reply.accepted ? "welcome" : reply.why);
    return 1;
}
