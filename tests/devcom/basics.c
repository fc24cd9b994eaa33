/*
 * Segments of all kinds, one-sided communication, signals, atomics, passive messages and collectives between any number
 * of ranks, and the errors for misuse. words[1]: "messages": with the progress thread, and with segments that must be
 * staged.
 */
#include <sched.h>
#include <unistd.h>

#include "devcom.h"
#include "tests/devcom/segments.h"

static void check_reach(void)
{
    struct devcom_reach reach;
    int other = (rank + 1) % size;
    bool near = devcom_shares_host(d, other);

    for (unsigned segment = HOST; segment <= BUFFER; segment++) {
        if (!exists(segment))
            continue;
        EQUAL(devcom_segment_reach(d, other, segment, 600L * SECOND, &reach), 0);
        EQUAL(reach.bytes, BYTES);
        EXPECT(reach.why && *reach.why);
        if (segment == STAGED || segment == BUFFER)
            EQUAL(reach.path, DEVCOM_STAGED);
        else if (segment == BOUND)
            EXPECT(reach.path == DEVCOM_DIRECT || other == rank);
        else
            EQUAL(reach.path, near ? DEVCOM_MAPPED : DEVCOM_DIRECT);
    }
    EQUAL(devcom_segment_reach(d, other, GONE, 600L * SECOND, &reach), -ENOENT);
}

/* ---- writes and reads ---- */

static void check_pair(unsigned from, unsigned to, size_t bytes)
{
    static uint8_t sent[BYTES / 2], got[BYTES / 2];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    unsigned seed = from * 16 + to + (unsigned)bytes;

    pattern(sent, bytes, seed + (unsigned)rank);
    store(from, 64, sent, bytes);
    meet();
    EQUAL(devcom_write_notify(d, from, 64, next, to, BYTES / 2, bytes, 3, DEVCOM_SIGNAL_ADD, 5, 1), 0);
    EQUAL(devcom_signal_wait(d, 3, DEVCOM_EQ, 5, 600L * SECOND, NULL), 0);
    EQUAL(devcom_notify_reset(d, 3, NULL), 0);
    load(to, BYTES / 2, got, bytes);
    pattern(sent, bytes, seed + (unsigned)last);
    EXPECT(!memcmp(sent, got, bytes));
    EQUAL(devcom_quiet(d, 1, 600L * SECOND), 0);
    meet();
    EQUAL(devcom_read(d, to, 0, next, from, 64, bytes, 2), 0);
    EQUAL(devcom_quiet(d, 2, 600L * SECOND), 0);
    load(to, 0, got, bytes);
    pattern(sent, bytes, seed + (unsigned)next);
    EXPECT(!memcmp(sent, got, bytes));
    meet();
}

static void check_writes(void)
{
    static const size_t sizes[] = {1, 8, 4000, 100000, BYTES / 2};

    for (unsigned from = HOST; from <= BUFFER; from++) {
        for (unsigned to = HOST; to <= BUFFER; to++) {
            if (from == to || !exists(from) || !exists(to))
                continue;
            for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
                check_pair(from, to, i + 1 < sizeof(sizes) / sizeof(*sizes) ? sizes[i] : BYTES / 2 - 64);
        }
    }
}

/* Sends a box of 3 planes of 5 rows of 40 bytes, from rows of 64 and planes of 640 bytes, into rows of 100 and planes
 * of 999. */
