/*
 * The time that this machine's OpenCL takes for each call that a worker makes: shows where a session's overhead goes,
 * and what tests/drivers/strict.c imitates. Runs natively only, since it measures calls and not commands.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

enum { EACH = 200, PIECE = 1 << 20, MAPPED = 16 << 20 };

static const char *source = "kernel void empty(void) {}\n";

static cl_kernel empty;
static atomic_int called;
static _Atomic double called_at;

static void report(struct series *s, const char *name)
{
    series_report(s, name, "us");
}

static cl_event launch(const struct bench *b)
{
    size_t one = 1;
    cl_event event;

    CHECK(clEnqueueNDRangeKernel(b->queue, empty, 1, NULL, &one, &one, 0, NULL, &event));
    return event;
}

static double since_us(double start)
{
    return (bench_now() - start) / 1e3;
}

static cl_int status_of(cl_event event)
{
    cl_int status;

    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    return status;
}

static void CL_CALLBACK on_end(cl_event event, cl_int status, void *argument)
{
    (void)event;
    (void)status;
    (void)argument;
    called_at = bench_now();
    called++;
}

/* ---- the end of a kernel, by each way to learn about it ---- */

static void by_finish(const struct bench *b, cl_event event)
{
    (void)event;
    CHECK(clFinish(b->queue));
}

static void by_wait(const struct bench *b, cl_event event)
{
    (void)b;
    CHECK(clWaitForEvents(1, &event));
}

static void by_asking(const struct bench *b, cl_event event)
{
    CHECK(clFlush(b->queue));
    while (status_of(event) != CL_COMPLETE)
        ;
}

static void by_callback(const struct bench *b, cl_event event)
{
    const int before = called;

    CHECK(clSetEventCallback(event, CL_COMPLETE, on_end, NULL));
    CHECK(clFlush(b->queue));
    while (called == before)
        usleep(0);
}

static void by_callback_asking(const struct bench *b, cl_event event)
{
    const int before = called;

    CHECK(clSetEventCallback(event, CL_COMPLETE, on_end, NULL));
    CHECK(clFlush(b->queue));
    while (called == before)
        status_of(event);
}

/* As a worker does: the kernel, a marker behind it, and queries of the marker's status. */
static void by_marker(const struct bench *b, cl_event event)
{
    cl_event marker;

    (void)event;
    CHECK(clEnqueueMarkerWithWaitList(b->queue, 0, NULL, &marker));
    by_asking(b, marker);
    CHECK(clReleaseEvent(marker));
}

static void measure_ends(const struct bench *b)
{
    static const struct {
        const char *name;
        void (*wait)(const struct bench *, cl_event);
    } ways[] = {{"end_by_finish", by_finish},     {"end_by_wait", by_wait},
                {"end_by_asking", by_asking},     {"end_by_marker_asked", by_marker},
                {"end_by_callback", by_callback}, {"end_by_callback_and_asking", by_callback_asking}};

    for (size_t i = 0; i < BENCH_COUNT(ways); i++) {
        struct series each = {0};

        EACH_ROUND (round, 10, EACH) {
            double start = bench_now();
            cl_event event = launch(b);
            ways[i].wait(b, event);
            round_add(&round, &each, since_us(start));
            CHECK(clReleaseEvent(event));
        }
        report(&each, ways[i].name);
    }
}

/* ---- single calls ---- */

static void measure_calls(const struct bench *b)
{
    struct series kernel = {0}, marker = {0}, barrier = {0}, flush = {0}, callback = {0}, query = {0}, create = {0},
                  gated = {0}, set = {0}, release = {0};
    size_t one = 1;

    EACH_ROUND (round, 10, EACH) {
        cl_event event, gate, last;
        cl_int status;
        double start = bench_now();
        CHECK(clEnqueueNDRangeKernel(b->queue, empty, 1, NULL, &one, &one, 0, NULL, &event));
        round_add(&round, &kernel, since_us(start));
        start = bench_now();
        CHECK(clSetEventCallback(event, CL_COMPLETE, on_end, NULL));
        round_add(&round, &callback, since_us(start));
        start = bench_now();
        CHECK(clFlush(b->queue));
        round_add(&round, &flush, since_us(start));
        CHECK(clReleaseEvent(event));
        start = bench_now();
        CHECK(clEnqueueMarkerWithWaitList(b->queue, 0, NULL, &last));
        round_add(&round, &marker, since_us(start));
        start = bench_now();
        status_of(last);
        round_add(&round, &query, since_us(start));
        CHECK(clFinish(b->queue));
        start = bench_now();
        CHECK(clReleaseEvent(last));
        round_add(&round, &release, since_us(start));
        start = bench_now();
        gate = clCreateUserEvent(b->context, &status);
        CHECK(status);
        round_add(&round, &create, since_us(start));
        start = bench_now();
        CHECK(clEnqueueBarrierWithWaitList(b->queue, 1, &gate, &last));
        round_add(&round, &barrier, since_us(start));
        start = bench_now();
        CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
        round_add(&round, &set, since_us(start));
        by_asking(b, last);
        round_add(&round, &gated, since_us(start));
        CHECK(clReleaseEvent(last));
        CHECK(clReleaseEvent(gate));
    }
    report(&kernel, "call_kernel");
    report(&callback, "call_set_callback");
    report(&flush, "call_flush");
    report(&marker, "call_marker");
    report(&query, "call_event_status");
    report(&release, "call_release_event");
    report(&create, "call_user_event");
    report(&barrier, "call_barrier_of_it");
    report(&set, "call_set_user_event");
    report(&gated, "user_event_set_to_barrier_over");
}

