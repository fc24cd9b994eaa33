/* The contents of a running session that go to a checkpoint in files (base/saved.h), and which of them are restored. */
#ifndef VOCL_CLIENT_SURVIVE_CHECKPOINT_H
#define VOCL_CLIENT_SURVIVE_CHECKPOINT_H

#include "base/saved.h"
#include "client/core/objects.h"

/*
 * Handles the request "checkpoint PID FD": writes the contents of all memory objects, as of one moment, to descriptor
 * FD of process PID, the end of a pipe, and the session continues. Calls of the program wait while contents are read,
 * not while they are written. What cannot be saved is refused, with the reason in the answer. (CheCL, section III.)
 *
 *     vocl contents 1
 *     program NAME
 *     object NUMBER WHAT
 *     data NUMBER OFFSET BYTES      followed by BYTES bytes
 *     end
 */
#define CHECKPOINT_HEAD "vocl contents 1\n"
void checkpoint_answer(struct session *session, const char *words, struct answer *answer);
/* Describes a memory object (kind, size, format) in the words of a checkpoint. */
void checkpoint_describe(const struct _cl_mem *memory, char what[SAVED_WHAT]);
/* Adds to the number of SVM allocations that nodes have at the program's addresses. A restored program has other
 * addresses. */
void checkpoint_count_svm(int more);
bool checkpoint_any_svm(void);

#endif
