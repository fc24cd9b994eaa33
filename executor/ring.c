/* Buffers in pieces of WIRE_CHUNK, so that the transfer between the processes and the native copy overlap: see
 * transfer.c. */
#include "executor/staging.h"
#include "executor/transfer.h"

static void ring_next(struct slot *slot);

/* The slot is free for the next piece, or this was the last one. */
static void piece_over(struct slot *slot)
{
    struct transfer *t = slot->transfer;

    t->finished += slot->length;
    if (t->finished == t->side.part.size) {
        transfer_open_gate(t);
        transfer_free(t);
    } else {
        ring_next(slot);
    }
}

static void piece_written(struct executor *x, struct job *job)
{
    struct slot *slot = (struct slot *)job;

    timeline_copied(x, slot->transfer->ordinal, false, slot->began, slot->length);
    piece_over(slot);
}

static void piece_taken(void *argument, int status)
{
    struct slot *slot = argument;
    struct transfer *t = slot->transfer;
    cl_event event;

    if (status)
        t->error = CL_OUT_OF_RESOURCES;
    slot->began = timeline_copies(t->x);
    if (!t->error)
        t->error = clEnqueueWriteBuffer(t->spare, t->side.memory, CL_FALSE, t->side.part.origin[0] + slot->offset,
                                        slot->length, slot->bytes, 0, NULL, &event);
    if (t->error) {
        piece_over(slot);
        return;
    }
    clFlush(t->spare);
    event_when(t->x, event, CL_COMPLETE, piece_written, &slot->job);
    clReleaseEvent(event);
}

static void piece_given(void *argument, int status)
{
    struct slot *slot = argument;

    if (status)
        slot->transfer->error = CL_OUT_OF_RESOURCES;
    piece_over(slot);
}

/* Returns the slot with the piece that the reader gets next, if that has been read, or NULL. */
static struct slot *find_next(struct transfer *t)
{
    struct slot *slot = t->slots;

    while (slot < t->slots + SLOTS && (!slot->read || slot->offset != t->given))
        slot++;
    return slot < t->slots + SLOTS ? slot : NULL;
}

/* The reader expects the pieces in order; drivers may call the callbacks of reads in any order. */
static void give_in_order(struct transfer *t)
{
    const struct executor_host *host = &t->x->host;
    struct slot *slot;
    bool last = false;

    if (t->giving) /* by a caller of this function */
        return;
    while (!last && (slot = find_next(t))) {
        slot->read = false;
        t->given += slot->length;
        last = t->given == t->side.part.size; /* with that piece the transfer may end */
        t->giving = !last;
        if (host->give(host->owner, t->peer, t->tag, slot->bytes, slot->length, piece_given, slot))
            piece_given(slot, -EIO);
    }
    if (!last)
        t->giving = false;
}

static void piece_read(struct executor *x, struct job *job)
{
    struct slot *slot = (struct slot *)job;

    timeline_copied(x, slot->transfer->ordinal, true, slot->began, slot->length);
    if (slot->asked)
        x->host.moved(x->host.owner, &slot->move);
    slot->asked = false;
    slot->read = true;
    give_in_order(slot->transfer);
}

static cl_int read_piece(struct slot *slot)
{
    struct transfer *t = slot->transfer;
    cl_event event;
    cl_int error;

    slot->began = timeline_copies(t->x);
    error = clEnqueueReadBuffer(t->spare, t->side.memory, CL_FALSE, t->side.part.origin[0] + slot->offset, slot->length,
                                slot->bytes, 0, NULL, &event);
    if (error)
        return error;
    clFlush(t->spare);
    event_when(t->x, event, CL_COMPLETE, piece_read, &slot->job);
    clReleaseEvent(event);
    return CL_SUCCESS;
}

/* The application expects the piece: if it cannot be read the application gets whatever the memory holds, and the
 * error. */
