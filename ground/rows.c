/* See rows.h. */
#include <string.h>

#include "ground/rows.h"

#define LINE 64

void rows_copy(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride, size_t bytes, size_t count)
{
    switch (bytes) { /* the compiler turns copies of a constant size into loads and stores */
    case 4:
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * to_stride, from + i * from_stride, 4);
        break;
    case 8:
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * to_stride, from + i * from_stride, 8);
        break;
    case 64:
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * to_stride, from + i * from_stride, 64);
        break;
    default:
        for (size_t i = 0; i < count; i++) { /* the processor cannot predict where the next begins */
            __builtin_prefetch(from + (i + 1) * from_stride);
            __builtin_prefetch(from + (i + 1) * from_stride + LINE);
            __builtin_prefetch(from + (i + 1) * from_stride + (size_t)2 * LINE);
            __builtin_prefetch(to + (i + 1) * to_stride, 1);
            __builtin_prefetch(to + (i + 1) * to_stride + LINE, 1);
            memcpy(to + i * to_stride, from + i * from_stride, bytes);
        }
    }
}

static cl_int move_block(cl_command_queue commands, cl_mem buffer, size_t offset, size_t bytes, uint8_t *host,
                         bool write, bool wait)
{
    return write ? clEnqueueWriteBuffer(commands, buffer, wait, offset, bytes, host, 0, NULL, NULL)
                 : clEnqueueReadBuffer(commands, buffer, wait, offset, bytes, host, 0, NULL, NULL);
}

cl_int rows_move(cl_command_queue commands, cl_mem buffer, size_t offset, const struct rows *rows, uint8_t *host,
                 size_t host_stride, bool write, bool wait)
{
    const size_t stride = rows->stride, bytes = rows->bytes, region[3] = {bytes, rows->count, 1}, here[3] = {0, 0, 0};
    cl_int status = CL_SUCCESS;

    if (rows->count == 1 || (stride == bytes && host_stride == bytes))
        return move_block(commands, buffer, offset, bytes * rows->count, host, write, wait);
    if (offset % stride + bytes <= stride) { /* otherwise blocks would cross the rectangle's edge */
        const size_t there[3] = {offset % stride, offset / stride, 0};

        return write ? clEnqueueWriteBufferRect(commands, buffer, wait, there, here, region, stride, 0, host_stride, 0,
                                                host, 0, NULL, NULL)
                     : clEnqueueReadBufferRect(commands, buffer, wait, there, here, region, stride, 0, host_stride, 0,
                                               host, 0, NULL, NULL);
    }
    for (size_t i = 0; i < rows->count && !status; i++)
        status = move_block(commands, buffer, offset + i * stride, bytes, host + i * host_stride, write, wait);
    return status;
}