static void check_box(unsigned from, unsigned to)
{
    static uint8_t sent[4000], got[4000];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    struct devcom_put put = {.segment = from,
                             .remote_segment = to,
                             .offset = 128,
                             .remote_offset = 8192,
                             .shape = {40, {5, 3}, {64, 640}, {100, 999}},
                             .rank = next,
                             .signal = 9,
                             .op = DEVCOM_SIGNAL_SET,
                             .value = -1};

    pattern(sent, sizeof(sent), (unsigned)rank);
    store(from, 128, sent, sizeof(sent));
    memset(got, 0, sizeof(got));
    store(to, 8192, got, sizeof(got));
    meet();
    EQUAL(devcom_put(d, &put, 1, 0, NULL), 0);
    EQUAL(devcom_signal_wait(d, 9, DEVCOM_NE, 0, 600L * SECOND, NULL), 0);
    EQUAL(devcom_notify_reset(d, 9, NULL), 0);
    EQUAL(devcom_quiet(d, 0, 600L * SECOND), 0);
    load(to, 8192, got, sizeof(got));
    pattern(sent, sizeof(sent), (unsigned)last);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 5; j++)
            EXPECT(!memcmp(got + i * 999 + j * 100, sent + i * 640 + j * 64, 40));
    }
    EQUAL(got[40], 0);
    meet();
    /* and back: a get returns what was put */
    put = (struct devcom_put){.segment = from,
                              .remote_segment = to,
                              .offset = 16384,
                              .remote_offset = 8192,
                              .shape = {40, {5, 3}, {64, 640}, {100, 999}},
                              .rank = next};
    EQUAL(devcom_get(d, &put, 1, 0, NULL), 0);
    EQUAL(devcom_quiet(d, 0, 600L * SECOND), 0);
    load(from, 16384, got, sizeof(got));
    pattern(sent, sizeof(sent), (unsigned)rank);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 5; j++)
            EXPECT(!memcmp(got + i * 640 + j * 64, sent + i * 640 + j * 64, 40));
    }
    meet();
}

static void check_boxes(void)
{
    for (unsigned from = HOST; from <= BUFFER; from++) {
        for (unsigned to = HOST; to <= BUFFER; to++) {
            if (exists(from) && exists(to) && from != to)
                check_box(from, to);
        }
    }
}

/* Sends a box that is too large to travel with its descriptor. */
static void check_large_box(unsigned to)
{
    enum { ROWS = 256, ROW = 1024, STRIDE = 2048 };
    int next = (rank + 1) % size;
    struct devcom_put put = {.segment = HOST,
                             .remote_segment = to,
                             .shape = {ROW, {ROWS, 1}, {STRIDE, 0}, {ROW, 0}},
                             .rank = next,
                             .signal = 9,
                             .op = DEVCOM_SIGNAL_SET,
                             .value = 1};
    uint8_t row[ROW], expected[ROW];

    for (int i = 0; i < ROWS; i++) {
        memset(row, i + rank, ROW);
        store(HOST, (size_t)i * STRIDE, row, ROW);
    }
    meet();
    EQUAL(devcom_put(d, &put, 1, 0, NULL), 0);
    EQUAL(devcom_signal_wait(d, 9, DEVCOM_EQ, 1, 600L * SECOND, NULL), 0);
    EQUAL(devcom_signal_store(d, 9, 0), 0);
    EQUAL(devcom_quiet(d, 0, 600L * SECOND), 0);
    for (int i = 0; i < ROWS; i++) {
        memset(expected, i + (rank + size - 1) % size, ROW);
        load(to, (size_t)i * ROW, row, ROW);
        EXPECT(!memcmp(row, expected, ROW));
    }
    meet();
}

/* ---- misuse ---- */

/* Returns the error, or the fence's: an error that only the target knows comes there. */
static int fenced(int error)
{
    return error ? error : devcom_quiet(d, 0, 600L * SECOND);
}

