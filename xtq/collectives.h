/*
 * Declarations that reductions (reduction.c) and the other collectives (collectives.c) share: messages whose payload is
 * combined with a buffer that the target has registered.
 */
#ifndef XTQ_COLLECTIVES_H
#define XTQ_COLLECTIVES_H

#include <pthread.h>

#include "ground/plan.h"
#include "xtq/combine.h"

#define SLOTS 8
#define INDEX_REDUCE 0                      /* + slot */
#define INDEX_SPREAD (INDEX_REDUCE + SLOTS) /* + slot */
#define INDEX_READY (INDEX_SPREAD + SLOTS)
#define INDEX_EXPOSED 24 /* + number */

enum phase { SAY_READY, SEND, RECEIVE };

struct xtq_request {
    struct xtq_collectives *c;
    unsigned slot;
    bool active;
    unsigned flags; /* of its puts: enum xtq_put_flags */
    int error;
    enum xtq_type type;
    enum xtq_op op;
    size_t element, count;
    const uint8_t *data; /* sent until something has been combined */
    uint8_t *work;       /* where contributions are combined: the result, or temporary */
    uint8_t *temporary;  /* or NULL */
    const uint8_t *from; /* the data that the step sends */
    bool exchange;       /* each step receives into the memory that it sends, which is copied before */
    struct plan plan;
    unsigned at; /* index of the plan's present step */
    enum phase phase;
    size_t sent;               /* elements sent so far, of the step or to the spread's present target */
    int64_t arrivals;          /* messages that all steps so far have received or wait for */
    int spread_to, spread_end; /* ranks to which the segment has yet to be sent */
    size_t spread_first, spread_count;
    int64_t spread_arrivals;
    struct xtq_signal *arrived, *spread; /* count down from 0 */
};

struct xtq_collectives {
    struct xtq *x;
    pthread_mutex_t lock;
    int rank, size;
    unsigned queue, first_index, exposed;
    enum xtq_engine engine;
    size_t chunk;
    uint64_t sequence;
    struct xtq_request requests[SLOTS];
    struct xtq_signal **ready; /* by slot and rank: how many "ready" the rank has sent */
    int64_t *needed;           /* likewise: how many of them this rank has used */
};

/* Puts elements that the target combines with the buffer registered under the index, as the arguments say. */
int collectives_put(struct xtq_collectives *c, int target, unsigned index, struct combine_arguments arguments,
                    const void *payload, size_t elements, size_t bytes, unsigned flags);
/* Returns how many elements a message may carry. */
size_t collectives_most(const struct xtq_collectives *c, size_t element);
/* Registers a buffer under an index. signal: decremented for each message; may be NULL. */
int collectives_register(struct xtq_collectives *c, unsigned index, void *buffer, size_t bytes,
                         struct xtq_signal *signal);
int collectives_unregister(struct xtq_collectives *c, unsigned index);

#endif
