/* Random puts of all ranks, to functions and to bodies, each with a checksum of its payload; none may be lost,
 * duplicated or corrupted. words[1]: how many puts of each rank. */
#include <stdatomic.h>

#include "xtqtest.h"

enum { FUNCTIONS, FUNCTIONS_TOO, BODIES, QUEUES, INDEX = 5, MOST = 3000 };

static struct xtq *x;
static int rank, size;

/* What a rank has received from each initiator: counts and sums of checksums, of functions and of bodies. */
struct got {
    _Atomic uint64_t puts, sum;
} __attribute__((aligned(64)));

static uint64_t checksum(const uint8_t *bytes, size_t count)
{
    uint64_t sum = 1469598103934665603u;

    for (size_t i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}

static int check(const struct xtq_task *task, void *argument)
{
    struct got *got = (struct got *)task->buffer + task->initiator;

    (void)argument;
    if (checksum(task->payload, task->payload_bytes) != task->arg[2])
        return -EBADMSG;
    atomic_fetch_add(&got->puts, 1);
    atomic_fetch_add(&got->sum, task->arg[2]);
    return 0;
}

static const char source[] =
    "int check(const struct xtq_task *t, ulong first, ulong last)\n"
    "{\n"
    "    global atomic_ulong *got = (global atomic_ulong *)(t->buffer + 64 * t->initiator);\n"
    "    global const uchar *bytes = (global const uchar *)t->payload;\n"
    "    ulong sum = 1469598103934665603ul;\n"
    "    for (ulong i = 0; i < t->payload_bytes; i++) sum = (sum ^ bytes[i]) * 1099511628211ul;\n"
    "    if (sum != *(global ulong *)t->arguments) return -74;\n"
    "    atomic_fetch_add_explicit(got, 1ul, memory_order_relaxed, XTQ_SCOPE);\n"
    "    atomic_fetch_add_explicit(got + 1, sum, memory_order_relaxed, XTQ_SCOPE);\n"
    "    return 0;\n"
    "}\n";

static void put(uint32_t *state, struct got *sent)
{
    static uint8_t payload[MOST];
    static size_t one = 1;
    unsigned queue = xtqtest_random(state) % QUEUES;
    int target = (int)(xtqtest_random(state) % (uint32_t)size);
    size_t bytes = xtqtest_random(state) % 64 ? xtqtest_random(state) % 200 : xtqtest_random(state) % MOST;
    unsigned flags = xtqtest_random(state) % 2 ? XTQ_TRY : 0;
    struct {
        union {
            struct xtq_kernel_packet kernel;
            struct xtq_function_packet function;
        } packet;
        uint64_t sum;
    } command = {0};
    int error;

    for (size_t i = 0; i < bytes; i++)
        payload[i] = (uint8_t)(xtqtest_random(state) >> 8);
    command.sum = checksum(payload, bytes);
    if (queue == BODIES)
        xtq_kernel_packet(&command.packet.kernel, queue, INDEX, 1, &one, NULL);
    else
        xtq_function_packet(&command.packet.function, queue, INDEX, command.sum, 0);
    while ((error = xtq_put(x, target, &command, sizeof(command), payload, bytes, flags, NULL)) == -EAGAIN)
        ;
    EQUAL(error, 0);
    sent[target].puts++;
    sent[target].sum += command.sum;
}

int main(int count, char **words)
{
    struct xtq_options options = {.lane_bytes = 16384};
    struct xtq_queue_entry queue = {.engine = XTQ_HOST};
    struct xtq_function_entry function = {.function = check};
    struct xtq_kernel_entry kernel = {.body = 1};
    const char *bodies[] = {"check"};
    struct got *got, *sent, *expected;
    struct xtqtest_device d;
    uint32_t state;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    d = xtqtest_device();
    got = aligned_alloc(64, sizeof(*got) * (size_t)size * 3);
    memset(got, 0, sizeof(*got) * (size_t)size * 3);
    sent = got + size;
    expected = sent + size;
    EQUAL(xtq_init(MPI_COMM_WORLD, &options, &x), 0);
    function.buffer = kernel.address = got;
    function.buffer_bytes = kernel.buffer_bytes = sizeof(*got) * (size_t)size;
    EQUAL(xtq_register_function(x, INDEX, &function), 0);
    EQUAL(xtq_register_kernel(x, INDEX, &kernel), 0);
    EQUAL(xtq_register_queue(x, FUNCTIONS, &queue), 0);
    EQUAL(xtq_register_queue(x, FUNCTIONS_TOO, &queue), 0);
    queue = (struct xtq_queue_entry){.engine = XTQ_DEVICE,
                                     .context = d.context,
                                     .device = d.device,
                                     .source = source,
                                     .bodies = bodies,
                                     .body_count = 1,
                                     .idle_us = 200};
    EQUAL(xtq_register_queue(x, BODIES, &queue), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    state = (uint32_t)rank * 1000003u + 17;
    for (long i = 0; i < atol(words[1]); i++)
        put(&state, sent);
    EQUAL(xtq_barrier(x), 0);
    MPI_Alltoall(sent, sizeof(*sent), MPI_BYTE, expected, sizeof(*sent), MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++) {
        EQUAL(got[from].puts, expected[from].puts);
        EXPECT(got[from].sum == expected[from].sum);
    }
    EQUAL(xtq_refused(x), 0);
    EQUAL(xtq_finalize(x), 0);
    free(got);
    xtqtest_device_close(&d);
    MPI_Finalize();
    return 0;
}
