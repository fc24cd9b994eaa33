/*
 * Accumulate, and the messages, registrations, opening and closing that reduce and allreduce (reduction.c) use, too
 * (section V-C). Uses only xtq.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "xtq/collectives.h"

#define EXPOSED 16                     /* unless the options say otherwise */
#define CHUNK ((size_t)64 << 10)       /* bytes in a message: large vectors are sent and combined at the same time */
#define QUIET_BYTES ((size_t)16 << 10) /* smaller messages of accumulates are XTQ_QUIET */

/* ---- messages ---- */

struct command {
    union {
        struct xtq_kernel_packet kernel;
        struct xtq_function_packet function;
    } packet;
    struct combine_arguments arguments;
};

int collectives_put(struct xtq_collectives *c, int target, unsigned index, struct combine_arguments arguments,
                    const void *payload, size_t elements, size_t bytes, unsigned flags)
{
    struct command command = {.arguments = arguments};

    if (c->engine == XTQ_DEVICE)
        xtq_kernel_packet(&command.packet.kernel, c->queue, c->first_index + index, 1, &elements, NULL);
    else
        xtq_function_packet(&command.packet.function, c->queue, c->first_index + index, 0, 0);
    return xtq_put(c->x, target, &command, sizeof(command), payload, bytes, flags, NULL);
}

size_t collectives_most(const struct xtq_collectives *c, size_t element)
{
    return c->chunk / element;
}

int collectives_unregister(struct xtq_collectives *c, unsigned index)
{
    return c->engine == XTQ_DEVICE ? xtq_unregister_kernel(c->x, c->first_index + index)
                                   : xtq_unregister_function(c->x, c->first_index + index);
}

int collectives_register(struct xtq_collectives *c, unsigned index, void *buffer, size_t bytes,
                         struct xtq_signal *signal)
{
    struct xtq_function_entry function = {
        .function = combine, .buffer = buffer, .buffer_bytes = bytes, .signal = signal};
    struct xtq_kernel_entry kernel = {.body = 1, .address = buffer, .buffer_bytes = bytes, .signal = signal};

    return c->engine == XTQ_DEVICE ? xtq_register_kernel(c->x, c->first_index + index, &kernel)
                                   : xtq_register_function(c->x, c->first_index + index, &function);
}

/* ---- accumulate ---- */

int xtq_expose(struct xtq_collectives *c, unsigned number, void *memory, size_t bytes)
{
    if (!c || number >= c->exposed)
        return -EINVAL;
    return memory ? collectives_register(c, INDEX_EXPOSED + number, memory, bytes, NULL)
                  : collectives_unregister(c, INDEX_EXPOSED + number);
}

int xtq_accumulate(struct xtq_collectives *c, int target, unsigned number, size_t offset, const void *data,
                   size_t count, enum xtq_type type, enum xtq_op op)
{
    size_t element = xtq_type_bytes(type), most;

    if (!c || (count && !data) || !element || (unsigned)op > XTQ_REPLACE || number >= c->exposed || offset % element)
        return -EINVAL;
    most = collectives_most(c, element);
    for (size_t done = 0; done < count;) {
        size_t some = count - done < most ? count - done : most;
        struct combine_arguments arguments = {.offset = offset + done * element, .type = type, .op = op};
        int error =
            collectives_put(c, target, INDEX_EXPOSED + number, arguments, (const uint8_t *)data + done * element, some,
                            some * element, some * element <= QUIET_BYTES ? XTQ_QUIET : 0);

        if (error)
            return error;
        done += some;
    }
    return 0;
}

/* ---- open and close ---- */

static void collectives_free(struct xtq_collectives *c)
{
    for (int i = 0; c->ready && i < SLOTS * c->size; i++)
        xtq_signal_destroy(c->ready[i]);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        xtq_signal_destroy(c->requests[slot].arrived);
        xtq_signal_destroy(c->requests[slot].spread);
    }
    free(c->ready);
    free(c->needed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static int signals_create(struct xtq_collectives *c)
{
    size_t count = (size_t)SLOTS * (size_t)c->size;
    int error = 0;

    c->ready = calloc(count, sizeof(struct xtq_signal *));
    c->needed = calloc(count, sizeof(*c->needed));
    if (!c->ready || !c->needed)
        return -ENOMEM;
    for (size_t i = 0; i < count && !error; i++)
        error = xtq_signal_create(0, &c->ready[i]);
    for (unsigned slot = 0; slot < SLOTS && !error; slot++) {
        error = xtq_signal_create(0, &c->requests[slot].arrived);
        if (!error)
            error = xtq_signal_create(0, &c->requests[slot].spread);
    }
    return error;
}

static int open_together(struct xtq *x, const struct xtq_collectives_options *options, struct xtq_collectives **out)
{
    struct xtq_queue_entry queue = {.engine = options->engine,
                                    .context = options->context,
                                    .device = options->device,
                                    .groups = options->groups,
                                    .source = combine_source,
                                    .bodies = combine_bodies,
                                    .body_count = 1};
    int served;
    struct xtq_collectives *c = calloc(1, sizeof(*c));
    int error = xtq_agree(x, c ? 0 : -ENOMEM);

    if (error) {
        free(c);
        return error;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->x = x;
    c->rank = xtq_rank(x);
    c->size = xtq_size(x);
    c->queue = options->queue;
    c->first_index = options->first_index;
    c->exposed = options->exposed ? options->exposed : EXPOSED;
    c->engine = options->engine;
    c->chunk = xtq_largest_payload(x, sizeof(struct combine_arguments)) / 4;
    c->chunk = c->chunk > CHUNK ? CHUNK : c->chunk & ~(size_t)63;
    error = signals_create(c);
    if (!error)
        error =
            collectives_register(c, INDEX_READY, c->ready, (size_t)SLOTS * (size_t)c->size * sizeof(*c->ready), NULL);
    served = error ? error : xtq_register_queue(x, c->queue, &queue);
    error = xtq_agree(x, served);
    if (error) {
        if (!served)
            xtq_unregister_queue(x, c->queue);
        collectives_unregister(c, INDEX_READY);
        collectives_free(c);
        return error;
    }
    *out = c;
    return 0;
}

int xtq_collectives_open(struct xtq *x, const struct xtq_collectives_options *options, struct xtq_collectives **out)
{
    return x && options && out ? open_together(x, options, out) : -EINVAL;
}

/* Waits first until all puts of all ranks have completed, so that no message arrives any more. */
int xtq_collectives_close(struct xtq_collectives *c)
{
    int error = c ? xtq_barrier(c->x) : -EINVAL;

    if (!c)
        return error;
    xtq_unregister_queue(c->x, c->queue);
    for (unsigned number = 0; number < c->exposed; number++)
        collectives_unregister(c, INDEX_EXPOSED + number);
    collectives_unregister(c, INDEX_READY);
    collectives_free(c);
    return error;
}
