/* An MPI plugin whose MPI_Init returns VOCL_TEST_LATE seconds later in the program than in the workers, for
 * late_mpi.sh. */
#include <poll.h>
#include <stdlib.h>

#include "tests/session/real_plugin.h"
#include "transport/plugin/mpi_plugin.h"

static const struct mpi_plugin *real;

static int init(const char *const *environment, void (*ending)(void *), void *argument, bool apart, int *rank,
                int *size, uint32_t *last_tag)
{
    const int error = real->init(environment, ending, argument, apart, rank, size, last_tag);

    if (!error && !*rank)
        poll(NULL, 0, atoi(getenv("VOCL_TEST_LATE")) * 1000);
    return error;
}

/* The constructor fills it before libvocl can look for it. */
__attribute__((visibility("default"))) struct mpi_plugin vocl_mpi_plugin;

__attribute__((constructor)) static void load(void)
{
    real = real_plugin(PLUGIN_SYMBOL);
    if (!real)
        return;
    vocl_mpi_plugin = *real;
    vocl_mpi_plugin.init = init;
}
