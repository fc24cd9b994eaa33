/*
 * The application ends while devices of its own process are in use: the driver is taken down, too, and PoCL's threads
 * abort if they run something then. So commands that can end get a little time to do so.
 */
#include <time.h>

#include "base/clock.h"
#include "executor/internal.h"

#define MOST_NS 5000000000L /* a kernel that never ends must not keep the program from ending */
#define NAP_NS 200000

/* Whether the queue's commands may run: those behind a gate that nobody opens any more do not. */
static bool may_run(const struct executor *x, const struct queue *queue)
{
    const struct context *context = object_get(x, WIRE_CONTEXT, queue->context_id);

    return is_usable(queue) && !(context && gates_may_fail(context->gates, queue->behind));
}

static void wait_for_end(const struct queue *queue, long until)
{
    cl_int status = CL_QUEUED;
    cl_event last;

    if (clEnqueueMarkerWithWaitList(queue->native, 0, NULL, &last))
        return;
    clFlush(queue->native);
    while (!clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL) &&
           status > CL_COMPLETE && clock_ns() < until)
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    clReleaseEvent(last);
}

void executor_stop(struct executor *x)
{
    const struct table *queues = &x->tables[WIRE_QUEUE];
    const long until = clock_ns() + MOST_NS;

    for (uint32_t i = 0; i < queues->count; i++) {
        const struct queue *queue = (const struct queue *)queues->slots[i];

        if (queue && may_run(x, queue))
            wait_for_end(queue, until);
    }
}
