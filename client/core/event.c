/* Events: status and times as the node reports them, callbacks, user events. */
#include <errno.h>

#include "client/core/deliver.h"
#include "client/core/event.h"
#include "client/core/halt.h"
#include "client/core/observer.h"
#include "client/core/per_process.h"
#include "client/core/session.h"
#include "client/core/stream.h"

/* ---- events ---- */

cl_event event_new(cl_context context, cl_command_queue queue, cl_command_type type)
{
    cl_event event = handle_begin(WIRE_EVENT);

    if (!event)
        return NULL;
    event->context = context;
    event->queue = queue;
    event->node = queue ? queue->node : context->node;
    node_set_add(&event->known, event->node->index);
    event->type = type;
    event->since = deliver_now_begun();
    if (queue && queue->properties & CL_QUEUE_PROFILING_ENABLE) {
        event->times[0] = times_read(CLOCK_MONOTONIC_RAW);
        event->times[1] = times_read(CLOCK_MONOTONIC);
    }
    handle_use(context);
    if (queue)
        handle_use(queue);
    atomic_store_explicit(&event->status, CL_QUEUED, memory_order_relaxed);
    handle_show(event);
    return event;
}

void event_unsent(cl_event event)
{
    session_lock(event->node->session);
    node_set_clear(&event->known);
    session_unlock(event->node->session);
}

cl_event event_over(cl_command_queue queue, cl_command_type type, const uint64_t times[4])
{
    cl_event event = event_new(queue->context, queue, type);

    if (!event)
        return NULL;
    node_set_clear(&event->known);
    event->has_times = queue->properties & CL_QUEUE_PROFILING_ENABLE;
    memcpy(event->times, times, sizeof(event->times));
    event->before = atomic_load(&queue->finished);
    atomic_store(&event->number, event->before);
    atomic_store(&event->status, CL_COMPLETE);
    return event;
}

static struct node *event_node(const struct object *object)
{
    return ((const struct _cl_event *)object)->node;
}

static cl_context event_context(const struct object *object)
{
    return ((const struct _cl_event *)object)->context;
}

/* An event is known to some nodes, or to none. */
static bool event_is_on(const struct object *object, const struct node *node)
{
    return node_set_has(&((const struct _cl_event *)object)->known, node->index);
}

/* Under the lock. */
static void add_callback(cl_event event, struct event_callback *callback)
{
    struct event_callback **at = &event->callbacks;

    if (!*at && event->queue)
        LIST_INSERT_HEAD(&event->queue->called, event, called);
    while (*at)
        at = &(*at)->next;
    *at = callback;
}

static struct event_callback *take_callback(cl_event event, struct event_callback **at)
{
    struct event_callback *callback = *at;

    *at = callback->next;
    if (!event->callbacks && event->queue)
        LIST_REMOVE(event, called);
    return callback;
}

static void event_destroy(struct object *object)
{
    cl_event event = (cl_event)object;
    cl_context context = event->context;
    cl_command_queue queue = event->queue;
    struct session *session = context->node->session;

    session_lock(session);
    while (event->callbacks) {
        free(take_callback(event, &event->callbacks));
        if (queue)
            deliver_returned(queue);
    }
    arrival_drop(event->arrival);
    if (!queue && event->type == CL_COMMAND_USER && !event->ended)
        atomic_fetch_sub(&context->unset, 1);
    if (event->expected && !atomic_load(&event->asked))
        atomic_fetch_and(&queue->eager, ~event_sort(event->type));
    node_set_clear(&event->known);
    handle_free(&event->object);
    session_unlock(session);
    if (queue)
        handle_drop(queue);
    handle_drop(context);
}

int event_check(cl_context context, cl_uint count, const cl_event *list)
{
    if (!count != !list)
        return -EINVAL;
    for (cl_uint i = 0; i < count; i++) {
        if (!handle_check(list[i], WIRE_EVENT))
            return -EINVAL;
        if (list[i]->context != context)
            return -EXDEV;
    }
    return 0;
}

/* Makes an event of another node known to the node. The other node sends it the event's end, unless that is known here.
 * Under the lock. */
