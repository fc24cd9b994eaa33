/*
 * What a pool's session is made of for those who bring others of its workers (moves.c, rests.c): the daemons that have
 * its parts, and how a worker is started in a place that the pool has granted.
 */
#ifndef VOCL_PROXY_LAUNCH_NEWCOMERS_H
#define VOCL_PROXY_LAUNCH_NEWCOMERS_H

#include "proxy/launch/attend.h"

#define REACH_MS 4000 /* a daemon: those of the other nodes wait meanwhile */

struct pool_session {
    struct attended *nodes;
    unsigned *count;
    const struct poolfile *pool;
    const char *id; /* the pool's name for it */
    /* The message that starts a worker of that number there. */
    json_t *(*start)(const char *part, const char *endpoint, unsigned number);
    void (*changed)(void); /* the nodes are others now */
};

/* What was granted. */
struct place {
    char part[64], name[64], address[128];
    json_t *wish, *devices; /* or NULL */
};

/* Of a message of a broker's: false if it is not one place. */
bool place_read(struct place *place, const json_t *message);
void place_free(struct place *place);
/* Its worker has been started; NULL and why. keep: an entry that is still needed, or NULL. */
struct attended *newcomer_start(const struct pool_session *session, const struct place *place, unsigned number,
                                const char *endpoint, const struct attended *keep, char *why, size_t why_size);
/* The node of that worker, or NULL. */
struct attended *newcomers_find(const struct pool_session *session, unsigned number);

void tell_program(enum channel_kind kind, unsigned number, const char *text);
/* To its daemon. */
void tell_node(struct attended *node, const json_t *message);
/* A member of what a daemon says, or "". */
const char *text_of(const json_t *object, const char *name);

#endif
