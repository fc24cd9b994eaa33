/*
 * The measurements of the SHOC suite's BusSpeedDownload and BusSpeedReadback in a program of its own: transfers of 1
 * KiB to 64 MiB between a buffer and host memory that OpenCL allocated, timed by the events' profiling information,
 * from submission to end; the best of ten passes that run alternately up and down the sizes, GB/s (10^9).
 */
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) check((call), #call, __LINE__)

enum { SIZES = 17, PASSES = 10, LARGEST = 64 << 20 };

static cl_command_queue queue;

static void check(cl_int status, const char *call, int line)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "shoc_bus.c:%d: error %d from %s\n", line, status, call);
    exit(1);
}

static cl_mem buffer_new(cl_context context, cl_mem_flags flags)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, flags, LARGEST, NULL, &status);
    CHECK(status);
    return buffer;
}

static double transfer(cl_mem buffer, char *memory, size_t bytes, bool writes)
{
    cl_ulong submitted, ended;
    cl_event event;

    if (writes)
        CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, bytes, memory, 0, NULL, &event));
    else
        CHECK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, bytes, memory, 0, NULL, &event));
    CHECK(clWaitForEvents(1, &event));
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_SUBMIT, sizeof(submitted), &submitted, NULL));
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(ended), &ended, NULL));
    CHECK(clReleaseEvent(event));
    return (double)bytes / (double)(ended > submitted ? ended - submitted : 1);
}

int main(int count, char **words)
{
    const cl_queue_properties profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    const int passes = count == 2 && !strcmp(words[1], "--quick") ? 3 : PASSES;
    double best[2][SIZES] = {{0}};
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    queue = clCreateCommandQueueWithProperties(context, device, profiling, &status);
    CHECK(status);
    cl_mem pinned = buffer_new(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
    cl_mem buffer = buffer_new(context, CL_MEM_READ_WRITE);
    char *memory =
        clEnqueueMapBuffer(queue, pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, LARGEST, 0, NULL, NULL, &status);
    CHECK(status);
    for (int i = 0; i < LARGEST; i++)
        memory[i] = (char)(i % 77);

    for (int pass = 0; pass < passes; pass++) {
        for (int i = 0; i < SIZES; i++) {
            const int at = pass % 2 ? SIZES - 1 - i : i;
            for (int writes = 1; writes >= 0; writes--) {
                double rate = transfer(buffer, memory, (size_t)1024 << at, writes);
                best[writes][at] = rate > best[writes][at] ? rate : best[writes][at];
            }
        }
    }
    for (int writes = 1; writes >= 0; writes--) {
        for (int at = 0; at < SIZES; at += 4)
            printf("shoc_bus_%s_%dKiB %.6g GB/s\n", writes ? "download" : "readback", 1 << at, best[writes][at]);
    }
    for (int i = 0; i < LARGEST; i++) {
        if (memory[i] != (char)(i % 77))
            return fprintf(stderr, "byte %d was changed on its way\n", i), 1;
    }
    CHECK(clEnqueueUnmapMemObject(queue, pinned, memory, 0, NULL, NULL));
    CHECK(clFinish(queue));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(pinned));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    return 0;
}