static void import(struct node *node, cl_event event)
{
    const struct wire_import_event in = {event->object.id, event->context->object.id};
    const struct wire_export_event out = {event->object.id, node->peer};
    const struct wire_set_user_event over = {event->object.id, atomic_load(&event->status)};
    const size_t mark = node->batch.length;

    if (node_set_has(&event->known, node->index))
        return;
    if (!node_set_add(&event->known, node->index)) {
        node->batch.failed = true;
        return;
    }
    wire_put_import_event(&node->batch, &in);
    if (over.status <= CL_COMPLETE)
        wire_put_set_user_event(&node->batch, &over);
    if (node->batch.failed) {
        node->batch.length = mark;
        node_set_remove(&event->known, node->index);
    } else if (over.status > CL_COMPLETE) {
        wire_put_export_event(&event->node->batch, &out);
        observer_met(event->node, node);
        stream_finish(event->node, STREAM_SOON);
    }
}

uint32_t event_id(struct node *node, cl_event event)
{
    if (!event->queue)
        atomic_store(&event->waited, true);
    if (!node_set_has(&event->known, node->index)) {
        session_lock(node->session);
        import(node, event);
        session_unlock(node->session);
    }
    return event->object.id;
}

uint32_t *event_ids(struct node *node, cl_uint count, const cl_event *list, uint32_t *small, size_t small_count,
                    uint32_t *left)
{
    uint32_t *ids = count <= small_count ? small : malloc(count * sizeof(*ids));
    uint32_t waiting = 0;

    for (cl_uint i = 0; ids && i < count; i++) {
        if (atomic_load(&list[i]->status) != CL_COMPLETE)
            ids[waiting++] = event_id(node, list[i]);
    }
    if (ids)
        *left = waiting;
    return ids;
}

/* ---- changes of status ---- */

PER_PROCESS event_shower *_Atomic event_shows;

static void raise_to(atomic_uint_fast64_t *to, uint64_t number)
{
    uint64_t known = atomic_load(to);

    while (known < number && !atomic_compare_exchange_weak(to, &known, number))
        ;
}

void queue_finished(cl_command_queue queue, uint64_t number, bool well)
{
    if (well)
        raise_to(&queue->well, number);
    raise_to(&queue->finished, number);
}

struct delivery {
    struct callback callback;
    void(CL_CALLBACK *function)(cl_event, cl_int, void *);
};

static void run_delivery(struct callback *callback)
{
    if (callback->status <= CL_COMPLETE)
        atomic_store(&((cl_event)callback->handle)->shown, true);
    event_show();
    ((struct delivery *)callback)->function(callback->handle, callback->status, callback->data);
}

static void free_delivery(struct callback *callback)
{
    cl_event event = callback->handle;

    if (event->queue)
        deliver_returned(event->queue);
    handle_drop(callback->handle);
    free((struct delivery *)callback);
}

/* Calls a callback. A user event's are called by the thread that sets it, as natively. */
static void call_one(cl_event event, const struct event_callback *registered, cl_int status, bool here)
{
    struct session *session = event->node->session;
    struct delivery *delivery = calloc(1, sizeof(*delivery));

    if (!delivery)
        return;
    *delivery = (struct delivery){.callback = {.run = run_delivery,
                                               .free = free_delivery,
                                               .handle = event,
                                               .data = registered->data,
                                               .status = status < 0 ? status : registered->status,
                                               .id = event->object.id,
                                               .number = event->queue ? atomic_load(&event->number) : UINT64_MAX},
                                  .function = registered->function};
    if (here)
        deliver_here(session, &delivery->callback);
    else
        deliver(session, event->queue, &delivery->callback);
}

/* Calls the callbacks whose status has been reached: those for the first status first, and these in the order of
 * registration. */
static void call_back(cl_event event, cl_int status, bool here)
{
    for (cl_int reached = CL_SUBMITTED; reached >= CL_COMPLETE && reached >= status; reached--) {
        struct event_callback **at = &event->callbacks;

        while (*at) {
            struct event_callback *callback = *at;

            if (callback->status != reached) {
                at = &callback->next;
                continue;
            }
            take_callback(event, at);
            call_one(event, callback, status, here);
            free(callback);
            if (here) /* the lock was released meanwhile */
                at = &event->callbacks;
        }
    }
}

