/*
 * devcom, MPI's one-sided operations and plain copies between two ranks of one host: half round trips of a write with
 * notification, by the host and by kernels, bandwidth, rate by queues, chains, strided blocks, barrier and allreduce.
 * Started by mpiexec; benchmarks/devcom_run takes medians of several runs of both MPIs. MPI always polls; with
 * VOCL_SPIN_US=1000000 devcom does, too, which differs from sleeping on a loaded machine.
 *
 *     mpi_put    MPI_Put of the data, flush, MPI_Put of the flag, flush; the target polls the flag
 *     memcpy     by one process, within its own segment
 *     copy       memcpy into the other's memory and a flag that it polls, alternately: what the two caches permit
 *     copy_run   the same, between runs of kernels and timed like these: a run of many rounds, as kernels have no clock
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "devcom.h"
#include "pair.h"

/* The layout of a segment: the data that the other rank writes, a flag, and the data to be written to it. */
enum {
    SEGMENT,
    DEVICE,
    MOST = PAIR_MOST,
    FLAG = MOST,
    SOURCE = MOST + 4096,
    ALL = SOURCE + MOST,
    CHAIN = 255,
    BLOCK = 4096,
    THREADS = 4
};

static struct devcom *d;
static struct devcom_endpoint *endpoint;
static struct bench bench;
static struct pair pair;
static int rank, other;
static uint8_t *window, *mine, *theirs; /* MPI's window, and the segments on the devices */
static MPI_Win win;

static void meet(void)
{
    EXPECT(!devcom_barrier(d, DEVCOM_BLOCK));
}

static void report(struct series *series, const char *what, size_t bytes, const char *unit)
{
    pair_report(&pair, series, what, bytes, unit);
}

static void report_value(const char *what, double value, const char *unit)
{
    if (rank == 0)
        printf("%s %.4g %s\n", what, value, unit);
}

/* ---- half round trips ---- */

static void devcom_ping(size_t bytes, int64_t round)
{
    EXPECT(!devcom_write_notify(d, SEGMENT, SOURCE, other, SEGMENT, 0, bytes, 1, DEVCOM_SIGNAL_SET, round, 0));
}

static void devcom_pong(int64_t round)
{
    EXPECT(!devcom_signal_wait(d, 1, DEVCOM_GE, round, DEVCOM_BLOCK, NULL));
}

static void mpi_ping(size_t bytes, int64_t round)
{
    MPI_Put(window + SOURCE, (int)bytes, MPI_BYTE, other, 0, (int)bytes, MPI_BYTE, win);
    MPI_Win_flush(other, win);
    MPI_Put(&round, 1, MPI_INT64_T, other, FLAG, 1, MPI_INT64_T, win);
    MPI_Win_flush(other, win);
}

