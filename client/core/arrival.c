/*
 * Arrivals. When a node reports that a command is complete, its data need not be in the program's memory: notes and
 * bulk data take different paths. An arrival stands for all data that have to come, or to leave, before a command
 * counts as over here: its own, those of earlier commands of its queue, and those of events that it waits for, on
 * whichever node. It depends only on OpenCL's order of the commands, so it never keeps anything from progressing.
 */
#include "client/core/event.h"
#include "client/core/per_process.h"
#include "client/core/session.h"

struct arrival {
    unsigned references, missing;
    struct arrival_waiter *first, **last;
    struct arrival_waiter parts[2]; /* where this one waits for others */
    struct arrival *next;
};

static PER_PROCESS atomic_uint open_count;
static PER_PROCESS struct arrival *over, **over_last = &over; /* arrivals whose waiters are to be called */
static PER_PROCESS bool running;

bool arrival_any(void)
{
    return atomic_load_explicit(&open_count, memory_order_relaxed) > 0;
}

bool arrival_is_over(const struct arrival *a)
{
    return !a || !a->missing;
}

struct arrival *arrival_use(struct arrival *a)
{
    if (a)
        a->references++;
    return a;
}

void arrival_drop(struct arrival *a)
{
    if (a && !--a->references)
        free(a);
}

struct arrival *arrival_new(void)
{
    struct arrival *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->references = 2; /* one until it is over */
    a->missing = 1;
    a->last = &a->first;
    atomic_fetch_add(&open_count, 1);
    return a;
}

/* Without recursion, as there may be a long chain of commands that wait for each other. */
void arrival_part_over(struct arrival *a)
{
    if (--a->missing)
        return;
    *over_last = a;
    over_last = &a->next;
    atomic_fetch_sub(&open_count, 1);
    if (running)
        return;
    running = true;
    while ((a = over)) {
        while (a->first) {
            struct arrival_waiter *waiter = a->first;

            a->first = waiter->next;
            waiter->run(waiter->argument);
        }
        over = a->next;
        if (!over)
            over_last = &over;
        arrival_drop(a);
    }
    running = false;
}

void arrival_then(struct arrival *a, struct arrival_waiter *waiter, void (*run)(void *), void *argument)
{
    *waiter = (struct arrival_waiter){.run = run, .argument = argument};
    if (arrival_is_over(a)) {
        run(argument);
        return;
    }
    *a->last = waiter;
    a->last = &waiter->next;
}

static void part_over(void *argument)
{
    arrival_part_over(argument);
}

bool arrival_join(struct arrival **to, struct arrival *more)
{
    struct arrival *both;

    if (arrival_is_over(more) || *to == more)
        return true;
    if (arrival_is_over(*to)) {
        arrival_drop(*to);
        *to = arrival_use(more);
        return true;
    }
    both = arrival_new();
    if (!both)
        return false;
    both->missing = 2;
    arrival_then(*to, &both->parts[0], part_over, both);
    arrival_then(more, &both->parts[1], part_over, both);
    arrival_drop(*to);
    *to = both;
    return true;
}

struct kept {
    struct arrival_waiter waiter;
    void *memory;
};

static void let_go(void *argument)
{
    struct kept *kept = argument;

    free(kept->memory);
    free(kept);
}

void arrival_free(struct session *session, struct arrival *a, void *memory)
{
    struct kept *kept;

    session_lock(session);
    kept = arrival_is_over(a) ? NULL : malloc(sizeof(*kept));
    if (kept) {
        kept->memory = memory;
        arrival_then(a, &kept->waiter, let_go, kept);
    } else if (arrival_is_over(a)) {
        free(memory);
    }
    session_unlock(session);
}

static bool ready(void *argument)
{
    return arrival_is_over(argument);
}

void arrival_wait(struct session *session, struct arrival *a)
{
    session_lock(session);
    if (!arrival_is_over(a))
        session_wait(session, ready, a);
    session_unlock(session);
}
