/* The scheduler: which request gets which devices, anywhere in the pool. */
#ifndef VOCL_PROXY_DAEMON_SCHEDULE_SCHEDULE_H
#define VOCL_PROXY_DAEMON_SCHEDULE_SCHEDULE_H

#include "proxy/daemon/pool/peers.h"

/* ---- broker.c ---- */
extern const struct scheduler scheduler;
void broker_request(struct connection *c, const json_t *message);

/* ---- queue.c ---- */
/* Returns a new array of the requests that wait in the pool, the longest first; valid until control returns to the
 * event loop. */
struct told_wait *queue_of_pool(const struct daemon *d, unsigned *count);
/* The same as JSON. */
json_t *queue_print(const struct daemon *d);

/* ---- oversubscribe.c ---- */
/* Suspends an idle session if others wait. */
void oversubscribe_review(struct daemon *d);

#endif
