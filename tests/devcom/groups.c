/* Groups: collectives of some ranks, which disturb no others, and commits, which agree on the list or fail on all. */
#include <pthread.h>

#include "tests/devcom/segments.h"

enum { ALL, HALVES, PAIRS, REUSED = 4, RACING, DIFFERENT, OTHERS, CANCELED, LATE, NUMBERS };

static const long patience = 600L * SECOND;

/* ---- lists of ranks, as bits ---- */

static unsigned all_ranks(void)
{
    return (1u << size) - 1;
}

static struct devcom_group *group_of(unsigned number, unsigned list)
{
    struct devcom_group *group;

    EQUAL(devcom_group_create(d, number, &group), 0);
    for (int r = size - 1; r >= 0; r--) { /* not in the order of ranks */
        if (list >> r & 1)
            EQUAL(devcom_group_add(group, r), 0);
    }
    return group;
}

static struct devcom_group *commit(unsigned number, unsigned list)
{
    struct devcom_group *group = group_of(number, list);

    EQUAL(devcom_group_commit(group, patience), 0);
    EQUAL(devcom_group_size(group), __builtin_popcount(list));
    EQUAL(devcom_group_rank(group, 0), __builtin_ctz(list));
    return group;
}

/* ---- reductions ---- */

static double contribution(int from, size_t i)
{
    return (double)((from * 31 + (int)i * 7) % 101 - 50) / 3;
}

static void fill(unsigned segment, size_t count)
{
    static double mine[40000];

    for (size_t i = 0; i < count; i++)
        mine[i] = contribution(rank, i);
    store(segment, 0, mine, count * sizeof(*mine));
}

static void check_sum(unsigned segment, unsigned list, size_t count, enum devcom_method method)
{
    static double got[40000];

    load(segment, 0, got, count * sizeof(*got));
    for (size_t i = 0; i < count; i++) {
        double expected = -0.0;

        for (int r = 0; r < size; r++)
            expected += list >> r & 1 ? contribution(r, i) : -0.0;
        if (method == DEVCOM_TREE) /* which adds in its own order */
            EXPECT(got[i] - expected < 1e-9 && expected - got[i] < 1e-9);
        else
            EXPECT(got[i] == expected);
    }
}

static void check_collectives(struct devcom_group *group, unsigned list, unsigned segment, size_t count)
{
    int root = devcom_group_rank(group, devcom_group_size(group) - 1);
    uint8_t data[1000], expected[1000];

    for (enum devcom_method method = DEVCOM_AUTO; method <= DEVCOM_TREE; method++) {
        fill(segment, count);
        EQUAL(devcom_group_allreduce(group, segment, 0, count, DEVCOM_DOUBLE, DEVCOM_SUM, method, patience), 0);
        check_sum(segment, list, count, method);
        EQUAL(devcom_group_barrier(group, patience), 0);
        fill(segment, count);
        EQUAL(devcom_group_reduce(group, root, segment, 0, count, DEVCOM_DOUBLE, DEVCOM_SUM, method, patience), 0);
        if (rank == root)
            check_sum(segment, list, count, method);
    }
    pattern(data, sizeof(data), (unsigned)rank);
    pattern(expected, sizeof(expected), (unsigned)root);
    store(segment, 64, data, sizeof(data));
    EQUAL(devcom_group_broadcast(group, root, segment, 64, sizeof(data), patience), 0);
    load(segment, 64, data, sizeof(data));
    EXPECT(!memcmp(data, expected, sizeof(data)));
}

static void check_all_segments(struct devcom_group *group, unsigned list)
{
    for (unsigned segment = HOST; segment <= STAGED; segment++) {
        for (size_t count = 1; exists(segment) && count < 40000; count = count * 40 - 1)
            check_collectives(group, list, segment, count);
    }
}

