/*
 * What a program pays for many workers: the time until their devices are known, for a context with all of them, for a
 * queue, a launch and a finish on each, its memory for each, and how often it wakes up while nothing happens. To be run
 * by `vocl run --workers N --`.
 */
#include "bench.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 1024 };

static double memory_mb(void)
{
    unsigned long size, resident = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    EXPECT(file && fscanf(file, "%lu %lu %lu", &size, &resident, &shared) == 3);
    fclose(file);
    return (double)(resident - shared) * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static long switches(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

static double since(double *start)
{
    const double now = bench_now(), took = (now - *start) / 1e6;

    *start = now;
    return took;
}

int main(void)
{
    static const char *source = "kernel void nothing(void) {}";
    static cl_device_id devices[MOST];
    static cl_command_queue queues[MOST];
    const double before = memory_mb();
    double start = bench_now();
    cl_platform_id platform;
    cl_context context;
    cl_program program;
    cl_kernel kernel;
    size_t one = 1;
    cl_uint count;
    cl_int error;
    long woken;

    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &count));
    printf("workers %u number\nfirst_query %.1f ms\n", count, since(&start));

    context = clCreateContext(NULL, count, devices, NULL, NULL, &error);
    CHECK(error);
    printf("context %.2f ms\n", since(&start));
    for (cl_uint i = 0; i < count; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i], NULL, &error);
        CHECK(error);
    }
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    CHECK(error);
    since(&start);
    CHECK(clBuildProgram(program, count, devices, "", NULL, NULL));
    kernel = clCreateKernel(program, "nothing", &error);
    CHECK(error);
    printf("build %.1f ms\n", since(&start));
    for (int round = 0; round < 2; round++) {
        since(&start);
        for (cl_uint i = 0; i < count; i++) {
            CHECK(clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
            CHECK(clFlush(queues[i]));
        }
        for (cl_uint i = 0; i < count; i++)
            CHECK(clFinish(queues[i]));
        printf("%s %.2f ms\n", round ? "launch_on_each_again" : "launch_on_each", since(&start));
    }
    printf("memory_of_program %.1f MB\nmemory_for_a_worker %.3f MB\n", memory_mb(), (memory_mb() - before) / count);
    woken = switches();
    sleep(2);
    printf("wakes_when_idle %.1f /s\n", (double)(switches() - woken) / 2);
    return 0;
}
