/* Who gets what, anywhere in the pool. */
#ifndef VOCL_PROXY_DAEMON_SCHEDULE_SCHEDULE_H
#define VOCL_PROXY_DAEMON_SCHEDULE_SCHEDULE_H

#include "proxy/daemon/pool/peers.h"

/* ---- broker.c ---- */
extern const struct scheduler scheduler;
void broker_request(struct connection *c, const json_t *message);

/* ---- queue.c ---- */
/* Who waits in the pool, the longest first: a new array, good until the event loop has it again. */
struct told_wait *queue_of_pool(const struct daemon *d, unsigned *count);
/* The same as JSON. */
json_t *queue_print(const struct daemon *d);

/* ---- oversubscribe.c ---- */
/* Where others wait one that does nothing is suspended. */
void oversubscribe_review(struct daemon *d);

#endif
