/* A node goes to another process, with all its objects and their contents. */
#ifndef VOCL_CLIENT_SURVIVE_MOVE_H
#define VOCL_CLIENT_SURVIVE_MOVE_H

#include "client/core/objects.h"

/*
 * Move a node to the member of that number, which has to be a spare one (session_spare()): all objects of the node are
 * made there again under their numbers, contents go from member to member, and what the program sees stays. The
 * program's calls wait meanwhile; functions that are called back go on until all that was enqueued is over. 0, or a
 * negative errno value: the node is where it was, and reason says why: -EBUSY commands that do not end, -ENOTSUP an
 * object that cannot be made again, -EXDEV a member that is not like this one, -ECONNRESET one that is lost.
 * (VOCL paper, section IV.)
 */
struct move_watch;
int session_move(struct node *node, unsigned member, struct move_watch *watch, char *reason, size_t size);
/* Who hears how far it is, or NULL: each phase that begins and, while contents go, the bytes so far; then what it was
 * in all. leaves: it is told all again, and the old worker is about to go, before the new one has all: whatever comes,
 * it is not where it was. By the thread that calls. */
struct move_watch {
    void (*told)(void *argument, const char *phase, uint64_t bytes);
    void (*leaves)(void *argument);
    void *argument;
    uint64_t bytes;
    long pause_us;
};
/* VOCL_MOVE_EVERY. */
void move_start(struct session *session);

#endif
