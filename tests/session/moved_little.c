/*
 * Has a large buffer of which it has written little (1 MiB, and 4 KiB through a sub-buffer), one that it has not
 * written, and a small one that a kernel writes. Waits until FILE exists, and compares the contents.
 * usage: moved_little FILE
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/session/moved.h"

enum { MANY = 64 << 20, PIECE = 1 << 20, FIRST = 20 << 20, SECOND = 50 << 20, SHORT = 4096, ITEMS = 16384 };

static const char *source = "kernel void count(global uint *data) { data[get_global_id(0)] = get_global_id(0) * 3; }\n";

static cl_mem buffer_of(cl_context context, size_t size)
{
    cl_int error;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &error);

    NEED(error);
    return buffer;
}

int main(int count, char **words)
{
    const cl_buffer_region part_region = {SECOND, PIECE};
    const size_t items = ITEMS;
    const cl_uchar filling = 77;
    unsigned char *bytes = malloc(PIECE), *seen = malloc(PIECE);
    cl_platform_id platform;
    cl_command_queue queue;
    cl_device_id device;
    cl_context context;
    cl_program program;
    cl_mem large, part, small, untouched;
    cl_uint data[ITEMS];
    cl_kernel kernel;
    cl_int error;

    for (int i = 0; i < PIECE; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 255);
    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    NEED(error);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    NEED(error);
    large = buffer_of(context, MANY);
    untouched = buffer_of(context, MANY);
    small = buffer_of(context, sizeof(data));
    part = clCreateSubBuffer(large, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &part_region, &error);
    NEED(error);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    NEED(error);
    NEED(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    kernel = clCreateKernel(program, "count", &error);
    NEED(error);
    NEED(clSetKernelArg(kernel, 0, sizeof(small), &small));
    NEED(clEnqueueWriteBuffer(queue, large, CL_TRUE, FIRST, PIECE, bytes, 0, NULL, NULL));
    NEED(clEnqueueFillBuffer(queue, part, &filling, 1, 0, SHORT, 0, NULL, NULL));
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    NEED(clFinish(queue));
    say("ready");
    wait_for(count > 1 ? words[1] : "/");
    NEED(clEnqueueReadBuffer(queue, large, CL_TRUE, FIRST, PIECE, seen, 0, NULL, NULL));
    if (memcmp(seen, bytes, PIECE))
        return puts("what was written is not there"), 1;
    NEED(clEnqueueReadBuffer(queue, large, CL_TRUE, SECOND, SHORT, seen, 0, NULL, NULL));
    for (int i = 0; i < SHORT; i++) {
        if (seen[i] != filling)
            return puts("what was filled is not there"), 1;
    }
    NEED(clEnqueueReadBuffer(queue, small, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
    for (cl_uint i = 0; i < ITEMS; i++) {
        if (data[i] != i * 3)
            return puts("what a kernel has written is not there"), 1;
    }
    NEED(clReleaseMemObject(part));
    NEED(clReleaseMemObject(untouched));
    free(bytes);
    free(seen);
    puts("right");
    return 0;
}