static void check_misuse(void)
{
    struct devcom_memory memory = {.bytes = 4096}, nothing = {0};
    struct devcom_put overlapping = {.shape = {64, {4, 1}, {32, 0}, {64, 0}}, .rank = rank};
    int next = (rank + 1) % size;
    unsigned found;
    void *at;

    EQUAL(devcom_write(d, HOST, 0, size, HOST, 0, 8, 0), -EINVAL);
    EQUAL(devcom_write(d, HOST, 0, -1, HOST, 0, 8, 0), -EINVAL);
    EQUAL(devcom_write(d, HOST, 0, next, HOST, 0, 8, 4), -EINVAL);
    EQUAL(devcom_write(d, GONE, 0, next, HOST, 0, 8, 0), -ENOENT);
    EQUAL(devcom_write(d, 32, 0, next, HOST, 0, 8, 0), -ENOENT);
    EQUAL(devcom_write(d, HOST, BYTES - 7, next, HOST, 0, 8, 0), -ERANGE);
    EQUAL(devcom_write(d, HOST, SIZE_MAX - 7, next, HOST, 0, 8, 0), -ERANGE);
    EQUAL(devcom_write(d, HOST, 0, next, HOST, 0, SIZE_MAX, 0), -EINVAL);
    EQUAL(fenced(devcom_write(d, HOST, 0, next, GONE, 0, 8, 0)), -ENOENT);
    EQUAL(fenced(devcom_write(d, HOST, 0, next, HOST, BYTES - 7, 8, 0)), -ERANGE);
    EQUAL(fenced(devcom_write(d, HOST, 0, next, HOST, SIZE_MAX, 8, 0)), -ERANGE);
    EQUAL(fenced(devcom_read(d, HOST, 0, next, HOST, BYTES - 7, 8, 0)), -ERANGE);
    EQUAL(fenced(devcom_read(d, HOST, 0, next, GONE, 0, 8, 0)), -ENOENT);
    EQUAL(fenced(0), 0);
    EQUAL(devcom_put(d, &overlapping, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_signal_op(d, next, 1024, DEVCOM_SIGNAL_SET, 1, 0), -EINVAL);
    EQUAL(devcom_signal_op(d, next, 0, (enum devcom_signal_op)3, 1, 0), -EINVAL);
    EQUAL(devcom_notify_waitsome(d, 1000, 25, DEVCOM_TEST, &found), -EINVAL);
    EQUAL(devcom_notify_waitsome(d, 0, 0, DEVCOM_TEST, &found), -EINVAL);
    EQUAL(devcom_signal_wait(d, 1024, DEVCOM_EQ, 0, DEVCOM_TEST, NULL), -EINVAL);
    EQUAL(devcom_notify_reset(d, 1024, NULL), -EINVAL);
    EQUAL(devcom_segment_alloc(d, HOST, &memory), -EBUSY);
    EQUAL(devcom_segment_alloc(d, 32, &memory), -EINVAL);
    EQUAL(devcom_segment_alloc(d, GONE, &nothing), -EINVAL);
    EQUAL(devcom_segment_bind(d, GONE, &memory), -EINVAL);
    EQUAL(devcom_segment_delete(d, GONE), -ENOENT);
    EQUAL(devcom_segment_ptr(d, next, GONE, &at), devcom_shares_host(d, next) ? -ENOENT : -ENOTSUP);
    EQUAL(devcom_flush_local(d, 4, DEVCOM_TEST), -EINVAL);
    /* one rank's failure is every rank's */
    EQUAL(devcom_segment_register(d, GONE, rank == 0 ? -ENOMEM : 0), -ENOMEM);
}

static void check_deleted(void)
{
    struct devcom_memory memory = {.bytes = 8192 + 4096 * (size_t)rank}; /* sizes may differ */
    int next = (rank + 1) % size;

    for (int i = 0; i < 3; i++) {
        EQUAL(devcom_segment_create(d, GONE, &memory), 0);
        EQUAL(fenced(devcom_write(d, HOST, 0, next, GONE, 8192 + 4096 * (size_t)next - 8, 8, 0)), 0);
        EQUAL(fenced(devcom_write(d, HOST, 0, next, GONE, 8192 + 4096 * (size_t)next - 7, 8, 0)), -ERANGE);
        meet();
        EQUAL(devcom_segment_delete(d, GONE), 0);
        meet();
        EQUAL(fenced(devcom_write(d, HOST, 0, next, GONE, 0, 8, 0)), -ENOENT);
        meet();
    }
}

/* ---- destinations that are written again and again ---- */

enum { BLOCK = 80000, BLOCKS = 12 };

/* The data arrive before the signal, however its values change, and with other operations of the queue in between. */
static void check_repeated(enum devcom_signal_op op, const int64_t *values, unsigned count)
{
    static uint8_t sent[BLOCK], got[BLOCK];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    int64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        pattern(sent, BLOCK, i + (unsigned)rank);
        store(HOST, 0, sent, BLOCK);
        sum = op == DEVCOM_SIGNAL_SET ? values[i] : sum + values[i];
        EQUAL(devcom_write_notify(d, HOST, 0, next, BOUND, 100, BLOCK, 24, op, values[i], 1), 0);
        if (i % 3 == 2)
            EQUAL(devcom_write(d, HOST, 8, next, BOUND, 0, 8, 1), 0);
        EQUAL(devcom_signal_op(d, next, 25, DEVCOM_SIGNAL_ADD, 1, 1), 0);
        EQUAL(devcom_signal_wait(d, 25, DEVCOM_EQ, i + 1, 600L * SECOND, NULL), 0);
        EQUAL(devcom_signal_wait(d, 24, DEVCOM_EQ, sum, DEVCOM_TEST, NULL), 0);
        load(BOUND, 100, got, BLOCK);
        pattern(sent, BLOCK, i + (unsigned)last);
        EXPECT(!memcmp(sent, got, BLOCK));
        meet();
        EQUAL(devcom_quiet(d, 1, 600L * SECOND), 0);
    }
    EQUAL(devcom_notify_reset(d, 24, NULL), 0);
    EQUAL(devcom_notify_reset(d, 25, NULL), 0);
    meet();
}

