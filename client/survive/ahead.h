/* Copying ahead (pre-copy): contents are copied while the program runs, and again where it writes meanwhile, until
 * little is left. */
#ifndef VOCL_CLIENT_SURVIVE_AHEAD_H
#define VOCL_CLIENT_SURVIVE_AHEAD_H

#include "client/core/objects.h"

struct pause;

/* A consumer of the copies: a member (copy_over.c, svm_move.c), a store (store_ahead.c) or a journal (snapshot.c). */
struct ahead {
    void *argument;
    /* Finds what was written since the last copy, clears its marks (each consumer has its own, WRITTEN_*) and returns
     * its size in bytes. Calls are halted. */
    size_t (*find)(void *argument);
    /* Copies what find() found. The program runs, and what was enqueued before has ended. If go is false, copies
     * nothing and sets the marks again, for the pause. Returns 0, or an error that makes the pause pointless. */
    int (*copy)(void *argument, bool go);
    bool tells; /* it reports what it has copied (pause_copied()) */
};
/* Copies for all consumers, in rounds. coherence_watch() must be on. Returns 0 or the first error. */
int copy_ahead(struct pause *p, const struct ahead *all, unsigned count);

/* Whether coherence_watch() sees every write to the memory object, and the object may be destroyed a little
 * later than the program releases it. */
bool may_go_ahead(const struct _cl_mem *memory);

#endif
