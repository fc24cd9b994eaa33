/*
 * The MPI plugin: MPI as the few functions that the transport needs. One is built for each MPI library and loaded at
 * run time, perhaps into a namespace of its own with a libc of its own: so nothing allocated on one side is freed on
 * the other, and no FILE, errno or lock is shared. Only one thread at a time may call it.
 */
#ifndef VOCL_TRANSPORT_PLUGIN_MPI_PLUGIN_H
#define VOCL_TRANSPORT_PLUGIN_MPI_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUGIN_VERSION 3
#define PLUGIN_SYMBOL "vocl_mpi_plugin"

enum plugin_channel { PLUGIN_CONTROL, PLUGIN_BULK, PLUGIN_CHANNELS };

/* An MPI_Request of any MPI. */
struct plugin_request {
    uintptr_t word;
};

/* All return 0, or -1 when MPI failed; it must not be called again then. */
struct mpi_plugin {
    unsigned version;
    /*
     * Calls MPI_Init_thread with these environment variables ("NAME=value", NULL-terminated; empty: the process' own).
     * Returns rank, size and the largest tag. ending(argument) is called when the MPI library is about to be torn down
     * at exit. apart: this thread has a descriptor table of its own, so MPI's descriptors are invalid in others.
     */
    int (*init)(const char *const *environment, void (*ending)(void *), void *argument, bool apart, int *rank,
                int *size, uint32_t *last_tag);
    /* Writes the library's name, its version without parts that may differ within one job, and its network.
     * Before init(), too. */
    void (*library)(char *text, size_t size);
    /* Whether MPI's network is UCX. */
    bool (*over_ucx)(void);
    int (*send)(int peer, enum plugin_channel channel, uint32_t tag, const void *bytes, size_t length,
                struct plugin_request *request);
    int (*receive)(int peer, enum plugin_channel channel, uint32_t tag, void *bytes, size_t length,
                   struct plugin_request *request);
    /* *length: the number of bytes that a completed receive brought. */
    int (*test)(struct plugin_request *request, int *done, size_t *length);
    /* MPI_Finalize: blocks until all ranks call it. */
    int (*finish)(void);
    /* MPI's own message about its failure, or "". */
    const char *(*complaint)(void);
};

#endif
