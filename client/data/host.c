/*
 * Commands that the program carries out: when all commands before one of them are complete it runs on the library's
 * callback thread, and the queue waits for it. So the node sees two commands: one in its place, and one that waits for
 * a user event, the gate.
 */
#include <errno.h>

#include "client/core/per_process.h"
#include "client/core/session.h"
#include "client/data/enqueue.h"

static PER_PROCESS atomic_uint open_count; /* changes under the lock; host_command_any() reads it without the lock */

bool host_command_any(void)
{
    return open_count > 0;
}

static void finish(struct host_command *command, cl_int status)
{
    user_event_set(command->gate, status);
    handle_release(command->gate, WIRE_EVENT, 0);
    session_lock(command->session);
    open_count--;
    arrival_part_over(command->done);
    arrival_drop(command->done);
    session_unlock(command->session);
    command->free(command);
}

static void CL_CALLBACK run(cl_event reached, cl_int status, void *argument)
{
    struct host_command *command = argument;

    if (status >= 0)
        status = command->run(command);
    handle_release(reached, WIRE_EVENT, 0);
    finish(command, status < 0 ? status : CL_COMPLETE);
}

int host_command_enqueue(cl_command_queue queue, cl_command_type type, struct host_command *command, cl_uint count,
                         const cl_event *list, cl_event *event)
{
    cl_event reached = NULL;
    int error = user_event_new(queue->context, &command->gate);

    if (error) {
        command->free(command);
        return error;
    }
    command->session = queue->node->session;
    session_lock(command->session);
    command->done = arrival_new();
    open_count += command->done != NULL;
    session_unlock(command->session);
    if (!command->done) {
        user_event_set(command->gate, CL_OUT_OF_HOST_MEMORY);
        handle_release(command->gate, WIRE_EVENT, 0);
        command->free(command);
        return -ENOMEM;
    }
    error = enqueue_marker(queue, type, count, list, &reached);
    if (!error)
        error = enqueue_gated(queue, type, command->gate, command->done, event);
    if (!error)
        error = event_call(reached, CL_COMPLETE, run, command);
    if (error) {
        if (reached)
            handle_release(reached, WIRE_EVENT, 0);
        finish(command, CL_OUT_OF_RESOURCES);
    }
    return error;
}
