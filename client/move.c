/*
 * A node goes to another process of the session, a spare member. The node stays what the program's objects hang on;
 * what changes is the member behind it:
 *
 *  - calls are halted (halt.c), and all that was enqueued ends;
 *  - every object of the node is made again at the target, under its number, by its kind's create_on();
 *  - contents go from member to member;
 *  - the node and the spare node change their members, in one moment under the session's lock;
 *  - the member that is spare now forgets all its objects.
 *
 * Up to the change nothing that the program has is touched: if anything fails the target forgets what it was given, and
 * the program goes on where it was.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "client/client.h"

#define PATIENCE_NS 10000000000 /* for what was enqueued */
#define GATED_NS 50000000       /* while the program has a user event that it may have to set first */
#define LOOK_NS 100000
#define SHARE ((size_t)16 << 20) /* of contents, that goes at a time */
#define UNDER_WAY 4              /* so many */
#define ASKED 64                 /* outcomes at a time */

/* What was enqueued in a queue before the halt ends with this. */
struct end {
    cl_command_queue queue;
    cl_event event;
    uint64_t number;
};

struct move {
    struct session *session;
    struct node *node, *target;
    char *reason;
    size_t reason_size;
    struct object **objects; /* in the order in which they are made; each is used */
    unsigned count, room, failed;
    struct end *ends;
    unsigned end_count, end_room;
    uint64_t bytes;
};

static pthread_mutex_t moving = PTHREAD_MUTEX_INITIALIZER;

