/*
 * Contents that another worker needs, on the side that has them. The application sends migrate_out in its place among
 * its other commands, so that objects which it releases afterwards are retained. Behind the commands that wrote the
 * contents they are read natively and given to the other worker: at once if they are short, otherwise when it asks.
 *
 * The native read is enqueued when migrate_out arrives: if this worker waited for the writing command first, other
 * commands would get in between, and where the device is the CPU, a kernel could then occupy all its threads.
 */
#include "executor/transfer.h"

struct outgoing {
    struct job job;
    struct outgoing *next;
    struct executor *x;
    unsigned peer;
    uint32_t event_id;
    struct side side;
    struct queue mover; /* the context's */
    cl_event *after;
    uint32_t after_count, at;  /* at: the event that is waited for here */
    struct transfer *transfer; /* large: mapped, or about to be */
    cl_int error;
    bool mapped, wanted, ended; /* ended: the other worker knows the end, or is gone */
};

static void outgoing_free(struct outgoing *outgoing)
{
    while (outgoing->after_count)
        clReleaseEvent(outgoing->after[--outgoing->after_count]);
    free(outgoing->after);
    if (outgoing->side.memory)
        clReleaseMemObject(outgoing->side.memory);
    if (outgoing->mover.native)
        clReleaseCommandQueue(outgoing->mover.native);
    free(outgoing);
}

static void unlink_outgoing(struct outgoing *outgoing)
{
    struct executor *x = outgoing->x;
    struct outgoing **at = &x->outgoing;

    while (*at && *at != outgoing)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = outgoing->next;
    if (x->outgoing_last == &outgoing->next)
        x->outgoing_last = at;
}

void migrate_out_say(struct executor *x, unsigned peer, uint32_t event_id, cl_int status, const void *data,
                     size_t length)
{
    struct wire_eager m = {.event = event_id, .status = status, .data = data, .data_length = (uint32_t)length};
    struct wire_buffer out = {0};

    wire_put_eager(&out, &m);
    executor_send_peer(x, peer, &out);
}

static bool waits(const struct outgoing *outgoing)
{
    return outgoing->at < outgoing->after_count;
}

/* Ends it; it is freed with the last event that it waits for. */
static void end(struct outgoing *outgoing, cl_int error)
{
    if (!outgoing->ended && error)
        migrate_out_say(outgoing->x, outgoing->peer, outgoing->event_id, error, NULL, 0);
    outgoing->ended = true;
    unlink_outgoing(outgoing);
    if (!waits(outgoing))
        outgoing_free(outgoing);
}

static bool is_large(const struct outgoing *outgoing)
{
    return outgoing->side.part.size > WIRE_EAGER_LIMIT;
}

/* Gives what was mapped to the worker that asked for it, or only unmaps it. */
static void give_mapped(struct outgoing *outgoing)
{
    struct transfer *t = outgoing->transfer;

    if (!t->error)
        t->error = outgoing->error;
    transfer_give(t);
    end(outgoing, CL_SUCCESS);
}

static void mapped(struct executor *x, struct job *job)
{
    struct transfer *t = (struct transfer *)job;
    struct outgoing *outgoing = t->outgoing;

    (void)x;
    outgoing->mapped = true;
    t->error = transfer_event_error(t->first);
    if (t->error || outgoing->error || outgoing->wanted || outgoing->ended)
        give_mapped(outgoing);
}

/* Enqueues the read behind the event, or NULL. A block is read only once it has been asked for. */
static void serve(struct outgoing *outgoing, cl_event after)
{
    struct executor *x = outgoing->x;
    struct command c;
    struct transfer *t;

    command_begin_own(&c, x, &outgoing->mover, after);
    x->migration_tag = wire_tag(x->migration_tag);
    t = transfer_new(x, outgoing->mover.native, &outgoing->side, x->migration_tag, true);
    if (!t) {
        end(outgoing, CL_OUT_OF_HOST_MEMORY);
        return;
    }
    t->peer = outgoing->peer;
    t->event_id = outgoing->event_id;
    t->outgoing = outgoing;
    outgoing->at = outgoing->after_count;
    if (is_large(outgoing) && side_can_map(x, &outgoing->mover, &outgoing->side)) {
        outgoing->transfer = t;
        c.error = transfer_through_map(&c, t, CL_MAP_READ, mapped);
    } else {
        c.error = transfer_read_whole(&c, t);
    }
    command_end_own(&c);
    if (c.error)
        transfer_free(t);
    clFlush(outgoing->mover.native);
    if (c.error || !outgoing->transfer)
        end(outgoing, c.error);
}

static void go_on(struct outgoing *outgoing);

static void after_over(struct executor *x, struct job *job)
{
    struct outgoing *outgoing = (struct outgoing *)job;

    (void)x;
    if (!outgoing->error)
        outgoing->error = transfer_event_error(outgoing->after[outgoing->at]);
    outgoing->at++;
    if (outgoing->ended && !waits(outgoing))
        outgoing_free(outgoing);
    else
        go_on(outgoing);
}

