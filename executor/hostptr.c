/* Objects over memory of an application on another host: contents are moved outside the application's queues, in the
 * context's own. The application makes sure that nothing uses an object while contents are sent to it, and that
 * contents are complete before they are fetched. */
#include "base/hash.h"
#include "executor/transfer.h"

#define MOST_GRANULES 65536

static struct context *context_of(struct executor *x, const struct memory *memory)
{
    return object_get(x, WIRE_CONTEXT, memory->context_id);
}

/* Returns NULL if the creation of the object, or of its context, failed. */
static cl_mem native_of(const struct context *context, const struct memory *memory)
{
    return is_usable(memory) && context->spare && context->mover ? memory->native : NULL;
}

int exec_bring(struct executor *x, const struct exec_bring *m)
{
    const struct memory *memory = m->memory;
    struct context *context = context_of(x, memory);
    struct side side;

    if (!context)
        return -EBADMSG;
    side = side_from(native_of(context, memory), &m->part);
    if (side.memory && !side_fits(&side))
        return -EBADMSG;
    if (contents_hold(x, memory))
        return -EAGAIN;
    return transfer_bring(x, context, &side, m->tag, m->data, m->data_length);
}

int exec_take(struct executor *x, const struct exec_take *m)
{
    const struct memory *memory = m->memory;
    struct context *context = context_of(x, memory);
    struct command c;
    struct transfer *t;
    struct side side;

    if (!context || !m->tag)
        return -EBADMSG;
    side = side_from(native_of(context, memory), &m->part);
    if (side.memory && (!side_fits(&side) || !bounds_side(&side)))
        return -EBADMSG;
    if (contents_hold(x, memory))
        return -EAGAIN;
    command_begin_own(&c, x, context->mover, NULL);
    t = transfer_new(x, side.memory ? c.queue->native : NULL, &side, m->tag, true);
    if (!t)
        return -ENOMEM;
    c.error = side.memory ? transfer_read_whole(&c, t) : CL_MEM_OBJECT_ALLOCATION_FAILURE;
    command_end_own(&c);
    if (c.error) {
        t->error = c.error;
        transfer_give(t);
    }
    if (side.memory)
        clFlush(c.queue->native);
    return 0;
}

static void compare(const struct exec_changes *m, const uint8_t *bytes, uint8_t *changed)
{
    for (uint64_t i = 0, at = 0; at < m->size; i++, at += WIRE_GRANULE) {
        const size_t length = m->size - at < WIRE_GRANULE ? m->size - at : WIRE_GRANULE;
        uint64_t theirs;

        memcpy(&theirs, (const uint8_t *)m->hashes + i * sizeof(theirs), sizeof(theirs));
        changed[i] = hash_bytes(bytes + at, length) != theirs;
    }
}

/* Compares in the mapped buffer (which may be a copy). Does not use the mover: drivers that wait for a whole queue
 * would wait there for contents that only this thread can send. */
static cl_int compare_native(const struct context *context, const struct memory *memory, const struct exec_changes *m,
                             uint8_t *changed)
{
    cl_int error;
    void *bytes = clEnqueueMapBuffer(context->spare, memory->native, CL_TRUE, CL_MAP_READ, m->offset, m->size, 0, NULL,
                                     NULL, &error);

    if (error)
        return error;
    compare(m, bytes, changed);
    error = clEnqueueUnmapMemObject(context->spare, memory->native, bytes, 0, NULL, NULL);
    clFlush(context->spare);
    return error;
}

int exec_changes(struct executor *x, const struct exec_changes *m)
{
    const struct memory *memory = m->memory;
    const struct context *context = context_of(x, memory);
    const cl_mem native = context ? native_of(context, memory) : NULL;
    const uint64_t granules = (m->size + WIRE_GRANULE - 1) / WIRE_GRANULE;
    struct wire_changes_reply reply = {.call = m->call, .error = CL_MEM_OBJECT_ALLOCATION_FAILURE};
    uint8_t *changed;

    if (!context || !m->size || m->size > (uint64_t)MOST_GRANULES * WIRE_GRANULE ||
        m->hashes_length != granules * sizeof(uint64_t))
        return -EBADMSG;
    if (contents_hold(x, memory))
        return -EAGAIN;
    changed = malloc(granules);
    if (!changed)
        return -ENOMEM;
    if (native && !bounds_piece(native, m->offset, m->size))
        reply.error = CL_INVALID_VALUE;
    else if (native)
        reply.error = compare_native(context, memory, m, changed);
    if (!reply.error) {
        reply.changed = changed;
        reply.changed_length = (uint32_t)granules;
    }
    reply_changes(x, &reply);
    free(changed);
    return 0;
}
