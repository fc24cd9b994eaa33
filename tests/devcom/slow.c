/*
 * Rank 1 stops in the middle of a long put to rank 0; rank 2's puts arrive there all the same, and the rest of rank 1's
 * when it continues. As if each rank had its own host.
 */
#include <signal.h>
#include <unistd.h>

#include "devcom.h"
#include "tests/xtq/xtqtest.h"

enum { SEGMENT, SECOND = 1000000, SHORT = 8 };
static const size_t LONG = (size_t)64 << 20;

static struct devcom *d;
static int processes[3];

static void meet(void)
{
    EQUAL(devcom_barrier(d, 600L * SECOND), 0);
}

static void put(size_t offset, size_t bytes, long timeout_us)
{
    EQUAL(devcom_write(d, SEGMENT, offset, 0, SEGMENT, offset, bytes, 0), 0);
    EQUAL(devcom_quiet(d, 0, timeout_us), 0);
}

static void wait_until_stopped(int process)
{
    char path[64], state = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    while (state != 'T') {
        FILE *file = fopen(path, "r");

        EXPECT(file && fscanf(file, "%*d %*s %c", &state) == 1);
        fclose(file);
        usleep(10000);
    }
    usleep(200000); /* so that rank 0 has received the start of the put */
}

int main(int count, char **words)
{
    struct devcom_memory memory = {.bytes = LONG + SHORT};
    int rank, level, own = getpid();
    uint8_t *mine;
    void *at;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    EQUAL(devcom_init(MPI_COMM_WORLD, NULL, &d), 0);
    rank = devcom_rank(d);
    EQUAL(devcom_segment_create(d, SEGMENT, &memory), 0);
    EQUAL(devcom_segment_ptr(d, rank, SEGMENT, &at), 0);
    mine = at;
    MPI_Allgather(&own, 1, MPI_INT, processes, 1, MPI_INT, MPI_COMM_WORLD);
    if (rank)
        put(LONG, SHORT, 600L * SECOND); /* sets up the connection */
    meet();
    if (rank == 1) {
        memset(mine, 7, LONG);
        EQUAL(devcom_write(d, SEGMENT, 0, 0, SEGMENT, 0, LONG, 0), 0);
        kill(getpid(), SIGSTOP);
        EQUAL(devcom_quiet(d, 0, 600L * SECOND), 0);
    } else if (rank == 2) {
        wait_until_stopped(processes[1]);
        for (int i = 1; i <= 10; i++) {
            memset(mine + LONG, i, SHORT);
            put(LONG, SHORT, 30L * SECOND);
        }
        kill(processes[1], SIGCONT);
    }
    meet();
    if (rank == 0) {
        EQUAL(mine[0] + mine[LONG - 1], 14);
        EQUAL(mine[LONG + SHORT - 1], 10);
    }
    meet();
    EQUAL(devcom_finalize(d), 0);
    MPI_Finalize();
    return 0;
}
