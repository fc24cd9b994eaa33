/* Unified shared memory (cl_intel_unified_shared_memory): capabilities, allocations, queries. The capabilities leave
 * out memory that is out of the program's reach (client/memory/usm.c). */
#include "libvocl/internal.h"

#define MOST_PROPERTIES 64

/* ---- capabilities ---- */

/* Whether host and shared memory of a device can be used at all. */
static bool is_within_reach(cl_device_id device)
{
    return device->node->in_process || (device->any_pointer && arena_given_to(device->node));
}

static cl_int capabilities(cl_device_id device, cl_device_info param,
                           cl_device_unified_shared_memory_capabilities_intel *can)
{
    cl_int error = cl_error(
        info_ask_once(device->node, WIRE_INFO_DEVICE, &device->object, 0, param, NULL, 0, sizeof(*can), can, NULL));

    if (!error && param == CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL && !device->node->in_process)
        *can = 0;
    else if (!error && param != CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL && !is_within_reach(device))
        *can = 0;
    return error;
}

cl_int usm_capabilities(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret)
{
    cl_device_unified_shared_memory_capabilities_intel can = 0;
    cl_int error = capabilities(device, param, &can);

    return error ? error : info_return(&can, sizeof(can), size, value, size_ret);
}

static bool can(cl_device_id device, cl_device_info param)
{
    cl_device_unified_shared_memory_capabilities_intel found = 0;

    return !capabilities(device, param, &found) && found;
}

static bool can_share(cl_device_id device)
{
    return can(device, CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL) ||
           can(device, CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL);
}

static bool any_can(cl_context context, bool (*one_can)(cl_device_id))
{
    bool any = false;

    for (cl_uint i = 0; i < context->device_count; i++)
        any |= one_can(context->devices[i]);
    return any;
}

static bool can_host(cl_device_id device)
{
    return can(device, CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL);
}

static bool can_device(cl_device_id device)
{
    return can(device, CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL);
}

bool usm_offered(cl_context context)
{
    bool offered = false;

    for (cl_uint i = 0; i < context->device_count; i++)
        offered |= context->devices[i]->has_usm;
    return offered;
}

/* ---- allocation ---- */

static cl_int check_properties(struct usm_wish *wish, const cl_mem_properties_intel *properties)
{
    const cl_mem_alloc_flags_intel placement =
        CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL | CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;
    uint32_t length = 0;

    for (; properties && properties[length]; length += 2) {
        if (length == MOST_PROPERTIES || properties[length] != CL_MEM_ALLOC_FLAGS_INTEL)
            return CL_INVALID_PROPERTY;
        wish->usm.flags = properties[length + 1];
    }
    wish->properties = properties;
    wish->properties_length = length * (uint32_t)sizeof(*properties);
    if (wish->usm.flags & ~(placement | CL_MEM_ALLOC_WRITE_COMBINED_INTEL) ||
        (wish->usm.flags & placement) == placement ||
        (wish->usm.flags & placement && wish->usm.type != CL_MEM_TYPE_SHARED_INTEL))
        return CL_INVALID_PROPERTY;
    return CL_SUCCESS;
}

static cl_int check(struct usm_wish *wish, const cl_mem_properties_intel *properties)
{
    const cl_context context = wish->usm.context;
    const cl_device_id device = wish->usm.device;
    cl_int error;

    if (device && !context_has_device(context, device))
        return CL_INVALID_DEVICE;
    switch (wish->usm.type) {
    case CL_MEM_TYPE_HOST_INTEL:
        if (!any_can(context, can_host))
            return CL_INVALID_OPERATION;
        break;
    case CL_MEM_TYPE_DEVICE_INTEL:
        if (!device)
            return CL_INVALID_DEVICE;
        if (!can_device(device))
            return CL_INVALID_OPERATION;
        break;
    default:
        if (device ? !can_share(device) : !any_can(context, can_share))
            return CL_INVALID_OPERATION;
    }
    error = check_properties(wish, properties);
    if (error)
        return error;
    if (!wish->usm.size)
        return CL_INVALID_BUFFER_SIZE;
    for (cl_uint i = 0; i < context->device_count; i++) {
        if (wish->usm.size > context->devices[i]->alloc_size)
            return CL_INVALID_BUFFER_SIZE;
    }
    return wish->alignment & (wish->alignment - 1) ? CL_INVALID_VALUE : CL_SUCCESS;
}

