/* What mpi/ has of a context beside xtq.h. */
#ifndef XTQ_INSIDE_H
#define XTQ_INSIDE_H

#include "xtq.h"

/* Who waits does so inside of MPI, for the program, and has to make MPI go on meanwhile. */
void context_waits_in_mpi(struct xtq *x);
/* Order that others bring about: what this rank did before, or others did before. See context_sent(). */
void context_tell_sent(struct xtq *x);
void context_tell_received(struct xtq *x);

#endif
