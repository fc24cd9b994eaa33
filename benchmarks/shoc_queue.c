/*
 * The measurements of the SHOC suite's QueueDelay in a program of its own: how long an enqueued kernel waits until it
 * starts, and until it has ended, by the events' profiling information; with 1, 8 and 64 kernels enqueued together, the
 * median of the averages, us.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "series.h"

#define CHECK(call) check((call), #call, __LINE__)

enum { MOST = 64, PASSES = 101 };

static const char *source = "kernel void add(global int *counter) { atomic_inc(counter); }\n";
static cl_command_queue queue;
static cl_kernel kernel;
static int launched;

static void check(cl_int status, const char *call, int line)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "shoc_queue.c:%d: error %d from %s\n", line, status, call);
    exit(1);
}

static double us_between(cl_event event, cl_profiling_info from, cl_profiling_info to)
{
    cl_ulong first, last;

    CHECK(clGetEventProfilingInfo(event, from, sizeof(first), &first, NULL));
    CHECK(clGetEventProfilingInfo(event, to, sizeof(last), &last, NULL));
    return ((double)last - (double)first) / 1e3;
}

static void measure(int together)
{
    struct series waits = {0}, whole = {0};
    char name[64];
    cl_event events[MOST];
    const size_t one = 1;

    EACH_ROUND (round, 0, PASSES) {
        double wait = 0, all = 0;

        for (int i = 0; i < together; i++)
            CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, &events[i]));
        CHECK(clFinish(queue));
        for (int i = 0; i < together; i++) {
            wait += us_between(events[i], CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_START) / together;
            all += us_between(events[i], CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_END) / together;
            CHECK(clReleaseEvent(events[i]));
        }
        launched += together;
        round_add(&round, &waits, wait);
        round_add(&round, &whole, all);
    }
    snprintf(name, sizeof(name), "shoc_queue_%d_to_start", together);
    series_report(&waits, name, "us");
    snprintf(name, sizeof(name), "shoc_queue_%d_to_end", together);
    series_report(&whole, name, "us");
}

int main(void)
{
    const cl_queue_properties profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_platform_id platform;
    cl_device_id device;
    cl_int status, counter = 0;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    queue = clCreateCommandQueueWithProperties(context, device, profiling, &status);
    CHECK(status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
    kernel = clCreateKernel(program, "add", &status);
    CHECK(status);
    cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(counter), &counter, &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    for (int together = 1; together <= MOST; together *= 8)
        measure(together);
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(counter), &counter, 0, NULL, NULL));
    if (counter != launched)
        return fprintf(stderr, "%d of %d kernels ran\n", counter, launched), 1;
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    return 0;
}