static void *usm_alloc(cl_context context, cl_device_id device, cl_unified_shared_memory_type_intel type,
                       const cl_mem_properties_intel *properties, size_t size, cl_uint alignment, cl_int *ret)
{
    struct usm_wish wish = {.usm = {.size = size, .type = type, .context = context, .device = device},
                            .alignment = alignment};
    cl_int error;

    HALT_GUARD;
    error = handle_check(context, WIRE_CONTEXT) ? check(&wish, properties) : CL_INVALID_CONTEXT;
    if (!error)
        error = cl_error(usm_allocate(&wish));
    fail_ret(ret, error);
    return error ? NULL : wish.usm.base;
}

void *usm_alloc_host(cl_context context, const cl_mem_properties_intel *properties, size_t size, cl_uint alignment,
                     cl_int *ret)
{
    TIMELINE(clHostMemAllocINTEL);

    return usm_alloc(context, NULL, CL_MEM_TYPE_HOST_INTEL, properties, size, alignment, ret);
}

void *usm_alloc_device(cl_context context, cl_device_id device, const cl_mem_properties_intel *properties, size_t size,
                       cl_uint alignment, cl_int *ret)
{
    TIMELINE(clDeviceMemAllocINTEL);

    return usm_alloc(context, device, CL_MEM_TYPE_DEVICE_INTEL, properties, size, alignment, ret);
}

void *usm_alloc_shared(cl_context context, cl_device_id device, const cl_mem_properties_intel *properties, size_t size,
                       cl_uint alignment, cl_int *ret)
{
    TIMELINE(clSharedMemAllocINTEL);

    return usm_alloc(context, device, CL_MEM_TYPE_SHARED_INTEL, properties, size, alignment, ret);
}

cl_int usm_free(cl_context context, void *memory)
{
    TIMELINE(clMemFreeINTEL);

    HALT_GUARD;
    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    return !memory || usm_release(context, memory) ? CL_SUCCESS : CL_INVALID_VALUE;
}

/* The queues of a context, each retained. */
struct queues {
    cl_context context;
    cl_command_queue *list;
    size_t count;
};

static void collect(struct object *object, void *argument)
{
    struct queues *queues = argument;
    cl_command_queue queue = (cl_command_queue)object, *more;

    if (queue->context != queues->context || atomic_load(&object->references) <= 0)
        return;
    more = realloc(queues->list, (queues->count + 1) * sizeof(*more));
    if (!more)
        return;
    handle_use(queue);
    queues->list = more;
    queues->list[queues->count++] = queue;
}

/* Waits for all queues of the context: a command in any of them may use the memory. */
cl_int usm_free_blocking(cl_context context, void *memory)
{
    TIMELINE(clMemBlockingFreeINTEL);

    struct queues queues = {.context = context};
    struct usm found;

    if (handle_check(context, WIRE_CONTEXT) && usm_find(memory, &found))
        handle_each(WIRE_QUEUE, collect, &queues);
    for (size_t i = 0; i < queues.count; i++) {
        queue_wait_idle(queues.list[i]);
        handle_drop(queues.list[i]);
    }
    free(queues.list);
    return usm_free(context, memory);
}

/* ---- queries ---- */

cl_int usm_info(cl_context context, const void *pointer, cl_mem_info_intel param, size_t size, void *value,
                size_t *size_ret)
{
    TIMELINE(clGetMemAllocInfoINTEL);

    struct usm u;

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!usm_find(pointer, &u) || u.context != context)
        u = (struct usm){.type = CL_MEM_TYPE_UNKNOWN_INTEL};
    switch (param) {
    case CL_MEM_ALLOC_TYPE_INTEL:
        return info_return(&u.type, sizeof(u.type), size, value, size_ret);
    case CL_MEM_ALLOC_BASE_PTR_INTEL:
        return info_return(&u.base, sizeof(u.base), size, value, size_ret);
    case CL_MEM_ALLOC_SIZE_INTEL:
        return info_return(&u.size, sizeof(u.size), size, value, size_ret);
    case CL_MEM_ALLOC_DEVICE_INTEL:
        return info_return(&u.device, sizeof(u.device), size, value, size_ret);
    case CL_MEM_ALLOC_FLAGS_INTEL:
        return info_return(&u.flags, sizeof(u.flags), size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}
