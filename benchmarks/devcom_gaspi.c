/*
 * The measurements of benchmarks/devcom with GASPI (GPI-2): two processes of one host. Not built with the rest:
 * benchmarks/devcom_run compiles it with the GPI-2 that is installed at GPI2_DIR, and starts both processes.
 *
 *     gaspi    gaspi_write_notify, gaspi_notify_waitsome and _reset; many gaspi_write and, as completion is local
 *              only, a notification that is answered
 */
#include <GASPI.h>

#include "pair.h"

enum { SEGMENT, QUEUE = 0, DATA = 1, DONE = 2 };

#define DO(CALL) EXPECT((CALL) == GASPI_SUCCESS)

static gaspi_rank_t other;

static void ping(size_t bytes, int64_t round)
{
    DO(gaspi_write_notify(SEGMENT, 0, other, SEGMENT, PAIR_MOST, bytes, DATA, (gaspi_notification_t)round, QUEUE,
                          GASPI_BLOCK));
    DO(gaspi_wait(QUEUE, GASPI_BLOCK));
}

static gaspi_notification_t heard(gaspi_notification_id_t id)
{
    gaspi_notification_id_t first;
    gaspi_notification_t value;

    DO(gaspi_notify_waitsome(SEGMENT, id, 1, &first, GASPI_BLOCK));
    DO(gaspi_notify_reset(SEGMENT, first, &value));
    return value;
}

static void pong(int64_t round)
{
    EXPECT(heard(DATA) == (gaspi_notification_t)round);
}

static void begin(size_t bytes)
{
    DO(gaspi_write(SEGMENT, 0, other, SEGMENT, PAIR_MOST, bytes, QUEUE, GASPI_BLOCK));
}

static void tell(void)
{
    DO(gaspi_notify(SEGMENT, other, DONE, 1, QUEUE, GASPI_BLOCK));
    DO(gaspi_wait(QUEUE, GASPI_BLOCK));
}

static void end(void)
{
    tell();
    heard(DONE);
}

static void answer(void)
{
    heard(DONE);
    tell();
}

static void meet(void)
{
    DO(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
}

int main(int count, char **words)
{
    static const struct pair_way way = {"gaspi", ping, pong, begin, end, meet, answer};
    struct pair pair = {.quick = count > 1 && !strcmp(words[1], "--quick")};
    gaspi_rank_t rank;

    DO(gaspi_proc_init(GASPI_BLOCK));
    DO(gaspi_proc_rank(&rank));
    pair.rank = rank;
    other = (gaspi_rank_t)(1 - rank);
    DO(gaspi_segment_create(SEGMENT, 2 * PAIR_MOST, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
    pair_half_round_trips(&pair, &way);
    pair_barrier(&pair, &way);
    pair_bandwidth(&pair, &way);
    meet();
    DO(gaspi_proc_term(GASPI_BLOCK));
    return 0;
}
