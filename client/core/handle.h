/* Handles: the registry of objects, and the operations of each kind of object. */
#ifndef VOCL_CLIENT_CORE_HANDLE_H
#define VOCL_CLIENT_CORE_HANDLE_H

#include "client/core/objects.h"

/* The operations of a kind of object; the front end has a table of these. Where one may be left out, the comment says
 * what holds then. */
struct kind {
    size_t size;
    /* Returns the node that the object is on; of several, the one that is asked first. NULL: the object stays for ever.
     * Left out: the context's first node. */
    struct node *(*node)(const struct object *object);
    /* Returns the context. All its nodes have the object, except where is_on() is false. Left out: only node() has
     * it. */
    cl_context (*context)(const struct object *object);
    bool (*is_on)(const struct object *object, const struct node *node);
    /* Whether the object has destructor callbacks (destructor.c). */
    bool (*is_watched)(const struct object *object);
    /* Creates the object on one node, from the state stored with it, without contents. Returns 0, a negative errno
     * value, or a result of call_verdict(). Left out, or -ENOTSUP: it was made of what may be gone, or is a part of the
     * node itself. */
    int (*create_on)(struct object *object, struct node *node);
    /* Called when all objects of the kind have been recreated on a node and no command of the object is under way:
     * repeats what was done with it since its creation. all, done: the objects of its kind, NULL at the end, and which
     * of them have been settled. -EAGAIN: others come first. Left out: there is nothing to do. */
    int (*settle_on)(struct object *object, struct node *node, struct object *const *all, const bool *done);
    /* Returns a number that changes whenever settle_on() would do something else. Left out: it never would. */
    uint32_t (*state)(const struct object *object);
    /* Makes the next command send the node again what earlier ones sent it for the object. Left out: each command
     * sends everything anyway. */
    void (*renew)(struct object *object, struct node *node);
    /* Returns why the object cannot be recreated on another node, or NULL. Left out: it always can. */
    const char *(*bound)(const struct object *object, const struct node *node);
    /* Releases the object on all its nodes in another way than by wire_release. Returns false if this object needs no
     * other way. */
    bool (*release)(struct object *object);
    /* Frees the object here, after its last use. */
    void (*destroy)(struct object *object);
};

/* Sets the kinds, from 1 to KIND_COUNT - 1, and dispatch, the first word of each object. Before the first
 * handle_new(). */
void handle_kinds(const struct kind *const *kinds, const void *dispatch);
const struct kind *handle_kind(const struct object *object);
/* Creates the object on a node as well. Returns as create_on() does, -ENOTSUP if that is left out. */
int handle_create_on(struct object *object, struct node *node);
/* Creates a new object on its node, or on all nodes of its context. Fails if none of them is left. */
int handle_create(struct object *object);
/* Returns a new zeroed object with one reference, or NULL. */
void *handle_new(unsigned kind);
/* The same for a kind whose objects other threads visit by handle_each(): they see the object, complete, after
 * handle_show(). */
void *handle_begin(unsigned kind);
void handle_show(void *handle);

/* Addresses that were found to be slots. They stay slots, so no more need be looked up. */
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

/* Returns the object if handle is a live one of that kind, else NULL. Never dereferences a pointer that is not
 * VOCL's. */
static inline void *handle_check(const void *handle, unsigned kind)
{
    const uintptr_t address = (uintptr_t)handle;

    if (!address || atomic_load_explicit(&handle_slots[handle_hash(address)], memory_order_relaxed) != address)
        return handle_check_anew(handle, kind);
    return handle_is_live((void *)address, kind);
}

/* Adds a use by the library itself. handle_drop() ends it, and may destroy the object. */
void handle_use(void *object);
void handle_drop(void *object);
/* Whether the node has the object. False for root devices, which are not created. */
bool handle_is_on(const struct object *object, const struct node *node);
/* As handle_use(). Returns false if the object is being destroyed. */
bool handle_try_use(struct object *object);
/* Adds a use that the reference count shown to the program does not include. Under the session's lock. Returns false if
 * the object is being destroyed. */
bool handle_hold(struct object *object);
/* Ends that use. Without the lock. */
void handle_unhold(struct session *session, struct object *object);
/* Held objects. failed: there was no memory for one. */
struct held {
    struct object **objects;
    unsigned count, room;
    bool failed;
};
/* Holds the object, too, unless it is being destroyed. Under the session's lock. */
void held_add(struct held *held, struct object *object);
/* Ends the holds of all of them. Without the lock. */
void held_drop(struct held *held, struct session *session);
/* Calls renew() of all objects that the node has. While no thread enqueues, and without the lock. */
int handle_renew(struct node *node);
/* Returns the number of references and other uses, as native OpenCL counts them. */
unsigned handle_count(struct session *session, struct object *object);
/* Notes that the object's nodes have just been sent its release. Under the session's lock. */
void handle_released(struct object *object);
/* Add and end a reference of the application. Return invalid if there is no such object. */
int handle_retain(void *handle, unsigned kind, int invalid);
int handle_release(void *handle, unsigned kind, int invalid);
void handle_free(struct object *object);
/* Returns the live object with that ID, or NULL. */
void *handle_find(unsigned kind, uint32_t id);
/* Returns the highest slot (the lower 24 bits of an ID) that the kind has used so far. */
uint32_t handle_highest(unsigned kind);
/* Visits every live object of a kind. Only creation and destruction wait meanwhile. */
void handle_each(unsigned kind, void (*visit)(struct object *object, void *argument), void *argument);

/* ---- destructor.c: objects whose end is waited for ---- */
/* Registers a destructor callback. The last one registered is the first to be called. */
int destructor_add(struct node *node, struct callback **list, void (*function)(void), void *data);
/* Releases on the node an object that has destructor callbacks, and destroys it when the node reports its end. */
void destructor_begin(struct object *object, struct node *node);
/* Handles the node's report that an object is gone. Returns false if nothing waits for that. Under the lock. */
bool destructor_note(struct node *node, uint32_t kind, uint32_t id);
/* Whether the end of any object is waited for. */
bool destructor_any(void);
void destructor_lose(struct node *node);
/* Makes a round trip if the node has yet to report the end of an object, so that all ends before it are known. object:
 * any that the node has, for the question. */
void destructor_catch_up(struct node *node, const struct object *object);

#endif
