/* Sending heartbeats for a program that is stopped: see heartbeat_proxy.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "base/settings.h"
#include "base/socket.h"
#include "proxy/launch/requests.h"
#include "proxy/launch/heartbeat_proxy.h"
#include "transport/alive/bell.h"
#include "transport/starter.h"

static int *bells;
static unsigned count;
static long looked_ms;

bool heartbeat_proxy_hear(int control)
{
    unsigned came = 1;
    int fd = -1, *more;
    ssize_t got;
    char byte;

    got = socket_receive_descriptors(control, &byte, 1, &fd, &came, 1);
    if (came && byte == CONTROL_STARTER) {
        requests_connect(fd);
    } else if (came && (more = realloc(bells, (count + 1) * sizeof(*bells)))) {
        bells = more;
        bells[count++] = fd;
    } else if (came) {
        vocl_log(LOG_ERROR, "no memory for a doorbell: its worker gets no heartbeats while the program is stopped");
        close(fd);
    }
    return got > 0 || got == -EAGAIN || got == -EINTR || got == -ETIMEDOUT;
}

void heartbeat_proxy_end(void)
{
    while (count)
        close(bells[--count]);
}

int heartbeat_proxy_look(int control)
{
    const long every = settings_peer_ms() / 4;
    long left = looked_ms + every - clock_ms();
    pid_t program;

    if (!every || !count)
        return -1;
    if (left > 0)
        return (int)left;
    looked_ms = clock_ms();
    program = socket_process(control);
    if (program && process_is_stopped(program)) {
        for (unsigned i = 0; i < count; i++)
            bell_beat(bells[i], true);
    }
    return (int)every;
}
