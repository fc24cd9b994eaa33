/*
 * Who lets reservations expire, several in a short time, gets none of this node for some: to hold devices by asking for
 * them again and again, without ever starting anything, is not to pay. A program that ends gives back what it has, and
 * nothing expires; of one that is very slow to start a reservation may expire once.
 */
#include "base/clock.h"
#include "proxy/daemon/node/internal.h"

#define AWAY_MS 60000
#define SOME 3 /* within that time */
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
