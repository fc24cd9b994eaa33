/* Shared by the programs of tests/devcom: segments of all kinds, and their contents. */
#ifndef DEVCOM_TEST_SEGMENTS_H
#define DEVCOM_TEST_SEGMENTS_H

#include "devcom.h"
#include "tests/xtq/xtqtest.h"

enum { HOST, DEVICE, BOUND, STAGED, BUFFER, GONE, BYTES = 1 << 20, SECOND = 1000000 };

static struct devcom *d;
static struct xtqtest_device device;
static int rank, size;
static bool messages;

static inline void meet(void)
{
    EQUAL(devcom_barrier(d, 60L * SECOND), 0);
}

/* ---- segments ---- */

static uint8_t *bound_memory;
static cl_mem some_buffer;

static inline void make_segments(void)
{
    struct devcom_memory host = {.bytes = BYTES}, bound = {.bytes = BYTES};
    struct devcom_memory on_device = {
        .bytes = BYTES, .context = device.context, .device = device.device, .commands = device.commands};
    struct devcom_memory buffer = {.bytes = BYTES, .commands = device.commands};
    cl_int status;

    EQUAL(devcom_segment_create(d, HOST, &host), 0);
    EQUAL(devcom_segment_create(d, DEVICE, &on_device), 0);
    EXPECT((bound_memory = calloc(1, BYTES)));
    bound.address = bound_memory;
    EQUAL(devcom_segment_register(d, BOUND, devcom_segment_bind(d, BOUND, &bound)), 0);
    if (!messages)
        return;
    on_device.staged = true;
    EQUAL(devcom_segment_create(d, STAGED, &on_device), 0);
    some_buffer = clCreateBuffer(device.context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    EQUAL(status, CL_SUCCESS);
    buffer.buffer = some_buffer;
    EQUAL(devcom_segment_register(d, BUFFER, devcom_segment_bind(d, BUFFER, &buffer)), 0);
}

/* After devcom_finalize(): frees what is the program's own of their memory. */
static inline void drop_segments(void)
{
    free(bound_memory);
    if (some_buffer)
        clReleaseMemObject(some_buffer);
}

static inline bool exists(unsigned segment)
{
    return segment <= BOUND || messages;
}

/* Writes into this rank's segment, whatever its memory is. */
static inline void store(unsigned segment, size_t offset, const void *data, size_t bytes)
{
    void *at;
    cl_mem buffer;

    if (!devcom_segment_ptr(d, rank, segment, &at)) {
        memcpy((uint8_t *)at + offset, data, bytes);
        return;
    }
    EQUAL(devcom_segment_buffer(d, segment, &buffer), 0);
    EQUAL(clEnqueueWriteBuffer(device.commands, buffer, CL_TRUE, offset, bytes, data, 0, NULL, NULL), CL_SUCCESS);
}

static inline void load(unsigned segment, size_t offset, void *data, size_t bytes)
{
    void *at;
    cl_mem buffer;

    if (!devcom_segment_ptr(d, rank, segment, &at)) {
        memcpy(data, (uint8_t *)at + offset, bytes);
        return;
    }
    EQUAL(devcom_segment_buffer(d, segment, &buffer), 0);
    EQUAL(clEnqueueReadBuffer(device.commands, buffer, CL_TRUE, offset, bytes, data, 0, NULL, NULL), CL_SUCCESS);
}

static inline void pattern(uint8_t *data, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(i * 7 + i / 251 + seed);
}

#endif
