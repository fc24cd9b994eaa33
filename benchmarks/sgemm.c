/*
 * C = A B with 1024 x 1024 floats, ms: the whole with its transfers, and the kernel alone. The kernel suits CPUs: a
 * work-item keeps a block of 8 x 32 elements of C in vector registers.
 */
#include "bench.h"

enum { SIZE = 1024, ROWS = 8, COLUMNS = 32 };

static const char *source =
    "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
    "void sgemm(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    int column = get_global_id(1) * COLUMNS, row = get_global_id(0) * ROWS;\n"
    "    float16 left[ROWS], right[ROWS];\n"
    "    #pragma unroll\n"
    "    for (int i = 0; i < ROWS; i++)\n"
    "        left[i] = right[i] = 0;\n"
    "    for (int k = 0; k < SIZE; k++) {\n"
    "        float16 first = vload16(0, b + k * SIZE + column), second = vload16(1, b + k * SIZE + column);\n"
    "        #pragma unroll\n"
    "        for (int i = 0; i < ROWS; i++) {\n"
    "            float16 factor = a[(row + i) * SIZE + k];\n"
    "            left[i] = fma(factor, first, left[i]);\n"
    "            right[i] = fma(factor, second, right[i]);\n"
    "        }\n"
    "    }\n"
    "    #pragma unroll\n"
    "    for (int i = 0; i < ROWS; i++) {\n"
    "        vstore16(left[i], 0, c + (row + i) * SIZE + column);\n"
    "        vstore16(right[i], 1, c + (row + i) * SIZE + column);\n"
    "    }\n"
    "}\n";

static const size_t bytes = sizeof(float) * SIZE * SIZE;

static void launch(const struct bench *b, cl_kernel kernel)
{
    CHECK(clEnqueueNDRangeKernel(b->queue, kernel, 2, NULL, (size_t[]){SIZE / ROWS, SIZE / COLUMNS}, (size_t[]){1, 1},
                                 0, NULL, NULL));
}

/* Some elements of the product: the whole would take longer than all that is measured. */
static void check_product(const float *a, const float *b, const float *c)
{
    for (int i = 0; i < SIZE; i += 37) {
        for (int j = 0; j < SIZE; j += 41) {
            double sum = 0;
            for (int k = 0; k < SIZE; k++)
                sum += (double)a[i * SIZE + k] * (double)b[k * SIZE + j];
            double difference = (double)c[i * SIZE + j] - sum;
            EXPECT(difference * difference < 1e-8 * sum * sum);
        }
    }
}

int main(int count, char **words)
{
    struct series total = {0}, alone = {0};
    struct bench b;
    bench_open(&b, count, words);
    char options[128];
    snprintf(options, sizeof(options), "-DSIZE=%d -DROWS=%d -DCOLUMNS=%d", SIZE, ROWS, COLUMNS);
    cl_program program = bench_program(&b, source, options);
    cl_kernel kernel = bench_kernel(program, "sgemm");
    float *matrix_a = bench_memory(bytes), *matrix_b = bench_memory(bytes), *matrix_c = bench_memory(bytes);
    cl_mem buffer_a = bench_buffer(&b, CL_MEM_READ_ONLY, bytes), buffer_b = bench_buffer(&b, CL_MEM_READ_ONLY, bytes),
           buffer_c = bench_buffer(&b, CL_MEM_WRITE_ONLY, bytes);
    bench_floats_fill(matrix_a, SIZE * SIZE, 1);
    bench_floats_fill(matrix_b, SIZE * SIZE, 2);
    CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffer_a));
    CHECK(clSetKernelArg(kernel, 1, sizeof(cl_mem), &buffer_b));
    CHECK(clSetKernelArg(kernel, 2, sizeof(cl_mem), &buffer_c));

    for (int round = -1; round < bench_rounds(&b, 21, 5); round++) {
        memset(matrix_c, 0, bytes);
        double start = bench_now();
        CHECK(clEnqueueWriteBuffer(b.queue, buffer_a, CL_FALSE, 0, bytes, matrix_a, 0, NULL, NULL));
        CHECK(clEnqueueWriteBuffer(b.queue, buffer_b, CL_FALSE, 0, bytes, matrix_b, 0, NULL, NULL));
        launch(&b, kernel);
        CHECK(clEnqueueReadBuffer(b.queue, buffer_c, CL_TRUE, 0, bytes, matrix_c, 0, NULL, NULL));
        double middle = bench_now();
        launch(&b, kernel);
        CHECK(clFinish(b.queue));
        double end = bench_now();
        check_product(matrix_a, matrix_b, matrix_c);
        if (round < 0)
            continue;
        series_add(&total, (middle - start) / 1e6);
        series_add(&alone, (end - middle) / 1e6);
    }
    series_report(&total, "sgemm_1024_total", "ms");
    series_report(&alone, "sgemm_1024_kernel", "ms");

    CHECK(clReleaseMemObject(buffer_c));
    CHECK(clReleaseMemObject(buffer_b));
    CHECK(clReleaseMemObject(buffer_a));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    free(matrix_c);
    free(matrix_b);
    free(matrix_a);
    bench_close(&b);
    return 0;
}
