/*
 * words[1] random operations by each rank: puts of any size and shape, lists and reads, to random ranks, through random
 * queues. Each rank has a part of every other rank's segment to itself, and a copy of the data it should hold; signals
 * count. Some places are written repeatedly. At the end checksums over all bytes are compared.
 */
#include "devcom.h"
#include "tests/xtq/xtqtest.h"

enum { TARGET, SOURCE, STAGED_TARGET, BACK, PART = 1 << 16, KEPT = 12, SECOND = 1000000 };

static const int64_t kept_growth[8] = {0, 0, 0, 3, 3, 3, 3, 1};

static struct devcom *d;
static int rank, size;
static uint8_t *source, *target, *back, **expected[2];
static uint64_t *told;

static unsigned below(uint32_t *state, unsigned most)
{
    return xtqtest_random(state) % most;
}

static struct devcom_shape some_shape(uint32_t *state, size_t most)
{
    struct devcom_shape shape = {.bytes = below(state, 8) ? 1 + below(state, 256) : 1 + below(state, (unsigned)most)};

    if (below(state, 3) || shape.bytes > 256)
        return shape;
    for (int i = 0; i < 2; i++) {
        size_t row = i ? (shape.count[0] - 1) * shape.stride[0] + shape.bytes : shape.bytes;
        size_t remote_row = i ? (shape.count[0] - 1) * shape.remote_stride[0] + shape.bytes : shape.bytes;

        shape.count[i] = 1 + below(state, 6);
        shape.stride[i] = row + below(state, 40);
        shape.remote_stride[i] = remote_row + below(state, 40);
    }
    return shape;
}

static size_t extent(const struct devcom_shape *shape, const size_t *stride)
{
    size_t rows = shape->count[0] ? shape->count[0] : 1, planes = shape->count[1] ? shape->count[1] : 1;

    return (planes - 1) * stride[1] + (rows - 1) * stride[0] + shape->bytes;
}

static void remember(const struct devcom_put *put, uint8_t *copy)
{
    const struct devcom_shape *s = &put->shape;
    size_t at = put->remote_offset - (size_t)rank * PART;

    for (uint32_t i = 0; i < (s->count[1] ? s->count[1] : 1); i++) {
        for (uint32_t j = 0; j < (s->count[0] ? s->count[0] : 1); j++)
            memcpy(copy + at + i * s->remote_stride[1] + j * s->remote_stride[0],
                   source + put->offset + i * s->stride[1] + j * s->stride[0], s->bytes);
    }
}

/* Queue q writes its quarter of the part, so that the order between queues does not matter. */
static struct devcom_put some_put(uint32_t *state, unsigned queue, bool staged)
{
    struct devcom_put put = {.segment = SOURCE,
                             .remote_segment = staged ? STAGED_TARGET : TARGET,
                             .rank = (int)below(state, (unsigned)size),
                             .signal = (unsigned)rank,
                             .op = DEVCOM_SIGNAL_ADD,
                             .value = 1 + below(state, 100)};

    do {
        put.shape = some_shape(state, PART / 4);
    } while (extent(&put.shape, put.shape.stride) > PART || extent(&put.shape, put.shape.remote_stride) > PART / 4);
    put.offset = below(state, (unsigned)(PART - extent(&put.shape, put.shape.stride) + 1));
    put.remote_offset = (size_t)rank * PART + queue * (PART / 4) +
                        below(state, (unsigned)(PART / 4 - extent(&put.shape, put.shape.remote_stride) + 1));
    return put;
}

/* Repeats a put of the same queue, from another place. */
static struct devcom_put some_repeated_put(uint32_t *state, unsigned queue, bool staged)
{
    static struct devcom_put kept[4][2][KEPT];
    struct devcom_put *put = &kept[queue][staged][below(state, KEPT)];

    if (!put->shape.bytes || below(state, 20) == 0)
        *put = some_put(state, queue, staged);
    else
        put->value += kept_growth[below(state, 8)];
    put->offset = below(state, (unsigned)(PART - extent(&put->shape, put->shape.stride) + 1));
    return *put;
}

static void begin(const struct devcom_put *puts, unsigned count, unsigned queue)
{
    unsigned done = 0, more;
    int error;

    while ((error = devcom_put(d, puts + done, count - done, queue, &more)) == -EAGAIN) {
        done += more;
        EQUAL(devcom_quiet(d, queue, 600L * SECOND), 0);
    }
    EQUAL(error, 0);
    for (unsigned i = 0; i < count; i++) {
        remember(&puts[i], expected[puts[i].remote_segment == STAGED_TARGET][puts[i].rank]);
        told[puts[i].rank] += (uint64_t)puts[i].value;
    }
}

