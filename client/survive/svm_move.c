/*
 * Moves SVM of which program and node each have a copy (svm_remote.c) to the node's target, at the same addresses, or
 * pointers in it would be wrong. It goes by the program's host, as workers send each other only memory objects: while
 * the program runs, and again what is written meanwhile, in whole allocations, until that is little; in the pause what
 * was written since. Where native OpenCL chose the address it would choose another (context_bound()), and such memory
 * does not move. Pointers that kernels were given (clSetKernelExecInfo()) are not sent again: devices that take any
 * address need not know them.
 */
#include <errno.h>

#include "client/core/handle.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/data/contents.h"
#include "client/memory/svm.h"
#include "client/survive/moving.h"

#define SHARE ((size_t)4 << 20) /* bytes copied at a time */

static int make_one(struct move *m, const struct svm_place *place)
{
    struct wire_svm_alloc ask = {
        .context = place->context, .wanted = (uintptr_t)place->memory, .flags = CL_MEM_READ_WRITE, .size = place->size};
    struct wire_svm_alloc_reply reply;
    struct call call;

    if (call_svm_alloc(m->target, &ask, &reply, &call))
        return pause_refuse(m->pause, -ECONNRESET, "the target was lost");
    call_free(&call);
    if (reply.error)
        return pause_refuse(m->pause, -ENOMEM,
                            "the target has no room for shared virtual memory, or has something else at %p",
                            (void *)place->memory);
    return 0;
}

static struct svm_there *find_there(const struct move *m, uint64_t number)
{
    for (unsigned i = 0; i < m->svm_count; i++) {
        if (m->svm[i].number == number)
            return &m->svm[i];
    }
    return NULL;
}

static int make(struct move *m, const struct svm_place *place)
{
    struct svm_there *more;
    int error;

    if (find_there(m, place->number))
        return 0;
    more = realloc(m->svm, (m->svm_count + 1) * sizeof(*more));
    if (!more)
        return pause_refuse(m->pause, -ENOMEM, "no memory");
    m->svm = more;
    error = make_one(m, place);
    if (!error)
        more[m->svm_count++] = (struct svm_there){.number = place->number, .memory = place->memory};
    return error;
}

/* Frees at the target what the program has freed since. */
static void free_gone(struct move *m)
{
    struct svm_place place;
    unsigned left = 0;

    for (unsigned i = 0; i < m->svm_count; i++)
        m->svm[i].gone = true;
    for (unsigned i = 0; svm_remote_at(m->node, i, &place); i++) {
        struct svm_there *there = find_there(m, place.number);

        if (there)
            there->gone = false;
    }
    for (unsigned i = 0; i < m->svm_count; i++) {
        if (m->svm[i].gone)
            address_free(m->target, (uintptr_t)m->svm[i].memory);
        else
            m->svm[left++] = m->svm[i];
    }
    m->svm_count = left;
}

static int make_placed(struct move *m)
{
    const int error = svm_placed_count(m->node, m->target);

    return error ? pause_refuse(m->pause, -ENOMEM, "the target has no room for shared virtual memory: error %d", error)
                 : 0;
}

int svm_make(struct move *m)
{
    struct svm_place place;
    int error = make_placed(m);

    free_gone(m);
    for (unsigned i = 0; !error && svm_remote_at(m->node, i, &place); i++)
        error = make(m, &place);
    return error;
}

/* ---- contents ---- */

struct copying {
    struct contents from, to;
    uint8_t *bytes; /* pieces: one is read while earlier ones go to the target */
};

/* Reads a piece from the node and starts sending it to the target. */
static int carry(struct copying *c, uint8_t *memory, size_t size)
{
    const struct extent extent = extent_at((uintptr_t)memory, size);
    uint8_t *bytes = c->bytes + SHARE * (c->to.next % CONTENTS_UNDER_WAY);
    int error = contents_wait(&c->to);

    if (!error)
        error = contents_end(&c->from, contents_take(&c->from, &extent, bytes));
    return error ? error : contents_bring(&c->to, &extent, bytes);
}

static int explain(struct move *m, int error)
{
    return pause_refuse(m->pause, pause_is_broken(m->pause) ? -ECONNRESET : -ENOMEM,
                        "shared virtual memory cannot be copied: error %d", error);
}

