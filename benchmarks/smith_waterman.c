/*
 * The score of the best local alignment of two sequences of 4096 letters, ms, with the transfers: a launch for each of
 * the 8191 anti-diagonals, with seven arguments set before each.
 */
#include "bench.h"

enum { LENGTH = 4096, GROUP = 256, MATCH = 3, MISMATCH = -2, GAP = 2 };

/* Element i of a diagonal is the cell of row i; rows and columns count from 1, and 0 is the border. */
static const char *source =
    "kernel void diagonal(global const char *a, global const char *b, global const int *before,\n"
    "                     global const int *last, global int *current, global int *best, int4 where)\n"
    "{\n"
    "    int row = where.x + (int)get_global_id(0), column = where.z - row;\n"
    "    if (row > where.y)\n"
    "        return;\n"
    "    int score = before[row - 1] + (a[row - 1] == b[column - 1] ? MATCH : MISMATCH);\n"
    "    score = max(max(score, 0), max(last[row - 1], last[row]) - GAP);\n"
    "    current[row] = score;\n"
    "    best[row] = max(best[row], score);\n"
    "}\n";

static char a[LENGTH], b[LENGTH];
static cl_int best[LENGTH + 1];
static cl_mem sequences[2], diagonals[3], bests;

static int larger(int x, int y)
{
    return x > y ? x : y;
}

static void sequence_make(char *sequence, uint32_t seed)
{
    for (int i = 0; i < LENGTH; i++)
        sequence[i] = "ACGT"[bench_random(&seed) % 4];
}

/* The same by the host, row by row. */
static int align_here(void)
{
    static int row[LENGTH + 1];
    int highest = 0;
    for (int i = 1; i <= LENGTH; i++) {
        int corner = 0;
        for (int j = 1; j <= LENGTH; j++) {
            int score = corner + (a[i - 1] == b[j - 1] ? MATCH : MISMATCH);
            corner = row[j];
            row[j] = larger(larger(score, 0), larger(row[j], row[j - 1]) - GAP);
            highest = larger(highest, row[j]);
        }
    }
    return highest;
}

static void launch_diagonal(const struct bench *bench, cl_kernel kernel, int sum)
{
    int first = larger(1, sum - LENGTH), last = sum - 1 < LENGTH ? sum - 1 : LENGTH;
    size_t local = GROUP, size = (size_t)((last - first) / GROUP + 1) * GROUP;
    cl_int4 where = {{first, last, sum, 0}};

    CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &sequences[0]));
    CHECK(clSetKernelArg(kernel, 1, sizeof(cl_mem), &sequences[1]));
    CHECK(clSetKernelArg(kernel, 2, sizeof(cl_mem), &diagonals[sum % 3]));
    CHECK(clSetKernelArg(kernel, 3, sizeof(cl_mem), &diagonals[(sum + 1) % 3]));
    CHECK(clSetKernelArg(kernel, 4, sizeof(cl_mem), &diagonals[(sum + 2) % 3]));
    CHECK(clSetKernelArg(kernel, 5, sizeof(cl_mem), &bests));
    CHECK(clSetKernelArg(kernel, 6, sizeof(where), &where));
    CHECK(clEnqueueNDRangeKernel(bench->queue, kernel, 1, NULL, &size, &local, 0, NULL, NULL));
}

static int align(const struct bench *bench, cl_kernel kernel)
{
    cl_int zero = 0;
    int highest = 0;

    CHECK(clEnqueueWriteBuffer(bench->queue, sequences[0], CL_FALSE, 0, sizeof(a), a, 0, NULL, NULL));
    CHECK(clEnqueueWriteBuffer(bench->queue, sequences[1], CL_FALSE, 0, sizeof(b), b, 0, NULL, NULL));
    CHECK(clEnqueueFillBuffer(bench->queue, bests, &zero, sizeof(zero), 0, sizeof(best), 0, NULL, NULL));
    for (int i = 0; i < 3; i++)
        CHECK(clEnqueueFillBuffer(bench->queue, diagonals[i], &zero, sizeof(zero), 0, sizeof(best), 0, NULL, NULL));
    for (int sum = 2; sum <= 2 * LENGTH; sum++)
        launch_diagonal(bench, kernel, sum);
    CHECK(clEnqueueReadBuffer(bench->queue, bests, CL_TRUE, 0, sizeof(best), best, 0, NULL, NULL));
    for (int i = 1; i <= LENGTH; i++)
        highest = larger(highest, best[i]);
    return highest;
}

int main(int count, char **words)
{
    struct series total = {0};
    struct bench bench;
    bench_open(&bench, count, words);
    char options[64];
    snprintf(options, sizeof(options), "-DMATCH=%d -DMISMATCH=%d -DGAP=%d", MATCH, MISMATCH, GAP);
    cl_program program = bench_program(&bench, source, options);
    cl_kernel kernel = bench_kernel(program, "diagonal");
    for (int i = 0; i < 2; i++)
        sequences[i] = bench_buffer(&bench, CL_MEM_READ_ONLY, LENGTH);
    for (int i = 0; i < 3; i++)
        diagonals[i] = bench_buffer(&bench, CL_MEM_READ_WRITE, sizeof(best));
    bests = bench_buffer(&bench, CL_MEM_READ_WRITE, sizeof(best));
    sequence_make(a, 11);
    sequence_make(b, 12);

    int wanted = align_here();
    for (int round = -1; round < bench_rounds(&bench, 11, 3); round++) {
        double start = bench_now();
        int highest = align(&bench, kernel);
        double end = bench_now();
        EXPECT(highest == wanted);
        if (round >= 0)
            series_add(&total, (end - start) / 1e6);
    }
    series_report(&total, "smith_waterman_4096_total", "ms");

    CHECK(clReleaseMemObject(bests));
    for (int i = 0; i < 3; i++)
        CHECK(clReleaseMemObject(diagonals[i]));
    for (int i = 0; i < 2; i++)
        CHECK(clReleaseMemObject(sequences[i]));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    bench_close(&bench);
    return 0;
}
