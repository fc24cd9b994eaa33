/* Blocks of bytes at a distance of each other, in memory of the host or of a device. */
#ifndef VOCL_GROUND_ROWS_H
#define VOCL_GROUND_ROWS_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rows {
    size_t bytes, count, stride; /* of each, how many, from one to the next */
};

/* So many blocks, from one distance to another. */
void rows_copy(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride, size_t bytes, size_t count);
/* Between a buffer, from an offset on, and the host's memory, where they are at a distance of their own; write: into
 * the buffer. */
cl_int rows_move(cl_command_queue commands, cl_mem buffer, size_t offset, const struct rows *rows, uint8_t *host,
                 size_t host_stride, bool write, bool wait);

#endif
