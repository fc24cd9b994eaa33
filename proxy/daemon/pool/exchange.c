/*
 * Daemons that mpiexec started, one on each node, exchange their addresses by MPI. The first, and each that cannot read
 * the pool file of its own configuration, writes it. MPI is finished at once, because a daemon has to outlive the
 * others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proxy/daemon/pool/internal.h"
#include "transport/plugin/loader.h"

#define EXCHANGE_MS 30000
#define EXCHANGE_TAG 7

struct entry {
    char name[64], address[128];
};

static int transfer(const struct mpi_plugin *mpi, int peer, bool sends, void *bytes, size_t length)
{
    const long until = clock_ms() + EXCHANGE_MS;
    struct plugin_request request;
    size_t got;
    int done = 0, error = sends ? mpi->send(peer, PLUGIN_CONTROL, EXCHANGE_TAG, bytes, length, &request)
                                : mpi->receive(peer, PLUGIN_CONTROL, EXCHANGE_TAG, bytes, length, &request);

    while (!error && !done) {
        error = mpi->test(&request, &done, &got);
        if (!done && clock_ms() > until)
            error = -1;
        usleep(100);
    }
    return error;
}

static int write_pool(const struct daemon *d, const struct entry *entries, int count, char *why, size_t why_size)
{
    char fresh[4096];
    FILE *file;

    snprintf(fresh, sizeof(fresh), "%s.%d.new", d->config->pool_file, (int)getpid());
    file = fopen(fresh, "we");
    if (file) {
        fprintf(file, "auth %s\n", d->config->method);
        if (geteuid())
            fprintf(file, "daemon-uid %u\n", (unsigned)geteuid());
        for (int i = 0; i < count; i++)
            fprintf(file, "node %.63s %.127s\n", entries[i].name, entries[i].address);
    }
    if (!file || fclose(file) || rename(fresh, d->config->pool_file)) {
        snprintf(why, why_size, "%s: %s", d->config->pool_file, strerror(errno));
        return -errno;
    }
    return 0;
}

static int gather(const struct daemon *d, const struct mpi_plugin *mpi, int rank, int size, struct entry *entries)
{
    int error = 0;

    snprintf(entries[rank].name, sizeof(entries[rank].name), "%s", d->config->name);
    snprintf(entries[rank].address, sizeof(entries[rank].address), "%s", d->address);
    for (int peer = 1; !error && !rank && peer < size; peer++)
        error = transfer(mpi, peer, false, &entries[peer], sizeof(*entries));
    for (int peer = 1; !error && !rank && peer < size; peer++)
        error = transfer(mpi, peer, true, entries, (size_t)size * sizeof(*entries));
    if (rank)
        error = transfer(mpi, 0, true, &entries[rank], sizeof(*entries));
    if (rank && !error)
        error = transfer(mpi, 0, false, entries, (size_t)size * sizeof(*entries));
    return error;
}

/* With the default of listen, each daemon is at its own host's loopback address. */
static int check_apart(const struct entry *entries, int count, char *why, size_t why_size)
{
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i; k++) {
            if (strcmp(entries[i].address, entries[k].address))
                continue;
            snprintf(why, why_size, "%s and %s both listen at %s: set listen to an address of its own for each node",
                     entries[k].name, entries[i].name, entries[i].address);
            return -EADDRINUSE;
        }
    }
    return 0;
}

int exchange_endpoints(struct daemon *d, char *why, size_t why_size)
{
    static const char *const own[] = {NULL};
    const struct mpi_plugin *mpi;
    struct entry *entries;
    int rank, size, error;
    uint32_t last_tag;

    if (!getenv("PMI_RANK") && !getenv("OMPI_COMM_WORLD_RANK"))
        return 0;
    mpi = loader_open(getenv("OMPI_COMM_WORLD_RANK") ? "openmpi" : "mpich", false, why, why_size);
    if (!mpi)
        return -ENOENT;
    if (mpi->init(own, NULL, NULL, false, &rank, &size, &last_tag)) {
        snprintf(why, why_size, "MPI_Init_thread failed %s", mpi->complaint());
        return -EIO;
    }
    entries = calloc((size_t)size, sizeof(*entries));
    error = entries ? gather(d, mpi, rank, size, entries) : -ENOMEM;
    if (error)
        snprintf(why, why_size, "the daemons of the job do not find each other");
    if (!error)
        error = check_apart(entries, size, why, why_size);
    if (!error && (!rank || access(d->config->pool_file, R_OK)))
        error = write_pool(d, entries, size, why, why_size);
    if (!error)
        error = mpi->finish();
    free(entries);
    return error;
}
