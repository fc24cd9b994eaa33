/*
 * The rate of a link, measured by what TCP reports as arrived, and its consequences: whether it is worth the
 * processor's time to pack bulk data, and to look whether the other side has them already.
 */
#ifndef VOCL_TRANSPORT_STREAM_PACE_H
#define VOCL_TRANSPORT_STREAM_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pace {
    bool fixed, far;     /* fixed: the user has set the rate (VOCL_LINK_RATE); far: the peer is distant */
    uint64_t rate;       /* bytes per second, 0: not known */
    long measured_ns;    /* when it was measured */
    bool busy;           /* something waited for the link at the last look */
    long looked_ns;      /* when the last look was */
    uint64_t arrived;    /* the bytes that had arrived then */
    long enough_ns;      /* the time that a measurement takes */
    long busy_ns;        /* the time of the current measurement */
    uint64_t busy_bytes; /* the bytes that arrived in that time */
    uint64_t last;       /* the result of the last measurement */
    uint64_t best;       /* the best result since a rate was known */
    unsigned still;      /* how many results after it were no better */
    /* packing */
    double cost, share;      /* cost: ns per byte; share: packed length by length */
    unsigned skip, failures; /* skip: pieces to leave unpacked; failures: that were not worth it, in succession */
};

/* us: the round trip. */
void pace_open(struct pace *pace, long us);
/* Measures the connections, from time to time while data is under way. Whether the rate is a new one. */
bool pace_look(struct pace *pace, const int *fds, unsigned count, long now);
/* Whether the link is slow enough to look for pieces that the other side has. given: bytes so far. */
bool pace_is_slow(const struct pace *pace, uint64_t given);
/* Returns how much of the next piece to pack first, as a test; 0: the piece is not to be packed. */
size_t pace_try(struct pace *pace, size_t length);
/* Reports the result: `length` bytes took `ns`, and became `made` bytes. False: send the piece as it is. */
bool pace_tried(struct pace *pace, size_t length, size_t made, long ns);
/* Whether the link is so slow that more time should be spent for fewer bytes. */
bool pace_is_crawling(const struct pace *pace);

#endif
