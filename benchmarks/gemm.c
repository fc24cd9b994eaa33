/*
 * C = A B with n x n matrices, ms: in total with transfers, and the kernel alone. The kernel suits CPUs: a work-item
 * keeps a block of 8 rows and two vectors of C in registers. Compiled as sgemm and as dgemm.
 */
#include "bench.h"

enum { ROWS = 8, COLUMNS = 2 * LANES };

static const char *source =
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void multiply(global const real *a, global const real *b, global real *c, int n)\n"
    "{\n"
    "    int column = get_global_id(1) * 2 * LANES, row = get_global_id(0) * ROWS;\n"
    "    vector left[ROWS], right[ROWS];\n"
    "    #pragma unroll\n"
    "    for (int i = 0; i < ROWS; i++)\n"
    "        left[i] = right[i] = 0;\n"
    "    for (int k = 0; k < n; k++) {\n"
    "        vector first = vector_load(0, b + k * n + column), second = vector_load(1, b + k * n + column);\n"
    "        #pragma unroll\n"
    "        for (int i = 0; i < ROWS; i++) {\n"
    "            vector factor = a[(row + i) * n + k];\n"
    "            left[i] = fma(factor, first, left[i]);\n"
    "            right[i] = fma(factor, second, right[i]);\n"
    "        }\n"
    "    }\n"
    "    #pragma unroll\n"
    "    for (int i = 0; i < ROWS; i++) {\n"
    "        vector_store(left[i], 0, c + (row + i) * n + column);\n"
    "        vector_store(right[i], 1, c + (row + i) * n + column);\n"
    "    }\n"
    "}\n";

static struct bench b;
static cl_kernel kernel;

static void launch(int n)
{
    CHECK(clEnqueueNDRangeKernel(b.queue, kernel, 2, NULL, (size_t[]){(size_t)n / ROWS, (size_t)n / COLUMNS},
                                 (size_t[]){1, 1}, 0, NULL, NULL));
}

/* Checks some elements of the product: checking all would take longer than the measurement. */
static void check_product(const real *left, const real *right, const real *product, int n)
{
    for (int i = 0; i < n; i += 37) {
        for (int j = 0; j < n; j += n / 25) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += (double)left[i * n + k] * (double)right[k * n + j];
            double difference = (double)product[i * n + j] - sum;
            EXPECT(difference * difference < 1e-8 * sum * sum);
        }
    }
}

static void measure(int n, int rounds)
{
    const char *name = BENCH_PRECISION("sgemm", "dgemm");
    const size_t elements = (size_t)n * (size_t)n, bytes = elements * sizeof(real);
    real *left = bench_memory(bytes), *right = bench_memory(bytes), *product = bench_memory(bytes);
    cl_mem buffers[3] = {bench_buffer(&b, CL_MEM_READ_ONLY, bytes), bench_buffer(&b, CL_MEM_READ_ONLY, bytes),
                         bench_buffer(&b, CL_MEM_WRITE_ONLY, bytes)};
    struct series total = {0}, alone = {0};
    const cl_int size = n;

    bench_fill(left, elements, 1);
    bench_fill(right, elements, 2);
    for (cl_uint i = 0; i < 3; i++)
        CHECK(clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]));
    CHECK(clSetKernelArg(kernel, 3, sizeof(size), &size));
    EACH_ROUND (round, 1, rounds) {
        memset(product, 0, bytes);
        double start = bench_now();
        CHECK(clEnqueueWriteBuffer(b.queue, buffers[0], CL_FALSE, 0, bytes, left, 0, NULL, NULL));
        CHECK(clEnqueueWriteBuffer(b.queue, buffers[1], CL_FALSE, 0, bytes, right, 0, NULL, NULL));
        launch(n);
        CHECK(clEnqueueReadBuffer(b.queue, buffers[2], CL_TRUE, 0, bytes, product, 0, NULL, NULL));
        double middle = bench_now();
        launch(n);
        CHECK(clFinish(b.queue));
        double end = bench_now();
        check_product(left, right, product, n);
        round_add(&round, &total, (middle - start) / 1e6);
        round_add(&round, &alone, (end - middle) / 1e6);
    }
    series_report(&total, bench_name(name, n, "total"), "ms");
    series_report(&alone, bench_name(name, n, "kernel"), "ms");
    for (int i = 0; i < 3; i++)
        CHECK(clReleaseMemObject(buffers[i]));
    free(product);
    free(right);
    free(left);
}

int main(int count, char **words)
{
    bench_open(&b, count, words);
    char options[256];
    snprintf(options, sizeof(options), BENCH_REALS " -DROWS=%d", ROWS);
    cl_program program = bench_program(&b, source, options);
    kernel = bench_kernel(program, "multiply");
    EACH_SIZE (n, &b, 256, 1024, 2048)
        measure(n, b.quick ? 5 : n <= 1024 ? 21 : 7);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    bench_close(&b);
    return 0;
}
