/*
 * VOCL_RECOVER_TO=node: the contents of a snapshot are replicated in the memory of two workers: the one that has the
 * objects, and another one, to which the first sends them directly. If one of the two is lost, its successor gets them
 * from the other. The session's lock guards all of it; only replicas_save() is called without the lock.
 */
#ifndef VOCL_CLIENT_SURVIVE_REPLICAS_H
#define VOCL_CLIENT_SURVIVE_REPLICAS_H

#include "client/core/objects.h"

/* The replicas of saved contents of a memory object, with several workers. */
struct replicas;

/* ---- replicas.c ---- */
/* Reads the settings, for a new session. */
void replicas_open(void);
/* Whether workers keep replicas. */
bool replicas_is_on(void);
/* Returns the node that is to keep contents of that one, on another host if possible, or NULL. */
struct node *replicas_choose(struct node *node);
/* Makes both nodes keep what the object holds now. Returns 0, -ECONNRESET if one of them is lost, -ENOMEM if one has no
 * room, or a value above 0 if the object could not be created natively. Called without the lock. */
int replicas_save(struct node *node, struct node *keeper, uint32_t memory, const struct wire_region *whole,
                  struct replicas **out);
/* Drops all copies. replicas may be NULL. */
void replicas_free(struct replicas *replicas);
/* Whether any member still has a copy; whether its node and another one have. */
bool replicas_is_there(const struct replicas *replicas);
bool replicas_is_whole(const struct replicas *replicas);
/* Gives the contents to the node's new worker, which has the object and from now on keeps them, too. Releases the lock
 * meanwhile. */
int replicas_restore(struct replicas *replicas, uint32_t memory);
/* Members that are about to leave. */
struct leaving {
    const unsigned *members;
    unsigned count;
};
/* Copies what leaving members keep to the members of these nodes, in order, until two members that stay have it.
 * Returns the least number of staying members, at most 2, that have each of the contents. Releases the lock
 * meanwhile. */
unsigned replicas_hand_over(const struct leaving *leaving, struct node *const *to, unsigned count);
/* Copies contents of that node that have only one replica left to another worker. Returns false if some cannot be
 * copied. Releases the lock meanwhile. */
bool replicas_anew(struct node *node);
/* Ignores what that member keeps in further snapshots, as it will leave; 0: ignores none. */
void replicas_leave(unsigned peer);
/* Takes a member's answer to keep, keep_too or bring_kept. */
void replicas_note(const struct node *node, uint32_t contents, cl_int status);
/* A member is lost, or has forgotten everything: what it kept gets another replica, or is saved by the next
 * snapshot. */
void replicas_lost(unsigned peer);

#endif
