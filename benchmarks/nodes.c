/*
 * The cost of commands, events and contents that cross from one device to the next, in one context of all devices: run
 * through VOCL with `--through "vocl run --workers 2 --"`. With one device both queues are on it.
 *
 *   hop_alternating    a command of a chain that alternates between two queues, each behind the event of the last
 *   hop_one_queue      the same on one queue
 *   hop_by_application alternating as well, but the program waits for each command before it enqueues the next
 *   chain_N            from the first of N alternating commands to the end of the last, as the program sees it, ms
 *   migrate_64MiB      a kernel on one device writes it, and it is migrated to the other
 *   copy_64MiB         the same, but copied into another buffer
 *   copy_4MiB          the same in small: contiguous, and 1,024 rows of 4 KiB out of rows twice as wide
 */
#include "bench.h"

enum { CHAIN = 200, LARGE = 64 << 20 };

static const char *source = "kernel void nothing(int one) { }\n"
                            "kernel void touch(global int *data, int value) { data[get_global_id(0)] = value; }\n";

static cl_command_queue queues[2];

static void chain(cl_kernel kernel, int length, bool alternating, bool by_application)
{
    cl_event before = NULL, after;

    for (int i = 0; i < length; i++) {
        const bool wait = before && !by_application;

        CHECK(clEnqueueNDRangeKernel(queues[alternating ? i % 2 : 0], kernel, 1, NULL, (size_t[]){1}, (size_t[]){1},
                                     wait, wait ? &before : NULL, &after));
        if (by_application)
            CHECK(clWaitForEvents(1, &after));
        if (before)
            CHECK(clReleaseEvent(before));
        before = after;
    }
    CHECK(clWaitForEvents(1, &before));
    CHECK(clReleaseEvent(before));
}

static void measure_chain(const struct bench *b, cl_kernel kernel, const char *name, bool alternating,
                          bool by_application)
{
    struct series hop = {0};
    int rounds = bench_rounds(b, 15, 5);

    EACH_ROUND (round, 1, rounds) {
        double start = bench_now();
        chain(kernel, CHAIN, alternating, by_application);
        round_add(&round, &hop, (bench_now() - start) / CHAIN / 1e3);
    }
    series_report(&hop, name, "us");
}

static void measure_whole_chain(const struct bench *b, cl_kernel kernel, int length)
{
    struct series whole = {0};
    char name[32];

    EACH_ROUND (round, 1, bench_rounds(b, 11, 3)) {
        double start = bench_now();
        chain(kernel, length, true, false);
        round_add(&round, &whole, (bench_now() - start) / 1e6);
    }
    snprintf(name, sizeof(name), "chain_%d", length);
    series_report(&whole, name, "ms");
}

static void measure_migration(const struct bench *b, cl_context context, cl_kernel touch)
{
    struct series rate = {0};
    int rounds = bench_rounds(b, 10, 4);
    cl_int status, value = 0;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, LARGE, NULL, &status);

    CHECK(status);
    CHECK(clSetKernelArg(touch, 0, sizeof(buffer), &buffer));
    EACH_ROUND (round, 2, rounds) {
        cl_command_queue here = queues[round.number & 1], there = queues[!(round.number & 1)];

        CHECK(clSetKernelArg(touch, 1, sizeof(value), &value));
        CHECK(clEnqueueNDRangeKernel(there, touch, 1, NULL, (size_t[]){LARGE / 4}, (size_t[]){64}, 0, NULL, NULL));
        CHECK(clFinish(there));
        double start = bench_now();
        CHECK(clEnqueueMigrateMemObjects(here, 1, &buffer, 0, 0, NULL, NULL));
        CHECK(clFinish(here));
        round_add(&round, &rate, LARGE / (bench_now() - start));
        value++;
    }
    series_report(&rate, "migrate_64MiB", "GB/s");
    CHECK(clReleaseMemObject(buffer));
}

enum copy { WHOLE, CONTIGUOUS, STRIDED };

static void measure_copy(const struct bench *b, cl_context context, cl_kernel touch, enum copy kind, const char *name)
{
    const size_t origin[3] = {0}, region[3] = {4096, 1024, 1}, bytes = kind == WHOLE ? LARGE : 4 << 20;
    struct series each = {0};
    int rounds = bench_rounds(b, 21, 7);
    cl_int status, value = 0;
    cl_mem from = clCreateBuffer(context, CL_MEM_READ_WRITE, LARGE, NULL, &status);
    cl_mem to = clCreateBuffer(context, CL_MEM_READ_WRITE, LARGE, NULL, &status);

    CHECK(status);
    EACH_ROUND (round, 2, rounds) {
        CHECK(clSetKernelArg(touch, 0, sizeof(from), &from));
        CHECK(clSetKernelArg(touch, 1, sizeof(value), &value));
        CHECK(clEnqueueNDRangeKernel(queues[0], touch, 1, NULL, (size_t[]){LARGE / 4}, (size_t[]){64}, 0, NULL, NULL));
        CHECK(clFinish(queues[0]));
        double start = bench_now();
        if (kind == STRIDED)
            CHECK(
                clEnqueueCopyBufferRect(queues[1], from, to, origin, origin, region, 8192, 0, 8192, 0, 0, NULL, NULL));
        else
            CHECK(clEnqueueCopyBuffer(queues[1], from, to, 0, 0, bytes, 0, NULL, NULL));
        CHECK(clFinish(queues[1]));
        double took = bench_now() - start;
        round_add(&round, &each, kind == WHOLE ? bytes / took : took / 1e3);
        value++;
    }
    series_report(&each, name, kind == WHOLE ? "GB/s" : "us");
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
}

int main(int count, char **words)
{
    cl_device_id devices[2];
    cl_uint device_count;
    struct bench b;
    cl_int status, one = 1;

    bench_open(&b, count, words);
    CHECK(clGetDeviceIDs(b.platform, CL_DEVICE_TYPE_ALL, 2, devices, &device_count));
    device_count = device_count < 2 ? 1 : 2;
    cl_context context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    CHECK(status);
    for (cl_uint i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i % device_count], NULL, &status);
        CHECK(status);
    }
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    cl_kernel nothing = bench_kernel(program, "nothing"), touch = bench_kernel(program, "touch");
    CHECK(clSetKernelArg(nothing, 0, sizeof(one), &one));
    measure_chain(&b, nothing, "hop_one_queue", false, false);
    measure_chain(&b, nothing, "hop_alternating", true, false);
    measure_chain(&b, nothing, "hop_by_application", true, true);
    for (int length = 1; length <= 1000; length *= 10)
        measure_whole_chain(&b, nothing, length);
    measure_migration(&b, context, touch);
    measure_copy(&b, context, touch, WHOLE, "copy_64MiB");
    measure_copy(&b, context, touch, CONTIGUOUS, "copy_4MiB");
    measure_copy(&b, context, touch, STRIDED, "copy_4MiB_1024_rows");
    CHECK(clReleaseKernel(nothing));
    CHECK(clReleaseKernel(touch));
    CHECK(clReleaseProgram(program));
    for (int i = 0; i < 2; i++)
        CHECK(clReleaseCommandQueue(queues[i]));
    CHECK(clReleaseContext(context));
    bench_close(&b);
    return 0;
}
