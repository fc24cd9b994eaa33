/*
 * The cost of moving the session to a spare worker, relative to the link's rate: run through VOCL with
 * `--through "env VOCL_SHARE=0 vocl run --workers 2 --spare 1 --"`, with a context on the first device, whose contents
 * move, and one on both devices to measure the rate between the workers. 1 GiB of buffers (--quick: 128 MiB).
 *
 *   move_link        a migration from one worker to another
 *   move_link_fresh  the same into memory that has not been touched yet, like a move's target memory
 *   move_link_busy   the same while 64 MiB are rewritten constantly, which takes processor time and memory bandwidth
 *   move_rest_*      nothing is written meanwhile: whole is the time of the move, divided by the time of its bytes at
 *                    the link's rate; pause in ms
 *   move_rewritten_* a sixteenth is rewritten constantly: the pause also divided by the permitted time, which is that
 *                    of twice the rewritten bytes at the link's rate, and 50 ms
 *   *_touched_*      the same where a virtual machine has already got the memory for the target from its host
 *
 * whole_by_fresh uses the rate of move_link_fresh, whole_by_busy that of move_link_busy.
 */
#include <stdatomic.h>
#include <pthread.h>
#include <unistd.h>

#include "bench.h"

enum { PARTS = 16 };

struct moved {
    unsigned long long bytes, paused_bytes;
    long pause_us, all_us;
};

/* The link's rates, in bytes per nanosecond. */
struct rates {
    double used, fresh, busy;
};

static size_t part_size;
static cl_command_queue queues[2];
static cl_mem parts[PARTS];
static atomic_bool stop;

/* Moves all nodes, one after the other. Returns the move of the node that has the contents. */
static struct moved move(void)
{
    struct moved m = {0};
    char command[64], line[400];
    unsigned of, to, objects;
    bool found = false;
    FILE *answer;

    snprintf(command, sizeof(command), "vocl move %d --to spare", (int)getpid());
    answer = popen(command, "r");
    EXPECT(answer != NULL);
    while (fgets(line, sizeof(line), answer)) {
        struct moved one = {0};

        if (sscanf(line, "worker %u is worker %u now: %u objects, %llu bytes, %llu of them in %ld us of pause, %ld us",
                   &of, &to, &objects, &one.bytes, &one.paused_bytes, &one.pause_us, &one.all_us) == 7 &&
            one.bytes >= m.bytes) {
            m = one;
            found = true;
        }
    }
    EXPECT(!pclose(answer) && found);
    return m;
}

static pthread_t writer;

static void *rewrite(void *argument)
{
    struct bench *b = argument;

    for (cl_int value = 0; !atomic_load(&stop); value++) {
        CHECK(clEnqueueFillBuffer(b->queue, parts[0], &value, sizeof(value), 0, part_size, 0, NULL, NULL));
        CHECK(clFinish(b->queue));
    }
    return NULL;
}

static void rewrite_begin(struct bench *b)
{
    atomic_store(&stop, false);
    EXPECT(!pthread_create(&writer, NULL, rewrite, b));
}

static void rewrite_end(void)
{
    atomic_store(&stop, true);
    pthread_join(writer, NULL);
}

/* Returns the rate in bytes per nanosecond. */
static double link_rate(const struct bench *b, cl_context context, bool fresh, const char *name)
{
    struct series rate = {0}, shown = {0};
    const size_t size = part_size * 4;
    cl_int status, value = 0;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);

    CHECK(status);
    EACH_ROUND (round, 1, bench_rounds(b, 7, 3)) {
        cl_command_queue here = queues[round.number & 1], there = queues[!(round.number & 1)];

        if (fresh) {
            CHECK(clReleaseMemObject(buffer));
            buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
            CHECK(status);
        }
        CHECK(clEnqueueFillBuffer(there, buffer, &value, sizeof(value), 0, size, 0, NULL, NULL));
        CHECK(clFinish(there));
        double start = bench_now();
        CHECK(clEnqueueMigrateMemObjects(here, 1, &buffer, 0, 0, NULL, NULL));
        CHECK(clFinish(here));
        round_add(&round, &rate, size / (bench_now() - start));
        round_add(&round, &shown, size / (bench_now() - start));
        value++;
    }
    CHECK(clReleaseMemObject(buffer));
    series_report(&shown, name, "GB/s");
    return series_median(&rate);
}

