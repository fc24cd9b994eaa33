/*
 * Two ranks on two hosts, whose link is down for a while. words[1]: milliseconds; words[2] and words[3]: the commands
 * that take the link down and up. words[4]: "lost": the link is down for longer than the ranks tolerate, so that waits
 * end with an error; otherwise nothing is lost.
 */
#include <time.h>
#include <unistd.h>

#include "devcom.h"
#include "tests/xtq/xtqtest.h"

enum { SEGMENT, BYTES = 1 << 20, PUTS = 200, SECOND = 1000000 };

static struct devcom *d;
static int rank;

static void outage(const char *down, const char *up, long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    EQUAL(system(down), 0);
    nanosleep(&time, NULL);
    EQUAL(system(up), 0);
}

/* Puts continue through the outage, and all arrive. */
static void go_on(char **words)
{
    const uint64_t *got;
    uint64_t *mine;
    void *at;

    EQUAL(devcom_segment_ptr(d, rank, SEGMENT, &at), 0);
    mine = at;
    got = mine + BYTES / 16;
    for (uint64_t i = 1; i <= PUTS; i++) {
        mine[0] = mine[9999] = i;
        if (rank == 0 && i == PUTS / 2)
            outage(words[2], words[3], atol(words[1]));
        EQUAL(devcom_write_notify(d, SEGMENT, 0, 1 - rank, SEGMENT, BYTES / 2, 80000, 1, DEVCOM_SIGNAL_SET, (int64_t)i,
                                  0),
              0);
        EQUAL(devcom_signal_wait(d, 1, DEVCOM_GE, (int64_t)i, DEVCOM_BLOCK, NULL), 0);
        EXPECT(got[0] >= i && got[9999] >= i);
        EQUAL(devcom_quiet(d, 0, DEVCOM_BLOCK), 0);
        EQUAL(devcom_barrier(d, DEVCOM_BLOCK), 0);
    }
    EXPECT(devcom_alive(d, 1 - rank));
}

static void lose(char **words)
{
    if (rank == 0)
        EQUAL(system(words[2]), 0);
    EQUAL(devcom_signal_wait(d, 1, DEVCOM_NE, 0, DEVCOM_BLOCK, NULL), -ECONNRESET);
    EXPECT(!devcom_alive(d, 1 - rank));
    EQUAL(devcom_write(d, SEGMENT, 0, 1 - rank, SEGMENT, 0, 8, 0), -ECONNRESET);
    EQUAL(devcom_barrier(d, DEVCOM_BLOCK), -ECONNRESET);
    if (rank == 0)
        EQUAL(system(words[3]), 0);
    EQUAL(devcom_finalize(d), -ECONNRESET);
    printf("rank %d survives\n", rank);
    fflush(stdout);
    _exit(0);
}

int main(int count, char **words)
{
    struct devcom_memory memory = {.bytes = BYTES};
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    EQUAL(devcom_init(MPI_COMM_WORLD, NULL, &d), 0);
    rank = devcom_rank(d);
    EQUAL(devcom_segment_create(d, SEGMENT, &memory), 0);
    EQUAL(devcom_barrier(d, DEVCOM_BLOCK), 0);
    if (count > 4)
        lose(words);
    go_on(words);
    EQUAL(devcom_finalize(d), 0);
    MPI_Finalize();
    return 0;
}