static void piece_goes(struct arbitration *move)
{
    struct slot *slot = (struct slot *)((uint8_t *)move - offsetof(struct slot, move));

    if (!read_piece(slot))
        return;
    slot->transfer->error = CL_OUT_OF_RESOURCES;
    slot->began = 0;
    piece_read(slot->transfer->x, &slot->job);
}

static void read_in_turn(struct slot *slot)
{
    const struct transfer *t = slot->transfer;
    const struct executor_host *host = &t->x->host;

    slot->move =
        (struct arbitration){.source = t->ordinal, .target = EXECUTOR_HOST, .bytes = slot->length, .go = piece_goes};
    slot->asked =
        t->x->moves && !arbitration_waits(t->x, t->side.memory) && host->moves(host->owner, t->ordinal, EXECUTOR_HOST);
    if (!slot->asked || host->move(host->owner, &slot->move)) {
        slot->asked = false;
        piece_goes(&slot->move);
    }
}

static void ring_next(struct slot *slot)
{
    struct transfer *t = slot->transfer;
    size_t left = t->side.part.size - t->offset;

    if (!left)
        return;
    slot->offset = t->offset;
    slot->length = left < WIRE_CHUNK ? left : WIRE_CHUNK;
    t->offset += slot->length;
    if (t->reading) {
        read_in_turn(slot);
    } else if (t->x->host.take(t->x->host.owner, t->peer, t->tag, slot->bytes, slot->length, piece_taken, slot)) {
        piece_taken(slot, -EIO);
    }
}

static void ring_start(struct executor *x, struct job *job)
{
    struct transfer *t = (struct transfer *)job;
    const size_t chunks = (t->side.part.size + WIRE_CHUNK - 1) / WIRE_CHUNK;
    const unsigned slots = chunks < x->host.pipeline ? (unsigned)chunks : x->host.pipeline;

    t->error = t->first ? transfer_event_error(t->first) : CL_SUCCESS;
    for (unsigned i = 0; i < slots && !t->error; i++) {
        t->slots[i].transfer = t;
        t->slots[i].piece = staging_take(t->staging);
        t->slots[i].bytes = t->slots[i].piece ? t->slots[i].piece->bytes : malloc(WIRE_CHUNK);
        if (!t->slots[i].bytes)
            t->error = CL_OUT_OF_HOST_MEMORY;
    }
    if (t->error && t->reading) {
        transfer_say_result(t, NULL, 0);
        transfer_open_gate(t);
        transfer_free(t);
    } else if (t->error) {
        transfer_discard(t);
    } else {
        if (t->reading)
            transfer_say_ready(t);
        for (unsigned i = 0; i < slots; i++)
            ring_next(&t->slots[i]);
    }
}

cl_int transfer_through_ring(struct command *c, struct transfer *t)
{
    cl_int error = CL_SUCCESS;

    t->spare = c->queue->spare;
    t->ordinal = c->queue->ordinal;
    clRetainCommandQueue(t->spare);
    t->staging = staging_use(c->queue->staging);
    t->gate = transfer_gate(c, t, &error);
    if (!error)
        error = queue_wait_barrier(c);
    if (!error && c->queue->profiling)
        error = driver_timed_marker(t->queue, c->wait_count, command_waits(c), &t->first);
    else if (!error && (!c->queue->out_of_order || c->wait_count))
        error = clEnqueueMarkerWithWaitList(t->queue, c->wait_count, command_waits(c), &t->first);
    if (!error && c->queue->profiling)
        error = driver_timed_marker(t->queue, 1, &t->gate, &t->last);
    else if (!error && c->queue->out_of_order)
        error = clEnqueueMarkerWithWaitList(t->queue, 1, &t->gate, &t->last);
    else if (!error)
        error = clEnqueueBarrierWithWaitList(t->queue, 1, &t->gate, &t->last);
    if (error)
        return error;
    transfer_share_event(c, t->last, t->first);
    if (t->first) {
        command_when(c, t->first, ring_start, &t->job);
    } else {
        ring_start(c->x, &t->job);
    }
    return CL_SUCCESS;
}
