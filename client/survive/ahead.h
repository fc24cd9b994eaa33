/* Contents are copied while the program goes on, and again what it writes meanwhile, until that is little. */
#ifndef VOCL_CLIENT_SURVIVE_AHEAD_H
#define VOCL_CLIENT_SURVIVE_AHEAD_H

#include "client/core/objects.h"

struct pause;

/* Who copies: to a member (copy_over.c, svm_move.c), to a store (store_ahead.c), to a journal (snapshot.c). */
struct ahead {
    void *argument;
    /* What was written since it was copied last, each with a mark of its own (WRITTEN_*), which is taken: how many
     * bytes that is. Calls are halted. */
    size_t (*find)(void *argument);
    /* The program goes on, and what was enqueued before is over: that is copied. go false: it is left for the pause,
     * and marked again. 0, or an error for which there need be no pause. */
    int (*copy)(void *argument, bool go);
};
/* All of them, in turns; coherence_watch() is on. 0, or the first error. */
int copy_ahead(struct pause *p, const struct ahead *all, unsigned count);

/* Whether all that writes it is known by coherence_watch(), and nobody minds when it ends a little later. */
bool may_go_ahead(const struct _cl_mem *memory);

#endif
