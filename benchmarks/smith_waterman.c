/*
 * The score of the best local alignment of two sequences of n letters, ms, with the transfers: a launch for each of the
 * 2 n - 1 anti-diagonals, with seven arguments set before each. The paper's Tables 1 and 2 have such launches, with
 * 6144 letters: the share of the calls that set arguments, and all the rest.
 */
#include "bench.h"

enum { LONGEST = 6144, GROUP = 256, MATCH = 3, MISMATCH = -2, GAP = 2 };

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

static int length;
static double setting; /* nanoseconds in clSetKernelArg */
static char a[LONGEST], b[LONGEST];
static cl_int best[LONGEST + 1];
static cl_mem sequences[2], diagonals[3], bests;

static int larger(int x, int y)
{
    return x > y ? x : y;
}

static void sequence_make(char *sequence, uint32_t seed)
{
    for (int i = 0; i < LONGEST; i++)
        sequence[i] = "ACGT"[bench_random(&seed) % 4];
}

/* The same on the host, row by row. */
static int align_here(void)
{
    static int row[LONGEST + 1];
    int highest = 0;
    memset(row, 0, sizeof(row));
    for (int i = 1; i <= length; i++) {
        int corner = 0;
        for (int j = 1; j <= length; j++) {
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
    int first = larger(1, sum - length), last = sum - 1 < length ? sum - 1 : length;
    size_t local = GROUP, size = (size_t)((last - first) / GROUP + 1) * GROUP;
    cl_int4 where = {{first, last, sum, 0}};

    double start = bench_now();
    CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &sequences[0]));
    CHECK(clSetKernelArg(kernel, 1, sizeof(cl_mem), &sequences[1]));
    CHECK(clSetKernelArg(kernel, 2, sizeof(cl_mem), &diagonals[sum % 3]));
    CHECK(clSetKernelArg(kernel, 3, sizeof(cl_mem), &diagonals[(sum + 1) % 3]));
    CHECK(clSetKernelArg(kernel, 4, sizeof(cl_mem), &diagonals[(sum + 2) % 3]));
    CHECK(clSetKernelArg(kernel, 5, sizeof(cl_mem), &bests));
    CHECK(clSetKernelArg(kernel, 6, sizeof(where), &where));
    setting += bench_now() - start;
    CHECK(clEnqueueNDRangeKernel(bench->queue, kernel, 1, NULL, &size, &local, 0, NULL, NULL));
}

static int align(const struct bench *bench, cl_kernel kernel)
{
    cl_int zero = 0;
    int highest = 0;

    CHECK(clEnqueueWriteBuffer(bench->queue, sequences[0], CL_FALSE, 0, (size_t)length, a, 0, NULL, NULL));
    CHECK(clEnqueueWriteBuffer(bench->queue, sequences[1], CL_FALSE, 0, (size_t)length, b, 0, NULL, NULL));
    CHECK(clEnqueueFillBuffer(bench->queue, bests, &zero, sizeof(zero), 0, sizeof(best), 0, NULL, NULL));
    for (int i = 0; i < 3; i++)
        CHECK(clEnqueueFillBuffer(bench->queue, diagonals[i], &zero, sizeof(zero), 0, sizeof(best), 0, NULL, NULL));
    for (int sum = 2; sum <= 2 * length; sum++)
        launch_diagonal(bench, kernel, sum);
    CHECK(clEnqueueReadBuffer(bench->queue, bests, CL_TRUE, 0, sizeof(best), best, 0, NULL, NULL));
    for (int i = 1; i <= length; i++)
        highest = larger(highest, best[i]);
    return highest;
}

static void measure(const struct bench *bench, cl_kernel kernel, int letters, int rounds)
{
    struct series total = {0}, arguments = {0}, launches = {0};
    int wanted;

    length = letters;
    wanted = align_here();
    EACH_ROUND (round, 1, rounds) {
        setting = 0;
        double start = bench_now();
        int highest = align(bench, kernel);
        double taken = bench_now() - start;
        EXPECT(highest == wanted);
        round_add(&round, &total, taken / 1e6);
        round_add(&round, &arguments, setting / 1e6);
        round_add(&round, &launches, (taken - setting) / 1e6);
    }
    if (letters == LONGEST) {
        series_report(&arguments, bench_name("smith_waterman", letters, "arguments"), "ms");
        series_report(&launches, bench_name("smith_waterman", letters, "launches"), "ms");
    }
    series_report(&total, bench_name("smith_waterman", letters, "total"), "ms");
}

int main(int count, char **words)
{
    struct bench bench;
    bench_open(&bench, count, words);
    char options[64];
    snprintf(options, sizeof(options), "-DMATCH=%d -DMISMATCH=%d -DGAP=%d", MATCH, MISMATCH, GAP);
    cl_program program = bench_program(&bench, source, options);
    cl_kernel kernel = bench_kernel(program, "diagonal");
    for (int i = 0; i < 2; i++)
        sequences[i] = bench_buffer(&bench, CL_MEM_READ_ONLY, LONGEST);
    for (int i = 0; i < 3; i++)
        diagonals[i] = bench_buffer(&bench, CL_MEM_READ_WRITE, sizeof(best));
    bests = bench_buffer(&bench, CL_MEM_READ_WRITE, sizeof(best));
    sequence_make(a, 11);
    sequence_make(b, 12);

    EACH_SIZE (letters, &bench, 1024, 4096, 4096)
        measure(&bench, kernel, letters, bench_rounds(&bench, 11, 3));
    measure(&bench, kernel, LONGEST, bench_rounds(&bench, 7, 3));

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