/* Reads back and checks what this rank has written there. */
static void read_back(uint32_t *state, unsigned queue, bool staged)
{
    int from = (int)below(state, (unsigned)size);
    size_t offset = below(state, PART / 4), bytes = 1 + below(state, (unsigned)(PART / 4 - offset));

    offset += queue * (PART / 4);
    EQUAL(
        devcom_read(d, BACK, offset, from, staged ? STAGED_TARGET : TARGET, (size_t)rank * PART + offset, bytes, queue),
        0);
    EQUAL(devcom_quiet(d, queue, 600L * SECOND), 0);
    EXPECT(!memcmp(back + offset, expected[staged][from] + offset, bytes));
}

static uint64_t checksum(const uint8_t *data, size_t bytes)
{
    uint64_t sum = 14695981039346656037u;

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ data[i]) * 1099511628211u;
    return sum;
}

/* Each rank sends the others the checksums that their memory should have. */
static void compare(bool staged, const uint8_t *memory)
{
    uint64_t *mine = calloc((size_t)size * 2, sizeof(*mine)), *theirs = mine + size;

    for (int r = 0; r < size; r++)
        mine[r] = checksum(expected[staged][r], PART);
    MPI_Alltoall(mine, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        EXPECT(checksum(memory + (size_t)r * PART, PART) == theirs[r]);
    MPI_Alltoall(told, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        EQUAL(devcom_signal_wait(d, (unsigned)r, DEVCOM_EQ, (int64_t)theirs[r], 600L * SECOND, NULL), 0);
    free(mine);
}

static void *create(unsigned segment, struct devcom_memory memory, size_t bytes)
{
    void *at = NULL;

    memory.bytes = bytes;
    EQUAL(devcom_segment_create(d, segment, &memory), 0);
    devcom_segment_ptr(d, rank, segment, &at);
    return at;
}

int main(int count, char **words)
{
    long operations = atol(words[1]);
    bool staged = count > 2;
    struct devcom_options options = {.messages = staged, .signals = 64, .queue_depth = 100, .chunk_bytes = 8192};
    struct xtqtest_device device = xtqtest_device();
    struct devcom_memory host = {0}, on_device = {.context = device.context,
                                                  .device = device.device,
                                                  .commands = device.commands,
                                                  .staged = true};
    struct devcom_put puts[8];
    uint32_t state;
    uint8_t *copy;
    cl_mem buffer;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    EQUAL(devcom_init(MPI_COMM_WORLD, &options, &d), 0);
    rank = devcom_rank(d);
    size = devcom_size(d);
    state = 12345 + (uint32_t)rank * 77777;
    target = create(TARGET, host, (size_t)size * PART);
    source = create(SOURCE, host, PART);
    back = create(BACK, host, PART);
    if (staged)
        create(STAGED_TARGET, on_device, (size_t)size * PART);
    told = calloc((size_t)size, sizeof(*told));
    for (int s = 0; s < 2; s++) {
        expected[s] = calloc((size_t)size, sizeof(**expected));
        for (int r = 0; r < size; r++)
            expected[s][r] = calloc(1, PART);
    }
    for (size_t i = 0; i < PART; i++)
        source[i] = (uint8_t)xtqtest_random(&state);
    EQUAL(devcom_barrier(d, 600L * SECOND), 0);
    for (long i = 0; i < operations;) {
        unsigned queue = below(&state, 4), list = below(&state, 10) ? 1 : 1 + below(&state, 8);
        bool to_device = staged && below(&state, 8) == 0;

        if (below(&state, 50) == 0)
            read_back(&state, queue, to_device);
        for (unsigned j = 0; j < list; j++)
            puts[j] =
                below(&state, 3) ? some_put(&state, queue, to_device) : some_repeated_put(&state, queue, to_device);
        begin(puts, list, queue);
        i += list;
    }
    for (unsigned queue = 0; queue < 4; queue++)
        EQUAL(devcom_quiet(d, queue, 600L * SECOND), 0);
    EQUAL(devcom_barrier(d, 600L * SECOND), 0);
    compare(false, target);
    if (staged) {
        EXPECT((copy = malloc((size_t)size * PART)));
        EQUAL(devcom_segment_buffer(d, STAGED_TARGET, &buffer), 0);
        EQUAL(clEnqueueReadBuffer(device.commands, buffer, CL_TRUE, 0, (size_t)size * PART, copy, 0, NULL, NULL),
              CL_SUCCESS);
        compare(true, copy);
        free(copy);
    }
    EQUAL(devcom_finalize(d), 0);
    for (int s = 0; s < 2; s++) {
        for (int r = 0; r < size; r++)
            free(expected[s][r]);
        free(expected[s]);
    }
    free(told);
    xtqtest_device_close(&device);
    MPI_Finalize();
    return 0;
}
