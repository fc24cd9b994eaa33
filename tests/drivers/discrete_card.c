/* See discrete.h. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "discrete.h"

/* ---- time ---- */

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_RAW, &t); /* PoCL's clock */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void wait_until(double time)
{
    for (double left; (left = time - now()) > 0;) {
        const double asleep = left - settings.spin;

        if (asleep > 0)
            nanosleep(&(struct timespec){(time_t)(asleep / 1e9), (long)asleep % 1000000000}, NULL);
    }
}

/* ---- queues and commands ---- */

enum { BUCKETS = 1024 };

static struct known *buckets[BUCKETS];
static double engine_free[ENGINES];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct known **place(const void *key)
{
    struct known **at = &buckets[(uintptr_t)key / 16 % BUCKETS];

    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

struct known *find(const void *key)
{
    return *place(key);
}

static struct known *commands_behind; /* user events that are not set */

static void leave_behind(struct known *command)
{
    struct known **at = &commands_behind;

    while (*at && *at != command)
        at = &(*at)->next_behind;
    if (*at)
        *at = command->next_behind;
}

static struct known *add(const void *key)
{
    struct known **at = place(key);

    if (!*at) {
        *at = calloc(1, sizeof(**at));
        if (!*at)
            abort();
    }
    leave_behind(*at);
    **at = (struct known){.next = (*at)->next, .key = key, .references = 1};
    return *at;
}

void forget(const void *key)
{
    struct known **at = place(key), *known = *at;

    if (!known)
        return;
    leave_behind(known);
    *at = known->next;
    free(known);
}

static struct known *queue_of(cl_command_queue queue)
{
    cl_command_queue_properties properties = 0;
    struct known *known = find(queue);

    if (known)
        return known;
    pocl.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
    known = add(queue);
    known->in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    return known;
}

double later(double one, double other)
{
    return one > other ? one : other;
}

/* Gives the command its place on its engine. */
static void schedule(struct known *command, struct known *queue)
{
    const bool on_engine = command->engine != NO_ENGINE;

    if (on_engine)
        command->begin = later(command->begin, engine_free[command->engine]);
    command->end = command->begin + command->duration;
    if (on_engine)
        engine_free[command->engine] = command->end;
    queue->end = later(queue->end, command->end);
}

static void come_behind(struct known *command, const struct known *other)
{
    command->begin = later(command->begin, other->end);
    if (other->unset || other->behind)
        command->behind = other->unset ? other->key : other->behind;
}

static bool is_behind(const struct known *other)
{
    return other && (other->unset || other->behind);
}

bool comes_behind(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    const struct known *of;
    bool behind;

    pthread_mutex_lock(&lock);
    of = find(queue);
    behind = of && of->in_order && is_behind(of);
    for (cl_uint i = 0; list && i < count; i++)
        behind |= is_behind(find(list[i]));
    pthread_mutex_unlock(&lock);
    return behind;
}

double enqueued(cl_command_queue queue, double queued, enum engine engine, double duration, cl_uint count,
                const cl_event *list, const cl_event *event)
{
    struct known command = {.queue = queue,
                            .queued = queued,
                            .begin = queued + settings.submit + settings.start,
                            .engine = engine,
                            .duration = duration},
                 *of, *kept, **last;

    pthread_mutex_lock(&lock);
    of = queue_of(queue);
    command.number = ++of->number;
    if (of->in_order || (engine == NO_ENGINE && !count))
        come_behind(&command, of);
    for (cl_uint i = 0; i < count; i++) {
        if (find(list[i]))
            come_behind(&command, find(list[i]));
    }
    if (!command.behind)
        schedule(&command, of);
    else if (of->in_order)
        of->behind = command.behind;
    if (event) {
        kept = add(*event);
        command.key = kept->key;
        command.next = kept->next;
        command.references = 1;
        *kept = command;
        for (last = &commands_behind; command.behind && *last;)
            last = &(*last)->next_behind;
        if (command.behind)
            *last = kept;
    }
    pthread_mutex_unlock(&lock);
    return command.end;
}

void user_event_made(cl_event event)
{
    pthread_mutex_lock(&lock);
    add(event)->unset = true;
    pthread_mutex_unlock(&lock);
}

void user_event_set(cl_event event)
{
    struct known *known, **at, *queue;

    pthread_mutex_lock(&lock);
    known = find(event);
    if (known)
        known->unset = false;
    for (at = &commands_behind; *at;) {
        struct known *command = *at;

        if (command->behind != event) {
            at = &command->next_behind;
            continue;
        }
        *at = command->next_behind;
        queue = find(command->queue);
        command->behind = NULL;
        command->begin = later(now() + settings.start, queue && queue->in_order ? queue->end : 0);
        if (queue)
            schedule(command, queue);
    }
    for (int i = 0; i < BUCKETS; i++) {
        for (known = buckets[i]; known; known = known->next)
            known->behind = known->behind == event ? NULL : known->behind;
    }
    pthread_mutex_unlock(&lock);
}

void flushed(cl_command_queue queue)
{
    struct known *known;

    pthread_mutex_lock(&lock);
    known = queue_of(queue);
    known->flushed = known->number;
    pthread_mutex_unlock(&lock);
}

bool is_submitted(const struct known *command)
{
    const struct known *queue = settings.needs_flush ? find(command->queue) : NULL;

    return !queue || command->number <= queue->flushed;
}

void wait_unheld(const void *key)
{
    bool held;

    do {
        pthread_mutex_lock(&lock);
        held = is_behind(find(key));
        pthread_mutex_unlock(&lock);
        if (held)
            usleep(20);
    } while (held);
}

void block(cl_command_queue queue, double end)
{
    flushed(queue);
    wait_unheld(queue);
    pthread_mutex_lock(&lock);
    end = later(end, queue_of(queue)->in_order || !end ? queue_of(queue)->end : 0);
    pthread_mutex_unlock(&lock);
    wait_until(end);
}

/* ---- memory ---- */

static struct span {
    struct span *next;
    const void *memory;
    size_t bytes;
} * spans; /* mapped memory that the driver allocated */

void memory_mapped(const void *memory, size_t bytes)
{
    struct span *span = malloc(sizeof(*span));

    if (!span)
        abort();
    pthread_mutex_lock(&lock);
    *span = (struct span){.next = spans, .memory = memory, .bytes = bytes};
    spans = span;
    pthread_mutex_unlock(&lock);
}

void memory_unmapped(const void *memory)
{
    struct span **at = &spans, *span;

    pthread_mutex_lock(&lock);
    while (*at && (*at)->memory != memory)
        at = &(*at)->next;
    span = *at;
    if (span)
        *at = span->next;
    pthread_mutex_unlock(&lock);
    free(span);
}

static bool is_allocated(const void *memory)
{
    const struct span *span;

    pthread_mutex_lock(&lock);
    for (span = spans; span && (uintptr_t)memory - (uintptr_t)span->memory >= span->bytes;)
        span = span->next;
    pthread_mutex_unlock(&lock);
    return span;
}

double over_link(size_t bytes, const void *memory)
{
    return settings.copy + (double)bytes / (is_allocated(memory) ? settings.link_rate : settings.link_rate / 2);
}

double on_card(size_t bytes)
{
    return settings.copy + (double)bytes / settings.memory_rate;
}
