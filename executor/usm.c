/* Unified shared memory (cl_intel_unified_shared_memory): allocations, and the native functions for them. Data are
 * moved by address.c. */
#include <unistd.h>

#include "executor/internal.h"

#define MOST_BYTES (UINT64_C(1) << 40)
#define MOST_PROPERTIES 128

static const struct usm *usm_of(struct executor *x, cl_device_id device)
{
    cl_platform_id platform = NULL;
    struct usm *usm = x->usm;
    bool all = true;

    if (clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL))
        return NULL;
    while (usm && usm->platform != platform)
        usm = usm->next;
    if (usm)
        return usm;
    usm = calloc(1, sizeof(*usm));
    if (!usm)
        return NULL;
    *usm = (struct usm){.next = x->usm, .platform = platform};
#define FIND(name) usm->name = (name##_fn)clGetExtensionFunctionAddressForPlatform(platform, #name)
#define NEED(name) all &= (FIND(name)) != NULL;
    USM_FUNCTIONS(NEED)
    FIND(clEnqueueMigrateMemINTEL);
    FIND(clEnqueueMemAdviseINTEL);
#undef NEED
#undef FIND
    if (!all) {
        free(usm);
        return NULL;
    }
    x->usm = usm;
    return usm;
}

/* ---- allocations ---- */

static void *alloc_native(const struct usm *usm, const struct exec_usm_alloc *m, cl_int *error)
{
    const cl_context context = m->context->native;
    const cl_device_id device = m->device ? m->device->native : NULL;
    cl_mem_properties_intel properties[MOST_PROPERTIES + 1] = {0};

    memcpy(properties, m->properties_length ? m->properties : properties, m->properties_length);
    switch (m->type) {
    case WIRE_USM_HOST:
        return usm->clHostMemAllocINTEL(context, properties, m->size, m->alignment, error);
    case WIRE_USM_DEVICE:
        return usm->clDeviceMemAllocINTEL(context, device, properties, m->size, m->alignment, error);
    }
    return usm->clSharedMemAllocINTEL(context, device, properties, m->size, m->alignment, error);
}

static cl_int allocate(struct executor *x, const struct exec_usm_alloc *m, uint64_t *address)
{
    const struct context *context = m->context;
    const struct usm *usm = usm_of(x, m->device ? m->device->native : context->on);
    struct allocation *a;
    cl_int error = CL_SUCCESS;

    if (!usm)
        return CL_INVALID_OPERATION;
    a = allocation_new(x, m->type == WIRE_USM_DEVICE ? QUOTA_DEVICE(m->device) : context->devices, m->size);
    if (!a)
        return CL_OUT_OF_RESOURCES;
    a->context = context->native;
    a->usm = usm;
    a->memory = alloc_native(usm, m, &error);
    if (!error && !a->memory)
        error = CL_OUT_OF_RESOURCES;
    if (!error && scrub_allocation(context, usm, a->memory, m->size)) {
        usm->clMemFreeINTEL(context->native, a->memory);
        error = CL_OUT_OF_RESOURCES;
    }
    if (error) {
        allocation_drop(a);
        return error;
    }
    allocation_add(x, a);
    *address = (uintptr_t)a->memory;
    return CL_SUCCESS;
}

int exec_usm_alloc(struct executor *x, const struct exec_usm_alloc *m)
{
    struct wire_usm_alloc_reply reply = {.call = m->call, .error = CL_OUT_OF_RESOURCES};

    if ((!m->device && m->type == WIRE_USM_DEVICE) || !m->size || m->size > MOST_BYTES)
        return -EBADMSG;
    if (m->alignment & (m->alignment - 1) || m->properties_length % (2 * sizeof(cl_mem_properties_intel)))
        return -EBADMSG;
    if (is_usable(m->context))
        reply.error = allocate(x, m, &reply.address);
    reply_usm_alloc(x, &reply);
    return 0;
}

void usm_free(const struct allocation *a)
{
    a->usm->clMemFreeINTEL(a->context, a->memory);
}
