/*
 * A program that has released a buffer and been notified of its destruction uses another buffer once FILE exists.
 * usage: gone FILE
 */
#define CL_TARGET_OPENCL_VERSION 300
#include "tests/session/moved.h"

#include <stdatomic.h>
#include <stdbool.h>

static atomic_int ended;

static void CL_CALLBACK count_end(cl_mem buffer, void *argument)
{
    (void)buffer;
    (void)argument;
    atomic_fetch_add(&ended, 1);
}

/* Whether a new buffer returns what was written to it. The buffer has been destroyed when this returns. */
static bool use_buffer(cl_context context, cl_command_queue queue)
{
    const int before = atomic_load(&ended);
    cl_int error, found = 0;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(found), NULL, &error);

    NEED(error);
    NEED(clSetMemObjectDestructorCallback(buffer, count_end, NULL));
    NEED(clEnqueueFillBuffer(queue, buffer, &(cl_int){42}, sizeof(cl_int), 0, sizeof(cl_int), 0, NULL, NULL));
    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(found), &found, 0, NULL, NULL));
    NEED(clReleaseMemObject(buffer));
    while (atomic_load(&ended) == before)
        breathe();
    return found == 42;
}

int main(int count, char **words)
{
    cl_command_queue queue;
    cl_context context;
    cl_device_id device;
    bool right;

    if (count != 2)
        return 2;
    open_first(&device, &context, &queue);
    right = use_buffer(context, queue);
    say("ready");
    wait_for(words[1]);
    right &= use_buffer(context, queue);
    printf("%s, %d gone\n", right ? "right" : "wrong", atomic_load(&ended));
    return !right;
}
