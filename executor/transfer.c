/*
 * Moves data between the application and the node's objects without holding up the loop or other queues, and in the
 * command's place in its own queue. A write, and a command that holds the object meanwhile, ends in a native command
 * that waits for a user event, the gate, which is opened when the data have moved; the event of that native command is
 * the event of the application's command. A read into a block needs no gate: the other side knows that the data are yet
 * to arrive (client/core/arrival.c).
 *
 *  - in the command or note itself: up to WIRE_MAX_INLINE bytes
 *  - mapped: where device and host share memory the data move into or out of the mapped buffer, without a copy here
 *  - a block: rects, images and devices with memory of their own; staged as a whole
 *  - a ring: for buffers, in pieces of WIRE_CHUNK, so that transfer and copy overlap
 */
#include "executor/pages.h"
#include "executor/staging.h"
#include "executor/transfer.h"

void transfer_block_free(struct transfer *t)
{
    if (t->piece)
        staging_give(t->piece);
    else if (!t->mapped)
        free(t->bytes);
    t->piece = NULL;
    t->bytes = NULL;
}

static bool block_new(struct transfer *t, const struct queue *queue)
{
    if (t->side.part.size <= WIRE_CHUNK)
        t->piece = staging_take(queue->staging);
    t->bytes = t->piece ? t->piece->bytes : malloc(t->side.part.size);
    return t->bytes;
}

void transfer_free(struct transfer *t)
{
    transfer_block_free(t);
    for (int i = 0; i < SLOTS; i++) {
        if (t->slots[i].piece)
            staging_give(t->slots[i].piece);
        else
            free(t->slots[i].bytes);
    }
    staging_drop(t->staging);
    gate_end(&t->open);
    if (t->gate)
        clReleaseEvent(t->gate);
    if (t->first)
        clReleaseEvent(t->first);
    if (t->last)
        clReleaseEvent(t->last);
    if (t->side.memory)
        clReleaseMemObject(t->side.memory);
    if (t->spare)
        clReleaseCommandQueue(t->spare);
    if (t->queue)
        clReleaseCommandQueue(t->queue);
    free(t);
}

void transfer_part_over(struct transfer *t)
{
    if (!--t->parts)
        transfer_free(t);
}

struct transfer *transfer_new(struct executor *x, cl_command_queue queue, const struct side *side, uint32_t tag,
                              bool reading)
{
    struct transfer *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->x = x;
    t->side = *side;
    t->tag = tag;
    t->reading = reading;
    t->queue = queue;
    if (queue)
        clRetainCommandQueue(queue);
    if (side->memory) /* the application may release it meanwhile */
        clRetainMemObject(side->memory);
    return t;
}

void transfer_open_gate(struct transfer *t)
{
    if (!t->gate)
        return;
    clSetUserEventStatus(t->gate, t->error ? t->error : CL_COMPLETE);
    gate_end(&t->open);
    executor_flush_native(t->x, t->queue);
}

static void say_data(struct executor *x, uint32_t tag, cl_int status, const void *data, size_t length)
{
    struct wire_read_data m = {.tag = tag, .status = status, .data = data, .data_length = (uint32_t)length};
    struct wire_buffer out = {0};

    wire_put_read_data(&out, &m);
    executor_send(x, &out);
}

void transfer_say_result(struct transfer *t, const void *data, size_t length)
{
    if (t->peer)
        migrate_out_say(t->x, t->peer, t->event_id, t->error, data, length);
    else
        say_data(t->x, t->tag, t->error, data, length);
}

void transfer_say_ready(struct transfer *t)
{
    struct wire_rendezvous piece = {t->event_id, t->tag};
    struct wire_read_ready m = {t->tag};
    struct wire_buffer out = {0};

    if (t->announced)
        return;
    t->announced = true;
    if (t->peer) {
        wire_put_rendezvous(&out, &piece);
        executor_send_peer(t->x, t->peer, &out);
    } else {
        wire_put_read_ready(&out, &m);
        executor_send(t->x, &out);
    }
}

cl_int transfer_event_error(cl_event event)
{
    const cl_int status = event_status(event);

    return status < 0 ? status : CL_SUCCESS;
}

void transfer_share_event(struct command *c, cl_event event, cl_event begin)
{
    command_hold(c, event);
    if (!c->ask)
        return;
    clRetainEvent(event);
    *c->ask = event;
    if (!begin || !c->queue->profiling)
        return;
    clRetainEvent(begin);
    c->begin = begin;
}

