/*
 * Local alignment of two sequences, anti-diagonal by anti-diagonal: a launch for each, with all seven arguments set
 * before. Three buffers alternate as the diagonal before last, the last and the current one.
 */
#include "parity.h"

enum { LENGTH_A = 1200, LENGTH_B = 900, MATCH = 3, MISMATCH = -2, GAP = 2, GROUP = 64 };

static const char *source = "kernel void diagonal(global const char *a, global const char *b, global const int "
                            "*before, global const int *last,\n"
                            "                     global int *current, global int *best, int4 where)\n"
                            "{\n"
                            "    int row = where.x + get_global_id(0), column = where.y - row;\n"
                            "    if (row > where.z)\n"
                            "        return;\n"
                            "    int score = before[row - 1] + (a[row - 1] == b[column - 1] ? MATCH : MISMATCH);\n"
                            "    score = max(max(score, 0), max(last[row - 1], last[row]) - GAP);\n"
                            "    current[row] = score;\n"
                            "    best[row] = max(best[row], score);\n"
                            "    if (row == where.z)\n"
                            "        current[row + 1] = 0;\n"
                            "    if (row == 1)\n"
                            "        current[0] = 0;\n"
                            "}\n";

static char a[LENGTH_A], b[LENGTH_B];
static int matrix[LENGTH_A + 1][LENGTH_B + 1], best[LENGTH_A + 2], wanted[LENGTH_A + 2];

static void sequence_make(char *sequence, int length, uint32_t seed)
{
    for (int i = 0; i < length; i++)
        sequence[i] = "ACGT"[parity_random(&seed) % 4];
}

static int larger(int x, int y)
{
    return x > y ? x : y;
}

static void align_here(void)
{
    for (int i = 1; i <= LENGTH_A; i++) {
        for (int j = 1; j <= LENGTH_B; j++) {
            int score = matrix[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? MATCH : MISMATCH);
            int gap = larger(matrix[i - 1][j], matrix[i][j - 1]) - GAP;
            matrix[i][j] = larger(larger(score, 0), gap);
            wanted[i] = larger(wanted[i], matrix[i][j]);
        }
    }
}

static void align(const struct parity *p, cl_kernel kernel, cl_mem buffer_a, cl_mem buffer_b, cl_mem diagonals[3],
                  cl_mem buffer_best)
{
    for (int sum = 2; sum <= LENGTH_A + LENGTH_B; sum++) {
        int first = larger(1, sum - LENGTH_B), last = sum - 1 < LENGTH_A ? sum - 1 : LENGTH_A;
        cl_int4 where = {{first, sum, last, 0}};
        size_t size = (size_t)((last - first) / GROUP + 1) * GROUP, local = GROUP;
        parity_args(kernel, 7, sizeof(cl_mem), &buffer_a, sizeof(cl_mem), &buffer_b, sizeof(cl_mem),
                    &diagonals[sum % 3], sizeof(cl_mem), &diagonals[(sum + 1) % 3], sizeof(cl_mem),
                    &diagonals[(sum + 2) % 3], sizeof(cl_mem), &buffer_best, sizeof(where), &where);
        CHECK(clEnqueueNDRangeKernel(p->queue, kernel, 1, NULL, &size, &local, 0, NULL, NULL));
    }
    parity_rich();
    CHECK(clFinish(p->queue));
}

int main(void)
{
    struct parity p;
    parity_open(&p, 0);
    sequence_make(a, LENGTH_A, 11);
    sequence_make(b, LENGTH_B, 12);
    align_here();

    cl_program program = parity_program(&p, source, "-DMATCH=3 -DMISMATCH=-2 -D GAP=2");
    cl_kernel kernel = parity_kernel(program, "diagonal");
    cl_mem buffer_a = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(a), a);
    cl_mem buffer_b = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(b), b);
    cl_mem buffer_best = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(best), best);
    cl_mem diagonals[3];
    for (int i = 0; i < 3; i++)
        diagonals[i] = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(best), best);
    align(&p, kernel, buffer_a, buffer_b, diagonals, buffer_best);
    parity_read(p.queue, buffer_best, 0, sizeof(best), best);

    int score = 0;
    for (int row = 1; row <= LENGTH_A; row++) {
        EXPECT(best[row] == wanted[row]);
        score = larger(score, best[row]);
    }
    printf("best score: %d\n", score);
    parity_hash_print("best of each row", best, sizeof(best));

    for (int i = 0; i < 3; i++)
        CHECK(clReleaseMemObject(diagonals[i]));
    CHECK(clReleaseMemObject(buffer_best));
    CHECK(clReleaseMemObject(buffer_b));
    CHECK(clReleaseMemObject(buffer_a));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
