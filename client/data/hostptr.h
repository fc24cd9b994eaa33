/* What hostptr.c and hostptr_copy.c share: a memory object over the program's memory, which the node does not have. */
#ifndef VOCL_CLIENT_DATA_HOSTPTR_H
#define VOCL_CLIENT_DATA_HOSTPTR_H

#include "client/core/layout.h"
#include "client/data/coherence.h"

struct span {
    size_t start, end; /* in the buffer; of an image: tightly packed */
    uint8_t *base;     /* NULL: nothing was agreed on yet */
};

struct usage {
    struct usage *next;
    cl_command_queue queue;
    const struct enqueue *sender; /* until it is sent */
    uint64_t number;
};

struct hosted {
    struct hosted *next, **at;
    cl_mem memory;
    bool near;     /* the other side is memory->arena */
    bool constant; /* the program cannot write it */
    struct span spans[2];
    unsigned span_count;
    struct mutex work;  /* base */
    atomic_bool agreed; /* each has one */
    /* under the lock */
    bool looked;  /* the program had no chance to write it since it was looked at last */
    bool written; /* commands may have written it that were not known to be over the last time */
    bool kept;    /* it holds the object until its uses are over */
    unsigned generation;
    struct usage *uses;
};

/* The program's side of an image, or of a span. */
struct layout hosted_layout(const struct hosted *h, const struct span *span);
/* Under h->work: what the program has changed goes to the node, or into memory->arena; exactly: not what is in between,
 * of which the node may have something newer. */
int hosted_bring(struct hosted *h, struct node *node, bool exactly);
/* What nodes have changed comes to the program. */
int hosted_take(struct hosted *h);
/* A buffer's contents go to this member. */
int hosted_give(const struct hosted *h, struct node *member, const uint8_t *bytes);

#endif
