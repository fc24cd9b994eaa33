/* Events, and the common parts of every enqueued command: its wait list, its event, its failure. */
#include <stdio.h>

#include "executor/internal.h"

/* ---- waiting for native events ---- */

/* Referenced by the executor's list and by the native callback, if there is one: PoCL calls no callback when a command
 * fails, and other drivers call late (driver.h), so the list is checked when the worker has nothing else to do. */
struct wait {
    struct job job;
    TAILQ_ENTRY(wait) in;
    struct executor *x;
    struct job *then;
    cl_event event;
    cl_int state;
    bool late;
    unsigned checks; /* that found it not over, before the driver is asked to call */
    atomic_bool fired;
    atomic_int holders;
};

static void wait_drop(struct wait *wait)
{
    if (atomic_fetch_sub(&wait->holders, 1) == 1)
        free(wait);
}

/* On the loop's thread. Releases the event at once: kept longer it could outlive the object that it belongs to, in
 * which case PoCL fails. */
static void wait_done(struct executor *x, struct job *job)
{
    struct wait *wait = (struct wait *)job;

    if (x->look_next == wait)
        x->look_next = TAILQ_NEXT(wait, in);
    TAILQ_REMOVE(&x->waits, wait, in);
    x->late_waits -= wait->late;
    clReleaseEvent(wait->event);
    wait->then->run(x, wait->then);
    wait_drop(wait);
}

static void wait_fire(struct wait *wait)
{
    if (!atomic_exchange(&wait->fired, true))
        executor_finish(wait->x, &wait->job);
}

static void CL_CALLBACK reached(cl_event event, cl_int status, void *argument)
{
    (void)event;
    (void)status;
    wait_fire(argument);
    wait_drop(argument);
}

cl_int event_status(cl_event event)
{
    cl_int status = event ? CL_QUEUED : CL_COMPLETE, error = CL_SUCCESS;

    if (event)
        error = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    return error ? error : status;
}

static void ask_driver(struct wait *wait)
{
    atomic_fetch_add(&wait->holders, 1);
    if (clSetEventCallback(wait->event, wait->state, reached, wait) != CL_SUCCESS) {
        wait_fire(wait);
        wait_drop(wait);
    } else if (driver_flush_waits(wait->event) && event_status(wait->event) <= wait->state) {
        wait_fire(wait); /* oclgrind calls no callback for an event that is over */
    }
}

/* Runs a job on the loop's thread when a native event reaches a state, or fails. */
void event_when(struct executor *x, cl_event event, cl_int state, void (*run)(struct executor *, struct job *),
                struct job *job)
{
    struct wait *wait = calloc(1, sizeof(*wait));

    job->run = run;
    if (!wait) { /* nobody would learn of the event's end */
        executor_exhausted(x);
        return;
    }
    clRetainEvent(event);
    *wait = (struct wait){
        .job.run = wait_done, .x = x, .then = job, .event = event, .state = state, .late = driver_calls_late(event)};
    atomic_init(&wait->holders, 1);
    TAILQ_INSERT_TAIL(&x->waits, wait, in);
    x->late_waits += wait->late;
    if (!wait->late)
        ask_driver(wait);
}

static bool is_over(const struct wait *wait)
{
    const cl_int status = atomic_load(&wait->fired) ? CL_QUEUED : event_status(wait->event);

    return status < 0 || (wait->late && status <= wait->state);
}

static bool wait_look(struct wait *wait)
{
    if (!is_over(wait) || atomic_exchange(&wait->fired, true))
        return false;
    executor_finish_here(wait->x, &wait->job);
    return true;
}

/* Where the list is checked all the time a callback is of use only for what takes long, and costs the driver a thread's
 * turn. */
#define CHECKS 8

int executor_check(struct executor *x)
{
    struct wait *wait;
    int count = 0;

    if (x->traced)
        timeline_tell(x);
    TAILQ_FOREACH (wait, &x->waits, in) {
        if (wait_look(wait))
            count++;
        else if (wait->late && wait->checks < CHECKS && ++wait->checks == CHECKS)
            ask_driver(wait);
    }
    return count;
}

/* Checking all events in every turn of the loop would take all its time. So each turn checks the oldest, which are
 * likely to end next, and looks at some of the others in turn, as the oldest may be waiting for these. If one of them
 * is over, all are checked, so that the ends of a queue's commands are seen in order. */
#define MOST_LOOKED 4

