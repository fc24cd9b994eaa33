/*
 * What it costs a pool's session to be suspended, as was seen: to go, and to come again. A daemon that may suspend it
 * for others is told, for so long should it do nothing before that pays.
 */
#ifndef VOCL_PROXY_LAUNCH_COSTS_H
#define VOCL_PROXY_LAUNCH_COSTS_H

/* One after the other: it was asked to suspend, which need not be; it is suspended; the program wants its devices
 * again; there is a place for it, of several the first counts. now: clock_ms(). */
void costs_asked(long now);
void costs_went(long now);
void costs_wanted(long now);
void costs_granted(long now);
/* It goes on: for how many milliseconds it has to do nothing before it is to be suspended again. */
long costs_came(long now);

#endif
