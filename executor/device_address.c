/* Buffers with an address on the device (cl_ext_buffer_device_address). */
#include "executor/internal.h"

static cl_int ask_addresses(struct memory *buffer, const struct context *context)
{
    cl_uint count = 0;
    cl_int error = clGetContextInfo(context->native, CL_CONTEXT_NUM_DEVICES, sizeof(count), &count, NULL);

    if (error)
        return error;
    buffer->addresses = calloc(count + 1, sizeof(*buffer->addresses));
    if (!buffer->addresses)
        return CL_OUT_OF_HOST_MEMORY;
    buffer->address_count = count;
    return clGetMemObjectInfo(buffer->native, CL_MEM_DEVICE_ADDRESS_EXT, count * sizeof(*buffer->addresses),
                              buffer->addresses, NULL);
}

/* Calls OpenCL 3.0's function only where the extension, which needs 3.0, exists. */
static cl_int create(struct executor *x, const struct exec_create_addressed_buffer *m)
{
    const struct context *context = m->context;
    struct memory *buffer = m->buffer;
    const cl_mem_properties properties[] = {CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT, CL_TRUE, 0};
    cl_int error;

    if (!context_function(context->native, "clSetKernelArgDevicePointerEXT"))
        return CL_INVALID_DEVICE;
    if (!quota_take(x, context->devices, m->size))
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    buffer->native = clCreateBufferWithProperties(context->native, properties, m->flags, m->size, NULL, &error);
    if (error) {
        quota_give_back(x, context->devices, m->size);
        return error;
    }
    quota_count(x, context->devices, buffer->native, m->size);
    buffer->size = m->size;
    error = scrub_buffer(context, buffer->native, m->size);
    return error ? error : ask_addresses(buffer, context);
}

int exec_create_addressed_buffer(struct executor *x, const struct exec_create_addressed_buffer *m)
{
    struct memory *buffer = m->buffer;
    struct wire_create_addressed_buffer_reply reply = {.call = m->call};

    if (m->flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) || !m->size)
        return -EBADMSG;
    buffer->context_id = m->context->id;
    buffer->error = is_usable(m->context) ? create(x, m) : CL_INVALID_CONTEXT;
    reply.error = buffer->error;
    if (!buffer->error) {
        reply.addresses = buffer->addresses;
        reply.addresses_length = buffer->address_count * (uint32_t)sizeof(*buffer->addresses);
    }
    reply_create_addressed_buffer(x, &reply);
    return 0;
}

static bool is_in(const struct memory *buffer, uint64_t address)
{
    for (uint32_t i = 0; i < buffer->address_count; i++) {
        if (buffer->addresses[i] && address - buffer->addresses[i] < buffer->size)
            return true;
    }
    return false;
}

bool addressed_has(const struct executor *x, uint64_t address)
{
    const struct table *memories = &x->tables[WIRE_MEMORY];

    for (uint32_t i = 0; i < memories->count; i++) {
        const struct memory *buffer = (const struct memory *)memories->slots[i];

        if (buffer && is_usable(buffer) && is_in(buffer, address))
            return true;
    }
    return false;
}

cl_int address_set_argument(const struct executor *x, const struct kernel *kernel, cl_uint index, uint64_t address)
{
    clSetKernelArgDevicePointerEXT_fn set;
    cl_context context = NULL;

    if (address && !addressed_has(x, address)) /* a released object is the program's mistake, not a breach of the
                                                * protocol */
        return CL_INVALID_KERNEL_ARGS;
    clGetKernelInfo(kernel->native, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL);
    set = (clSetKernelArgDevicePointerEXT_fn)context_function(context, "clSetKernelArgDevicePointerEXT");
    return set ? set(kernel->native, index, address) : CL_INVALID_OPERATION;
}