static void tell_queue(cl_event event)
{
    queue_finished(event->queue, event->before + (atomic_load(&event->number) == event->before + 1), true);
}

void event_number(cl_event event, uint64_t number)
{
    atomic_store(&event->number, number);
    if (atomic_load(&event->status) == CL_COMPLETE && queue_in_order(event->queue))
        tell_queue(event);
}

void event_become(cl_event event, cl_int status, bool here)
{
    const bool tells = status == CL_COMPLETE && event->queue && queue_in_order(event->queue);
    cl_int old = atomic_load(&event->status);

    if (old <= CL_COMPLETE || status >= old)
        return;
    if (tells)
        tell_queue(event); /* else another thread that sees the status would ask how far the queue is */
    atomic_store(&event->status, status);
    if (tells)
        tell_queue(event); /* it may have been numbered meanwhile: see event_number() */
    call_back(event, status, here);
}

static void arrived(void *argument)
{
    cl_event event = argument;
    const bool lost = event->end_status == CL_COMPLETE && event->node && !node_is_there(event->node);

    event_become(event, lost ? NODE_LOST_STATUS : event->end_status, false); /* lost: the data will never be there */
    handle_drop(event);
}

/* Handles the end of a command whose data have not all arrived. Other commands may depend on its failure, so a failed
 * one waits only for data that move by themselves. */
static void end_later(cl_event event, cl_int status)
{
    if (!event->ended || status < 0)
        event->end_status = status;
    if (event->ended)
        return;
    event->ended = true;
    handle_use(event);
    if (status < 0) {
        arrival_drop(event->arrival);
        event->arrival = transfers_moving(&session_under_way(event->node->session)->transfers);
    }
    arrival_then(event->arrival, &event->arrived, arrived, event);
}

void event_set_status(cl_event event, cl_int status, uint32_t time_count, const uint64_t *times)
{
    if (time_count == 4 && !event->has_times) {
        if (event->queue)
            times_learn(event->queue->device, event->times, times);
        memcpy(event->times, times, sizeof(event->times));
        event->has_times = true;
    }
    if (status > CL_COMPLETE || arrival_is_over(event->arrival))
        event_become(event, status, false);
    else
        end_later(event, status);
}

/* Fails an event of a lost node, also at other nodes where commands wait for it. A user event remains as long as one
 * node is left. */
static void lose_event(struct object *object, void *lost)
{
    cl_event event = (cl_event)object;
    const bool open = atomic_load(&event->status) > CL_COMPLETE; /* read first: the event may just be being made */
    cl_context context = open ? event->context : NULL;
    const struct wire_set_user_event m = {object->id, NODE_LOST_STATUS};

    if (!context || event->node != lost || (!event->queue && context->node_count > 1))
        return;
    event_become(event, m.status, false);
    for (unsigned i = 0; i < context->node_count; i++) {
        struct node *node = context->nodes[i];

        if (node != lost && node->alive && node_set_has(&event->known, node->index)) {
            wire_put_set_user_event(&node->batch, &m);
            session_need_progress(node->session);
        }
    }
}

void event_lose(struct node *node)
{
    handle_each(WIRE_EVENT, lose_event, node);
}

int event_call(cl_event event, cl_int status, void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *data)
{
    struct event_callback *callback = malloc(sizeof(*callback));
    struct node *node;

    if (!callback)
        return -ENOMEM;
    *callback = (struct event_callback){NULL, status, function, data};
    handle_use(event); /* the callback's use, as the application may release the event */
    if (event->queue)
        deliver_registered(event->queue);
    node = event->node;
    session_lock(node->session);
    add_callback(event, callback);
    if (atomic_load(&event->status) <= status)
        call_back(event, atomic_load(&event->status), false);
    event_subscribe(event, SUBSCRIBE_COMPLETE | 1u << status);
    stream_push(node);
    session_need_progress(node->session);
    session_unlock(node->session);
    return 0;
}

