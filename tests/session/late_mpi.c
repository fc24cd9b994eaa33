/* An MPI plugin whose MPI_Init returns some seconds later in the program than in the workers, for late_mpi.sh. */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport/plugin.h"

static const struct mpi_plugin *real;

static int init(const char *const *environment, void (*ending)(void *), void *argument, bool apart, int *rank,
                int *size, uint32_t *last_tag)
{
    const int error = real->init(environment, ending, argument, apart, rank, size, last_tag);

    if (!error && !*rank)
        poll(NULL, 0, 5000);
    return error;
}

/* Filled before anybody can look for it. */
__attribute__((visibility("default"))) struct mpi_plugin vocl_mpi_plugin;

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("VOCL_TEST_PLUGIN");
    void *library =
        path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL; /* it is first in its own scope */

    real = library ? dlsym(library, PLUGIN_SYMBOL) : NULL;
    if (!real) {
        fprintf(stderr, "%s\n", path ? dlerror() : "VOCL_TEST_PLUGIN names no plugin");
        return;
    }
    vocl_mpi_plugin = *real;
    vocl_mpi_plugin.init = init;
}
