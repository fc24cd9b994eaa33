#include <event2/event.h>

#include "proxy/daemon/daemon.h"
#include "proxy/daemon/net/timer.h"

static void on_time(evutil_socket_t fd, short what, void *argument)
{
    const struct timer *timer = argument;

    (void)fd;
    (void)what;
    timer->run(timer->argument);
}

bool timer_set(struct timer *timer, const struct daemon *d, void (*run)(void *argument), void *argument,
               long milliseconds)
{
    const struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000};

    timer->run = run;
    timer->argument = argument;
    if (!timer->event)
        timer->event = evtimer_new(d->base, on_time, timer);
    return timer->event && !evtimer_add(timer->event, &time);
}

void timer_stop(struct timer *timer)
{
    if (timer->event)
        event_free(timer->event);
    timer->event = NULL;
}

long timer_left_ms(const struct timer *timer)
{
    struct timeval at, now, left;

    if (!timer->event || !evtimer_pending(timer->event, &at))
        return -1;
    evutil_gettimeofday(&now, NULL);
    evutil_timersub(&at, &now, &left);
    return left.tv_sec < 0 ? 0 : left.tv_sec * 1000 + left.tv_usec / 1000;
}
