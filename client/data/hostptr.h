/* What hostptr.c and hostptr_copy.c share: a memory object over the program's memory that the node does not have. */
#ifndef VOCL_CLIENT_DATA_HOSTPTR_H
#define VOCL_CLIENT_DATA_HOSTPTR_H

#include "client/core/layout.h"
#include "client/data/coherence.h"

struct span {
    size_t start, end; /* offsets in the buffer; of an image: tightly packed */
    uint8_t *base;     /* a copy of what both sides last agreed on; NULL: nothing yet */
};

struct usage {
    struct usage *next;
    cl_command_queue queue;
    const struct enqueue *sender; /* the command, until it is sent */
    uint64_t number;
};

struct hosted {
    struct hosted *next, **at;
    cl_mem memory;
    bool near;     /* the other side is memory->arena, not the node */
    bool constant; /* the program cannot write it */
    struct span spans[2];
    unsigned span_count;
    struct mutex work;  /* guards base */
    atomic_bool agreed; /* each span has a base */
    /* under the lock */
    bool looked;  /* the program cannot have written it since it was compared last */
    bool written; /* commands may have written it that had not ended for certain when it was looked at last */
    bool kept;    /* it holds the object until its uses have ended */
    unsigned generation;
    struct usage *uses;
};

/* Returns the layout of the program's side of an image, or of a span. */
struct layout hosted_layout(const struct hosted *h, const struct span *span);
/* Brings what the program has changed to the node, or to memory->arena. Under h->work. exactly: without the bytes
 * between changes, for which the node may have something newer. */
int hosted_bring(struct hosted *h, struct node *node, bool exactly);
/* Takes what nodes have changed to the program's memory. */
int hosted_take(struct hosted *h);
/* Sends a buffer's contents to this member. */
int hosted_give(const struct hosted *h, struct node *member, const uint8_t *bytes);

#endif
