/*
 * How a command that moves data between the program's memory and a node is carried out, whatever its entry point. A few
 * bytes go in the command itself, without any allocation; more are sent beside it (transfer.c); data in memory that the
 * node has, too, are moved by the node (shared.c).
 */
#include "base/settings.h"
#include "client/core/deliver.h"
#include "client/core/stream.h"
#include "client/data/data_command.h"
#include "client/data/transfer.h"
#include "client/memory/memory.h"
#include "client/trace/timeline.h"

static bool is_object(const struct data_command *m)
{
    return m->part.kind != PART_ADDRESS;
}

struct layout data_command_there(const struct data_command *m, const uint8_t *place)
{
    const struct part *part = &m->part;

    return part->kind == PART_RECT ? layout_rect(place, part->origin, part->region, part->pitch[0], part->pitch[1])
                                   : layout_linear(place + part->offset, part->size);
}

/* Whether the data go in chunks, whose transfers overlap with the copies. Where host and device share memory the worker
 * maps the whole range at once instead. */
static bool goes_in_chunks(const struct data_command *m, cl_command_queue queue)
{
    return m->part.kind == PART_PIECE && (!queue->device->unified || !settings_number(SETTING_ZERO_COPY));
}

/* ---- encoding ---- */

/* Reads and writes are encoded alike, except that a write contains its data. */
#define HEAD .queue = e->queue->object.id, .event = e->event_id, .subscribe = e->subscribe, .tag = data->tag
#define WAITS .wait = e->wait, .wait_count = e->wait_count
#define PUT(what, ...)                                                                                                 \
    if (m->writes) {                                                                                                   \
        const struct wire_write_##what write = {HEAD, WAITS, .data = data->bytes, .data_length = data->length,         \
                                                __VA_ARGS__};                                                          \
                                                                                                                       \
        wire_put_write_##what(out, &write);                                                                            \
    } else {                                                                                                           \
        const struct wire_read_##what read = {HEAD, WAITS, __VA_ARGS__};                                               \
                                                                                                                       \
        wire_put_read_##what(out, &read);                                                                              \
    }

static void put(struct wire_buffer *out, const struct enqueue *e, const struct data_command *m,
                const struct transfer_data *data)
{
    const struct part *part = &m->part;

    switch (part->kind) {
    case PART_PIECE:
        PUT(buffer, .buffer = part->memory->object.id, .offset = part->offset, .size = part->size)
        break;
    case PART_RECT:
        PUT(rect, .buffer = part->memory->object.id, .part = part_region(part))
        break;
    case PART_IMAGE:
        PUT(image, .image = part->memory->object.id, .part = part_region(part))
        break;
    case PART_ADDRESS:
        PUT(svm, .address = part->address, .size = part->bytes)
        break;
    }
}

/* ---- subscribing to the event ---- */

/* Whether other nodes have the same memory: their commands would not wait for a write that is still on its way. */
static bool others_have_it(const struct data_command *m)
{
    const cl_mem root = memory_root(m->part.memory);

    return root->arena && root->context->node_count > 1;
}

/* A blocking write returns when its data have been sent, and commands that are enqueued later come after it
 * (WIRE_ORDERS). It waits for the write's end instead if there is an event or a wait list; if earlier commands of the
 * queue may have their effect in memory that the node shares, or may wait for a user event, for which later commands
 * would then wait, too; or if other nodes have the memory. A write to an address always waits for the node's command,
 * as the program may free the memory then. */
static int want_written(struct enqueue *e, const struct data_command *m, const cl_event *event)
{
    const bool shared = queue_in_order(e->queue) && e->node->memory == NODE_MEMORY_SHARED &&
                        atomic_load(&e->queue->enqueued) != atomic_load(&e->queue->finished);
    const bool waits = m->blocking && (!is_object(m) || event || e->wait_count || shared ||
                                       queue_may_be_gated(e->queue) || others_have_it(m));
    int error = waits ? enqueue_need_event(e, m->type) : 0;

    if (!error)
        e->subscribe = waits ? SUBSCRIBE_COMPLETE : m->blocking ? WIRE_ORDERS : 0;
    if (!error)
        enqueue_expect(e);
    return error;
}

