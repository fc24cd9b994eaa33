/* What a window has to do with device memory. */
#ifndef XTQMPI_DEVICE_WINDOW_H
#define XTQMPI_DEVICE_WINDOW_H

#include <pthread.h>

#include "mpi/device/device.h"

struct device_window {
    pthread_mutex_t lock;
    struct origin *origins;
    struct device_memory *memory; /* NULL: the window's own memory is the host's */
    void *address;                /* the program's for it */
    size_t offset, bytes;
    uint8_t *copy;  /* MPI's window: what others put into, and get from (the public copy) */
    uint8_t *known; /* what was the same in both when this was looked at last */
    uint8_t *part;  /* twice PART bytes, for the looking */
    int rank;       /* in the window's group */
    bool no_puts;   /* MPI_MODE_NOPUT of the fence before */
};

#endif
