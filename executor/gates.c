/*
 * PoCL 3.1 frees an event that has failed although other events that it waits for, by its list or by its queue's order,
 * are not over yet, and accesses it again when they are. So while something may still fail (a gate: a user event, an
 * event of another worker, data on their way), every event that may wait for it, if only indirectly, is retained. An
 * event that has failed stays retained until many others have failed after it, as the other events that it waited for
 * may run for long.
 */
#include "executor/internal.h"

#define MOST_FAILED 4096

struct held {
    struct held *next;
    cl_event event;
    uint64_t behind; /* the newest gate that it may wait for */
};

struct gates {                      /* a context's */
    TAILQ_HEAD(, gate) open;        /* oldest first */
    struct held *held, **last_held; /* ordered by behind */
    cl_event *failed;               /* up to MOST_FAILED events, NULL before the first */
    unsigned failed_count;          /* in total */
    uint64_t count;
    unsigned of_events; /* open ones of events */
    bool stuck;         /* something waits for a gate that nobody will open */
    struct executor *x; /* for last */
    struct job *last;   /* runs when no gate is open any more, or NULL */
};

struct gates *gates_new(void)
{
    struct gates *gates = calloc(1, sizeof(*gates));

    if (gates) {
        TAILQ_INIT(&gates->open);
        gates->last_held = &gates->held;
    }
    return gates;
}

/* Replaces the one that has been held longest. */
static void hold_failed(struct gates *gates, cl_event event)
{
    cl_event *place;

    if (!gates->failed)
        gates->failed = calloc(MOST_FAILED, sizeof(*gates->failed));
    if (!gates->failed)
        return; /* held for ever */
    place = &gates->failed[gates->failed_count++ % MOST_FAILED];
    if (*place)
        clReleaseEvent(*place);
    *place = event;
}

static void let_go(struct gates *gates)
{
    struct held *held = gates->held;

    gates->held = held->next;
    if (!held->next)
        gates->last_held = &gates->held;
    if (event_status(held->event) < 0)
        hold_failed(gates, held->event);
    else
        clReleaseEvent(held->event);
    free(held);
}

/* Leaves failed events to native OpenCL, without a release: events that they waited for may still run. */
void gates_free(struct gates *gates)
{
    struct gate *gate;

    if (!gates)
        return;
    TAILQ_FOREACH (gate, &gates->open, in)
        gate->gates = NULL;
    while (gates->held)
        let_go(gates);
    free(gates->failed);
    free(gates);
}

void gate_begin(struct gates *gates, struct gate *gate, bool of_event)
{
    if (!gates || gate->gates)
        return;
    *gate = (struct gate){.gates = gates, .number = ++gates->count, .of_event = of_event};
    TAILQ_INSERT_TAIL(&gates->open, gate, in);
    gates->of_events += of_event;
}

void gate_end(struct gate *gate)
{
    struct gates *gates = gate->gates;

    if (!gates)
        return;
    TAILQ_REMOVE(&gates->open, gate, in);
    gate->gates = NULL;
    gates->of_events -= gate->of_event;
    while (gates->held && !gates_may_fail(gates, gates->held->behind))
        let_go(gates);
    if (gates->last && TAILQ_EMPTY(&gates->open)) {
        executor_finish(gates->x, gates->last);
        gates->last = NULL;
    }
}

void gate_abandon(struct gate *gate)
{
    if (gate->gates)
        gate->gates->stuck = true;
    gate_end(gate);
}

bool gates_stuck(const struct gates *gates)
{
    return gates && gates->stuck;
}

bool gates_last(struct gates *gates, struct executor *x, struct job *job)
{
    if (!gates || TAILQ_EMPTY(&gates->open))
        return false;
    gates->x = x;
    gates->last = job;
    return true;
}

bool gates_may_fail(const struct gates *gates, uint64_t behind)
{
    return gates && !TAILQ_EMPTY(&gates->open) && TAILQ_FIRST(&gates->open)->number <= behind;
}

bool gates_of_events(const struct gates *gates)
{
    return gates && gates->of_events;
}

bool gates_hold(struct gates *gates, cl_event event, uint64_t *newest)
{
    struct held *held = gates ? malloc(sizeof(*held)) : NULL;

    if (!held)
        return false;
    *held = (struct held){.event = event, .behind = gates->count};
    clRetainEvent(event);
    *gates->last_held = held;
    gates->last_held = &held->next;
    *newest = held->behind;
    return true;
}
