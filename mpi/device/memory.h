/* The device memory that an address stands for. */
#ifndef XTQMPI_DEVICE_MEMORY_H
#define XTQMPI_DEVICE_MEMORY_H

#include "mpi/device/device.h"

struct device_memory {
    _Atomic unsigned users;
    cl_command_queue commands;
    cl_mem buffer; /* NULL for SVM */
    uint8_t *svm;
    size_t bytes;
};

#endif