/* Groups of all ranks, of every second one, and of neighbours, which overlap. */
static void check_groups(void)
{
    struct devcom_group *all = commit(ALL, all_ranks()), *half, *pairs[2] = {NULL};
    unsigned evens = 0x55555555u & all_ranks(), mine = rank % 2 ? all_ranks() & ~evens : evens;

    check_all_segments(all, all_ranks());
    half = commit(HALVES, mine);
    check_all_segments(half, mine);
    for (int low = rank > 0 ? rank - 1 : 0; low <= rank && low + 1 < size; low++)
        pairs[low % 2] = commit(PAIRS + (unsigned)low % 2, 3u << low);
    for (int low = rank > 0 ? rank - 1 : 0; low <= rank && low + 1 < size; low++)
        check_collectives(pairs[low % 2], 3u << low, HOST, 1000);
    check_collectives(all, all_ranks(), HOST, 100);
    for (int i = 0; i < 2; i++) {
        if (pairs[i])
            EQUAL(devcom_group_delete(pairs[i]), 0);
    }
    EQUAL(devcom_group_delete(half), 0);
    EQUAL(devcom_group_delete(all), 0);
    meet();
}

/* A number is used for one list after the other. */
static void check_reuse(void)
{
    for (unsigned round = 0; round < 40; round++) {
        unsigned one = (round * 2654435761u >> 16) & all_ranks(), mine = one >> rank & 1 ? one : all_ranks() & ~one;
        struct devcom_group *group = commit(REUSED, mine);

        check_collectives(group, mine, HOST, 10);
        EQUAL(devcom_group_delete(group), 0);
        meet();
    }
}

/* What a group has left behind, rank 0's part of a barrier, is not taken for a part of the next one's. */
static void check_left_behind(void)
{
    struct devcom_group *group = commit(REUSED, all_ranks());
    int64_t told = 0;

    if (rank == 0 && size > 1)
        EQUAL(devcom_group_barrier(group, DEVCOM_TEST), -ETIMEDOUT);
    EQUAL(devcom_group_delete(group), 0);
    meet();
    group = commit(REUSED, all_ranks());
    if (rank == 0) {
        EQUAL(devcom_signal_wait(d, 1, DEVCOM_GE, size - 1, patience, &told), 0);
        EQUAL(devcom_group_barrier(group, patience), 0);
    } else {
        EQUAL(devcom_group_barrier(group, 1000), -ETIMEDOUT);
        EQUAL(devcom_signal_op(d, 0, 1, DEVCOM_SIGNAL_ADD, 1, 0), 0);
        EQUAL(devcom_group_barrier(group, patience), 0);
    }
    EQUAL(devcom_group_delete(group), 0);
    meet();
}

/* Rank 0 waits in one group, and meets in another meanwhile. */
static void check_independence(void)
{
    struct devcom_group *one, *other;

    if (size < 3 || rank > 2)
        return;
    one = rank < 2 ? commit(RACING, 3) : NULL;
    other = rank != 1 ? commit(REUSED, 5) : NULL;
    if (rank == 0) {
        EQUAL(devcom_group_barrier(one, DEVCOM_TEST), -ETIMEDOUT);
        EQUAL(devcom_group_barrier(other, patience), 0);
        EQUAL(devcom_group_allreduce(one, HOST, 0, 1, DEVCOM_INT8, DEVCOM_SUM, DEVCOM_AUTO, patience), -EINVAL);
        EQUAL(devcom_signal_op(d, 1, 2, DEVCOM_SIGNAL_SET, 1, 0), 0);
    } else if (rank == 1) {
        EQUAL(devcom_signal_wait(d, 2, DEVCOM_EQ, 1, patience, NULL), 0);
    } else {
        EQUAL(devcom_group_barrier(other, patience), 0);
    }
    if (one) {
        EQUAL(devcom_group_barrier(one, patience), 0);
        EQUAL(devcom_group_delete(one), 0);
    }
    if (other)
        EQUAL(devcom_group_delete(other), 0);
}

