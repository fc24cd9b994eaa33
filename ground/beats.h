/*
 * Ranks of other hosts say now and then that they are there; who has been silent for VOCL_PEER_TIMEOUT seconds is lost,
 * and stays so, as waits have ended with an error by then. How they say it is their messages' affair.
 */
#ifndef VOCL_GROUND_BEATS_H
#define VOCL_GROUND_BEATS_H

#include <stdatomic.h>
#include <stdbool.h>

struct beats {
    long silence_us, tick_us; /* silence_us 0: nobody is ever lost by that */
    _Atomic long beat_us;
    _Atomic long *heard_us; /* by rank */
    _Atomic bool *lost;     /* likewise */
};

/* -ENOMEM; beats_close() after failure, too. */
int beats_open(struct beats *beats, int ranks);
void beats_close(struct beats *beats);
void beats_heard(struct beats *beats, int rank);
/* Whether it is time to tell the others, and to look; of any number of threads that ask, for one. *stood_still: it was
 * this process that was not there, and what the others have said is still to be read. */
bool beats_due(struct beats *beats, bool *stood_still);
/* Whether a rank has been silent for too long. */
bool beats_silent(const struct beats *beats, int rank);
/* True if it was not lost before. */
bool beats_lose(struct beats *beats, int rank);
bool beats_lost(const struct beats *beats, int rank);

#endif
