/*
 * Buffers that have an address on their device (cl_ext_buffer_device_address). The address is the node's; nothing of
 * the program's is there. What kernels reach by such addresses VOCL cannot see: in a context of several nodes a kernel
 * that was given one is taken to use all the context's buffers that have one.
 */
#include <errno.h>
#include <string.h>

#include "libvocl/internal.h"
#include "wire/tables.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_mem first; /* of all such buffers, by next_addressed */

void device_address_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    first = NULL;
}

/* ---- buffers ---- */

static bool has_device(const struct node *node, cl_context context, cl_uint i)
{
    return context->devices[i]->node == node;
}

int addressed_buffer_create_on(cl_mem buffer, struct node *node)
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

cl_int device_address_create(cl_mem buffer)
{
    cl_context context = buffer->context;
    cl_int error = CL_SUCCESS, one;

    buffer->addresses = calloc(context->device_count, sizeof(*buffer->addresses));
    if (!buffer->addresses)
        return CL_OUT_OF_HOST_MEMORY;
    for (unsigned i = 0; i < context->node_count; i++) { /* all of them: it will be released on all */
        one = cl_error(addressed_buffer_create_on(buffer, context->nodes[i]));
        error = error ? error : one;
    }
    pthread_mutex_lock(&lock);
    buffer->next_addressed = first;
    first = buffer;
    pthread_mutex_unlock(&lock);
    return error;
}

void device_address_destroy(cl_mem buffer)
{
    if (!buffer->addresses)
        return;
    pthread_mutex_lock(&lock);
    for (cl_mem *at = &first; *at; at = &(*at)->next_addressed) {
        if (*at == buffer) {
            *at = buffer->next_addressed;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    free(buffer->addresses);
}

cl_int device_address_info(cl_mem memory, size_t size, void *value, size_t *size_ret)
{
    const cl_mem root = memory_root(memory);
    cl_mem_device_address_ext addresses[WIRE_MAX_DEVICES];
    const cl_uint count = memory->context->device_count;

    if (!root->addresses || memory->type != CL_MEM_OBJECT_BUFFER)
        return CL_INVALID_OPERATION;
    for (cl_uint i = 0; i < count && i < WIRE_MAX_DEVICES; i++)
        addresses[i] = root->addresses[i] + memory->origin;
    return info_return(addresses, count * sizeof(*addresses), size, value, size_ret);
}

/* ---- kernels ---- */

static bool is_in(const struct _cl_mem *buffer, cl_mem_device_address_ext address)
{
    for (cl_uint i = 0; i < buffer->context->device_count; i++) {
        if (buffer->addresses[i] && address - buffer->addresses[i] < buffer->size)
            return true;
    }
    return false;
}

static bool is_known(cl_context context, cl_mem_device_address_ext address)
{
    bool known = false;

    pthread_mutex_lock(&lock);
    for (cl_mem buffer = first; buffer && !known; buffer = buffer->next_addressed)
        known = buffer->context == context && is_in(buffer, address);
    pthread_mutex_unlock(&lock);
    return known;
}

bool device_address_offered(cl_context context)
{
    bool offered = false;

    for (cl_uint i = 0; i < context->device_count; i++)
        offered |= context->devices[i]->has_addresses;
    return offered;
}

cl_int device_address_set_argument(cl_kernel kernel, cl_uint index, cl_mem_device_address_ext address)
{
    cl_int error;

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    if (!device_address_offered(kernel->program->context))
        return CL_INVALID_OPERATION;
    error = kernel_set_pointer(kernel, index, WIRE_ARGUMENT_ADDRESS, address,
                               !address || is_known(kernel->program->context, address));
    if (!error)
        kernel->uses_addresses = true;
    return error;
}

cl_int device_address_exec_info(cl_kernel kernel, size_t size, const void *value)
{
    cl_mem_device_address_ext address;
    cl_int error;

    if (!device_address_offered(kernel->program->context))
        return CL_INVALID_OPERATION;
    if (!value || !size || size % sizeof(address))
        return CL_INVALID_VALUE;
    for (size_t at = 0; at < size; at += sizeof(address)) {
        memcpy(&address, (const uint8_t *)value + at, sizeof(address));
        if (!is_known(kernel->program->context, address))
            return CL_INVALID_VALUE;
    }
    if (size > 65536)
        return CL_OUT_OF_RESOURCES;
    error = exec_info_send(kernel, CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT, size, value);
    if (!error)
        kernel->uses_addresses = true;
    return error;
}

/* Each is held while its contents are asked for, without the lock. */
static cl_mem next_of(cl_context context, cl_mem before)
{
    cl_mem buffer;

    pthread_mutex_lock(&lock);
    buffer = before ? before->next_addressed : first;
    while (buffer && buffer->context != context)
        buffer = buffer->next_addressed;
    if (buffer)
        handle_use(buffer);
    pthread_mutex_unlock(&lock);
    if (before)
        handle_drop(before);
    return buffer;
}

cl_int device_address_coherence(struct enqueue *e, cl_kernel kernel, bool after)
{
    cl_int error = CL_SUCCESS;

    if (!kernel->uses_addresses)
        return CL_SUCCESS;
    for (cl_mem buffer = next_of(e->queue->context, NULL); buffer; buffer = next_of(e->queue->context, buffer)) {
        if (after)
            coherence_after(e, buffer, 0, buffer->size);
        else if (!error)
            error = cl_error(coherence_before(e, buffer, 0, buffer->size, USE_READ | USE_WRITE));
    }
    return error;
}
