/* A checkpoint being written: see base/saved.h. */
#ifndef VOCL_TOOLS_CHECKPOINT_H
#define VOCL_TOOLS_CHECKPOINT_H

#include <stdio.h>

#include "base/saved.h"

struct writing;

/* The folder, which is made if it is not there, is this one's alone until checkpoint_end(). anew: nothing of what is
 * there is used again. Ends with the reason if that cannot be. */
struct writing *checkpoint_begin(const char *directory, bool anew);
/* In a child: the folder is the parent's, and anybody's when he is gone. */
void checkpoint_leave(const struct writing *writing);
/* What comes from the session (client/survive/checkpoint.h), up to its end. False, with the reason: it broke off, or is
 * not well formed, or cannot be written; "": nothing has come. */
bool checkpoint_take(struct writing *writing, FILE *from, char *why, size_t size);
/* It counts from now on, and the one before it still does; what belongs to neither goes. False, with the reason. */
bool checkpoint_commit(struct writing *writing, char *why, size_t size);
/* In words: how much it is. */
void checkpoint_describe(const struct writing *writing, char *text, size_t size);
/* What does not count by now goes. */
void checkpoint_end(struct writing *writing);

#endif
