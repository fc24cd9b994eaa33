/*
 * Nodes that have had to do with each other since their last checkpoint: contents went from one to the other, or one
 * waits for an event of the other. None of these is told again without the others. All of it under the session's lock.
 */
#ifndef VOCL_CLIENT_SURVIVE_GROUP_H
#define VOCL_CLIENT_SURVIVE_GROUP_H

#include "client/core/objects.h"

struct group {
    struct node **nodes; /* the first is the one that was asked for */
    unsigned count;
};

/* They have to do with each other from here on. */
void group_meet(struct node *one, struct node *other);
/* All that have to do with that one; 0 or -ENOMEM. */
int group_find(struct node *node, struct group *out);
void group_free(struct group *group);
/* Why not all of them can be told again, or NULL. */
const char *group_bound(const struct group *group);
/* What the commands say of members is of those that these are now: now[MEMBER], or 0. */
void group_readdress(struct wire_buffer *commands, const unsigned *now);

#endif
