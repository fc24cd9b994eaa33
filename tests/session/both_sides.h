/* For programs that are both sides of a session: the program, and, in vocl-proxy's place, its worker. */
#ifndef VOCL_TESTS_SESSION_BOTH_SIDES_H
#define VOCL_TESTS_SESSION_BOTH_SIDES_H

#include <stdbool.h>
#include <stdio.h>

#include "transport/transport.h"

static struct transport *t;
static bool over; /* the worker's program is gone */

static void worker_lost(void *owner, unsigned peer, const char *why)
{
    (void)owner, (void)why;
    over |= !peer;
}

static int on_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    (void)owner, (void)peer, (void)bytes, (void)length;
    return 0;
}

static void on_lost(void *owner, unsigned peer, const char *why)
{
    (void)owner, (void)peer;
    fprintf(stderr, "lost: %s\n", why);
}

/* Opens the program's side, whose frames are ignored. False, with a message on standard output: there is no session. */
static bool open_program(void)
{
    const struct transport_callbacks callbacks = {.frame = on_frame, .lost = on_lost};
    char why[512] = "";

    if (transport_open_client(&callbacks, why, sizeof(why), &t))
        return printf("no session: %s\n", why), false;
    return true;
}

/* Opens the worker's side. False: there is no session. */
static bool open_worker(int (*frame)(void *owner, unsigned peer, const void *bytes, size_t length))
{
    const struct transport_callbacks callbacks = {.frame = frame, .lost = worker_lost};
    char why[512] = "";

    return !transport_open_worker(&callbacks, why, sizeof(why), &t);
}

#endif
