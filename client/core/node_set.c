/* The nodes of a set that are not near: see node_set.h. */
#include <stdlib.h>

#include "client/core/node_set.h"

bool node_set_has_far(const struct node_set *set, unsigned index)
{
    const atomic_uint_fast64_t *far = atomic_load_explicit(&set->far, memory_order_acquire);

    return far && atomic_load_explicit(&far[index / 64], memory_order_acquire) >> index % 64 & 1;
}

bool node_set_add_far(struct node_set *set, unsigned index)
{
    atomic_uint_fast64_t *far = atomic_load(&set->far);

    if (!far) {
        far = calloc(MOST_NODES / 64, sizeof(*far));
        if (!far)
            return false;
        atomic_store_explicit(&set->far, far, memory_order_release);
    }
    atomic_fetch_or(&far[index / 64], UINT64_C(1) << index % 64);
    return true;
}

void node_set_remove_far(struct node_set *set, unsigned index)
{
    atomic_uint_fast64_t *far = atomic_load(&set->far);

    if (far)
        atomic_fetch_and(&far[index / 64], ~(UINT64_C(1) << index % 64));
}

void node_set_clear_far(struct node_set *set)
{
    free(atomic_load(&set->far));
    atomic_store(&set->far, NULL);
}
