/*
 * What is decided in the program: nothing is sent of it, and its event is over, here.
 *
 * Buffers whose memory program and worker share (block.c), on devices that are the host's own CPU: what is read,
 * written and mapped needs no message but to know that the queue's turn has come, and not even that while nothing is
 * under way. Likewise the memory of the arena, and markers and barriers that have nothing to wait for.
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

bool direct_may(cl_command_queue queue, cl_bool blocking, size_t bytes, cl_uint count, const cl_event *list,
                const cl_event *event)
{
    enum waits pending;

    if (event_check_list(queue->context, count, list) || (event && queue->properties & CL_QUEUE_PROFILING_ENABLE))
        return false;
    pending = waits(count, list);
    if (pending == FAILED)
        return false;
    if (is_quiet(queue) && pending == OVER)
        return blocking || bytes <= MOST_AT_ONCE;
    return blocking && is_in_order(queue);
}

bool direct_sync_may(cl_command_queue queue, bool named, cl_uint count, const cl_event *list, const cl_event *event)
{
    if (!queue->node->alive || event_check_list(queue->context, count, list) || waits(count, list) != OVER ||
        (event && queue->properties & CL_QUEUE_PROFILING_ENABLE))
        return false;
    if (is_quiet(queue))
        return true;
    return is_in_order(queue) ? !event : named; /* what comes behind it waits anyway */
}

cl_int direct_end(cl_command_queue queue, cl_command_type type, cl_event *event)
{
    cl_event over = event ? event_over(queue, type) : NULL;

    if (event && !over)
        return CL_OUT_OF_HOST_MEMORY;
    if (event)
        *event = over;
    return CL_SUCCESS;
}

cl_int direct_move(cl_command_queue queue, cl_command_type type, cl_bool blocking, const struct layout *to,
                   const struct layout *from, cl_uint count, const cl_event *list, cl_event *event)
{
    const uint64_t since = deliver_now_begun();
    cl_int error = direct_turn(queue, count, list);

    if (error)
        return error;
    layout_copy(to, from);
    error = direct_end(queue, type, event);
    if (blocking)
        queue_settle(queue, since);
    return error;
}
