/*
 * Transfers between the program's memory and a buffer: blocking, and 32 non-blocking ones with one finish at the end
 * (GB/s, 10^9 bytes); and mapping 16 MiB (us).
 */
#include "bench.h"

enum { WINDOW = 32, MAPPED = 16 << 20 };

static const struct size {
    const char *name;
    size_t bytes;
    int transfers; /* per round: enough to be measured */
    int windows;
} sizes[] = {
    {"4KiB", 4 << 10, 512, 16}, {"16KiB", 16 << 10, 256, 16}, {"64KiB", 64 << 10, 256, 8}, {"256KiB", 256 << 10, 64, 4},
    {"1MiB", 1 << 20, 32, 1},   {"4MiB", 4 << 20, 8, 1},      {"32MiB", 32 << 20, 2, 1},
};

static char *memory;

static void transfer(const struct bench *b, cl_mem buffer, bool writes, cl_bool blocking, size_t bytes)
{
    if (writes)
        CHECK(clEnqueueWriteBuffer(b->queue, buffer, blocking, 0, bytes, memory, 0, NULL, NULL));
    else
        CHECK(clEnqueueReadBuffer(b->queue, buffer, blocking, 0, bytes, memory, 0, NULL, NULL));
}

static void measure_blocking(const struct bench *b, cl_mem buffer, const struct size *size, bool writes)
{
    struct series rate = {0};
    char name[64];
    EACH_ROUND (round, 1, bench_rounds(b, 21, 5)) {
        double start = bench_now();
        for (int i = 0; i < size->transfers; i++)
            transfer(b, buffer, writes, CL_TRUE, size->bytes);
        CHECK(clFinish(b->queue));
        round_add(&round, &rate, (double)size->bytes * size->transfers / (bench_now() - start));
    }
    snprintf(name, sizeof(name), "%s_%s", writes ? "write" : "read", size->name);
    series_report(&rate, name, "GB/s");
}

static void measure_window(const struct bench *b, cl_mem buffer, const struct size *size, bool writes)
{
    struct series rate = {0};
    char name[64];
    EACH_ROUND (round, 1, bench_rounds(b, 11, 3)) {
        double start = bench_now();
        for (int window = 0; window < size->windows; window++) {
            for (int i = 0; i < WINDOW; i++)
                transfer(b, buffer, writes, CL_FALSE, size->bytes);
            CHECK(clFinish(b->queue));
        }
        round_add(&round, &rate, (double)size->bytes * WINDOW * size->windows / (bench_now() - start));
    }
    snprintf(name, sizeof(name), "%s_%s_window32", writes ? "write" : "read", size->name);
    series_report(&rate, name, "GB/s");
}

/* Writes and reads alternately; the data read must be those written. */
static void measure_transfers(const struct bench *b, const struct size *size)
{
    cl_mem buffer = bench_buffer(b, CL_MEM_READ_WRITE, size->bytes);
    char *written = bench_memory(size->bytes);
    uint32_t state = 5;

    for (size_t i = 0; i < size->bytes; i++)
        written[i] = (char)bench_random(&state);
    for (int windowed = 0; windowed < 2; windowed++) {
        memcpy(memory, written, size->bytes);
        (windowed ? measure_window : measure_blocking)(b, buffer, size, true);
        memset(memory, 0, size->bytes);
        (windowed ? measure_window : measure_blocking)(b, buffer, size, false);
        EXPECT(!memcmp(memory, written, size->bytes));
    }
    free(written);
    CHECK(clReleaseMemObject(buffer));
}

static void *map(const struct bench *b, cl_mem buffer, cl_map_flags flags)
{
    cl_int status;
    void *mapped = clEnqueueMapBuffer(b->queue, buffer, CL_TRUE, flags, 0, MAPPED, 0, NULL, NULL, &status);
    CHECK(status);
    return mapped;
}

static void unmap(const struct bench *b, cl_mem buffer, void *mapped)
{
    CHECK(clEnqueueUnmapMemObject(b->queue, buffer, mapped, 0, NULL, NULL));
    CHECK(clFinish(b->queue));
}

static void measure_map(const struct bench *b)
{
    struct series untouched = {0}, filled = {0}, summed = {0};
    cl_mem buffer = bench_buffer(b, CL_MEM_READ_WRITE, MAPPED);
    EACH_ROUND (round, 1, bench_rounds(b, 31, 7)) {
        cl_uint number = (cl_uint)round.number + 2, last;
        uint64_t sum = 0;
        void *mapped;

        double start = bench_now();
        mapped = map(b, buffer, CL_MAP_READ | CL_MAP_WRITE);
        unmap(b, buffer, mapped);
        double first = bench_now();
        mapped = map(b, buffer, CL_MAP_WRITE_INVALIDATE_REGION);
        memset(mapped, (int)number, MAPPED);
        unmap(b, buffer, mapped);
        double second = bench_now();

        /* The newest contents are now on the device, so that a map has to transfer something. */
        CHECK(
            clEnqueueReadBuffer(b->queue, buffer, CL_TRUE, MAPPED - sizeof(last), sizeof(last), &last, 0, NULL, NULL));
        EXPECT(last == 0x01010101u * number);
        CHECK(clEnqueueFillBuffer(b->queue, buffer, &number, sizeof(number), 0, MAPPED, 0, NULL, NULL));
        CHECK(clFinish(b->queue));

        double third = bench_now();
        mapped = map(b, buffer, CL_MAP_READ);
        for (size_t i = 0; i < MAPPED / sizeof(cl_uint); i++)
            sum += ((cl_uint *)mapped)[i];
        unmap(b, buffer, mapped);
        double end = bench_now();
        EXPECT(sum == (uint64_t)number * (MAPPED / sizeof(cl_uint)));
        round_add(&round, &untouched, (first - start) / 1e3);
        round_add(&round, &filled, (second - first) / 1e3);
        round_add(&round, &summed, (end - third) / 1e3);
    }
    series_report(&untouched, "map_unmap_16MiB", "us");
    series_report(&filled, "map_fill_unmap_16MiB", "us");
    series_report(&summed, "map_sum_unmap_16MiB", "us");
    CHECK(clReleaseMemObject(buffer));
}

int main(int count, char **words)
{
    struct bench b;
    bench_open(&b, count, words);
    memory = bench_memory(sizes[BENCH_COUNT(sizes) - 1].bytes);
    for (size_t i = 0; i < BENCH_COUNT(sizes); i++)
        measure_transfers(&b, &sizes[i]);
    measure_map(&b);
    free(memory);
    bench_close(&b);
    return 0;
}
