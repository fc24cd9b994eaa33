/*
 * A set of a session's nodes, of which there may be a thousand. One word holds the 64 nodes around the first one added,
 * which is all that most sets ever need; memory for the others is allocated only when there are some. A thread that
 * adds or removes holds the lock of the set's owner. A thread that tests does not need it, nor does one that clears a
 * set without memory while others may remove.
 */
#ifndef VOCL_NODE_SET_H
#define VOCL_NODE_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MOST_NODES 2048 /* of a session */

struct node_set {
    atomic_uint_fast64_t near;
    _Atomic(atomic_uint_fast64_t *) far; /* of all nodes, or NULL */
    atomic_uint window;                  /* which 64 are near, from 1 on; 0: none was added yet */
};

/* nodes that are not near */
bool node_set_has_far(const struct node_set *set, unsigned index);
bool node_set_add_far(struct node_set *set, unsigned index);
void node_set_remove_far(struct node_set *set, unsigned index);
void node_set_clear_far(struct node_set *set);

static inline bool node_set_is_near(const struct node_set *set, unsigned index)
{
    return atomic_load_explicit(&set->window, memory_order_relaxed) == index / 64 + 1;
}

static inline bool node_set_has(const struct node_set *set, unsigned index)
{
    if (!node_set_is_near(set, index))
        return node_set_has_far(set, index);
    return atomic_load_explicit(&set->near, memory_order_acquire) >> index % 64 & 1;
}

/* Returns false if there is no memory. The first node needs none. */
static inline bool node_set_add(struct node_set *set, unsigned index)
{
    if (!atomic_load_explicit(&set->window, memory_order_relaxed))
        atomic_store_explicit(&set->window, index / 64 + 1, memory_order_relaxed);
    if (!node_set_is_near(set, index))
        return node_set_add_far(set, index);
    atomic_store_explicit(&set->near,
                          atomic_load_explicit(&set->near, memory_order_relaxed) | UINT64_C(1) << index % 64,
                          memory_order_release);
    return true;
}

static inline void node_set_remove(struct node_set *set, unsigned index)
{
    if (!node_set_is_near(set, index))
        node_set_remove_far(set, index);
    else
        atomic_fetch_and_explicit(&set->near, ~(UINT64_C(1) << index % 64), memory_order_release);
}

static inline bool node_set_has_memory(const struct node_set *set)
{
    return atomic_load_explicit(&set->far, memory_order_relaxed) != NULL;
}

/* Empties the set, and frees its memory. What other threads see of it before and after needs no order. */
static inline void node_set_clear(struct node_set *set)
{
    if (node_set_has_memory(set))
        node_set_clear_far(set);
    atomic_store_explicit(&set->near, 0, memory_order_relaxed);
    atomic_store_explicit(&set->window, 0, memory_order_relaxed);
}

#endif
