/* Other workers of the session: frames to and from them, and their events. */
#include "base/log.h"
#include "executor/internal.h"

#define MOST_EARLY (256u << 20) /* bytes */

int executor_send_peer(struct executor *x, unsigned peer, struct wire_buffer *command)
{
    int error = command->failed ? -ENOMEM : x->host.send_peer(x->host.owner, peer, command->bytes, command->length);

    if (error == -ENOMEM) /* the other worker would wait for it */
        executor_exhausted(x);
    wire_buffer_free(command);
    return error;
}

int executor_run_peer(struct executor *x, unsigned peer, const void *bytes, size_t length)
{
    struct wire_cursor frame = wire_cursor(bytes, length), fields;
    uint16_t number;
    int more, error = 0;

    while (!error && (more = wire_next(&frame, &number, &fields)) != 0)
        error = more < 0 ? -EBADMSG : executor_dispatch_peer(x, peer, number, &fields);
    if (error)
        vocl_log(LOG_ERROR, "worker %u broke the protocol: %s", peer, strerror(-error));
    executor_flush(x);
    return error;
}

bool executor_is_peer(const struct executor *x, unsigned peer)
{
    return peer && peer < x->host.members && peer != x->host.own;
}

/* ---- loss ---- */

/* Seen by this worker; reported by the application, which may be first. */
enum { LOSS_SEEN = 1, LOSS_TOLD = 2 };

static uint8_t loss_of(const struct executor *x, unsigned peer)
{
    return peer < x->loss_count ? x->losses[peer] : 0;
}

static void set_loss(struct executor *x, unsigned peer, uint8_t loss)
{
    uint8_t *more;

    if (peer >= x->loss_count) {
        more = loss ? realloc(x->losses, peer + 1) : NULL;
        if (loss && !more)
            executor_exhausted(x);
        if (!more)
            return;
        memset(more + x->loss_count, 0, peer + 1 - x->loss_count);
        x->losses = more;
        x->loss_count = peer + 1;
    }
    x->losses[peer] = loss;
}

bool executor_lost(const struct executor *x, unsigned peer)
{
    const uint8_t loss = loss_of(x, peer);

    return loss & LOSS_SEEN && (loss & LOSS_TOLD || !x->host.may_come_again);
}

void executor_meet(struct executor *x, unsigned peer)
{
    if (peer >= x->host.members)
        x->host.members = peer + 1;
    if (loss_of(x, peer) == LOSS_SEEN && x->host.may_come_again)
        migrate_in_lose(x, peer); /* the lost worker was another one */
    set_loss(x, peer, 0);
}

/* Data that are to come from it may still come, for the application may replace both workers. */
static void say_lost(struct executor *x, unsigned peer)
{
    const struct wire_lost_worker m = {peer};
    struct wire_buffer out = {0};

    wire_put_lost_worker(&out, &m);
    executor_send(x, &out);
}

void executor_lose(struct executor *x, unsigned peer)
{
    set_loss(x, peer, loss_of(x, peer) | LOSS_SEEN);
    migrate_out_lose(x, peer);
    replicas_lose(x, peer);
    if (executor_lost(x, peer))
        migrate_in_lose(x, peer);
    else
        say_lost(x, peer);
    executor_flush(x);
}

int exec_lose_worker(struct executor *x, const struct exec_lose_worker *m)
{
    if (!executor_is_peer(x, m->peer))
        return 0;
    set_loss(x, m->peer, loss_of(x, m->peer) | LOSS_TOLD);
    if (executor_lost(x, m->peer))
        migrate_in_lose(x, m->peer);
    return 0;
}

/* ---- messages about an event that the application has not yet announced ---- */

