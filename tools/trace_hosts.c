/*
 * Converts the clocks of several hosts. Processes with the same clock are shifted together, to the clock of the host
 * that has been up longest. The first estimate comes from the wall clocks, which are as right as the hosts' NTP; then
 * messages of XTQ narrow it: a task does not begin before its put, and messages in both directions bound the shift to
 * the time that the quickest took. Drift is not determined.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tools.h"
#include "tools/trace.h"

/* A message at one of its ends: the put, or the task that it became. */
struct end {
    struct timeline_message what;
    uint64_t from;
    size_t clock;
};

struct ends {
    struct end *all;
    size_t count;
};

/* Bounds of the shift that is added to a clock's times. */
struct bounds {
    double low, high;
};

static bool same_clock(const struct process *one, const struct process *other)
{
    return !memcmp(&one->clock, &other->clock, sizeof(one->clock.of));
}

/* Lists one process for each clock, ordered by the time that their hosts have been up, the longest first. */
static struct process **list_clocks(const struct trace *trace, size_t *count)
{
    struct process **clocks = calloc(trace->process_count + 1, sizeof(struct process *));

    if (!clocks)
        fail(1, "out of memory");
    *count = 0;
    for (size_t i = 0; i < trace->process_count; i++) {
        struct process *process = &trace->processes[i];
        size_t at = 0;

        while (at < *count && !same_clock(clocks[at], process))
            at++;
        if (at < *count)
            continue;
        for (at = (*count)++; at && clocks[at - 1]->clock.wall > process->clock.wall; at--)
            clocks[at] = clocks[at - 1];
        clocks[at] = process;
    }
    return clocks;
}

static size_t clock_of(const struct process *process, struct process *const *clocks)
{
    size_t at = 0;

    while (!same_clock(clocks[at], process))
        at++;
    return at;
}

static int by_place(const void *one, const void *other)
{
    return trace_by_place(&((const struct end *)one)->what, &((const struct end *)other)->what);
}

static struct ends list_ends(const struct trace *trace, struct process *const *clocks, uint16_t kind)
{
    struct ends ends = {0};

    for (size_t i = 0; i < trace->process_count; i++) {
        const struct process *process = &trace->processes[i];

        for (size_t k = 0; k < process->item_count; k++) {
            const struct item *item = &process->items[k];

            if (item->head.kind != kind)
                continue;
            ends.all = trace_more(ends.all, &ends.count, sizeof(*ends.all));
            ends.all[ends.count - 1].from = item->head.from;
            ends.all[ends.count - 1].clock = clock_of(process, clocks);
            memcpy(&ends.all[ends.count - 1].what, item->more, sizeof(ends.all->what));
        }
    }
    if (ends.count)
        qsort(ends.all, ends.count, sizeof(*ends.all), by_place);
    return ends;
}

/* Finds the bounds from messages between that clock and the ones before it, whose shifts are known. */
static struct bounds find_bounds(const struct ends *puts, const struct ends *tasks, size_t clock, const double *shifts)
{
    struct bounds bounds = {-INFINITY, INFINITY};

    for (size_t i = 0; i < tasks->count; i++) {
        const struct end *task = &tasks->all[i], *put = NULL;

        if (puts->count)
            put = bsearch(task, puts->all, puts->count, sizeof(*puts->all), by_place);
        if (!put)
            continue;
        if (task->clock == clock && put->clock < clock)
            bounds.low = fmax(bounds.low, (double)(int64_t)(put->from - task->from) + shifts[put->clock]);
        if (put->clock == clock && task->clock < clock)
            bounds.high = fmin(bounds.high, (double)(int64_t)(task->from - put->from) + shifts[task->clock]);
    }
    return bounds;
}

/* If bounds exclude each other, because clocks drift, their distance is the error. */
static double shift_within(struct bounds bounds, double wall, double *error)
{
    if (isfinite(bounds.low) && isfinite(bounds.high)) {
        *error = fabs(bounds.high - bounds.low) / 2;
        return (bounds.low + bounds.high) / 2;
    }
    *error = INFINITY;
    return fmin(fmax(wall, bounds.low), bounds.high);
}

static void shift(struct process *process, double by, double error)
{
    const uint64_t ns = (uint64_t)llround(by);

    process->shift = by;
    process->shift_error = error;
    for (size_t i = 0; i < process->item_count; i++) {
        process->items[i].head.from += ns;
        process->items[i].head.to += ns;
    }
    for (size_t i = 0; i < process->member_count; i++)
        process->members[i].since += ns;
}

void trace_align(struct trace *trace)
{
    size_t count;
    struct process **clocks = list_clocks(trace, &count);
    struct ends puts = list_ends(trace, clocks, TIMELINE_PUT), tasks = list_ends(trace, clocks, TIMELINE_TASK);
    double *shifts = calloc(count + 1, sizeof(*shifts)), *errors = calloc(count + 1, sizeof(*errors));

    if (!shifts || !errors)
        fail(1, "out of memory");
    for (size_t i = 1; i < count; i++)
        shifts[i] = shift_within(find_bounds(&puts, &tasks, i, shifts),
                                 (double)(clocks[i]->clock.wall - clocks[0]->clock.wall), &errors[i]);
    for (size_t i = 0; i < trace->process_count; i++) {
        const size_t clock = clock_of(&trace->processes[i], clocks);

        if (clock)
            shift(&trace->processes[i], shifts[clock], errors[clock]);
    }
    free(puts.all);
    free(tasks.all);
    free(shifts);
    free(errors);
    free(clocks);
}
