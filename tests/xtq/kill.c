/*
 * Rank 2 of 3 is killed in the middle of its puts. Rank 0, their target, has got only whole ones, and goes on serving
 * rank 1; who waits for the dead rank gets an error. words[1]: after how many microseconds.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "xtqtest.h"

enum { QUEUE, INDEX, BYE, PUTS = 20000, BYTES = 2000 };

static struct xtq *x;
static int rank;
static long us, got[3];
static _Atomic bool got_bye[3];

static int check(const struct xtq_task *task, void *argument)
{
    const uint8_t *payload = task->payload;

    (void)argument;
    EQUAL(task->payload_bytes, BYTES);
    EQUAL(task->arg[2], got[task->initiator]);
    for (size_t i = 0; i < BYTES; i++)
        EQUAL(payload[i], got[task->initiator] % 256);
    got[task->initiator]++;
    return 0;
}

static int put(int target, long number)
{
    uint8_t payload[BYTES];
    struct xtq_function_packet packet;

    memset(payload, (int)(number % 256), sizeof(payload));
    xtq_function_packet(&packet, QUEUE, INDEX, (uint64_t)number, 0);
    return xtq_put(x, target, &packet, sizeof(packet), payload, sizeof(payload), 0, NULL);
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
    kill(getpid(), SIGKILL);
    return argument;
}

static void survive(void)
{
    struct xtq_function_packet packet;
    long number = 0;
    int error;

    while (xtq_alive(x, 2))
        EQUAL(put(rank == 0 ? 1 : 0, number++), 0);
    for (int i = 0; i < PUTS; i++)
        EQUAL(put(rank == 0 ? 1 : 0, number++), 0);
    xtq_function_packet(&packet, QUEUE, BYE, 0, 0);
    EQUAL(xtq_put(x, 1 - rank, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
    EQUAL(xtq_fence(x, rank == 0 ? 1 : 0), 0);
    while (!atomic_load(&got_bye[1 - rank])) /* or it would be the next to be missing */
        xtq_progress(x);
    number = 0;
    while ((error = put(2, number++)) == 0)
        ;
    EQUAL(error, -ECONNRESET);
    EQUAL(xtq_fence(x, 2), -ECONNRESET);
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
    _exit(0); /* MPI cannot end with a rank missing */
}
