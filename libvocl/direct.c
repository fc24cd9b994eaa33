/*
 * Buffers whose memory program and worker share (block.c), on devices that are the host's own CPU: what is read,
 * written and mapped needs no message but to know that the queue's turn has come, and not even that while nothing is
 * under way.
 */
#include "libvocl/internal.h"

#define MOST_AT_ONCE ((size_t)64 << 20) /* of a call that is not to block: some milliseconds */

static bool is_quiet(cl_command_queue queue)
{
    return queue->node->alive && atomic_load(&queue->enqueued) == atomic_load(&queue->finished);
}

static bool is_in_order(cl_command_queue queue)
{
    return !(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

enum waits { OVER, PENDING, FAILED };

static enum waits waits(cl_uint count, const cl_event *list)
{
    enum waits all = OVER;

    for (cl_uint i = 0; i < count; i++) {
        cl_int status = atomic_load(&list[i]->status);

        if (status < 0)
            return FAILED;
        if (status != CL_COMPLETE)
            all = PENDING;
    }
    return all;
}

cl_int direct_turn(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    for (cl_uint i = 0; i < count; i++) {
        if (event_wait(list[i]) < 0)
            return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    return queue_wait_idle(queue);
}

bool direct_may(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t bytes, cl_uint count,
                const cl_event *list)
{
    enum waits pending;

    if (!buffer->direct || event_check_list(queue->context, count, list) ||
        (queue->properties & CL_QUEUE_PROFILING_ENABLE))
        return false;
    pending = waits(count, list);
    if (pending == FAILED)
        return false;
    if (is_quiet(queue) && pending == OVER)
        return blocking || bytes <= MOST_AT_ONCE;
    return blocking && is_in_order(queue);
}

/* The event of a command that is over. */
cl_int direct_end(cl_command_queue queue, cl_command_type type, cl_bool blocking, cl_event *event)
{
    cl_int error;

    hostptr_look();
    if (!event)
        return CL_SUCCESS;
    error = enqueue_marker_as(queue, type, 0, NULL, event);
    if (!error && blocking && event_wait(*event) < 0)
        error = node_lost_error();
    return error;
}

cl_int direct_move(cl_command_queue queue, cl_command_type type, cl_bool blocking, const struct layout *to,
                   const struct layout *from, cl_uint count, const cl_event *list, cl_event *event)
{
    cl_int error = direct_turn(queue, count, list);

    if (error)
        return error;
    layout_copy(to, from);
    return direct_end(queue, type, blocking, event);
}