static int refuse(struct move *m, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int refuse(struct move *m, int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(m->reason, m->reason_size, format, arguments);
    va_end(arguments);
    return error;
}

static void look_again_later(void)
{
    const struct timespec while_ = {0, LOOK_NS};

    nanosleep(&while_, NULL);
}

/* ---- all that was enqueued ends ---- */

static void add_end(struct object *object, void *argument)
{
    struct move *m = argument;
    cl_command_queue queue = (cl_command_queue)object;
    struct end *more;

    if (!queue->node || !queue->node->alive || atomic_load(&queue->enqueued) <= atomic_load(&queue->finished))
        return;
    if (m->end_count == m->end_room) {
        more = realloc(m->ends, (m->end_room * 2 + 16) * sizeof(*more));
        m->failed += !more;
        if (!more)
            return;
        m->ends = more;
        m->end_room = m->end_room * 2 + 16;
    }
    if (handle_try_use(object))
        m->ends[m->end_count++] = (struct end){.queue = queue, .number = atomic_load(&queue->enqueued)};
}

/* A marker for each queue that has something under way. */
static void put_ends(struct move *m)
{
    for (unsigned i = 0; i < m->end_count; i++) {
        struct end *end = &m->ends[i];
        struct wire_enqueue_marker marker = {.queue = end->queue->object.id, .want = 1u << CL_COMPLETE};

        end->event = event_new(end->queue->context, end->queue, CL_COMMAND_MARKER);
        m->failed += !end->event;
        if (!end->event)
            continue;
        end->event->before = end->number;
        end->event->wanted = marker.want;
        marker.event = end->event->object.id;
        wire_put_enqueue_marker(stream_begin(end->queue->node), &marker);
        stream_end(end->queue->node, STREAM_NOW);
    }
}

static void drop_ends(struct move *m)
{
    while (m->end_count) {
        struct end *end = &m->ends[--m->end_count];

        if (end->event && atomic_load(&end->event->status) <= CL_COMPLETE)
            queue_finished(end->queue, end->number, atomic_load(&end->event->status) == CL_COMPLETE);
        if (end->event)
            handle_release(end->event, WIRE_EVENT, 0);
        handle_drop(end->queue);
    }
}

static bool ends_reached(const struct move *m)
{
    for (unsigned i = 0; i < m->end_count; i++) {
        if (m->ends[i].event && atomic_load(&m->ends[i].event->status) > CL_COMPLETE)
            return false;
    }
    return true;
}

/* What is missing, or NULL. Under the lock. */
static const char *what_is_missing(const struct move *m)
{
    const struct under_way *under_way = session_under_way(m->session);

    if (event_ask_all())
        return "a command that does not end";
    if (!ends_reached(m))
        return "a command that does not end";
    if (under_way->transfers)
        return "data that are on their way";
    if (host_command_any())
        return "a command that the program carries out";
    if (under_way->calls)
        return "a question that is not answered yet";
    if (block_any_leaving() || destructor_any())
        return "a memory object whose end is not told yet";
    return NULL;
}

static const char *look(struct move *m)
{
    const char *missing;

    session_lock(m->session);
    missing = what_is_missing(m);
    for (unsigned i = 0; i < session_node_count(m->session); i++)
        stream_push(session_node(m->session, i));
    session_need_progress(m->session);
    session_unlock(m->session);
    return missing;
}

/* Until nothing is under way; new calls do not begin. */
static int wait_quiet(struct move *m, long since)
{
    const char *missing = "a call that does not end";
    long patience;

    for (;;) {
        if (!m->node->alive || !m->target->alive)
            return refuse(m, -ECONNRESET, "a worker was lost");
        if (!halt_any_inside() && !(missing = look(m)))
            return 0;
        if (session_stops(m->session))
            return refuse(m, -EBUSY, "the program ends");
        patience = event_any_open() && !host_command_any() ? GATED_NS : PATIENCE_NS;
        if (clock_ns() - since > patience)
            return refuse(m, -EBUSY, "%s%s", missing,
                          patience == GATED_NS ? ", perhaps for a user event that the program has yet to set" : "");
        look_again_later();
    }
}

static bool still_busy(struct move *m)
{
    session_lock(m->session);
    handle_each(WIRE_QUEUE, add_end, m);
    session_unlock(m->session);
    return m->end_count;
}

static int quiesce(struct move *m)
{
    const long since = clock_ns();
    int error;

    do {
        halt_set(HALT_PROGRAM);
        while (halt_any_inside() && clock_ns() - since < PATIENCE_NS && !session_stops(m->session)) {
            session_lock(m->session);
            session_need_progress(m->session);
            session_unlock(m->session);
            look_again_later();
        }
        still_busy(m);
        put_ends(m);
        error = wait_quiet(m, since);
        drop_ends(m);
        if (!error && m->failed)
            error = refuse(m, -ENOMEM, "no memory");
        if (!error)
            halt_set(HALT_ALL); /* a function of the program may have enqueued something meanwhile */
    } while (!error && (halt_any_inside() || look(m) || still_busy(m)) && (drop_ends(m), true));
    return error;
}

/* ---- objects ---- */

/* What this thread makes on the node is made at the target. */
static void aim(struct move *m, bool at_target)
{
    session_lock(m->session);
    m->node->aim = at_target ? m->target : NULL;
    m->node->aimer = pthread_self();
    session_unlock(m->session);
}

static void collect(struct object *object, void *argument)
{
    struct move *m = argument;
    struct object **more;

    if (!handle_is_on(object, m->node))
        return;
    if (m->count == m->room) {
        more = realloc(m->objects, (m->room * 2 + 64) * sizeof(*more));
        m->failed += !more;
        if (!more)
            return;
        m->objects = more;
        m->room = m->room * 2 + 64;
    }
    if (handle_try_use(object))
        m->objects[m->count++] = object;
}

/* What an object is made from comes before it. */
static unsigned depth_of(const struct object *object)
{
    unsigned depth = 0;

    if (atomic_load(&object->kind) == WIRE_MEMORY) {
        for (cl_mem memory = ((const struct _cl_mem *)object)->parent; memory; memory = memory->parent)
            depth++;
    } else if (atomic_load(&object->kind) == WIRE_DEVICE) {
        for (cl_device_id device = ((const struct _cl_device_id *)object)->parent; device; device = device->parent)
            depth++;
    }
    return depth;
}

static const char *name_of(const struct object *object)
{
    static const char *const names[] = {
        [WIRE_DEVICE] = "a sub-device",  [WIRE_CONTEXT] = "a context", [WIRE_QUEUE] = "a queue",
        [WIRE_MEMORY] = "a memory object", [WIRE_SAMPLER] = "a sampler", [WIRE_PROGRAM] = "a program",
        [WIRE_KERNEL] = "a kernel",      [WIRE_EVENT] = "an event",    [WIRE_COMMAND_BUFFER] = "a command buffer"};

    return names[atomic_load(&object->kind)];
}

static int make_one(struct move *m, struct object *object)
{
    const struct kind *kind = handle_kind(object);
    const char *bound = kind->bound ? kind->bound(object, m->node) : NULL;
    int error = bound ? -ENOTSUP : handle_create_on(object, m->node);

    if (bound)
        return refuse(m, error, "%s", bound);
    if (!m->target->alive)
        return refuse(m, -ECONNRESET, "the target was lost");
    if (error)
        return refuse(m, error, "%s cannot be made there: %s %d", name_of(object), error < 0 ? "errno" : "error", error);
    return 0;
}

/* What native OpenCL says to them there, it said here. */
static int check_outcomes(struct move *m, unsigned first)
{
    struct call calls[ASKED];
    int error = 0;

    for (unsigned at = first; !error && at < m->count; at += ASKED) {
        const unsigned count = m->count - at < ASKED ? m->count - at : ASKED;
        int there[ASKED];

        for (unsigned i = 0; i < count; i++) {
            struct wire_outcome ask = {.kind = atomic_load(&m->objects[at + i]->kind), .object = m->objects[at + i]->id};

            call_send_outcome(m->target, &ask, &calls[i]);
        }
        for (unsigned i = 0; i < count; i++) {
            struct wire_outcome_reply reply;

            there[i] = call_wait_outcome(&calls[i], &reply);
            if (there[i])
                continue;
            there[i] = call_verdict(reply.error);
            call_free(&calls[i]);
        }
        for (unsigned i = 0; !error && i < count; i++) {
            if (there[i] && there[i] != native_outcome(m->node, m->objects[at + i]))
                error = refuse(m, m->target->alive ? -ENOMEM : -ECONNRESET, "%s cannot be made there: error %d",
                               name_of(m->objects[at + i]), there[i]);
        }
    }
    return error;
}

/* What has to be done with them before others can be made. */
static int settle(struct move *m, unsigned first)
{
    const struct kind *kind = first < m->count ? handle_kind(m->objects[first]) : NULL;
    unsigned left = m->count - first, before = left + 1;
    bool *done = kind && kind->settle_on ? calloc(left, sizeof(*done)) : NULL;
    int error = kind && kind->settle_on && !done ? -ENOMEM : 0;

    while (done && !error && left && left < before) {
        before = left;
        for (unsigned i = first; !error && i < m->count; i++) {
            if (done[i - first])
                continue;
            error = kind->settle_on(m->objects[i], m->node, m->objects + first, done);
            done[i - first] = !error;
            left -= !error;
            error = error == -EAGAIN ? 0 : error;
        }
    }
    free(done);
    if (error)
        return refuse(m, error, "%s is not there what it is here: error %d", kind ? name_of(m->objects[first]) : "", error);
    if (kind && kind->settle_on && left)
        return refuse(m, -ENOTSUP, "%s depends on what has changed since", name_of(m->objects[first]));
    return 0;
}

static int make_kind(struct move *m, unsigned kind)
{
    const unsigned first = m->count;
    unsigned made = 0;
    int error = 0;

    handle_each(kind, collect, m);
    if (m->failed)
        return refuse(m, -ENOMEM, "no memory");
    aim(m, true);
    for (unsigned depth = 0; !error && made < m->count - first; depth++) {
        for (unsigned i = first; !error && i < m->count; i++) {
            if (depth_of(m->objects[i]) != depth)
                continue;
            made++;
            error = make_one(m, m->objects[i]);
        }
    }
    if (!error)
        error = settle(m, first);
    aim(m, false);
    return error ? error : check_outcomes(m, first);
}

static int make_all(struct move *m)
{
    static const unsigned kinds[] = {WIRE_DEVICE,  WIRE_CONTEXT, WIRE_QUEUE,  WIRE_MEMORY,
                                     WIRE_SAMPLER, WIRE_PROGRAM, WIRE_KERNEL, WIRE_COMMAND_BUFFER};
    int error = 0;

    for (unsigned i = 0; !error && i < sizeof(kinds) / sizeof(*kinds); i++)
        error = make_kind(m, kinds[i]);
    return error;
}

/* ---- contents ---- */

struct copying {
    struct move *move;
    cl_command_queue queue; /* at the target; of the context */
    cl_event events[UNDER_WAY];
    unsigned next;
    int error;
};

static int wait_oldest(struct copying *c, unsigned slot)
{
    cl_event event = c->events[slot];
    cl_int status;

    if (!event)
        return 0;
    c->events[slot] = NULL;
    status = event_wait(event);
    handle_release(event, WIRE_EVENT, 0);
    if (status >= 0)
        return 0;
    if (!c->move->target->alive || !c->move->node->alive)
        return refuse(c->move, -ECONNRESET, "a worker was lost while contents were on their way");
    return refuse(c->move, -ENOMEM, "contents cannot be moved: error %d", status);
}

static int copy_part(struct copying *c, const struct part *part)
{
    struct move *m = c->move;
    const unsigned slot = c->next++ % UNDER_WAY;
    int error = wait_oldest(c, slot);
    cl_event event = error ? NULL : event_new(c->queue->context, c->queue, CL_COMMAND_MIGRATE_MEM_OBJECTS);
    struct wire_migrate_out out = {.memory = part->memory->object.id, .peer = m->target->peer, .part = part_region(part)};
    struct wire_migrate_in in = {.queue = c->queue->object.id,
                                 .memory = part->memory->object.id,
                                 .peer = m->node->peer,
                                 .want = 1u << CL_COMPLETE,
                                 .part = part_region(part)};

    if (error)
        return error;
    if (!event)
        return refuse(m, -ENOMEM, "no memory");
    event->wanted = in.want;
    c->events[slot] = event;
    out.event = in.event = event->object.id;
    session_lock(m->session);
    wire_put_migrate_out(&m->node->batch, &out);
    wire_put_migrate_in(&m->target->batch, &in);
    stream_finish(m->node, STREAM_NOW);
    stream_finish(m->target, STREAM_NOW);
    session_unlock(m->session);
    m->bytes += part->bytes;
    return 0;
}

static int copy_piece(void *argument, cl_mem root, size_t start, size_t end)
{
    struct copying *c = argument;
    const size_t zero[3] = {0};
    struct part part;
    size_t region[3];
    int error = 0;

    if (root->type != CL_MEM_OBJECT_BUFFER) {
        image_extent(&root->desc, region);
        part = part_image(root, zero, region);
        return copy_part(c, &part);
    }
    for (size_t at = start; !error && at < end; at += SHARE) {
        part = part_piece(root, at, end - at < SHARE ? end - at : SHARE);
        error = copy_part(c, &part);
    }
    return error;
}

/* A queue of the target's own for the context's contents. */
static cl_command_queue copying_queue(struct move *m, cl_context context)
{
    cl_command_queue queue = handle_new(WIRE_QUEUE);

    if (!queue)
        return NULL;
    queue->context = context;
    queue->node = m->target;
    for (cl_uint i = 0; i < context->device_count && !queue->device; i++) {
        if (context->devices[i]->node == m->node)
            queue->device = context->devices[i];
    }
    handle_use(context);
    if (!handle_create_on(&queue->object, m->target))
        return queue;
    handle_release(queue, WIRE_QUEUE, 0);
    return NULL;
}

static int copy_context(struct move *m, cl_context context)
{
    struct copying c = {.move = m};
    int error = 0, one;

    for (unsigned i = 0; !error && i < m->count; i++) {
        cl_mem memory = (cl_mem)m->objects[i];

        /* what the members share is where it was */
        if (atomic_load(&m->objects[i]->kind) != WIRE_MEMORY || memory->context != context || memory->parent ||
            memory->place)
            continue;
        if (!c.queue && !(c.queue = copying_queue(m, context)))
            return refuse(m, m->target->alive ? -ENOMEM : -ECONNRESET, "no queue for contents");
        error = coherence_each(memory, m->node, copy_piece, &c);
    }
    for (unsigned i = 0; i < UNDER_WAY; i++) {
        one = wait_oldest(&c, c.next++ % UNDER_WAY);
        error = error ? error : one;
    }
    if (c.queue)
        handle_release(c.queue, WIRE_QUEUE, 0);
    return error;
}

static int copy_all(struct move *m)
{
    int error = 0;

    for (unsigned i = 0; !error && i < m->count; i++) {
        if (atomic_load(&m->objects[i]->kind) == WIRE_CONTEXT)
            error = copy_context(m, (cl_context)m->objects[i]);
    }
    return error;
}

/* ---- the change ---- */

struct ending {
    const struct node *node;
    bool any;
};

/* It is no more the program's, and its nodes have not been told: they will be in a moment. */
static void find_ending(struct object *object, void *argument)
{
    struct ending *ending = argument;
    const int uses = atomic_load(&object->uses);

    ending->any |= uses < 0 && uses != USES_RELEASED && handle_is_on(object, ending->node);
}

static bool any_ending(const struct node *node)
{
    struct ending ending = {.node = node};

    for (unsigned kind = WIRE_DEVICE; kind <= WIRE_KIND_LAST; kind++)
        handle_each(kind, find_ending, &ending);
    return ending.any;
}

/* Under the lock: nothing was heard, asked or released since that the target does not know. */
static bool can_change(struct move *m)
{
    return m->node->alive && m->target->alive && !what_is_missing(m) && !any_ending(m->node) &&
           m->node->memory == m->target->memory;
}

static int change(struct move *m)
{
    const long since = clock_ns();
    bool done = false;

    while (!done) {
        session_lock(m->session);
        done = can_change(m);
        if (done) {
            event_move(m->node, m->target);
            session_swap(m->node, m->target);
        }
        session_need_progress(m->session);
        session_unlock(m->session);
        if (!done && !(m->node->alive && m->target->alive))
            return refuse(m, -ECONNRESET, "a worker was lost");
        if (!done && clock_ns() - since > PATIENCE_NS)
            return refuse(m, -EBUSY, "objects that are being released");
        if (!done)
            look_again_later();
    }
    return 0;
}

/* The member behind the spare node has nothing of the program's any more. */
static void forget(struct move *m)
{
    struct wire_forget ask = {0};
    struct wire_forget_reply reply;
    struct call call;

    if (m->target->alive && !call_forget(m->target, &ask, &reply, &call))
        call_free(&call);
}

static int check(struct move *m)
{
    if (m->node->in_process)
        return refuse(m, -ENOTSUP, "devices of the program's own process do not move");
    if (!m->target)
        return refuse(m, -ENODEV, "there is no such spare worker");
    if (!m->node->alive || !m->target->alive)
        return refuse(m, -ECONNRESET, "a worker is lost");
    if (!halt_can())
        return refuse(m, -ENOSYS, "this system has no membarrier");
    return session_front(m->session)->fits(m->node, m->target, m->reason, m->reason_size);
}

static int move_now(struct move *m)
{
    const unsigned from = m->node->peer, to = m->target->peer;
    const long began = clock_ns();
    unsigned objects;
    int error = quiesce(m);

    if (!error && m->node->memory == NODE_MEMORY_SHARED && !arena_shared_with(m->target))
        error = refuse(m, -EXDEV, "it cannot have the memory that the program shares with its worker");
    if (!error)
        error = make_all(m);
    if (!error)
        error = copy_all(m);
    if (!error)
        error = change(m);
    objects = m->count;
    while (m->count)
        handle_drop(m->objects[--m->count]);
    halt_set(HALT_NONE);
    if (!error)
        vocl_log(LOG_INFO, "worker %u is worker %u now: %u objects, %llu bytes, %ld us", from, to, objects,
                 (unsigned long long)m->bytes, (clock_ns() - began) / 1000);
    forget(m);
    free(m->objects);
    free(m->ends);
    return error;
}

static struct node *find_spare(struct session *session, unsigned member)
{
    for (unsigned i = 0; i < session_spare_count(session); i++) {
        if (session_spare(session, i)->peer == member)
            return session_spare(session, i);
    }
    return NULL;
}

int session_move(struct node *node, unsigned member, char *reason, size_t size)
{
    struct move m = {.session = node->session, .node = node, .reason = reason, .reason_size = size};
    int error;

    *reason = '\0';
    pthread_mutex_lock(&moving);
    m.target = find_spare(m.session, member);
    error = check(&m);
    if (!error)
        error = move_now(&m);
    pthread_mutex_unlock(&moving);
    return error;
}

/* ---- VOCL_MOVE_EVERY ---- */

static void *move_thread(void *argument)
{
    struct session *session = argument;
    const long every = settings_number(SETTING_MOVE_EVERY);
    unsigned seed = (unsigned)clock_ns(), next = 0;
    char reason[256];

    for (;;) {
        const long us = (long)((double)rand_r(&seed) / RAND_MAX * 2000 * (double)every);
        const struct timespec pause = {us / 1000000, us % 1000000 * 1000};
        struct node *spare;
        int error;

        nanosleep(&pause, NULL);
        if (session_stops(session))
            return NULL;
        spare = session_spare(session, next++ % session_spare_count(session));
        error = session_move(session_node(session, 0), spare->peer, reason, sizeof(reason));
        if (error)
            vocl_log(LOG_INFO, "the session stays where it is: %s", reason);
    }
}

void move_start(struct session *session)
{
    pthread_t thread;

    if (settings_number(SETTING_MOVE_EVERY) && session_spare_count(session) &&
        !thread_start(&thread, move_thread, session))
        pthread_detach(thread);
}
