/*
 * Who wants to know what goes on between the program and a node: recovery (recover.h), of nodes whose worker is
 * replaced when it is lost. Only where node->observer is set: a session without it runs no line of that.
 */
#ifndef VOCL_CLIENT_CORE_OBSERVER_H
#define VOCL_CLIENT_CORE_OBSERVER_H

#include "client/core/objects.h"

struct enqueue;

struct observer {
    /* ---- sent, and known: under the session's lock ---- */
    /* These bytes, whole commands, have gone to the node's worker. */
    void (*sent)(struct node *node, const void *bytes, size_t length);
    /* Data that go beside a command begin to go. */
    void (*data)(struct node *node, uint32_t tag, const void *bytes, size_t length);
    /* Data of a read have come. */
    void (*arrived)(struct node *node, uint32_t tag);
    /* An object goes of which the worker that comes need not be told. */
    void (*forgotten)(struct node *node, uint32_t kind, uint32_t id);
    /* Something goes from one node to the other, which both wait for. */
    void (*met)(struct node *one, struct node *other);
    /* ---- lost ---- */
    /* Whether what fails because the worker is lost is to be done again. */
    bool (*will_mend)(const struct node *node);
    /* ---- used: what a command does to memory that is here (window.c) ---- */
    /* A command is being enqueued, or was. */
    void (*begins)(struct enqueue *e);
    void (*ends)(struct enqueue *e);
    /* Before a command, a launch or another, that uses memory so (enum use); whether there is nothing to do for that.
     */
    int (*uses)(struct enqueue *e, cl_mem memory, unsigned use, bool launch);
    bool (*is_settled)(const struct enqueue *e, cl_mem memory, unsigned use);
    /* The program uses memory that is here as it is, between the two. False: it has to go by a command. */
    bool (*opens)(cl_mem memory, bool writes, size_t size);
    void (*closes)(cl_mem memory);
    /* A new memory object; and it goes, under the lock. */
    void (*made)(cl_mem memory);
    void (*gone)(cl_mem memory);
    /* There is one more, or less, of what has contents that are the worker's alone. */
    void (*apart)(struct node *node, bool more);
};

static inline bool observer_will_mend(const struct node *node)
{
    return node->observer && node->observer->will_mend(node);
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
