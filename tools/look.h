/* Polling until a condition holds: how often, and for how long. */
#ifndef VOCL_TOOLS_LOOK_H
#define VOCL_TOOLS_LOOK_H

#include <stdbool.h>

struct look {
    long until_ms; /* end of the time, or -1: no limit */
    long pause_ms; /* 0: not polled yet */
};

/* Polls for so many milliseconds, or without a limit if negative. */
struct look look_for(long milliseconds);
/* Returns true at once the first time, and then after a pause, which grows; for the last time when the time is up. */
bool look_again(struct look *look);

#endif
