/* What of a running session goes to a checkpoint in files (base/saved.h), and what of it is given back. */
#ifndef VOCL_CLIENT_SURVIVE_CHECKPOINT_H
#define VOCL_CLIENT_SURVIVE_CHECKPOINT_H

#include "base/saved.h"
#include "client/core/objects.h"

/*
 * What is asked with "checkpoint PID FD": the contents of all memory objects, as they are at one moment, go to that
 * descriptor of that process, the end of a pipe, and the session goes on. Calls of the program wait while contents are
 * taken, not while they go there. What cannot be saved is refused, with the reason in the answer. (CheCL, section III.)
 *
 *     vocl contents 1
 *     program NAME
 *     object NUMBER WHAT
 *     data NUMBER OFFSET BYTES      and behind the line so many bytes
 *     end
 */
#define CHECKPOINT_HEAD "vocl contents 1\n"
void checkpoint_answer(struct session *session, const char *words, struct answer *answer);
/* What a memory object is, in the words of a checkpoint. */
void checkpoint_describe(const struct _cl_mem *memory, char what[SAVED_WHAT]);
/* So many allocations of shared virtual memory more or less that nodes see at its address: nobody else would. */
void checkpoint_count_svm(int more);
bool checkpoint_any_svm(void);

#endif
