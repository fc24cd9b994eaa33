/* See waiting.h. */
#include <errno.h>
#include <limits.h>

#include "ground/adapter.h"
#include "ground/waiting.h"

#define MUTE_US 100       /* while devices that cannot ring write signals */
#define LONG_TASK_US 1000 /* after a task this long a thread stops helping: the queues' threads run in parallel */

static struct polling begin_polling(const struct waits *how, long now)
{
    return (struct polling){.since_us = now, .seen_us = now, .alone = how->alone};
}

void waiting_begin(struct waiting *waiting, const struct waits *how, int rank, long timeout_us)
{
    long now;

    *waiting = (struct waiting){.how = how, .spin_us = how->spin_us, .rank = rank, .once = !timeout_us};
    if (waiting->once)
        return;
    now = clock_us();
    waiting->polling = begin_polling(how, now);
    waiting->until_us = timeout_us > 0 && timeout_us < LONG_MAX - now ? now + timeout_us : LONG_MAX;
    waiting->helping = true;
    if (how->adapter)
        adapter_help_begin(how->adapter);
    if (how->help_begin)
        how->help_begin(how->owner);
}

static void help_no_more(struct waiting *waiting)
{
    const struct waits *how = waiting->how;

    if (waiting->helping && how->adapter)
        adapter_help_end(how->adapter);
    if (waiting->helping && how->help_end)
        how->help_end(how->owner);
    waiting->helping = false;
}

/* Does other work. Whether something has been done, or has happened. */
static bool help(struct waiting *waiting)
{
    const struct waits *how = waiting->how;

    if (how->adapter && !waiting->tired)
        adapter_help(how->adapter);
    return how->help && how->help(how->owner, waiting);
}

static void look(const struct waits *how)
{
    if (how->look)
        how->look(how->owner);
}

static int happened(struct waiting *waiting)
{
    long now = clock_us();

    if (now - waiting->polling.seen_us >= LONG_TASK_US)
        help_no_more(waiting);
    waiting->polling = begin_polling(waiting->how, now);
    waiting->naps = 0;
    waiting->tired = waiting->listening = false;
    return now >= waiting->until_us ? -ETIMEDOUT : 0;
}

static int poll_on(struct waiting *waiting)
{
    static _Thread_local struct crowd crowd;
    const struct waits *how = waiting->how;

    waiting->tired = !polling_on(&waiting->polling, how->yield_every, waiting->spin_us, how->crowds ? &crowd : NULL);
    if (waiting->polling.polls % how->yield_every == 0)
        look(how);
    return waiting->polling.seen_us >= waiting->until_us ? -ETIMEDOUT : 0;
}

static bool any_lost(const struct waits *how)
{
    if (!neighbours_any_lost(how->neighbours))
        return false;
    for (int i = 0; i < how->rank_count; i++) {
        if (neighbours_lost(how->neighbours, how->ranks[i]))
            return true;
    }
    return !how->ranks;
}

static bool is_lost(const struct waiting *waiting)
{
    return waiting->rank >= 0 ? neighbours_lost(waiting->how->neighbours, waiting->rank)
                              : waiting->until_us == LONG_MAX && any_lost(waiting->how);
}

static long nap_us(const struct waiting *waiting)
{
    const struct waits *how = waiting->how;
    long us = how->first_us << (waiting->naps < 16 ? waiting->naps : 16);

    if (how->mute && atomic_load_explicit(how->mute, memory_order_relaxed))
        return MUTE_US;
    return us < how->longest_us ? us : how->longest_us;
}

/* Sleeps. The first time it only announces that: the caller checks once more. */
static int sleep_a_while(struct waiting *waiting)
{
    long left = waiting->until_us - clock_us(), most = nap_us(waiting);

    if (left <= 0)
        return -ETIMEDOUT;
    if (is_lost(waiting))
        return -ECONNRESET;
    if (!waiting->how->help)
        help_no_more(waiting);
    if (waiting->listening) {
        look(waiting->how);
        doze_sleep(waiting->how->doze, waiting->lain_down, left < most ? left : most);
        waiting->naps++;
        waiting->polling.seen_us = clock_us();
    }
    waiting->listening = true;
    waiting->lain_down = doze_lie_down(waiting->how->doze);
    return 0;
}

static int step(struct waiting *waiting)
{
    int error = waiting->tired ? sleep_a_while(waiting) : 0;

    if (error)
        return error;
    if (help(waiting) && !waiting->once)
        return happened(waiting);
    if (waiting->once)
        return waiting->rank >= 0 && is_lost(waiting) ? -ECONNRESET : -ETIMEDOUT;
    return waiting->tired ? 0 : poll_on(waiting);
}

bool waiting_step(struct waiting *waiting)
{
    if (!waiting->error)
        waiting->error = step(waiting);
    return !waiting->error;
}

bool waiting_fail(struct waiting *waiting, int error)
{
    waiting->error = error;
    return false;
}

int waiting_end(struct waiting *waiting)
{
    help_no_more(waiting);
    return waiting->error;
}

bool word_holds(int64_t now, enum vocl_condition condition, int64_t value)
{
    switch (condition) {
    case VOCL_EQ:
        return now == value;
    case VOCL_NE:
        return now != value;
    case VOCL_LT:
        return now < value;
    case VOCL_GE:
        return now >= value;
    case VOCL_GT:
        return now > value;
    case VOCL_LE:
        return now <= value;
    }
    return false;
}

int waiting_for_word(const struct waits *how, const _Atomic int64_t *word, enum vocl_condition condition, int64_t value,
                     long timeout_us, int64_t *out)
{
    int64_t now = atomic_load(word);
    int error = 0;

    if (!word_holds(now, condition, value)) {
        struct waiting waiting;

        waiting_begin(&waiting, how, -1, timeout_us);
        while (!word_holds(now = atomic_load(word), condition, value) && waiting_step(&waiting))
            ;
        error = waiting_end(&waiting);
    }
    if (!word_holds(now, condition, value))
        return error;
    if (out)
        *out = now;
    return 0;
}
