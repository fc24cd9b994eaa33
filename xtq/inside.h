/* Functions on a context for mpi/ and reduction.c, beside those of xtq.h. */
#ifndef XTQ_INSIDE_H
#define XTQ_INSIDE_H

#include "xtq.h"

struct waits;

/* From now on threads wait inside of the program's calls of MPI, and drive MPI's progress meanwhile. */
void context_waits_in_mpi(struct xtq *x);
/* Returns how threads wait for what this rank's tasks do. */
const struct waits *context_waits(const struct xtq *x);
/* Tell the thread sanitizer that this rank, or that others, did something before. See context_sent(). */
void context_tell_sent(struct xtq *x);
void context_tell_received(struct xtq *x);

#endif