static void report(struct series *series, const char *kind, const char *what, const char *unit)
{
    char name[64];

    snprintf(name, sizeof(name), "move_%s_%s", kind, what);
    series_report(series, name, unit);
}

static void measure(struct bench *b, const struct rates *rates, bool rewritten, bool touched)
{
    const char *kind = rewritten ? touched ? "rewritten_touched" : "rewritten" : touched ? "rest_touched" : "rest";
    struct series whole = {0}, by_fresh = {0}, by_busy = {0}, pause = {0}, allowed = {0}, bytes = {0};
    const double limit_ms = 2.0 * (double)part_size / rates->used / 1e6 + 50;

    EACH_ROUND (round, 0, bench_rounds(b, 3, 1)) {
        struct moved m;

        if (touched)
            bench_touch(part_size * PARTS);
        if (rewritten)
            rewrite_begin(b);
        m = move();
        if (rewritten)
            rewrite_end();
        round_add(&round, &whole, (double)m.all_us * 1e3 / ((double)m.bytes / rates->used));
        round_add(&round, &by_fresh, (double)m.all_us * 1e3 / ((double)m.bytes / rates->fresh));
        round_add(&round, &by_busy, (double)m.all_us * 1e3 / ((double)m.bytes / rates->busy));
        round_add(&round, &pause, (double)m.pause_us / 1e3);
        round_add(&round, &allowed, (double)m.pause_us / 1e3 / limit_ms);
        round_add(&round, &bytes, (double)m.bytes / (double)(part_size * PARTS));
    }
    report(&pause, kind, "pause", "ms");
    if (rewritten)
        report(&allowed, kind, "pause_by_allowed", "ratio");
    report(&whole, kind, "whole", "ratio");
    report(&by_fresh, kind, "whole_by_fresh", "ratio");
    if (rewritten)
        report(&by_busy, kind, "whole_by_busy", "ratio");
    report(&bytes, kind, "bytes", "ratio");
}

int main(int count, char **words)
{
    cl_device_id devices[2];
    cl_uint device_count = 0;
    cl_context both;
    cl_int status;
    struct bench b;
    struct rates rates;

    bench_open(&b, count, words);
    part_size = (size_t)(b.quick ? 8 : 64) << 20;
    CHECK(clGetDeviceIDs(b.platform, CL_DEVICE_TYPE_ALL, 2, devices, &device_count));
    if (device_count < 2) {
        puts("# needs two workers");
        return 77;
    }
    both = clCreateContext(NULL, 2, devices, NULL, NULL, &status);
    CHECK(status);
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueueWithProperties(both, devices[i], NULL, &status);
        CHECK(status);
    }
    rates.used = link_rate(&b, both, false, "move_link");
    rates.fresh = link_rate(&b, both, true, "move_link_fresh");
    parts[0] = bench_buffer(&b, CL_MEM_READ_WRITE, part_size);
    rewrite_begin(&b);
    rates.busy = link_rate(&b, both, true, "move_link_busy");
    rewrite_end();
    CHECK(clReleaseMemObject(parts[0]));
    for (int i = 0; i < 2; i++)
        CHECK(clReleaseCommandQueue(queues[i]));
    CHECK(clReleaseContext(both));
    for (int i = 0; i < PARTS; i++) {
        parts[i] = bench_buffer(&b, CL_MEM_READ_WRITE, part_size);
        CHECK(clEnqueueFillBuffer(b.queue, parts[i], &i, sizeof(i), 0, part_size, 0, NULL, NULL));
    }
    CHECK(clFinish(b.queue));
    for (int touched = 0; touched < 2; touched++) {
        measure(&b, &rates, false, touched);
        measure(&b, &rates, true, touched);
    }
    for (int i = 0; i < PARTS; i++)
        CHECK(clReleaseMemObject(parts[i]));
    bench_close(&b);
    return 0;
}
