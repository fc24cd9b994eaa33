/*
 * data_first: writes to a worker that takes nothing until commands wait to be sent, and then once more what goes beside
 * its command. Goes on, when it has said "ready" and "written", when it is told to on stdin, and says "right" if the
 * buffer has what was written last.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) check((call), #call, __LINE__)

enum { FRAMES = 1200, SMALL = 16000, BYTES = 20000 }; /* which go with a command, and do not */

static void check(cl_int status, const char *call, int line)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "data_first.c:%d: error %d from %s\n", line, status, call);
    exit(1);
}

static void say(const char *what)
{
    puts(what);
    fflush(stdout);
    getchar();
}

int main(void)
{
    static char data[BYTES], back[BYTES];
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
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    CHECK(status);
    CHECK(clEnqueueFillBuffer(queue, buffer, &byte, 1, 0, BYTES, 0, NULL, NULL));
    CHECK(clFinish(queue));
    say("ready");
    for (int i = 0; i < FRAMES; i++) {
        CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, SMALL, data, 0, NULL, NULL));
        CHECK(clFlush(queue));
    }
    memset(data, 'd', sizeof(data));
    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, BYTES, data, 0, NULL, NULL));
    say("written");
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
    puts(memcmp(data, back, BYTES) ? "wrong" : "right");
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    return 0;
}
