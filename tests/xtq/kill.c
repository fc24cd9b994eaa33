/*
 * Rank 2 of 3 is killed, or stopped, in the middle of its puts. Rank 0, their target, has received only whole ones, and
 * continues to serve rank 1; waits for the dead rank get an error. words[1]: after how many microseconds; words[2]:
 * "stop": rank 2 is stopped, not killed, which only ranks on another host take for a loss; words[3]: the bytes of its
 * puts, 2000.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "xtqtest.h"

enum { QUEUE, INDEX, BYE, PUTS = 20000, BYTES = 2000, MOST = 1 << 19 };

static struct xtq *x;
static int rank;
static long us, got[3];
static bool stops;
static size_t bytes_of_2 = BYTES;
static int pid_of_2;
static _Atomic bool got_bye[3];

static int check(const struct xtq_task *task, void *argument)
{
    const uint8_t *payload = task->payload;

    (void)argument;
    EQUAL(task->payload_bytes, task->initiator == 2 ? bytes_of_2 : BYTES);
    EQUAL(task->arg[2], got[task->initiator]);
    for (size_t i = 0; i < task->payload_bytes; i++)
        EQUAL(payload[i], got[task->initiator] % 256);
    got[task->initiator]++;
    return 0;
}

static int put(int target, long number)
{
    static uint8_t payload[MOST];
    size_t bytes = rank == 2 ? bytes_of_2 : BYTES;
    struct xtq_function_packet packet;

    memset(payload, (int)(number % 256), bytes);
    xtq_function_packet(&packet, QUEUE, INDEX, (uint64_t)number, 0);
    return xtq_put(x, target, &packet, sizeof(packet), payload, bytes, 0, NULL);
}

static int bye(const struct xtq_task *task, void *argument)
{
    (void)argument;
    atomic_store(&got_bye[task->initiator], true);
    return 0;
}

static void *end(void *argument)
{
    struct timespec pause = {.tv_nsec = us * 1000};

    nanosleep(&pause, NULL);
    kill(getpid(), stops ? SIGSTOP : SIGKILL);
    return argument;
}

/* Puts to rank 2 until it is lost, so that puts are under way or wait for room. Returns whether any are: none if the
 * first put after a fence is refused. */
static bool put_until_lost(void)
{
    long number = 0, fenced = 0;
    int error = 0;

    while (!error) {
        error = put(2, number);
        number += !error;
        if (!error && number % 8 == 0 && !(error = xtq_quiet(x, 2)))
            fenced = number;
    }
    EQUAL(error, -ECONNRESET);
    EXPECT(!xtq_alive(x, 2));
    return number > fenced;
}

static void survive(void)
{
    const bool lost = rank == 1 && put_until_lost();
    struct xtq_function_packet packet;
    long number = 0;
    int error;

    while (xtq_alive(x, 2))
        EQUAL(put(rank == 0 ? 1 : 0, number++), 0);
    for (int i = 0; i < PUTS; i++)
        EQUAL(put(rank == 0 ? 1 : 0, number++), 0);
    xtq_function_packet(&packet, QUEUE, BYE, 0, 0);
    EQUAL(xtq_put(x, 1 - rank, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
    EQUAL(xtq_quiet(x, rank == 0 ? 1 : 0), 0);
    while (!atomic_load(&got_bye[1 - rank])) /* otherwise this rank would be the next to be lost */
        xtq_progress(x);
    number = 0;
    while ((error = put(2, number++)) == 0)
        ;
    EQUAL(error, -ECONNRESET);
    EQUAL(xtq_quiet(x, 2), number > 1 || lost ? -ECONNRESET : 0); /* a lost rank on another host accepts nothing */
    EQUAL(xtq_refused(x), 0);
}

int main(int count, char **words)
{
    struct xtq_queue_entry queue = {.engine = XTQ_HOST};
    struct xtq_function_entry entry = {.function = check}, bye_entry = {.function = bye};
    struct xtq_signal *never;
    pthread_t thread;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    us = atol(words[1]);
    stops = count > 2 && !strcmp(words[2], "stop");
    if (count > 3)
        bytes_of_2 = (size_t)atol(words[3]);
    EXPECT(bytes_of_2 <= MOST);
    pid_of_2 = getpid();
    MPI_Bcast(&pid_of_2, 1, MPI_INT, 2, MPI_COMM_WORLD);
    EQUAL(xtq_init(MPI_COMM_WORLD, NULL, &x), 0);
    EQUAL(xtq_register_function(x, INDEX, &entry), 0);
    EQUAL(xtq_register_function(x, BYE, &bye_entry), 0);
    EQUAL(xtq_register_queue(x, QUEUE, &queue), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) {
        EQUAL(pthread_create(&thread, NULL, end, NULL), 0);
        for (long number = 0;; number++)
            EQUAL(put(0, number), 0);
    }
    survive();
    EQUAL(xtq_signal_create(1, &never), 0);
    EQUAL(xtq_signal_wait(x, never, XTQ_EQ, 0, -1), -ECONNRESET);
    xtq_signal_destroy(never);
    EQUAL(xtq_finalize(x), -ECONNRESET);
    printf("rank %d survives\n", rank);
    fflush(stdout);
    if (rank == 0 && stops)
        kill(pid_of_2, SIGKILL);
    _exit(0); /* MPI_Finalize() fails when a rank is missing */
}
