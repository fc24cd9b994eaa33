/*
 * Shared virtual memory that program and node each have (svm_remote.c) goes to the node's target, to the same
 * addresses, or pointers in it would be wrong. It goes in the pause, by the program's host, as workers tell each other
 * only of memory objects. Where native OpenCL chose the address, it would choose another (context_bound()). Pointers
 * that kernels were given (clSetKernelExecInfo()) are not told again: devices that take any address need not know them.
 */
#include <errno.h>

#include "client/moving.h"

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

int svm_make(struct move *m)
{
    struct svm_place place;
    int error = 0;

    for (unsigned i = 0; !error && svm_remote_at(m->node, i, &place); i++)
        error = make_one(m, &place);
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

static int copy_one(struct move *m, struct ends_of *ends, cl_context context, const struct svm_place *place)
{
    int error = 0;

    for (size_t at = 0; !error && at < place->size; at += SHARE) {
        const size_t size = place->size - at < SHARE ? place->size - at : SHARE;

        error = carry(ends, context, place->memory + at, size);
        m->bytes += error ? 0 : size;
        m->bytes_paused += error ? 0 : size;
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

static int copy_places(struct move *m, struct ends_of *ends)
{
    struct svm_place place;
    int error = 0;

    for (unsigned i = 0; !error && svm_remote_at(m->node, i, &place); i++) {
        cl_context context = hold_context(m, place.context);

        if (!context)
            return move_refuse(m, -ENOTSUP, "shared virtual memory of a context that has been released");
        error = copy_one(m, ends, context, &place);
        handle_unhold(m->session, &context->object);
    }
    return error;
}

int svm_copy(struct move *m)
{
    struct ends_of ends = {.from = {.node = m->node, .member = m->node}, .to = {.node = m->node, .member = m->target}};
    int error, end;

    if (!svm_remote_any(m->node))
        return 0;
    ends.bytes = malloc(CARRIERS * SHARE);
    error = ends.bytes ? copy_places(m, &ends) : move_refuse(m, -ENOMEM, "no memory");
    carriers_end(&ends.from, 0);
    end = carriers_end(&ends.to, 0);
    if (!error && end)
        error = explain(m, end);
    free(ends.bytes);
    return error;
}
