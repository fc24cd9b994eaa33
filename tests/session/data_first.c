/*
 * data_first: writes to a worker that is stopped until commands have to wait to be sent, and then writes once more,
 * with data that travel separately from their command. Prints "ready" and "written", waits for a line on stdin after
 * each, and prints "right" if the buffer has the contents of the last write.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <string.h>

#include "tests/session/moved.h"

enum { FRAMES = 1200, SMALL = 16000, BYTES = 20000 }; /* bytes that travel with their command, and separately */

static void say_and_wait(const char *what)
{
    say(what);
    getchar();
}

int main(void)
{
    static char data[BYTES], back[BYTES];
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem buffer;
    cl_int error;
    char byte = 0;

    open_first(&device, &context, &queue);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
    NEED(error);
    NEED(clEnqueueFillBuffer(queue, buffer, &byte, 1, 0, BYTES, 0, NULL, NULL));
    NEED(clFinish(queue));
    say_and_wait("ready");
    for (int i = 0; i < FRAMES; i++) {
        NEED(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, SMALL, data, 0, NULL, NULL));
        NEED(clFlush(queue));
    }
    memset(data, 'd', sizeof(data));
    NEED(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, BYTES, data, 0, NULL, NULL));
    say_and_wait("written");
    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, back, 0, NULL, NULL));
    say(memcmp(data, back, BYTES) ? "wrong" : "right");
    NEED(clReleaseMemObject(buffer));
    NEED(clReleaseCommandQueue(queue));
    NEED(clReleaseContext(context));
    return 0;
}
