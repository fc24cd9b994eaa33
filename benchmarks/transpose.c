/* A matrix of 2048 x 2048 floats and its transpose, ms: 16 MiB to the device, one launch, 16 MiB back. */
#include "bench.h"

enum { SIZE = 2048, TILE = 16 };

static const char *source = "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
                            "void transpose(global const float *from, global float *to)\n"
                            "{\n"
                            "    int column = get_global_id(0) * TILE, row = get_global_id(1) * TILE;\n"
                            "    for (int i = 0; i < TILE; i++) {\n"
                            "        for (int j = 0; j < TILE; j++)\n"
                            "            to[(column + i) * SIZE + row + j] = from[(row + j) * SIZE + column + i];\n"
                            "    }\n"
                            "}\n";

static const size_t bytes = sizeof(float) * SIZE * SIZE;

static void launch(const struct bench *b, cl_kernel kernel)
{
    CHECK(clEnqueueNDRangeKernel(b->queue, kernel, 2, NULL, (size_t[]){SIZE / TILE, SIZE / TILE}, (size_t[]){1, 1}, 0,
                                 NULL, NULL));
}

static void check_transposed(const float *from, const float *to)
{
    for (int i = 0; i < SIZE; i += 3) {
        for (int j = 0; j < SIZE; j++)
            EXPECT(to[i * SIZE + j] == from[j * SIZE + i]);
    }
}

int main(int count, char **words)
{
    struct series total = {0}, alone = {0};
    struct bench b;
    bench_open(&b, count, words);
    char options[64];
    snprintf(options, sizeof(options), "-DSIZE=%d -DTILE=%d", SIZE, TILE);
    cl_program program = bench_program(&b, source, options);
    cl_kernel kernel = bench_kernel(program, "transpose");
    float *matrix = bench_memory(bytes), *transposed = bench_memory(bytes);
    cl_mem from = bench_buffer(&b, CL_MEM_READ_ONLY, bytes), to = bench_buffer(&b, CL_MEM_WRITE_ONLY, bytes);
    bench_floats_fill(matrix, SIZE * SIZE, 3);
    CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &from));
    CHECK(clSetKernelArg(kernel, 1, sizeof(cl_mem), &to));

    for (int round = -1; round < bench_rounds(&b, 21, 5); round++) {
        memset(transposed, 0, bytes);
        double start = bench_now();
        CHECK(clEnqueueWriteBuffer(b.queue, from, CL_FALSE, 0, bytes, matrix, 0, NULL, NULL));
        launch(&b, kernel);
        CHECK(clEnqueueReadBuffer(b.queue, to, CL_TRUE, 0, bytes, transposed, 0, NULL, NULL));
        double middle = bench_now();
        launch(&b, kernel);
        CHECK(clFinish(b.queue));
        double end = bench_now();
        check_transposed(matrix, transposed);
        if (round < 0)
            continue;
        series_add(&total, (middle - start) / 1e6);
        series_add(&alone, (end - middle) / 1e6);
    }
    series_report(&total, "transpose_2048_total", "ms");
    series_report(&alone, "transpose_2048_kernel", "ms");

    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    free(transposed);
    free(matrix);
    bench_close(&b);
    return 0;
}
