/* The Trace Event JSON file: messages of XTQ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tools.h"
#include "tools/trace.h"

#define TASKS 8000000u /* tracks of queues begin here, LANES for each */
#define LANES 64u

/* A message, and where it is drawn. */
struct message {
    struct timeline_message what;
    uint16_t kind;
    uint64_t from, to;
    uint32_t process, track;
};

static struct message *messages; /* of all processes */
static size_t message_count;

static bool is_message(const struct item *item)
{
    return item->head.kind >= TIMELINE_PUT && item->head.kind <= TIMELINE_FENCE;
}

int trace_rank(const struct process *process)
{
    for (size_t i = 0; i < process->item_count; i++) {
        const struct item *item = &process->items[i];
        const struct timeline_message *what = item->more;

        if (is_message(item))
            return (int)(item->head.kind == TIMELINE_PUT ? what->initiator : what->target);
    }
    return -1;
}

static json_t *arguments(const struct message *m)
{
    json_t *args = json_pack("{s:i, s:i, s:i, s:i, s:I}", m->what.kernel ? "kernel" : "function", (int)m->what.index,
                             "initiator", (int)m->what.initiator, "target", (int)m->what.target, "queue",
                             (int)m->what.queue, "bytes", (json_int_t)m->what.bytes);

    if (m->what.error)
        json_object_set_new(args, "error", json_integer(m->what.error));
    return args;
}

static void put_message(struct writer *w, const struct message *m)
{
    const char *what = m->what.kernel ? "kernel" : "function";
    const bool waits = m->kind == TIMELINE_SIGNAL || m->kind == TIMELINE_FENCE;
    char name[100];

    if (m->kind == TIMELINE_PUT)
        snprintf(name, sizeof(name), "put %s %u to rank %u", what, m->what.index, m->what.target);
    else if (m->kind == TIMELINE_TASK)
        snprintf(name, sizeof(name), "%s %u", what, m->what.index);
    else
        snprintf(name, sizeof(name), m->kind == TIMELINE_SIGNAL ? "wait for a signal" : "wait for its puts");
    trace_event(w, &(struct event){"X", name,
                                   m->kind == TIMELINE_PUT    ? "put"
                                   : m->kind == TIMELINE_TASK ? "task"
                                                              : "xtq wait",
                                   m->from, m->to, 0, m->process, m->track, waits ? NULL : arguments(m)});
}

/* Orders messages by their beginning; tasks get tracks of their queue. */
static int by_begin(const void *one, const void *other)
{
    const struct item *a = *(const struct item *const *)one, *b = *(const struct item *const *)other;

    return a->head.from < b->head.from ? -1 : a->head.from > b->head.from;
}

struct queue_lanes {
    uint32_t queue;
    struct lanes lanes;
};

static struct lanes *lanes_of(struct queue_lanes **all, size_t *count, uint32_t queue)
{
    for (size_t i = 0; i < *count; i++) {
        if ((*all)[i].queue == queue)
            return &(*all)[i].lanes;
    }
    *all = trace_more(*all, count, sizeof(**all));
    (*all)[*count - 1].queue = queue;
    return &(*all)[*count - 1].lanes;
}

static void keep(struct writer *w, size_t process, const struct item *item, uint32_t track)
{
    struct message *m;

    messages = trace_more(messages, &message_count, sizeof(*messages));
    m = &messages[message_count - 1];
    *m = (struct message){.kind = item->head.kind,
                          .from = item->head.from,
                          .to = item->head.to,
                          .process = trace_process(process),
                          .track = track};
    memcpy(&m->what, item->more, sizeof(m->what));
    put_message(w, m);
}

