/* C = alpha A B + beta C, by a plain kernel and by one with tiles in local memory. */
#include "parity.h"

enum { ROWS = 256, COLUMNS = 512, DEPTH = 384, TILE = 16 };

static const char *source =
    "kernel void plain(int depth, int columns, float alpha, float beta, global const float *a,\n"
    "                  global const float *b, global float *c)\n"
    "{\n"
    "    int column = get_global_id(0), row = get_global_id(1);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < depth; k++)\n"
    "        sum += a[row * depth + k] * b[k * columns + column];\n"
    "    c[row * columns + column] = alpha * sum + beta * c[row * columns + column];\n"
    "}\n"
    "\n"
    "kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))\n"
    "void tiled(int depth, int columns, float alpha, float beta, global const float *a,\n"
    "           global const float *b, global float *c)\n"
    "{\n"
    "    local float tile_a[TILE][TILE], tile_b[TILE][TILE];\n"
    "    int x = get_local_id(0), y = get_local_id(1);\n"
    "    int column = get_global_id(0), row = get_global_id(1);\n"
    "    float sum = 0;\n"
    "    for (int first = 0; first < depth; first += TILE) {\n"
    "        tile_a[y][x] = a[row * depth + first + x];\n"
    "        tile_b[y][x] = b[(first + y) * columns + column];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (int k = 0; k < TILE; k++)\n"
    "            sum += tile_a[y][k] * tile_b[k][x];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    c[row * columns + column] = alpha * sum + beta * c[row * columns + column];\n"
    "}\n";

static float a[ROWS * DEPTH], b[DEPTH * COLUMNS], c[ROWS * COLUMNS];
static float result[ROWS * COLUMNS], wanted[ROWS * COLUMNS];
static const float alpha = 1.5f, beta = -0.25f;

static void multiply_here(void)
{
    for (int row = 0; row < ROWS; row++) {
        for (int k = 0; k < DEPTH; k++) {
            for (int column = 0; column < COLUMNS; column++)
                wanted[row * COLUMNS + column] += a[row * DEPTH + k] * b[k * COLUMNS + column];
        }
    }
    for (int i = 0; i < ROWS * COLUMNS; i++)
        wanted[i] = alpha * wanted[i] + beta * c[i];
}

static void multiply(const struct parity *p, cl_program program, const char *name, cl_mem buffer_a, cl_mem buffer_b)
{
    cl_int depth = DEPTH, columns = COLUMNS;
    cl_mem buffer_c = parity_buffer(p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(c), c);
    cl_kernel kernel = parity_kernel(program, name);
    parity_args(kernel, 7, sizeof(depth), &depth, sizeof(columns), &columns, sizeof(alpha), &alpha, sizeof(beta), &beta,
                sizeof(cl_mem), &buffer_a, sizeof(cl_mem), &buffer_b, sizeof(cl_mem), &buffer_c);
    parity_rich();
    parity_launch(p->queue, kernel, 2, (size_t[]){COLUMNS, ROWS}, (size_t[]){TILE, TILE});
    parity_read(p->queue, buffer_c, 0, sizeof(result), result);
    parity_compare(name, result, wanted, ROWS * COLUMNS, 1e-3f);
    parity_hash_print(name, result, sizeof(result));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseMemObject(buffer_c));
}

int main(void)
{
    struct parity p;
    parity_open(&p, 0);
    parity_random_floats(a, PARITY_COUNT(a), 1);
    parity_random_floats(b, PARITY_COUNT(b), 2);
    parity_random_floats(c, PARITY_COUNT(c), 3);
    multiply_here();

    cl_program program = parity_program(&p, source, "-D TILE=16");
    cl_mem buffer_a = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(a), a);
    cl_mem buffer_b = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(b), b);
    multiply(&p, program, "plain", buffer_a, buffer_b);
    multiply(&p, program, "tiled", buffer_a, buffer_b);

    CHECK(clReleaseMemObject(buffer_b));
    CHECK(clReleaseMemObject(buffer_a));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
