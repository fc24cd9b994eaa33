/*
 * unset FILE: creates a user event for which nothing waits, prints "ready", and waits until FILE exists; then a command
 * waits for the event, and it is set.
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

int main(int count, char **arguments)
{
    cl_int status, value = 0;
    const cl_int wanted = 42;
    cl_platform_id platform;
    cl_command_queue queue;
    cl_device_id device;
    cl_context context;
    cl_event event;
    cl_mem buffer;

    if (count < 2)
        return 2;
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    need(status, "clCreateCommandQueue");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(value), NULL, &status);
    need(status, "clCreateBuffer");
    event = clCreateUserEvent(context, &status);
    need(status, "clCreateUserEvent");
    need(clFinish(queue), "clFinish");
    printf("ready\n");
    fflush(stdout);
    while (access(arguments[1], F_OK))
        usleep(10000);
    need(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(wanted), &wanted, 1, &event, NULL),
         "clEnqueueWriteBuffer");
    need(clSetUserEventStatus(event, CL_COMPLETE), "clSetUserEventStatus");
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(value), &value, 0, NULL, NULL), "clEnqueueReadBuffer");
    printf("%d\n", value);
    return value != wanted;
}