static bool others_are_over(struct executor *x, struct wait *behind)
{
    struct wait *wait = x->look_next ? x->look_next : behind;
    bool over = false;

    for (unsigned i = 0; i < MOST_LOOKED && wait; i++) {
        over |= is_over(wait);
        wait = TAILQ_NEXT(wait, in);
    }
    x->look_next = wait;
    return over;
}

void event_look(struct executor *x)
{
    unsigned left = MOST_LOOKED;
    struct wait *wait;

    if (!x->late_waits)
        return;
    TAILQ_FOREACH (wait, &x->waits, in) {
        if (!left-- && !others_are_over(x, wait))
            break;
        wait_look(wait);
    }
}

bool executor_told_late(const struct executor *x)
{
    return x->late_waits;
}

#define LOOK_US 500
#define MOST_LOOK_US 1000000
#define LOOK_LATE_US 20

/* An event that is seen late is seen late by an eighth of its duration. */
long executor_look_us(const struct executor *x, long idle_us)
{
    if (TAILQ_EMPTY(&x->waits))
        return 0;
    if (x->late_waits)
        return idle_us / 8 > LOOK_LATE_US ? idle_us / 8 : LOOK_LATE_US;
    return idle_us < LOOK_US ? LOOK_US : idle_us < MOST_LOOK_US ? idle_us : MOST_LOOK_US;
}

/* ---- reporting to the application ---- */

struct subscription {
    struct job job;
    uint32_t id;
    cl_event event;
    cl_int state;
    bool failure; /* only a failure is reported */
};

