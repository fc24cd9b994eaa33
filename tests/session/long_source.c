/* long_source MIB: builds a program whose source is so long, most of it blank, and runs it. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

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
    const char *source = blank_source(length, "kernel void answer(global int *to) { to[0] = 42; }\n");
    cl_platform_id platform;
    cl_command_queue queue;
    cl_device_id device;
    cl_program program;
    cl_context context;
    cl_int status, value = 0;
    cl_kernel kernel;
    cl_mem buffer;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    need(status, "clCreateCommandQueue");
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(status, "clCreateProgramWithSource");
    need(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    kernel = clCreateKernel(program, "answer", &status);
    need(status, "clCreateKernel");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(value), NULL, &status);
    need(status, "clCreateBuffer");
    need(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(value), &value, 0, NULL, NULL), "clEnqueueReadBuffer");
    printf("%d\n", value);
    return value != 42;
}
