/*
 * An initiator writes arbitrary bytes into its own rings ("lanes") to both engines: the target survives, refuses them,
 * and continues to serve another rank. This program uses internals of libxtq. words[1]: how many rounds, each of which
 * needs new rings.
 */
#include <time.h>

#include "xtq/internal.h"
#include "xtqtest.h"

enum { HOST, DEVICE, QUEUES, INDEX = 2, PUTS = 2000 };

static struct xtq *x;
static int rank;
static _Atomic long got;

static int count_one(const struct xtq_task *task, void *argument)
{
    (void)argument;
    if (task->initiator == 1)
        atomic_fetch_add(&got, 1);
    return 0;
}

static const char source[] = "int count_one(const struct xtq_task *t, ulong first, ulong last)\n"
                             "{\n"
                             "    if (t->initiator == 1 && first == 0)\n"
                             "        atomic_fetch_add_explicit((global atomic_ulong *)t->buffer, 1ul,\n"
                             "                                  memory_order_relaxed, XTQ_SCOPE);\n"
                             "    return 0;\n"
                             "}\n";

static void sleep_us(long us)
{
    struct timespec pause = {.tv_nsec = us * 1000};

    nanosleep(&pause, NULL);
}

/* Writes some valid packets with wrong sizes and indices, and some random bytes. Grids are small: a long task is no
 * abuse. */
static void scribble(struct ring *ring, uint32_t *state)
{
    /* the last write may have ended inside a line; this process's own memory follows the last line */
    uint64_t position = atomic_load(ring->bell) / RING_LINE * RING_LINE;

    for (unsigned i = 0; i < 64; i++) {
        union ring_packet packet;

        for (size_t k = 0; k < sizeof(packet); k++)
            ((uint8_t *)&packet)[k] = (uint8_t)(xtqtest_random(state) >> 8);
        if (xtqtest_random(state) % 8) {
            static const uint16_t types[] = {XTQ_PAD, XTQ_KERNEL, XTQ_FUNCTION, XTQ_KERNEL | XTQ_BARRIER};

            packet.header = types[xtqtest_random(state) % 4];
            if (xtqtest_random(state) % 2)
                packet.kernel.kernarg_address = xtqtest_random(state) % 200;
            if (xtqtest_random(state) % 2)
                packet.kernel.payload_address = xtqtest_random(state) % 200;
            if (packet.header == XTQ_FUNCTION && xtqtest_random(state) % 2)
                packet.function.argument_address = xtqtest_random(state) % 200;
        }
        if ((packet.header & 0xff) == XTQ_KERNEL) {
            for (unsigned k = 0; k < 3; k++)
                packet.kernel.grid_size[k] %= 4;
            packet.kernel.kernel_object %= xtqtest_random(state) % 2 ? 4 : UINT64_MAX;
        }
        memcpy(ring_at(ring, position + i * RING_LINE), &packet, sizeof(packet));
    }
    if (xtqtest_random(state) % 8)
        atomic_store(ring->bell, position + xtqtest_random(state) % 64 * RING_LINE);
    else
        atomic_store(ring->bell, (uint64_t)xtqtest_random(state) << 32 | xtqtest_random(state));
}

static void attack(uint32_t *state)
{
    for (int i = 0; i < 20; i++) {
        for (unsigned queue = 0; queue < QUEUES; queue++) {
            struct ring ring = region_lane(&x->region, 0, queue, 2);

            scribble(&ring, state);
            region_wake(&x->region, 0, queue, false);
        }
        sleep_us(100);
    }
}

static void put_all(void)
{
    struct xtq_function_packet function;
    struct xtq_kernel_packet kernel;
    size_t one = 1;

    xtq_function_packet(&function, HOST, INDEX, 0, 0);
    xtq_kernel_packet(&kernel, DEVICE, INDEX, 1, &one, NULL);
    for (int i = 0; i < PUTS; i++) {
        EQUAL(xtq_put(x, 0, &function, sizeof(function), NULL, 0, 0, NULL), 0);
        EQUAL(xtq_put(x, 0, &kernel, sizeof(kernel), NULL, 0, 0, NULL), 0);
    }
    EQUAL(xtq_quiet(x, 0), 0);
}

static void serve(const struct xtqtest_device *d)
{
    const char *bodies[] = {"count_one"};
    struct xtq_queue_entry host = {.engine = XTQ_HOST};
    struct xtq_queue_entry device = {.engine = XTQ_DEVICE,
                                     .context = d->context,
                                     .device = d->device,
                                     .source = source,
                                     .bodies = bodies,
                                     .body_count = 1,
                                     .idle_us = 500};
    struct xtq_function_entry function = {.function = count_one};
    struct xtq_kernel_entry kernel = {.body = 1, .address = &got, .buffer_bytes = sizeof(got)};

    EQUAL(xtq_register_function(x, INDEX, &function), 0);
    EQUAL(xtq_register_kernel(x, INDEX, &kernel), 0);
    EQUAL(xtq_register_queue(x, HOST, &host), 0);
    EQUAL(xtq_register_queue(x, DEVICE, &device), 0);
}

static void round_of(uint32_t *state, const struct xtqtest_device *d)
{
    struct xtq_options options = {.queues = QUEUES, .lane_bytes = 1 << 14};

    EQUAL(xtq_init(MPI_COMM_WORLD, &options, &x), 0);
    atomic_store(&got, 0);
    if (rank == 0)
        serve(d);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        put_all();
    if (rank == 2)
        attack(state);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        EQUAL(got, 2 * PUTS);
        while (!xtq_refused(x)) /* nothing waits for the other rank's writes */
            sleep_us(100);
    }
    EQUAL(xtq_finalize(x), 0);
}

int main(int count, char **words)
{
    struct xtqtest_device d;
    uint32_t state = 4711;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    d = xtqtest_device();
    for (int i = 0; i < atoi(words[1]); i++)
        round_of(&state, &d);
    xtqtest_device_close(&d);
    MPI_Finalize();
    return 0;
}