/* ---- transfers, by the kind of the program's memory ---- */

static void measure_pair(const struct bench *b, cl_mem buffer, void *memory, size_t bytes, const char *where)
{
    struct series write = {0}, read = {0};
    char name[64];

    EACH_ROUND (round, 2, bench_rounds(b, bytes > PIECE ? 20 : 100, 20)) {
        double start = bench_now();
        CHECK(clEnqueueWriteBuffer(b->queue, buffer, CL_TRUE, 0, bytes, memory, 0, NULL, NULL));
        round_add(&round, &write, since_us(start));
        start = bench_now();
        CHECK(clEnqueueReadBuffer(b->queue, buffer, CL_TRUE, 0, bytes, memory, 0, NULL, NULL));
        round_add(&round, &read, since_us(start));
    }
    snprintf(name, sizeof(name), "write_%zuKiB_%s", bytes >> 10, where);
    report(&write, name);
    snprintf(name, sizeof(name), "read_%zuKiB_%s", bytes >> 10, where);
    report(&read, name);
}

static void *shared_memory(size_t bytes)
{
    int descriptor = memfd_create("bench", MFD_CLOEXEC);
    void *memory;

    EXPECT(descriptor >= 0 && !ftruncate(descriptor, (off_t)bytes));
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    EXPECT(memory != MAP_FAILED);
    close(descriptor);
    memset(memory, 1, bytes);
    return memory;
}

static void measure_transfers(const struct bench *b)
{
    enum { MOST = 32 << 20 };
    cl_mem device = bench_buffer(b, CL_MEM_READ_WRITE, MOST);
    cl_mem pinned = bench_buffer(b, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, MOST);
    char *shared = shared_memory(MOST), *registered = shared_memory(MOST), *pageable = bench_memory(MOST), *locked;
    cl_int status;
    cl_mem over = clCreateBuffer(b->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, MOST, registered, &status);
    struct series copy = {0}, back = {0};

    CHECK(status);
    locked = clEnqueueMapBuffer(b->queue, pinned, CL_TRUE, CL_MAP_WRITE, 0, MOST, 0, NULL, NULL, &status);
    CHECK(status);
    for (size_t bytes = 4 << 10; bytes <= MOST; bytes *= bytes < PIECE ? 4 : bytes < 4 * PIECE ? 4 : 8) {
        measure_pair(b, device, pageable, bytes, "pageable");
        measure_pair(b, device, locked, bytes, "pinned");
        measure_pair(b, device, shared, bytes, "shared");
        measure_pair(b, device, registered, bytes, "shared_use_host_ptr");
    }
    EACH_ROUND (round, 2, 20) {
        double start = bench_now();
        CHECK(clEnqueueCopyBuffer(b->queue, over, device, 0, 0, MOST, 0, NULL, NULL));
        CHECK(clFinish(b->queue));
        round_add(&round, &copy, since_us(start));
        start = bench_now();
        CHECK(clEnqueueCopyBuffer(b->queue, device, over, 0, 0, MOST, 0, NULL, NULL));
        CHECK(clFinish(b->queue));
        round_add(&round, &back, since_us(start));
    }
    report(&copy, "copy_32MiB_of_use_host_ptr");
    report(&back, "copy_32MiB_to_use_host_ptr");
    CHECK(clEnqueueUnmapMemObject(b->queue, pinned, locked, 0, NULL, NULL));
    CHECK(clFinish(b->queue));
    for (int i = 0; i < 2; i++) {
        struct series copied = {0};
        char *to = i ? pageable : shared, *from = i ? shared : pageable;
        EACH_ROUND (round, 2, 20) {
            double start = bench_now();
            memcpy(to, from, MOST);
            round_add(&round, &copied, since_us(start));
        }
        report(&copied, i ? "memcpy_32MiB_from_shared" : "memcpy_32MiB_to_shared");
    }
    CHECK(clReleaseMemObject(over));
    CHECK(clReleaseMemObject(pinned));
    CHECK(clReleaseMemObject(device));
    free(pageable);
    munmap(shared, MOST);
    munmap(registered, MOST);
}

