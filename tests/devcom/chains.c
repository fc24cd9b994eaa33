/*
 * Chained descriptors: into segments of two kinds, strided, overlapping, and with one that is refused. words[1]:
 * "messages": with the progress thread.
 */
#include "tests/devcom/segments.h"

enum { PLACES = 60, AREA = BYTES / 4 };

/* Makes puts between segments, some of them strided, and overlapping if asked for. */
static void some_chain(struct devcom_put *puts, bool overlapping, uint32_t seed)
{
    int next = (rank + 1) % size;

    for (int i = 0; i < PLACES; i++) {
        size_t bytes = 1 + xtqtest_random(&seed) % 3000;
        unsigned from = xtqtest_random(&seed) % 8 ? HOST : BOUND, to = i % 3 ? DEVICE : BOUND;

        puts[i] = (struct devcom_put){.segment = from,
                                      .offset = xtqtest_random(&seed) % (AREA - 3000),
                                      .remote_segment = to,
                                      .remote_offset =
                                          BYTES / 2 + (overlapping ? xtqtest_random(&seed) % 9000 : (size_t)i * 4000),
                                      .shape = {.bytes = bytes},
                                      .rank = next};
        if (i % 7 == 0)
            puts[i].shape = (struct devcom_shape){10, {9, 2}, {50, 1000}, {80, 1500}};
        if (i % 10 == 0)
            puts[i].signal = 30, puts[i].op = DEVCOM_SIGNAL_ADD, puts[i].value = 1;
    }
    puts[PLACES - 1].signal = 31;
    puts[PLACES - 1].op = DEVCOM_SIGNAL_ADD;
    puts[PLACES - 1].value = 1;
}

static void place(uint8_t *to, const uint8_t *from, const struct devcom_put *put)
{
    const struct devcom_shape *s = &put->shape;

    for (uint32_t i = 0; i < (s->count[1] ? s->count[1] : 1); i++) {
        for (uint32_t j = 0; j < (s->count[0] ? s->count[0] : 1); j++)
            memcpy(to + put->remote_offset + i * s->remote_stride[1] + j * s->remote_stride[0],
                   from + put->offset + i * s->stride[1] + j * s->stride[0], s->bytes);
    }
}

static void check_chain(bool overlapping, uint32_t seed)
{
    static uint8_t sent[AREA], other[AREA], got[BYTES], expected[2][BYTES];
    struct devcom_put puts[PLACES];
    struct devcom_chain *chain;
    int64_t value;

    some_chain(puts, overlapping, seed);
    EQUAL(devcom_chain_create(d, puts, PLACES, 2, &chain), 0);
    for (int round = 1; round <= 3; round++) {
        pattern(got, BYTES, 0);
        store(DEVICE, 0, got, BYTES);
        store(BOUND, AREA, got + AREA, BYTES - AREA);
        memcpy(expected[0], got, BYTES);
        memcpy(expected[1], got, BYTES);
        pattern(sent, AREA, (unsigned)(rank + round));
        store(HOST, 0, sent, AREA);
        pattern(other, AREA, (unsigned)(rank + 3 * round + 7));
        store(BOUND, 0, other, AREA);
        meet();
        EQUAL(devcom_chain_start(chain), 0);
        EQUAL(devcom_signal_wait(d, 31, DEVCOM_EQ, round, 600L * SECOND, NULL), 0);
        EQUAL(devcom_signal_load(d, 30, &value), 0);
        EQUAL(value, round * PLACES / 10);
        EQUAL(devcom_chain_wait(chain, 600L * SECOND), 0);
        /* all ranks' chains have the same offsets */
        pattern(sent, AREA, (unsigned)((rank + size - 1) % size + round));
        pattern(other, AREA, (unsigned)((rank + size - 1) % size + 3 * round + 7));
        for (int i = 0; i < PLACES; i++)
            place(expected[puts[i].remote_segment == BOUND], puts[i].segment == BOUND ? other : sent, &puts[i]);
        load(DEVICE, 0, got, BYTES);
        EXPECT(!memcmp(got, expected[0], BYTES));
        load(BOUND, AREA, got, BYTES - AREA);
        EXPECT(!memcmp(got, expected[1] + AREA, BYTES - AREA));
        meet();
    }
    devcom_chain_destroy(chain);
    EQUAL(devcom_notify_reset(d, 30, NULL), 0);
    EQUAL(devcom_notify_reset(d, 31, NULL), 0);
    meet();
}