cl_event transfer_gate(struct command *c, struct transfer *t, cl_int *error)
{
    cl_event event = clCreateUserEvent(c->queue->in, error);

    if (event)
        command_gate(c, &t->open, false);
    return event;
}

cl_int transfer_through_map(struct command *c, struct transfer *t, cl_map_flags flags,
                            void (*reached)(struct executor *, struct job *))
{
    cl_int error;

    t->mapped = true;
    t->gate = transfer_gate(c, t, &error);
    if (error)
        return error;
    t->bytes = clEnqueueMapBuffer(t->queue, t->side.memory, CL_FALSE, flags, t->side.part.origin[0], t->side.part.size,
                                  c->wait_count, command_waits(c), &t->first, &error);
    if (error)
        return error;
    if (flags & CL_MAP_WRITE_INVALIDATE_REGION)
        pages_advise(t->bytes, t->side.part.size);
    error = clEnqueueUnmapMemObject(t->queue, t->side.memory, t->bytes, 1, &t->gate, &t->last);
    if (error)
        return error;
    transfer_share_event(c, t->last, t->first);
    command_when(c, t->first, reached, &t->job);
    return CL_SUCCESS;
}

/* ---- write, inline ---- */

static void written(struct executor *x, struct job *job)
{
    (void)x;
    transfer_free((struct transfer *)job);
}

static cl_int write_inline(struct command *c, const struct side *side, const void *data)
{
    struct transfer *t = transfer_new(c->x, c->queue->native, side, 0, false);
    cl_int error;

    if (!t)
        return CL_OUT_OF_HOST_MEMORY;
    t->bytes = malloc(side->part.size);
    if (!t->bytes) {
        transfer_free(t);
        return CL_OUT_OF_HOST_MEMORY;
    }
    memcpy(t->bytes, data, side->part.size);
    error = side_write(t->queue, side, t->bytes, c->wait_count, command_waits(c), &t->first);
    if (error) {
        transfer_free(t);
        return error;
    }
    transfer_share_event(c, t->first, NULL);
    command_when(c, t->first, written, &t->job);
    return CL_SUCCESS;
}

/* ---- write, bulk ---- */

static void taken(void *argument, int status)
{
    struct transfer *t = argument;

    if (status && !t->error)
        t->error = CL_OUT_OF_RESOURCES;
    transfer_open_gate(t);
    transfer_part_over(t);
}

static void take_all(struct transfer *t, uint8_t *memory)
{
    if (t->x->host.take(t->x->host.owner, t->peer, t->tag, memory, t->side.part.size, taken, t))
        taken(t, -EIO);
}

static void discarded(void *argument, int status)
{
    struct transfer *t = argument;

    (void)status;
    transfer_block_free(t);
    transfer_open_gate(t);
    t->mapped = false;
    transfer_free(t);
}

void transfer_discard(struct transfer *t)
{
    const size_t length = t->side.part.size;

    t->mapped = false;
    t->bytes = malloc(length);
    if (!t->bytes) /* the sender would wait */
        executor_exhausted(t->x);
    if (!t->bytes || t->x->host.take(t->x->host.owner, t->peer, t->tag, t->bytes, length, discarded, t))
        discarded(t, -EIO);
}

static void map_reached(struct executor *x, struct job *job)
{
    struct transfer *t = (struct transfer *)job;

    (void)x;
    t->error = transfer_event_error(t->first);
    t->parts = 1;
    if (t->error)
        transfer_discard(t);
    else
        take_all(t, t->bytes);
}

static void block_written(struct executor *x, struct job *job)
{
    (void)x;
    transfer_part_over((struct transfer *)((uint8_t *)job - offsetof(struct transfer, last_job)));
}

cl_int transfer_into_block(struct command *c, struct transfer *t)
{
    cl_event *wait = malloc((c->wait_count + 1) * sizeof(*wait));
    cl_int error;

    t->gate = transfer_gate(c, t, &error);
    if (!wait || !block_new(t, c->queue) || error) {
        free(wait);
        return error ? error : CL_OUT_OF_HOST_MEMORY;
    }
    memcpy(wait, c->wait, c->wait_count * sizeof(*wait));
    wait[c->wait_count] = t->gate;
    error = side_write(t->queue, &t->side, t->bytes, c->wait_count + 1, wait, &t->last);
    free(wait);
    if (error)
        return error;
    transfer_share_event(c, t->last, NULL);
    t->parts = 2;
    command_when(c, t->last, block_written, &t->last_job);
    return CL_SUCCESS;
}