static void send_status(struct executor *x, uint32_t id, cl_int status, cl_event event)
{
    static const cl_profiling_info infos[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                              CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    const struct event *object = object_get(x, WIRE_EVENT, id);
    const cl_event begin = object && object->begin ? object->begin : event;
    struct wire_event_status m = {.event = id, .status = status};
    struct wire_buffer out = {0};
    cl_ulong time;

    for (int i = 0; event && status == CL_COMPLETE && i < 4; i++) {
        if (clGetEventProfilingInfo(i < 3 ? begin : event, infos[i], sizeof(time), &time, NULL))
            break;
        m.times[m.times_count++] = time;
    }
    if (m.times_count != 4)
        m.times_count = 0;
    wire_put_event_status(&out, &m);
    executor_send(x, &out);
}

void event_queue_failed(struct executor *x, uint32_t queue, cl_int error)
{
    struct wire_queue_error m = {queue, error};
    struct wire_buffer out = {0};

    wire_put_queue_error(&out, &m);
    executor_send(x, &out);
}

/* Whether a command has failed and that is yet to be reported. */
static bool failure_waits(struct executor *x)
{
    const struct wait *wait;

    executor_check(x);
    TAILQ_FOREACH (wait, &x->waits, in) {
        if (atomic_load(&wait->fired) && event_status(wait->event) < 0)
            return true;
    }
    return false;
}

static void tell(struct executor *x, struct job *job)
{
    struct subscription *subscription = (struct subscription *)job;
    const struct event *object = object_get(x, WIRE_EVENT, subscription->id);
    cl_int status = event_status(subscription->event);

    /* A failure of a command before it is reported first: see command_end(). */
    if (x->gate_failed && status == CL_COMPLETE && failure_waits(x)) {
        executor_finish(x, job);
        return;
    }
    /* The application keeps no event that was subscribed to for failures only, and the number may be another
     * event's. */
    if (object && object->native == subscription->event && (status < 0 || !subscription->failure)) {
        if (status > subscription->state)
            status = subscription->state;
        if (status < 0 && !x->gate_failed && object->queue_id && driver_finish_fails(subscription->event))
            event_queue_failed(x, object->queue_id, status); /* the device itself has failed */
        send_status(x, subscription->id, status, subscription->event);
    }
    clReleaseEvent(subscription->event);
    free(subscription);
}

static void subscribe_to(struct executor *x, uint32_t id, cl_event event, cl_int state, bool failure)
{
    struct subscription *subscription = malloc(sizeof(*subscription));

    if (!subscription) {
        executor_exhausted(x);
        return;
    }
    *subscription = (struct subscription){.id = id, .event = event, .state = state, .failure = failure};
    clRetainEvent(event);
    event_when(x, event, state, tell, &subscription->job);
}

static void subscribe(struct executor *x, uint32_t id, cl_event event, uint32_t mask)
{
    for (cl_int state = CL_SUBMITTED; state >= CL_COMPLETE; state--) {
        if (mask & 1u << state)
            subscribe_to(x, id, event, state, false);
    }
}

int exec_subscribe_event(struct executor *x, const struct exec_subscribe_event *m)
{
    if (m->event->error)
        send_status(x, m->event->id, m->event->error, NULL);
    else
        subscribe(x, m->event->id, m->event->native, m->mask);
    return 0;
}

/* ---- user events ---- */

int exec_create_user_event(struct executor *x, const struct exec_create_user_event *m)
{
    struct event *event = m->event;

    (void)x;
    event->error = m->context->error;
    event->context_id = m->context->id;
    event->user = true;
    if (!event->error)
        event->native = clCreateUserEvent(m->context->native, &event->error);
    return 0;
}

void event_complete(struct executor *x, struct event *event, cl_int status)
{
    if (event->completed || !is_usable(event))
        return;
    event->completed = true;
    x->gate_failed |= status < 0;
    clSetUserEventStatus(event->native, status < 0 ? status : CL_COMPLETE);
    gate_end(&event->gate);
}

struct late {
    struct job job;
    struct event *event;
    cl_int status;
};

static void complete_now(struct executor *x, struct job *job)
{
    struct late *late = (struct late *)job;

    late->event->late = false;
    event_complete(x, late->event, late->status);
    if (late->event->released)
        object_drop(x, WIRE_EVENT, &late->event->object);
    free(late);
}

void event_release_late(struct executor *x, struct event *event)
{
    object_take(x, WIRE_EVENT, &event->object);
    event->released = true;
}

/* Completes a user event only after the writes that the application believes to be complete. */
static bool complete_late(struct executor *x, struct event *event, cl_int status)
{
    const struct context *context = object_get(x, WIRE_CONTEXT, event->context_id);
    struct late *late;

    if (!context || !context->order.event)
        return false;
    late = malloc(sizeof(*late));
    if (!late) {
        executor_exhausted(x);
        return true;
    }
    *late = (struct late){.event = event, .status = status};
    event->late = order_when(x, context, complete_now, &late->job);
    if (!event->late)
        free(late);
    return event->late;
}

int exec_set_user_event(struct executor *x, const struct exec_set_user_event *m)
{
    if (m->status > CL_COMPLETE)
        return -EBADMSG;
    if (!m->event->late && !complete_late(x, m->event, m->status))
        event_complete(x, m->event, m->status);
    return 0;
}

/* ---- commands ---- */

static struct gates *gates_of(struct command *c, bool make)
{
    struct context *context = object_get(c->x, WIRE_CONTEXT, c->queue->context_id);

    if (context && !context->gates && make)
        context->gates = gates_new();
    if (context && !context->gates && make)
        executor_exhausted(c->x);
    return context ? context->gates : NULL;
}

void command_gate(struct command *c, struct gate *gate, bool of_event)
{
    c->gates = gates_of(c, true);
    if (!c->gates)
        return;
    gate_begin(c->gates, gate, of_event);
    c->behind = c->gates;
}

void command_hold(struct command *c, cl_event event)
{
    if (!c->behind)
        return;
    if (!gates_hold(c->gates, event, &c->newest))
        executor_exhausted(c->x);
    c->queue->behind = c->newest;
}

void command_when(struct command *c, cl_event event, void (*run)(struct executor *, struct job *), struct job *job)
{
    command_hold(c, event);
    event_when(c->x, event, CL_COMPLETE, run, job);
}

bool command_wait(struct command *c, cl_event event)
{
    cl_event *more;

    for (uint32_t i = 0; i < c->wait_count; i++) {
        if (c->wait[i] == event)
            return true;
    }
    if (c->wait_count == c->room) {
        more = malloc(2 * c->room * sizeof(*more));
        if (!more)
            return false;
        memcpy(more, c->wait, c->wait_count * sizeof(*more));
        if (c->wait != c->small)
            free(c->wait);
        c->wait = more;
        c->room *= 2;
    }
    c->wait[c->wait_count++] = event;
    return true;
}

/* Makes the native wait list. */
static int resolve_waits(struct command *c, const uint32_t *wait, uint32_t count)
{
    c->room = count < 8 ? 8 : count + 1; /* one more for order.c */
    c->wait = count < 8 ? c->small : malloc(c->room * sizeof(cl_event));
    if (!c->wait)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        struct event *other = object_get(c->x, WIRE_EVENT, wait[i]);

        if (!other)
            return -EBADMSG;
        /* native OpenCL would wait for ever for a failed event */
        if (!is_usable(other) || event_status(other->native) < 0)
            c->error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        else
            c->wait[c->wait_count++] = other->native;
        if (other->user && !other->completed && !other->gate.gates)
            order_gated(c);
        if ((other->imported || other->user) && !other->completed)
            command_gate(c, &other->gate, true);
        else if (gates_may_fail(c->gates, other->behind))
            c->behind = true;
    }
    return 0;
}