static int want(struct enqueue *e, const struct data_command *m, const cl_event *event)
{
    if (m->writes)
        return want_written(e, m, event);
    e->subscribe = e->event ? SUBSCRIBE_COMPLETE : 0;
    enqueue_expect(e);
    return 0;
}

/* ---- moving the data ---- */

/* Waits for a blocking command: for a read's data and, unless these have failed, its event; for the result of a write
 * that the node reports. */
static int wait_until_over(struct enqueue *e, const struct data_command *m, struct transfer *transfer)
{
    int error;

    enqueue_sent(e);
    error = transfer ? transfer_wait(transfer) : 0;
    if (!error && m->writes && e->subscribe & ~WIRE_ORDERS)
        error = enqueue_outcome(e);
    else if (!error && !m->writes && e->event)
        event_wait(e->event);
    if (!error)
        arrival_wait(e->node->session, e->arrival);
    if (!error && !m->writes && queue_in_order(e->queue))
        queue_finished(e->queue, e->before, false);
    return error;
}

/* Called under the lock, which it releases, after the command was sent, or could not be. transfer: NULL if the data
 * went in the command. */
static int sent(struct enqueue *e, const struct data_command *m, struct transfer *transfer, int error, cl_event *event)
{
    const uint64_t since = deliver_now_begun();
    cl_command_queue queue = e->queue;

    if (transfer && !error)
        transfer_start(transfer);
    session_unlock(e->node->session);
    if (transfer && error)
        transfer_cancel(transfer);
    else if (transfer && !m->blocking)
        transfer_detach(transfer);
    if (error || !m->blocking)
        return enqueue_finish(e, error, event);
    error = wait_until_over(e, m, transfer);
    error = enqueue_finish(e, error, event);
    if (!error && m->writes && atomic_load(&queue->functions)) /* natively it waits for all earlier commands */
        error = queue_wait_idle(queue);
    queue_wait_callbacks(queue, since);
    event_show();
    return error;
}

int enqueue_transfer(struct enqueue *e, const struct data_command *m, cl_event *event)
{
    struct object *keep = is_object(m) ? &m->part.memory->object : NULL;
    struct transfer_data data;
    struct wire_buffer *out;
    bool hurry = !m->writes && m->blocking;
    const uint64_t since = timeline_now();
    int error = is_object(m) ? part_before(e, &m->part, m->writes ? USE_WRITE : USE_READ) : 0;

    if (!error && is_object(m) && !m->owned && shared_has(e->node, &m->layout)) {
        timeline_data(since, e->node, m->writes, true, m->part.bytes);
        return shared_move(e, m, event);
    }
    if (!error)
        error = want(e, m, event);
    if (!error)
        error = m->writes ? transfer_write(e, &m->layout, goes_in_chunks(m, e->queue), keep, m->owned, &data)
                          : transfer_read(e, &m->layout, goes_in_chunks(m, e->queue), keep, &data);
    if (error) {
        free(m->owned);
        return enqueue_fail(e, error);
    }
    if (is_object(m) && m->writes)
        part_after(e, &m->part);
    out = stream_begin(e->node);
    transfer_pack(e->node, &data);
    put(out, e, m, &data);
    hurry |= m->writes && (data.tag || (m->blocking && e->subscribe & ~WIRE_ORDERS));
    timeline_data(since, e->node, m->writes, false, m->part.bytes);
    error = stream_finish(e->node, hurry ? STREAM_NOW : STREAM_SOON);
    if (!data.tag)
        free(m->owned);
    return sent(e, m, data.transfer, error, event);
}