static void mpi_pong(int64_t round)
{
    int found;

    for (unsigned polls = 1; atomic_load((_Atomic int64_t *)(window + FLAG)) < round; polls++) {
        MPI_Win_sync(win);
        if (polls % 64 == 0)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
}

static void copy_ping(size_t bytes, int64_t round)
{
    memcpy(theirs, mine + SOURCE, bytes);
    atomic_store_explicit((_Atomic int64_t *)(theirs + FLAG), round, memory_order_release);
}

static void copy_pong(int64_t round)
{
    while (atomic_load_explicit((_Atomic int64_t *)(mine + FLAG), memory_order_acquire) < round)
        ;
}

static void copies(void)
{
    for (size_t bytes = 0; bytes < pair_largest(&pair);) {
        struct series series = {0};

        bytes = pair_next(&pair, bytes);
        meet();
        for (int i = 0; i < pair_rounds(&pair, bytes) && rank == 0; i++) {
            double start = bench_now();

            memcpy(mine, mine + SOURCE, bytes);
            series_add(&series, (bench_now() - start) / 1000);
        }
        report(&series, "memcpy", bytes, "us");
    }
}

/* ---- bandwidth and rate: rank 0 writes, the other rank is notified of the last write ---- */

static void devcom_begin(size_t bytes)
{
    EXPECT(!devcom_write(d, SEGMENT, SOURCE, other, SEGMENT, 0, bytes, 0));
}

static void devcom_end(void)
{
    EXPECT(!devcom_quiet(d, 0, DEVCOM_BLOCK));
}

static void mpi_begin(size_t bytes)
{
    MPI_Put(window + SOURCE, (int)bytes, MPI_BYTE, other, 0, (int)bytes, MPI_BYTE, win);
}

static void mpi_end(void)
{
    MPI_Win_flush(other, win);
}

static void mpi_meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *write_many(void *argument)
{
    unsigned queue = (unsigned)(uintptr_t)argument;

    for (int i = 0; i < 50000; i++)
        EXPECT(!devcom_write(d, SEGMENT, queue * 64, other, SEGMENT, queue * 64, 8, queue));
    return NULL;
}

static void rate(void)
{
    for (unsigned queues = 1; queues <= THREADS; queues *= 2) {
        pthread_t threads[THREADS];
        char name[64];
        double start;

        meet();
        start = bench_now();
        for (unsigned i = 0; i < queues && rank == 0; i++)
            EXPECT(!pthread_create(&threads[i], NULL, write_many, (void *)(uintptr_t)i));
        for (unsigned i = 0; i < queues && rank == 0; i++)
            EXPECT(!pthread_join(threads[i], NULL));
        snprintf(name, sizeof(name), "devcom_rate_8B_%u_queues", queues);
        report_value(name, queues * 50000.0 / (bench_now() - start) * 1e9, "1/s");
    }
}

/* ---- chains and blocks ---- */

static void chains(void)
{
    struct devcom_put puts[CHAIN], strided = {.segment = SEGMENT,
                                              .remote_segment = SEGMENT,
                                              .rank = other,
                                              .shape = {4096, {1024, 1}, {8192, 0}, {8192, 0}}};
    struct series chain_series = {0}, apart_series = {0}, whole = {0}, halo = {0}, contiguous = {0};
    struct devcom_chain *chain, *apart;

    for (int i = 0; i < CHAIN; i++)
        puts[i] = (struct devcom_put){.segment = SEGMENT,
                                      .remote_segment = SEGMENT,
                                      .offset = (size_t)i * BLOCK,
                                      .remote_offset = (size_t)i * BLOCK,
                                      .shape = {.bytes = BLOCK},
                                      .rank = other};
    EXPECT(!devcom_chain_create(d, puts, CHAIN, 0, &chain));
    for (int i = 0; i < CHAIN; i++) /* every second block, from the last to the first */
        puts[i].offset = puts[i].remote_offset = (size_t)(CHAIN - 1 - i) * 2 * BLOCK;
    EXPECT(!devcom_chain_create(d, puts, CHAIN, 0, &apart));
    meet();
    for (int i = 0; i < 100 && rank == 0; i++) {
        double start = bench_now();

        EXPECT(!devcom_chain_start(chain) && !devcom_chain_wait(chain, DEVCOM_BLOCK));
        series_add(&chain_series, (bench_now() - start) / 1000);
        start = bench_now();
        EXPECT(!devcom_write(d, SEGMENT, 0, other, SEGMENT, 0, (size_t)CHAIN * BLOCK, 0));
        series_add(&whole, (bench_now() - start) / 1000);
        start = bench_now();
        EXPECT(!devcom_chain_start(apart) && !devcom_chain_wait(apart, DEVCOM_BLOCK));
        series_add(&apart_series, (bench_now() - start) / 1000);
        if (i % 4)
            continue;
        start = bench_now();
        EXPECT(!devcom_put(d, &strided, 1, 0, NULL));
        series_add(&halo, (bench_now() - start) / 1000);
        start = bench_now();
        EXPECT(!devcom_write(d, SEGMENT, 0, other, SEGMENT, 0, 4 << 20, 0));
        series_add(&contiguous, (bench_now() - start) / 1000);
    }
    meet();
    devcom_chain_destroy(chain);
    devcom_chain_destroy(apart);
    report(&chain_series, "devcom_chain_255_of_4KiB", 0, "us");
    report(&apart_series, "devcom_chain_255_of_4KiB_apart", 0, "us");
    report(&whole, "devcom_contiguous_1020KiB", 0, "us");
    report(&halo, "devcom_strided_4MiB", 0, "us");
    report(&contiguous, "devcom_contiguous_4MiB", 0, "us");
}

/* By the number of descriptors: chains of 4 KiB blocks that are not adjacent, and the same bytes as one block (TCA's
 * Figure 8). */
static void chain_curve(void)
{
    static const unsigned counts[] = {1, 2, 4, 8, 16, 32, 64, 128, CHAIN};
    struct devcom_put puts[CHAIN];

    for (int i = 0; i < CHAIN; i++)
        puts[i] = (struct devcom_put){.segment = SEGMENT,
                                      .remote_segment = SEGMENT,
                                      .offset = (size_t)i * 2 * BLOCK,
                                      .remote_offset = (size_t)i * 2 * BLOCK,
                                      .shape = {.bytes = BLOCK},
                                      .rank = other};
    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
        unsigned count = counts[c];
        struct series chained = {0}, whole = {0};
        struct devcom_chain *chain;

        EXPECT(!devcom_chain_create(d, puts, count, 0, &chain));
        meet();
        for (int i = 0; i < pair_rounds(&pair, (size_t)count * BLOCK) && rank == 0; i++) {
            double start = bench_now();

            EXPECT(!devcom_chain_start(chain) && !devcom_chain_wait(chain, DEVCOM_BLOCK));
            series_add(&chained, (double)count * BLOCK / (bench_now() - start) * 1000);
            start = bench_now();
            EXPECT(!devcom_write(d, SEGMENT, 0, other, SEGMENT, 0, (size_t)count * BLOCK, 0));
            series_add(&whole, (double)count * BLOCK / (bench_now() - start) * 1000);
        }
        meet();
        devcom_chain_destroy(chain);
        report(&chained, "devcom_chain_of_4KiB", (size_t)count * BLOCK, "MB/s");
        report(&whole, "devcom_one_block", (size_t)count * BLOCK, "MB/s");
    }
}