/* Writes to more places than are remembered, without waiting; the last data of each place stay. */
static void check_many_places(void)
{
    static uint8_t data[BLOCK], got[BLOCK / 2];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;

    pattern(data, BLOCK, 7 + (unsigned)rank);
    store(DEVICE, 0, data, BLOCK);
    for (size_t i = 0; i < 10 * BLOCKS; i++) {
        size_t block = i < 6 * BLOCKS ? i / 3 % BLOCKS : i % BLOCKS;

        EQUAL(devcom_write_notify(d, DEVICE, i + block, next, HOST, block * BLOCK / 2, BLOCK / 2, (unsigned)block,
                                  DEVCOM_SIGNAL_ADD, 1, 1),
              0);
    }
    pattern(data, BLOCK, 7 + (unsigned)last);
    for (size_t block = 0; block < BLOCKS; block++) {
        EQUAL(devcom_signal_wait(d, (unsigned)block, DEVCOM_EQ, 10, 600L * SECOND, NULL), 0);
        EQUAL(devcom_notify_reset(d, (unsigned)block, NULL), 0);
        load(HOST, block * BLOCK / 2, got, BLOCK / 2);
        EXPECT(!memcmp(data + 9 * BLOCKS + 2 * block, got, BLOCK / 2));
    }
    EQUAL(devcom_quiet(d, 1, 600L * SECOND), 0);
    meet();
}

/* The place's segment was deleted, or exists again, or its number belongs to one that is too small. */
static void check_places_gone(void)
{
    struct devcom_memory memory = {.bytes = BLOCK};
    int next = (rank + 1) % size;

    for (int i = 0; i < 6; i++) {
        int expected = i % 3 == 0 ? 0 : i % 3 == 1 ? -ERANGE : -ENOENT;

        memory.bytes = i % 3 == 1 ? BLOCK - 1 : BLOCK;
        if (expected != -ENOENT)
            EQUAL(devcom_segment_create(d, GONE, &memory), 0);
        for (int j = 0; j < 4; j++) {
            int error = devcom_write_notify(d, HOST, 0, next, GONE, 0, BLOCK, 24, DEVCOM_SIGNAL_ADD, 1, 3);

            EQUAL(error ? error : devcom_quiet(d, 3, 600L * SECOND), expected);
        }
        meet();
        EQUAL(devcom_signal_wait(d, 24, DEVCOM_EQ, 4 * (i / 3 + 1), DEVCOM_TEST, NULL), 0);
        if (expected != -ENOENT)
            EQUAL(devcom_segment_delete(d, GONE), 0);
        meet();
    }
    EQUAL(devcom_notify_reset(d, 24, NULL), 0);
    meet();
}

static void check_places(void)
{
    static const int64_t grow[] = {1, 2, 3, 4, 5, 6, 9, 12, 15, 15, 15, 15, 1, -3, -7, INT64_MAX, INT64_MIN, 5};

    check_repeated(DEVCOM_SIGNAL_SET, grow, sizeof(grow) / sizeof(*grow));
    check_repeated(DEVCOM_SIGNAL_ADD, grow, 15);
    check_many_places();
    check_places_gone();
}

/* ---- signals ---- */

