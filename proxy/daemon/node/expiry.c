/*
 * A user who lets several reservations expire in a short time gets none of this node for a while. Otherwise it would
 * pay to hold devices by reserving them again and again without starting anything. A program that ends returns its
 * reservations, so they do not expire; that of a very slow program may expire once.
 */
#include "base/clock.h"
#include "proxy/daemon/node/internal.h"

#define AWAY_MS 60000
#define SOME 3 /* expiries within that time */
#define USERS 64

static struct expiry {
    uid_t uid;
    unsigned count;
    long until_ms;
} expiries[USERS];

void expiry_note(uid_t uid)
{
    struct expiry *oldest = expiries;

    for (struct expiry *at = expiries; at < expiries + USERS; at++) {
        if (at->uid == uid) {
            oldest = at;
            break;
        }
        if (at->until_ms < oldest->until_ms)
            oldest = at;
    }
    if (oldest->uid != uid || oldest->until_ms < clock_ms())
        *oldest = (struct expiry){.uid = uid};
    oldest->count++;
    oldest->until_ms = clock_ms() + AWAY_MS;
}

long expiry_seconds(uid_t uid)
{
    const long now = clock_ms();

    for (const struct expiry *at = expiries; at < expiries + USERS; at++) {
        if (at->uid == uid && at->count >= SOME && at->until_ms > now)
            return (at->until_ms - now) / 1000 + 1;
    }
    return 0;
}
