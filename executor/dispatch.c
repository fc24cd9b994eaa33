/* From bytes to handlers: every command of commands.def has its exec_<name>, or the linker complains. */
#include "base/log.h"
#include "executor/internal.h"

static void *slow_thread(void *argument);

int executor_dispatch(struct executor *x, uint16_t number, struct wire_cursor *fields)
{
    switch (number) {
#define SEND(name, number)                                                                                             \
    case number: {                                                                                                     \
        struct wire_##name m;                                                                                          \
        atomic_store_explicit(&x->command, #name, memory_order_relaxed);                                               \
        return wire_get_##name(fields, &m) ? exec_##name(x, &m) : -EBADMSG;                                            \
    }
#define CALL(name, number) SEND(name, number)
#define SLOW_CALL(name, number) SEND(name, number)
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
    return -EBADMSG;
}

/* What comes while contents of an object are on their way has to wait for them. */
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

void executor_flush_later(struct executor *x, struct object *queue)
{
    if (queue->used)
        return;
    queue->used = true;
    queue->next = x->to_flush;
    x->to_flush = queue;
}

void executor_flush(struct executor *x)
{
    struct object *later = NULL;

    for (struct object *queue; (queue = x->to_flush);) {
        x->to_flush = queue->next;
        if (queue->lazy && !lazy_run(x, queue)) {
            queue->next = later;
            later = queue;
            continue;
        }
        queue->used = false;
        if (queue->queue && !queue->lazy)
            clFlush(queue->queue);
    }
    x->to_flush = later;
}

void executor_flush_native(struct executor *x, cl_command_queue queue)
{
    if (driver_flush_waits(queue))
        executor_flush(x); /* it has been among those that could not be flushed */
    else
        clFlush(queue);
}

void executor_forget_queue(struct executor *x, struct object *queue)
{
    struct object **at = &x->to_flush;

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

/* Whether a command is a launch that has to wait for the session's turn on its device. */
static bool is_gated(struct executor *x, uint16_t number, const struct wire_cursor *fields)
{
    struct wire_cursor copy = *fields;
    const struct object *queue = NULL;
    struct wire_enqueue_command_buffer run;
    struct wire_enqueue_ndrange launch;

    if (!x->host.turn || x->recording)
        return false;
    if (number == WIRE_enqueue_ndrange && wire_get_enqueue_ndrange(&copy, &launch))
        queue = object_get(x, WIRE_QUEUE, launch.queue);
    else if (number == WIRE_enqueue_command_buffer && wire_get_enqueue_command_buffer(&copy, &run))
        queue = object_get(x, WIRE_QUEUE, run.queue);
    if (!queue || turn_may(x, queue))
        return false;
    x->gated = true;
    return true;
}

/* The launch in last, so many times, unless the session's turn ends before. */
static int run_again(struct executor *x, uint32_t times)
{
    int error = 0;

    for (; !error && times; times--) {
        struct wire_cursor fields = wire_cursor(x->last + WIRE_HEADER, x->last_length - WIRE_HEADER);

        if (is_gated(x, WIRE_enqueue_ndrange, &fields)) {
            x->again_left = times;
            return 0;
        }
        error = executor_dispatch(x, WIRE_enqueue_ndrange, &fields);
    }
    return error;
}

int exec_again(struct executor *x, const struct wire_again *m)
{
    if (!x->last_length || !wire_patch(x->last, x->last_length, m->patch, m->patch_length))
        return -EBADMSG;
    return run_again(x, m->times);
}

int executor_run(struct executor *x, const void *bytes, size_t length)
{
    struct wire_cursor frame = wire_cursor(bytes, length), fields;
    uint16_t number;
    int more, error = 0;

    if (x->held || x->gated)
        return keep(x, bytes, length);
    stall_enter(x);
    while (!error && (more = wire_next(&frame, &number, &fields)) != 0) {
        struct wire_cursor copy = fields;

        if (more > 0 && is_gated(x, number, &fields)) {
            error = keep(x, fields.at - WIRE_HEADER, fields.left + WIRE_HEADER + frame.left);
            break;
        }
        if (more > 0 && number == WIRE_enqueue_ndrange)
            remember(x, &fields);
        error = more < 0 ? -EBADMSG : executor_dispatch(x, number, &copy);
        if (more < 0)
            vocl_log(LOG_ERROR, "refused: a frame that does not hold together");
        else if (error)
            refuse(fields.at - WIRE_HEADER, fields.left + WIRE_HEADER);
        if (!error && (x->held || x->gated)) {
            error = frame.left ? keep(x, frame.at, frame.left) : 0;
            break;
        }
    }
    executor_flush(x);
    stall_leave(x);
    return error;
}

void executor_ungate(struct executor *x)
{
    const uint32_t times = x->again_left;

    x->gated = false;
    x->again_left = 0;
    if (times && run_again(x, times))
        x->bad = true;
    if (!x->gated && !x->held)
        executor_resume(x);
    else
        executor_flush(x);
}

void executor_resume(struct executor *x)
{
    uint8_t *bytes = x->backlog;
    size_t length = x->backlog_length;

    x->held = false;
    if (x->gated)
        return;
    x->backlog = NULL;
    x->backlog_length = 0;
    if (length && executor_run(x, bytes, length))
        x->bad = true;
    free(bytes);
}

void executor_send(struct executor *x, struct wire_buffer *command)
{
    if (!command->failed)
        x->host.send(x->host.owner, command->bytes, command->length);
    wire_buffer_free(command);
}

/* ---- what other threads finished ---- */

void executor_finish(struct executor *x, struct job *job)
{
    struct job *head = atomic_load(&x->finished);

    do
        job->next = head;
    while (!atomic_compare_exchange_weak(&x->finished, &head, job));
    if (!head)
        x->host.wake(x->host.owner);
}

int executor_poll(struct executor *x)
{
    struct job *newest = atomic_exchange(&x->finished, NULL), *oldest = NULL;
    int count = 0;

    if (!newest)
        return x->bad ? -EBADMSG : 0;
    x->host.collect(x->host.owner);
    stall_enter(x);
    while (newest) { /* in the order in which they came */
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
    return x->bad ? -EBADMSG : count;
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
    x->fetches_last = &x->fetches;
    x->loans_last = &x->loans;
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
