/*
 * The target's part of operations on windows, and the initiator's part of results. One thread at a time does all
 * operations of a rank, so that each is atomic against all others.
 *
 * Results are sent to a queue of their own, whose tasks do not wait. A target that finds no room there waits, and takes
 * its own results meanwhile, since the rank that it waits for may be waiting for that.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "ground/elements.h"
#include "xtq/inside.h"
#include "mpi/rma/window.h"

#define REPLY WINDOWS /* the function index after those of windows */
#define LOOK_EVERY 1024
#define MOST_ELEMENT 8

struct fetches {
    pthread_mutex_t lock;
    struct fetch **slots;
    uint32_t count, generation;
};

struct reply_arguments {
    uint64_t token, place;
    int64_t error;
};

static int packet_make(struct xtq_function_packet *packet, unsigned queue, unsigned index)
{
    return xtq_function_packet(packet, queue, FIRST_WINDOW_INDEX + index, 0, 0);
}

struct xtq_function_packet windows_packet(unsigned number)
{
    struct xtq_function_packet packet;

    packet_make(&packet, WINDOW_QUEUE, number);
    return packet;
}

/* ---- computing ---- */

#define BITS(type)                                                                                                     \
    static void bits_##type(void *into, const void *from, size_t count, unsigned op)                                   \
    {                                                                                                                  \
        type *restrict a = into;                                                                                       \
        const type *restrict b = from;                                                                                 \
                                                                                                                       \
        for (size_t i = 0; i < count; i++) {                                                                           \
            switch (op) {                                                                                              \
            case OP_BAND:                                                                                              \
                a[i] = (type)(a[i] & b[i]);                                                                            \
                break;                                                                                                 \
            case OP_BOR:                                                                                               \
                a[i] = (type)(a[i] | b[i]);                                                                            \
                break;                                                                                                 \
            case OP_BXOR:                                                                                              \
                a[i] = (type)(a[i] ^ b[i]);                                                                            \
                break;                                                                                                 \
            case OP_LAND:                                                                                              \
                a[i] = a[i] && b[i];                                                                                   \
                break;                                                                                                 \
            case OP_LOR:                                                                                               \
                a[i] = a[i] || b[i];                                                                                   \
                break;                                                                                                 \
            case OP_LXOR:                                                                                              \
                a[i] = !a[i] != !b[i];                                                                                 \
                break;                                                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }
BITS(uint8_t)
BITS(uint16_t)
BITS(uint32_t)
BITS(uint64_t)
#undef BITS

static void compute_aligned(void *into, const uint8_t *from, size_t count, enum xtq_type type, unsigned op)
{
    size_t element = xtq_type_bytes(type);

    if (op == XTQ_REPLACE)
        memcpy(into, from, count * element);
    else if (op < XTQ_REPLACE)
        elements_combine(into, from, count, type, op);
    else if (op == OP_SWAP && !memcmp(into, from + element, element))
        memcpy(into, from, element);
    else if (op < OP_NONE && element == 1)
        bits_uint8_t(into, from, count, op);
    else if (op < OP_NONE && element == 2)
        bits_uint16_t(into, from, count, op);
    else if (op < OP_NONE && element == 4)
        bits_uint32_t(into, from, count, op);
    else if (op < OP_NONE && element == 8)
        bits_uint64_t(into, from, count, op);
}

/* Applies an operation. The payload is aligned; the target's elements may be unaligned. */
static void compute(uint8_t *into, const uint8_t *from, size_t count, enum xtq_type type, unsigned op)
{
    size_t element = xtq_type_bytes(type);
    _Alignas(MOST_ELEMENT) uint8_t one[MOST_ELEMENT];

    if ((uintptr_t)into % element == 0) {
        compute_aligned(into, from, count, type, op);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(one, into + i * element, element);
        compute_aligned(one, from + i * element, 1, type, op);
        memcpy(into + i * element, one, element);
    }
}

/* ---- the target ---- */

/* An operation that arrived, copied to memory of this rank, since the initiator could still change the lane. */
struct incoming {
    struct window_arguments a;
    struct run runs[MOST_RUNS];
    size_t element, bytes; /* size of all runs together */
};

bool window_op_fits(enum xtq_type type, unsigned op)
{
    bool floating = type == XTQ_FLOAT || type == XTQ_DOUBLE;

    return op < OPS && (!floating || op <= XTQ_REPLACE || op == OP_NONE);
}

static int incoming_check(const struct xtq_task *task, struct incoming *in)
{
    in->element = xtq_type_bytes(in->a.type);
    if (!in->element || !window_op_fits(in->a.type, in->a.op))
        return -EINVAL;
    for (unsigned i = 0; i < in->a.run_count; i++) {
        uint64_t offset = (uint64_t)in->runs[i].offset, count = in->runs[i].count;

        if (offset > task->buffer_bytes || count > (task->buffer_bytes - offset) / in->element ||
            count > MOST_PAYLOAD / in->element)
            return -ERANGE;
        in->bytes += count * in->element;
    }
    if (in->bytes > MOST_PAYLOAD || (in->a.op == OP_SWAP && in->bytes != in->element))
        return -EINVAL;
    if (task->payload_bytes != (in->a.op == OP_NONE ? 0 : in->a.op == OP_SWAP ? 2 * in->element : in->bytes))
        return -EINVAL;
    return 0;
}

static int incoming_take(const struct xtq_task *task, struct incoming *in)
{
    in->bytes = 0;
    if (task->argument_bytes < sizeof(in->a))
        return -EINVAL;
    memcpy(&in->a, task->arguments, sizeof(in->a));
    if (in->a.run_count > MOST_RUNS || task->argument_bytes != sizeof(in->a) + in->a.run_count * sizeof(struct run))
        return -EINVAL;
    memcpy(in->runs, (const uint8_t *)task->arguments + sizeof(in->a), in->a.run_count * sizeof(struct run));
    return incoming_check(task, in);
}

static int reply_put(struct link *link, int target, const struct reply_arguments *arguments, const void *payload,
                     size_t bytes)
{
    struct {
        struct xtq_function_packet packet;
        struct reply_arguments arguments;
    } command = {.arguments = *arguments};

    packet_make(&command.packet, REPLY_QUEUE, REPLY);
    for (unsigned spins = 1;; spins++) {
        int error = xtq_put(link->x, target, &command, sizeof(command), payload, bytes, XTQ_TRY, NULL);

        if (error != -EAGAIN)
            return error;
        if (spins % LOOK_EVERY == 0 && !xtq_alive(link->x, target))
            return -ECONNRESET;
        if (!xtq_progress(link->x))
            sched_yield();
    }
}

/* Sends the present contents of the runs to the initiator. */
static int reply(struct link *link, const struct xtq_task *task, const struct incoming *in, int error)
{
    struct reply_arguments arguments = {.token = in->a.token, .place = in->a.place, .error = error};
    const uint8_t *memory = task->buffer;
    uint8_t *copy = NULL, *at;

    if (!error && in->a.run_count == 1)
        return reply_put(link, task->initiator, &arguments, memory + in->runs[0].offset, in->bytes);
    if (!error) {
        at = copy = malloc(in->bytes + 1);
        arguments.error = copy ? 0 : -ENOMEM;
    }
    for (unsigned i = 0; copy && i < in->a.run_count; i++) {
        memcpy(at, memory + in->runs[i].offset, in->runs[i].count * in->element);
        at += in->runs[i].count * in->element;
    }
    error = reply_put(link, task->initiator, &arguments, copy, copy ? in->bytes : 0);
    free(copy);
    return arguments.error ? (int)arguments.error : error;
}

static int operate(const struct xtq_task *task, void *argument)
{
    struct incoming in;
    int error = incoming_take(task, &in);
    const uint8_t *from = task->payload;

    if (task->argument_bytes >= sizeof(in.a) && in.a.token) {
        int replied = reply(argument, task, &in, error);

        error = error ? error : replied;
    }
    for (unsigned i = 0; !error && in.a.op != OP_NONE && i < in.a.run_count; i++) {
        compute((uint8_t *)task->buffer + in.runs[i].offset, from, in.runs[i].count, in.a.type, in.a.op);
        from += in.runs[i].count * in.element;
    }
    context_tell_sent(((struct link *)argument)->x);
    return error;
}

/* ---- results ---- */

static void fetch_end(struct fetch *fetch)
{
    struct xtq_signal *fetching = fetch->fetching;

    if (fetch->layout && !fetch->error)
        layout_scatter(fetch->layout, fetch->count, fetch->elements, fetch->result);
    if (fetch->layout)
        free(fetch->elements);
    layout_release(fetch->layout);
    if (fetch->completion)
        completion_end(fetch->completion, fetch->error ? MPI_ERR_RMA_RANGE : MPI_SUCCESS);
    free(fetch);
    xtq_signal_add(fetching, -1);
}

static bool slot_find(struct fetches *fetches, uint32_t *slot)
{
    struct fetch **more;

    for (*slot = 0; *slot < fetches->count; ++*slot) {
        if (!fetches->slots[*slot])
            return true;
    }
    more = realloc(fetches->slots, (fetches->count * 2 + 16) * sizeof(struct fetch *));
    if (!more)
        return false;
    memset(more + fetches->count, 0, (fetches->count + 16) * sizeof(struct fetch *));
    fetches->slots = more;
    fetches->count = fetches->count * 2 + 16;
    return true;
}

int fetch_begin(struct link *link, struct fetch *fetch)
{
    struct fetches *fetches = link->fetches;
    uint32_t slot;
    bool found;

    pthread_mutex_lock(&fetches->lock);
    found = slot_find(fetches, &slot);
    if (found) {
        fetch->token = (uint64_t)++fetches->generation << 32 | (slot + 1);
        fetch->parts = 1;
        fetches->slots[slot] = fetch;
        xtq_signal_add(fetch->fetching, 1);
    }
    pthread_mutex_unlock(&fetches->lock);
    return found ? 0 : -ENOMEM;
}

void fetch_expect(struct link *link, struct fetch *fetch)
{
    struct fetches *fetches = link->fetches;

    pthread_mutex_lock(&fetches->lock);
    fetch->parts++;
    pthread_mutex_unlock(&fetches->lock);
}

/* Ends a part of a fetch. Called under the lock, and releases it. */
static void part_ends(struct fetches *fetches, struct fetch *fetch, int error)
{
    bool last = --fetch->parts == 0;

    fetch->error = fetch->error ? fetch->error : error;
    if (last)
        fetches->slots[(uint32_t)fetch->token - 1] = NULL;
    pthread_mutex_unlock(&fetches->lock);
    if (last)
        fetch_end(fetch);
}

void fetch_part(struct link *link, struct fetch *fetch, int error)
{
    struct fetches *fetches = link->fetches;

    pthread_mutex_lock(&fetches->lock);
    part_ends(fetches, fetch, error);
}

static int take_reply(const struct xtq_task *task, void *argument)
{
    struct fetches *fetches = ((struct link *)argument)->fetches;
    struct reply_arguments a;
    struct fetch *fetch;
    uint32_t slot;

    if (task->argument_bytes != sizeof(a))
        return -EINVAL;
    memcpy(&a, task->arguments, sizeof(a));
    slot = (uint32_t)a.token - 1;
    pthread_mutex_lock(&fetches->lock);
    fetch = slot < fetches->count ? fetches->slots[slot] : NULL;
    if (!fetch || fetch->token != a.token || fetch->target != task->initiator || a.place > fetch->bytes ||
        task->payload_bytes > fetch->bytes - a.place) {
        pthread_mutex_unlock(&fetches->lock);
        return -EINVAL;
    }
    if (task->payload_bytes)
        memcpy(fetch->elements + a.place, task->payload, task->payload_bytes);
    part_ends(fetches, fetch, (int)a.error);
    return 0;
}

/* ---- open and close ---- */

int windows_expose(struct link *link, unsigned number, void *memory, size_t bytes)
{
    const struct xtq_function_entry entry = {
        .function = operate, .argument = link, .buffer = memory, .buffer_bytes = bytes};

    return xtq_register_function(link->x, FIRST_WINDOW_INDEX + number, &entry);
}

void windows_hide(struct link *link, unsigned number)
{
    xtq_unregister_function(link->x, FIRST_WINDOW_INDEX + number);
}

static void fetches_free(struct fetches *fetches)
{
    if (!fetches)
        return;
    pthread_mutex_destroy(&fetches->lock);
    free(fetches->slots);
    free(fetches);
}

int windows_open(struct link *link)
{
    static const struct xtq_queue_entry queue = {.engine = XTQ_HOST};
    const struct xtq_function_entry entry = {.function = take_reply, .argument = link};
    struct fetches *fetches = link->fetches;
    int error = 0;

    if (fetches)
        return 0;
    link->fetches = fetches = calloc(1, sizeof(*fetches));
    if (!fetches)
        error = -ENOMEM;
    else
        pthread_mutex_init(&fetches->lock, NULL);
    if (!error)
        error = xtq_register_function(link->x, FIRST_WINDOW_INDEX + REPLY, &entry);
    if (!error)
        error = xtq_register_queue(link->x, REPLY_QUEUE, &queue);
    if (!error)
        error = xtq_register_queue(link->x, WINDOW_QUEUE, &queue);
    error = xtq_agree(link->x, error);
    if (error)
        windows_close(link);
    return error;
}

void windows_close(struct link *link)
{
    if (!link->fetches)
        return;
    xtq_unregister_queue(link->x, WINDOW_QUEUE);
    xtq_unregister_queue(link->x, REPLY_QUEUE);
    xtq_unregister_function(link->x, FIRST_WINDOW_INDEX + REPLY);
    fetches_free(link->fetches);
    link->fetches = NULL;
}
