/* How long a session is idle before it is suspended for other sessions, depending on the cost of its earlier
 * suspensions. */
#include <stdio.h>
#include <stdlib.h>

#include "proxy/launch/costs.h"

static long now = 1000000;

/* Simulates a suspension, for other sessions if asked. Returns the idle time in ms that costs_came() demands
 * afterwards. */
static long suspended(int asked, long going, long away, long queued, long coming)
{
    if (asked)
        costs_asked(now);
    now += going;
    costs_went(now);
    now += away;
    costs_wanted(now);
    now += queued;
    costs_granted(now);
    now += coming / 2;
    costs_wanted(now); /* another of its workers */
    costs_granted(now);
    now += coming - coming / 2;
    return costs_came(now);
}

static void expect(long told, long cost, long times, const char *what)
{
    if (told >= cost * times && told <= (cost + 200) * times)
        return;
    fprintf(stderr, "%s: %ld ms, not %ld x %ld\n", what, told, times, cost);
    exit(1);
}

int main(void)
{
    expect(suspended(0, 0, 5, 0, 3000), 6000, 1, "what somebody has suspended, who knows why");
    expect(suspended(1, 2000, 60000, 0, 3000), 5000, 1, "it was worth it");
    expect(suspended(1, 2000, 60000, 90000, 3000), 5000, 1, "to wait for a place is no cost of the change");
    expect(suspended(1, 2000, 100, 0, 3000), 5000, 2, "wanted again at once");
    expect(suspended(1, 2000, 100, 90000, 3000), 5000, 4, "and again");
    expect(suspended(1, 4000, 100, 0, 5000), 9000, 8, "by what the last one took");
    expect(suspended(0, 0, 100, 0, 5000), 9000, 8, "one that nobody has asked for");
    expect(suspended(1, 4000, 60000, 0, 5000), 9000, 4, "worth it again");
    expect(suspended(1, 4000, 60000, 0, 5000), 9000, 2, "and again");
    expect(suspended(1, 4000, 60000, 0, 5000), 9000, 1, "as at first");
    expect(suspended(1, 4000, 60000, 0, 5000), 9000, 1, "not below");
    for (int i = 0; i < 100; i++)
        suspended(1, 4000, 0, 0, 5000);
    expect(suspended(1, 4000, 0, 0, 5000), 9000, 64, "without an end");
    return 0;
}
