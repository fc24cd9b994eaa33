/*
 * A matrix of n x n numbers is transposed, ms: to the device, one launch, and back; and the kernel alone. Compiled in
 * single and in double precision.
 */
#include "bench.h"

enum { TILE = 16, LARGEST = 4096 };

static const char *source = "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
                            "void transpose(global const real *from, global real *to, int n)\n"
                            "{\n"
                            "    int column = get_global_id(0) * TILE, row = get_global_id(1) * TILE;\n"
                            "    for (int i = 0; i < TILE; i++) {\n"
                            "        for (int j = 0; j < TILE; j++)\n"
                            "            to[(column + i) * n + row + j] = from[(row + j) * n + column + i];\n"
                            "    }\n"
                            "}\n";

static struct bench b;
static cl_kernel kernel;

static void launch(int n)
{
    CHECK(clEnqueueNDRangeKernel(b.queue, kernel, 2, NULL, (size_t[]){(size_t)n / TILE, (size_t)n / TILE},
                                 (size_t[]){1, 1}, 0, NULL, NULL));
}

static void check_transposed(const real *from, const real *to, int n)
{
    for (int i = 0; i < n; i += 3) {
        for (int j = 0; j < n; j++)
            EXPECT(to[i * n + j] == from[j * n + i]);
    }
}

static void measure(int n, int rounds)
{
    const char *name = BENCH_PRECISION("transpose", "transpose_double");
    const size_t elements = (size_t)n * (size_t)n, bytes = elements * sizeof(real);
    real *matrix = bench_memory(bytes), *transposed = bench_memory(bytes);
    cl_mem from = bench_buffer(&b, CL_MEM_READ_ONLY, bytes), to = bench_buffer(&b, CL_MEM_WRITE_ONLY, bytes);
    struct series total = {0}, alone = {0};
    const cl_int size = n;

    bench_fill(matrix, elements, 3);
    CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &from));
    CHECK(clSetKernelArg(kernel, 1, sizeof(cl_mem), &to));
    CHECK(clSetKernelArg(kernel, 2, sizeof(size), &size));
    EACH_ROUND (round, 1, rounds) {
        memset(transposed, 0, bytes);
        double start = bench_now();
        CHECK(clEnqueueWriteBuffer(b.queue, from, CL_FALSE, 0, bytes, matrix, 0, NULL, NULL));
        launch(n);
        CHECK(clEnqueueReadBuffer(b.queue, to, CL_TRUE, 0, bytes, transposed, 0, NULL, NULL));
        double middle = bench_now();
        launch(n);
        CHECK(clFinish(b.queue));
        double end = bench_now();
        check_transposed(matrix, transposed, n);
        round_add(&round, &total, (middle - start) / 1e6);
        round_add(&round, &alone, (end - middle) / 1e6);
    }
    series_report(&total, bench_name(name, n, "total"), "ms");
    series_report(&alone, bench_name(name, n, "kernel"), "ms");
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseMemObject(from));
    free(transposed);
    free(matrix);
}

int main(int count, char **words)
{
    bench_open(&b, count, words);
    char options[256];
    snprintf(options, sizeof(options), BENCH_REALS " -DTILE=%d", TILE);
    cl_program program = bench_program(&b, source, options);
    kernel = bench_kernel(program, "transpose");
    EACH_SIZE (n, &b, 512, 2048, LARGEST)
        measure(n, b.quick ? 5 : n < LARGEST ? 21 : 7);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    bench_close(&b);
    return 0;
}
