/*
 * full_window COUNT: creates COUNT samplers, once it gets a line on stdin, and prints how often it asked the system for
 * messages of the worker: this program's recv() counts the calls.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define CHECK(call) check((call), #call, __LINE__)

static _Thread_local unsigned long counted;

__attribute__((visibility("default"))) ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
    counted++;
    return recvfrom(fd, bytes, length, flags, NULL, NULL);
}

static void check(cl_int status, const char *call, int line)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "full_window.c:%d: error %d from %s\n", line, status, call);
    exit(1);
}

int main(int count, char **words)
{
    const int most = count > 1 ? atoi(words[1]) : 1;
    const cl_sampler_properties properties[] = {CL_SAMPLER_NORMALIZED_COORDS,
                                                CL_FALSE,
                                                CL_SAMPLER_ADDRESSING_MODE,
                                                CL_ADDRESS_CLAMP,
                                                CL_SAMPLER_FILTER_MODE,
                                                CL_FILTER_NEAREST,
                                                0};
    cl_sampler *samplers = calloc((size_t)most, sizeof(*samplers));
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    cl_mem buffer;
    char byte = 0;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    CHECK(status);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 1, NULL, &status);
    CHECK(status);
    CHECK(clEnqueueFillBuffer(queue, buffer, &byte, 1, 0, 1, 0, NULL, NULL));
    CHECK(clFinish(queue));
    puts("ready");
    fflush(stdout);
    getchar();
    counted = 0;
    for (int i = 0; i < most; i++) {
        samplers[i] = clCreateSamplerWithProperties(context, properties, &status);
        CHECK(status);
    }
    printf("%lu\n", counted);
    fflush(stdout);
    getchar();
    for (int i = 0; i < most; i++)
        CHECK(clReleaseSampler(samplers[i]));
    CHECK(clEnqueueFillBuffer(queue, buffer, &byte, 1, 0, 1, 0, NULL, NULL));
    CHECK(clFinish(queue));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    free(samplers);
    return 0;
}