static void check_signals(void)
{
    int next = (rank + 1) % size;
    unsigned found = 0;
    int64_t value;

    EQUAL(devcom_signal_wait(d, 20, DEVCOM_EQ, 1, 2000, NULL), -ETIMEDOUT);
    EQUAL(devcom_notify_waitsome(d, 16, 8, DEVCOM_TEST, &found), -ETIMEDOUT);
    meet();
    EQUAL(devcom_signal_op(d, next, 20, DEVCOM_SIGNAL_ADD, 3, 3), 0);
    EQUAL(devcom_signal_op(d, next, 20, DEVCOM_SIGNAL_ADD, 4, 3), 0);
    EQUAL(devcom_signal_op(d, next, 21, DEVCOM_SIGNAL_SET, -9, 3), 0);
    EQUAL(devcom_signal_wait(d, 21, DEVCOM_LT, 0, 600L * SECOND, &value), 0);
    EQUAL(value, -9);
    EQUAL(devcom_notify_waitsome(d, 16, 8, DEVCOM_BLOCK, &found), 0);
    EQUAL(found, 20);
    EQUAL(devcom_notify_reset(d, found, &value), 0);
    EQUAL(value, 7);
    EQUAL(devcom_notify_waitsome(d, 16, 8, DEVCOM_BLOCK, &found), 0);
    EQUAL(found, 21);
    EQUAL(devcom_signal_store(d, 21, 0), 0);
    meet();
    if (rank == 0) /* a rank that sleeps is woken */
        usleep(20000);
    EQUAL(devcom_signal_op(d, next, 22, DEVCOM_SIGNAL_SET, 1, 3), 0);
    EQUAL(devcom_signal_wait(d, 22, DEVCOM_GE, 1, DEVCOM_BLOCK, NULL), 0);
    EQUAL(devcom_notify_reset(d, 22, NULL), 0);
    meet();
}

static void check_atomics(void)
{
    int64_t was, zero[2] = {0}, word;

    store(HOST, 4096, zero, sizeof(zero));
    meet();
    for (int i = 0; i < 100; i++)
        EQUAL(devcom_fetch_add(d, 0, HOST, 4096, 3, 600L * SECOND, &was), 0);
    for (int i = 0; i < 20; i++) { /* a lock in the next word */
        while (!devcom_compare_swap(d, 0, HOST, 4104, 0, rank + 1, 600L * SECOND, &was) && was)
            sched_yield();
        EQUAL(devcom_compare_swap(d, 0, HOST, 4104, rank + 1, 0, 600L * SECOND, &was), 0);
        EQUAL(was, rank + 1);
    }
    meet();
    if (rank == 0) {
        load(HOST, 4096, &word, sizeof(word));
        EQUAL(word, 300L * size);
    }
    EQUAL(devcom_fetch_add(d, 0, HOST, 4097, 3, DEVCOM_BLOCK, &was), -EINVAL);
    EQUAL(devcom_fetch_add(d, 0, HOST, BYTES, 3, DEVCOM_BLOCK, &was), -ERANGE);
    EQUAL(devcom_fetch_add(d, 0, GONE, 0, 3, DEVCOM_BLOCK, &was), -ENOENT);
    if (messages)
        EQUAL(devcom_fetch_add(d, 0, STAGED, 0, 3, DEVCOM_BLOCK, &was), -ENOTSUP);
    meet();
}

static void check_passive(void)
{
    uint32_t text[1024], sums[64] = {0};
    size_t bytes;
    int from;

    EQUAL(devcom_passive_receive(d, text, sizeof(text), 2000, &from, &bytes), -ETIMEDOUT);
    EQUAL(devcom_passive_send(d, 0, text, 4097, DEVCOM_BLOCK), -EMSGSIZE);
    meet();
    if (rank) {
        for (uint32_t i = 1; i <= 20; i++) {
            for (uint32_t j = 0; j < 1024; j++)
                text[j] = i * (uint32_t)rank;
            EQUAL(devcom_passive_send(d, 0, text, i * 200, 600L * SECOND), 0);
        }
    } else {
        for (int i = 0; i < 20 * (size - 1); i++) {
            EQUAL(devcom_passive_receive(d, text, sizeof(text), 600L * SECOND, &from, &bytes), 0);
            EXPECT(from > 0 && from < size);
            sums[from]++;
            EQUAL(text[0], sums[from] * (uint32_t)from);
            EQUAL(bytes, sums[from] * 200);
            EQUAL(text[bytes / 4 - 1], text[0]);
        }
    }
    meet();
}

