/*
 * Records what ran here, and when, for a trace of the session (base/timeline.h): each command of a queue, with its
 * native times, is reported when it is over. The loop checks for such commands; several records go in one note.
 */
#include <stdio.h>

#include "base/timeline.h"
#include "executor/internal.h"

#define MOST_LOOKED 64 /* in one check, of an out-of-order queue */
#define MOST_NAMES 256
#define AT_ONCE 256    /* pending records allocated at a time */
#define EVERY_TURNS 16 /* turns of the loop between checks, as these cost native OpenCL time, too */
/* When commands come quickly one after the other, the clock is read for only one in so many. */
#define QUICK_NS 5000
#define QUICK_MOST 16

struct pending {
    struct pending *next;
    cl_event event; /* NULL: the command failed */
    struct timeline_command what;
};

/* A queue's pending commands, in the order in which they were enqueued. */
struct line {
    uint32_t queue;
    bool out_of_order;
    struct pending *first, **last;
};

struct timeline {
    uint64_t number; /* of commands so far */
    struct line *lines;
    unsigned line_count, count; /* count: of all pending commands */
    struct pending *free;
    unsigned turns;               /* of the worker's loop */
    struct timeline_command what; /* the command that is being enqueued */
    struct timeline_command told; /* the last command in records, if has_told */
    bool has_told;
    unsigned unread, shared;       /* commands yet to come without a reading of the clock; length of the last such
                                    * row */
    uint64_t last;                 /* when the clock was last read */
    const char *names[MOST_NAMES]; /* names of commands, which are constants */
    unsigned name_count, kernel_count, kernels_before; /* before: those reported to an earlier trace */
    uint64_t devices;                                  /* a bit for each device that was reported */
    uint64_t halted;                                   /* since when the stream waits for its time slice, or 0 */
    uint8_t records[WIRE_MAX_TIMELINE];
    uint32_t length;
    uint32_t end_call; /* the call that waits for the end of everything, or 0 */
    struct job end;
    bool end_waits;
};

/* ---- records ---- */

static void send_records(struct executor *x)
{
    struct timeline *t = x->timeline;
    const struct wire_timeline_records m = {t->records, t->length};
    struct wire_buffer out = {0};

    if (!t->length)
        return;
    wire_put_timeline_records(&out, &m);
    t->length = 0;
    t->has_told = false;
    executor_send(x, &out);
}

static void put(struct executor *x, const struct timeline_record *head, const void *more, size_t length)
{
    const size_t whole = (sizeof(*head) + length + 7) & ~(size_t)7;
    struct timeline *t = x->timeline;
    struct timeline_record full = *head;

    if (t->length + whole > sizeof(t->records))
        send_records(x);
    if (whole > sizeof(t->records))
        return;
    full.length = (uint16_t)(whole / 8);
    memset(t->records + t->length, 0, whole);
    memcpy(t->records + t->length, &full, sizeof(full));
    if (length)
        memcpy(t->records + t->length + sizeof(full), more, length);
    t->length += (uint32_t)whole;
}

static void put_text(struct executor *x, enum timeline_worker_kind kind, uint32_t which, const char *text)
{
    const struct timeline_record head = {.kind = (uint16_t)kind, .which = which};

    put(x, &head, text, strlen(text) + 1);
}

/* Names of commands have numbers from 1 on, those of kernels from MOST_NAMES on. */
static uint32_t name_of(struct executor *x, const char *name)
{
    struct timeline *t = x->timeline;
    unsigned i = 0;

    while (i < t->name_count && t->names[i] != name)
        i++;
    if (i == MOST_NAMES - 1)
        return 0;
    if (i == t->name_count) {
        t->names[t->name_count++] = name;
        put_text(x, TIMELINE_NAME, i + 1, name);
    }
    return i + 1;
}

static uint32_t name_of_kernel(struct executor *x, uint32_t id)
{
    struct kernel *kernel = object_get(x, WIRE_KERNEL, id);
    char name[512] = "";

    if (!kernel || !is_usable(kernel))
        return 0;
    if (kernel->timeline_name < MOST_NAMES + x->timeline->kernels_before) {
        kernel->timeline_name = MOST_NAMES + x->timeline->kernel_count++;
        clGetKernelInfo(kernel->native, CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1, name, NULL);
        put_text(x, TIMELINE_NAME, kernel->timeline_name, name);
    }
    return kernel->timeline_name;
}

