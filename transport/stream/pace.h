/*
 * How fast a link is, as TCP tells what has arrived, and what follows: whether it is worth the processor's time to pack
 * bulk data, and to look whether the other side has them already.
 */
#ifndef VOCL_TRANSPORT_STREAM_PACE_H
#define VOCL_TRANSPORT_STREAM_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pace {
    bool fixed, far;     /* fixed: the rate was said (VOCL_LINK_RATE) */
    uint64_t rate;       /* bytes in a second, 0: not known */
    long measured_ns;    /* when */
    bool busy;           /* when it was looked at last, something waited for the link */
    long looked_ns;      /* when that was, */
    uint64_t arrived;    /* and what had arrived */
    long enough_ns;      /* that make a measurement */
    long busy_ns;        /* of the measurement that is under way: the time, */
    uint64_t busy_bytes; /* and what arrived in it; */
    uint64_t last;       /* as it was measured last */
    uint64_t best;       /* the best one since a rate was known, */
    unsigned still;      /* and how many after it were no better */
    /* packing */
    double cost, share;      /* ns for a byte, and what is left of one */
    unsigned skip, failures; /* pieces that are not tried; that were not worth it one after the other */
};

/* us: of a round trip. */
void pace_open(struct pace *pace, long us);
/* A look at the connections, from time to time while there is something on its way. True: the rate is a new one. */
bool pace_look(struct pace *pace, const int *fds, unsigned count, long now);
/* Whether it is slow enough to look for what the other side has. given: bytes so far. */
bool pace_is_slow(const struct pace *pace, uint64_t given);
/* Whether the next piece is to be packed, and if so how much of it is to be tried first; 0: it is not. */
size_t pace_try(struct pace *pace, size_t length);
/* So it went: that many bytes took so long, and became so many. False: it is to be sent as it is. */
bool pace_tried(struct pace *pace, size_t length, size_t made, long ns);
/* Whether to spend more time on fewer bytes. */
bool pace_is_crawling(const struct pace *pace);

#endif
