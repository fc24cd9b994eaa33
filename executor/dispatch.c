/* From bytes to handlers: every command of commands.def has its exec_<name>, or the linker complains. Object numbers
 * become pointers to objects, as the description says. */
#include "base/log.h"
#include "executor/internal.h"

static void *slow_thread(void *argument);

/* ---- from numbers to objects ---- */

/* Returns NULL if one of the numbers has no object. */
static void *resolve_list(struct executor *x, unsigned kind, const uint32_t *ids, uint32_t count)
{
    void **objects = x->listed + x->listed_count;

    if (count > MOST_LISTED - x->listed_count)
        return NULL;
    x->listed_count += count;
    for (uint32_t i = 0; i < count; i++) {
        objects[i] = object_get(x, kind, ids[i]);
        if (!objects[i])
            return NULL;
    }
    return objects;
}

#define RESOLVE(name)                                                                                                  \
    __attribute__((unused)) static bool resolve_##name(struct executor *x, const struct wire_##name *w,                \
                                                       struct exec_##name *m)                                          \
    {                                                                                                                  \
        (void)x, (void)w, (void)m;
#define SEND(name, number) RESOLVE(name)
#define ENQUEUE(name, number) RESOLVE(name)
#define NOTE(name, number) RESOLVE(name)
#define PEER(name, number) RESOLVE(name)
#define CALL(name, number) RESOLVE(name) m->call = w->call;
#define REPLY(name)                                                                                                    \
    return true;                                                                                                       \
    }                                                                                                                  \
    RESOLVE(name##_reply)
#define END                                                                                                            \
    return true;                                                                                                       \
    }
#define NEW_EVENT
#define WAIT_LIST
#define EVENT_NEEDED                                                                                                   \
    if (!w->event)                                                                                                     \
        return false;
#define OTHER_WORKER(name)                                                                                             \
    m->name = w->name;                                                                                                 \
    if (!executor_is_peer(x, m->name))                                                                                 \
        return false;
