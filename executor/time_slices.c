/*
 * Launches on devices that the session shares with others. The daemon says whose time slice it is. While it is not this
 * session's, the stream of commands waits before its next launch. Little is enqueued natively at a time, launches of
 * some milliseconds, so that a slice can be given back soon.
 *
 * Of the launches on a device only the newest is watched: the others of its queue are over before it.
 */
#include "base/clock.h"
#include "executor/internal.h"

#define BATCH_US 4000   /* about how much is enqueued at a time */
#define MOST_BATCH 4096 /* launches */
#define LINGER_US 300   /* an idle session keeps its slice, as the next launch may be under way */
#define STALLED_US 20000
#define MOST_STALLED 4 /* times that STALLED_US is doubled */

struct watched {
    struct job job;
    struct executor *x;
    unsigned ordinal;
    cl_event event;
};

static void watch(struct executor *x, unsigned ordinal);

static void tell(struct executor *x, unsigned ordinal, enum slice_note note)
{
    x->host.slice(x->host.owner, ordinal, note);
}

static void want(struct executor *x, unsigned ordinal)
{
    struct slice *slice = &x->slices[ordinal];

    if (slice->mine || slice->wanted)
        return;
    slice->wanted = true;
    tell(x, ordinal, SLICE_WANTED);
}

/* To be called when the owner of the slice, or whether the stream waits, may have changed. A launch that waits in
 * the session's own slice, until fewer are under way, does not count as waiting for it. */
static void note_turn(struct executor *x)
{
    const struct slice *slice = &x->slices[x->waits_for];

    if (x->traced)
        timeline_waits(x, x->waits_for, x->halted && slice->asks && !slice->mine);
}

static void give_back(struct executor *x, unsigned ordinal)
{
    struct slice *slice = &x->slices[ordinal];

    slice->mine = slice->recalled = false;
    slice->wanted = x->halted && x->waits_for == ordinal;
    note_turn(x);
    tell(x, ordinal, slice->wanted ? SLICE_YIELDED : SLICE_OVER);
}

static void forget(cl_event *event)
{
    if (*event)
        clReleaseEvent(*event);
    *event = NULL;
}

/* Nothing of the session runs on the device any more, as far as is known. */
static void completed(struct executor *x, unsigned ordinal)
{
    struct slice *slice = &x->slices[ordinal];
    const long now = clock_us(), took = now - slice->began_us;

    if (slice->began_us)
        slice->busy_us += took;
    slice->began_us = 0;
    if (slice->in_flight >= slice->most && took < BATCH_US / 2 && slice->most < MOST_BATCH)
        slice->most *= 2;
    else if (took > 2 * BATCH_US && slice->most > 1)
        slice->most /= 2;
    slice->in_flight = 0;
    slice->idle_us = now;
    slice->stalled = 0;
    forget(&slice->first);
    if (slice->recalled)
        give_back(x, ordinal);
    slices_go_on(x);
}

static void over(struct executor *x, struct job *job)
{
    struct watched *watched = (struct watched *)job;
    const unsigned ordinal = watched->ordinal;
    struct slice *slice = &x->slices[ordinal];
    const bool newest = watched->event == slice->newest;

    clReleaseEvent(watched->event);
    free(watched);
    slice->watching = false;
    if (newest) {
        forget(&slice->newest);
        completed(x, ordinal);
    } else {
        watch(x, ordinal);
    }
}

static void watch(struct executor *x, unsigned ordinal)
{
    struct slice *slice = &x->slices[ordinal];
    struct watched *watched = calloc(1, sizeof(*watched));

    if (!watched)
        executor_exhausted(x);
    if (!watched || slice->watching || !slice->newest) {
        free(watched);
        return;
    }
    *watched = (struct watched){.x = x, .ordinal = ordinal, .event = slice->newest};
    clRetainEvent(slice->newest);
    slice->watching = true;
    event_when(x, slice->newest, CL_COMPLETE, over, &watched->job);
}