/* Measures each direction alone, and both at once in two queues. */
static void measure_both_ways(const struct bench *b)
{
    enum { BYTES = 32 << 20 };
    cl_int status;
    cl_command_queue other = clCreateCommandQueueWithProperties(b->context, b->device, NULL, &status);
    cl_mem buffers[2], pinned[2];
    char *memory[2];
    struct series both = {0};

    CHECK(status);
    for (int i = 0; i < 2; i++) {
        buffers[i] = bench_buffer(b, CL_MEM_READ_WRITE, BYTES);
        pinned[i] = bench_buffer(b, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, BYTES);
        memory[i] = clEnqueueMapBuffer(b->queue, pinned[i], CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &status);
        CHECK(status);
        memset(memory[i], 1, BYTES);
    }
    EACH_ROUND (round, 2, 20) {
        double start = bench_now();
        CHECK(clEnqueueWriteBuffer(b->queue, buffers[0], CL_FALSE, 0, BYTES, memory[0], 0, NULL, NULL));
        CHECK(clEnqueueReadBuffer(other, buffers[1], CL_FALSE, 0, BYTES, memory[1], 0, NULL, NULL));
        CHECK(clFlush(b->queue));
        CHECK(clFlush(other));
        CHECK(clFinish(b->queue));
        CHECK(clFinish(other));
        round_add(&round, &both, since_us(start));
    }
    report(&both, "write_and_read_32MiB_at_once");
    for (int i = 0; i < 2; i++) {
        CHECK(clEnqueueUnmapMemObject(b->queue, pinned[i], memory[i], 0, NULL, NULL));
        CHECK(clFinish(b->queue));
        CHECK(clReleaseMemObject(pinned[i]));
        CHECK(clReleaseMemObject(buffers[i]));
    }
    CHECK(clReleaseCommandQueue(other));
}

/* ---- maps ---- */

static void measure_map(const struct bench *b, cl_mem_flags flags, const char *what)
{
    static const struct {
        const char *name;
        cl_map_flags flags;
    } maps[] = {{"read", CL_MAP_READ}, {"write", CL_MAP_WRITE}, {"invalidate", CL_MAP_WRITE_INVALIDATE_REGION}};
    void *memory = flags & CL_MEM_USE_HOST_PTR ? bench_memory(MAPPED) : NULL;
    cl_int status;
    cl_mem buffer = clCreateBuffer(b->context, flags, MAPPED, memory, &status);
    char name[64];

    CHECK(status);
    for (size_t i = 0; i < BENCH_COUNT(maps); i++) {
        struct series map = {0}, unmap = {0};
        EACH_ROUND (round, 2, 20) {
            double start = bench_now();
            void *at = clEnqueueMapBuffer(b->queue, buffer, CL_TRUE, maps[i].flags, 0, MAPPED, 0, NULL, NULL, &status);
            CHECK(status);
            round_add(&round, &map, since_us(start));
            start = bench_now();
            CHECK(clEnqueueUnmapMemObject(b->queue, buffer, at, 0, NULL, NULL));
            CHECK(clFinish(b->queue));
            round_add(&round, &unmap, since_us(start));
        }
        snprintf(name, sizeof(name), "map_16MiB_%s_%s", maps[i].name, what);
        report(&map, name);
        snprintf(name, sizeof(name), "unmap_16MiB_%s_%s", maps[i].name, what);
        report(&unmap, name);
    }
    CHECK(clReleaseMemObject(buffer));
    free(memory);
}

static void measure_pieces(const struct bench *b)
{
    struct series each = {0};

    EACH_ROUND (round, 2, 10) {
        cl_int status;
        double start = bench_now();
        cl_mem piece = bench_buffer(b, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, PIECE);
        void *at = clEnqueueMapBuffer(b->queue, piece, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, PIECE, 0, NULL, NULL,
                                      &status);
        CHECK(status);
        round_add(&round, &each, since_us(start));
        CHECK(clEnqueueUnmapMemObject(b->queue, piece, at, 0, NULL, NULL));
        CHECK(clFinish(b->queue));
        CHECK(clReleaseMemObject(piece));
    }
    report(&each, "pinned_1MiB_made");
}

int main(int count, char **words)
{
    struct bench b;
    cl_program program;

    bench_open(&b, count, words);
    program = bench_program(&b, source, NULL);
    empty = bench_kernel(program, "empty");
    measure_ends(&b);
    measure_calls(&b);
    measure_pieces(&b);
    measure_transfers(&b);
    measure_both_ways(&b);
    measure_map(&b, CL_MEM_READ_WRITE, "plain");
    measure_map(&b, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, "alloc_host_ptr");
    measure_map(&b, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, "use_host_ptr");
    CHECK(clReleaseKernel(empty));
    CHECK(clReleaseProgram(program));
    bench_close(&b);
    return 0;
}
