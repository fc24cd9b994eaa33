/*
 * Calls in so quick a succession that the clock was not read for each: they are placed one after the other between two
 * known times, with the durations of measured calls of the same functions.
 */
#include <stdlib.h>

#include "tools/tools.h"
#include "tools/trace.h"

#define FUNCTIONS (1u << TIMELINE_FUNCTION_BITS)
#define AT_FIRST_NS 100 /* duration of a call of a function that was never measured */
#define GAP_NS 3000     /* largest gap between two calls; more is a pause, which may be after them or before them */

struct average {
    uint64_t sum, count;
};

static uint64_t time_of(const struct process *process, const struct quick *quick)
{
    const struct average *average = &process->averages[quick->function % FUNCTIONS];

    return average->count ? average->sum / average->count : AT_FIRST_NS;
}

static void put(struct process *process, const struct thread *thread, const struct quick *quick, uint64_t from,
                uint64_t to)
{
    struct timeline_call *sent = NULL;
    struct item *item;

    if (quick->sent.count) {
        sent = malloc(sizeof(*sent));
        if (!sent)
            fail(1, "out of memory");
        *sent = quick->sent;
    }
    process->items = trace_more(process->items, &process->item_count, sizeof(*item));
    item = &process->items[process->item_count - 1];
    *item = (struct item){.head = {TIMELINE_CALL, 0, quick->function, from, to},
                          .more = sent,
                          .length = sent ? sizeof(*sent) : 0,
                          .thread = thread->number,
                          .estimated = true};
}

/* Places count calls from one time until another; least: minimum duration of the first one. */
static void lay_out(struct process *process, const struct thread *thread, const struct quick *quick, size_t count,
                    uint64_t from, uint64_t until, uint64_t least)
{
    const double room = until > from ? (double)(until - from) : 0;
    double all = 0, scale, gap, at = 0;

    for (size_t i = 0; i < count; i++)
        all += (double)time_of(process, &quick[i]) + (i ? 0 : (double)least);
    scale = all > room ? room / all : 1;
    gap = count && all < room ? (room - all) / (double)count : 0;
    gap = gap > GAP_NS ? GAP_NS : gap;
    for (size_t i = 0; i < count; i++) {
        const double begin = at + (least ? 0 : gap);
        const double end = begin + scale * ((double)time_of(process, &quick[i]) + (i ? 0 : (double)least));

        put(process, thread, &quick[i], from + (uint64_t)begin, from + (uint64_t)end);
        at = end + (least ? gap : 0);
    }
}

/* Places the pending calls; none of them was under way at that time. */
static void settle(struct process *process, struct thread *thread, uint64_t until)
{
    size_t first = 0;
    uint64_t least = 0;

    for (size_t i = 0; i <= thread->quick_count; i++) {
        const struct quick *quick = &thread->quick[i];
        const bool last = i == thread->quick_count;

        if (!last && !quick->to)
            continue;
        lay_out(process, thread, thread->quick + first, i - first, thread->known, last ? until : quick->from, least);
        first = i + 1;
        if (last)
            break;
        thread->known = quick->from > thread->known ? quick->from : thread->known;
        least = quick->to > thread->known ? quick->to - thread->known : 0;
    }
    free(thread->quick);
    thread->quick = NULL;
    thread->quick_count = 0;
}

static struct quick *more(struct thread *thread)
{
    thread->quick = trace_more(thread->quick, &thread->quick_count, sizeof(*thread->quick));
    return &thread->quick[thread->quick_count - 1];
}

static void take_call(struct process *process, struct thread *thread, const struct item *item)
{
    struct average *average = &process->averages[item->head.which % FUNCTIONS];
    const struct timeline_call sent = trace_sent(item);

    /* work during this call does not belong to one of those before it */
    while (thread->quick_count && thread->quick[thread->quick_count - 1].to &&
           thread->quick[thread->quick_count - 1].from >= item->head.from)
        thread->quick_count--;
    settle(process, thread, item->head.from);
    thread->known = item->head.to;
    average->sum += item->head.to - item->head.from;
    average->count++;
    if (sent.count)
        thread->sent = sent;
}

void trace_quick(struct process *process, struct thread *thread, const struct item *item)
{
    struct quick *quick;

    if (!process->averages)
        process->averages = calloc(FUNCTIONS, sizeof(*process->averages));
    if (!process->averages)
        fail(1, "out of memory");
    switch (item->head.kind) {
    case TIMELINE_QUICK_NEXT:
        if (thread->sent.count) {
            thread->sent.first += thread->sent.count;
            thread->sent.count = 1;
        }
        quick = more(thread);
        quick->function = item->head.which;
        quick->sent = thread->sent;
        break;
    case TIMELINE_QUICK:
        more(thread)->function = item->head.which;
        break;
    case TIMELINE_CALL:
        take_call(process, thread, item);
        break;
    case TIMELINE_FRAME:
        quick = more(thread);
        quick->from = item->head.from;
        quick->to = item->head.to ? item->head.to : 1;
        break;
    }
}

void trace_quick_end(struct process *process)
{
    for (size_t i = 0; i < process->thread_count; i++) {
        struct thread *thread = &process->threads[i];
        uint64_t all = 0;

        for (size_t k = 0; k < thread->quick_count; k++)
            all += time_of(process, &thread->quick[k]);
        settle(process, thread, thread->known + all);
    }
    free(process->averages);
    process->averages = NULL;
}
