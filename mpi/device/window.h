/* The state of a window that has to do with device memory, as its memory or as the origin of operations. */
#ifndef XTQMPI_DEVICE_WINDOW_H
#define XTQMPI_DEVICE_WINDOW_H

#include <pthread.h>

#include "mpi/device/device.h"

struct device_window {
    pthread_mutex_t lock;
    struct origin *origins;
    struct device_memory *memory; /* NULL: the window's own memory is the host's */
    void *address;                /* the program's address of it */
    size_t offset, bytes;
    uint8_t *copy;  /* the public copy: the memory of MPI's window, which others put into and get from */
    uint8_t *known; /* the contents of both at the last comparison */
    uint8_t *part;  /* twice PART bytes, for comparisons */
    int rank;       /* in the window's group */
    bool no_puts;   /* the previous fence had MPI_MODE_NOPUT */
};

#endif
