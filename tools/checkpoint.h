/* Writes a checkpoint: see base/saved.h. */
#ifndef VOCL_TOOLS_CHECKPOINT_H
#define VOCL_TOOLS_CHECKPOINT_H

#include <stdio.h>

#include "base/saved.h"

struct writing;

/* Opens the folder, which is created if need be, for this process alone until checkpoint_end(). anew: none of its
 * files are reused. Ends the program with the reason if that fails. */
struct writing *checkpoint_begin(const char *directory, bool anew);
/* In a child process: leaves the folder to the parent; others may use it when the parent has ended. */
void checkpoint_leave(const struct writing *writing);
/* Takes the data from the session (client/survive/checkpoint.h), up to their end. Returns false, with the reason, if
 * the stream broke off, is malformed, or cannot be written; the reason is "" if nothing has come. */
bool checkpoint_take(struct writing *writing, FILE *from, char *why, size_t size);
/* Makes the checkpoint valid, beside the one before it; files of neither are removed. Returns false, with the
 * reason. */
bool checkpoint_commit(struct writing *writing, char *why, size_t size);
/* Describes the checkpoint's size in words. */
void checkpoint_describe(const struct writing *writing, char *text, size_t size);
/* Removes files that are not part of a valid checkpoint, and releases the folder. */
void checkpoint_end(struct writing *writing);

#endif
