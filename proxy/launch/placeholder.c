/*
 * vocl-placeholder: Open MPI's mpiexec starts it in place of the application, which is rank 0 but was not started by
 * mpiexec. It sends the rank's environment to the application, and runs until the application has ended.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/rendezvous/greeting.h"
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

/* Sends its variables, and waits until they are accepted. */
static bool say(int fd, const char *token, const char *variables, uint32_t length)
{
    char identity[TLS_IDENTITY];
    struct greeting greeting;
    struct welcome welcome;

    identity_write(identity, ANYBODY, 0, 0, token);
    greeting_fill(&greeting, ANYBODY);
    greeting.extra = length;
    return !socket_write_all(fd, identity, sizeof(identity)) && !socket_write_all(fd, &greeting, sizeof(greeting)) &&
           !socket_write_all(fd, variables, length) && !socket_read_all(fd, &welcome, sizeof(welcome), 10000) &&
           welcome.accepted;
}

int main(void)
{
    const char *endpoint = getenv(SESSION_LOCAL), *token = getenv(SESSION_TOKEN);
    uint32_t length;
    char *variables = collect(&length), byte = 0;
    ssize_t got;
    int fd;

    signal(SIGUSR1, SIG_IGN); /* mpiexec's signal that some rank is lost must not end this one */
    if (!endpoint || !token || !variables) {
        fprintf(stderr, "vocl-placeholder: started by VOCL only\n");
        return 2;
    }
    fd = endpoint_connect(endpoint);
    if (fd < 0 || !say(fd, token, variables, length)) {
        vocl_log(LOG_ERROR, "the placeholder was not let in");
        return 1;
    }
    /* Waits until the application has ended; if it ends normally, it sends a 'q'. */
    do
        got = read(fd, &byte, 1);
    while ((got == 1 && byte != 'q') || (got < 0 && errno == EINTR));
    return byte == 'q' ? 0 : 1;
}