int command_begin(struct command *c, struct executor *x, uint32_t queue, uint32_t event, uint32_t subscribe_mask,
                  const uint32_t *wait, uint32_t wait_count)
{
    int bad;

    *c = (struct command){.x = x,
                          .queue = object_get(x, WIRE_QUEUE, queue),
                          .wait = c->small,
                          .subscribe = subscribe_mask,
                          .listed = wait_count};
    if (!c->queue || subscribe_mask > (7 | WIRE_ORDERS))
        return -EBADMSG;
    if (x->recording && (event || subscribe_mask || wait_count))
        return -EBADMSG;
    c->last = c->queue->last;
    c->queue->last = NULL;
    c->recording = x->recording ? x->recording->recording : NULL;
    c->error = c->queue->error;
    c->gates = gates_of(c, false);
    c->behind = gates_may_fail(c->gates, c->queue->behind);
    bad = resolve_waits(c, wait, wait_count);
    if (bad)
        return bad;
    if (event) {
        c->object = object_new(x, WIRE_EVENT, event);
        if (!c->object)
            return -EBADMSG;
    }
    if (!c->recording)
        order_before(c);
    if (subscribe_mask & WIRE_ORDERS)
        c->orders = order_needs(c);
    c->ask = event || c->behind || c->queue->lazy || c->orders || x->traced ? &c->event : NULL;
    executor_flush_later(x, c->queue);
    return 0;
}

void command_begin_own(struct command *c, struct executor *x, struct queue *queue, cl_event wait)
{
    *c = (struct command){.x = x, .queue = queue, .wait = c->small, .room = 8, .wait_count = wait != NULL};
    c->small[0] = wait;
}

void command_end_own(struct command *c)
{
    if (c->moving)
        arbitration_enqueued(c);
    if (!c->error && c->event)
        clReleaseEvent(c->event);
}

/* Reports a failure; the application's call that enqueued the command has returned long ago. */
static void tell_failure(const struct command *c)
{
    char text[128];

    if (c->error != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST &&
        object_get(c->x, WIRE_CONTEXT, c->queue->context_id)) {
        snprintf(text, sizeof(text), "%s failed on the node with error %d", c->x->command, c->error);
        context_tell(c->x, c->queue->context_id, text);
    }
    if (c->object) { /* also unasked: when a later command is over, a command without a report counts as successful */
        send_status(c->x, c->object->id, c->error, NULL);
        return;
    }
    event_queue_failed(c->x, c->queue->id, c->error);
}

/* Makes the native event the application's, or notes that it failed. */
static void keep_event(const struct command *c)
{
    struct event *event = c->object;

    if (!event && c->begin)
        clReleaseEvent(c->begin);
    if (!event)
        return;
    event->error = c->error;
    event->native = c->error ? NULL : c->event;
    event->begin = c->begin;
    event->behind = c->newest;
    event->queue_id = c->queue->id;
}

/* Whether the command may fail although nobody subscribed to its end: the application takes a command for successful
 * when a later one was, and no failure of it was reported. */
static bool may_fail_unasked(const struct command *c)
{
    return c->behind && gates_of_events(c->gates) && !(c->subscribe & 1u << CL_COMPLETE);
}

int command_end(struct command *c, int bad)
{
    if (c->wait != c->small)
        free(c->wait);
    if (c->last)
        clReleaseEvent(c->last);
    if (bad)
        return bad;
    if (!c->error && c->event)
        command_hold(c, c->event);
    if (!c->error && c->event && c->queue->lazy)
        lazy_add(c);
    if (!c->error && c->event && c->orders)
        order_after(c);
    if (c->moving)
        arbitration_enqueued(c);
    if (c->traced)
        timeline_enqueued(c);
    if (!c->error && c->event && !c->object)
        clReleaseEvent(c->event);
    if (c->recording) {
        recording_end(c->x->recording, c->error);
        return 0;
    }
    keep_event(c);
    if (c->error)
        tell_failure(c);
    else if (c->object && c->subscribe)
        subscribe(c->x, c->object->id, c->event, c->subscribe);
    if (!c->error && c->object && c->event && may_fail_unasked(c))
        subscribe_to(c->x, c->object->id, c->event, CL_COMPLETE, true);
    return 0;
}
