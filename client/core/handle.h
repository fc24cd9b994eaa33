/* Handles: the registry of objects, and what there is to do with each kind of them. */
#ifndef VOCL_CLIENT_CORE_HANDLE_H
#define VOCL_CLIENT_CORE_HANDLE_H

#include "client/core/objects.h"

/* What the client does with objects of a kind; the front end has a table of these. */
struct kind {
    size_t size;
    /* The node that the object is on, and that of several which is asked first. NULL: it stays for ever. Left out: the
     * context's first one. */
    struct node *(*node)(const struct object *object);
    /* All its nodes have the object, but for those of which is_on() says otherwise. Left out: node() alone has it. */
    cl_context (*context)(const struct object *object);
    bool (*is_on)(const struct object *object, const struct node *node);
    /* Whether somebody waits for the end of the object (destructor.c). */
    bool (*is_watched)(const struct object *object);
    /* Make it on one node, by what is kept with the object, without contents: 0, a negative errno value, or what
     * call_verdict() has. Left out, or -ENOTSUP: it came from what may be gone, or is a part of the node's own. */
    int (*create_on)(struct object *object, struct node *node);
    /* After all of its kind were made on a node again: what was done with it since, with none of its commands under
     * way. all, done: objects of its kind, behind them NULL, and which have been settled. -EAGAIN: others come before
     * it. Left out: nothing. */
    int (*settle_on)(struct object *object, struct node *node, struct object *const *all, const bool *done);
    /* A number that changes whenever settle_on() would do something else. Left out: it never would. */
    uint32_t (*state)(const struct object *object);
    /* What commands told the node of it is told again with the next one. Left out: they tell nothing that is left out
     * later. */
    void (*renew)(struct object *object, struct node *node);
    /* Why it cannot be made on another node again, or NULL. Left out: it always can. */
    const char *(*bound)(const struct object *object, const struct node *node);
    /* Release it on all its nodes in another way than by wire_release; false: not this one. */
    bool (*release)(struct object *object);
    /* Here, when the last use has gone. */
    void (*destroy)(struct object *object);
};

/* Of kind 1 to KIND_COUNT - 1; dispatch is the first word of each object. Before the first handle_new(). */
void handle_kinds(const struct kind *const *kinds, const void *dispatch);
const struct kind *handle_kind(const struct object *object);
/* The object is made on a node as well: create_on(), or -ENOTSUP. */
int handle_create_on(struct object *object, struct node *node);
/* A new object is made on its node, or on all those of its context. An error if none of them is left. */
int handle_create(struct object *object);
/* A new zeroed object of a kind with one reference, or NULL. */
void *handle_new(unsigned kind);
/* The same of a kind at which others look with handle_each() while the program makes more: they see it once it is
 * shown, with what is in it by then. */
void *handle_begin(unsigned kind);
void handle_show(void *handle);

/* Addresses that were found to be slots, which they stay: there is nothing more to be found out of them. */
#define HANDLE_SLOTS 1024
extern atomic_uintptr_t handle_slots[HANDLE_SLOTS];
void *handle_check_anew(const void *handle, unsigned kind);

static inline size_t handle_hash(uintptr_t address)
{
    return (address >> 4 ^ address >> 14) % HANDLE_SLOTS;
}

static inline void *handle_is_live(void *slot, unsigned kind)
{
    struct object *object = slot;

    return atomic_load_explicit(&object->kind, memory_order_acquire) == kind ? object : NULL;
}

/* The object if handle is a live one of that kind, else NULL. Never follows a pointer that is not ours. */
static inline void *handle_check(const void *handle, unsigned kind)
{
    const uintptr_t address = (uintptr_t)handle;

    if (!address || atomic_load_explicit(&handle_slots[handle_hash(address)], memory_order_relaxed) != address)
        return handle_check_anew(handle, kind);
    return handle_is_live((void *)address, kind);
}

/* Another use by the library itself; dropped with handle_drop(), which may destroy the object. */
void handle_use(void *object);
void handle_drop(void *object);
/* Whether the node has it. Root devices are not made. */
bool handle_is_on(const struct object *object, const struct node *node);
/* The same, unless it is being destroyed. */
bool handle_try_use(struct object *object);
/* A use that does not count in what the program is told; under the session's lock. False: it is being destroyed. */
bool handle_hold(struct object *object);
/* Without the lock. */
void handle_unhold(struct session *session, struct object *object);
/* Objects that are held. failed: there was no memory for one. */
struct held {
    struct object **objects;
    unsigned count, room;
    bool failed;
};
/* Hold it, too, unless it is being destroyed; under the session's lock. */
void held_add(struct held *held, struct object *object);
/* Of all of them; without the lock. */
void held_drop(struct held *held, struct session *session);
/* Commands to the node tell it again what they have told it of objects. While nobody enqueues, and without the lock. */
int handle_renew(struct node *node);
/* References and other uses, as native OpenCL counts them. */
unsigned handle_count(struct session *session, struct object *object);
/* Its nodes were told to let go of it, just now; under the session's lock. */
void handle_released(struct object *object);
/* A reference of the application's more, or less; invalid is the result where there is no such object. */
int handle_retain(void *handle, unsigned kind, int invalid);
int handle_release(void *handle, unsigned kind, int invalid);
void handle_free(struct object *object);
/* The live object with that number on the wire, or NULL. */
void *handle_find(unsigned kind, uint32_t id);
/* The highest slot that a number of that kind has had so far (its lower 24 bits). */
uint32_t handle_highest(unsigned kind);
/* Every live object of a kind; only creation and destruction wait meanwhile. */
void handle_each(unsigned kind, void (*visit)(struct object *object, void *argument), void *argument);

/* ---- destructor.c: objects whose end is waited for ---- */
/* A destructor callback: the last one registered is the first to be called. */
int destructor_add(struct node *node, struct callback **list, void (*function)(void), void *data);
/* Release on the node an object that has destructor callbacks, and destroy it when the node says so. */
void destructor_begin(struct object *object, struct node *node);
/* Under the lock. */
bool destructor_note(struct node *node, uint32_t kind, uint32_t id);
/* Whether there is an object whose end is waited for. */
bool destructor_any(void);
void destructor_lose(struct node *node);
/* Whether objects of the node have gone that it has yet to tell of: a round trip, about an object of its own. */
void destructor_catch_up(struct node *node, const struct object *object);

#endif