static void tell_device(struct executor *x, const struct queue *queue)
{
    const uint64_t bit = UINT64_C(1) << (queue->ordinal & 63);
    char name[512] = "";

    if (x->timeline->devices & bit)
        return;
    x->timeline->devices |= bit;
    clGetDeviceInfo(queue->on, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
    put_text(x, TIMELINE_DEVICE, queue->ordinal, name);
}

/* ---- commands ---- */

/* What a command's fields say: the bytes that it moves, its kernel, the size of a launch. */
struct described {
    uint64_t bytes, global[3];
    uint32_t kernel;
};

#define IS(field, name) (!__builtin_strcmp(#field, name))
#define ENQUEUE(name, number)                                                                                          \
    static void describe_##name(const struct wire_##name *w, struct described *d)                                      \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        (void)d;
#define SEND(name, number)                                                                                             \
    __attribute__((unused)) static void describe_##name(const struct wire_##name *w, struct described *d)              \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        (void)d;
#define CALL(name, number) SEND(name, number)
#define NOTE(name, number) SEND(name, number)
#define PEER(name, number) SEND(name, number)
#define REPLY(name)                                                                                                    \
    }                                                                                                                  \
    __attribute__((unused)) static void describe_##name##_reply(const struct wire_##name##_reply *w,                   \
                                                                struct described *d)                                   \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        (void)d;
#define END }
#define NUMBER(name)                                                                                                   \
    if (IS(name, "kernel"))                                                                                            \
        d->kernel = w->name;
#define U64(name)                                                                                                      \
    if (IS(name, "size"))                                                                                              \
        d->bytes = w->name;
