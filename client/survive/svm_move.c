/*
 * Shared virtual memory that program and node each have (svm_remote.c) goes to the node's target, to the same
 * addresses, or pointers in it would be wrong. It goes by the program's host, as workers tell each other only of memory
 * objects: while the program goes on, and again what is written meanwhile, an allocation as a whole, until that is
 * little; in the pause what was written since. Where native OpenCL chose the address, it would choose another
 * (context_bound()). Pointers that kernels were given (clSetKernelExecInfo()) are not told again: devices that take any
 * address need not know them.
 */
#include <errno.h>

#include "base/clock.h"
#include "client/core/halt.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/data/address_command.h"
#include "client/memory/svm.h"
#include "client/survive/moving.h"

#define SHARE ((size_t)4 << 20) /* goes at a time */

static int make_one(struct move *m, const struct svm_place *place)
{
    struct wire_svm_alloc ask = {
        .context = place->context, .wanted = (uintptr_t)place->memory, .flags = CL_MEM_READ_WRITE, .size = place->size};
    struct wire_svm_alloc_reply reply;
    struct call call;

    if (call_svm_alloc(m->target, &ask, &reply, &call))
        return move_refuse(m, -ECONNRESET, "the target was lost");
    call_free(&call);
    if (reply.error)
        return move_refuse(m, -ENOMEM, "the target has no room for shared virtual memory, or has something else at %p",
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
        return move_refuse(m, -ENOMEM, "no memory");
    m->svm = more;
    error = make_one(m, place);
    if (!error)
        more[m->svm_count++] = (struct svm_there){.number = place->number, .memory = place->memory};
    return error;
}

/* What the program has freed since. */
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

    return error ? move_refuse(m, -ENOMEM, "the target has no room for shared virtual memory: error %d", error) : 0;
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

struct ends_of {
    struct carriers from, to;
    uint8_t *bytes; /* CARRIERS pieces: one is read while those before it go to the target */
};

static int fetch(struct carriers *c, cl_context context, uint8_t *bytes, const uint8_t *memory, size_t size)
{
    const int slot = carriers_next(c, context);
    struct enqueue e;
    int error = slot < 0 ? slot : enqueue_open(&e, c->queue, 0, NULL, true, CL_COMMAND_SVM_MEMCPY);

    return error ? error : address_read(&e, bytes, memory, size, CL_TRUE, NULL);
}

/* What has been read is on its way when this returns. */
static int carry(struct ends_of *ends, cl_context context, uint8_t *memory, size_t size)
{
    const int slot = carriers_next(&ends->to, context);
    uint8_t *bytes = ends->bytes + SHARE * (size_t)(slot < 0 ? 0 : slot);
    struct enqueue e;
    int error = slot < 0 ? slot : fetch(&ends->from, context, bytes, memory, size);

    if (!error)
        error = enqueue_open(&e, ends->to.queue, 0, NULL, true, CL_COMMAND_SVM_MEMCPY);
    if (!error)
        error = address_write(&e, CL_COMMAND_SVM_MEMCPY, memory, bytes, size, CL_FALSE, &ends->to.events[slot]);
    return error;
}

static int explain(struct move *m, int error)
{
    return move_refuse(m, move_was_lost(m) ? -ECONNRESET : -ENOMEM, "shared virtual memory cannot be copied: error %d",
                       error);
}

static int copy_range(struct move *m, struct ends_of *ends, cl_context context, uint8_t *memory, size_t size)
{
    int error = 0;

    for (size_t at = 0; !error && at < size; at += SHARE) {
        const size_t part = size - at < SHARE ? size - at : SHARE;

        if (move_was_lost(m))
            return explain(m, -ECONNRESET);
        error = carry(ends, context, memory + at, part);
        m->bytes += error ? 0 : part;
        move_watched(m);
    }
    return error ? explain(m, error) : 0;
}

static cl_context hold_context(struct move *m, uint32_t id)
{
    struct object *object;

    session_lock(m->session);
    object = handle_find(WIRE_CONTEXT, id);
    if (object && !handle_hold(object))
        object = NULL;
    session_unlock(m->session);
    return (cl_context)object;
}

/* Of an allocation that is held, in the pause or early, where it waits if its context is not at the target yet. */
static int copy_one(struct move *m, struct ends_of *ends, const struct svm_place *place, bool early)
{
    cl_context context = hold_context(m, place->context);
    struct svm_there *there;
    size_t from, to;
    int error = 0;

    if (!context && !early)
        return move_refuse(m, -ENOTSUP, "shared virtual memory of a context that has been released");
    if (context && (!early || made_early(m, &context->object)))
        error = make(m, place);
    there = error ? NULL : find_there(m, place->number);
    for (unsigned at = 0; there && !error && svm_remote_next(place, &at, &from, &to);)
        error = copy_range(m, ends, context, place->memory + from, to - from);
    if (there)
        there->copied = !error;
    if (context)
        handle_unhold(m->session, &context->object);
    return error;
}

static bool ends_begin(struct move *m, struct ends_of *ends)
{
    *ends =
        (struct ends_of){.from = {.node = m->node, .member = m->node}, .to = {.node = m->node, .member = m->target}};
    ends->bytes = malloc(CARRIERS * SHARE);
    return ends->bytes;
}

static int ends_end(struct move *m, struct ends_of *ends, int error)
{
    int end;

    carriers_end(&ends->from, 0);
    end = carriers_end(&ends->to, 0);
    free(ends->bytes);
    return !error && end ? explain(m, end) : error;
}

static void drop_list(struct svm_place *list, unsigned count)
{
    while (count)
        svm_remote_unhold(&list[--count]);
    free(list);
}

/* Those that are held, one after the other; the list goes. */
static int copy_list(struct move *m, struct svm_place *list, unsigned count, bool go, bool early)
{
    struct ends_of ends;
    int error = ends_begin(m, &ends) ? 0 : move_refuse(m, -ENOMEM, "no memory");

    for (unsigned i = 0; i < count; i++) {
        if (go && !error)
            error = copy_one(m, &ends, &list[i], early);
    }
    error = ends_end(m, &ends, error);
    drop_list(list, count);
    return error;
}

/* What is not at the target as it is here; each is held. How many bytes of them have ever been written. NULL: there is
 * no memory. */
static struct svm_place *find_written(struct move *m, unsigned *count, size_t *bytes)
{
    struct svm_place *list = malloc(sizeof(*list)), *more, place;
    size_t from, to;

    *count = 0;
    *bytes = 0;
    for (unsigned i = 0; list && svm_remote_at(m->node, i, &place); i++) {
        struct svm_there *there = find_there(m, place.number);
        const bool written = svm_remote_take_mark(&place, WRITTEN_MOVE);

        if (there && written)
            there->copied = false;
        if ((there && there->copied) || !svm_remote_hold(&place))
            continue;
        for (unsigned at = 0; svm_remote_next(&place, &at, &from, &to);)
            *bytes += to - from;
        list[(*count)++] = place;
        more = realloc(list, (*count + 1) * sizeof(*list));
        if (!more)
            drop_list(list, *count);
        list = more;
    }
    return list;
}

int svm_copy_early(struct move *m)
{
    size_t before = SIZE_MAX, bytes;
    struct svm_place *list;
    unsigned count;
    bool go = true;
    int error = 0;

    for (unsigned round = 0;
         go && !error && round < EARLY_ROUNDS && svm_remote_any(m->node) && quiesce_calls(m, clock_ns() + QUICK_NS);
         round++) {
        list = find_written(m, &count, &bytes);
        ends_put(&m->ends, m->session);
        halt_set(HALT_NONE);
        go = ends_wait(&m->ends, m->node, ENDS_NS) && worth_early(bytes, before);
        error = list ? copy_list(m, list, count, go, true) : move_refuse(m, -ENOMEM, "no memory");
        before = bytes;
    }
    return error;
}

int svm_copy(struct move *m)
{
    const uint64_t before = m->bytes;
    struct svm_place *list;
    unsigned count;
    size_t bytes;
    int error;

    if (!svm_remote_any(m->node))
        return 0;
    list = find_written(m, &count, &bytes);
    error = list ? copy_list(m, list, count, true, false) : move_refuse(m, -ENOMEM, "no memory");
    m->bytes_paused += m->bytes - before;
    return error;
}