static cl_int write_block(struct command *c, struct transfer *t)
{
    cl_int error = transfer_into_block(c, t);

    if (!error)
        take_all(t, t->bytes);
    return error;
}

/* ---- read ---- */

static void given(void *argument, int status)
{
    struct transfer *t = argument;

    if (status)
        t->error = CL_OUT_OF_RESOURCES;
    transfer_open_gate(t);
    transfer_free(t);
}

void transfer_give(struct transfer *t)
{
    if (t->error || t->side.part.size <= WIRE_MAX_INLINE) {
        transfer_say_result(t, t->bytes, t->error ? 0 : t->side.part.size);
        transfer_open_gate(t);
        transfer_free(t);
        return;
    }
    transfer_say_ready(t);
    if (t->x->host.give(t->x->host.owner, t->peer, t->tag, t->bytes, t->side.part.size, given, t))
        given(t, -EIO);
}

/* The data are in t->bytes, or the command failed. */
static void read_reached(struct executor *x, struct job *job)
{
    struct transfer *t = (struct transfer *)job;

    (void)x;
    t->error = transfer_event_error(t->first);
    transfer_give(t);
}

static cl_int read_block(struct command *c, struct transfer *t)
{
    cl_int error;

    if (!block_new(t, c->queue))
        return CL_OUT_OF_HOST_MEMORY;
    arbitration_begin(c, c->queue->ordinal, EXECUTOR_HOST, t->side.part.size, &t->side.memory, 1);
    error = side_read(t->queue, &t->side, t->bytes, c->wait_count, command_waits(c), &t->first);
    if (error)
        return error;
    transfer_share_event(c, t->first, NULL);
    command_when(c, t->first, read_reached, &t->job);
    return CL_SUCCESS;
}

/* ---- the commands' common parts ---- */

/* One chunk has nothing to overlap with. And where clFlush waits for the gate, nothing that the gate depends on may
 * be behind it in the queue. */
static bool in_chunks(const struct transfer *t)
{
    return t->tag & WIRE_TAG_CHUNKED && t->side.part.size > WIRE_CHUNK && !driver_flush_waits(t->queue);
}

cl_int transfer_read_whole(struct command *c, struct transfer *t)
{
    if (t->side.part.size > WIRE_MAX_INLINE && side_can_map(c->x, c->queue, &t->side))
        return transfer_through_map(c, t, CL_MAP_READ, read_reached);
    return read_block(c, t);
}

static void check_side(struct command *c, const struct side *side)
{
    if (!c->error && !bounds_side(side))
        c->error = CL_INVALID_VALUE;
}

/* Moves the data to their place, or discards them if the command has failed. */
static void write_bulk(struct command *c, struct transfer *t)
{
    if (!c->error && in_chunks(t))
        c->error = transfer_through_ring(c, t);
    else if (!c->error && side_can_map(c->x, c->queue, &t->side))
        c->error = transfer_through_map(c, t, CL_MAP_WRITE_INVALIDATE_REGION, map_reached);
    else if (!c->error)
        c->error = write_block(c, t);
    if (!c->error)
        return;
    t->error = c->error;
    transfer_block_free(t);
    transfer_discard(t);
}

/* Whether data are to be moved in bulk, as the tag says. */
static bool is_bulk(const struct side *side, uint32_t tag)
{
    return tag && side->part.size && side->part.size <= SIDE_MOST_BYTES &&
           (!(tag & WIRE_TAG_CHUNKED) || side_is_plain(side));
}

int transfer_write(struct command *c, const struct side *side, uint32_t tag, const void *data, uint32_t length)
{
    struct transfer *t;

    if (!tag) {
        if (length != side->part.size || !length)
            return -EBADMSG;
        check_side(c, side);
        if (!c->error)
            c->error = write_inline(c, side, data);
        return 0;
    }
    if (length || !is_bulk(side, tag))
        return -EBADMSG;
    check_side(c, side);
    t = transfer_new(c->x, c->queue->native, side, tag, false);
    if (!t)
        return -ENOMEM;
    write_bulk(c, t);
    return 0;
}

