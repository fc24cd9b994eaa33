/* long_source MIB: builds a program with MIB MiB of source, most of it blank, and runs it. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/session/moved.h"

static char *blank_source(size_t length, const char *kernel)
{
    char *source = malloc(length + strlen(kernel) + 1);

    if (!source)
        exit(2);
    for (size_t i = 0; i < length; i++)
        source[i] = i % 100 == 99 ? '\n' : ' ';
    strcpy(source + length, kernel);
    return source;
}

int main(int count, char **arguments)
{
    const size_t length = (count > 1 ? (size_t)atoi(arguments[1]) : 1) << 20, one = 1;
    char *source = blank_source(length, "kernel void answer(global int *to) { to[0] = 42; }\n");
    cl_command_queue queue;
    cl_int error, value = 0;
    cl_device_id device;
    cl_context context;
    cl_kernel kernel;
    cl_mem buffer;

    open_first(&device, &context, &queue);
    kernel = kernel_from(context, source, "answer");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(value), NULL, &error);
    NEED(error);
    NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(value), &value, 0, NULL, NULL));
    printf("%d\n", value);
    free(source);
    return value != 42;
}
