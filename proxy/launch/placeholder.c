/*
 * vocl-placeholder: Open MPI's mpiexec starts it in place of the application, which is rank 0 but was not started by
 * mpiexec. It hands the rank's environment to the application, and stands for it until the application is gone.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/starter.h"

extern char **environ;

static int wanted(const char *variable)
{
    return !strncmp(variable, "PMIX_", 5) || !strncmp(variable, "OMPI_", 5);
}

static char *collect(uint32_t *length)
{
    char *all = NULL;

    *length = 0;
    for (char **at = environ; *at; at++) {
        size_t more = strlen(*at) + 1;
        char *longer;

        if (!wanted(*at))
            continue;
        longer = realloc(all, *length + more);
        if (!longer)
            return NULL;
        all = longer;
        memcpy(all + *length, *at, more);
        *length += (uint32_t)more;
    }
    return all;
}

int main(void)
{
    const char *endpoint = getenv(SESSION_LOCAL);
    uint8_t token[TOKEN_BYTES];
    struct hello_reply reply;
    struct hello hello;
    uint32_t length;
    char *variables = collect(&length), byte = 0;
    ssize_t got;
    int fd;

    signal(SIGUSR1, SIG_IGN); /* mpiexec's word that some rank is lost, of which this one is not to die */
    if (!endpoint || !hex_read(getenv(SESSION_TOKEN), token, TOKEN_BYTES) || !variables) {
        fprintf(stderr, "vocl-placeholder: started by VOCL only\n");
        return 2;
    }
    fd = endpoint_connect(endpoint);
    hello_fill(&hello, HELLO_PLACEHOLDER, token, length);
    if (fd < 0 || socket_write_all(fd, &hello, sizeof(hello)) || socket_write_all(fd, variables, length) ||
        socket_read_all(fd, &reply, sizeof(reply), 10000) || !reply.accepted) {
        vocl_log(LOG_ERROR, "the placeholder was not let in");
        return 1;
    }
    /* Until the application is gone; it says goodbye when it ends in order. */
    do
        got = read(fd, &byte, 1);
    while ((got == 1 && byte != 'q') || (got < 0 && errno == EINTR));
    return byte == 'q' ? 0 : 1;
}
