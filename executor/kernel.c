/* Kernels and their arguments. */
#include "executor/internal.h"

/* Finds out the kind of each argument, where native OpenCL tells, so that a value is never taken for a native
 * handle. */
static void find_kinds(struct kernel *kernel)
{
    clGetKernelInfo(kernel->native, CL_KERNEL_NUM_ARGS, sizeof(kernel->kind_count), &kernel->kind_count, NULL);
    kernel->kinds = calloc(kernel->kind_count + 1, 1);
    kernel->memories = calloc(kernel->kind_count + 1, sizeof(*kernel->memories));
    if (!kernel->kinds || !kernel->memories)
        kernel->error = CL_OUT_OF_HOST_MEMORY;
    for (cl_uint i = 0; kernel->kinds && i < kernel->kind_count; i++) {
        cl_kernel_arg_address_qualifier address;
        char type[256] = "";

        if (clGetKernelArgInfo(kernel->native, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(address), &address, NULL))
            continue;
        clGetKernelArgInfo(kernel->native, i, CL_KERNEL_ARG_TYPE_NAME, sizeof(type), type, NULL);
        if (address == CL_KERNEL_ARG_ADDRESS_LOCAL)
            kernel->kinds[i] = WIRE_ARGUMENT_LOCAL;
        else if (address != CL_KERNEL_ARG_ADDRESS_PRIVATE || !strncmp(type, "image", 5) || !strncmp(type, "pipe", 4))
            kernel->kinds[i] = WIRE_ARGUMENT_MEMORY;
        else
            kernel->kinds[i] = strcmp(type, "sampler_t") ? WIRE_ARGUMENT_VALUE : WIRE_ARGUMENT_SAMPLER;
    }
}

int exec_create_kernel(struct executor *x, const struct exec_create_kernel *m)
{
    struct kernel *kernel = m->kernel;
    char name[4097];

    (void)x;
    memcpy(name, m->name, m->name_length);
    name[m->name_length] = '\0';
    kernel->error = m->program->error;
    if (!kernel->error)
        kernel->native = clCreateKernel(m->program->native, name, &kernel->error);
    if (is_usable(kernel))
        find_kinds(kernel);
    return 0;
}

int exec_clone_kernel(struct executor *x, const struct exec_clone_kernel *m)
{
    const struct kernel *source = m->source;
    struct kernel *kernel = m->kernel;

    (void)x;
    kernel->error = source->error;
    if (!kernel->error)
        kernel->native = clCloneKernel(source->native, &kernel->error);
    if (is_usable(kernel))
        find_kinds(kernel);
    if (kernel->memories && source->memories)
        memcpy(kernel->memories, source->memories, kernel->kind_count * sizeof(*kernel->memories));
    return 0;
}

static int set_memory(struct command *c, const struct kernel *object, uint32_t index, const void *bytes,
                      uint32_t length)
{
    cl_kernel kernel = object->native;
    cl_mem native = NULL;
    uint32_t id;

    if (length != sizeof(id))
        return -EBADMSG;
    memcpy(&id, bytes, sizeof(id));
    if (id) {
        struct memory *memory = object_get(c->x, WIRE_MEMORY, id);

        /* a released object is the program's mistake, not a breach of the protocol */
        if (memory)
            command_uses(c, memory);
        else
            c->error = CL_INVALID_KERNEL_ARGS;
        if (c->error)
            return 0;
        native = memory->native;
    }
    c->error = clSetKernelArg(kernel, index, sizeof(native), &native);
    if (object->memories && !c->error)
        object->memories[index] = id;
    return 0;
}

/* Whether a value of kind what may be given: a pointer takes a memory object or an address. */
static bool is_kind(uint8_t kind, uint32_t what)
{
    return !kind || kind == what ||
           (kind == WIRE_ARGUMENT_MEMORY && (what == WIRE_ARGUMENT_SVM || what == WIRE_ARGUMENT_ADDRESS));
}

static int set_argument(struct command *c, const struct kernel *object, uint32_t index, uint32_t what,
                        const void *bytes, uint32_t length)
{
    cl_kernel kernel = object->native;
    const struct sampler *sampler;
    uint64_t local;
    uint32_t id;

    if (!object->kinds || index >= object->kind_count || !is_kind(object->kinds[index], what))
        return -EBADMSG;
    switch (what) {
    case WIRE_ARGUMENT_VALUE:
        c->error = clSetKernelArg(kernel, index, length, bytes);
        return 0;
    case WIRE_ARGUMENT_LOCAL:
        if (length != sizeof(local))
            return -EBADMSG;
        memcpy(&local, bytes, sizeof(local));
        c->error = clSetKernelArg(kernel, index, local, NULL);
        return 0;
    case WIRE_ARGUMENT_SVM:
        if (length != sizeof(local))
            return -EBADMSG;
        memcpy(&local, bytes, sizeof(local));
        c->error = svm_set_argument(c->x, kernel, index, local);
        return 0;
    case WIRE_ARGUMENT_ADDRESS:
        if (length != sizeof(local))
            return -EBADMSG;
        memcpy(&local, bytes, sizeof(local));
        c->error = address_set_argument(c->x, object, index, local);
        return 0;
    case WIRE_ARGUMENT_MEMORY:
        return set_memory(c, object, index, bytes, length);
    case WIRE_ARGUMENT_SAMPLER:
        if (length != sizeof(id))
            return -EBADMSG;
        memcpy(&id, bytes, sizeof(id));
        sampler = object_get(c->x, WIRE_SAMPLER, id);
        c->error = sampler && is_usable(sampler) ? clSetKernelArg(kernel, index, sizeof(cl_sampler), &sampler->native)
                                                 : CL_INVALID_KERNEL_ARGS;
        return 0;
    }
    return -EBADMSG;
}

int kernel_set_arguments(struct command *c, const struct kernel *kernel, const void *bytes, uint32_t length)
{
    struct wire_cursor in = wire_cursor(bytes, length);
    int bad = 0;

    while (!bad && in.left) {
        uint32_t index = wire_get_u32(&in), what = wire_get_u32(&in), size;
        const void *value = wire_get_blob(&in, &size);
        cl_int before = c->error;

        if (in.failed)
            return -EBADMSG;
        bad = set_argument(c, kernel, index, what, value, size);
        if (before)
            c->error = before; /* the first failure is the one to report */
    }
    return bad;
}

int exec_set_arguments(struct executor *x, const struct exec_set_arguments *m)
{
    struct command c = {.x = x};

    /* an argument that fails stays unset, which a launch reports */
    return is_usable(m->kernel) ? kernel_set_arguments(&c, m->kernel, m->arguments, m->arguments_length) : 0;
}
