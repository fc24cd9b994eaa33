/*
 * An idle session keeps others from its devices; one that is suspended and needed again costs a change. Nobody knows
 * how long it will be idle. So it is suspended when it has been idle for as long as a change takes: at worst that costs
 * twice as much as with knowledge of the future (the ski rental problem). A program whose pauses are a little longer
 * than that would pay twice each time. So a session that is needed again before its suspension was worth it is left
 * alone for twice as long.
 */
#include "proxy/launch/costs.h"

#include <stdbool.h>

#define MOST_DOUBLINGS 6
#define LEAST_MS 100

static struct {
    long asked_ms, went_ms, wanted_ms, granted_ms; /* times; 0: not yet */
    long going_ms;                                 /* how long suspending took */
    bool asked; /* a daemon asked for it this time; false: `vocl suspend` on its host did */
    unsigned doublings;
} cost;

void costs_asked(long now)
{
    cost.asked_ms = now;
}

void costs_went(long now)
{
    cost.went_ms = now;
    cost.asked = cost.asked_ms;
    if (cost.asked)
        cost.going_ms = cost.went_ms - cost.asked_ms;
    cost.asked_ms = cost.wanted_ms = cost.granted_ms = 0;
}

void costs_wanted(long now)
{
    if (!cost.wanted_ms)
        cost.wanted_ms = now;
}

void costs_granted(long now)
{
    if (!cost.granted_ms)
        cost.granted_ms = now;
}

long costs_came(long now)
{
    const long coming = cost.granted_ms ? now - cost.granted_ms : 0;
    const long change = (cost.going_ms ? cost.going_ms : coming) + coming + LEAST_MS;

    if (cost.asked && cost.wanted_ms && cost.wanted_ms - cost.went_ms < change)
        cost.doublings += cost.doublings < MOST_DOUBLINGS;
    else if (cost.asked)
        cost.doublings -= cost.doublings > 0;
    return change << cost.doublings;
}
