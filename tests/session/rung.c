/*
 * rung FOLDER: the worker (this program in vocl-proxy's place) rings for an earlier frame just after the program has
 * announced its sleep, and before its last look. Prints "awake" if the program then looks again, instead of sleeping
 * while the worker takes it for awake. The two agree by files in the folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/session/both_sides.h"
#include "transport/core/link.h"

static char folder[512]; /* the worker's, when it is known */

static void path_of(char path[600], const char *within, const char *name)
{
    snprintf(path, 600, "%s/%s", within, name);
}

static void say(const char *within, const char *name)
{
    char path[600];
    int fd;

    path_of(path, within, name);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0)
        close(fd);
}

static void await(const char *within, const char *name)
{
    char path[600];

    path_of(path, within, name);
    while (access(path, F_OK))
        usleep(1000);
}

/* ---- the worker ---- */

static int worker_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    (void)owner, (void)peer;
    if (length >= sizeof(folder))
        return -EBADMSG;
    memcpy(folder, bytes, length);
    return 0;
}

static int work(void)
{
    bool rings = true;

    if (!open_worker(worker_frame))
        return 1;
    while (!over) {
        transport_poll(t);
        if (!*folder || !rings)
            continue;
        rings = false;
        say(folder, "ready");
        await(folder, "announced");
        link_ring(&t->peers[0]);
        say(folder, "rung");
    }
    _exit(0);
}

/* ---- the program ---- */

static int sleep_while_rung(const char *within)
{
    int found;

    if (!open_program())
        return 1;
    while (!t->peers[1].bell.ring) /* the worker has accepted it; then the first frame goes there */
        transport_poll(t);
    if (transport_send(t, 1, within, strlen(within) + 1))
        return puts("nothing can be sent"), 1;
    await(within, "ready");
    do
        transport_announce(t);
    while (transport_poll(t));
    transport_announce(t);
    say(within, "announced");
    await(within, "rung");
    found = transport_poll(t);
    puts(found ? "awake" : "asleep");
    transport_close(t);
    return 0;
}

int main(int count, char **arguments)
{
    if (count > 1 && !strcmp(arguments[1], "--worker"))
        return work();
    return count < 2 || sleep_while_rung(arguments[1]);
}
