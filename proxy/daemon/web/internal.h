/* What the files of this room share. */
#ifndef VOCL_PROXY_DAEMON_WEB_INTERNAL_H
#define VOCL_PROXY_DAEMON_WEB_INTERNAL_H

#include "proxy/daemon/schedule/schedule.h"
#include "proxy/daemon/web/web.h"

/* ---- metrics.c ---- */
/* For Prometheus; the caller's. Of this node: the others tell of theirs; or of all as this daemon knows them. */
char *metrics_text(struct daemon *d, bool whole_pool);

#endif
