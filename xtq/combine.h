/* What accumulate, reduce and allreduce do with the elements that arrive: as a function, and as a body (combine.cl). */
#ifndef XTQ_COMBINE_H
#define XTQ_COMBINE_H

#include "xtq.h"

enum {
    /* Beside enum xtq_op: the buffer is a table of signals, by number and rank; that of offset and the initiator counts
       up. */
    COMBINE_READY = XTQ_REPLACE + 1,
};

/* A task's arguments. */
struct combine_arguments {
    uint64_t offset; /* in bytes, into the buffer */
    uint32_t type, op;
};

/* buffer[offset + i] = buffer[offset + i] op payload[i]. -EINVAL: outside of the buffer, or no such type or operation.
 */
xtq_function combine;
extern const char combine_source[];
extern const char *const combine_bodies[1];

#endif
