/* The daemon's web pages. */
#ifndef VOCL_PROXY_DAEMON_WEB_WEB_H
#define VOCL_PROXY_DAEMON_WEB_WEB_H

#include "proxy/daemon/daemon.h"

/* ---- http.c ---- */
int http_open(struct daemon *d, char *why, size_t why_size);
void http_close(struct daemon *d);

#endif
