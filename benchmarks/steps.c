/*
 * Small steps for which the program waits, us each: as in an iterative program that leaves the device little to do.
 * Waiting for the event of a launch; writing some bytes, a launch, and reading some; the same with events and their
 * times; maps around a launch, and where nothing runs; maps of shared virtual memory.
 */
#include "bench.h"

enum { COUNT = 256, BYTES = COUNT * sizeof(cl_int) };

static const char *source = "kernel void next(global int *data) { data[get_global_id(0)] += 1; }\n";
static struct bench b;
static cl_command_queue profiled;
static cl_kernel kernel, shared_kernel;
static cl_mem buffer;
static cl_int *shared, values[COUNT];

static void launch(cl_command_queue queue, cl_kernel what, cl_event *event)
{
    CHECK(clEnqueueNDRangeKernel(queue, what, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, 0, NULL, event));
}

static void step_event(void)
{
    cl_event event;
    launch(b.queue, kernel, &event);
    CHECK(clWaitForEvents(1, &event));
    CHECK(clReleaseEvent(event));
}

static void step_transfers(void)
{
    cl_int before = ++values[0];
    CHECK(clEnqueueWriteBuffer(b.queue, buffer, CL_TRUE, 0, BYTES, values, 0, NULL, NULL));
    launch(b.queue, kernel, NULL);
    CHECK(clEnqueueReadBuffer(b.queue, buffer, CL_TRUE, 0, BYTES, values, 0, NULL, NULL));
    EXPECT(values[0] == before + 1);
}

static void step_profiled(void)
{
    cl_int before = ++values[0];
    cl_event events[3];
    CHECK(clEnqueueWriteBuffer(profiled, buffer, CL_TRUE, 0, BYTES, values, 0, NULL, &events[0]));
    launch(profiled, kernel, &events[1]);
    CHECK(clEnqueueReadBuffer(profiled, buffer, CL_TRUE, 0, BYTES, values, 0, NULL, &events[2]));
    EXPECT(values[0] == before + 1);
    for (int i = 0; i < 3; i++) {
        cl_ulong start, end;
        CHECK(clWaitForEvents(1, &events[i]));
        CHECK(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL));
        CHECK(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL));
        EXPECT(start < end);
        CHECK(clReleaseEvent(events[i]));
    }
}

static cl_int *map(cl_map_flags flags)
{
    cl_int status, *mapped = clEnqueueMapBuffer(b.queue, buffer, CL_TRUE, flags, 0, BYTES, 0, NULL, NULL, &status);
    CHECK(status);
    return mapped;
}

static void step_maps(void)
{
    cl_int *mapped = map(CL_MAP_WRITE), before = ++*mapped;
    CHECK(clEnqueueUnmapMemObject(b.queue, buffer, mapped, 0, NULL, NULL));
    launch(b.queue, kernel, NULL);
    mapped = map(CL_MAP_READ);
    EXPECT(*mapped == before + 1);
    CHECK(clEnqueueUnmapMemObject(b.queue, buffer, mapped, 0, NULL, NULL));
}

static void step_map(void)
{
    CHECK(clEnqueueUnmapMemObject(b.queue, buffer, map(CL_MAP_READ), 0, NULL, NULL));
}

static void step_svm(void)
{
    CHECK(clEnqueueSVMMap(b.queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, shared, BYTES, 0, NULL, NULL));
    CHECK(clEnqueueSVMUnmap(b.queue, shared, 0, NULL, NULL));
}

static void step_svm_launch(void)
{
    cl_int before = *shared;
    launch(b.queue, shared_kernel, NULL);
    CHECK(clEnqueueSVMMap(b.queue, CL_TRUE, CL_MAP_READ, shared, BYTES, 0, NULL, NULL));
    EXPECT(*shared == before + 1);
    CHECK(clEnqueueSVMUnmap(b.queue, shared, 0, NULL, NULL));
}

static void measure(const char *name, void (*step)(void))
{
    struct series each = {0};
    EACH_ROUND (round, 50, bench_rounds(&b, 2000, 300)) {
        double start = bench_now();
        step();
        round_add(&round, &each, (bench_now() - start) / 1e3);
    }
    CHECK(clFinish(b.queue));
    series_report(&each, name, "us");
}

int main(int count, char **words)
{
    cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_int status;

    bench_open(&b, count, words);
    cl_program program = bench_program(&b, source, NULL);
    kernel = bench_kernel(program, "next");
    shared_kernel = bench_kernel(program, "next");
    profiled = clCreateCommandQueueWithProperties(b.context, b.device, properties, &status);
    CHECK(status);
    buffer = bench_buffer(&b, CL_MEM_READ_WRITE, BYTES);
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    shared = clSVMAlloc(b.context, CL_MEM_READ_WRITE, BYTES, 0);
    measure("step_event", step_event);
    measure("step_transfers", step_transfers);
    measure("step_profiled", step_profiled);
    measure("step_maps", step_maps);
    measure("step_map_alone", step_map);
    if (shared) {
        CHECK(clSetKernelArgSVMPointer(shared_kernel, 0, shared));
        *shared = 0;
        measure("step_svm_map_alone", step_svm);
        measure("step_svm_launch", step_svm_launch);
        clSVMFree(b.context, shared);
    }
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(profiled));
    CHECK(clReleaseKernel(shared_kernel));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    bench_close(&b);
    return 0;
}
