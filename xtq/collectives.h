/*
 * What reductions (reduction.c) and the rest of struct xtq_collectives (collectives.c) have in common: messages whose
 * payload is combined with a buffer that the target has registered.
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
    unsigned flags; /* of its puts */
    int error;
    enum xtq_type type;
    enum xtq_op op;
    size_t element, count;
    const uint8_t *data; /* until something has been combined, this is what is sent */
    uint8_t *work;       /* where contributions are combined: result, or temporary */
    uint8_t *temporary;  /* or NULL */
    const uint8_t *from; /* what the step sends */
    bool exchange;       /* what a step sends is also what it receives into: it is copied before */
    struct plan plan;
    unsigned at; /* of its steps */
    enum phase phase;
    size_t sent;               /* elements, of the step or to the spread's present target */
    int64_t arrivals;          /* that all steps so far have had or wait for */
    int spread_to, spread_end; /* ranks yet to be sent the segment */
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
    struct xtq_signal **ready; /* by slot and rank: how often that has said so */
    int64_t *needed;           /* likewise: how often this rank has made use of it */
};

/* Put elements to be combined with what the target has registered under the index, as the arguments say. */
int collectives_put(struct xtq_collectives *c, int target, unsigned index, struct combine_arguments arguments,
                    const void *payload, size_t elements, size_t bytes, unsigned flags);
/* How many elements a message may carry. */
size_t collectives_most(const struct xtq_collectives *c, size_t element);
/* signal: counted down by one for each message; may be NULL. */
int collectives_register(struct xtq_collectives *c, unsigned index, void *buffer, size_t bytes,
                         struct xtq_signal *signal);
int collectives_unregister(struct xtq_collectives *c, unsigned index);

#endif
