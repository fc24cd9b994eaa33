/* Unified shared memory (cl_intel_unified_shared_memory): allocations, and which native functions they take. What moves
 * data to and from them is svm.c's. */
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

static void *alloc_native(const struct usm *usm, const struct object *context, const struct object *device,
                          const struct wire_usm_alloc *m, cl_int *error)
{
    cl_mem_properties_intel properties[MOST_PROPERTIES + 1] = {0};

    memcpy(properties, m->properties_length ? m->properties : properties, m->properties_length);
    switch (m->type) {
    case WIRE_USM_HOST:
        return usm->clHostMemAllocINTEL(context->context, properties, m->size, m->alignment, error);
    case WIRE_USM_DEVICE:
        return usm->clDeviceMemAllocINTEL(context->context, device->device, properties, m->size, m->alignment, error);
    }
    return usm->clSharedMemAllocINTEL(context->context, device ? device->device : NULL, properties, m->size,
                                      m->alignment, error);
}

static cl_int allocate(struct executor *x, const struct object *context, const struct object *device,
                       const struct wire_usm_alloc *m, uint64_t *address)
{
    const struct usm *usm = m->wanted ? NULL : usm_of(x, device ? device->device : context->on);
    struct allocation *a;
    cl_int error = CL_SUCCESS;

    if (!m->wanted && !usm)
        return CL_INVALID_OPERATION;
    a = calloc(1, sizeof(*a));
    if (!a)
        return CL_OUT_OF_HOST_MEMORY;
    if (!quota_take(x, m->size)) {
        free(a);
        return CL_OUT_OF_RESOURCES;
    }
    *a = (struct allocation){.context = context->context, .size = m->size, .usm = usm, .placed = m->wanted != 0};
    a->memory = m->wanted ? (uint8_t *)(uintptr_t)m->wanted : alloc_native(usm, context, device, m, &error);
    if (!error && !a->memory)
        error = CL_OUT_OF_RESOURCES;
    if (!error && !m->wanted && scrub_allocation(context, usm, a->memory, m->size)) {
        usm->clMemFreeINTEL(context->context, a->memory);
        error = CL_OUT_OF_RESOURCES;
    }
    if (error) {
        quota_give_back(x, m->size);
        free(a);
        return error;
    }
    clRetainContext(a->context);
    a->next = x->allocations;
    x->allocations = a;
    *address = (uintptr_t)a->memory;
    return CL_SUCCESS;
}

int exec_usm_alloc(struct executor *x, const struct wire_usm_alloc *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct object *device = m->device ? object_get(x, WIRE_DEVICE, m->device) : NULL;
    struct wire_usm_alloc_reply reply = {.call = m->call, .error = CL_OUT_OF_RESOURCES};
    struct wire_buffer out = {0};

    if (!context || (m->device ? !device : m->type == WIRE_USM_DEVICE) || !m->size || m->size > MOST_BYTES)
        return -EBADMSG;
    if (m->alignment & (m->alignment - 1) || m->properties_length % (2 * sizeof(cl_mem_properties_intel)))
        return -EBADMSG;
    if (m->wanted && !svm_is_shared(x, m->wanted, m->size))
        return -EBADMSG;
    if (is_usable(context))
        reply.error = allocate(x, context, device, m, &reply.address);
    wire_put_usm_alloc_reply(&out, &reply);
    executor_send(x, &out);
    return 0;
}

void usm_free(const struct allocation *a)
{
    if (!a->placed)
        a->usm->clMemFreeINTEL(a->context, a->memory);
}

/* ---- kernels ---- */

/* Those that native OpenCL knows. PoCL 7.0 takes the bytes of the list for its length, so there is room behind it. */
static void set_pointers(struct executor *x, cl_kernel kernel, const struct wire_set_exec_info *m)
{
    uint64_t *known = calloc(m->value_length + 1, sizeof(*known));
    const uint8_t *bytes = m->value;
    size_t count = 0;

    for (uint32_t at = 0; known && at < m->value_length; at += sizeof(*known)) {
        memcpy(&known[count], bytes + at, sizeof(*known));
        if (m->param == CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT ? addressed_has(x, known[count])
                                                            : usm_at(x, known[count]) != NULL)
            count++;
    }
    if (count)
        clSetKernelExecInfo(kernel, m->param, count * sizeof(*known), known);
    free(known);
}

int exec_set_exec_info(struct executor *x, const struct wire_set_exec_info *m)
{
    struct object *kernel = object_get(x, WIRE_KERNEL, m->kernel);
    cl_bool flag;

    if (!kernel)
        return -EBADMSG;
    switch (m->param) {
    case CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL:
        if (m->value_length != sizeof(flag))
            return -EBADMSG;
        memcpy(&flag, m->value, sizeof(flag));
        if (is_usable(kernel))
            clSetKernelExecInfo(kernel->kernel, m->param, sizeof(flag), &flag);
        return 0;
    case CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL:
    case CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT:
        if (m->value_length % sizeof(uint64_t))
            return -EBADMSG;
        if (is_usable(kernel))
            set_pointers(x, kernel->kernel, m);
        return 0;
    }
    return -EBADMSG;
}

/* ---- hints ---- */

static cl_int hint(const struct usm *usm, const struct command *c, const struct wire_hint_usm *m)
{
    const void *memory = (void *)(uintptr_t)m->address;
    const cl_event *wait = command_waits(c);

    if (m->what == WIRE_HINT_MIGRATE && usm->clEnqueueMigrateMemINTEL)
        return usm->clEnqueueMigrateMemINTEL(c->queue->queue, memory, m->size, m->value, c->wait_count, wait, c->ask);
    if (m->what == WIRE_HINT_ADVISE && usm->clEnqueueMemAdviseINTEL)
        return usm->clEnqueueMemAdviseINTEL(c->queue->queue, memory, m->size, (cl_mem_advice_intel)m->value,
                                            c->wait_count, wait, c->ask);
    return clEnqueueMarkerWithWaitList(c->queue->queue, c->wait_count, wait, c->ask);
}

int exec_hint_usm(struct executor *x, const struct wire_hint_usm *m)
{
    const struct usm *usm = usm_at(x, m->address);
    struct command c;
    int bad;

    if (!usm || !svm_has(x, m->address, m->size))
        return -EBADMSG;
    bad = command_begin(&c, x, m->queue, m->event, m->want, m->wait, m->wait_count);
    return bad ? bad : command_end(&c, c.error ? c.error : hint(usm, &c, m));
}