#define REGION(name, kinds) d->bytes = w->name.size;
#define U64S(name, most)                                                                                               \
    for (uint32_t i = 0; IS(name, "global") && i < w->name##_count && i < 3; i++)                                      \
        d->global[i] = w->name[i];
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

static void describe(uint16_t number, const void *w, struct described *d)
{
    switch (number) {
#define ENQUEUE(name, number)                                                                                          \
    case number:                                                                                                       \
        describe_##name(w, d);                                                                                         \
        break;
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    }
}

/* They are never freed: there are as many as were pending at a time. */
static struct pending *pending_new(struct timeline *t)
{
    struct pending *found = t->free;

    if (!found) {
        struct pending *more = malloc(AT_ONCE * sizeof(*more));

        for (unsigned i = 0; more && i < AT_ONCE; i++) {
            more[i].next = t->free;
            t->free = &more[i];
        }
        found = t->free;
    }
    if (found)
        t->free = found->next;
    return found;
}

/* Finds the queue's line; there are few. */
static struct line *line_of(struct timeline *t, const struct queue *queue)
{
    struct line *more;

    for (unsigned i = 0; i < t->line_count; i++) {
        struct line *line = &t->lines[i];

        if (line->queue == queue->id || (!line->first && i + 1 == t->line_count)) {
            line->queue = queue->id;
            line->out_of_order = queue->out_of_order;
            return line;
        }
    }
    more = realloc(t->lines, (t->line_count + 1) * sizeof(*more));
    if (!more)
        return NULL;
    t->lines = more;
    for (unsigned i = 0; i < t->line_count; i++) {
        if (!more[i].first)
            more[i].last = &more[i].first; /* the lines have moved */
    }
    more[t->line_count] = (struct line){.queue = queue->id, .out_of_order = queue->out_of_order};
    more[t->line_count].last = &more[t->line_count].first;
    return &more[t->line_count++];
}

/* Returns 0 if the clock need not be read for this command. */
static uint64_t read_clock(struct timeline *t, const struct queue *queue)
{
    if (t->unread && queue->timed) {
        t->unread--;
        return 0;
    }
    return (uint64_t)clock_ns();
}

/* Decides for how many of the next commands the clock need not be read. */
static void clock_was_read(struct timeline *t, uint64_t before, uint64_t after)
{
    const bool quick = after - before < QUICK_NS && before - t->last < (uint64_t)QUICK_NS * (1 + t->shared);

    t->shared = !quick ? 0 : t->shared < QUICK_MOST ? t->shared + 1 : QUICK_MOST;
    t->unread = t->shared;
    t->last = after;
}

void timeline_begin(struct command *c, uint16_t number, const void *fields)
{
    struct executor *x = c->x;
    struct timeline *t = x->timeline;
    struct described d = {0};

    if (x->recording || !c->queue)
        return;
    describe(number, fields, &d);
    tell_device(x, c->queue);
    t->what = (struct timeline_command){.number = t->number++,
                                        .bytes = d.bytes,
                                        .queue = c->queue->id,
                                        .device = c->queue->ordinal,
                                        .event = c->object ? c->object->id : 0,
                                        .name = name_of(x, wire_name(number)),
                                        .kernel = d.kernel ? name_of_kernel(x, d.kernel) : 0,
                                        .out_of_order = c->queue->out_of_order,
                                        .launch = (wire_flags(number) & WIRE_LAUNCH) != 0};
    memcpy(t->what.global, d.global, sizeof(d.global));
    c->traced = true;
    t->what.before = read_clock(t, c->queue);
}

void timeline_enqueued(struct command *c)
{
    struct timeline *t = c->x->timeline;
    struct pending *pending = pending_new(t);
    struct line *line = line_of(t, c->queue);

    if (!pending || !line)
        return;
    *pending = (struct pending){.event = c->error ? NULL : c->event, .what = t->what};
    pending->what.status = c->error;
    if (pending->what.before) {
        pending->what.after = (uint64_t)clock_ns();
        clock_was_read(t, pending->what.before, pending->what.after);
    }
    if (pending->event)
        clRetainEvent(pending->event);
    *line->last = pending;
    line->last = &pending->next;
    t->count++;
}

static void read_times(struct pending *pending)
{
    static const cl_profiling_info infos[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                              CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};

    for (int i = 0; pending->event && i < 4; i++) {
        cl_ulong time = 0;

        if (clGetEventProfilingInfo(pending->event, infos[i], sizeof(time), &time, NULL)) {
            memset(pending->what.times, 0, sizeof(pending->what.times));
            break;
        }
        pending->what.times[i] = time;
    }
}

static bool is_short(uint64_t from, uint64_t to)
{
    return from <= to && to - from <= UINT32_MAX;
}

/* Whether it differs from the command reported last in its number, event and times only. */
static bool is_like(const struct timeline *t, const struct timeline_command *what)
{
    const struct timeline_command *told = &t->told;
    const uint64_t *times = what->times;

    return t->has_told && !what->before && times[0] && what->number == told->number + 1 && what->bytes == told->bytes &&
           what->queue == told->queue && what->device == told->device && what->name == told->name &&
           what->kernel == told->kernel && what->status == told->status &&
           !memcmp(what->global, told->global, sizeof(what->global)) && is_short(times[0], times[1]) &&
           is_short(times[1], times[2]) && is_short(times[2], times[3]);
}

static void over(struct executor *x, struct pending *pending)
{
    struct timeline *t = x->timeline;
    struct timeline_command *what = &pending->what;
    const uint64_t *times = what->times;

    read_times(pending);
    if (pending->event)
        clReleaseEvent(pending->event);
    if (t->length + sizeof(struct timeline_record) + sizeof(*what) > sizeof(t->records))
        send_records(x);
    if (is_like(t, what)) {
        const struct timeline_record head = {.kind = TIMELINE_LIKE, .from = times[0]};
        const struct timeline_like like = {(uint32_t)(times[1] - times[0]), (uint32_t)(times[2] - times[1]),
                                           (uint32_t)(times[3] - times[2]), what->event};

        put(x, &head, &like, sizeof(like));
    } else {
        const struct timeline_record head = {.kind = TIMELINE_COMMAND, .to = (uint64_t)clock_ns()};

        if (!times[0] && !what->before) /* it has no times at all */
            what->before = what->after = head.to;
        put(x, &head, what, sizeof(*what));
    }
    t->told = *what;
    t->has_told = true;
}

/* In an in-order queue nothing behind an unfinished command is over. */
static void look_along(struct executor *x, struct line *line)
{
    struct pending **at = &line->first;

    for (unsigned left = line->out_of_order ? MOST_LOOKED : 1; *at && left;) {
        struct pending *pending = *at;
        const cl_int status = event_status(pending->event);

        if (status > CL_COMPLETE) {
            at = &pending->next;
            left--;
            continue;
        }
        if (status < 0)
            pending->what.status = status;
        over(x, pending);
        *at = pending->next;
        if (!*at)
            line->last = at;
        x->timeline->count--;
        pending->next = x->timeline->free;
        x->timeline->free = pending;
    }
}

void timeline_look(struct executor *x)
{
    for (unsigned i = 0; x->timeline->count && i < x->timeline->line_count; i++)
        look_along(x, &x->timeline->lines[i]);
}

void timeline_turn(struct executor *x)
{
    if (++x->timeline->turns % EVERY_TURNS == 0)
        timeline_look(x);
}

/* ---- copies ---- */

uint64_t timeline_copies(const struct executor *x)
{
    return x->traced ? (uint64_t)clock_ns() : 0;
}

void timeline_copied(struct executor *x, unsigned device, bool out, uint64_t since, uint64_t bytes)
{
    const struct timeline_record head = {
        .kind = TIMELINE_STAGED, .which = device, .from = since, .to = (uint64_t)clock_ns()};
    const struct timeline_bytes more = {bytes, out, 0};

    if (since && x->traced)
        put(x, &head, &more, sizeof(more));
}

/* ---- time slices ---- */

void timeline_waits(struct executor *x, unsigned device, bool waits)
{
    struct timeline *t = x->timeline;
    const struct timeline_record head = {
        .kind = TIMELINE_TURN, .which = device, .from = t->halted, .to = (uint64_t)clock_ns()};

    if (waits == (t->halted != 0))
        return;
    if (!waits)
        put(x, &head, NULL, 0);
    t->halted = waits ? head.to : 0;
}

/* ---- requests of the application ---- */

/* Drops what an earlier trace has left pending, of commands that came while it was stopped. */
static void forget_pending(struct timeline *t)
{
    for (unsigned i = 0; i < t->line_count; i++) {
        struct line *line = &t->lines[i];

        while (line->first) {
            struct pending *pending = line->first;

            line->first = pending->next;
            if (pending->event)
                clReleaseEvent(pending->event);
            pending->next = t->free;
            t->free = pending;
        }
        line->last = &line->first;
    }
    t->count = 0;
    t->length = 0;
}

/* Answers an earlier call for the end, for which nobody waits any more. */
static void end_unwanted(struct executor *x)
{
    const struct wire_timeline_end_reply late = {.call = x->timeline->end_call, .left = x->timeline->count};

    if (late.call)
        reply_timeline_end(x, &late);
    x->timeline->end_call = 0;
}

int exec_timeline(struct executor *x, const struct exec_timeline *m)
{
    struct timeline *t = x->timeline;

    if (m->on && !t) {
        t = calloc(1, sizeof(*t));
        if (!t)
            return 0; /* nothing is recorded */
        x->timeline = t;
    }
    if (t && m->on) {
        if (!x->traced) {
            end_unwanted(x);
            forget_pending(t);
            t->halted = 0;
        }
        t->number = t->devices = 0;
        t->has_told = false;
        t->name_count = 0;
        t->kernels_before = t->kernel_count;
    }
    x->traced = t && m->on;
    return 0;
}

int exec_timeline_ask(struct executor *x, const struct exec_timeline_ask *m)
{
    const struct wire_timeline_time time = {m->asked, (uint64_t)clock_ns()};
    struct wire_buffer out = {0};

    wire_put_timeline_time(&out, &time);
    executor_send(x, &out);
    return 0;
}

static void end_look(struct executor *x, struct job *job);

static cl_event first_left(const struct timeline *t)
{
    for (unsigned i = 0; i < t->line_count; i++) {
        if (t->lines[i].first)
            return t->lines[i].first->event;
    }
    return NULL;
}

/* Replies when nothing is pending, or checks again when the first pending command is over. */
static void end_when_over(struct executor *x)
{
    struct timeline *t = x->timeline;
    struct wire_timeline_end_reply reply = {.call = t ? t->end_call : 0};
    cl_event first;

    if (!t || t->end_waits)
        return;
    for (unsigned before = t->count + 1; t->count && t->count < before;) {
        before = t->count;
        timeline_look(x);
    }
    first = first_left(t);
    if (first) {
        t->end_waits = true;
        event_when(x, first, CL_COMPLETE, end_look, &t->end);
        return;
    }
    reply.left = t->count;
    send_records(x);
    reply_timeline_end(x, &reply);
    t->end_call = 0;
}

static void end_look(struct executor *x, struct job *job)
{
    (void)job;
    x->timeline->end_waits = false;
    if (x->timeline->end_call)
        end_when_over(x);
}

int exec_timeline_end(struct executor *x, const struct exec_timeline_end *m)
{
    const struct wire_timeline_end_reply none = {.call = m->call};

    executor_flush(x);
    if (!x->timeline) {
        reply_timeline_end(x, &none);
        return 0;
    }
    end_unwanted(x);
    x->timeline->end_call = m->call;
    end_when_over(x);
    return 0;
}

void timeline_tell(struct executor *x)
{
    timeline_look(x);
    send_records(x);
}
