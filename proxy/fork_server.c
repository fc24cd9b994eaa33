/* Requests to the fork server: see fork_server.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socket.h"
#include "proxy/fork_server.h"

static int send_all(int socket, const struct supervisor_plan *plan, const struct fork_request *request,
                    const int *descriptors, const char *environment)
{
    int error = socket_write_all(socket, request, sizeof(*request));

    for (unsigned sent = 0, some; !error && sent < request->descriptors; sent += some) {
        some = request->descriptors - sent < MOST_DESCRIPTORS ? request->descriptors - sent : MOST_DESCRIPTORS;
        error = socket_send_descriptors(socket, "", 1, descriptors + sent, some);
    }
    if (!error && plan)
        error = socket_write_all(socket, plan, sizeof(*plan));
    return error ? error : socket_write_all(socket, environment, request->length);
}

int fork_server_ask(int server, const struct supervisor_plan *plan, char *const *environment, const int *descriptors,
                    unsigned count)
{
    struct fork_request request = {.descriptors = count};
    char *bytes = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&bytes, &size);
    int ends[2], error = text ? 0 : -ENOMEM;

    for (; text && environment[request.variables]; request.variables++)
        fwrite(environment[request.variables], 1, strlen(environment[request.variables]) + 1, text);
    if (text && fclose(text))
        error = -ENOMEM;
    request.length = (uint32_t)size;
    if (!error && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        error = -errno;
    if (!error) {
        error = socket_send_descriptors(server, plan ? FORK_SUPERVISOR : FORK_WORKER, 1, &ends[1], 1);
        close(ends[1]);
        if (!error)
            error = send_all(ends[0], plan, &request, descriptors, bytes);
        if (error)
            close(ends[0]);
    }
    free(bytes);
    return error ? error : ends[0];
}
