/* Shared by the programs of tests/xtq: MPI programs, each of whose ranks exits with 0 if all went well on it. */
#ifndef XTQTEST_H
#define XTQTEST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtq.h"

/* Ends the job, naming the line, unless the condition holds. */
#define EXPECT(condition) xtqtest_expect((condition), #condition, __FILE__, __LINE__)
/* Likewise, unless both integers are equal. */
#define EQUAL(left, right) xtqtest_equal((long)(left), (long)(right), #left, __FILE__, __LINE__)

static inline void xtqtest_expect(bool holds, const char *condition, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void xtqtest_equal(long left, long right, const char *what, const char *file, int line)
{
    if (left == right)
        return;
    fprintf(stderr, "%s:%d: %s is %ld, not %ld\n", file, line, what, left, right);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The first device of the first platform. */
struct xtqtest_device {
    cl_device_id device;
    cl_context context;
    cl_command_queue commands;
};

static inline struct xtqtest_device xtqtest_device(void)
{
    struct xtqtest_device d;
    cl_platform_id platform;
    cl_int status;

    EQUAL(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    EQUAL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d.device, NULL), CL_SUCCESS);
    d.context = clCreateContext(NULL, 1, &d.device, NULL, NULL, &status);
    EQUAL(status, CL_SUCCESS);
    d.commands = clCreateCommandQueueWithProperties(d.context, d.device, NULL, &status);
    EQUAL(status, CL_SUCCESS);
    return d;
}

static inline void xtqtest_device_close(struct xtqtest_device *d)
{
    clReleaseCommandQueue(d->commands);
    clReleaseContext(d->context);
}

static inline cl_kernel xtqtest_kernel(const struct xtqtest_device *d, const char *source, const char *name)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(d->context, 1, &source, NULL, &status);
    cl_kernel kernel;

    EQUAL(clBuildProgram(program, 1, &d->device, "", NULL, NULL), CL_SUCCESS);
    kernel = clCreateKernel(program, name, &status);
    EQUAL(status, CL_SUCCESS);
    clReleaseProgram(program);
    return kernel;
}

static inline uint32_t xtqtest_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

#endif
