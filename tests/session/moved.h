/* Shared by the programs of move.sh and other tests: calls that must succeed, waiting for files, messages of
 * progress. */
#ifndef VOCL_TESTS_SESSION_MOVED_H
#define VOCL_TESTS_SESSION_MOVED_H

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NEED(call)                                                                                                     \
    do {                                                                                                               \
        cl_int need_error = (call);                                                                                    \
        if (need_error) {                                                                                              \
            printf("line %d: %s: %d\n", __LINE__, #call, need_error);                                                  \
            exit(3);                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline void wait_for(const char *file)
{
    while (access(file, F_OK))
        nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static inline void wait_for_in(const char *directory, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    wait_for(path);
}

/* Pauses between the rounds of a program that runs until its test has what it waits for: other processes need the
 * processors, too. */
static inline void breathe(void)
{
    nanosleep(&(struct timespec){0, 10000000}, NULL);
}

static inline void say(const char *what)
{
    puts(what);
    fflush(stdout);
}

/* Returns the first device, a context of that device alone, and a queue. */
static inline void open_first(cl_device_id *device, cl_context *context, cl_command_queue *queue)
{
    cl_platform_id platform;
    cl_int error;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, device, NULL));
    *context = clCreateContext(NULL, 1, device, NULL, NULL, &error);
    NEED(error);
    *queue = clCreateCommandQueueWithProperties(*context, *device, NULL, &error);
    NEED(error);
}

/* Returns a kernel from a program that is built from text. */
static inline cl_kernel kernel_from(cl_context context, const char *text, const char *name)
{
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    cl_kernel kernel;

    NEED(error);
    NEED(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    kernel = clCreateKernel(program, name, &error);
    NEED(error);
    NEED(clReleaseProgram(program));
    return kernel;
}

#endif
