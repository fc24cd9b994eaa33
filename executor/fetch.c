/*
 * Contents that another worker has. The one that needs them asks when its command's turn has come, so that all that the
 * command waits for is done; the other reads them natively, behind the command that wrote them, and gives them. The
 * application says only who asks whom.
 */
#include "executor/transfer.h"

#define MOST_BYTES (UINT64_C(1) << 40)

/* ---- the side that asks ---- */

static void fetch_end(struct transfer *t)
{
    bool mapped = t->mapped;

    transfer_open_gate(t);
    if (mapped)
        transfer_free(t);
    /* a block lives until the write from it is over: block_written() */
}

static void block_written(struct executor *x, struct job *job)
{
    struct transfer *t = (struct transfer *)((uint8_t *)job - offsetof(struct transfer, last_job));

    (void)x;
    transfer_free(t);
}

static struct transfer *fetch_take(struct executor *x, unsigned peer, uint32_t tag)
{
    struct transfer **at = &x->fetches, *t;

    while (*at && ((*at)->peer != peer || (*at)->tag != tag))
        at = &(*at)->next;
    t = *at;
    if (t)
        *at = t->next;
    return t;
}

static void ask(struct transfer *t)
{
    struct wire_get_piece m = {
        .tag = t->tag, .memory = t->memory_id, .after = t->after, .offset = t->side.offset, .size = t->side.size};
    struct wire_buffer out = {0};

    if (t->side.is_image) {
        m.region_count = 3;
        for (int i = 0; i < 3; i++)
            m.region[i] = t->side.region[i];
    }
    t->next = t->x->fetches;
    t->x->fetches = t;
    wire_put_get_piece(&out, &m);
    if (!executor_send_fellow(t->x, t->peer, &out))
        return;
    fetch_take(t->x, t->peer, t->tag);
    t->error = CL_OUT_OF_RESOURCES;
    fetch_end(t);
}

static void turn_has_come(struct executor *x, struct job *job)
{
    struct transfer *t = (struct transfer *)job;

    (void)x;
    t->error = transfer_event_error(t->first);
    if (t->error)
        fetch_end(t);
    else
        ask(t);
}

static cl_int into_block(struct command *c, struct transfer *t)
{
    cl_int error;

    t->bytes = malloc(t->side.size);
    if (!t->bytes)
        return CL_OUT_OF_HOST_MEMORY;
    t->gate = clCreateUserEvent(c->queue->in, &error);
    if (!error)
        error = clEnqueueMarkerWithWaitList(t->queue, c->wait_count, c->wait_count ? c->wait : NULL, &t->first);
    if (!error)
        error = transfer_native_write(t->queue, &t->side, t->bytes, CL_FALSE, 1, &t->gate, &t->last);
    if (error)
        return error;
    transfer_share_event(c, t->last);
    event_when(c->x, t->last, CL_COMPLETE, block_written, &t->last_job);
    command_when(c, t->first, turn_has_come, &t->job);
    return CL_SUCCESS;
}

int exec_fetch(struct executor *x, const struct wire_fetch *m)
{
    struct side side = {.offset = m->offset, .size = m->size, .is_image = m->region_count != 0};
    struct transfer *t;
    struct command c;
    int bad = command_begin(&c, x, m->queue, m->event, m->want, m->wait, m->wait_count);

    if (!bad && (!m->size || m->size > MOST_BYTES || (m->region_count && m->region_count != 3)))
        bad = -EBADMSG;
    if (!bad)
        bad = buffer_of(&c, m->memory, &side.memory);
    if (bad)
        return bad;
    if (c.error)
        return command_end(&c, c.error);
    for (uint32_t i = 0; i < m->region_count; i++)
        side.region[i] = m->region[i];
    x->fetch_tag = x->fetch_tag % 0x3fffff + 1;
    t = transfer_new(x, c.queue->queue, &side, x->fetch_tag, false);
    if (!t)
        return -ENOMEM;
    t->peer = m->peer;
    t->memory_id = m->memory;
    t->after = m->after;
    c.error = transfer_can_map(&c, &side) ? transfer_through_map(&c, t, CL_MAP_WRITE_INVALIDATE_REGION, turn_has_come)
                                          : into_block(&c, t);
    if (c.error)
        transfer_free(t);
    return command_end(&c, c.error);
}

static void taken(void *argument, int status)
{
    struct transfer *t = argument;

    if (status)
        t->error = CL_OUT_OF_RESOURCES;
    fetch_end(t);
}

