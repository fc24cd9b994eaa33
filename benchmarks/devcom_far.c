/*
 * devcom or plain messages of MPI between two hosts, for transfers of 64 KiB and more: half round trips and bandwidth.
 * benchmarks/devcom_run starts it in two network namespaces, once for each: so MPI runs without devcom's thread.
 *
 *     devcom_far devcom [--quick]    devcom_write_notify, devcom_signal_wait; many devcom_write and a fence
 *     devcom_far mpi [--quick]       MPI_Send and MPI_Recv; many MPI_Isend and the answer of the receiver
 */
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include "devcom.h"
#include "pair.h"

enum { SEGMENT, MOST_SENDS = 128 };

static struct devcom *d;
static int rank, other;
static uint8_t *data;
static MPI_Request sends[MOST_SENDS];
static int sent;

static void devcom_ping(size_t bytes, int64_t round)
{
    EXPECT(!devcom_write_notify(d, SEGMENT, 0, other, SEGMENT, 0, bytes, 1, DEVCOM_SIGNAL_SET, round, 0));
}

static void devcom_pong(int64_t round)
{
    EXPECT(!devcom_signal_wait(d, 1, DEVCOM_GE, round, DEVCOM_BLOCK, NULL));
}

static void devcom_begin(size_t bytes)
{
    EXPECT(!devcom_write(d, SEGMENT, 0, other, SEGMENT, 0, bytes, 0));
}

static void devcom_end(void)
{
    EXPECT(!devcom_quiet(d, 0, DEVCOM_BLOCK));
}

static void devcom_meet(void)
{
    EXPECT(!devcom_barrier(d, DEVCOM_BLOCK));
}

static void mpi_ping(size_t bytes, int64_t round)
{
    (void)round;
    MPI_Send(data, (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
}

static void mpi_pong(int64_t round)
{
    (void)round;
    MPI_Recv(data, PAIR_MOST, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Starts a message; the receiver takes messages until one is empty, and then answers. */
static void mpi_begin(size_t bytes)
{
    EXPECT(sent < MOST_SENDS);
    MPI_Isend(data, (int)bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &sends[sent++]);
}

static void mpi_end(void)
{
    MPI_Status statuses[MOST_SENDS];

    mpi_begin(0);
    MPI_Waitall(sent, sends, statuses);
    MPI_Recv(data, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sent = 0;
}

static void mpi_drain(void)
{
    MPI_Status status;
    int bytes;

    do {
        MPI_Recv(data, PAIR_MOST, MPI_BYTE, other, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
    } while (bytes);
    MPI_Send(data, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD);
}

static void mpi_meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Binds each rank and its threads to one core, since two hosts would have processors of their own. */
static void take_core(void)
{
    const char *number = getenv("PMI_RANK");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;

    if (!number || cores < 2)
        return;
    CPU_ZERO(&set);
    CPU_SET(atoi(number) % cores, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static void measure_mpi(const struct pair *pair)
{
    static const struct pair_way way = {"far_mpi", mpi_ping, mpi_pong, mpi_begin, mpi_end, mpi_meet, mpi_drain};

    data = bench_memory(PAIR_MOST);
    pair_half_round_trips(pair, &way);
    pair_bandwidth(pair, &way);
    free(data);
}

static void measure_devcom(const struct pair *pair)
{
    static const struct pair_way way = {"far_devcom", devcom_ping, devcom_pong, devcom_begin,
                                        devcom_end,   devcom_meet, NULL};
    struct devcom_memory memory = {.bytes = PAIR_MOST};

    EXPECT(!devcom_init(MPI_COMM_WORLD, NULL, &d));
    EXPECT(!devcom_segment_create(d, SEGMENT, &memory));
    pair_half_round_trips(pair, &way);
    pair_bandwidth(pair, &way);
    EXPECT(!devcom_finalize(d));
}

int main(int count, char **words)
{
    bool by_devcom = count > 1 && !strcmp(words[1], "devcom");
    struct pair pair = {.quick = count > 2 && !strcmp(words[2], "--quick"), .least = 64 << 10};
    int level, size;

    EXPECT(by_devcom || (count > 1 && !strcmp(words[1], "mpi")));
    take_core();
    MPI_Init_thread(&count, &words, by_devcom ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT(size == 2);
    pair.rank = rank;
    other = 1 - rank;
    if (by_devcom)
        measure_devcom(&pair);
    else
        measure_mpi(&pair);
    MPI_Finalize();
    return 0;
}
