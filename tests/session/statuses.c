/*
 * Threads that ask for the status of what they have just enqueued, each in a queue of its own, for so many rounds; it
 * is complete at last, and what was written is there.
 *
 *     statuses THREADS ROUNDS
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16, ASKED = 3 };

static cl_context context;
static cl_device_id device;
static long rounds;

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static cl_int status_of(cl_event event)
{
    cl_int status = -1;

    need(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), "clGetEventInfo");
    if (status < 0)
        need(status, "a command");
    return status;
}

static void *ask(void *argument)
{
    cl_int error;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
    cl_mem buffer;

    need(error, "clCreateCommandQueue");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(long), NULL, &error);
    need(error, "clCreateBuffer");
    for (long i = 0; i < rounds; i++) {
        long got = -1;
        cl_event event;

        need(clEnqueueFillBuffer(queue, buffer, &i, sizeof(i), 0, sizeof(i), 0, NULL, &event), "a fill");
        for (int asked = 0; asked < ASKED && status_of(event) != CL_COMPLETE; asked++)
            ;
        need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(got), &got, 0, NULL, NULL), "a read");
        if (got != i || status_of(event) != CL_COMPLETE) {
            printf("round %ld: %ld\n", i, got);
            exit(1);
        }
        clReleaseEvent(event);
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
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    need(error, "clCreateContext");
    for (int i = 0; i < count; i++)
        need(pthread_create(&threads[i], NULL, ask, NULL), "a thread");
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    clReleaseContext(context);
    printf("right\n");
    return 0;
}
