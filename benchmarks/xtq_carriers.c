/*
 * How a message of XTQ should travel to another host: from the initiator's call until it knows that the target's
 * thread, which stands for the NIC, has seen the whole message. Run by mpiexec with two ranks that share no memory, as
 * with UCX_TLS=tcp,self MPIR_CVAR_NOLOCAL=1.
 *
 *     put      MPI_Put of the message, flush, MPI_Put of the doorbell, flush
 *     ordered  MPI_Put of the message, flush, MPI_Accumulate of the doorbell
 *     sent     MPI_Send, which the thread receives into the message's place
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

#include "bench.h"

enum { MOST = 64 << 10, BELL = 0, PLACE = 64, MESSAGE_TAG = 7, SEEN_TAG = 5, ROUNDS = 2000 };
enum way { PUT, ORDERED, SENT, WAYS };

static uint8_t *region;
static MPI_Win win;
static MPI_Comm comm;
static enum way way;

static void wait_for_bell(long number)
{
    int found;

    while (atomic_load((_Atomic long *)(region + BELL)) < number)
        MPI_Iprobe(MPI_ANY_SOURCE, MESSAGE_TAG, comm, &found, MPI_STATUS_IGNORE); /* MPI progresses only in here */
}

static void *target(void *argument)
{
    for (long number = 1; number <= ROUNDS; number++) {
        if (way == SENT)
            MPI_Recv(region + PLACE, MOST, MPI_BYTE, 0, MESSAGE_TAG, comm, MPI_STATUS_IGNORE);
        else
            wait_for_bell(number);
        MPI_Send(NULL, 0, MPI_BYTE, 0, SEEN_TAG, comm);
    }
    return argument;
}

static void initiate(long number, int bytes)
{
    static uint8_t message[MOST];

    if (way == SENT) {
        MPI_Send(message, bytes, MPI_BYTE, 1, MESSAGE_TAG, comm);
    } else {
        MPI_Put(message, bytes, MPI_BYTE, 1, PLACE, bytes, MPI_BYTE, win);
        MPI_Win_flush(1, win);
        if (way == PUT)
            MPI_Put(&number, 1, MPI_LONG, 1, BELL, 1, MPI_LONG, win);
        else
            MPI_Accumulate(&number, 1, MPI_LONG, 1, BELL, 1, MPI_LONG, MPI_REPLACE, win);
        MPI_Win_flush(1, win);
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 1, SEEN_TAG, comm, MPI_STATUS_IGNORE);
}

static void measure(int rank, int bytes)
{
    static const char *const names[] = {"put", "ordered", "sent"};
    struct series series = {0};
    char name[64];
    pthread_t thread;

    atomic_store((_Atomic long *)(region + BELL), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        EXPECT(!pthread_create(&thread, NULL, target, NULL));
        EXPECT(!pthread_join(thread, NULL));
    }
    EACH_ROUND (round, 0, rank ? 0 : ROUNDS) {
        double start = bench_now();

        initiate(round.number + 1, bytes);
        round_add(&round, &series, (bench_now() - start) / 1000);
    }
    snprintf(name, sizeof(name), "%s_%dB", names[way], bytes);
    if (rank == 0)
        series_report(&series, name, "us");
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int count, char **words)
{
    int rank, level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    EXPECT(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    region = bench_memory(MOST + PLACE);
    MPI_Win_create(region, MOST + PLACE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int bytes = 64; bytes <= MOST; bytes *= 32) {
        for (way = PUT; way < WAYS; way++)
            measure(rank, bytes);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
