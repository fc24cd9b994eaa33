/*
 * A session on this host: vocl-launcher starts the workers with everything that they need inherited. Nothing listens
 * anywhere, and nobody has to show a token. A secret is for those who may come from other hosts later.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/settings.h"
#include "transport/start.h"

static int launch_workers(struct start *start)
{
    struct launch launch = launch_new(start, "vocl-launcher", true);

    strings_add(&launch.arguments, "--workers");
    strings_add(&launch.arguments, "%u", start->workers);
    if (start->tls)
        launch_place(start, &launch);
    else
        launch_guests(start, &launch);
    return launch_helper(start, &launch);
}

/* Rank 0's PMI, then the workers' bells, which TLS has no use for. */
static int receive_all(struct start *start, int *pmi)
{
    int *descriptors = calloc(start->workers + 1, sizeof(*descriptors));
    int error = descriptors ? launch_receive(start, descriptors, start->workers + 1) : -ENOMEM;

    for (unsigned i = 1; !error && i <= start->workers; i++) {
        if (start->tls)
            close(descriptors[i]);
        else
            error = door_expect(&start->door, descriptors[i], i);
    }
    if (!error)
        *pmi = descriptors[0];
    free(descriptors);
    return error;
}

int start_local(struct start *start)
{
    int pmi = -1, error = start->tls ? endpoint_listen_unix(&start->local) : 0;

    start->job->started = STARTED_HERE;
    if (!start->tls)
        launch_keep_key(start);
    if (error)
        start->local.fd = -1;
    else
        error = launch_workers(start);
    if (!error && !start->tls)
        error = enter_load(start);
    if (!error)
        error = receive_all(start, &pmi);
    if (!error && start->tls)
        return enter_tls(start, pmi);
    if (!error)
        error = gather_workers(start);
    if (!error)
        error = enter_ranks(start, pmi, true);
    else if (pmi >= 0)
        close(pmi);
    return error ? error : gather_ranks(start);
}
