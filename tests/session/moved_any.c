/*
 * Queries its device, waits for the first FILE, queries again, and compares the answers and its buffers. With "pipe" it
 * also has a pipe, to which a kernel writes after the first FILE exists; with "gate" its first commands wait for a user
 * event, which it sets then. It waits for the second FILE before it ends.
 * usage: moved_any FILE FILE [pipe|gate] [QUERY]...
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/session/moved.h"

enum { ITEMS = 1024, MANY = 65536, MOST = 16384, QUERIES = 32 };

static const char *source =
    "kernel void count(global uint *data, uint by) { data[get_global_id(0)] += get_global_id(0) * by; }\n";
static const char *into = "kernel void into(write_only image2d_t all) { write_imageui(all, (int2)(0, 0), 1); }\n";

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static void run(cl_kernel kernel, size_t items)
{
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    NEED(clFinish(queue));
}

int main(int count, char **words)
{
    static char told[QUERIES][MOST], now[MOST];
    const bool has_pipe = count > 3 && !strcmp(words[3], "pipe");
    const bool has_gate = count > 3 && !strcmp(words[3], "gate");
    const int first = has_pipe || has_gate ? 4 : 3;
    const cl_uint three = 3;
    cl_uint data[ITEMS] = {0}, early[ITEMS] = {0}, large[MANY], seen[MANY] = {0};
    cl_platform_id platform;
    cl_kernel kernel, pipe_kernel = NULL;
    cl_mem buffer, other, pipe = NULL;
    cl_event gate = NULL;
    size_t length;
    cl_int error;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    for (int i = first; i < count; i++)
        NEED(clGetDeviceInfo(device, (cl_device_info)strtoul(words[i], NULL, 0), MOST, told[i - first], NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    NEED(error);
    queue = clCreateCommandQueue(context, device, 0, &error);
    NEED(error);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(data), data, &error);
    NEED(error);
    kernel = kernel_from(context, source, "count");
    NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    NEED(clSetKernelArg(kernel, 1, sizeof(three), &three));
    if (has_pipe) {
        pipe = clCreatePipe(context, 0, 16, 16, NULL, &error);
        NEED(error);
        pipe_kernel = kernel_from(context, into, "into");
    }
    other = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(large), NULL, &error);
    NEED(error);
    for (cl_uint i = 0; i < MANY; i++)
        large[i] = i * 5;
    gate = clCreateUserEvent(context, &error);
    NEED(error);
    if (!has_gate)
        NEED(clSetUserEventStatus(gate, CL_COMPLETE));
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &(size_t){ITEMS}, NULL, 1, &gate, NULL));
    NEED(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof(early), early, 0, NULL, NULL));
    NEED(clEnqueueWriteBuffer(queue, other, CL_FALSE, 0, sizeof(large), large, 0, NULL, NULL));
    NEED(clEnqueueReadBuffer(queue, other, CL_FALSE, 0, sizeof(seen), seen, 0, NULL, NULL));
    NEED(clFlush(queue));
    say("ready");
    wait_for(words[1]);
    if (has_gate)
        NEED(clSetUserEventStatus(gate, CL_COMPLETE));
    NEED(clFinish(queue));
    for (cl_uint i = 0; i < MANY; i++) {
        if (seen[i] != large[i] || (i < ITEMS && early[i] != i * 3))
            return printf("behind the gate: %u is %u\n", i, seen[i]), 1;
    }
    run(kernel, ITEMS);
    if (has_pipe) {
        NEED(clSetKernelArg(pipe_kernel, 0, sizeof(pipe), &pipe));
        run(pipe_kernel, 1);
    }
    for (int i = first; i < count; i++) {
        NEED(clGetDeviceInfo(device, (cl_device_info)strtoul(words[i], NULL, 0), MOST, now, &length));
        if (memcmp(now, told[i - first], length))
            return printf("query %s has another answer\n", words[i]), 1;
    }
    say("used");
    wait_for(words[2]);
    run(kernel, ITEMS);
    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
    for (cl_uint i = 0; i < ITEMS; i++) {
        if (data[i] != i * 9)
            return printf("item %u is %u\n", i, data[i]), 1;
    }
    say("right");
    return 0;
}
