/*
 * Is memory faster for a session's frames than messages? A frame with a launch (160 bytes) from one rank to another and
 * back, and a stream of them one way, by MPI as transport/plugin/mpi.c does it (receives posted before, MPI_Test) and
 * by XTQ into a queue that the receiver polls. Run by mpiexec with two ranks of one host.
 */
#include <mpi.h>

#include "bench.h"
#include "xtq.h"

enum { FRAME = 160, POSTED = 8, TURNS = 2000, ROUNDS = 31, TAG = 2 };

static int rank;
static struct xtq *x;
static uint8_t frame[FRAME], inboxes[POSTED][FRAME];
static MPI_Request posted[POSTED];
static int next_inbox;
static long arrived;

static void send_mpi(void)
{
    MPI_Request request;
    int done = 0;

    MPI_Isend(frame, FRAME, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static void post(int slot)
{
    MPI_Irecv(inboxes[slot], FRAME, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, &posted[slot]);
}

static void poll_mpi(void)
{
    int done;

    MPI_Test(&posted[next_inbox], &done, MPI_STATUS_IGNORE);
    if (!done)
        return;
    memcpy(frame, inboxes[next_inbox], FRAME);
    post(next_inbox);
    next_inbox = (next_inbox + 1) % POSTED;
    arrived++;
}

static int on_frame(const struct xtq_task *task, void *argument)
{
    (void)argument;
    memcpy(frame, task->payload, task->payload_bytes);
    arrived++;
    return 0;
}

static void send_xtq(void)
{
    struct xtq_function_packet packet;

    xtq_function_packet(&packet, 0, 0, 0, 0);
    EXPECT(!xtq_put(x, !rank, &packet, sizeof(packet), frame, FRAME, 0, NULL));
}

static void poll_xtq(void)
{
    xtq_progress(x);
}

/* Returns half a round trip, in microseconds. */
static double turns(void (*send)(void), void (*poll)(void))
{
    double start;

    arrived = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    start = bench_now();
    for (long i = 0; i < TURNS; i++) {
        if (rank == 0)
            send();
        while (arrived <= i)
            poll();
        if (rank == 1)
            send();
    }
    return (bench_now() - start) / TURNS / 2 / 1000;
}

/* Returns the time per frame of a stream, until the receiver has the last. */
static double stream(void (*send)(void), void (*poll)(void))
{
    double start;

    arrived = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    start = bench_now();
    if (rank == 0) {
        for (long i = 0; i < TURNS; i++)
            send();
        while (arrived < 1)
            poll();
    } else {
        while (arrived < TURNS)
            poll();
        send();
    }
    return (bench_now() - start) / TURNS / 1000;
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        double (*measure)(void (*send)(void), void (*poll)(void));
        void (*send)(void), (*poll)(void);
    } figures[] = {{"mpi_frame_one_way", turns, send_mpi, poll_mpi},
                   {"xtq_frame_one_way", turns, send_xtq, poll_xtq},
                   {"mpi_frame_stream", stream, send_mpi, poll_mpi},
                   {"xtq_frame_stream", stream, send_xtq, poll_xtq}};
    struct series series[BENCH_COUNT(figures)] = {0};
    struct xtq_function_entry entry = {.function = on_frame};
    struct xtq_queue_entry queue = {.engine = XTQ_HOST, .manual = true};
    int level, ranks;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    EXPECT(ranks == 2);
    EXPECT(!xtq_init(MPI_COMM_WORLD, NULL, &x));
    EXPECT(!xtq_register_function(x, 0, &entry));
    EXPECT(!xtq_register_queue(x, 0, &queue));
    for (int slot = 0; slot < POSTED; slot++)
        post(slot);
    EACH_ROUND (round, 2, ROUNDS) {
        for (unsigned i = 0; i < BENCH_COUNT(figures); i++) {
            double taken = figures[i].measure(figures[i].send, figures[i].poll);

            round_add(&round, &series[i], taken);
        }
    }
    for (unsigned i = 0; i < BENCH_COUNT(figures) && rank == 0; i++)
        series_report(&series[i], figures[i].name, "us");
    for (int slot = 0; slot < POSTED; slot++)
        MPI_Cancel(&posted[slot]);
    for (int slot = 0; slot < POSTED; slot++)
        MPI_Wait(&posted[slot], MPI_STATUS_IGNORE);
    EXPECT(!xtq_finalize(x));
    MPI_Finalize();
    return 0;
}