static cl_int read_whole_or_in_chunks(struct command *c, struct transfer *t)
{
    if (t->side.part.size > WIRE_MAX_INLINE && in_chunks(t))
        return transfer_through_ring(c, t);
    return transfer_read_whole(c, t);
}

int transfer_read(struct command *c, const struct side *side, uint32_t tag)
{
    struct transfer *t;

    if (!is_bulk(side, tag))
        return -EBADMSG;
    check_side(c, side);
    if (!c->error) {
        t = transfer_new(c->x, c->queue->native, side, tag, true);
        if (!t)
            return -ENOMEM;
        c->error = read_whole_or_in_chunks(c, t);
        if (c->error)
            transfer_free(t);
    }
    if (c->error)
        say_data(c->x, tag, c->error, NULL, 0);
    return 0;
}

/* ---- contents ---- */

/* Maps the object, so that data are received in place, if device and host share memory. */
static bool map_to_fill(struct transfer *t, const struct queue *mover)
{
    const struct wire_region *part = &t->side.part;
    cl_int error;

    if (!t->side.memory || !mover || !side_can_map(t->x, mover, &t->side))
        return false;
    t->bytes = clEnqueueMapBuffer(t->queue, t->side.memory, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, part->origin[0],
                                  part->size, 0, NULL, NULL, &error);
    t->mapped = !error;
    if (error)
        t->bytes = NULL;
    else
        pages_advise(t->bytes, part->size);
    return !error;
}

static cl_int fill(struct transfer *t)
{
    cl_int error;

    if (!t->mapped)
        return side_put(t->queue, &t->side, t->bytes);
    error = clEnqueueUnmapMemObject(t->queue, t->side.memory, t->bytes, 0, NULL, NULL);
    return error ? error : clFinish(t->queue);
}

static void filled(void *argument, int status)
{
    struct transfer *t = argument;
    struct executor *x = t->x;

    if (t->mapped || (!status && !t->error))
        fill(t);
    transfer_free(t);
    executor_resume(x);
}

static bool fits(const struct context *context, const struct side *side, uint32_t tag, uint32_t length)
{
    return !tag != !length && !(tag & WIRE_TAG_CHUNKED) && (!length || length == side->part.size) &&
           (!side->memory || (context->spare && bounds_side(side)));
}

int transfer_bring(struct executor *x, struct context *context, const struct side *side, uint32_t tag, const void *data,
                   uint32_t length)
{
    struct transfer *t;

    if (!fits(context, side, tag, length))
        return -EBADMSG;
    if (length)
        return side->memory && side_put(context->spare, side, data) ? -EIO : 0;
    t = transfer_new(x, context->spare, side, tag, false);
    if (!t)
        return -ENOMEM;
    t->error = side->memory ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (!map_to_fill(t, context->mover))
        t->bytes = malloc(side->part.size);
    if (!t->bytes) {
        transfer_free(t);
        return -ENOMEM;
    }
    x->held = true;
    if (!x->host.take(x->host.owner, 0, tag, t->bytes, side->part.size, filled, t))
        return 0;
    x->held = false;
    if (t->mapped)
        fill(t);
    transfer_free(t);
    return -EIO;
}

/* Whether a command that waits for data keeps nothing else in the mover waiting. */
static bool may_wait(const struct queue *mover)
{
    return mover && mover->out_of_order && !driver_flush_waits(mover->native);
}

int transfer_fill(struct executor *x, struct context *context, struct memory *memory, const struct side *side,
                  uint32_t tag, const void *data, uint32_t length)
{
    struct command c = {.x = x, .wait = c.small, .ask = &c.event};
    struct queue mover;
    struct transfer *t;

    if (length || !side->memory || !may_wait(context->mover))
        return transfer_bring(x, context, side, tag, data, length);
    if (!fits(context, side, tag, 0))
        return -EBADMSG;
    mover = *context->mover;
    mover.context_id = context->id; /* the context whose gates it is behind */
    c.queue = &mover;
    t = transfer_new(x, mover.native, side, tag, false);
    if (!t)
        return -ENOMEM;
    write_bulk(&c, t);
    if (!c.error && !contents_come(x, memory, c.event, c.newest))
        return -ENOMEM;
    clFlush(mover.native);
    return 0;
}
