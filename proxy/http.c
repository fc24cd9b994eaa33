/* The daemon's view for browsers and for Prometheus. */
#include <microhttpd.h>
#include <stdio.h>

#include "proxy/daemon.h"

int http_open(struct daemon *d, char *why, size_t why_size)
{
    (void)d;
    snprintf(why, why_size, "http: not yet");
    return -1;
}

void http_close(struct daemon *d)
{
    (void)d;
}
