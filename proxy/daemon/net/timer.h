/* Timers. */
#ifndef VOCL_PROXY_DAEMON_NET_TIMER_H
#define VOCL_PROXY_DAEMON_NET_TIMER_H

#include <stdbool.h>

struct daemon;

/* All 0: not set. Must not be moved while it is set. */
struct timer {
    struct event *event;
    void (*run)(void *argument);
    void *argument;
};

/* Calls run() from the event loop after this time; replaces an earlier setting. Returns false if memory is
 * exhausted. */
bool timer_set(struct timer *timer, const struct daemon *d, void (*run)(void *argument), void *argument,
               long milliseconds);
void timer_stop(struct timer *timer);
/* Returns the time until it runs, in ms; -1: it is not set. */
long timer_left_ms(const struct timer *timer);

#endif
