/*
 * Launches of almost empty kernels, us each: one at a time with a finish after each, many with one finish at the end,
 * and many with seven arguments set before each.
 */
#include "bench.h"

enum { SINGLE = 1000, STREAM = 4000, ARGUMENTS = 12288 };

static const char *source =
    "kernel void empty(void) {}\n"
    "\n"
    "kernel void seven(global int *counter, global const int *a, global const int *b, int first, int second,\n"
    "                  float third, float fourth)\n"
    "{\n"
    "    counter[0] += a[0] + b[0] + first + second + (int)(third + fourth);\n"
    "}\n";

static void launch(const struct bench *b, cl_kernel kernel)
{
    size_t one = 1;
    CHECK(clEnqueueNDRangeKernel(b->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
}

static void measure_single(const struct bench *b, cl_kernel empty)
{
    struct series each = {0};
    EACH_ROUND (round, 100, bench_rounds(b, 10, 3) * SINGLE) {
        double start = bench_now();
        launch(b, empty);
        CHECK(clFinish(b->queue));
        round_add(&round, &each, (bench_now() - start) / 1e3);
    }
    series_report(&each, "launch_and_finish", "us");
}

static void measure_stream(const struct bench *b, cl_kernel empty)
{
    struct series enqueue = {0}, total = {0};
    EACH_ROUND (round, 1, bench_rounds(b, 21, 5)) {
        double start = bench_now();
        for (int i = 0; i < STREAM; i++)
            launch(b, empty);
        double middle = bench_now();
        CHECK(clFinish(b->queue));
        double end = bench_now();
        round_add(&round, &enqueue, (middle - start) / STREAM / 1e3);
        round_add(&round, &total, (end - start) / STREAM / 1e3);
    }
    series_report(&total, "launch_4000_total", "us");
    series_report(&enqueue, "launch_4000_enqueue_call", "us");
}

/* Measures the call alone: nothing runs meanwhile, since all launches wait for a user event. */
static void measure_gated(const struct bench *b, cl_kernel empty)
{
    struct series call = {0};
    size_t one = 1;

    EACH_ROUND (round, 1, bench_rounds(b, 31, 9)) {
        cl_int status;
        cl_event gate = clCreateUserEvent(b->context, &status);

        CHECK(status);
        CHECK(clEnqueueNDRangeKernel(b->queue, empty, 1, NULL, &one, &one, 1, &gate, NULL));
        double start = bench_now();
        for (int i = 0; i < SINGLE; i++)
            launch(b, empty);
        round_add(&round, &call, (bench_now() - start) / SINGLE / 1e3);
        CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
        CHECK(clFinish(b->queue));
        CHECK(clReleaseEvent(gate));
    }
    series_report(&call, "launch_gated_call", "us");
}

/* Sets all seven each time, two of them to new values, as a loop over blocks would. */
static void launch_seven(const struct bench *b, cl_kernel seven, cl_mem buffers[3], cl_int i)
{
    cl_int minus = -i;
    cl_float third = 0.5f, fourth = 0.5f;
    for (cl_uint k = 0; k < 3; k++)
        CHECK(clSetKernelArg(seven, k, sizeof(cl_mem), &buffers[k]));
    CHECK(clSetKernelArg(seven, 3, sizeof(i), &i));
    CHECK(clSetKernelArg(seven, 4, sizeof(minus), &minus));
    CHECK(clSetKernelArg(seven, 5, sizeof(third), &third));
    CHECK(clSetKernelArg(seven, 6, sizeof(fourth), &fourth));
    launch(b, seven);
}

static void measure_arguments(const struct bench *b, cl_kernel seven)
{
    struct series enqueue = {0}, total = {0};
    cl_mem buffers[3] = {bench_buffer(b, CL_MEM_READ_WRITE, 4096), bench_buffer(b, CL_MEM_READ_ONLY, 4096),
                         bench_buffer(b, CL_MEM_READ_ONLY, 4096)};
    cl_int zero = 0, counted = 0, launched = 0;

    for (int i = 0; i < 3; i++)
        CHECK(clEnqueueFillBuffer(b->queue, buffers[i], &zero, sizeof(zero), 0, 4096, 0, NULL, NULL));
    CHECK(clFinish(b->queue));
    EACH_ROUND (round, 1, bench_rounds(b, 7, 3)) {
        double start = bench_now();
        for (int i = 0; i < ARGUMENTS; i++, launched++)
            launch_seven(b, seven, buffers, i);
        double middle = bench_now();
        CHECK(clFinish(b->queue));
        double end = bench_now();
        round_add(&round, &enqueue, (middle - start) / ARGUMENTS / 1e3);
        round_add(&round, &total, (end - start) / ARGUMENTS / 1e3);
    }
    CHECK(clEnqueueReadBuffer(b->queue, buffers[0], CL_TRUE, 0, sizeof(counted), &counted, 0, NULL, NULL));
    EXPECT(counted == launched);
    series_report(&total, "launch_12288_with_7_args_total", "us");
    series_report(&enqueue, "launch_12288_with_7_args_calls", "us");
    for (int i = 0; i < 3; i++)
        CHECK(clReleaseMemObject(buffers[i]));
}

int main(int count, char **words)
{
    struct bench b;
    bench_open(&b, count, words);
    cl_program program = bench_program(&b, source, NULL);
    cl_kernel empty = bench_kernel(program, "empty"), seven = bench_kernel(program, "seven");
    measure_single(&b, empty);
    measure_stream(&b, empty);
    measure_gated(&b, empty);
    measure_arguments(&b, seven);
    CHECK(clReleaseKernel(seven));
    CHECK(clReleaseKernel(empty));
    CHECK(clReleaseProgram(program));
    bench_close(&b);
    return 0;
}
