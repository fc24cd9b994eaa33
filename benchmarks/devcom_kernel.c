/*
 * Kernels that communicate, between two ranks, and the sizes of pieces: figures of L. Oden's dissertation.
 *
 * - rate: puts of 8 bytes with a signal, each completed by quiet, by as many work-groups as queues: with one thread of
 *   the host for all queues, and with one for each (Figures 5.14, 5.15)
 * - store: stores of 8 bytes into the other rank's memory, side by side, and every second one (Table 6.1); load:
 *   likewise loads; put: the same bytes by devcom_write (Figures 6.7 to 6.9)
 * - reduce, allreduce: of floats, by each method (Figures 6.16, 6.17)
 * - chunk: devcom_write from and to memory of devices that is staged, by the size of the pieces (Figures 4.6, 4.7)
 *
 * Started by mpiexec with two ranks; with more it measures the reductions alone. With VOCL_SHARE=0 the ranks are as on
 * two hosts, and only rate and chunk are measured.
 */
#include <mpi.h>

#include "bench.h"
#include "devcom.h"

enum { SEGMENT, DEVICE, BYTES = 8 << 20, ITEMS = 16, MOST_GROUPS = 4 };

static struct devcom *d;
static struct bench bench;
static int rank;

static const char source[] =
    "kernel void rate(global struct devcom_device *d, uint rounds)\n"
    "{\n"
    "    uint queue = get_group_id(0), i = 0;\n"
    "    do {\n"
    "        devcom_write_notify(d, 0, queue * 64, 1, 0, queue * 64, 8, queue, DEVCOM_SIGNAL_ADD, 1, queue);\n"
    "        devcom_quiet(d, queue);\n"
    "    } while (++i < rounds);\n"
    "}\n"
    "kernel void store(global struct devcom_device *d, uint rounds, uint words, uint stride)\n"
    "{\n"
    "    volatile global ulong *there = (volatile global ulong *)devcom_ptr(d, 1, 0);\n"
    "    for (uint i = 0; i < rounds; i++)\n"
    "        for (uint x = get_local_id(0); x < words; x += get_local_size(0))\n"
    "            there[x * stride] = x + i;\n"
    "}\n"
    "kernel void load(global struct devcom_device *d, uint rounds, uint words, uint stride)\n"
    "{\n"
    "    volatile global ulong *there = (volatile global ulong *)devcom_ptr(d, 1, 0);\n"
    "    ulong sum = 0;\n"
    "    for (uint i = 0; i < rounds; i++)\n"
    "        for (uint x = get_local_id(0); x < words; x += get_local_size(0))\n"
    "            sum += there[x * stride];\n"
    "    if (sum == 1)\n"
    "        *(global ulong *)devcom_ptr(d, d->rank, 0) = sum;\n"
    "}\n"
    "kernel void put(global struct devcom_device *d, uint rounds, uint words, uint stride)\n"
    "{\n"
    "    uint i = 0;\n"
    "    do\n"
    "        devcom_write(d, 0, 0, 1, 0, 0, words * 8, 0);\n"
    "    while (++i < rounds);\n"
    "}\n"
    "kernel void reduce(global struct devcom_device *d, uint rounds, int root, ulong count, uint method)\n"
    "{\n"
    "    uint i = 0;\n"
    "    do\n"
    "        devcom_ggas_reduce_by(d, root, 0, 0, count, DEVCOM_FLOAT, DEVCOM_MAX, method);\n"
    "    while (++i < rounds);\n"
    "}\n";

static void meet(void)
{
    EXPECT(!devcom_barrier(d, DEVCOM_BLOCK));
}

static void report(struct series *series, const char *name, const char *unit)
{
    if (rank == 0)
        series_spread(series, name, unit);
}

/* Returns the us that rank 0's kernel takes. */
static double run(cl_kernel kernel, size_t groups, size_t items, cl_uint rounds)
{
    size_t global = groups * items;
    double start = bench_now();

    CHECK(clSetKernelArg(kernel, 1, sizeof(rounds), &rounds));
    CHECK(clEnqueueNDRangeKernel(bench.queue, kernel, 1, NULL, &global, &items, 0, NULL, NULL));
    CHECK(clFinish(bench.queue));
    return (bench_now() - start) / 1000;
}

