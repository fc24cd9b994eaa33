/*
 * Threads query the status of the commands that they have just enqueued, each in a queue of its own, for ROUNDS rounds
 * and on until FILE exists; the command is complete at last, and its data are there.
 *
 *      statuses THREADS ROUNDS [FILE]
 */
#include <pthread.h>

#include "tests/session/moved.h"

enum { MOST = 16, ASKED = 3 };

static cl_context context;
static cl_device_id device;
static long rounds;
static const char *file;

static cl_int status_of(cl_event event)
{
    cl_int status = -1;

    NEED(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    if (status < 0)
        NEED(status);
    return status;
}

static void *ask(void *argument)
{
    cl_int error;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    cl_mem buffer;

    NEED(error);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(long), NULL, &error);
    NEED(error);
    for (long i = 0; i < rounds || (file && access(file, F_OK)); i++) {
        long got = -1;
        cl_event event;

        NEED(clEnqueueFillBuffer(queue, buffer, &i, sizeof(i), 0, sizeof(i), 0, NULL, &event));
        for (int asked = 0; asked < ASKED && status_of(event) != CL_COMPLETE; asked++)
            ;
        NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(got), &got, 0, NULL, NULL));
        if (got != i || status_of(event) != CL_COMPLETE) {
            printf("round %ld: %ld\n", i, got);
            exit(1);
        }
        clReleaseEvent(event);
        if (i >= rounds)
            breathe();
    }
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    return argument;
}

int main(int argc, char **words)
{
    const int count = argc > 1 && atoi(words[1]) < MOST ? atoi(words[1]) : 1;
    pthread_t threads[MOST];
    cl_platform_id platform;
    cl_int error;

    rounds = argc > 2 ? atol(words[2]) : 100;
    file = argc > 3 ? words[3] : NULL;
    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    NEED(error);
    for (int i = 0; i < count; i++)
        NEED(pthread_create(&threads[i], NULL, ask, NULL));
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    clReleaseContext(context);
    printf("right\n");
    return 0;
}
