/*
 * VOCL_RECOVER_TO=node: contents of a snapshot lie with workers, in memory of their processes: with the one that has
 * the objects, and with another one, to which it gives them itself. If one of the two is lost the next one has them
 * from the other. All under the session's lock, but for keep_save().
 */
#ifndef VOCL_CLIENT_SURVIVE_KEEP_H
#define VOCL_CLIENT_SURVIVE_KEEP_H

#include "client/core/objects.h"

/* Contents of a memory object, as they were. */
struct keep;

/* ---- keep.c ---- */
/* What the settings say of it, for a new session. */
void keep_open(void);
/* Whether workers keep any. */
bool keep_is_on(void);
/* Who is to keep contents of that node, on another host if there is one; or NULL. */
struct node *keep_choose(struct node *node);
/* Both keep what the object holds now. 0; above 0: the object has failed to come into being; -ECONNRESET: one of them
 * is lost, -ENOMEM: one has no room. Not under the lock. */
int keep_save(struct node *node, struct node *keeper, uint32_t memory, const struct wire_region *whole,
              struct keep **out);
/* Nobody keeps it any more. keep: may be NULL. */
void keep_free(struct keep *keep);
/* Whether anybody still has it; and whether its node and another one have. */
bool keep_is_there(const struct keep *keep);
bool keep_is_whole(const struct keep *keep);
/* The node's worker, which is a new one that has the object, is to have it, and to keep it. Lets go of the lock. */
int keep_restore(struct keep *keep, uint32_t memory);
/* These members are about to go. */
struct leaving {
    const unsigned *members;
    unsigned count;
};
/* What they keep is given to these nodes' members, the first ones first, until two that stay have it. How many have it
 * at least of each: 2, 1 or 0. Lets go of the lock. */
unsigned keep_hand_over(const struct leaving *leaving, struct node *const *to, unsigned count);
/* What only one worker has any more of that node is given to another; false: there is something that cannot be. Lets go
 * of the lock. */
bool keep_anew(struct node *node);
/* What that member keeps counts no more for the next snapshots, as it will be gone; 0: no member's. */
void keep_leave(unsigned peer);
/* What a member tells of it. */
void keep_note(const struct node *node, uint32_t contents, cl_int status);
/* A member is lost, or has forgotten all: those that it kept are to be kept by another, with another snapshot. */
void keep_lost(unsigned peer);

#endif
