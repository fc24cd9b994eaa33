/* Handles notes of nodes, which come unasked: the state of events, data that was read, output, errors. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "client/core/deliver.h"
#include "client/data/transfer.h"
#include "client/memory/arena.h"
#include "client/note.h"
#include "client/survive/replicas.h"
#include "client/survive/recover.h"
#include "client/trace/timeline.h"
#include "wire/tables.h"

/* A node reports only events of its own commands: others', and user events, are ignored. */
static bool note_event_status(struct node *node, struct wire_cursor *fields)
{
    struct wire_event_status m;
    cl_event event;

    if (!wire_get_event_status(fields, &m) || m.status > CL_SUBMITTED)
        return false;
    if (node->journal)
        recover_note_event(node, m.event, m.status);
    event = handle_find(WIRE_EVENT, m.event);
    if (event && event->queue && event->node == node)
        event_set_status(event, m.status, m.times_count, m.times);
    return true;
}

static bool note_output(struct node *node, struct wire_cursor *fields)
{
    struct wire_output m;
    const uint8_t *at;
    uint32_t left, before;
    ssize_t wrote;

    if (!wire_get_output(fields, &m))
        return false;
    if (m.stream == 1)
        fflush(stdout);
    before = recover_printed(node, m.stream, m.text_length);
    for (at = (const uint8_t *)m.text + before, left = m.text_length - before; left;
         at += wrote, left -= (uint32_t)wrote) {
        wrote = write((int)m.stream, at, left);
        if (wrote < 0 && errno == EINTR)
            wrote = 0;
        else if (wrote <= 0)
            return true;
    }
    return true;
}

static bool note_queue_error(struct node *node, struct wire_cursor *fields)
{
    struct wire_queue_error m;
    cl_command_queue queue;

    if (!wire_get_queue_error(fields, &m) || m.error >= 0)
        return false;
    queue = handle_find(WIRE_QUEUE, m.queue);
    if (queue && queue->node == node)
        atomic_store(&queue->error, m.error);
    vocl_log(LOG_WARN, "a command of queue %u failed on its worker with OpenCL error %d", m.queue, m.error);
    return true;
}

struct context_error {
    struct callback callback;
    char text[256];
};

static void deliver_context_error(struct callback *callback)
{
    struct context_error *error = (struct context_error *)callback;
    cl_context context = callback->handle;

    context->notify(error->text, NULL, 0, context->notify_data);
}

static void free_context_error(struct callback *callback)
{
    handle_drop(callback->handle);
    free((struct context_error *)callback);
}

static bool note_context_error(struct node *node, struct wire_cursor *fields)
{
    struct wire_context_error m;
    struct context_error *error;
    cl_context context;

    if (!wire_get_context_error(fields, &m))
        return false;
    context = handle_find(WIRE_CONTEXT, m.context);
    error = context && context->notify && context_has_node(context, node) ? calloc(1, sizeof(*error)) : NULL;
    if (!error)
        return true;
    snprintf(error->text, sizeof(error->text), "%.*s", (int)m.text_length, (const char *)m.text);
    error->callback.run = deliver_context_error;
    error->callback.free = free_context_error;
    error->callback.handle = context;
    handle_use(context);
    deliver(node->session, NULL, &error->callback);
    return true;
}

static bool note_kept(struct node *node, struct wire_cursor *fields)
{
    struct wire_kept m;

    if (!wire_get_kept(fields, &m))
        return false;
    replicas_note(node, m.contents, m.status);
    return true;
}

static bool note_lost_worker(struct node *node, struct wire_cursor *fields)
{
    struct wire_lost_worker m;

    if (!wire_get_lost_worker(fields, &m))
        return false;
    recover_note_lost(node, m.peer);
    return true;
}

/* Notes a refused allocation, such as of SVM at a wanted address. */
static void note_refused(struct node *node, uint16_t number, struct wire_cursor fields)
{
    struct wire_svm_alloc_reply reply;

    if (number == (WIRE_svm_alloc | WIRE_REPLY) && wire_get_svm_alloc_reply(&fields, &reply) && reply.error)
        recover_note_refused(node, reply.call);
}

/* A worker to which commands were repeated answers again also calls that nobody waits for any more. */
static bool note_reply(struct node *node, uint16_t number, struct wire_cursor fields)
{
    struct wire_cursor in = fields;

    if (!node->journal)
        return call_answer(node, number, fields);
    note_refused(node, number, fields);
    recover_note_reply(node, wire_get_u32(&in));
    call_answer(node, number, fields);
    return !in.failed;
}

bool note_take(struct node *node, uint16_t number, struct wire_cursor fields)
{
    struct wire_read_data data;
    struct wire_read_ready ready;
    struct wire_destroyed destroyed;

    if (number & WIRE_REPLY)
        return note_reply(node, number, fields);
    switch (number) {
    case WIRE_event_status:
        return note_event_status(node, &fields);
    case WIRE_read_data:
        return wire_get_read_data(&fields, &data) &&
               transfer_note(node, data.tag, false, data.status, data.data, data.data_length);
    case WIRE_read_ready:
        return wire_get_read_ready(&fields, &ready) && transfer_note(node, ready.tag, true, 0, NULL, 0);
    case WIRE_queue_error:
        return note_queue_error(node, &fields);
    case WIRE_output:
        return note_output(node, &fields);
    case WIRE_destroyed:
        return wire_get_destroyed(&fields, &destroyed) &&
               (block_note(node, destroyed.object) || destructor_note(node, destroyed.kind, destroyed.object) ||
                recover_is_on());
    case WIRE_context_error:
        return note_context_error(node, &fields);
    case WIRE_kept:
        return note_kept(node, &fields);
    case WIRE_lost_worker:
        return note_lost_worker(node, &fields);
    case WIRE_timeline_time:
    case WIRE_timeline_records:
        return timeline_note(node, number, &fields);
    }
    return false;
}
