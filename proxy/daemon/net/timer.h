/* What is done later. */
#ifndef VOCL_PROXY_DAEMON_NET_TIMER_H
#define VOCL_PROXY_DAEMON_NET_TIMER_H

#include <stdbool.h>

struct daemon;

/* All 0: it is not set. It stays where it is while it is. */
struct timer {
    struct event *event;
    void (*run)(void *argument);
    void *argument;
};

/* Calls run() from the event loop after so long, in the place of what was to be. False: no memory. */
bool timer_set(struct timer *timer, const struct daemon *d, void (*run)(void *argument), void *argument,
               long milliseconds);
void timer_stop(struct timer *timer);
/* Until it runs, in ms; -1: it is not set. */
long timer_left_ms(const struct timer *timer);

#endif
