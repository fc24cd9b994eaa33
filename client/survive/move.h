/* Moves a node to another process, with all its objects and their contents. */
#ifndef VOCL_CLIENT_SURVIVE_MOVE_H
#define VOCL_CLIENT_SURVIVE_MOVE_H

#include "client/core/objects.h"

/*
 * Moves a node to the member of that number, which has to be spare (session_spare()). All objects of the node are
 * recreated there under their numbers, contents go from member to member, and the program sees no change. The program's
 * calls wait meanwhile; its callbacks run until all that was enqueued has ended. Returns 0, or a negative errno with
 * the reason, and the node is where it was: -EBUSY commands that do not end, -ENOTSUP an object that cannot be
 * recreated, -EXDEV a member whose devices differ, -ECONNRESET a lost member. (VOCL paper, section IV.)
 */
struct move_watch;
int session_move(struct node *node, unsigned member, struct move_watch *watch, char *reason, size_t size);
/* Observer of a move, a suspension or a checkpoint, or NULL. told() gets each phase as it begins and, while contents
 * are copied, the bytes so far, and how many there are (0: unknown); bytes and pause_us are set at the end of a move.
 * leaves(), or NULL: the move becomes a replay, and the old worker ends before the new one has everything, so whatever
 * happens the node is no longer where it was. Both are called by the thread that does the work. */
struct move_watch {
    void (*told)(void *argument, const char *phase, uint64_t bytes, uint64_t total);
    void (*leaves)(void *argument);
    void *argument;
    uint64_t bytes;
    long pause_us;
};
/* Starts answering requests, and the threads of VOCL_MOVE_EVERY and VOCL_SUSPEND_EVERY. */
void move_start(struct session *session);

#endif
