/* The rate of a link: see pace.h. */
#include "transport/stream/pace.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/settings.h"

#define EVERY_NS 5000000      /* between two looks */
#define MOST_GAP_NS 200000000 /* between two looks; after more the time between them does not count */
#define ENOUGH_NS 60000000    /* a measurement takes so long of waiting for the link, */
#define ENOUGH_TURNS 2        /* or this many round trips */
/* A connection is slow at first, and grows: a rate is the best measurement after so many that are no better. */
#define STILL 2
#define OLD_NS 10000000000 /* after that the rate is measured again, with nothing packed */
#define SLOW 60000000u     /* bytes per second: below, hashing and copying are cheap compared with sending */
#define WORTH 100000000u   /* below, packing may be worth it */
#define CRAWLING 20000000u
#define UNKNOWN_MOST (8u << 20) /* bytes to a distant peer before the rate is known */
#define FAR_US 1000
#define SAMPLE (16u << 10)
#define MOST_SKIP 64

void pace_open(struct pace *pace, long us)
{
    *pace = (struct pace){.far = us >= FAR_US, .cost = 2.5, .share = 0.6};
    pace->rate = settings_bytes(SETTING_LINK_RATE);
    pace->fixed = pace->rate != 0;
    pace->enough_ns = us * 1000 * ENOUGH_TURNS > ENOUGH_NS ? us * 1000 * ENOUGH_TURNS : ENOUGH_NS;
}

/* Sums up what has arrived on all connections, including bytes behind lost ones: otherwise the end of each gap would
 * look like a fast link. waits: bytes wait here that could be sent. */
static bool ask(const int *fds, unsigned count, uint64_t *arrived, bool *waits)
{
    *arrived = 0;
    *waits = false;
    for (unsigned i = 0; i < count; i++) {
        struct tcp_info info;
        socklen_t length = sizeof(info);

        memset(&info, 0, sizeof(info));
        if (getsockopt(fds[i], IPPROTO_TCP, TCP_INFO, &info, &length))
            return false;
        *arrived += info.tcpi_bytes_acked + (uint64_t)info.tcpi_sacked * info.tcpi_snd_mss;
        *waits |= info.tcpi_notsent_bytes > 0;
    }
    return true;
}

/* Takes a measurement. True: there is a new rate. */
static bool learn(struct pace *pace, uint64_t rate)
{
    const bool grows = rate > pace->best + pace->best / 4;

    pace->best = rate > pace->best ? rate : pace->best;
    pace->still = grows ? 0 : pace->still + 1;
    if (pace->still < STILL)
        return false;
    /* a slower result may be due to an idle link */
    pace->last = pace->best;
    pace->rate = pace->best > pace->rate ? pace->best : (pace->best + pace->rate) / 2;
    pace->best = 0;
    return true;
}

bool pace_look(struct pace *pace, const int *fds, unsigned count, long now)
{
    const long gap = now - pace->looked_ns;
    uint64_t arrived, rate;
    bool waits, known;

    if (pace->fixed || gap < EVERY_NS || !ask(fds, count, &arrived, &waits))
        return false;
    if (pace->busy && waits && gap < MOST_GAP_NS && arrived >= pace->arrived) {
        pace->busy_ns += gap;
        pace->busy_bytes += arrived - pace->arrived;
    }
    pace->busy = waits;
    pace->looked_ns = now;
    pace->arrived = arrived;
    if (pace->busy_ns < pace->enough_ns)
        return false;
    rate = (uint64_t)((double)pace->busy_bytes * 1e9 / (double)pace->busy_ns) + 1;
    pace->busy_ns = 0;
    pace->busy_bytes = 0;
    known = learn(pace, rate);
    if (known)
        pace->measured_ns = now;
    return known;
}

bool pace_is_slow(const struct pace *pace, uint64_t given)
{
    return pace->rate ? pace->rate < SLOW : pace->far && given < UNKNOWN_MOST;
}

bool pace_is_crawling(const struct pace *pace)
{
    return pace->rate && pace->rate < CRAWLING;
}

size_t pace_try(struct pace *pace, size_t length)
{
    if (!pace->rate || pace->rate >= WORTH || length < SAMPLE / 4)
        return 0;
    if (!pace->fixed && pace->looked_ns - pace->measured_ns > OLD_NS)
        return 0;
    if (pace->skip) {
        pace->skip--;
        return 0;
    }
    return pace->failures && length > SAMPLE ? SAMPLE : length;
}

bool pace_tried(struct pace *pace, size_t length, size_t made, long ns)
{
    const double link = 1e9 / (double)pace->rate, bytes = (double)length;
    const double cost = (double)ns / bytes, share = (double)made / bytes;

    pace->cost = 0.75 * pace->cost + 0.25 * cost;
    pace->share = share;
    /* the other side unpacks, in half the time */
    if (1.5 * pace->cost + share * link < 0.95 * link) {
        pace->failures = 0;
        return true;
    }
    pace->failures += pace->failures < 8;
    pace->skip = 1u << pace->failures < MOST_SKIP ? 1u << pace->failures : MOST_SKIP;
    return false;
}
