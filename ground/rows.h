/* Copies of blocks of bytes at equal distances, in memory of the host or of a device. */
#ifndef VOCL_GROUND_ROWS_H
#define VOCL_GROUND_ROWS_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rows {
    size_t bytes, count, stride; /* size of a block, their number, the distance from one to the next */
};

/* Copies count blocks of that many bytes each. */
void rows_copy(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride, size_t bytes, size_t count);
/* Copies blocks between a buffer, where they begin at offset, and the host's memory, where their distance is
 * host_stride. write: into the buffer; wait: until the copy has been done. */
cl_int rows_move(cl_command_queue commands, cl_mem buffer, size_t offset, const struct rows *rows, uint8_t *host,
                 size_t host_stride, bool write, bool wait);

#endif
