/*
 * Objects with destructor callbacks. Natively these are called when the last command that uses the object has ended, or
 * in the release itself if there is none. So the release is a round trip, whose answer says which of the two it is. An
 * object still in use is kept, invalid for the application, until its node reports that it is gone.
 */
#include <errno.h>

#include "client/core/deliver.h"
#include "client/core/handle.h"
#include "client/core/per_process.h"
#include "client/core/session.h"
#include "client/core/stream.h"

struct destructor {
    struct callback callback;
    struct destructor *next;
    struct node *node;
    struct object *object;
    unsigned kind;
    bool releasing, gone; /* releasing: the release is under way, and only its own thread may finish it */
};

static PER_PROCESS struct destructor *all; /* under the session's lock */

static void run(struct callback *callback)
{
    struct destructor *destructor = (struct destructor *)callback;

    atomic_store(&destructor->object->kind, destructor->kind);
    handle_kind(destructor->object)->destroy(destructor->object);
}

static void destructor_free(struct callback *callback)
{
    free((struct destructor *)callback);
}

static void unlink_destructor(struct destructor *destructor)
{
    struct destructor **at = &all;

    while (*at != destructor)
        at = &(*at)->next;
    *at = destructor->next;
}

int destructor_add(struct node *node, struct callback **list, void (*function)(void), void *data)
{
    struct callback *callback = calloc(1, sizeof(*callback));

    if (!callback)
        return -ENOMEM;
    callback->function = function;
    callback->data = data;
    session_lock(node->session);
    callback->next = *list;
    *list = callback;
    session_unlock(node->session);
    return 0;
}

/* Whether the destructor is to be run now, by the caller. Under the lock. */
static bool finish(struct destructor *destructor)
{
    destructor->gone |= !destructor->node->alive;
    if (destructor->releasing || !destructor->gone)
        return false;
    unlink_destructor(destructor);
    return true;
}

static void begin_later(struct callback *callback)
{
    destructor_begin(callback->handle, callback->data);
}

static void later_free(struct callback *callback)
{
    free(callback);
}

/* Postpones the release if this thread is handling the end of the last command that used the object: it must not wait
 * for a node. */
static bool is_for_later(struct object *object, struct node *node)
{
    struct callback *callback = session_polls() ? calloc(1, sizeof(*callback)) : NULL;

    if (!callback)
        return false;
    *callback = (struct callback){.run = begin_later, .free = later_free, .handle = object, .data = node};
    deliver(node->session, NULL, callback);
    return true;
}

void destructor_begin(struct object *object, struct node *node)
{
    struct wire_release_watched m = {.kind = atomic_load(&object->kind), .object = object->id};
    struct wire_release_watched_reply reply;
    struct destructor *destructor;
    struct call call;
    bool gone, mine;

    if (is_for_later(object, node))
        return;
    destructor = calloc(1, sizeof(*destructor));
    if (!destructor) { /* the callbacks come early rather than never */
        handle_kind(object)->destroy(object);
        return;
    }
    session_lock(node->session);
    *destructor = (struct destructor){{.run = run, .free = destructor_free}, all, node, object, m.kind, true, false};
    all = destructor;
    session_unlock(node->session);
    gone = call_release_watched(node, &m, &reply, &call) != 0;
    if (!gone) {
        gone = reply.gone;
        call_free(&call);
    }
    session_lock(node->session);
    destructor->releasing = false;
    destructor->gone |= gone;
    mine = finish(destructor);
    if (!mine)
        atomic_store(&object->kind, KIND_ENDING);
    session_unlock(node->session);
    if (!mine)
        return;
    run(&destructor->callback);
    free(destructor);
}

bool destructor_note(struct node *node, uint32_t kind, uint32_t id)
{
    for (struct destructor *destructor = all; destructor; destructor = destructor->next) {
        if (destructor->node != node || destructor->kind != kind || destructor->object->id != id)
            continue;
        destructor->gone = true;
        if (finish(destructor))
            deliver(node->session, NULL, &destructor->callback);
        return true;
    }
    return false;
}

/* Natively the last command that uses an object is not over before the object is gone, but another command may be over
 * before that. */
void destructor_catch_up(struct node *node, const struct object *object)
{
    bool any = false;

    session_lock(node->session);
    for (const struct destructor *destructor = all; destructor; destructor = destructor->next)
        any |= destructor->node == node && !destructor->gone;
    session_unlock(node->session);
    if (any)
        native_outcome(node, object);
}

bool destructor_any(void)
{
    return all != NULL;
}

void destructor_lose(struct node *node)
{
    struct destructor *next;

    for (struct destructor *destructor = all; destructor; destructor = next) {
        next = destructor->next;
        if (destructor->node == node && finish(destructor))
            deliver(node->session, NULL, &destructor->callback);
    }
}