void slice_launched(struct executor *x, const struct queue *queue, cl_event event)
{
    struct slice *slice = &x->slices[queue->ordinal];

    x->launches++;
    if (!slice->in_flight)
        slice->began_us = clock_us();
    slice->in_flight++;
    slice->moved_us = clock_us();
    clRetainEvent(event);
    if (!slice->first) {
        clRetainEvent(event);
        slice->first = event;
    }
    forget(&slice->newest);
    slice->newest = event;
    watch(x, queue->ordinal);
}

bool slice_may(struct executor *x, const struct queue *queue)
{
    struct slice *slice = &x->slices[queue->ordinal];

    if (!slice->asks)
        return true;
    if (slice->mine && !slice->recalled && slice->in_flight < slice->most)
        return true;
    want(x, queue->ordinal);
    x->waits_for = queue->ordinal;
    return false;
}

void slices_halt(struct executor *x)
{
    x->halted = true;
    note_turn(x);
}

void slices_go_on(struct executor *x)
{
    const struct slice *slice = &x->slices[x->waits_for];

    note_turn(x);
    if (x->halted && (!slice->asks || (slice->mine && !slice->recalled && slice->in_flight < slice->most)))
        executor_go_on(x);
}

/* A launch under way may wait for something that comes later in the stream: then it does not run, and keeps nobody
 * waiting. */
static void look_at_stalled(struct executor *x, unsigned ordinal, long now)
{
    struct slice *slice = &x->slices[ordinal];
    cl_int first;

    if (!slice->in_flight || now - slice->moved_us < (long)STALLED_US << slice->stalled)
        return;
    first = event_status(slice->first);
    if (first == CL_RUNNING || event_status(slice->newest) == CL_RUNNING)
        return;
    slice->moved_us = now;
    if (slice->recalled) {
        give_back(x, ordinal);
    } else if (x->halted && x->waits_for == ordinal && slice->mine) {
        /* if the first has not begun, none has; otherwise one in between may be running, and the limit grows slowly */
        if (first > CL_RUNNING)
            slice->most *= 2;
        else if (slice->stalled < MOST_STALLED)
            slice->stalled++;
        slice->most++;
        slices_go_on(x);
    }
}

long executor_slices(struct executor *x)
{
    const long now = clock_us();
    long next = 1000000;

    for (unsigned ordinal = 0; ordinal < SLICES; ordinal++) {
        struct slice *slice = &x->slices[ordinal];
        const bool idle = slice->asks && slice->mine && !slice->in_flight && !x->halted;

        if (idle && now - slice->idle_us >= LINGER_US) {
            give_back(x, ordinal);
        } else if (idle && next > LINGER_US) {
            next = LINGER_US;
        }
        if (slice->asks && slice->in_flight) {
            look_at_stalled(x, ordinal, now);
            if (next > STALLED_US)
                next = STALLED_US;
        }
    }
    return next;
}

void executor_slice(struct executor *x, unsigned ordinal, enum slice_note note)
{
    struct slice *slice = &x->slices[ordinal];

    if (ordinal >= SLICES)
        return;
    switch (note) {
    case SLICE_FREE:
        slice->asks = slice->mine = slice->wanted = slice->recalled = false;
        break;
    case SLICE_ASK:
        slice->asks = true;
        if (!slice->most)
            slice->most = 1;
        if (x->halted && x->waits_for == ordinal)
            want(x, ordinal);
        break;
    case SLICE_YOURS:
        slice->mine = true;
        slice->wanted = slice->recalled = false;
        slice->idle_us = clock_us();
        break;
    case SLICE_RECALLED:
        if (!slice->mine)
            return;
        slice->recalled = true;
        if (!slice->in_flight)
            give_back(x, ordinal);
        break;
    default:
        return;
    }
    slices_go_on(x);
}

void executor_usage(struct executor *x, struct executor_usage *usage)
{
    const long now = clock_us();

    *usage = (struct executor_usage){.launches = x->launches, .memory = atomic_load(&x->memory_used)};
    for (unsigned ordinal = 0; ordinal < SLICES; ordinal++) {
        struct slice *slice = &x->slices[ordinal];

        if (slice->in_flight) {
            slice->busy_us += now - slice->began_us;
            slice->began_us = now;
        }
        if (!slice->asks)
            usage->busy_us += slice->busy_us;
        slice->busy_us = 0;
    }
}