void trace_write_messages(struct writer *w, size_t index)
{
    const struct process *process = &w->trace->processes[index];
    const struct item **items = calloc(process->item_count + 1, sizeof(*items));
    struct queue_lanes *queues = NULL;
    size_t count = 0, queue_count = 0;

    if (!items)
        fail(1, "out of memory");
    for (size_t i = 0; i < process->item_count; i++) {
        if (is_message(&process->items[i]))
            items[count++] = &process->items[i];
    }
    qsort(items, count, sizeof(*items), by_begin);
    for (size_t i = 0; i < count; i++) {
        const uint32_t queue = ((const struct timeline_message *)items[i]->more)->queue % 1024;
        uint32_t track = items[i]->thread;

        if (items[i]->head.kind == TIMELINE_TASK)
            track = TASKS + LANES * queue +
                    trace_lane(lanes_of(&queues, &queue_count, queue), items[i]->head.from, items[i]->head.to);
        keep(w, index, items[i], track);
    }
    for (size_t i = 0; i < queue_count; i++) {
        for (unsigned lane = 0; lane < queues[i].lanes.used; lane++)
            trace_track(w, trace_process(index), TASKS + LANES * queues[i].queue + lane, 500 + (int)queues[i].queue,
                        "XTQ queue %u: tasks", queues[i].queue);
    }
    free(queues);
    free(items);
}

/* ---- arrows ---- */

int trace_by_place(const struct timeline_message *a, const struct timeline_message *b)
{
    if (a->context != b->context)
        return a->context < b->context ? -1 : 1;
    if (a->initiator != b->initiator)
        return a->initiator < b->initiator ? -1 : 1;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    if (a->queue != b->queue)
        return a->queue < b->queue ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static int by_place(const void *one, const void *other)
{
    return trace_by_place(&((const struct message *)one)->what, &((const struct message *)other)->what);
}

/* Orders the waits for one signal by their ends. */
static int by_signal(const void *one, const void *other)
{
    const struct message *a = one, *b = other;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->what.signal != b->what.signal)
        return a->what.signal < b->what.signal ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* Returns the messages of a kind, in order; the caller frees them. */
static struct message *select_messages(uint16_t kind, int (*order)(const void *, const void *), size_t *count)
{
    struct message *some = calloc(message_count + 1, sizeof(*some));

    if (!some)
        fail(1, "out of memory");
    *count = 0;
    for (size_t i = 0; i < message_count; i++) {
        if (messages[i].kind == kind)
            some[(*count)++] = messages[i];
    }
    qsort(some, *count, sizeof(*some), order);
    return some;
}

/* Returns the first wait for the task's signal that ended when the task had, or later, if it began before the task's
 * end. */
static const struct message *wait_of(const struct message *waits, size_t count, const struct message *task)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (by_signal(&waits[middle], task) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!task->what.signal || low == count || waits[low].process != task->process ||
        waits[low].what.signal != task->what.signal || waits[low].from > task->to)
        return NULL;
    return &waits[low];
}

static void put_arrow(struct writer *w, const struct message *put, const struct message *task,
                      const struct message *wait)
{
    const uint64_t id = ++w->last_flow, at = task->from > put->from ? task->from : put->from;

    trace_event(w, &(struct event){"s", "message", "xtq flow", put->from, 0, id, put->process, put->track, NULL});
    trace_event(w,
                &(struct event){wait ? "t" : "f", "message", "xtq flow", at, 0, id, task->process, task->track, NULL});
    if (wait)
        trace_event(w, &(struct event){"f", "message", "xtq flow", wait->to, 0, id, wait->process, wait->track, NULL});
}

void trace_write_message_arrows(struct writer *w)
{
    size_t put_count, task_count, wait_count;
    struct message *puts = select_messages(TIMELINE_PUT, by_place, &put_count);
    struct message *tasks = select_messages(TIMELINE_TASK, by_place, &task_count);
    struct message *waits = select_messages(TIMELINE_SIGNAL, by_signal, &wait_count);

    for (size_t i = 0; i < task_count; i++) {
        const struct message *put = bsearch(&tasks[i], puts, put_count, sizeof(*puts), by_place);

        if (put)
            put_arrow(w, put, &tasks[i], wait_of(waits, wait_count, &tasks[i]));
    }
    free(puts);
    free(tasks);
    free(waits);
    free(messages);
    messages = NULL;
    message_count = 0;
}