static void *add_up(void *argument)
{
    struct devcom_group *group = argument;
    unsigned segment = devcom_group_size(group) % 2 ? HOST : BOUND;

    for (int32_t i = 0; i < 200; i++) {
        int32_t sum = i + rank;

        store(segment, 0, &sum, sizeof(sum));
        EQUAL(devcom_group_allreduce(group, segment, 0, 1, DEVCOM_INT32, DEVCOM_MAX, DEVCOM_AUTO, patience), 0);
        load(segment, 0, &sum, sizeof(sum));
        EQUAL(sum, i + devcom_group_rank(group, devcom_group_size(group) - 1));
    }
    return NULL;
}

/* Two groups at the same time, in two threads. */
static void check_threads(void)
{
    struct devcom_group *all = commit(RACING, all_ranks()), *fewer = NULL;
    pthread_t thread;

    if (rank < size - 1)
        fewer = commit(REUSED, all_ranks() >> 1);
    EQUAL(pthread_create(&thread, NULL, add_up, all), 0);
    if (fewer) {
        add_up(fewer);
        EQUAL(devcom_group_delete(fewer), 0);
    }
    EQUAL(pthread_join(thread, NULL), 0);
    EQUAL(devcom_group_delete(all), 0);
    meet();
}

/* ---- errors ---- */

static void check_misuse(void)
{
    struct devcom_group *group, *same;

    EQUAL(devcom_group_create(NULL, 0, &group), -EINVAL);
    EQUAL(devcom_group_create(d, NUMBERS, &group), -EINVAL);
    EQUAL(devcom_group_create(d, ALL, NULL), -EINVAL);
    EQUAL(devcom_group_create(d, ALL, &group), 0);
    EQUAL(devcom_group_create(d, ALL, &same), -EBUSY);
    EQUAL(devcom_group_size(group), 0);
    EQUAL(devcom_group_size(NULL), -EINVAL);
    EQUAL(devcom_group_rank(group, 0), -EINVAL);
    EQUAL(devcom_group_add(NULL, 0), -EINVAL);
    EQUAL(devcom_group_add(group, size), -EINVAL);
    EQUAL(devcom_group_add(group, -1), -EINVAL);
    EQUAL(devcom_group_commit(NULL, patience), -EINVAL);
    EQUAL(devcom_group_commit(group, patience), -EINVAL);
    if (size > 1) { /* not a list without this rank */
        EQUAL(devcom_group_add(group, (rank + 1) % size), 0);
        EQUAL(devcom_group_commit(group, patience), -EINVAL);
    }
    EQUAL(devcom_group_add(group, rank), 0);
    EQUAL(devcom_group_add(group, rank), -EINVAL);
    EQUAL(devcom_group_barrier(NULL, patience), -EINVAL);
    EQUAL(devcom_group_barrier(group, patience), -EINVAL);
    EQUAL(devcom_group_allreduce(group, HOST, 0, 1, DEVCOM_INT8, DEVCOM_SUM, DEVCOM_AUTO, patience), -EINVAL);
    EQUAL(devcom_group_delete(group), 0);
    EQUAL(devcom_group_delete(NULL), -EINVAL);
    group = commit(ALL, 1u << rank);
    EQUAL(devcom_group_commit(group, patience), -EINVAL);
    EQUAL(devcom_group_add(group, rank), -EINVAL);
    EQUAL(devcom_group_barrier(group, patience), 0);
    EQUAL(devcom_group_broadcast(group, rank + 1, HOST, 0, 1, patience), -EINVAL);
    EQUAL(devcom_group_reduce(group, rank - 1, HOST, 0, 1, DEVCOM_INT8, DEVCOM_SUM, DEVCOM_AUTO, patience), -EINVAL);
    EQUAL(devcom_group_allreduce(group, GONE, 0, 1, DEVCOM_INT8, DEVCOM_SUM, DEVCOM_AUTO, patience), -ENOENT);
    EQUAL(devcom_group_allreduce(group, HOST, BYTES, 1, DEVCOM_INT8, DEVCOM_SUM, DEVCOM_AUTO, patience), -ERANGE);
    EQUAL(devcom_group_allreduce(group, HOST, 1, 1, DEVCOM_INT32, DEVCOM_SUM, DEVCOM_AUTO, patience), -EINVAL);
    /* a group's memory is not the program's */
    EQUAL(devcom_write(d, HOST, 0, rank, 33 + ALL, 0, 8, 0), -ENOENT);
    EQUAL(devcom_group_delete(group), 0);
    meet();
}

