/*
 * VOCL_RECOVER_TO=node: the contents of a snapshot are replicated in the memory of two workers: the one that has the
 * objects, and another one, to which the first sends them directly. If one of the two is lost, its successor gets them
 * from the other. The session's lock guards all of it; only keep_save() is called without the lock.
 */
#ifndef VOCL_CLIENT_SURVIVE_KEEP_H
#define VOCL_CLIENT_SURVIVE_KEEP_H

#include "client/core/objects.h"

/* A replica: saved contents of a memory object, kept by workers. */
struct keep;

/* ---- keep.c ---- */
/* Reads the settings, for a new session. */
void keep_open(void);
/* Whether workers keep replicas. */
bool keep_is_on(void);
/* Returns the node that is to keep contents of that one, on another host if possible, or NULL. */
struct node *keep_choose(struct node *node);
/* Makes both nodes keep what the object holds now. Returns 0, -ECONNRESET if one of them is lost, -ENOMEM if one has no
 * room, or a value above 0 if the object could not be created natively. Called without the lock. */
int keep_save(struct node *node, struct node *keeper, uint32_t memory, const struct wire_region *whole,
              struct keep **out);
/* Drops all copies. keep may be NULL. */
void keep_free(struct keep *keep);
/* Whether any member still has a copy; whether its node and another one have. */
bool keep_is_there(const struct keep *keep);
bool keep_is_whole(const struct keep *keep);
/* Gives the contents to the node's new worker, which has the object and from now on keeps them, too. Releases the lock
 * meanwhile. */
int keep_restore(struct keep *keep, uint32_t memory);
/* Members that are about to leave. */
struct leaving {
    const unsigned *members;
    unsigned count;
};
/* Copies what leaving members keep to the members of these nodes, in order, until two members that stay have it.
 * Returns the least number of staying members, at most 2, that have each of the contents. Releases the lock
 * meanwhile. */
unsigned keep_hand_over(const struct leaving *leaving, struct node *const *to, unsigned count);
/* Copies contents of that node that have only one replica left to another worker. Returns false if some cannot be
 * copied. Releases the lock meanwhile. */
bool keep_anew(struct node *node);
/* Ignores what that member keeps in further snapshots, as it will leave; 0: ignores none. */
void keep_leave(unsigned peer);
/* Takes a member's answer to keep, keep_too or bring_kept. */
void keep_note(const struct node *node, uint32_t contents, cl_int status);
/* A member is lost, or has forgotten everything: what it kept gets another replica, or is saved by the next
 * snapshot. */
void keep_lost(unsigned peer);

#endif
