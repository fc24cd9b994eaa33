/* See inside.h. */
#include "xtq/inside.h"
#include "xtq/internal.h"

void context_waits_in_mpi(struct xtq *x)
{
    x->in_mpi = true;
}

const struct waits *context_waits(const struct xtq *x)
{
    return &x->waits;
}

void context_tell_sent(struct xtq *x)
{
    context_sent(x);
}

void context_tell_received(struct xtq *x)
{
    context_received(x);
}
