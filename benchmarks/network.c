/*
 * What a session's network costs, for benchmarks/networks to compare: transfers one after the other and 16 at a time,
 * launches, and the processor time of all processes of the session. The best of several rounds, since other load on the
 * machine only adds time. A session's processes have VOCL_BENCH_MARK in their environment.
 */
#include <dirent.h>
#include <unistd.h>

#include "bench.h"

enum { SIDE_BY_SIDE = 16, LAUNCHES = 4000, SINGLE = 300 };

static const struct size {
    const char *name;
    size_t bytes;
    int turns;
} sizes[] = {
    {"4KiB", 4 << 10, 200}, {"64KiB", 64 << 10, 100}, {"256KiB", 256 << 10, 60},
    {"1MiB", 1 << 20, 30},  {"16MiB", 16 << 20, 4},   {"64MiB", 64 << 20, 2},
};

static char *memory;

static bool has_mark(const char *pid)
{
    static char text[1 << 16];
    const char *mark = getenv("VOCL_BENCH_MARK");
    char path[300], wanted[128];
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    file = mark ? fopen(path, "r") : NULL;
    length = file ? fread(text, 1, sizeof(text), file) : 0;
    if (file)
        fclose(file);
    snprintf(wanted, sizeof(wanted), "VOCL_BENCH_MARK=%s", mark ? mark : "");
    return length && memmem(text, length, wanted, strlen(wanted) + 1);
}

static double processor_of(const char *pid)
{
    unsigned long user = 0, system = 0;
    char path[300], text[1024];
    const char *at;
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    file = fopen(path, "r");
    length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    at = strrchr(text, ')');
    if (at && sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return 0;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* Returns the processor time of this process and its workers, in seconds. */
static double processor(void)
{
    DIR *folder = opendir("/proc");
    double sum = 0;

    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (*entry->d_name >= '0' && *entry->d_name <= '9' && has_mark(entry->d_name))
            sum += processor_of(entry->d_name);
    }
    if (folder)
        closedir(folder);
    return sum;
}

static void move(const struct bench *b, cl_mem buffer, bool writes, cl_bool blocking, size_t bytes)
{
    if (writes)
        CHECK(clEnqueueWriteBuffer(b->queue, buffer, blocking, 0, bytes, memory, 0, NULL, NULL));
    else
        CHECK(clEnqueueReadBuffer(b->queue, buffer, blocking, 0, bytes, memory, 0, NULL, NULL));
}

static void measure(const struct bench *b, cl_mem buffer, const struct size *size, bool writes, bool many)
{
    const int count = many && size->bytes < (16u << 20) ? SIDE_BY_SIDE : many ? 4 : 1;
    double best = 0;

    for (int round = 0; round < bench_rounds(b, 9, 4); round++) {
        const int turns = size->turns / count + 1;
        double start = bench_now();

        for (int turn = 0; turn < turns; turn++) {
            for (int i = 0; i < count; i++)
                move(b, buffer, writes, many ? CL_FALSE : CL_TRUE, size->bytes);
            CHECK(clFinish(b->queue));
        }
        start = (double)size->bytes * count * turns / (bench_now() - start);
        best = start > best ? start : best;
    }
    printf("%s_%s%s %g GB/s\n", writes ? "write" : "read", size->name, many ? "_many" : "", best);
}

static void launches(const struct bench *b)
{
    cl_kernel kernel = bench_kernel(bench_program(b, "kernel void empty(void) {}\n", ""), "empty");
    double best_single = 1e9, best_many = 1e9;
    const size_t one = 1;

    for (int round = 0; round < bench_rounds(b, 9, 4); round++) {
        double start, took;

        for (int i = 0; i < SINGLE; i++) {
            start = bench_now();
            CHECK(clEnqueueNDRangeKernel(b->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
            CHECK(clFinish(b->queue));
            took = (bench_now() - start) / 1e3;
            best_single = took < best_single ? took : best_single;
        }
        start = bench_now();
        for (int i = 0; i < LAUNCHES; i++)
            CHECK(clEnqueueNDRangeKernel(b->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
        CHECK(clFinish(b->queue));
        took = (bench_now() - start) / 1e3 / LAUNCHES;
        best_many = took < best_many ? took : best_many;
    }
    printf("launch_and_finish %g us\nlaunch_4000 %g us\n", best_single, best_many);
}

int main(int count, char **words)
{
    double before, after;
    struct bench b;

    bench_open(&b, count, words);
    memory = bench_memory(64 << 20);
    before = processor();
    launches(&b);
    after = processor();
    printf("processor_launches %g s\n", after - before);
    for (unsigned i = 0; i < BENCH_COUNT(sizes); i++) {
        cl_mem buffer = bench_buffer(&b, CL_MEM_READ_WRITE, sizes[i].bytes);

        before = processor();
        for (int way = 0; way < 4; way++)
            measure(&b, buffer, &sizes[i], way & 1, way & 2);
        printf("processor_%s %g s\n", sizes[i].name, processor() - before);
        CHECK(clReleaseMemObject(buffer));
    }
    free(memory);
    bench_close(&b);
    return 0;
}
