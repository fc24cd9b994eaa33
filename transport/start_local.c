/*
 * A session on this host: vocl-launcher starts the workers with everything that they need inherited. Nothing listens
 * anywhere, and nobody has to show a token.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/settings.h"
#include "transport/start.h"

static int launch_workers(struct start *start)
{
    char **arguments = NULL;

    list_add(&arguments, "%s/vocl-launcher", settings_string(SETTING_LIBEXECDIR));
    list_add(&arguments, "--workers");
    list_add(&arguments, "%u", start->workers);
    return launch_helper(start, arguments, launch_environment(start, true));
}

/* Rank 0's PMI, then the workers' bells. */
static int receive_all(struct start *start, int *pmi)
{
    int *descriptors = calloc(start->workers + 1, sizeof(*descriptors));
    int error = descriptors ? launch_receive(start, descriptors, start->workers + 1) : -ENOMEM;

    for (unsigned i = 1; !error && i <= start->workers; i++)
        error = door_expect(&start->door, descriptors[i], i);
    if (!error)
        *pmi = descriptors[0];
    free(descriptors);
    return error;
}

int start_local(struct start *start)
{
    int pmi = -1, error = launch_workers(start);

    if (!error)
        error = enter_load(start);
    if (!error)
        error = receive_all(start, &pmi);
    if (!error)
        error = gather_workers(start);
    if (!error)
        error = enter_ranks(start, pmi, true);
    else if (pmi >= 0)
        close(pmi);
    return error ? error : gather_ranks(start);
}