static int copy_range(struct move *m, struct copying *c, uint8_t *memory, size_t size)
{
    int error = 0;

    for (size_t at = 0; !error && at < size; at += SHARE) {
        const size_t part = size - at < SHARE ? size - at : SHARE;

        if (pause_is_broken(m->pause))
            return explain(m, -ECONNRESET);
        error = carry(c, memory + at, part);
        pause_copied(m->pause, error ? 0 : part);
    }
    return error ? explain(m, error) : 0;
}

static struct object *hold_context(struct move *m, uint32_t id)
{
    struct object *object;

    session_lock(m->node->session);
    object = handle_find(WIRE_CONTEXT, id);
    if (object && !handle_hold(object))
        object = NULL;
    session_unlock(m->node->session);
    return object;
}

/* Copies an allocation that is held, in the pause or early; early it waits if its context is not at the target yet. */
static int copy_one(struct move *m, struct copying *c, const struct svm_place *place, bool early)
{
    struct object *context = hold_context(m, place->context);
    struct svm_there *there;
    size_t from, to;
    int error = 0;

    if (!context && !early)
        return pause_refuse(m->pause, -ENOTSUP, "shared virtual memory of a context that has been released");
    if (context && (!early || made_early(m, context)))
        error = make(m, place);
    there = error ? NULL : find_there(m, place->number);
    for (unsigned at = 0; there && !error && svm_remote_next(place, &at, &from, &to);)
        error = copy_range(m, c, place->memory + from, to - from);
    if (there)
        there->copied = !error;
    if (context)
        handle_unhold(m->node->session, context);
    return error;
}

static void drop_list(struct svm_place *list, unsigned count)
{
    while (count)
        svm_remote_unhold(&list[--count]);
    free(list);
}

/* Copies allocations that are held, one after the other, and frees the list. */
static int copy_list(struct move *m, struct svm_place *list, unsigned count, bool go, bool early)
{
    struct copying c = {{.member = m->node}, {.member = m->target}, malloc(CONTENTS_UNDER_WAY * SHARE)};
    int error = list && c.bytes ? 0 : pause_refuse(m->pause, -ENOMEM, "no memory"), end;

    for (unsigned i = 0; i < count && go && !error; i++)
        error = copy_one(m, &c, &list[i], early);
    end = contents_end(&c.to, 0);
    free(c.bytes);
    drop_list(list, count);
    return !error && end ? explain(m, end) : error;
}

/* Whether the target lacks the allocation, or its newest contents. */
static bool is_missing(struct move *m, const struct svm_place *place)
{
    struct svm_there *there = find_there(m, place->number);

    if (svm_remote_take_mark(place, WRITTEN_MOVE) && there)
        there->copied = false;
    return !there || !there->copied;
}

/* Returns the allocations that are missing, each held, and how many bytes of them have ever been written. Returns NULL
 * if memory is exhausted. */
static struct svm_place *find_written(struct move *m, unsigned *count, size_t *bytes)
{
    unsigned all;
    struct svm_place *list = svm_remote_list(m->node, true, &all);

    *count = 0;
    *bytes = 0;
    for (unsigned i = 0; list && i < all; i++) {
        const struct svm_place place = list[i];

        if (is_missing(m, &place)) {
            *bytes += svm_remote_bytes(&place);
            list[(*count)++] = place;
        } else {
            svm_remote_unhold(&list[i]);
        }
    }
    return list;
}

static size_t find_ahead(void *argument)
{
    struct svm_ahead *s = argument;
    size_t bytes;

    s->list = find_written(s->move, &s->count, &bytes);
    return bytes;
}

static int copy_found(void *argument, bool go)
{
    struct svm_ahead *s = argument;

    return copy_list(s->move, s->list, s->count, go, true);
}

struct ahead svm_ahead(struct svm_ahead *s)
{
    return (struct ahead){s, find_ahead, copy_found, true};
}

int svm_copy(struct move *m)
{
    struct svm_place *list;
    unsigned count;
    size_t bytes;

    if (!svm_remote_any(m->node))
        return 0;
    list = find_written(m, &count, &bytes);
    pause_expect(m->pause, bytes);
    return copy_list(m, list, count, true, false);
}
