#include "base/rank.h"

#ifdef RANKS_CHECKED
#include <stdlib.h>

#include "base/log.h"

#define MOST_HELD 16

static _Thread_local const struct rank *held[MOST_HELD];
static _Thread_local unsigned held_count;

/* Reports whatever VOCL_LOG says, since the process aborts. */
__attribute__((noreturn)) static void wrong(const struct rank *rank, const char *what, const struct rank *other)
{
    vocl_trace("a thread %s %s while it holds %s (doc/internals/locks.md)", what, rank->name, other->name);
    abort();
}

void rank_take(const struct rank *rank)
{
    bool is_held = false;

    if (!rank->number)
        return;
    for (unsigned i = 0; i < held_count; i++)
        is_held |= held[i] == rank;
    for (unsigned i = 0; i < held_count && !(is_held && rank->again); i++) {
        if (held[i]->number >= rank->number)
            wrong(rank, "takes", held[i]);
    }
    if (held_count == MOST_HELD)
        wrong(rank, "has no room for", held[held_count - 1]);
    held[held_count++] = rank;
}

void rank_release(const struct rank *rank)
{
    unsigned at = held_count;

    if (!rank->number)
        return;
    while (at && held[at - 1] != rank)
        at--;
    if (!at)
        return;
    for (held_count--; at <= held_count; at++)
        held[at - 1] = held[at];
}

void rank_wait(const struct rank *rank)
{
    unsigned times = 0;

    for (unsigned i = 0; i < held_count; i++) {
        if (held[i]->number > rank->number)
            wrong(rank, "waits with", held[i]);
        times += held[i] == rank;
    }
    if (times > 1)
        wrong(rank, "waits with", rank);
}

void rank_forget(const struct rank *rank)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < held_count; i++) {
        if (held[i] != rank)
            held[kept++] = held[i];
    }
    held_count = kept;
}

#endif
