/* Other workers of the session: frames to and from them, and their events. */
#include "base/log.h"
#include "executor/internal.h"

#define MOST_EARLY (256u << 20) /* bytes */

int executor_send_fellow(struct executor *x, unsigned peer, struct wire_buffer *command)
{
    int error = command->failed ? -ENOMEM : x->host.send_fellow(x->host.owner, peer, command->bytes, command->length);

    wire_buffer_free(command);
    return error;
}

static int dispatch(struct executor *x, unsigned peer, uint16_t number, struct wire_cursor *fields)
{
    switch (number) {
#define FELLOW(name, number)                                                                                           \
    case number: {                                                                                                     \
        struct wire_##name m;                                                                                          \
        return wire_get_##name(fields, &m) ? exec_##name(x, peer, &m) : -EBADMSG;                                      \
    }
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
    return -EBADMSG;
}

int executor_run_fellow(struct executor *x, unsigned peer, const void *bytes, size_t length)
{
    struct wire_cursor frame = wire_cursor(bytes, length), fields;
    uint16_t number;
    int more, error = 0;

    while (!error && (more = wire_next(&frame, &number, &fields)) != 0)
        error = more < 0 ? -EBADMSG : dispatch(x, peer, number, &fields);
    if (error)
        vocl_log(LOG_ERROR, "worker %u broke the protocol: %s", peer, strerror(-error));
    executor_flush(x);
    return error;
}

bool executor_is_fellow(const struct executor *x, unsigned peer)
{
    return peer && peer < x->host.members && peer != x->host.own;
}

bool executor_lost(const struct executor *x, unsigned peer)
{
    return peer < x->lost_count && x->lost[peer];
}

void executor_lose(struct executor *x, unsigned peer)
{
    if (peer >= x->lost_count) {
        bool *lost = realloc(x->lost, (peer + 1) * sizeof(*lost));

        if (lost) {
            memset(lost + x->lost_count, 0, (peer + 1 - x->lost_count) * sizeof(*lost));
            x->lost = lost;
            x->lost_count = peer + 1;
        }
    }
    if (peer < x->lost_count)
        x->lost[peer] = true;
    fetch_lose(x, peer);
    loan_lose(x, peer);
    executor_flush(x);
}

/* ---- what is heard of an event before the application has told of it ---- */

bool early_keep(struct executor *x, const struct early *what)
{
    struct early *early;

    if (x->early_bytes + sizeof(*early) + what->length > MOST_EARLY)
        return false;
    early = malloc(sizeof(*early) + what->length);
    if (!early)
        return false;
    *early = *what;
    early->next = x->early;
    early->data = early + 1;
    if (what->length)
        memcpy(early + 1, what->data, what->length);
    x->early = early;
    x->early_bytes += sizeof(*early) + what->length;
    return true;
}

/* Nothing is kept of events whose numbers have gone round. */
struct early *early_take(struct executor *x, enum early_kind kind, unsigned peer, uint32_t id)
{
    struct early *found = NULL;

    for (struct early **at = &x->early; *at;) {
        struct early *early = *at;
        bool same = early->kind == kind && early->id == id && (early->peer == peer || !peer);

        if (!same && ((early->id & 0xffffff) != (id & 0xffffff) || (int8_t)((early->id >> 24) - (id >> 24)) >= 0)) {
            at = &early->next;
            continue;
        }
        *at = early->next;
        x->early_bytes -= sizeof(*early) + early->length;
        if (same && !found)
            found = early;
        else
            free(early);
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

int exec_event_over(struct executor *x, unsigned peer, const struct wire_event_over *m)
{
    struct event *event = object_get(x, WIRE_EVENT, m->event), *orphan;
    struct early early;

    if (m->status > CL_COMPLETE)
        return -EBADMSG;
    orphan = find_orphan(x, m->event);
    if (orphan) {
        event_settle(orphan, m->status);
        object_drop(x, WIRE_EVENT, &orphan->object);
        return 0;
    }
    if (event && event->imported) {
        event_settle(event, m->status);
        return 0;
    }
    early = (struct early){.kind = EARLY_OVER, .peer = peer, .id = m->event, .status = m->status};
    return early_keep(x, &early) ? 0 : -ENOMEM;
}

int exec_import_event(struct executor *x, const struct exec_import_event *m)
{
    struct event *event = m->event;
    struct early *early;

    event->error = m->context->error;
    event->imported = true;
    if (!event->error)
        event->native = clCreateUserEvent(m->context->native, &event->error);
    early = early_take(x, EARLY_OVER, 0, event->id);
    if (early && is_usable(event))
        event_settle(event, early->status);
    free(early);
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
    executor_send_fellow(x, peer, &out);
}

static void exported(struct executor *x, struct job *job)
{
    struct export *e = (struct export *)job;
    cl_int status = CL_COMPLETE;

    clGetEventInfo(e->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    say_over(x, e->id, e->peer, status);
    clReleaseEvent(e->event);
    free(e);
}

int exec_export_event(struct executor *x, const struct exec_export_event *m)
{
    const struct event *event = m->event;
    struct export *e;

    if (!executor_is_fellow(x, m->peer))
        return -EBADMSG;
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
