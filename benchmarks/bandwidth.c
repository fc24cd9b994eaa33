/*
 * Transfers between the program's memory and a buffer or an image: blocking, and 32 non-blocking ones with one finish
 * at the end (GB/s, 10^9 bytes), from ordinary memory and from memory that the driver allocated (pinned). Mapping 16
 * MiB (us). Pieces that are written, changed by a kernel and read, in one queue, and alternately in two (us a piece).
 */
#include "bench.h"

enum { WINDOW = 32, MAPPED = 16 << 20, IMAGE = 2048, PIECE = 1 << 20, PIECES = 16 };

static const struct size {
    const char *name;
    size_t bytes;
    int transfers; /* per round: enough to be measured */
    int windows;
} sizes[] = {
    {"4KiB", 4 << 10, 512, 16}, {"16KiB", 16 << 10, 256, 16}, {"64KiB", 64 << 10, 256, 8}, {"256KiB", 256 << 10, 64, 4},
    {"1MiB", 1 << 20, 32, 1},   {"4MiB", 4 << 20, 8, 1},      {"32MiB", 32 << 20, 2, 1},   {"256MiB", 256 << 20, 1, 0},
};

static char *memory;
static const char *kind; /* of this memory: what the names of its figures begin with */

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
    snprintf(name, sizeof(name), "%s%s_%s", kind, writes ? "write" : "read", size->name);
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
    snprintf(name, sizeof(name), "%s%s_%s_window32", kind, writes ? "write" : "read", size->name);
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
    for (int windowed = 0; windowed < 1 + (size->windows > 0); windowed++) {
        memcpy(memory, written, size->bytes);
        (windowed ? measure_window : measure_blocking)(b, buffer, size, true);
        memset(memory, 0, size->bytes);
        (windowed ? measure_window : measure_blocking)(b, buffer, size, false);
        EXPECT(!memcmp(memory, written, size->bytes));
    }
    free(written);
    CHECK(clReleaseMemObject(buffer));
}

/* The largest size is left out where there is one round. */
static size_t sizes_count(void)
{
    return BENCH_COUNT(sizes) - rounds_once();
}

static void measure_sizes(const struct bench *b, const char *name)
{
    kind = name;
    for (size_t i = 0; i < sizes_count(); i++)
        measure_transfers(b, &sizes[i]);
}

static void *map_part(const struct bench *b, cl_mem buffer, cl_map_flags flags, size_t size)
{
    cl_int status;
    void *mapped = clEnqueueMapBuffer(b->queue, buffer, CL_TRUE, flags, 0, size, 0, NULL, NULL, &status);
    CHECK(status);
    return mapped;
}

static void *map(const struct bench *b, cl_mem buffer, cl_map_flags flags)
{
    return map_part(b, buffer, flags, MAPPED);
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

static void measure_map_pinned(const struct bench *b)
{
    struct series whole = {0};
    cl_mem buffer = bench_buffer(b, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, MAPPED);
    EACH_ROUND (round, 1, bench_rounds(b, 31, 7)) {
        double start = bench_now();
        unmap(b, buffer, map(b, buffer, CL_MAP_READ | CL_MAP_WRITE));
        round_add(&round, &whole, (bench_now() - start) / 1e3);
    }
    series_report(&whole, "pinned_map_unmap_16MiB", "us");
    CHECK(clReleaseMemObject(buffer));
}

static void measure_image(const struct bench *b)
{
    const size_t origin[3] = {0}, region[] = {IMAGE, IMAGE, 1}, bytes = (size_t)IMAGE * IMAGE * 4;
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = IMAGE, .image_height = IMAGE};
    struct series write = {0}, read = {0};
    cl_bool has = CL_FALSE;
    cl_int status;
    cl_mem image;

    CHECK(clGetDeviceInfo(b->device, CL_DEVICE_IMAGE_SUPPORT, sizeof(has), &has, NULL));
    if (!has)
        return;
    image = clCreateImage(b->context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status);
    CHECK(status);
    EACH_ROUND (round, 1, bench_rounds(b, 21, 5)) {
        memset(memory, (int)round.number + 2, bytes);
        double start = bench_now();
        CHECK(clEnqueueWriteImage(b->queue, image, CL_TRUE, origin, region, 0, 0, memory, 0, NULL, NULL));
        CHECK(clFinish(b->queue));
        double middle = bench_now();
        memset(memory, 0, bytes);
        double second = bench_now();
        CHECK(clEnqueueReadImage(b->queue, image, CL_TRUE, origin, region, 0, 0, memory, 0, NULL, NULL));
        double end = bench_now();
        EXPECT(memory[0] == (char)(round.number + 2) && !memcmp(memory, memory + 1, bytes - 1));
        round_add(&round, &write, (double)bytes / (middle - start));
        round_add(&round, &read, (double)bytes / (end - second));
    }
    series_report(&write, "write_image_16MiB", "GB/s");
    series_report(&read, "read_image_16MiB", "GB/s");
    CHECK(clReleaseMemObject(image));
}

