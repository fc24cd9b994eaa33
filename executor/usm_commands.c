/* Unified shared memory: hints, and the information that kernels get about it. */
#include "executor/internal.h"

/* Passes on the pointers that native OpenCL knows. PoCL 7.0 takes the list's size in bytes for its length, so there
 * is room behind it. */
static void set_pointers(struct executor *x, cl_kernel kernel, const struct exec_set_exec_info *m)
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
    if (count || !m->value_length)
        clSetKernelExecInfo(kernel, m->param, count * sizeof(*known), known);
    free(known);
}

int exec_set_exec_info(struct executor *x, const struct exec_set_exec_info *m)
{
    const struct kernel *kernel = m->kernel;
    cl_bool flag;

    switch (m->param) {
    case CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL:
        if (m->value_length != sizeof(flag))
            return -EBADMSG;
        memcpy(&flag, m->value, sizeof(flag));
        if (is_usable(kernel))
            clSetKernelExecInfo(kernel->native, m->param, sizeof(flag), &flag);
        return 0;
    case CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL:
    case CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT:
        if (m->value_length % sizeof(uint64_t))
            return -EBADMSG;
        if (is_usable(kernel))
            set_pointers(x, kernel->native, m);
        return 0;
    }
    return -EBADMSG;
}

static cl_int hint(const struct usm *usm, const struct command *c, const struct exec_hint_usm *m)
{
    const void *memory = (void *)(uintptr_t)m->address;
    const cl_event *wait = command_waits(c);

    if (m->what == WIRE_HINT_MIGRATE && usm->clEnqueueMigrateMemINTEL)
        return usm->clEnqueueMigrateMemINTEL(c->queue->native, memory, m->size, m->value, c->wait_count, wait, c->ask);
    if (m->what == WIRE_HINT_ADVISE && usm->clEnqueueMemAdviseINTEL)
        return usm->clEnqueueMemAdviseINTEL(c->queue->native, memory, m->size, (cl_mem_advice_intel)m->value,
                                            c->wait_count, wait, c->ask);
    return clEnqueueMarkerWithWaitList(c->queue->native, c->wait_count, wait, c->ask);
}

int exec_hint_usm(struct command *c, const struct exec_hint_usm *m)
{
    const struct usm *usm = usm_at(c->x, m->address);

    if (!usm || !svm_has(c->x, m->address, m->size))
        return -EBADMSG;
    if (!c->error)
        c->error = hint(usm, c, m);
    return 0;
}
