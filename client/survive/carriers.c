/*
 * A queue that carries contents to a member, or from it, in several pieces that are under way at once. It is one: with
 * a queue for each piece one of twenty runs of parity/buffer_ops between two hosts read something else, and whether for
 * that is not known.
 */
#include <errno.h>

#include "client/core/event.h"
#include "client/survive/moving.h"

static cl_command_queue new_queue(const struct carriers *c, cl_context context)
{
    cl_command_queue queue = handle_begin(WIRE_QUEUE);

    if (!queue)
        return NULL;
    queue->context = context;
    queue->node = c->member;
    for (cl_uint i = 0; i < context->device_count && !queue->device; i++) {
        if (context->devices[i]->node == c->node)
            queue->device = context->devices[i];
    }
    handle_use(context);
    handle_show(queue);
    if (!handle_create_on(&queue->object, c->member))
        return queue;
    handle_release(queue, WIRE_QUEUE, 0);
    return NULL;
}

static int wait_for_slot(struct carriers *c, unsigned slot)
{
    cl_event event = c->events[slot];
    cl_int status;

    if (!event)
        return 0;
    c->events[slot] = NULL;
    status = event_wait(event);
    handle_release(event, WIRE_EVENT, 0);
    if (status >= 0)
        return 0;
    c->status = status;
    return -EIO;
}

int carriers_next(struct carriers *c, cl_context context)
{
    const unsigned slot = c->next++ % CARRIERS;
    int error = c->context == context ? wait_for_slot(c, slot) : carriers_end(c, 0);

    if (error)
        return error;
    c->context = context;
    if (!c->queue)
        c->queue = new_queue(c, context);
    return c->queue ? (int)slot : -ENOMEM;
}

int carriers_end(struct carriers *c, int error)
{
    for (unsigned i = 0; i < CARRIERS; i++) {
        const int one = wait_for_slot(c, c->next++ % CARRIERS);

        error = error ? error : one;
    }
    if (c->queue)
        handle_release(c->queue, WIRE_QUEUE, 0);
    c->queue = NULL;
    c->context = NULL;
    return error;
}