/* ---- kernels ---- */

static const char source[] =
    "kernel void ping_pong(global struct devcom_device *d, ulong bytes, int first, int rounds)\n"
    "{\n"
    "    uint other = 1 - d->rank;\n"
    "    for (int i = 0; i < rounds; i++) {\n"
    "        if (d->rank == 0)\n"
    "            devcom_write_notify(d, 1, SOURCE, other, 1, 0, bytes, 3, DEVCOM_SIGNAL_SET, first + i, 0);\n"
    "        devcom_signal_wait(d, 3, DEVCOM_GE, first + i);\n"
    "        if (d->rank == 1)\n"
    "            devcom_write_notify(d, 1, SOURCE, other, 1, 0, bytes, 3, DEVCOM_SIGNAL_SET, first + i, 0);\n"
    "    }\n"
    "}\n"
    "kernel void barriers(global struct devcom_device *d, int rounds)\n"
    "{\n"
    "    for (int i = 0; i < rounds; i++)\n"
    "        devcom_ggas_barrier(d);\n"
    "}\n";

static double run_kernel(cl_kernel kernel)
{
    static const size_t one = 1;
    double start;

    meet();
    start = bench_now();
    EXPECT(!devcom_enqueue_kernel(endpoint, bench.queue, kernel, 1, &one, &one, NULL));
    CHECK(clFinish(bench.queue));
    return (bench_now() - start) / 1000;
}

/* Returns the us of half a round trip; the other side does the same rounds. */
static double run_copies(size_t bytes, int rounds)
{
    static int64_t round = (int64_t)1 << 32;
    double start;

    meet();
    start = bench_now();
    for (int i = 0; i < rounds; i++) {
        round++;
        if (rank == 0)
            copy_ping(bytes, round);
        copy_pong(round);
        if (rank != 0)
            copy_ping(bytes, round);
    }
    return (bench_now() - start) / 1000 / rounds / 2;
}

