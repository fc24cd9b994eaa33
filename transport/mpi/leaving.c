/* The end of an MPMD job: all ranks have to call MPI_Finalize. */
#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/leave.h"
#include "base/socket.h"
#include "transport/core/link.h"

#define LEAVING_MS 5000
#define QUIET_MS 20

/* Whether the other end closes in time. */
static bool wait_for_end(const struct bell *bell, long until)
{
    char bytes[256];

    while (socket_wait(bell->socket.fd, POLLIN, until - clock_ms()) > 0) {
        ssize_t got = recv(bell->socket.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (!got || (got < 0 && errno != EAGAIN && errno != EINTR))
            return true;
    }
    return false;
}

/*
 * A worker shuts its bell down, to say that it makes no more progress, and waits for the application to do the same,
 * which first waits for all workers. That alone failed in one of ten runs (base/leave.h); with a short silence after
 * it, all of two hundred succeeded. If a worker is lost, or does not come, MPI_Finalize would wait for it for ever:
 * false.
 */
bool link_leave_together(struct transport *t)
{
    const long until = clock_ms() + LEAVING_MS;
    bool all = !t->incomplete;

    if (!t->client) {
        shutdown(t->peers[0].bell.socket.fd, SHUT_WR);
        all &= wait_for_end(&t->peers[0].bell, until);
    }
    for (int i = 1; t->client && i < t->job.size; i++)
        all &= wait_for_end(&t->peers[i].bell, until);
    for (int i = 1; t->client && i < t->job.size; i++)
        shutdown(t->peers[i].bell.socket.fd, SHUT_WR);
    leave_quietly(QUIET_MS);
    return all;
}
