/*
 * Buffers that have an address on their device (cl_ext_buffer_device_address). The address is the node's; the program
 * has nothing there. VOCL cannot see which memory kernels reach by such addresses: in a context of several nodes, a
 * kernel that was given one counts as using all of the context's buffers that have one.
 */
#include <errno.h>

#include "client/core/per_process.h"
#include "client/core/stream.h"
#include "client/data/address_command.h"
#include "client/data/coherence.h"

static PER_PROCESS struct mutex lock = MUTEX(RANK_ADDRESSED);
static PER_PROCESS cl_mem first; /* the list of all such buffers, linked by next_addressed */

static bool has_device(const struct node *node, cl_context context, cl_uint i)
{
    return context->devices[i]->node == node;
}

int addressed_create_on(cl_mem buffer, struct node *node)
{
    struct wire_create_addressed_buffer m = {.buffer = buffer->object.id,
                                             .context = buffer->context->object.id,
                                             .flags = buffer->node_flags,
                                             .size = buffer->size};
    struct wire_create_addressed_buffer_reply reply;
    struct call call;
    struct wire_cursor in;
    int error = call_create_addressed_buffer(node, &m, &reply, &call);

    if (error)
        return error;
    error = call_verdict(reply.error);
    if (!error) {
        in = wire_cursor(reply.addresses, reply.addresses_length);
        for (cl_uint i = 0; i < buffer->context->device_count; i++) {
            if (has_device(node, buffer->context, i))
                buffer->addresses[i] = wire_get_u64(&in);
        }
        error = in.failed ? -EBADMSG : 0;
    }
    call_free(&call);
    return error;
}

int addressed_create(cl_mem buffer)
{
    cl_context context = buffer->context;
    int error = 0, one;

    buffer->addresses = calloc(context->device_count, sizeof(*buffer->addresses));
    if (!buffer->addresses)
        return -ENOMEM;
    /* on all of them, even after an error: the buffer will be released on all */
    for (unsigned i = 0; i < context->node_count; i++) {
        one = addressed_create_on(buffer, context->nodes[i]);
        error = error ? error : one;
    }
    mutex_lock(&lock);
    buffer->next_addressed = first;
    first = buffer;
    mutex_unlock(&lock);
    return error;
}

void addressed_destroy(cl_mem buffer)
{
    if (!buffer->addresses)
        return;
    mutex_lock(&lock);
    for (cl_mem *at = &first; *at; at = &(*at)->next_addressed) {
        if (*at == buffer) {
            *at = buffer->next_addressed;
            break;
        }
    }
    mutex_unlock(&lock);
    free(buffer->addresses);
}

static bool is_in(const struct _cl_mem *buffer, cl_mem_device_address_ext address)
{
    for (cl_uint i = 0; i < buffer->context->device_count; i++) {
        if (buffer->addresses[i] && address - buffer->addresses[i] < buffer->size)
            return true;
    }
    return false;
}

bool addressed_has(cl_context context, cl_mem_device_address_ext address)
{
    bool known = false;

    mutex_lock(&lock);
    for (cl_mem buffer = first; buffer && !known; buffer = buffer->next_addressed)
        known = buffer->context == context && is_in(buffer, address);
    mutex_unlock(&lock);
    return known;
}

/* Returns the next buffer, in use, and ends the use of the one before: it is held while its contents are migrated,
 * without the lock. */
static cl_mem next_of(cl_context context, cl_mem before)
{
    cl_mem buffer;

    mutex_lock(&lock);
    buffer = before ? before->next_addressed : first;
    while (buffer && (buffer->context != context || !handle_try_use(&buffer->object)))
        buffer = buffer->next_addressed;
    mutex_unlock(&lock);
    if (before)
        handle_drop(before);
    return buffer;
}

int addressed_before(struct enqueue *e)
{
    int error = 0;

    for (cl_mem buffer = next_of(e->queue->context, NULL); buffer; buffer = next_of(e->queue->context, buffer)) {
        if (!error)
            error = coherence_before(e, buffer, 0, buffer->size, USE_READ | USE_WRITE);
    }
    return error;
}

void addressed_after(struct enqueue *e)
{
    for (cl_mem buffer = next_of(e->queue->context, NULL); buffer; buffer = next_of(e->queue->context, buffer))
        coherence_after(e, buffer, 0, buffer->size);
}
