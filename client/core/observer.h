/*
 * The observer of a node: recovery (recover.h) learns here what the node was sent and what is known of it, so that a
 * lost worker can be replaced. Without recovery node->observer is NULL, and none of its code runs.
 */
#ifndef VOCL_CLIENT_CORE_OBSERVER_H
#define VOCL_CLIENT_CORE_OBSERVER_H

#include "client/core/objects.h"

struct enqueue;

struct observer {
    /* ---- messages: under the session's lock ---- */
    /* These bytes, whole commands, were sent to the node's worker. */
    void (*sent)(struct node *node, const void *bytes, size_t length);
    /* Bulk data that go beside a command are about to be sent. */
    void (*data)(struct node *node, uint32_t tag, const void *bytes, size_t length);
    /* The data of a read have arrived. */
    void (*arrived)(struct node *node, uint32_t tag);
    /* An object is released that the worker was not sent, so that a new one need not have it. */
    void (*forgotten)(struct node *node, uint32_t kind, uint32_t id);
    /* An event or contents go from one node to the other, so that both are replayed together. */
    void (*met)(struct node *one, struct node *other);
    /* ---- losses ---- */
    /* Whether operations that fail because the worker is lost are repeated on another one. */
    bool (*will_fail_over)(const struct node *node);
    /* ---- uses of memory that the program shares with the worker (epoch.c) ---- */
    /* A command begins to be enqueued, and has been enqueued. */
    void (*begins)(struct enqueue *e);
    void (*ends)(struct enqueue *e);
    /* Before a command uses memory so (enum use); launch: it is a kernel launch. Returns 0 or a negative errno value.
     * is_settled(): whether there is nothing to do for such a use. */
    int (*uses)(struct enqueue *e, cl_mem memory, unsigned use, bool launch);
    bool (*is_settled)(const struct enqueue *e, cl_mem memory, unsigned use);
    /* The program uses shared memory directly, from opens() to closes(). False: it has to send a command. */
    bool (*opens)(cl_mem memory, bool writes, size_t size);
    void (*closes)(cl_mem memory);
    /* A memory object was created, and is destroyed; the latter under the lock. */
    void (*made)(cl_mem memory);
    void (*gone)(cl_mem memory);
    /* There is one object more, or less, whose contents only the worker has. */
    void (*apart)(struct node *node, bool more);
};

static inline bool observer_will_fail_over(const struct node *node)
{
    return node->observer && node->observer->will_fail_over(node);
}

static inline void observer_met(struct node *one, struct node *other)
{
    const struct node *watched = one->observer ? one : other;

    if (watched->observer && one != other)
        watched->observer->met(one, other);
}

static inline void observer_apart(struct node *node, bool more)
{
    if (node->observer)
        node->observer->apart(node, more);
}

static inline bool observer_opens(cl_mem memory, bool writes, size_t size)
{
    const struct node *node = memory->context->node;

    return !node->observer || node->observer->opens(memory, writes, size);
}

static inline void observer_closes(cl_mem memory)
{
    const struct node *node = memory->context->node;

    if (node->observer)
        node->observer->closes(memory);
}

static inline void observer_made(cl_mem memory)
{
    const struct node *node = memory->context->node;

    if (node->observer)
        node->observer->made(memory);
}

static inline void observer_gone(cl_mem memory)
{
    const struct node *node = memory->context->node;

    if (node->observer)
        node->observer->gone(memory);
}

#endif
