/*
 * For drivers that run a queue's commands inside clFlush and clFinish, one after the other, and wait there for their
 * wait lists (oclgrind). An event in such a list may be this thread's to complete: data on their way, a user event of
 * the program. So each command is run by itself, by waiting for its event, once no command before it waits for
 * something that is still to come.
 */
#include "executor/internal.h"

struct step {
    struct step *next;
    cl_event event;
    uint64_t behind; /* the newest gate that it may wait for, 0 if none */
};

void lazy_add(const struct command *c)
{
    struct step *step = malloc(sizeof(*step)), **at = &c->queue->steps;

    if (!step) {
        executor_exhausted(c->x);
        return;
    }
    clRetainEvent(c->event);
    *step = (struct step){.event = c->event, .behind = c->newest};
    while (*at)
        at = &(*at)->next;
    *at = step;
}

static void drop(struct step **at)
{
    struct step *step = *at;

    *at = step->next;
    clReleaseEvent(step->event);
    free(step);
}

bool lazy_run(struct executor *x, struct queue *queue)
{
    const struct context *context = object_get(x, WIRE_CONTEXT, queue->context_id);
    struct step **at = &queue->steps;

    while (*at) {
        if (context && gates_may_fail(context->gates, (*at)->behind)) {
            at = &(*at)->next; /* later commands of an in-order queue are behind the same gate */
            continue;
        }
        clWaitForEvents(1, &(*at)->event);
        drop(at);
    }
    return !queue->steps;
}

void lazy_free(struct queue *queue)
{
    while (queue->steps)
        drop(&queue->steps);
}