/* ---- user events ---- */

static int user_event_create_on(struct object *object, struct node *node)
{
    cl_event event = (cl_event)object;
    const struct wire_create_user_event m = {.event = object->id, .context = event->context->object.id};
    struct wire_buffer *out = stream_begin(node);

    if (!node_set_add(&event->known, node->index)) {
        session_unlock(node->session);
        return -ENOMEM;
    }
    wire_put_create_user_event(out, &m);
    return stream_end(node, STREAM_LATER);
}

int user_event_new(cl_context context, cl_event *out)
{
    HALT_GUARD;
    cl_event event = event_new(context, NULL, CL_COMMAND_USER);
    int error;

    if (!event)
        return -ENOMEM;
    atomic_store(&event->status, CL_SUBMITTED);
    atomic_fetch_add(&context->unset, 1);
    node_set_clear(&event->known);
    error = handle_create(&event->object);
    if (error)
        handle_release(event, WIRE_EVENT, 0);
    else
        *out = event;
    return error;
}

int user_event_set(cl_event event, cl_int status)
{
    const struct wire_set_user_event m = {event->object.id, status};
    struct node *node = event->node;
    int error = -EALREADY;

    handle_use(event); /* a callback of it may release it */
    session_lock(node->session);
    if (!event->ended) {
        event->ended = true;
        atomic_fetch_sub(&event->context->unset, 1);
        for (unsigned i = 0; i < event->context->node_count; i++) {
            struct node *each = event->context->nodes[i];
            int one;

            if (!each->suspended) /* a suspended one gets the status when a command there has to wait for it */
                wire_put_set_user_event(&each->batch, &m);
            one = each->suspended ? 0 : stream_finish(each, STREAM_NOW);
            error = i == 0 || error ? one : 0;
        }
        session_news(node->session);
        event_become(event, status, true);
    }
    session_unlock(node->session);
    handle_drop(event);
    return error;
}

const struct kind event_kind = {
    .size = sizeof(struct _cl_event),
    .node = event_node,
    .context = event_context,
    .is_on = event_is_on,
    .create_on = user_event_create_on,
    .destroy = event_destroy,
};

/* ---- when a node moves ---- */

static void ask_one(struct object *object, void *argument)
{
    cl_event event = (cl_event)object;
    unsigned *count = argument;

    if (atomic_load(&event->status) <= CL_COMPLETE || !event->queue || atomic_load(&object->uses) == USES_RELEASED)
        return;
    (*count)++;
    event_ask(event);
}

unsigned event_ask_all(void)
{
    unsigned count = 0;

    handle_each(WIRE_EVENT, ask_one, &count);
    return count;
}

static void find_open(struct object *object, void *argument)
{
    cl_event event = (cl_event)object;

    *(bool *)argument |= atomic_load(&event->status) > CL_COMPLETE && !event->queue && atomic_load(&event->waited);
}

bool event_any_open(void)
{
    bool any = false;

    handle_each(WIRE_EVENT, find_open, &any);
    return any;
}

struct going {
    struct node *node, *target;
};

static void event_go(struct object *object, void *argument)
{
    const struct going *going = argument;
    cl_event event = (cl_event)object;
    struct wire_create_user_event m = {.event = object->id};

    if (!node_set_has(&event->known, going->node->index) || atomic_load(&object->uses) == USES_RELEASED)
        return;
    if (event->queue || event->ended) { /* a node where a command waits for it later gets its status */
        node_set_remove(&event->known, going->node->index);
        if (going->node->observer)
            going->node->observer->forgotten(going->node, WIRE_EVENT, object->id);
        return;
    }
    if (going->node->observer) /* its journal has the event already, and gets this command, too */
        going->node->observer->forgotten(going->node, WIRE_EVENT, object->id);
    m.context = event->context->object.id;
    wire_put_create_user_event(&going->target->batch, &m);
}

void event_move(struct node *node, struct node *target)
{
    struct going going = {node, target};

    handle_each(WIRE_EVENT, event_go, &going);
}
