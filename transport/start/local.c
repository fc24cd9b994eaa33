/*
 * A session on this host: the workers inherit from vocl-launcher all that they need. Nobody listens, and no token is
 * shown, except over TLS. The secret is for members that may come from other hosts later.
 *
 * By pairs, without MPI, each worker has PAIR_SOCKETS connections with the program, and with each other worker. If
 * there are many workers (WORKERS_LATER), the cost of a session must grow only in proportion to their number: two of
 * them are connected on demand then (transport/join/later.c). Frames go through shared memory (transport/shm/ring.c),
 * and bulk data are copied from the other process's memory (transport/stream/cross_memory.c). Otherwise each worker has
 * a bell, and MPI is between them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/start/start.h"

static int launch_workers(struct start *start, bool pairs)
{
    struct launch launch = launch_new(start, "vocl-launcher", true);

    strings_add(&launch.arguments, pairs ? "--pairs" : "--workers");
    strings_add(&launch.arguments, "%u", start->workers);
    if (start->tls)
        launch_place(start, &launch);
    else
        launch_newcomers(start, &launch);
    return launch_helper(start, &launch);
}

/* If the program's limit of descriptors is low, moves the session's to numbers above the limit. */
static void leave_numbers(const struct start *start, int *descriptors, unsigned count)
{
    for (unsigned i = 0; start->numbers && i < count; i++) {
        const int number = fcntl(descriptors[i], F_DUPFD_CLOEXEC, (int)start->numbers);

        if (number < 0)
            continue;
        close(descriptors[i]);
        descriptors[i] = number;
    }
}

/* Receives the program's ends: with MPI, or TLS in its place, rank 0's PMI and each worker's bell, else all
 * connections. */
static int receive_all(struct start *start, bool pairs, int *pmi)
{
    const unsigned each = pairs ? PAIR_SOCKETS : 1, count = each * start->workers + !pairs;
    int error;

    start->born = calloc(count, sizeof(*start->born));
    error = start->born ? launch_receive(start, start->born, count) : -ENOMEM;
    if (error)
        return error;
    leave_numbers(start, start->born, count);
    start->each = each;
    if (!pairs) {
        *pmi = start->born[0];
        memmove(start->born, start->born + 1, (count - 1) * sizeof(*start->born));
    }
    if (start->tls) /* which does not use bells */
        start_drop_born(start);
    return 0;
}

int start_local(struct start *start, bool pairs)
{
    int pmi = -1, error = start->tls ? endpoint_listen_unix(&start->local) : 0;

    if (pairs)
        vocl_log(LOG_INFO, "%u workers are reached by pairs of sockets, without MPI%s", start->workers,
                 strcmp(settings_string(SETTING_NETWORK), "auto") ? ", as VOCL_NETWORK says"
                                                                  : ": they are on this host");
    start->job->started = STARTED_HERE;
    if (!start->tls)
        launch_keep_key(start);
    if (error)
        start->local.fd = -1;
    else
        error = launch_workers(start, pairs);
    if (!error && !start->tls && !pairs)
        error = enter_load(start);
    if (!error)
        error = receive_all(start, pairs, &pmi);
    if (!error)
        return enter_session(start, pmi, true);
    if (pmi >= 0)
        close(pmi);
    return error;
}
