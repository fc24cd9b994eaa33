/*
 * Objects with destructor callbacks. Natively these are called when the last command that uses the object is through,
 * or in the release itself if there is none. So the release is a round trip that tells which, and an object still in
 * use is kept, dead to the application, until its node says that it is gone.
 */
#include <errno.h>

#include "client/client.h"

struct dying {
    struct callback callback;
    struct dying *next;
    struct node *node;
    struct object *object;
    unsigned kind;
    bool releasing, gone; /* while the release is under way only its own thread may finish it */
};

static struct dying *all; /* under the session's lock */

static void run(struct callback *callback)
{
    struct dying *dying = (struct dying *)callback;

    atomic_store(&dying->object->kind, dying->kind);
    handle_kind(dying->object)->destroy(dying->object);
}

static void dying_free(struct callback *callback)
{
    free((struct dying *)callback);
}

static void unlink_dying(struct dying *dying)
{
    struct dying **at = &all;

    while (*at != dying)
        at = &(*at)->next;
    *at = dying->next;
}

int dying_add(struct node *node, struct callback **list, void (*function)(void), void *data)
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

/* Under the lock: whoever gets true runs it. */
static bool finish(struct dying *dying)
{
    dying->gone |= !dying->node->alive;
    if (dying->releasing || !dying->gone)
        return false;
    unlink_dying(dying);
    return true;
}

static void begin_later(struct callback *callback)
{
    dying_begin(callback->handle, callback->data);
}

static void later_free(struct callback *callback)
{
    free(callback);
}

/* The last to use it was a command whose end is being told. */
static bool is_for_later(struct object *object, struct node *node)
{
    struct callback *callback = session_polls() ? calloc(1, sizeof(*callback)) : NULL;

    if (!callback)
        return false;
    *callback = (struct callback){.run = begin_later, .free = later_free, .handle = object, .data = node};
    deliver(node->session, NULL, callback);
    return true;
}

void dying_begin(struct object *object, struct node *node)
{
    struct wire_release_watched m = {.kind = atomic_load(&object->kind), .object = object->id};
    struct wire_release_watched_reply reply;
    struct dying *dying;
    struct call call;
    bool gone, mine;

    if (is_for_later(object, node))
        return;
    dying = calloc(1, sizeof(*dying));
    if (!dying) { /* the callbacks come early rather than never */
        handle_kind(object)->destroy(object);
        return;
    }
    session_lock(node->session);
    *dying = (struct dying){{.run = run, .free = dying_free}, all, node, object, m.kind, true, false};
    all = dying;
    session_unlock(node->session);
    gone = call_release_watched(node, &m, &reply, &call) != 0;
    if (!gone) {
        gone = reply.gone;
        call_free(&call);
    }
    session_lock(node->session);
    dying->releasing = false;
    dying->gone |= gone;
    mine = finish(dying);
    if (!mine)
        atomic_store(&object->kind, KIND_DYING);
    session_unlock(node->session);
    if (!mine)
        return;
    run(&dying->callback);
    free(dying);
}

bool dying_note(struct node *node, uint32_t kind, uint32_t id)
{
    for (struct dying *dying = all; dying; dying = dying->next) {
        if (dying->node != node || dying->kind != kind || dying->object->id != id)
            continue;
        dying->gone = true;
        if (finish(dying))
            deliver(node->session, NULL, &dying->callback);
        return true;
    }
    return false;
}

/* Natively the last command that uses an object is not over before the object is gone, but another may be over before
 * that. */
void dying_catch_up(struct node *node, const struct object *object)
{
    bool any = false;

    session_lock(node->session);
    for (const struct dying *dying = all; dying; dying = dying->next)
        any |= dying->node == node && !dying->gone;
    session_unlock(node->session);
    if (any)
        native_outcome(node, object);
}

void dying_lose(struct node *node)
{
    struct dying *next;

    for (struct dying *dying = all; dying; dying = next) {
        next = dying->next;
        if (dying->node == node && finish(dying))
            deliver(node->session, NULL, &dying->callback);
    }
}
