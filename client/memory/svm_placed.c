/*
 * Shared virtual memory, and unified shared memory, in the arena, the memory that program and workers share (arena.c):
 * the program allocates it. A worker whose daemon counts the memory of sessions gets a message about each allocation,
 * and may refuse it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/core/per_process.h"
#include "client/core/stream.h"
#include "client/memory/arena.h"
#include "client/memory/svm.h"

#define LISTS 1024
#define APART 128 /* bytes; allocations begin at multiples of it */

struct placed {
    struct placed *next;
    void *memory;
    size_t size;
    unsigned node_count;
    struct node *nodes[];
};

static PER_PROCESS struct mutex lock = MUTEX(RANK_SVM_PLACED);
static PER_PROCESS struct placed *lists[LISTS]; /* by address */

static struct placed **list_of(const void *memory)
{
    return &lists[(uintptr_t)memory / APART % LISTS];
}

/* ---- counting at nodes ---- */

static int count_at(struct node *node, const struct placed *p)
{
    struct wire_count_svm m = {.address = (uintptr_t)p->memory, .size = p->size};
    struct wire_count_svm_reply reply;
    struct call call;
    int error = node->counts ? call_count_svm(node, &m, &reply, &call) : 0;

    if (error || !node->counts)
        return error;
    error = call_verdict(reply.error);
    call_free(&call);
    return error;
}

/* Ends the counting at the first so many nodes. */
static void count_no_more(const struct placed *p, unsigned nodes)
{
    for (unsigned i = 0; i < nodes; i++) {
        if (p->nodes[i]->counts)
            address_free(p->nodes[i], (uintptr_t)p->memory);
    }
}

static int count(const struct placed *p)
{
    for (unsigned i = 0; i < p->node_count; i++) {
        const int error = count_at(p->nodes[i], p);

        if (error) {
            count_no_more(p, i);
            return error;
        }
    }
    return 0;
}

/* ---- allocations ---- */

static struct placed *placed_new(cl_context context, size_t size, cl_uint alignment)
{
    struct placed *p = malloc(sizeof(*p) + context->node_count * sizeof(*p->nodes));

    if (!p)
        return NULL;
    *p = (struct placed){.memory = arena_alloc(size, alignment), .size = size, .node_count = context->node_count};
    memcpy(p->nodes, context->nodes, context->node_count * sizeof(*p->nodes));
    if (p->memory)
        return p;
    free(p);
    return NULL;
}

int svm_placed_alloc(cl_context context, size_t size, cl_uint alignment, void **out)
{
    struct placed *p = placed_new(context, size, alignment), **list;
    int error = p ? count(p) : -ENOSPC;

    if (error && p)
        arena_free(p->memory);
    if (error) {
        free(p);
        return error;
    }
    mutex_lock(&lock);
    list = list_of(p->memory);
    p->next = *list;
    *list = p;
    mutex_unlock(&lock);
    *out = p->memory;
    return 0;
}

bool svm_placed_free(void *memory)
{
    struct placed **at, *p;

    mutex_lock(&lock);
    for (at = list_of(memory); *at && (*at)->memory != memory; at = &(*at)->next)
        ;
    p = *at;
    if (p)
        *at = p->next;
    mutex_unlock(&lock);
    if (!p)
        return false;
    count_no_more(p, p->node_count); /* before the memory can be allocated again */
    arena_free(memory);
    free(p);
    return true;
}

/* ---- moves ---- */

static bool is_for(const struct placed *p, const struct node *node)
{
    for (unsigned i = 0; i < p->node_count; i++) {
        if (p->nodes[i] == node)
            return true;
    }
    return false;
}

int svm_placed_count(const struct node *node, struct node *other)
{
    int error = 0;

    for (unsigned i = 0; i < LISTS && !error; i++) {
        for (const struct placed *p = lists[i]; p && !error; p = p->next)
            error = is_for(p, node) ? count_at(other, p) : 0;
    }
    return error;
}
