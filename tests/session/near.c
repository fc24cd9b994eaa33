/*
 * near right: data of many sizes travel to each of two devices and back, and from one to the other, several at a time,
 * and arrive unchanged. near until-lost: the data travel until a worker is lost, which is an error: prints "lost".
 */
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 3, MOST = 24 << 20 };

static cl_command_queue queues[2];
static cl_context context;
static uint32_t *out, *in;

static const size_t sizes[] = {4, 4096, (16 << 10) - 4, 16 << 10, 100004, 1 << 20, (4 << 20) + 8, MOST};

static void fill(size_t words, uint32_t seed)
{
    for (size_t i = 0; i < words; i++)
        out[i] = seed = seed * 1664525u + 1013904223u;
    memset(in, 0, words * sizeof(*in));
}

static bool good(cl_int status)
{
    return status == CL_SUCCESS;
}

/* Writes data to the first device, copies them on the second device into another buffer, and reads them back; meanwhile
 * writes and reads a third buffer on the first device. */
static bool go_round(size_t bytes, uint32_t seed, bool *right)
{
    cl_int status[3];
    cl_mem buffers[3];
    cl_event written;
    bool all;

    fill(bytes / 4, seed);
    for (int i = 0; i < 3; i++)
        buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status[i]);
    all = good(status[0]) && good(status[1]) && good(status[2]) &&
          good(clEnqueueWriteBuffer(queues[0], buffers[0], CL_FALSE, 0, bytes, out, 0, NULL, &written)) &&
          good(clEnqueueWriteBuffer(queues[0], buffers[2], CL_FALSE, 0, bytes, out, 0, NULL, NULL)) &&
          good(clFlush(queues[0])) &&
          good(clEnqueueCopyBuffer(queues[1], buffers[0], buffers[1], 0, 0, bytes, 1, &written, NULL)) &&
          good(clEnqueueReadBuffer(queues[1], buffers[1], CL_TRUE, 0, bytes, in, 0, NULL, NULL));
    *right = all && !memcmp(in, out, bytes);
    all = all && good(clEnqueueReadBuffer(queues[0], buffers[2], CL_TRUE, 0, bytes, in, 0, NULL, NULL)) &&
          good(clReleaseEvent(written));
    *right &= all && !memcmp(in, out, bytes);
    for (int i = 0; i < 3; i++)
        all &= status[i] || good(clReleaseMemObject(buffers[i]));
    return all;
}

static int right(void)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        for (uint32_t time = 0; time < TIMES; time++) {
            bool same;

            if (!go_round(sizes[i], time + (uint32_t)i, &same))
                return printf("an error at %zu bytes\n", sizes[i]), 1;
            if (!same)
                return printf("%zu bytes are not what they were\n", sizes[i]), 1;
        }
    }
    return puts("right") < 0;
}

static int until_lost(void)
{
    bool same = true;

    puts("going");
    fflush(stdout);
    for (uint32_t time = 0; go_round(MOST, time, &same); time++) {
        if (!same)
            return puts("wrong"), 1;
    }
    return puts("lost") < 0;
}

int main(int count, char **words)
{
    cl_device_id devices[2];
    cl_platform_id platform;
    cl_uint number;
    cl_int status;

    out = malloc(MOST);
    in = malloc(MOST);
    if (count < 2 || !out || !in || clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &number))
        return puts("no devices"), 1;
    number = number < 2 ? 1 : 2;
    context = clCreateContext(NULL, number, devices, NULL, NULL, &status);
    for (cl_uint i = 0; i < 2 && !status; i++)
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i % number], NULL, &status);
    if (status)
        return printf("error %d\n", status), 1;
    return strcmp(words[1], "right") ? until_lost() : right();
}