/* Whether native OpenCL may wait for the one command that wrote the contents. For one only: PoCL fails if several
 * events in a command's list fail. */
static bool can_wait_natively(const struct outgoing *outgoing)
{
    if (outgoing->at || outgoing->after_count > 1 || !outgoing->mover.out_of_order ||
        driver_flush_waits(outgoing->mover.native))
        return false;
    if (outgoing->after_count && transfer_event_error(outgoing->after[0]))
        return false;
    return !is_large(outgoing) || side_can_map(outgoing->x, &outgoing->mover, &outgoing->side);
}

static void go_on(struct outgoing *outgoing)
{
    if (!outgoing->error && can_wait_natively(outgoing))
        serve(outgoing, outgoing->after_count ? outgoing->after[0] : NULL);
    else if (waits(outgoing))
        event_when(outgoing->x, outgoing->after[outgoing->at], CL_COMPLETE, after_over, &outgoing->job);
    else if (outgoing->error)
        end(outgoing, outgoing->error);
    else if (outgoing->wanted || !is_large(outgoing))
        serve(outgoing, NULL);
}

/* Retains the application's objects that it needs. */
static int hold(struct outgoing *outgoing, const struct exec_migrate_out *m)
{
    const struct memory *memory = m->memory;
    const struct context *context = object_get(outgoing->x, WIRE_CONTEXT, memory->context_id);

    for (uint32_t i = 0; i < m->after_count; i++) {
        const struct event *event = m->after[i];

        if (!is_usable(event)) {
            outgoing->error = event->error ? event->error : CL_OUT_OF_RESOURCES;
            continue;
        }
        clRetainEvent(event->native);
        outgoing->after[outgoing->after_count++] = event->native;
    }
    if (!context || !context->mover || !is_usable(memory)) {
        outgoing->error = CL_INVALID_MEM_OBJECT;
        return 0;
    }
    outgoing->mover = *context->mover;
    clRetainCommandQueue(outgoing->mover.native);
    if (contents_are_coming(memory->contents)) {
        outgoing->after[outgoing->after_count] = contents_event(memory->contents);
        clRetainEvent(outgoing->after[outgoing->after_count++]);
    }
    outgoing->side.memory = memory->native;
    clRetainMemObject(memory->native);
    if (!bounds_side(&outgoing->side))
        outgoing->error = CL_INVALID_VALUE;
    return side_fits(&outgoing->side) ? 0 : -EBADMSG;
}

int exec_migrate_out(struct executor *x, const struct exec_migrate_out *m)
{
    struct outgoing *outgoing;
    struct unexpected *asked;
    int bad;

    outgoing = calloc(1, sizeof(*outgoing));
    if (!outgoing)
        return -ENOMEM;
    *outgoing = (struct outgoing){.x = x, .peer = m->peer, .event_id = m->event, .side = side_from(NULL, &m->part)};
    outgoing->after = calloc(m->after_count + 1, sizeof(*outgoing->after));
    bad = outgoing->after ? 0 : -ENOMEM;
    if (!bad)
        bad = hold(outgoing, m);
    if (bad || executor_lost(x, m->peer)) {
        outgoing_free(outgoing);
        return bad;
    }
    asked = unexpected_take(x, UNEXPECTED_ASK, m->peer, m->event);
    if (asked) {
        outgoing->wanted = true;
        if (!outgoing->error)
            outgoing->error = asked->status;
        free(asked);
    }
    *x->outgoing_last = outgoing;
    x->outgoing_last = &outgoing->next;
    go_on(outgoing);
    return 0;
}

int exec_clear_to_send(struct executor *x, unsigned peer, const struct exec_clear_to_send *m)
{
    const struct unexpected unexpected = {.kind = UNEXPECTED_ASK, .peer = peer, .id = m->event, .status = m->status};
    struct outgoing *outgoing = x->outgoing;

    while (outgoing && (outgoing->peer != peer || outgoing->event_id != m->event))
        outgoing = outgoing->next;
    if (!outgoing)
        return unexpected_keep(x, &unexpected) ? 0 : -ENOMEM;
    if (outgoing->wanted)
        return -EBADMSG;
    outgoing->wanted = true;
    if (outgoing->transfer) {
        outgoing->error = m->status;
        if (outgoing->mapped)
            give_mapped(outgoing);
    } else if (m->status) {
        end(outgoing, m->status);
    } else if (!waits(outgoing)) {
        go_on(outgoing);
    }
    return 0;
}

void migrate_out_lose(struct executor *x, unsigned peer)
{
    struct outgoing *next;

    for (struct outgoing *outgoing = x->outgoing; outgoing; outgoing = next) {
        next = outgoing->next;
        if (outgoing->peer != peer || outgoing->ended)
            continue;
        outgoing->ended = true;
        outgoing->error = CL_OUT_OF_RESOURCES;
        if (!outgoing->transfer)
            end(outgoing, CL_SUCCESS);
        else if (outgoing->mapped)
            give_mapped(outgoing);
    }
}
