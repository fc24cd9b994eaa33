/* What the files of this folder share. */
#ifndef VOCL_PROXY_DAEMON_WEB_INTERNAL_H
#define VOCL_PROXY_DAEMON_WEB_INTERNAL_H

#include "proxy/daemon/schedule/schedule.h"
#include "proxy/daemon/web/web.h"

/* ---- discovery.c ---- */
/* Returns the targets for Prometheus, as JSON, which the caller frees. */
char *discovery_text(struct daemon *d);

/* ---- metrics.c ---- */
/* Returns the figures for Prometheus, which the caller frees: of this node, since the others report their own; or of
 * the whole pool, as this daemon knows it. */
char *metrics_text(struct daemon *d, bool whole_pool);

#endif
