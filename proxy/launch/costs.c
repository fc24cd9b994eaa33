/*
 * A session that does nothing keeps others from its devices; one that is suspended and is wanted again costs a
 * change. Nobody knows for how long it will do nothing, so it is suspended when it has done nothing for as long as a
 * change takes: whatever comes, that is at most twice what somebody would have paid who had known (the rule of who
 * rents skis, and buys them when he has paid their price in rent). A program that pauses for a little longer than that
 * would pay the double every time. So whoever is wanted again before that has been worth it is left in peace for
 * twice as long.
 */
#include "proxy/launch/costs.h"

#include <stdbool.h>

#define MOST_DOUBLINGS 6
#define LEAST_MS 100

static struct {
    long asked_ms, went_ms, wanted_ms, granted_ms; /* when, 0: not yet */
    long going_ms;                                 /* how long it took */
    bool asked;                                    /* this time; or somebody has suspended it on the spot */
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
