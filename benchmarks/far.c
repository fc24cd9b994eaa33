/*
 * What distance costs a program, for benchmarks/run --far: how long it waits where it has to wait, and its transfer
 * rates where it need not. FAR_WAITS, FAR_RATES: only these; FAR_ONLY=NAME,...: only those rates. FAR_WINDOW=MIB: how
 * much is under way; FAR_SECONDS: how long to measure. A wait is the best of its rounds, since other load on the
 * machine only adds time.
 */
#include <pthread.h>

#include "bench.h"

enum { LAUNCHES = 12288, ARGUMENTS = 7, MAPPED = 16 << 20 };

static const struct size {
    const char *name;
    size_t bytes;
} sizes[] = {{"4KiB", 4 << 10}, {"64KiB", 64 << 10}, {"256KiB", 256 << 10}, {"1MiB", 1 << 20}, {"16MiB", 16 << 20}};

static const char source[] = "kernel void seven(global int *counter, global const int *a, global const int *b,\n"
                             "                  int first, int second, float third, float fourth)\n"
                             "{\n"
                             "    if (!get_global_id(0))\n"
                             "        *counter += first - second;\n"
                             "}\n";

static char *there, *back;

/* Returns the shortest of some rounds of `what`, in microseconds. */
static double shortest(const struct bench *b, int rounds, void (*what)(const struct bench *, void *), void *argument)
{
    double best = 0;

    for (int round = 0; round < bench_rounds(b, rounds, 3); round++) {
        double start = bench_now();

        what(b, argument);
        start = (bench_now() - start) / 1e3;
        best = !best || start < best ? start : best;
    }
    return best;
}

/* ---- waits ---- */

static void read_little(const struct bench *b, void *buffer)
{
    CHECK(clEnqueueReadBuffer(b->queue, buffer, CL_TRUE, 0, 4096, back, 0, NULL, NULL));
}

static void read_few(const struct bench *b, void *buffer)
{
    CHECK(clEnqueueReadBuffer(b->queue, buffer, CL_TRUE, 0, 64 << 10, back, 0, NULL, NULL));
}

static void read_some(const struct bench *b, void *buffer)
{
    CHECK(clEnqueueReadBuffer(b->queue, buffer, CL_TRUE, 0, 256 << 10, back, 0, NULL, NULL));
}

static void read_much(const struct bench *b, void *buffer)
{
    CHECK(clEnqueueReadBuffer(b->queue, buffer, CL_TRUE, 0, 1 << 20, back, 0, NULL, NULL));
}

static void write_much(const struct bench *b, void *buffer)
{
    CHECK(clEnqueueWriteBuffer(b->queue, buffer, CL_TRUE, 0, 1 << 20, there, 0, NULL, NULL));
}

static void map_to_read(const struct bench *b, void *buffer)
{
    cl_int status;
    void *at = clEnqueueMapBuffer(b->queue, buffer, CL_TRUE, CL_MAP_READ, 0, 4096, 0, NULL, NULL, &status);

    CHECK(status);
    CHECK(clEnqueueUnmapMemObject(b->queue, buffer, at, 0, NULL, NULL));
}

static void map_to_write(const struct bench *b, void *buffer)
{
    cl_int status;
    void *at = clEnqueueMapBuffer(b->queue, buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, MAPPED, 0, NULL, NULL,
                                  &status);

    CHECK(status);
    memset(at, 1, MAPPED);
    CHECK(clEnqueueUnmapMemObject(b->queue, buffer, at, 0, NULL, NULL));
}

static void map_and_finish(const struct bench *b, void *buffer)
{
    map_to_write(b, buffer);
    CHECK(clFinish(b->queue));
}

struct work {
    cl_kernel kernel;
    cl_mem buffers[3];
};

