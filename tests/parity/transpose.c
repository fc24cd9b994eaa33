/* A matrix transposed by tiles in local memory, and back again. */
#include "parity.h"

enum { ROWS = 768, COLUMNS = 1024, TILE = 16 };

static const char *source =
    "kernel void transpose(global const float *from, global float *to, local float *tile, int rows, int columns)\n"
    "{\n"
    "    int x = get_local_id(0), y = get_local_id(1), size = get_local_size(0);\n"
    "    int column = get_global_id(0), row = get_global_id(1);\n"
    "    tile[y * (size + 1) + x] = from[row * columns + column];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    column = get_group_id(1) * size + x;\n"
    "    row = get_group_id(0) * size + y;\n"
    "    to[row * rows + column] = tile[x * (size + 1) + y];\n"
    "}\n";

static float matrix[ROWS * COLUMNS], result[ROWS * COLUMNS], wanted[ROWS * COLUMNS];

static void transpose_run(const struct parity *p, cl_kernel kernel, cl_mem from, cl_mem to, cl_int rows, cl_int columns)
{
    size_t tile = sizeof(cl_float) * TILE * (TILE + 1), global[] = {(size_t)columns, (size_t)rows};
    parity_args(kernel, 5, sizeof(from), &from, sizeof(to), &to, tile, NULL, sizeof(rows), &rows, sizeof(columns),
                &columns);
    CHECK(clEnqueueNDRangeKernel(p->queue, kernel, 2, NULL, global, (size_t[]){TILE, TILE}, 0, NULL, NULL));
}

static void result_check(const struct parity *p, cl_mem buffer, const char *name, const float *expected)
{
    parity_read(p->queue, buffer, 0, sizeof(result), result);
    parity_compare(name, result, expected, ROWS * COLUMNS, 0);
    parity_hash_print(name, result, sizeof(result));
}

int main(void)
{
    struct parity p;
    parity_open(&p, 0);
    parity_random_floats(matrix, ROWS * COLUMNS, 5);
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++)
            wanted[column * ROWS + row] = matrix[row * COLUMNS + column];
    }

    cl_program program = parity_program(&p, source, "");
    cl_kernel kernel = parity_kernel(program, "transpose");
    cl_mem from = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(matrix), matrix);
    cl_mem turned = parity_buffer(&p, CL_MEM_READ_WRITE, sizeof(matrix), NULL);
    cl_mem back = parity_buffer(&p, CL_MEM_WRITE_ONLY, sizeof(matrix), NULL);
    transpose_run(&p, kernel, from, turned, ROWS, COLUMNS);
    transpose_run(&p, kernel, turned, back, COLUMNS, ROWS);
    parity_rich();
    result_check(&p, turned, "transposed", wanted);
    result_check(&p, back, "and back", matrix);

    CHECK(clReleaseMemObject(back));
    CHECK(clReleaseMemObject(turned));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