/* ---- collectives ---- */

static double contribution(int from, size_t i)
{
    return (double)((from * 31 + (int)i * 7) % 101 - 50) / 3;
}

static void check_reduction(unsigned segment, size_t count, enum devcom_method method, enum devcom_op op, int root)
{
    static double mine[40000], got[40000];

    for (size_t i = 0; i < count; i++)
        mine[i] = contribution(rank, i);
    store(segment, 0, mine, count * sizeof(double));
    if (root < 0)
        EQUAL(devcom_allreduce(d, segment, 0, count, DEVCOM_DOUBLE, op, method, 600L * SECOND), 0);
    else
        EQUAL(devcom_reduce(d, root, segment, 0, count, DEVCOM_DOUBLE, op, method, 600L * SECOND), 0);
    if (root >= 0 && root != rank)
        return;
    load(segment, 0, got, count * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        double expected = contribution(0, i);

        for (int r = 1; r < size; r++) {
            double more = contribution(r, i);

            expected = op == DEVCOM_SUM   ? expected + more
                       : op == DEVCOM_MIN ? (more < expected ? more : expected)
                       : more > expected  ? more
                                          : expected;
        }
        if (method == DEVCOM_TREE) /* which adds in its own order */
            EXPECT(got[i] - expected < 1e-9 && expected - got[i] < 1e-9);
        else
            EXPECT(got[i] == expected);
    }
}

/* Reduces the smallest type and another one, with products that wrap around. */
static void check_products(void)
{
    enum { COUNT = 100 };
    int8_t small[COUNT];
    uint16_t middle[COUNT];
    int8_t product = 1;

    for (int i = 0; i < COUNT; i++) {
        small[i] = (int8_t)(3 + rank);
        middle[i] = (uint16_t)(i * (rank + 1));
    }
    for (int r = 0; r < size; r++)
        product = (int8_t)(product * (3 + r));
    store(HOST, 0, small, sizeof(small));
    store(DEVICE, 0, middle, sizeof(middle));
    EQUAL(devcom_allreduce(d, HOST, 0, COUNT, DEVCOM_INT8, DEVCOM_PROD, DEVCOM_AUTO, 600L * SECOND), 0);
    EQUAL(devcom_allreduce(d, DEVICE, 0, COUNT, DEVCOM_UINT16, DEVCOM_MAX, DEVCOM_AUTO, 600L * SECOND), 0);
    load(HOST, 0, small, sizeof(small));
    load(DEVICE, 0, middle, sizeof(middle));
    for (int i = 0; i < COUNT; i++) {
        EQUAL(small[i], product);
        EQUAL(middle[i], i * size);
    }
    EQUAL(devcom_allreduce(d, HOST, 0, 1, DEVCOM_INT8, VOCL_REPLACE, DEVCOM_AUTO, DEVCOM_BLOCK), -EINVAL);
    EQUAL(devcom_allreduce(d, HOST, 0, 1, (enum devcom_type)99, DEVCOM_SUM, DEVCOM_AUTO, DEVCOM_BLOCK), -EINVAL);
}