static struct devcom_endpoint *open_endpoint(unsigned queues, unsigned servers, cl_program *program)
{
    struct devcom_endpoint_options options = {
        .context = bench.context, .device = bench.device, .queues = queues, .servers = servers};
    struct devcom_endpoint *endpoint;

    EXPECT(!devcom_endpoint_open(d, &options, &endpoint));
    EXPECT(!devcom_program_create(endpoint, source, NULL, program));
    return endpoint;
}

static cl_kernel kernel_of(struct devcom_endpoint *endpoint, cl_program program, const char *name)
{
    cl_kernel kernel = bench_kernel(program, name);

    EXPECT(!devcom_kernel_argument(endpoint, kernel, 0));
    return kernel;
}

/* Both endpoints exist at the same time, and are measured in turns. The target only makes progress. */
static void rates(unsigned groups)
{
    enum { ROUNDS = 200 };
    const unsigned servers[] = {1, groups};
    struct devcom_endpoint *endpoints[2];
    cl_program programs[2];
    cl_kernel kernels[2];
    struct series series[2] = {0};

    for (int i = 0; i < 2; i++) {
        endpoints[i] = open_endpoint(groups > 1 ? groups : 2, servers[i], &programs[i]);
        kernels[i] = kernel_of(endpoints[i], programs[i], "rate");
    }
    meet();
    EACH_ROUND (round, 2, rank ? 0 : bench_rounds(&bench, 21, 5)) {
        for (int i = 0; i < 2; i++)
            round_add(&round, &series[i], groups * ROUNDS / run(kernels[i], groups, 1, ROUNDS) * 1e6);
    }
    meet();
    for (int i = 0; i < 2; i++) {
        char name[64];

        snprintf(name, sizeof(name), "rate_%u_queues_%s", groups, i ? "server_each" : "one_server");
        report(&series[i], name, "1/s");
        EXPECT(!devcom_endpoint_error(endpoints[i]));
        devcom_endpoint_close(endpoints[i]);
        clReleaseKernel(kernels[i]);
        clReleaseProgram(programs[i]);
    }
}

static void addresses(void)
{
    static const char *const names[] = {"store", "load", "put"};
    struct devcom_endpoint *endpoint;
    cl_program program;
    cl_kernel kernels[3];

    endpoint = open_endpoint(2, 1, &program);
    for (int i = 0; i < 3; i++)
        kernels[i] = kernel_of(endpoint, program, names[i]);
    for (cl_uint words = 8; words <= 1 << 17; words *= 16) {
        struct series series[3][2] = {0};
        cl_uint many = words > 100000 ? 40 : words > 1000 ? 400 : 10000;

        EACH_ROUND (round, 1, rank ? 0 : bench_rounds(&bench, 11, 3)) {
            for (int i = 0; i < 6; i++) {
                cl_kernel kernel = kernels[i / 2];
                cl_uint stride = 1 + (cl_uint)i % 2;
                double few;

                CHECK(clSetKernelArg(kernel, 2, sizeof(words), &words));
                CHECK(clSetKernelArg(kernel, 3, sizeof(stride), &stride));
                few = run(kernel, 1, ITEMS, 1);
                round_add(&round, &series[i / 2][i % 2], (run(kernel, 1, ITEMS, many) - few) / (many - 1));
            }
        }
        for (int i = 0; i < 5; i++) { /* a put has no stride */
            char name[64];

            snprintf(name, sizeof(name), "%s%s_%zuB", names[i / 2], i % 2 ? "_every_second" : "",
                     words * sizeof(cl_ulong));
            report(&series[i / 2][i % 2], name, "us");
        }
        for (int i = 0; i < 6; i++)
            free(series[i / 2][i % 2].samples);
    }
    meet();
    devcom_endpoint_close(endpoint);
    for (int i = 0; i < 3; i++)
        clReleaseKernel(kernels[i]);
    clReleaseProgram(program);
}

