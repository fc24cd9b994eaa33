/*
 * The measurements of benchmarks/devcom with OpenSHMEM: two processes of one host. Not built with the rest:
 * benchmarks/devcom_run compiles it by oshcc, where there is one, and starts it by oshrun.
 *
 *     shmem    shmem_putmem, shmem_fence, a put of the flag, for which the other waits; many puts and shmem_quiet
 */
#include <shmem.h>
#include <unistd.h>

#include "pair.h"

static int other;
static char *window, *data;
static long *flag;

static void ping(size_t bytes, int64_t round)
{
    shmem_putmem(window, data, bytes, other);
    shmem_fence();
    shmem_long_p(flag, (long)round, other);
}

static void pong(int64_t round)
{
    shmem_long_wait_until(flag, SHMEM_CMP_GE, (long)round);
}

static void begin(size_t bytes)
{
    shmem_putmem_nbi(window, data, bytes, other);
}

int main(int count, char **words)
{
    static const struct pair_way way = {"shmem", ping, pong, begin, shmem_quiet, shmem_barrier_all, NULL};
    struct pair pair = {.quick = count > 1 && !strcmp(words[1], "--quick")};

    shmem_init();
    pair.rank = shmem_my_pe();
    other = 1 - pair.rank;
    EXPECT(shmem_n_pes() == 2);
    window = shmem_malloc(PAIR_MOST);
    flag = shmem_calloc(1, sizeof(*flag));
    data = bench_memory(PAIR_MOST);
    EXPECT(window && flag);
    memset(window, 0, PAIR_MOST);
    pair_half_round_trips(&pair, &way);
    pair_barrier(&pair, &way);
    pair_bandwidth(&pair, &way);
    fflush(stdout);
    shmem_barrier_all();
    _exit(0); /* shmem_finalize() of Open MPI 4.1.4 with UCX 1.13 crashes */
}