/* Buffers of one piece, each with a queue of its own if there are two. */
struct lane {
    cl_command_queue queue;
    cl_mem buffer;
};

static void go_through(const struct lane lanes[2], cl_kernel kernel)
{
    const size_t items = PIECE / sizeof(cl_uint);

    for (int i = 0; i < PIECES; i++) {
        const struct lane *lane = &lanes[i % 2];
        char *piece = memory + (size_t)i * PIECE;

        CHECK(clEnqueueWriteBuffer(lane->queue, lane->buffer, CL_FALSE, 0, PIECE, piece, 0, NULL, NULL));
        CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &lane->buffer));
        CHECK(clEnqueueNDRangeKernel(lane->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
        CHECK(clEnqueueReadBuffer(lane->queue, lane->buffer, CL_FALSE, 0, PIECE, piece, 0, NULL, NULL));
        CHECK(clFlush(lane->queue));
    }
    CHECK(clFinish(lanes[0].queue));
    CHECK(clFinish(lanes[1].queue));
}

static void measure_lanes(const struct bench *b, const char *name, const struct lane lanes[2], cl_kernel kernel)
{
    const cl_uint *values = (const cl_uint *)memory;
    struct series each = {0};

    EACH_ROUND (round, 1, bench_rounds(b, 21, 5)) {
        memset(memory, 0, (size_t)PIECE * PIECES);
        double start = bench_now();
        go_through(lanes, kernel);
        round_add(&round, &each, (bench_now() - start) / PIECES / 1e3);
        for (size_t i = 0; i < (size_t)PIECE / sizeof(cl_uint) * PIECES; i++)
            EXPECT(values[i] == 1);
    }
    series_report(&each, name, "us");
}

/* Copies in both directions and kernels overlap if the pieces take turns in two queues. */
static void measure_overlap(const struct bench *b)
{
    const char *source = "kernel void next(global uint *data) { data[get_global_id(0)] += 1; }\n";
    cl_program program = bench_program(b, source, NULL);
    cl_kernel kernel = bench_kernel(program, "next");
    cl_int status;
    cl_command_queue other = clCreateCommandQueueWithProperties(b->context, b->device, NULL, &status);
    struct lane lanes[2] = {{b->queue, bench_buffer(b, CL_MEM_READ_WRITE, PIECE)},
                            {b->queue, bench_buffer(b, CL_MEM_READ_WRITE, PIECE)}};

    CHECK(status);
    measure_lanes(b, "piece_1MiB_one_queue", lanes, kernel);
    lanes[1].queue = other;
    measure_lanes(b, "piece_1MiB_two_queues", lanes, kernel);
    CHECK(clReleaseMemObject(lanes[1].buffer));
    CHECK(clReleaseMemObject(lanes[0].buffer));
    CHECK(clReleaseCommandQueue(other));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
}

static void measure_pinned(const struct bench *b, size_t size)
{
    cl_mem pinned = bench_buffer(b, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size);

    memory = map_part(b, pinned, CL_MAP_READ | CL_MAP_WRITE, size);
    memset(memory, 1, size);
    measure_sizes(b, "pinned_");
    measure_overlap(b);
    unmap(b, pinned, memory);
    CHECK(clReleaseMemObject(pinned));
}

int main(int count, char **words)
{
    struct bench b;
    bench_open(&b, count, words);
    const size_t most = sizes[sizes_count() - 1].bytes;
    memory = bench_memory(most);
    measure_sizes(&b, "");
    measure_map(&b);
    measure_image(&b);
    free(memory);
    measure_map_pinned(&b);
    measure_pinned(&b, most);
    bench_close(&b);
    return 0;
}