/* Subtracts the time of a launch, by runs of many and of few rounds. */
static void kernels(void)
{
    cl_program program;
    cl_kernel kernel, barriers;
    cl_int first = 1, status, few = 1, many;
    char place[32];

    snprintf(place, sizeof(place), "-DSOURCE=%dul", SOURCE);
    EXPECT(!devcom_program_create(endpoint, source, place, &program));
    kernel = bench_kernel(program, "ping_pong");
    barriers = bench_kernel(program, "barriers");
    EXPECT(!devcom_kernel_argument(endpoint, kernel, 0) && !devcom_kernel_argument(endpoint, barriers, 0));
    for (cl_ulong bytes = 0; bytes < pair_largest(&pair);) {
        struct series series = {0}, copies = {0};

        bytes = pair_next(&pair, bytes);
        many = pair_rounds(&pair, bytes) + 1;
        for (int i = 0; i < 16; i++) {
            cl_int rounds = i % 2 ? many : few;
            double us, launch = 0;

            status = clSetKernelArg(kernel, 1, sizeof(bytes), &bytes);
            status |= clSetKernelArg(kernel, 2, sizeof(first), &first);
            status |= clSetKernelArg(kernel, 3, sizeof(rounds), &rounds);
            CHECK(status);
            us = run_kernel(kernel);
            first += rounds;
            if (i % 2 == 0) {
                launch = us;
                continue;
            }
            series_add(&series, (us - launch) / (many - few) / 2);
            series_add(&copies, run_copies(bytes, many - few));
        }
        report(&series, "kernel_write_notify", bytes, "us");
        report(&copies, "copy_run", bytes, "us");
    }
    many = 2000;
    CHECK(clSetKernelArg(barriers, 1, sizeof(many), &many));
    run_kernel(barriers);
    report_value("kernel_barrier", run_kernel(barriers) / many, "us");
    clReleaseKernel(kernel);
    clReleaseKernel(barriers);
    clReleaseProgram(program);
}

/* ---- collectives ---- */

static void allreduces(void)
{
    for (size_t count = 2; count <= 1 << 20; count *= 8) {
        struct series by_devcom = {0}, by_mpi = {0};

        memset(mine, 0, count * 4);
        meet();
        for (int i = 0; i < pair_rounds(&pair, count * 4); i++) {
            double start = bench_now();

            EXPECT(!devcom_allreduce(d, DEVICE, 0, count, DEVCOM_FLOAT, DEVCOM_SUM, DEVCOM_AUTO, DEVCOM_BLOCK));
            series_add(&by_devcom, (bench_now() - start) / 1000);
        }
        for (int i = 0; i < pair_rounds(&pair, count * 4); i++) {
            double start = bench_now();

            MPI_Allreduce(MPI_IN_PLACE, mine, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            series_add(&by_mpi, (bench_now() - start) / 1000);
        }
        report(&by_devcom, "devcom_allreduce", count * 4, "us");
        report(&by_mpi, "mpi_allreduce", count * 4, "us");
    }
}

int main(int count, char **words)
{
    static const struct pair_way by_devcom = {"devcom", devcom_ping, devcom_pong, devcom_begin, devcom_end, meet, NULL};
    static const struct pair_way by_mpi = {"mpi_put", mpi_ping, mpi_pong, mpi_begin, mpi_end, mpi_meet, NULL};
    static const struct pair_way by_copy = {"copy", copy_ping, copy_pong, NULL, NULL, meet, NULL};
    struct devcom_memory memory = {.bytes = ALL}, on_device = memory;
    struct devcom_endpoint_options options = {.queues = 2};

    MPI_Init(&count, &words);
    bench_open(&bench, count, words);
    EXPECT(!devcom_init(MPI_COMM_WORLD, NULL, &d));
    rank = devcom_rank(d);
    other = 1 - rank;
    pair = (struct pair){rank, bench.quick, 0};
    EXPECT(devcom_size(d) == 2);
    on_device.context = options.context = bench.context;
    on_device.device = options.device = bench.device;
    on_device.commands = bench.queue;
    EXPECT(!devcom_segment_create(d, SEGMENT, &memory) && !devcom_segment_create(d, DEVICE, &on_device));
    EXPECT(!devcom_segment_ptr(d, rank, DEVICE, (void **)&mine));
    EXPECT(!devcom_segment_ptr(d, other, DEVICE, (void **)&theirs));
    EXPECT(!devcom_endpoint_open(d, &options, &endpoint));
    MPI_Win_allocate(ALL, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    memset(window, 0, ALL);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    copies();
    pair_half_round_trips(&pair, &by_copy);
    kernels();
    pair_half_round_trips(&pair, &by_devcom);
    pair_half_round_trips(&pair, &by_mpi);
    chains();
    chain_curve();
    rate();
    pair_barrier(&pair, &by_devcom);
    pair_barrier(&pair, &by_mpi);
    allreduces();
    pair_bandwidth(&pair, &by_devcom);
    pair_bandwidth(&pair, &by_mpi);
    mpi_meet();
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    devcom_endpoint_close(endpoint);
    EXPECT(!devcom_finalize(d));
    bench_close(&bench);
    MPI_Finalize();
    return 0;
}
