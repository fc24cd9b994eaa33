/*
 * Launches on devices that the session shares with others, whose daemon says whose turn it is. While it is not this
 * session's, the stream of commands waits before its next launch. What is enqueued natively is kept short, so that a
 * turn can be given back soon: so many launches at a time as take some milliseconds.
 *
 * Of what runs on a device only the newest launch is watched: its queue's others are over before it.
 */
#include "base/clock.h"
#include "executor/internal.h"

#define BATCH_US 4000   /* about what is enqueued at a time */
#define MOST_BATCH 4096 /* launches */
#define LINGER_US 300   /* an idle session keeps its turn, for the next launch may be under way */
#define STALLED_US 20000
#define MOST_STALLED 4 /* doublings of that */

struct watched {
    struct job job;
    struct executor *x;
    unsigned place;
    cl_event event;
};

static void watch(struct executor *x, unsigned place);

static void tell(struct executor *x, unsigned place, enum turn_note note)
{
    x->host.turn(x->host.owner, place, note);
}

static void want(struct executor *x, unsigned place)
{
    struct turn *turn = &x->turns[place];

    if (turn->mine || turn->wanted)
        return;
    turn->wanted = true;
    tell(x, place, TURN_WANTED);
}

static void give_back(struct executor *x, unsigned place)
{
    struct turn *turn = &x->turns[place];

    turn->mine = turn->recalled = false;
    turn->wanted = x->gated && x->waits_for == place;
    tell(x, place, turn->wanted ? TURN_YIELDED : TURN_OVER);
}

static void forget(cl_event *event)
{
    if (*event)
        clReleaseEvent(*event);
    *event = NULL;
}

/* Nothing of the session runs on the device, as far as is known. */
static void landed(struct executor *x, unsigned place)
{
    struct turn *turn = &x->turns[place];
    const long now = clock_us(), took = now - turn->began_us;

    if (turn->began_us)
        turn->busy_us += took;
    turn->began_us = 0;
    if (turn->flying >= turn->most && took < BATCH_US / 2 && turn->most < MOST_BATCH)
        turn->most *= 2;
    else if (took > 2 * BATCH_US && turn->most > 1)
        turn->most /= 2;
    turn->flying = 0;
    turn->idle_us = now;
    turn->stalled = 0;
    forget(&turn->first);
    if (turn->recalled)
        give_back(x, place);
    turns_go_on(x);
}

static void over(struct executor *x, struct job *job)
{
    struct watched *watched = (struct watched *)job;
    const unsigned place = watched->place;
    struct turn *turn = &x->turns[place];
    const bool newest = watched->event == turn->newest;

    clReleaseEvent(watched->event);
    free(watched);
    turn->watching = false;
    if (newest) {
        forget(&turn->newest);
        landed(x, place);
    } else {
        watch(x, place);
    }
}

static void watch(struct executor *x, unsigned place)
{
    struct turn *turn = &x->turns[place];
    struct watched *watched = calloc(1, sizeof(*watched));

    if (!watched || turn->watching || !turn->newest) {
        free(watched);
        return;
    }
    *watched = (struct watched){.x = x, .place = place, .event = turn->newest};
    clRetainEvent(turn->newest);
    turn->watching = true;
    event_when(x, turn->newest, CL_COMPLETE, over, &watched->job);
}

void turn_launched(struct executor *x, const struct queue *queue, cl_event event)
{
    struct turn *turn = &x->turns[queue->place];

    x->launches++;
    if (!turn->flying)
        turn->began_us = clock_us();
    turn->flying++;
    turn->moved_us = clock_us();
    clRetainEvent(event);
    if (!turn->first) {
        clRetainEvent(event);
        turn->first = event;
    }
    forget(&turn->newest);
    turn->newest = event;
    watch(x, queue->place);
}

bool turn_may(struct executor *x, const struct queue *queue)
{
    struct turn *turn = &x->turns[queue->place];

    if (!turn->asks)
        return true;
    if (turn->mine && !turn->recalled && turn->flying < turn->most)
        return true;
    want(x, queue->place);
    x->waits_for = queue->place;
    return false;
}

void turns_go_on(struct executor *x)
{
    const struct turn *turn = &x->turns[x->waits_for];

    if (x->gated && (!turn->asks || (turn->mine && !turn->recalled && turn->flying < turn->most)))
        executor_ungate(x);
}

static cl_int state_of(cl_event event)
{
    cl_int status = CL_COMPLETE;

    if (event)
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    return status;
}

/* What was launched may wait for something that comes later in the stream: then it does not run, and holds nobody up.
 */
static void look_at_stalled(struct executor *x, unsigned place, long now)
{
    struct turn *turn = &x->turns[place];
    cl_int first;

    if (!turn->flying || now - turn->moved_us < (long)STALLED_US << turn->stalled)
        return;
    first = state_of(turn->first);
    if (first == CL_RUNNING || state_of(turn->newest) == CL_RUNNING)
        return;
    turn->moved_us = now;
    if (turn->recalled) {
        give_back(x, place);
    } else if (x->gated && x->waits_for == place && turn->mine) {
        /* if the first has not begun, none has; else one in between may run, and this goes slowly */
        if (first > CL_RUNNING)
            turn->most *= 2;
        else if (turn->stalled < MOST_STALLED)
            turn->stalled++;
        turn->most++;
        turns_go_on(x);
    }
}

long executor_turns(struct executor *x)
{
    const long now = clock_us();
    long next = 1000000;

    for (unsigned place = 0; place < TURNS; place++) {
        struct turn *turn = &x->turns[place];
        const bool idle = turn->asks && turn->mine && !turn->flying && !x->gated;

        if (idle && now - turn->idle_us >= LINGER_US) {
            give_back(x, place);
        } else if (idle && next > LINGER_US) {
            next = LINGER_US;
        }
        if (turn->asks && turn->flying) {
            look_at_stalled(x, place, now);
            if (next > STALLED_US)
                next = STALLED_US;
        }
    }
    return next;
}

void executor_turn(struct executor *x, unsigned place, enum turn_note note)
{
    struct turn *turn = &x->turns[place];

    if (place >= TURNS)
        return;
    switch (note) {
    case TURN_FREE:
        turn->asks = turn->mine = turn->wanted = turn->recalled = false;
        break;
    case TURN_ASK:
        turn->asks = true;
        if (!turn->most)
            turn->most = 1;
        if (x->gated && x->waits_for == place)
            want(x, place);
        break;
    case TURN_YOURS:
        turn->mine = true;
        turn->wanted = turn->recalled = false;
        turn->idle_us = clock_us();
        break;
    case TURN_RECALLED:
        if (!turn->mine)
            return;
        turn->recalled = true;
        if (!turn->flying)
            give_back(x, place);
        break;
    default:
        return;
    }
    turns_go_on(x);
}

void executor_usage(struct executor *x, struct executor_usage *usage)
{
    const long now = clock_us();

    *usage = (struct executor_usage){.launches = x->launches, .memory = atomic_load(&x->memory_used)};
    for (unsigned place = 0; place < TURNS; place++) {
        struct turn *turn = &x->turns[place];

        if (turn->flying) {
            turn->busy_us += now - turn->began_us;
            turn->began_us = now;
        }
        if (!turn->asks)
            usage->busy_us += turn->busy_us;
        turn->busy_us = 0;
    }
}
