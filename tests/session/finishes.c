/* Reads without blocking, and calls clFinish at another moment each time, after which the data must be there. Another
 * queue waits for a user event all the time, so that moves that are tried meanwhile are refused soon. */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 1 << 20, READS = 18 };

static cl_int data[COUNT];

static void need(cl_int status, const char *what)
{
    if (!status)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

int main(void)
{
    const cl_int wanted = 0x5eed;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue, gated;
    cl_event open;
    cl_mem buffer;
    cl_int status;
    int missing = 0;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    need(status, "clCreateCommandQueueWithProperties");
    gated = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    need(status, "clCreateCommandQueueWithProperties");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(data), NULL, &status);
    need(status, "clCreateBuffer");
    need(clEnqueueFillBuffer(queue, buffer, &wanted, sizeof(wanted), 0, sizeof(data), 0, NULL, NULL),
         "clEnqueueFillBuffer");
    need(clFinish(queue), "clFinish");
    open = clCreateUserEvent(context, &status);
    need(status, "clCreateUserEvent");
    need(clEnqueueMarkerWithWaitList(gated, 1, &open, NULL), "clEnqueueMarkerWithWaitList");
    need(clFlush(gated), "clFlush");
    for (int i = 0; i < READS; i++) {
        memset(data, 0, sizeof(data));
        need(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof(data), data, 0, NULL, NULL), "clEnqueueReadBuffer");
        need(clFlush(queue), "clFlush");
        usleep(1000000 + 40000 * (unsigned)i); /* about as long as the data take */
        need(clFinish(queue), "clFinish");
        for (int k = 0; k < COUNT; k++)
            missing += data[k] != wanted;
    }
    printf("%d words are missing\n", missing);
    need(clSetUserEventStatus(open, CL_COMPLETE), "clSetUserEventStatus");
    need(clFinish(gated), "clFinish");
    return missing != 0;
}
