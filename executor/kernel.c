/* Kernels and launches. */
#include "executor/internal.h"

/* A value must never be taken for a native handle: what each argument is, where the native OpenCL tells. */
static void find_kinds(const struct executor *x, struct object *kernel)
{
    clGetKernelInfo(kernel->kernel, CL_KERNEL_NUM_ARGS, sizeof(kernel->kind_count), &kernel->kind_count, NULL);
    kernel->kinds = calloc(kernel->kind_count + 1, 1);
    if (x->moves)
        kernel->memories = calloc(kernel->kind_count + 1, sizeof(*kernel->memories));
    for (cl_uint i = 0; kernel->kinds && i < kernel->kind_count; i++) {
        cl_kernel_arg_address_qualifier address;
        char type[256] = "";

        if (clGetKernelArgInfo(kernel->kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(address), &address, NULL))
            continue;
        clGetKernelArgInfo(kernel->kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof(type), type, NULL);
        if (address == CL_KERNEL_ARG_ADDRESS_LOCAL)
            kernel->kinds[i] = WIRE_ARGUMENT_LOCAL;
        else if (address != CL_KERNEL_ARG_ADDRESS_PRIVATE || !strncmp(type, "image", 5) || !strncmp(type, "pipe", 4))
            kernel->kinds[i] = WIRE_ARGUMENT_MEMORY;
        else
            kernel->kinds[i] = strcmp(type, "sampler_t") ? WIRE_ARGUMENT_VALUE : WIRE_ARGUMENT_SAMPLER;
    }
}

int exec_create_kernel(struct executor *x, const struct wire_create_kernel *m)
{
    struct object *program = object_get(x, WIRE_PROGRAM, m->program);
    struct object *kernel = program ? object_new(x, WIRE_KERNEL, m->kernel) : NULL;
    char name[4097];

    if (!kernel)
        return -EBADMSG;
    memcpy(name, m->name, m->name_length);
    name[m->name_length] = '\0';
    kernel->error = program->error;
    if (!kernel->error)
        kernel->kernel = clCreateKernel(program->program, name, &kernel->error);
    if (is_usable(kernel))
        find_kinds(x, kernel);
    return 0;
}

int exec_clone_kernel(struct executor *x, const struct wire_clone_kernel *m)
{
    struct object *source = object_get(x, WIRE_KERNEL, m->source);
    struct object *kernel = source ? object_new(x, WIRE_KERNEL, m->kernel) : NULL;

    if (!kernel)
        return -EBADMSG;
    kernel->error = source->error;
    if (!kernel->error)
        kernel->kernel = clCloneKernel(source->kernel, &kernel->error);
    if (is_usable(kernel))
        find_kinds(x, kernel);
    if (kernel->memories && source->memories)
        memcpy(kernel->memories, source->memories, kernel->kind_count * sizeof(*kernel->memories));
    return 0;
}

/* Where the arguments are from now on. */
static void use_memories(const struct command *c, const struct object *kernel)
{
    for (cl_uint i = 0; kernel->memories && i < kernel->kind_count; i++) {
        struct object *memory = kernel->memories[i] ? object_get(c->x, WIRE_MEMORY, kernel->memories[i]) : NULL;

        if (memory)
            memory_used_at(memory, c->queue);
    }
}

static int set_memory(struct command *c, const struct object *object, uint32_t index, const void *bytes,
                      uint32_t length)
{
    cl_kernel kernel = object->kernel;
    cl_mem memory = NULL;
    uint32_t id;
    int bad;

    if (length != sizeof(id))
        return -EBADMSG;
    memcpy(&id, bytes, sizeof(id));
    if (id) {
        /* a released object is the program's mistake, not the protocol's */
        if (!object_get(c->x, WIRE_MEMORY, id)) {
            c->error = CL_INVALID_KERNEL_ARGS;
            return 0;
        }
        bad = buffer_of(c, id, &memory);
        if (bad || c->error)
            return bad;
    }
    c->error = clSetKernelArg(kernel, index, sizeof(memory), &memory);
    if (object->memories && !c->error)
        object->memories[index] = id;
    return 0;
}

/* A pointer may be given as a memory object or as an address. */
static bool is_kind(uint8_t kind, uint32_t what)
{
    return !kind || kind == what ||
           (kind == WIRE_ARGUMENT_MEMORY && (what == WIRE_ARGUMENT_SVM || what == WIRE_ARGUMENT_ADDRESS));
}

static int set_argument(struct command *c, const struct object *object, uint32_t index, uint32_t what,
                        const void *bytes, uint32_t length)
{
    cl_kernel kernel = object->kernel;
    struct object *sampler;
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
        c->error = sampler && is_usable(sampler) ? clSetKernelArg(kernel, index, sizeof(cl_sampler), &sampler->sampler)
                                                 : CL_INVALID_KERNEL_ARGS;
        return 0;
    }
    return -EBADMSG;
}

static int set_arguments(struct command *c, const struct object *kernel, const void *bytes, uint32_t length)
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
            c->error = before; /* the first failure is the one to tell */
    }
    return bad;
}

int exec_set_arguments(struct executor *x, const struct wire_set_arguments *m)
{
    struct object *kernel = object_get(x, WIRE_KERNEL, m->kernel);
    struct command c = {.x = x};

    if (!kernel)
        return -EBADMSG;
    /* one that fails stays unset, which a launch will tell */
    return is_usable(kernel) ? set_arguments(&c, kernel, m->arguments, m->arguments_length) : 0;
}

/* PoCL 3.1 takes a group of size 0 for none, or divides by it, as chance has it. */
const size_t *local_of(const struct wire_enqueue_ndrange *m)
{
    for (uint32_t i = 0; i < m->local_count; i++) {
        if (!m->local[i])
            return NULL;
    }
    return m->local_count ? m->local : NULL;
}

int exec_enqueue_ndrange(struct executor *x, const struct wire_enqueue_ndrange *m)
{
    struct object *kernel = object_get(x, WIRE_KERNEL, m->kernel);
    struct command c;
    int bad;

    if (!kernel || !m->global_count || (m->offset_count && m->offset_count != m->global_count) ||
        (m->local_count && m->local_count != m->global_count))
        return -EBADMSG;
    bad = command_begin(&c, x, m->queue, m->event, m->want, m->wait, m->wait_count);
    if (bad)
        return bad;
    if (!is_usable(kernel) && !c.error)
        c.error = CL_INVALID_KERNEL;
    else
        bad = is_usable(kernel) ? set_arguments(&c, kernel, m->arguments, m->arguments_length) : 0;
    if (bad)
        return bad;
    if (!c.error && c.recording)
        return command_end(&c, record_ndrange(c.recording, kernel->kernel, m));
    if (!c.error && x->host.turn)
        c.ask = &c.event;
    if (!c.error)
        c.error =
            clEnqueueNDRangeKernel(c.queue->queue, kernel->kernel, m->global_count, m->offset_count ? m->offset : NULL,
                                   m->global, local_of(m), c.wait_count, command_waits(&c), c.ask);
    if (!c.error && x->host.turn)
        turn_launched(x, c.queue, c.event);
    if (!c.error)
        use_memories(&c, kernel);
    return command_end(&c, c.error);
}
