/*
 * Messages between two ranks: half round trips in us, the median of 25 rounds. With host memory, which shows what
 * libxtqmpi costs programs that do not need it (run with and without LD_PRELOAD=libxtqmpi.so, alternately); with
 * libxtqmpi, device memory as well: staged by the program itself, by libxtqmpi, and by libxtqmpi in pieces.
 */
#include <CL/cl.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "series.h"

enum { ROUNDS = 25, LONGEST = 16 << 20 };

enum way { HOST, BY_HAND, DEVICE, PIECES, WAYS };
static const char *const names[] = {"host", "by hand", "device", "in pieces"};

static int rank;
static cl_command_queue commands;
static cl_mem buffer;
static char *host;
static void *device; /* the buffer's address */
static MPI_Comm comms[WAYS];

static void must(int bad, const char *what)
{
    if (bad) {
        fprintf(stderr, "%s: %d\n", what, bad);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void send(enum way way, int bytes)
{
    void *at = way == HOST || way == BY_HAND ? host : device;
    MPI_Request request;

    if (way == BY_HAND)
        must(clEnqueueReadBuffer(commands, buffer, CL_TRUE, 0, (size_t)bytes, host, 0, NULL, NULL), "read");
    MPI_Isend(at, bytes, MPI_BYTE, 1 - rank, 0, comms[way], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receive(enum way way, int bytes)
{
    void *at = way == HOST || way == BY_HAND ? host : device;

    MPI_Recv(at, bytes, MPI_BYTE, 1 - rank, 0, comms[way], MPI_STATUS_IGNORE);
    if (way == BY_HAND)
        must(clEnqueueWriteBuffer(commands, buffer, CL_TRUE, 0, (size_t)bytes, host, 0, NULL, NULL), "write");
}

static void measure(enum way way, const char *name, int bytes)
{
    const int times = way == HOST && bytes <= 4096 ? 2000 : bytes <= 65536 ? 50 : 3;
    struct series rounds = {0};
    double median;

    EACH_ROUND (round, 1, ROUNDS) {
        double since = MPI_Wtime();

        for (int i = 0; i < times; i++) {
            if (rank == 0) {
                send(way, bytes);
                receive(way, bytes);
            } else {
                receive(way, bytes);
                send(way, bytes);
            }
        }
        round_add(&round, &rounds, (MPI_Wtime() - since) * 1e6 / times / 2);
    }
    median = series_median(&rounds);
    if (rank == 0)
        printf("%-24s %9d %10.2f\n", name, bytes, median);
}

/* Measures the calls alone: messages to itself, the least of many, since no other rank has to be on time. */
static void measure_calls(const char *name)
{
    double least = 1e9;

    for (int round = 0; round < 400; round++) {
        double since = MPI_Wtime();

        for (int i = 0; i < 1000; i++) {
            MPI_Request request;

            MPI_Isend(host, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
            MPI_Recv(host + 64, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        since = (MPI_Wtime() - since) * 1e3;
        least = since < least ? since : least;
    }
    if (rank == 0)
        printf("%-24s %9d %10.4f\n", name, 8, least);
}

/* Opens the device, and returns true, if libxtqmpi is loaded. */
static bool device_open(void)
{
    int (*address)(cl_command_queue, cl_mem, void **);
    int (*pipeline)(MPI_Comm, size_t);
    cl_platform_id platform;
    cl_device_id id = NULL;
    cl_context context;
    int status;

    *(void **)&address = dlsym(RTLD_DEFAULT, "xtqmpi_device_address");
    *(void **)&pipeline = dlsym(RTLD_DEFAULT, "xtqmpi_comm_pipeline");
    if (!address || !pipeline)
        return false;
    must(clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL), "device");
    context = clCreateContext(NULL, 1, &id, NULL, NULL, &status);
    must(status, "context");
    commands = clCreateCommandQueueWithProperties(context, id, NULL, &status);
    must(status, "queue");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, LONGEST, NULL, &status);
    must(status, "buffer");
    must(address(commands, buffer, &device), "address");
    must(pipeline(comms[PIECES], 0), "pieces");
    return true;
}

int main(int count, char **words)
{
    const int small[] = {8, 512, 4096}, sizes[] = {8, 4096, 65536, 1 << 20, LONGEST};
    bool have;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    host = malloc(LONGEST);
    must(!host, "memory");
    memset(host, 1, LONGEST);
    for (int i = 0; i < WAYS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    measure_calls("to itself");
    for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++)
        measure(HOST, names[HOST], small[i]);
    have = device_open();
    if (have)
        measure_calls("beside a device's");
    for (size_t i = 0; i < sizeof(small) / sizeof(*small) && have; i++)
        measure(HOST, "host, beside a device's", small[i]);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && have; i++) {
        for (int way = HOST; way < WAYS; way++)
            measure((enum way)way, names[way], sizes[i]);
    }
    MPI_Finalize();
    return 0;
}
