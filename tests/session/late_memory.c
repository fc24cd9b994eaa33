/*
 * A program that shares memory with its first worker from the beginning, and with the second once FILE exists: the
 * contents of both buffers are right.
 * usage: late_memory FILE
 */
#define CL_TARGET_OPENCL_VERSION 300
#include "tests/session/moved.h"

static cl_command_queue queues[2];
static cl_mem buffers[2];

static void make(int which, cl_device_id device)
{
    const cl_int given = 40 + which;
    cl_int error;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);

    NEED(error);
    queues[which] = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    NEED(error);
    buffers[which] = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(given), NULL, &error);
    NEED(error);
    NEED(clEnqueueWriteBuffer(queues[which], buffers[which], CL_TRUE, 0, sizeof(given), &given, 0, NULL, NULL));
}

int main(int count, char **words)
{
    cl_device_id devices[2];
    cl_platform_id platform;
    cl_uint found;
    cl_int held[2];

    if (count != 2)
        return 2;
    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &found));
    make(0, devices[0]);
    say("ready");
    wait_for(words[1]);
    make(1, devices[found > 1]);
    for (int i = 0; i < 2; i++)
        NEED(clEnqueueReadBuffer(queues[i], buffers[i], CL_TRUE, 0, sizeof(*held), &held[i], 0, NULL, NULL));
    printf("%d %d\n", held[0], held[1]);
    return held[0] != 40 || held[1] != 41;
}