/* The puts before the refused one are done. */
static void check_refused_chain(void)
{
    struct devcom_put puts[4];
    struct devcom_chain *chain;
    int next = (rank + 1) % size, error;
    uint64_t words[4], mine = 77 + (uint64_t)rank;
    int64_t value;

    memset(words, 0, sizeof(words));
    store(DEVICE, 0, words, sizeof(words));
    store(HOST, 0, &mine, sizeof(mine));
    meet();
    for (int i = 0; i < 4; i++)
        puts[i] = (struct devcom_put){.segment = HOST,
                                      .remote_segment = i == 2 ? GONE : DEVICE,
                                      .remote_offset = (size_t)i * 8,
                                      .shape = {.bytes = 8},
                                      .rank = next,
                                      .signal = 30,
                                      .op = DEVCOM_SIGNAL_ADD,
                                      .value = 1};
    EQUAL(devcom_chain_create(d, puts, 4, 2, &chain), 0);
    for (int round = 1; round <= 2; round++) {
        error = devcom_chain_start(chain);
        EQUAL(error ? error : devcom_chain_wait(chain, 600L * SECOND), -ENOENT);
        EQUAL(devcom_signal_wait(d, 30, DEVCOM_GE, 2 * round, 600L * SECOND, NULL), 0);
        meet();
        EQUAL(devcom_signal_load(d, 30, &value), 0);
        EQUAL(value, 2 * round);
        load(DEVICE, 0, words, sizeof(words));
        EXPECT(words[0] == 77 + (uint64_t)(rank + size - 1) % (uint64_t)size && words[1] == words[0]);
        EXPECT(!words[2] && !words[3]);
        meet();
    }
    devcom_chain_destroy(chain);
    EQUAL(devcom_notify_reset(d, 30, NULL), 0);
    meet();
}

/* Adjacent puts are joined into one: up to the end of a segment, and beyond. */
static void check_sequence(void)
{
    struct devcom_put puts[4];
    struct devcom_chain *chain;
    int next = (rank + 1) % size, before = (rank + size - 1) % size, error;
    uint64_t words[6] = {0}, mine[4] = {1, 2, 3, 4};
    int64_t value;

    for (int beyond = 0; beyond <= 1; beyond++) {
        for (int i = 0; i < 4; i++) {
            mine[i] += 10 + (uint64_t)rank;
            puts[i] = (struct devcom_put){.segment = HOST,
                                          .offset = (size_t)i * 8,
                                          .remote_segment = DEVICE,
                                          .remote_offset = BYTES - 32 + (size_t)(i + beyond) * 8,
                                          .shape = {.bytes = 8},
                                          .rank = next};
        }
        puts[3] = (struct devcom_put){.rank = next, .signal = 30, .op = DEVCOM_SIGNAL_ADD, .value = 1};
        puts[2].shape.bytes = 16;
        store(HOST, 0, mine, sizeof(mine));
        store(DEVICE, BYTES - 48, words, sizeof(words));
        meet();
        EQUAL(devcom_chain_create(d, puts, 4, 2, &chain), 0);
        error = devcom_chain_start(chain);
        EQUAL(error ? error : devcom_chain_wait(chain, 600L * SECOND), beyond ? -ERANGE : 0);
        meet();
        EQUAL(devcom_signal_load(d, 30, &value), 0);
        EQUAL(value, 1);
        load(DEVICE, BYTES - 48, words, sizeof(words));
        for (int i = 0; i < 6; i++) {
            const int from = i - 2 - beyond;
            const bool arrives = from >= 0 && from < (beyond ? 2 : 4);

            EQUAL(words[i], arrives ? 1 + (uint64_t)from + (uint64_t)(beyond + 1) * (10 + (uint64_t)before) : 0);
        }
        memset(words, 0, sizeof(words));
        devcom_chain_destroy(chain);
        meet();
    }
    EQUAL(devcom_notify_reset(d, 30, NULL), 0);
    meet();
}

/* Each put reads what the one before it has written. */
static void check_own_chain(void)
{
    struct devcom_put puts[3];
    struct devcom_chain *chain;
    uint64_t words[4] = {9, 0, 0, 0};

    for (size_t i = 0; i < 3; i++)
        puts[i] = (struct devcom_put){.segment = HOST,
                                      .offset = i * 8,
                                      .remote_segment = HOST,
                                      .remote_offset = i * 8 + 8,
                                      .shape = {.bytes = 8},
                                      .rank = rank};
    store(HOST, 0, words, sizeof(words));
    EQUAL(devcom_chain_create(d, puts, 3, 2, &chain), 0);
    EQUAL(devcom_chain_start(chain), 0);
    EQUAL(devcom_chain_wait(chain, 600L * SECOND), 0);
    load(HOST, 0, words, sizeof(words));
    for (int i = 0; i < 4; i++)
        EQUAL(words[i], 9);
    devcom_chain_destroy(chain);
    meet();
}

int main(int count, char **words)
{
    struct devcom_options options = {0};
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    device = xtqtest_device();
    messages = options.messages = count > 1;
    EQUAL(devcom_init(MPI_COMM_WORLD, &options, &d), 0);
    rank = devcom_rank(d);
    size = devcom_size(d);
    make_segments();
    check_chain(false, 4711);
    check_chain(true, 815);
    check_refused_chain();
    check_sequence();
    check_own_chain();
    EQUAL(devcom_finalize(d), 0);
    drop_segments();
    xtqtest_device_close(&device);
    MPI_Finalize();
    return 0;
}