/* All methods in turns, by kernels of all ranks that repeat one: the mean time of one. */
static void reductions(cl_int root)
{
    static const char *const methods[] = {"auto", "remote_read", "gather", "all_gather", "all_to_all", "tree"};
    struct devcom_endpoint *endpoint;
    cl_program program;
    cl_kernel kernel;

    endpoint = open_endpoint(2, 1, &program);
    kernel = kernel_of(endpoint, program, "reduce");
    CHECK(clSetKernelArg(kernel, 2, sizeof(root), &root));
    for (cl_ulong count = 1; count <= 1 << 18; count *= 8) {
        struct series series[BENCH_COUNT(methods)] = {0};
        cl_uint many = count > 100000 ? 20 : count > 4000 ? 100 : 1000;

        CHECK(clSetKernelArg(kernel, 3, sizeof(count), &count));
        EACH_ROUND (round, 1, bench_rounds(&bench, 11, 3)) {
            for (cl_uint method = 0; method < BENCH_COUNT(methods); method++) {
                CHECK(clSetKernelArg(kernel, 4, sizeof(method), &method));
                meet();
                run(kernel, 1, ITEMS, 1); /* so that all begin the next one at the same time */
                round_add(&round, &series[method], run(kernel, 1, ITEMS, many) / many);
            }
        }
        for (size_t method = 0; method < BENCH_COUNT(methods); method++) {
            char name[64];

            snprintf(name, sizeof(name), "%s_%s_%zuB", root < 0 ? "allreduce" : "reduce", methods[method],
                     (size_t)count * sizeof(cl_float));
            report(&series[method], name, "us");
            if (rank)
                free(series[method].samples);
        }
    }
    EXPECT(!devcom_endpoint_error(endpoint));
    meet();
    devcom_endpoint_close(endpoint);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

static void chunks(void)
{
    static const size_t sizes[] = {64 << 10, 1 << 20, 8 << 20};
    struct devcom_memory memory = {
        .bytes = BYTES, .context = bench.context, .device = bench.device, .commands = bench.queue, .staged = true};

    for (size_t chunk = 16 << 10; chunk <= 4 << 20; chunk *= 4) {
        struct devcom_options options = {.messages = true, .chunk_bytes = (unsigned)chunk};

        EXPECT(!devcom_init(MPI_COMM_WORLD, &options, &d));
        EXPECT(!devcom_segment_create(d, DEVICE, &memory));
        for (size_t i = 0; i < BENCH_COUNT(sizes); i++) {
            struct series series = {0};
            char name[64];

            meet();
            EACH_ROUND (round, 1, rank ? 0 : bench_rounds(&bench, 11, 3)) {
                double start = bench_now();

                EXPECT(!devcom_write(d, DEVICE, 0, 1, DEVICE, 0, sizes[i], 0) && !devcom_quiet(d, 0, DEVCOM_BLOCK));
                round_add(&round, &series, (bench_now() - start) / 1000);
            }
            meet();
            snprintf(name, sizeof(name), "chunk_%zuKiB_of_%zuKiB", chunk >> 10, sizes[i] >> 10);
            report(&series, name, "us");
        }
        EXPECT(!devcom_finalize(d));
    }
}

int main(int count, char **words)
{
    struct devcom_memory memory = {.bytes = BYTES};
    bool pair;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    bench_open(&bench, count, words);
    EXPECT(!devcom_init(MPI_COMM_WORLD, NULL, &d) && devcom_size(d) > 1);
    rank = devcom_rank(d);
    pair = devcom_size(d) == 2;
    EXPECT(!devcom_segment_create(d, SEGMENT, &memory));
    for (unsigned groups = 1; groups <= MOST_GROUPS && pair; groups *= 2)
        rates(groups);
    if (devcom_shares_host(d, !rank)) {
        if (pair)
            addresses();
        reductions(0);
        reductions(-1);
    }
    EXPECT(!devcom_finalize(d));
    if (pair)
        chunks();
    bench_close(&bench);
    MPI_Finalize();
    return 0;
}
