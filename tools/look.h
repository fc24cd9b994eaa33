/* Looking again and again until something is so: how often, and for how long. */
#ifndef VOCL_TOOLS_LOOK_H
#define VOCL_TOOLS_LOOK_H

#include <stdbool.h>

struct look {
    long until_ms; /* when the time is up, or -1: never */
    long pause_ms; /* 0: nobody has looked yet */
};

/* For so many milliseconds, or without a limit if that is negative. */
struct look look_for(long milliseconds);
/* True at once the first time, and then after a pause, which gets longer; the last time when the time is up. */
bool look_again(struct look *look);

#endif
