/*
 * The measured cost of suspending and resuming a pool's session. A daemon that may suspend the session for others is
 * sent how long the session has to be idle before that pays.
 */
#ifndef VOCL_PROXY_LAUNCH_COSTS_H
#define VOCL_PROXY_LAUNCH_COSTS_H

/* Called in this order: the session is asked to suspend (not always); it is suspended; the program needs its devices
 * again; a place is granted (if several, the first counts). now: clock_ms(). */
void costs_asked(long now);
void costs_went(long now);
void costs_wanted(long now);
void costs_granted(long now);
/* The session has resumed. Returns for how many milliseconds it has to be idle before it may be suspended again. */
long costs_came(long now);

#endif