int exec_piece_here(struct executor *x, unsigned peer, const struct wire_piece_here *m)
{
    struct transfer *t = fetch_take(x, peer, m->tag);

    if (!t)
        return -EBADMSG;
    if (m->status < 0)
        t->error = m->status;
    else if (m->data_length == t->side.size)
        memcpy(t->bytes, m->data, m->data_length);
    else
        t->error = CL_OUT_OF_RESOURCES;
    fetch_end(t);
    return 0;
}

int exec_piece_ready(struct executor *x, unsigned peer, const struct wire_piece_ready *m)
{
    struct transfer *t = fetch_take(x, peer, m->tag);

    if (!t)
        return -EBADMSG;
    if (x->host.take(x->host.owner, peer, t->tag, t->bytes, t->side.size, taken, t))
        taken(t, -EIO);
    return 0;
}

/* ---- the side that has them ---- */

struct wanted {
    struct job job;
    struct wanted *next;
    uint32_t after_id;
    struct executor *x;
    unsigned peer;
    uint32_t tag, memory;
    struct side side;
    cl_event after;
};

static void refuse(struct executor *x, unsigned peer, uint32_t tag, cl_int error)
{
    struct wire_piece_here m = {.tag = tag, .status = error};
    struct wire_buffer out = {0};

    wire_put_piece_here(&out, &m);
    executor_send_fellow(x, peer, &out);
}

static cl_int serve(struct wanted *w)
{
    struct object *memory = object_get(w->x, WIRE_MEMORY, w->memory);
    struct object *context = memory ? object_get(w->x, WIRE_CONTEXT, memory->context_id) : NULL;
    struct command c = {.x = w->x};
    struct transfer *t;
    cl_int error;

    if (!context || !context->mover || !is_usable(memory))
        return CL_INVALID_MEM_OBJECT;
    c.queue = context->mover;
    w->side.memory = memory->memory;
    t = transfer_new(w->x, c.queue->queue, &w->side, w->tag, true);
    if (!t)
        return CL_OUT_OF_HOST_MEMORY;
    t->peer = w->peer;
    error = transfer_read_whole(&c, t);
    if (error)
        transfer_free(t);
    clFlush(c.queue->queue);
    return error;
}

static void good_now(struct executor *x, struct job *job)
{
    struct wanted *w = (struct wanted *)job;
    cl_int error = w->after ? transfer_event_error(w->after) : CL_SUCCESS;

    if (!error)
        error = serve(w);
    if (error)
        refuse(x, w->peer, w->tag, error);
    if (w->after)
        clReleaseEvent(w->after);
    free(w);
}

/* The command may be on its way from the application still: other ways are shorter. */
static void wait_for(struct wanted *w)
{
    struct executor *x = w->x;
    struct object *after = w->after_id ? object_get(x, WIRE_EVENT, w->after_id) : NULL;

    if (!after && w->after_id && !object_was(x, WIRE_EVENT, w->after_id)) {
        w->next = x->parked;
        x->parked = w;
        return;
    }
    if (after && !is_usable(after)) {
        refuse(x, w->peer, w->tag, after->error ? after->error : CL_OUT_OF_RESOURCES);
        free(w);
        return;
    }
    if (!after) { /* released: over long ago */
        good_now(x, &w->job);
        return;
    }
    w->after = after->event;
    clRetainEvent(w->after);
    event_when(x, w->after, CL_COMPLETE, good_now, &w->job);
}

void fetch_event(struct executor *x, uint32_t id)
{
    struct wanted *all = x->parked, *next;

    x->parked = NULL;
    for (; all; all = next) {
        next = all->next;
        if (all->after_id == id) {
            wait_for(all);
        } else {
            all->next = x->parked;
            x->parked = all;
        }
    }
}

int exec_get_piece(struct executor *x, unsigned peer, const struct wire_get_piece *m)
{
    struct wanted *w;

    if (!m->size || m->size > MOST_BYTES || (m->region_count && m->region_count != 3))
        return -EBADMSG;
    w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    *w = (struct wanted){.x = x, .after_id = m->after, .peer = peer, .tag = m->tag, .memory = m->memory};
    w->side = (struct side){.offset = m->offset, .size = m->size, .is_image = m->region_count != 0};
    for (uint32_t i = 0; i < m->region_count; i++)
        w->side.region[i] = m->region[i];
    wait_for(w);
    return 0;
}

void fetch_lose(struct executor *x, unsigned peer)
{
    for (struct transfer **at = &x->fetches; *at;) {
        struct transfer *t = *at;

        if (t->peer != peer) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        t->error = CL_OUT_OF_RESOURCES;
        fetch_end(t);
    }
}
