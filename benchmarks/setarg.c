/* clSetKernelArg alone, ns per call: a constant value, a changing value, a buffer, local memory, a vector. */
#include "bench.h"

enum { CALLS = 100000 };

static const char *source = "kernel void four(global int *buffer, int number, float16 vector, local int *shared)\n"
                            "{\n"
                            "    shared[get_local_id(0)] = number;\n"
                            "    buffer[get_global_id(0)] = shared[get_local_id(0)] + vector.s0;\n"
                            "}\n";

static cl_kernel kernel;

/* With `change`, the first word of the value differs in every call. */
static void measure(const struct bench *b, const char *name, cl_uint index, size_t size, void *value, bool change)
{
    struct series series = {0};
    EACH_ROUND (round, 1, bench_rounds(b, 31, 7)) {
        double start = bench_now();
        for (int i = 0; i < CALLS; i++) {
            if (change)
                memcpy(value, &i, sizeof(i));
            CHECK(clSetKernelArg(kernel, index, size, value));
        }
        round_add(&round, &series, (bench_now() - start) / CALLS);
    }
    series_report(&series, name, "ns");
}

/* Alternates between two buffers, as programs with two of a kind do. */
static void measure_buffers(const struct bench *b, const char *name, cl_mem buffers[2])
{
    struct series series = {0};
    EACH_ROUND (round, 1, bench_rounds(b, 31, 7)) {
        double start = bench_now();
        for (int i = 0; i < CALLS; i++)
            CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[i % 2]));
        round_add(&round, &series, (bench_now() - start) / CALLS);
    }
    series_report(&series, name, "ns");
}

int main(int count, char **words)
{
    struct bench b;
    bench_open(&b, count, words);
    cl_program program = bench_program(&b, source, NULL);
    kernel = bench_kernel(program, "four");
    cl_mem buffers[2] = {bench_buffer(&b, CL_MEM_READ_WRITE, 4096), bench_buffer(&b, CL_MEM_READ_WRITE, 4096)};
    cl_int number = 7;
    cl_float16 vector = {{1}};

    measure(&b, "setarg_int_same", 1, sizeof(number), &number, false);
    measure(&b, "setarg_int_changing", 1, sizeof(number), &number, true);
    measure(&b, "setarg_float16_changing", 2, sizeof(vector), &vector, true);
    measure(&b, "setarg_local", 3, 256, NULL, false);
    measure(&b, "setarg_buffer_same", 0, sizeof(cl_mem), &buffers[0], false);
    measure_buffers(&b, "setarg_buffer_changing", buffers);

    /* The arguments must take effect, too: the last value of each counts. */
    cl_int result;
    number = 41;
    vector = (cl_float16){{1}};
    CHECK(clSetKernelArg(kernel, 1, sizeof(number), &number));
    CHECK(clSetKernelArg(kernel, 2, sizeof(vector), &vector));
    CHECK(clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, (size_t[]){1}, (size_t[]){1}, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(b.queue, buffers[1], CL_TRUE, 0, sizeof(result), &result, 0, NULL, NULL));
    EXPECT(result == 42);

    CHECK(clReleaseMemObject(buffers[1]));
    CHECK(clReleaseMemObject(buffers[0]));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    bench_close(&b);
    return 0;
}
