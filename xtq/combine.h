/* The operations of accumulate, reduce and allreduce on elements that arrive: as a function, and as a body
 * (combine.cl). */
#ifndef XTQ_COMBINE_H
#define XTQ_COMBINE_H

#include "xtq.h"

enum {
    /* An operation beside those of enum xtq_op: the buffer is a table of signals by number and rank. The signal of the
       number offset and the initiator is incremented. */
    COMBINE_READY = XTQ_REPLACE + 1,
};

/* The arguments of a task. */
struct combine_arguments {
    uint64_t offset; /* in bytes, into the buffer */
    uint32_t type, op;
};

/* Computes buffer[offset + i] = buffer[offset + i] op payload[i]. Returns -EINVAL if the elements are outside of the
 * buffer, or there is no such type or operation. */
xtq_function combine;
extern const char combine_source[];
extern const char *const combine_bodies[1];

#endif