static void expect_failure(unsigned number, unsigned list, int expected)
{
    struct devcom_group *group = group_of(number, list);

    EQUAL(devcom_group_commit(group, DEVCOM_BLOCK), expected);
    EQUAL(devcom_group_commit(group, DEVCOM_BLOCK), -EINVAL);
    EQUAL(devcom_group_barrier(group, DEVCOM_BLOCK), -EINVAL);
    EQUAL(devcom_group_delete(group), 0);
    EQUAL(devcom_group_create(d, number, &group), -EBUSY);
}

/* Ranks commit different lists: of one rank more, and of two ranks each, no two of which are the same. */
static void check_disagreement(void)
{
    if (size < 3)
        return;
    expect_failure(DIFFERENT, rank > 0 && rank < size - 1 ? all_ranks() >> 1 : all_ranks(), -EINVAL);
    expect_failure(OTHERS, 1u << rank | 1u << (rank + 1) % size, -EINVAL);
    meet();
}

/* Rank 0 gives up a commit that has begun. */
static void check_canceled(void)
{
    struct devcom_group *group;

    if (size == 1)
        return;
    if (rank == 0) {
        group = group_of(CANCELED, all_ranks());
        EQUAL(devcom_group_commit(group, DEVCOM_TEST), -ETIMEDOUT);
        EQUAL(devcom_group_add(group, 0), -EINVAL);
        EQUAL(devcom_group_delete(group), 0);
    }
    meet();
    if (rank > 0)
        expect_failure(CANCELED, all_ranks(), -ECANCELED);
    meet();
}

/* Rank 0 commits after the commits of all others have timed out, and never waits. */
static void check_late(void)
{
    struct devcom_group *group = group_of(LATE, all_ranks());
    int error;

    if (rank == 0) {
        EQUAL(devcom_signal_wait(d, 3, DEVCOM_GE, size - 1, patience, NULL), 0);
    } else {
        EQUAL(devcom_group_commit(group, 1000), -ETIMEDOUT);
        EQUAL(devcom_signal_op(d, 0, 3, DEVCOM_SIGNAL_ADD, 1, 0), 0);
    }
    while ((error = devcom_group_commit(group, rank ? patience : DEVCOM_TEST)) == -ETIMEDOUT)
        ;
    EQUAL(error, 0);
    check_collectives(group, all_ranks(), HOST, 100);
    EQUAL(devcom_group_delete(group), 0);
}

int main(int count, char **words)
{
    struct devcom_options options = {.messages = count > 1 && !strcmp(words[1], "messages"), .groups = 65};
    int level;

    messages = options.messages;
    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    device = xtqtest_device();
    EQUAL(devcom_init(MPI_COMM_WORLD, &options, &d), -EINVAL);
    options.groups = NUMBERS;
    EQUAL(devcom_init(MPI_COMM_WORLD, &options, &d), 0);
    rank = devcom_rank(d);
    size = devcom_size(d);
    make_segments();
    check_misuse();
    check_groups();
    check_reuse();
    check_left_behind();
    check_independence();
    meet();
    check_threads();
    check_disagreement();
    check_canceled();
    check_late();
    EQUAL(devcom_finalize(d), 0);
    drop_segments();
    xtqtest_device_close(&device);
    MPI_Finalize();
    return 0;
}