#define MAY_BE_GONE(kind, name)                                                                                        \
    m->name##_id = w->name;                                                                                            \
    m->name = object_get(x, WIRE_##kind, w->name);
#define OPTIONAL_ID(kind, name)                                                                                        \
    m->name = w->name ? object_get(x, WIRE_##kind, w->name) : NULL;                                                    \
    if (w->name && !m->name)                                                                                           \
        return false;
#define FOUND(name, object)                                                                                            \
    m->name = object;                                                                                                  \
    if (!m->name)                                                                                                      \
        return false;
#define ID(kind, name) FOUND(name, object_get(x, WIRE_##kind, w->name))
#define ID_OF(field, name) FOUND(name, object_get(x, w->field, w->name))
#define NEW_ID(kind, name) FOUND(name, object_new(x, WIRE_##kind, w->name))
#define IDS(kind, name, most)                                                                                          \
    m->name##_count = w->name##_count;                                                                                 \
    FOUND(name, resolve_list(x, WIRE_##kind, w->name, w->name##_count))
#define NUMBER(name) m->name = w->name;
#define NUMBERS(name, most)                                                                                            \
    m->name##_count = w->name##_count;                                                                                 \
    m->name = w->name;
#define U32(name) m->name = w->name;
#define I32(name) m->name = w->name;
#define U64(name) m->name = w->name;
#define RANGE(name, low, high) m->name = w->name;
#define BITS(name, mask) m->name = w->name;
#define STATUS(name) m->name = w->name;
#define XYZ(name) memcpy(m->name, w->name, sizeof(m->name));
#define U64S(name, most)                                                                                               \
    m->name##_count = w->name##_count;                                                                                 \
    memcpy(m->name, w->name, sizeof(m->name));
#define REGION(name, kinds) m->name = w->name;
#define BLOB(name, most)                                                                                               \
    m->name##_length = w->name##_length;                                                                               \
    m->name = w->name;
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
#undef FOUND

#define DECODED(name)                                                                                                  \
    struct wire_##name w;                                                                                              \
    struct exec_##name m;                                                                                              \
                                                                                                                       \
    if (!wire_get_##name(fields, &w) || !resolve_##name(x, &w, &m))                                                    \
        return -EBADMSG;
#define RUN(name)                                                                                                      \
    static int run_##name(struct executor *x, struct wire_cursor *fields)                                              \
    {                                                                                                                  \
        atomic_store_explicit(&x->command, #name, memory_order_relaxed);                                               \
        DECODED(name)
#define SEND(name, number)                                                                                             \
    RUN(name)                                                                                                          \
    return exec_##name(x, &m);                                                                                         \
    }
#define CALL(name, number) SEND(name, number)
#define ENQUEUE(name, number)                                                                                          \
    RUN(name)                                                                                                          \
    struct command c;                                                                                                  \
    int bad = command_begin(&c, x, w.queue, w.event, w.subscribe, w.wait, w.wait_count);                               \
                                                                                                                       \
    if (x->traced && !bad)                                                                                             \
        timeline_begin(&c, number, &w);                                                                                \
    return command_end(&c, bad ? bad : exec_##name(&c, &m));                                                           \
    }
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

int executor_dispatch(struct executor *x, uint16_t number, struct wire_cursor *fields)
{
    x->listed_count = 0;
    switch (number) {
#define SEND(name, number)                                                                                             \
    case number:                                                                                                       \
        return run_##name(x, fields);
#define CALL(name, number) SEND(name, number)
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
    return -EBADMSG;
}

#define PEER(name, number)                                                                                             \
    static int run_##name(struct executor *x, unsigned peer, struct wire_cursor *fields)                               \
    {                                                                                                                  \
        DECODED(name)                                                                                                  \
        return exec_##name(x, peer, &m);                                                                               \
    }
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

int executor_dispatch_peer(struct executor *x, unsigned peer, uint16_t number, struct wire_cursor *fields)
{
    switch (number) {
#define PEER(name, number)                                                                                             \
    case number:                                                                                                       \
        return run_##name(x, peer, fields);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
    return -EBADMSG;
}

/* ---- the stream ---- */

/* Saves commands that arrive while the stream is held. */
static int keep(struct executor *x, const void *bytes, size_t length)
{
    uint8_t *longer = realloc(x->backlog, x->backlog_length + length);

    if (!longer)
        return -ENOMEM;
    memcpy(longer + x->backlog_length, bytes, length);
    x->backlog = longer;
    x->backlog_length += length;
    return 0;
}

void executor_flush_later(struct executor *x, struct queue *queue)
{
    if (queue->used)
        return;
    queue->used = true;
    queue->next = x->to_flush;
    x->to_flush = queue;
}

static void flush(struct executor *x, const struct queue *queue)
{
    const cl_int error = clFlush(queue->native);

    if (error)
        event_queue_failed(x, queue->id, error);
}

void executor_flush(struct executor *x)
{
    struct queue *later = NULL;

    for (struct queue *queue; (queue = x->to_flush);) {
        x->to_flush = queue->next;
        if (queue->lazy && !lazy_run(x, queue)) {
            queue->next = later;
            later = queue;
            continue;
        }
        queue->used = false;
        if (queue->native && !queue->lazy)
            flush(x, queue);
    }
    x->to_flush = later;
}

void executor_flush_native(struct executor *x, cl_command_queue queue)
{
    if (driver_flush_waits(queue))
        executor_flush(x); /* the queue was among those that could not be flushed */
    else
        clFlush(queue);
}

void executor_forget_queue(struct executor *x, struct queue *queue)
{
    struct queue **at = &x->to_flush;

    while (*at && *at != queue)
        at = &(*at)->next;
    if (*at)
        *at = queue->next;
}

static void refuse(const uint8_t *command, size_t length)
{
    char text[512];

    wire_show(command, length, text, sizeof(text));
    vocl_log(LOG_ERROR, "refused: %s", text);
}

static void remember(struct executor *x, const struct wire_cursor *fields)
{
    size_t length = fields->left + WIRE_HEADER;

    x->last_length = length <= sizeof(x->last) ? length : 0;
    memcpy(x->last, fields->at - WIRE_HEADER, x->last_length);
}

/* Whether a command is a launch that has to wait for the session's time slice on its device. */
static bool halts(struct executor *x, uint16_t number, const struct wire_cursor *fields)
{
    struct wire_cursor head = *fields;
    const struct queue *queue;

    if (!x->host.slice || x->recording || !(wire_flags(number) & WIRE_LAUNCH))
        return false;
    queue = object_get(x, WIRE_QUEUE, wire_get_u32(&head));
    if (!queue || slice_may(x, queue))
        return false;
    slices_halt(x);
    return true;
}

/* Runs the launch in last so many times, unless the session's time slice ends before. */
static int repeat_last(struct executor *x, uint32_t times)
{
    const bool ends = x->frame_ends;
    int error = 0;

    for (; !error && times; times--) {
        struct wire_cursor fields = wire_cursor(x->last + WIRE_HEADER, x->last_length - WIRE_HEADER);

        x->frame_ends = ends && times == 1;
        if (halts(x, WIRE_enqueue_ndrange, &fields)) {
            x->again_left = times;
            return 0;
        }
        error = executor_dispatch(x, WIRE_enqueue_ndrange, &fields);
    }
    return error;
}

int exec_repeat(struct executor *x, const struct exec_repeat *m)
{
    if (!x->last_length || !wire_patch(x->last, x->last_length, m->patch, m->patch_length))
        return -EBADMSG;
    return repeat_last(x, m->times);
}

int executor_run(struct executor *x, const void *bytes, size_t length)
{
    struct wire_cursor frame = wire_cursor(bytes, length), fields;
    uint16_t number;
    int more, error = 0;

    if (x->held || x->halted)
        return keep(x, bytes, length);
    stall_enter(x);
    while (!error && (more = wire_next(&frame, &number, &fields)) != 0) {
        struct wire_cursor copy = fields;

        if (more > 0 && halts(x, number, &fields)) {
            error = keep(x, fields.at - WIRE_HEADER, fields.left + WIRE_HEADER + frame.left);
            break;
        }
        if (more > 0 && number == WIRE_enqueue_ndrange)
            remember(x, &fields);
        x->frame_ends = !frame.left;
        error = more < 0 ? -EBADMSG : executor_dispatch(x, number, &copy);
        if (error == -EAGAIN) { /* the command is run when the stream resumes */
            error = keep(x, fields.at - WIRE_HEADER, fields.left + WIRE_HEADER + frame.left);
            break;
        }
        if (more < 0)
            vocl_log(LOG_ERROR, "refused a malformed frame");
        else if (error)
            refuse(fields.at - WIRE_HEADER, fields.left + WIRE_HEADER);
        if (!error && (x->held || x->halted)) {
            error = frame.left ? keep(x, frame.at, frame.left) : 0;
            break;
        }
    }
    executor_flush(x);
    stall_leave(x);
    return error;
}

void executor_go_on(struct executor *x)
{
    const uint32_t times = x->again_left;

    x->halted = false;
    x->again_left = 0;
    if (times && repeat_last(x, times))
        x->bad = true;
    if (!x->halted && !x->held)
        executor_resume(x);
    else
        executor_flush(x);
}

void executor_resume(struct executor *x)
{
    uint8_t *bytes = x->backlog;
    size_t length = x->backlog_length;

    x->held = false;
    if (x->halted)
        return;
    x->backlog = NULL;
    x->backlog_length = 0;
    if (length && executor_run(x, bytes, length))
        x->bad = true;
    free(bytes);
}

void executor_exhausted(struct executor *x)
{
    if (!x->exhausted)
        vocl_log(LOG_ERROR, "out of memory: the session ends");
    x->exhausted = true;
}

void executor_send(struct executor *x, struct wire_buffer *command)
{
    if (command->failed)
        executor_exhausted(x);
    if (!x->exhausted)
        x->host.send(x->host.owner, command->bytes, command->length);
    wire_buffer_free(command);
}

#define REPLY(name)                                                                                                    \
    void reply_##name(struct executor *x, const struct wire_##name##_reply *m)                                         \
    {                                                                                                                  \
        struct wire_buffer out = {0};                                                                                  \
                                                                                                                       \
        wire_put_##name##_reply(&out, m);                                                                              \
        executor_send(x, &out);                                                                                        \
    }
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

/* ---- jobs of other threads ---- */

/* Returns whether no other job waited. */
static bool push(struct executor *x, struct job *job)
{
    struct job *head = atomic_load(&x->finished);

    do
        job->next = head;
    while (!atomic_compare_exchange_weak(&x->finished, &head, job));
    return !head;
}

void executor_finish(struct executor *x, struct job *job)
{
    if (push(x, job))
        x->host.wake(x->host.owner);
}

void executor_finish_here(struct executor *x, struct job *job)
{
    push(x, job);
}

static int verdict(const struct executor *x, int count)
{
    return x->exhausted ? -ENOMEM : x->bad ? -EBADMSG : count;
}

int executor_poll(struct executor *x)
{
    struct job *newest, *oldest = NULL;
    int count = 0;

    event_look(x);
    newest = atomic_exchange(&x->finished, NULL);
    if (x->traced)
        timeline_turn(x);
    if (!newest)
        return verdict(x, 0);
    x->host.collect(x->host.owner);
    stall_enter(x);
    while (newest) { /* reverses the list: oldest first */
        struct job *next = newest->next;

        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest) {
        struct job *next = oldest->next;

        oldest->run(x, oldest);
        oldest = next;
        count++;
    }
    executor_flush(x);
    stall_leave(x);
    return verdict(x, count);
}

/* ---- the helper thread ---- */

void slow_start(struct executor *x, struct slow *slow)
{
    slow->next = NULL;
    pthread_mutex_lock(&x->lock);
    *x->slow_last = slow;
    x->slow_last = &slow->next;
    pthread_cond_signal(&x->work);
    pthread_mutex_unlock(&x->lock);
}

static void *slow_thread(void *argument)
{
    struct executor *x = argument;

    for (;;) {
        struct slow *slow;

        pthread_mutex_lock(&x->lock);
        while (!x->slow_first)
            pthread_cond_wait(&x->work, &x->lock);
        slow = x->slow_first;
        x->slow_first = slow->next;
        if (!x->slow_first)
            x->slow_last = &x->slow_first;
        pthread_mutex_unlock(&x->lock);
        slow->work(slow);
        executor_finish(x, &slow->job);
    }
    return NULL;
}

int executor_open(const struct executor_host *host, struct executor **out)
{
    struct executor *x = calloc(1, sizeof(*x));
    pthread_t thread;

    if (!x)
        return -ENOMEM;
    x->host = *host;
    x->slow_last = &x->slow_first;
    x->incoming_last = &x->incoming;
    x->outgoing_last = &x->outgoing;
    TAILQ_INIT(&x->waits);
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->work, NULL);
    if (pthread_create(&thread, NULL, slow_thread, x)) {
        free(x);
        return -EAGAIN;
    }
    pthread_detach(thread);
    *out = x;
    return stall_start(x);
}
