/*
 * Creates its first buffer, which is the first memory that it shares with its worker, once the first FILE exists, and
 * reads it once the second one does.
 * usage: moved_first FILE FILE
 */
#define CL_TARGET_OPENCL_VERSION 300
#include "tests/session/moved.h"

int main(int count, char **words)
{
    cl_command_queue queue;
    cl_context context;
    cl_device_id device;
    cl_int error, given = 42, found = 0;
    cl_mem buffer;

    if (count != 3)
        return 2;
    open_first(&device, &context, &queue);
    say("ready");
    wait_for(words[1]);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(given), NULL, &error);
    NEED(error);
    NEED(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(given), &given, 0, NULL, NULL));
    say("made");
    wait_for(words[2]);
    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(found), &found, 0, NULL, NULL));
    printf("%d\n", found);
    return found != given;
}