bool unexpected_keep(struct executor *x, const struct unexpected *what)
{
    struct unexpected *unexpected;

    if (x->unexpected_bytes + sizeof(*unexpected) + what->length > MOST_EARLY)
        return false;
    unexpected = malloc(sizeof(*unexpected) + what->length);
    if (!unexpected)
        return false;
    *unexpected = *what;
    unexpected->next = x->unexpected;
    unexpected->data = unexpected + 1;
    if (what->length)
        memcpy(unexpected + 1, what->data, what->length);
    x->unexpected = unexpected;
    x->unexpected_bytes += sizeof(*unexpected) + what->length;
    return true;
}

/* Also drops messages about events whose numbers have been used again since. */
struct unexpected *unexpected_take(struct executor *x, enum unexpected_kind kind, unsigned peer, uint32_t id)
{
    struct unexpected *found = NULL;

    for (struct unexpected **at = &x->unexpected; *at;) {
        struct unexpected *unexpected = *at;
        bool same = unexpected->kind == kind && unexpected->id == id && (unexpected->peer == peer || !peer);

        if (!same &&
            ((unexpected->id & 0xffffff) != (id & 0xffffff) || (int8_t)((unexpected->id >> 24) - (id >> 24)) >= 0)) {
            at = &unexpected->next;
            continue;
        }
        *at = unexpected->next;
        x->unexpected_bytes -= sizeof(*unexpected) + unexpected->length;
        if (same && !found)
            found = unexpected;
        else
            free(unexpected);
    }
    return found;
}

/* ---- events ---- */

void event_orphan(struct executor *x, struct event *event)
{
    object_take(x, WIRE_EVENT, &event->object);
    event->next = x->orphans;
    x->orphans = event;
}

static struct event *find_orphan(struct executor *x, uint32_t id)
{
    struct event **at = &x->orphans, *event;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    event = *at;
    if (event)
        *at = event->next;
    return event;
}

int exec_event_over(struct executor *x, unsigned peer, const struct exec_event_over *m)
{
    const struct unexpected unexpected = {
        .kind = UNEXPECTED_OVER, .peer = peer, .id = m->event_id, .status = m->status};
    struct event *orphan = find_orphan(x, m->event_id);

    if (orphan) {
        event_complete(x, orphan, m->status);
        object_drop(x, WIRE_EVENT, &orphan->object);
        return 0;
    }
    if (m->event && m->event->imported) {
        event_complete(x, m->event, m->status);
        return 0;
    }
    return unexpected_keep(x, &unexpected) ? 0 : -ENOMEM;
}

int exec_import_event(struct executor *x, const struct exec_import_event *m)
{
    struct event *event = m->event;
    struct unexpected *unexpected;

    event->error = m->context->error;
    event->imported = true;
    if (!event->error)
        event->native = clCreateUserEvent(m->context->native, &event->error);
    unexpected = unexpected_take(x, UNEXPECTED_OVER, 0, event->id);
    if (unexpected && is_usable(event))
        event_complete(x, event, unexpected->status);
    free(unexpected);
    return 0;
}

struct export
{
    struct job job;
    uint32_t id;
    unsigned peer;
    cl_event event;
};

static void say_over(struct executor *x, uint32_t id, unsigned peer, cl_int status)
{
    struct wire_event_over m = {id, status < 0 ? status : CL_COMPLETE};
    struct wire_buffer out = {0};

    wire_put_event_over(&out, &m);
    executor_send_peer(x, peer, &out);
}

static void exported(struct executor *x, struct job *job)
{
    struct export *e = (struct export *)job;

    say_over(x, e->id, e->peer, event_status(e->event));
    clReleaseEvent(e->event);
    free(e);
}

int exec_export_event(struct executor *x, const struct exec_export_event *m)
{
    const struct event *event = m->event;
    struct export *e;

    if (!is_usable(event)) {
        say_over(x, event->id, m->peer, event->error ? event->error : CL_OUT_OF_RESOURCES);
        return 0;
    }
    e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    *e = (struct export){.id = event->id, .peer = m->peer, .event = event->native};
    clRetainEvent(e->event);
    event_when(x, e->event, CL_COMPLETE, exported, &e->job);
    return 0;
}