static void launch_many(const struct bench *b, void *argument)
{
    struct work *work = argument;
    const size_t one = 1;

    for (cl_int i = 0; i < LAUNCHES; i++) {
        const cl_int minus = i - 1;
        const cl_float third = 0.5f, fourth = 0.25f * (float)i;

        for (cl_uint k = 0; k < 3; k++)
            CHECK(clSetKernelArg(work->kernel, k, sizeof(cl_mem), &work->buffers[k]));
        CHECK(clSetKernelArg(work->kernel, 3, sizeof(i), &i));
        CHECK(clSetKernelArg(work->kernel, 4, sizeof(minus), &minus));
        CHECK(clSetKernelArg(work->kernel, 5, sizeof(third), &third));
        CHECK(clSetKernelArg(work->kernel, 6, sizeof(fourth), &fourth));
        CHECK(clEnqueueNDRangeKernel(b->queue, work->kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    }
    CHECK(clFinish(b->queue));
}

static void build_anew(const struct bench *b, void *argument)
{
    static unsigned number;
    char options[64];

    (void)argument;
    snprintf(options, sizeof(options), "-DNUMBER=%u", (unsigned)bench_now() + number++); /* in no cache */
    CHECK(clReleaseProgram(bench_program(b, source, options)));
}

static void waits(const struct bench *b)
{
    struct work work = {.kernel = bench_kernel(bench_program(b, source, ""), "seven")};
    cl_mem buffer = bench_buffer(b, CL_MEM_READ_WRITE, MAPPED);

    for (int i = 0; i < 3; i++)
        work.buffers[i] = bench_buffer(b, CL_MEM_READ_WRITE, 4096);
    printf("wait_read_4KiB %g us\n", shortest(b, 20, read_little, buffer));
    printf("wait_read_64KiB %g us\n", shortest(b, 10, read_few, buffer));
    printf("wait_read_256KiB %g us\n", shortest(b, 10, read_some, buffer));
    printf("wait_read_1MiB %g us\n", shortest(b, 10, read_much, buffer));
    printf("wait_write_1MiB %g us\n", shortest(b, 10, write_much, buffer));
    printf("map_read_4KiB %g us\n", shortest(b, 10, map_to_read, buffer));
    CHECK(clFinish(b->queue));
    printf("map_invalidate_16MiB %g us\n", shortest(b, 3, map_to_write, buffer));
    CHECK(clFinish(b->queue));
    printf("map_write_unmap_16MiB %g us\n", shortest(b, 10, map_and_finish, buffer));
    printf("launches_12288 %g us\n", shortest(b, 5, launch_many, &work));
    printf("build %g us\n", shortest(b, 5, build_anew, NULL));
    CHECK(clReleaseMemObject(buffer));
}

/* ---- bandwidth ---- */

enum { BUFFERS = 16, BATCH = 4 << 20, WINDOW = 256 << 20 /* more than a link of 10 Gbit/s and 100 ms has under way */ };

static size_t window = WINDOW; /* bytes under way */

/* A stream of commands of one size, as many under way as the window permits. */
struct stream {
    cl_command_queue queue;
    cl_mem buffers[BUFFERS];
    bool writes;
    size_t bytes;
    double before, time; /* ns until it counts, and for how long it counts, at least */
    double rate;         /* measured in that time, GB/s */
};

static pthread_barrier_t all_have_begun;

/* Enqueues commands for successive places of the program's memory, around the window. Returns the last command's
 * event. */
static cl_event enqueue_batch(const struct stream *s, size_t number)
{
    const size_t commands = s->bytes < BATCH ? BATCH / s->bytes : 1, first = number * commands;
    cl_event last = NULL;

    for (size_t i = first; i < first + commands; i++) {
        char *at = (s->writes ? there : back) + s->bytes * i % window;
        cl_event *event = i + 1 == first + commands ? &last : NULL;
        cl_mem buffer = s->buffers[i % BUFFERS];

        CHECK(s->writes ? clEnqueueWriteBuffer(s->queue, buffer, CL_FALSE, 0, s->bytes, at, 0, NULL, event)
                        : clEnqueueReadBuffer(s->queue, buffer, CL_FALSE, 0, s->bytes, at, 0, NULL, event));
    }
    CHECK(clFlush(s->queue));
    return last;
}

/* Counts from the end of one batch to the end of another. */
static void *keep_moving(void *argument)
{
    struct stream *s = argument;
    const size_t batch = s->bytes < BATCH ? BATCH : s->bytes, most = window / batch;
    cl_event under_way[WINDOW / BATCH];
    size_t begun = 0, over = 0, first = 0;
    double from = 0, begin, now;

    for (; begun < most; begun++)
        under_way[begun] = enqueue_batch(s, begun);
    pthread_barrier_wait(&all_have_begun);
    begin = bench_now() + s->before;
    do {
        const cl_event oldest = under_way[over++ % most];

        CHECK(clWaitForEvents(1, &oldest));
        CHECK(clReleaseEvent(oldest));
        now = bench_now();
        if (!from && now > begin) {
            from = now;
            first = over;
        }
        under_way[begun % most] = enqueue_batch(s, begun);
        begun++;
    } while (!from || now < from + s->time);
    s->rate = (double)(over - first) * (double)batch / (now - from);
    CHECK(clFinish(s->queue));
    while (over < begun)
        CHECK(clReleaseEvent(under_way[over++ % most]));
    return NULL;
}

/* Measures as raw TCP is measured: for some seconds, after one in which a connection gets up to speed. With second,
 * both run side by side. Returns the GB/s of the slower one. */
static double rate(const struct bench *b, struct stream *first, struct stream *second, size_t bytes)
{
    struct stream *const streams[] = {first, second};
    pthread_t threads[2];
    double least = 0;

    CHECK(pthread_barrier_init(&all_have_begun, NULL, second ? 2 : 1));
    for (int i = 0; i < 2 && streams[i]; i++) {
        streams[i]->bytes = bytes;
        streams[i]->before = 1e9;
        streams[i]->time = (getenv("FAR_SECONDS") ? atof(getenv("FAR_SECONDS")) : b->quick ? 1 : 2) * 1e9;
        CHECK(pthread_create(&threads[i], NULL, keep_moving, streams[i]));
    }
    for (int i = 0; i < 2 && streams[i]; i++) {
        CHECK(pthread_join(threads[i], NULL));
        least = !i || streams[i]->rate < least ? streams[i]->rate : least;
    }
    CHECK(pthread_barrier_destroy(&all_have_begun));
    return least;
}

/* Fills memory with incompressible data: raw TCP, with which this is compared, does not compress. */
static void fill(char *memory, size_t size)
{
    uint64_t state = 1;

    for (size_t i = 0; i < size; i += sizeof(state)) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(memory + i, &state, sizeof(state));
    }
}

static void stream_open(const struct bench *b, struct stream *s, bool writes)
{
    const cl_int zero = 0;
    cl_int status;

    *s = (struct stream){.writes = writes};
    s->queue = clCreateCommandQueueWithProperties(b->context, b->device, NULL, &status);
    CHECK(status);
    for (int i = 0; i < BUFFERS; i++) { /* the first access to memory takes longer */
        s->buffers[i] = bench_buffer(b, CL_MEM_READ_WRITE, MAPPED);
        CHECK(clEnqueueFillBuffer(s->queue, s->buffers[i], &zero, sizeof(zero), 0, MAPPED, 0, NULL, NULL));
    }
    CHECK(clFinish(s->queue));
}

/* Whether FAR_ONLY contains the rate, or is not set. */
static bool is_wanted(const char *way, const char *size)
{
    const char *only = getenv("FAR_ONLY");
    char name[64];

    snprintf(name, sizeof(name), "%s_%s", way, size);
    for (const char *at = only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (!strncmp(at, name, strlen(name)) && (!at[strlen(name)] || at[strlen(name)] == ','))
            return true;
    }
    return !only;
}

static void bandwidth(const struct bench *b)
{
    struct stream out, in;

    stream_open(b, &out, true);
    stream_open(b, &in, false);
    for (size_t i = 0; i < BENCH_COUNT(sizes); i++) {
        const struct size *size = &sizes[i];

        if (is_wanted("write", size->name))
            printf("write_%s %g GB/s\n", size->name, rate(b, &out, NULL, size->bytes));
        fflush(stdout);
        if (is_wanted("read", size->name))
            printf("read_%s %g GB/s\n", size->name, rate(b, &in, NULL, size->bytes));
        fflush(stdout);
        if (size->bytes >= 1 << 20 && is_wanted("both", size->name))
            printf("both_%s %g GB/s\n", size->name, rate(b, &out, &in, size->bytes));
        fflush(stdout);
    }
}

int main(int count, char **words)
{
    const double start = bench_now();
    struct bench b;
    double opened;

    bench_open(&b, count, words);
    bench_kernel(bench_program(&b, source, ""), "seven");
    CHECK(clFinish(b.queue));
    opened = bench_now();
    printf("start %g us\n", (opened - start) / 1e3);
    if (getenv("FAR_WINDOW") && atoi(getenv("FAR_WINDOW")) >= MAPPED >> 20 && atoi(getenv("FAR_WINDOW")) < WINDOW >> 20)
        window = (size_t)atoi(getenv("FAR_WINDOW")) << 20;
    there = bench_memory(WINDOW);
    fill(there, WINDOW);
    back = bench_memory(WINDOW);
    if (!getenv("FAR_RATES"))
        waits(&b);
    fflush(stdout);
    if (!getenv("FAR_WAITS"))
        bandwidth(&b);
    bench_close(&b);
    return 0;
}