static void check_reductions(void)
{
    static const size_t counts[] = {1, 3, 255, 40000};
    static const unsigned segments[] = {HOST, DEVICE, STAGED};

    for (unsigned s = 0; s < 3; s++) {
        for (unsigned i = 0; i < 4 && exists(segments[s]); i++) {
            for (int method = DEVCOM_AUTO; method <= DEVCOM_TREE; method++) {
                check_reduction(segments[s], counts[i], (enum devcom_method)method, DEVCOM_SUM, -1);
                check_reduction(segments[s], counts[i], (enum devcom_method)method, DEVCOM_MAX, size - 1);
            }
        }
    }
    check_reduction(HOST, 100, DEVCOM_AUTO, DEVCOM_MIN, -1);
    check_products();
    EQUAL(devcom_allreduce(d, HOST, 4, 1, DEVCOM_DOUBLE, DEVCOM_SUM, DEVCOM_AUTO, DEVCOM_BLOCK), -EINVAL);
    EQUAL(devcom_allreduce(d, HOST, 0, BYTES, DEVCOM_DOUBLE, DEVCOM_SUM, DEVCOM_AUTO, DEVCOM_BLOCK), -ERANGE);
    EQUAL(devcom_allreduce(d, GONE, 0, 1, DEVCOM_DOUBLE, DEVCOM_SUM, DEVCOM_AUTO, DEVCOM_BLOCK), -ENOENT);
    EQUAL(devcom_reduce(d, size, HOST, 0, 1, DEVCOM_DOUBLE, DEVCOM_SUM, DEVCOM_AUTO, DEVCOM_BLOCK), -EINVAL);
}

static void check_broadcasts(void)
{
    static uint8_t sent[100000], got[100000];

    for (int root = 0; root < size; root++) {
        for (unsigned segment = HOST; segment <= STAGED; segment++) {
            size_t bytes = segment == HOST ? 100000 : 5000;

            if (!exists(segment))
                continue;
            pattern(sent, bytes, (unsigned)(rank == root ? root : 99));
            store(segment, 256, sent, bytes);
            EQUAL(devcom_broadcast(d, root, segment, 256, bytes, 600L * SECOND), 0);
            pattern(sent, bytes, (unsigned)root);
            load(segment, 256, got, bytes);
            EXPECT(!memcmp(sent, got, bytes));
        }
    }
}

/* A collective that timed out resumes where it was. Rank 0 enters after it has timed out on all others. */
static void check_resuming(void)
{
    int32_t one = 1, sum;
    int error, tries = 0;

    if (size == 1)
        return;
    store(HOST, 0, &one, sizeof(one));
    meet();
    if (rank == 0)
        EQUAL(devcom_signal_wait(d, 28, DEVCOM_EQ, size - 1, 600L * SECOND, NULL), 0);
    do {
        error = devcom_allreduce(d, HOST, 0, 1, DEVCOM_INT32, DEVCOM_SUM, DEVCOM_GATHER, 1000);
        if (error == -ETIMEDOUT && tries++ == 0) {
            EQUAL(devcom_barrier(d, DEVCOM_TEST), -EINVAL);
            if (rank > 0)
                EQUAL(devcom_signal_op(d, 0, 28, DEVCOM_SIGNAL_ADD, 1, 0), 0);
        }
    } while (error == -ETIMEDOUT);
    EQUAL(error, 0);
    EXPECT(rank == 0 || tries > 0);
    EQUAL(devcom_quiet(d, 0, 600L * SECOND), 0);
    load(HOST, 0, &sum, sizeof(sum));
    EQUAL(sum, size);
    if (rank == size - 1)
        usleep(50000);
    while ((error = devcom_barrier(d, 1000)) == -ETIMEDOUT)
        ;
    EQUAL(error, 0);
}

int main(int count, char **words)
{
    struct devcom_options options = {.messages = count > 1 && !strcmp(words[1], "messages")};
    struct devcom_options wrong = {.queues = 33};
    int level;

    messages = options.messages;
    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    device = xtqtest_device();
    EQUAL(devcom_init(MPI_COMM_WORLD, &wrong, &d), -EINVAL);
    EQUAL(devcom_init(MPI_COMM_WORLD, &options, &d), 0);
    rank = devcom_rank(d);
    size = devcom_size(d);
    EXPECT(devcom_alive(d, rank) && devcom_alive(d, size - 1) && !devcom_alive(d, size));
    make_segments();
    check_reach();
    check_writes();
    check_boxes();
    for (unsigned segment = DEVICE; segment <= STAGED; segment++) {
        if (exists(segment))
            check_large_box(segment);
    }
    check_misuse();
    check_deleted();
    check_places();
    check_signals();
    check_atomics();
    check_passive();
    check_reductions();
    check_broadcasts();
    check_resuming();
    EQUAL(devcom_finalize(d), 0);
    drop_segments();
    xtqtest_device_close(&device);
    MPI_Finalize();
    return 0;
}
