/* Kernels: arguments are stored here; those that changed since the last launch are sent with the next. */
#include <errno.h>

#include "base/settings.h"
#include "libvocl/internal.h"
#include "wire/tables.h"

static bool is_large(const struct argument *argument)
{
    return argument->what == WIRE_ARGUMENT_VALUE && argument->length > sizeof(argument->small);
}

static void argument_free(struct argument *argument)
{
    if (is_large(argument))
        free(argument->large);
    node_set_clear(&argument->known);
}

/* Has all arguments sent with the kernel's next launch on the node. */
static void kernel_renew(struct object *object, struct node *node)
{
    cl_kernel kernel = (cl_kernel)object;

    lock_hold(&kernel->lock);
    for (uint32_t i = 0; kernel->arguments && i < kernel->description->argument_count; i++)
        node_set_remove(&kernel->arguments[i].known, node->index);
    lock_release(&kernel->lock);
}

static int kernel_create_on(struct object *object, struct node *node)
{
    cl_kernel kernel = (cl_kernel)object;
    const struct wire_create_kernel m = {.kernel = object->id,
                                         .program = kernel->program->object.id,
                                         .name = kernel->description->name,
                                         .name_length = (uint32_t)strlen(kernel->description->name)};
    struct wire_clone_kernel clone = {.kernel = object->id};
    struct wire_buffer *out;
    int error;

    if (!handle_is_on(&kernel->program->object, node))
        return -ECONNRESET; /* unless another node has it */
    kernel_renew(object, node);
    out = stream_begin(node);
    if (!node_set_add(&kernel->known, node->index)) {
        session_unlock(node->session);
        return -ENOMEM;
    }
    if (kernel->made_from) {
        clone.source = kernel->made_from->object.id;
        wire_put_clone_kernel(out, &clone);
    } else {
        wire_put_create_kernel(out, &m);
    }
    error = stream_finish(node, STREAM_LATER);
    if (error)
        node_set_remove(&kernel->known, node->index);
    session_unlock(node->session);
    return error;
}

static cl_context kernel_context(const struct object *object)
{
    return ((const struct _cl_kernel *)object)->program->context;
}

static bool kernel_is_on(const struct object *object, const struct node *node)
{
    return node_set_has(&((const struct _cl_kernel *)object)->known, node->index);
}

/* Prefers a node of the kernel's program: the context's first node may have neither. */
static struct node *kernel_node(const struct object *object)
{
    return program_node(&((const struct _cl_kernel *)object)->program->object);
}

static void kernel_destroy(struct object *object)
{
    cl_kernel kernel = (cl_kernel)object;
    cl_program program = kernel->program;
    struct session *session = program->context->node->session;

    for (uint32_t i = 0; kernel->arguments && i < kernel->description->argument_count; i++)
        argument_free(&kernel->arguments[i]);
    free(kernel->arguments);
    free(kernel->pointers);
    atomic_fetch_sub(&program->live_kernels, 1);
    session_lock(session);
    node_set_clear(&kernel->known);
    handle_free(&kernel->object);
    session_unlock(session);
    handle_drop(program);
}

const struct kind kernel_kind = {
    .size = sizeof(struct _cl_kernel),
    .node = kernel_node,
    .context = kernel_context,
    .is_on = kernel_is_on,
    .create_on = kernel_create_on,
    .renew = kernel_renew,
    .destroy = kernel_destroy,
};

static cl_kernel kernel_new(cl_program program, struct kernel_description *description)
{
    cl_kernel kernel = handle_new(WIRE_KERNEL);

    if (!kernel)
        return NULL;
    lock_init(&kernel->lock, RANK_KERNEL);
    kernel->arguments = calloc(description->argument_count + 1, sizeof(*kernel->arguments));
    if (!kernel->arguments) {
        handle_free(&kernel->object);
        return NULL;
    }
    kernel->program = program;
    kernel->description = description;
    kernel->sent_when_set = !settings_number(SETTING_ARGUMENT_CACHE);
    atomic_fetch_add(&program->live_kernels, 1);
    handle_use(program);
    return kernel;
}

static cl_kernel kernel_create(cl_program program, struct kernel_description *description, cl_int *error)
{
    HALT_GUARD;
    cl_kernel kernel = kernel_new(program, description);

    if (!kernel) {
        *error = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    *error = cl_error(handle_create(&kernel->object));
    if (!*error)
        return kernel;
    handle_release(kernel, WIRE_KERNEL, 0);
    return NULL;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *ret)
{
    TIMELINE(clCreateKernel);

    cl_int error = CL_INVALID_KERNEL_NAME;
    cl_kernel kernel = NULL;

    if (!handle_check(program, WIRE_PROGRAM)) {
        fail_ret(ret, CL_INVALID_PROGRAM);
        return NULL;
    }
    program_wait(program);
    if (!program->built || !name) {
        fail_ret(ret, program->built ? CL_INVALID_VALUE : CL_INVALID_PROGRAM_EXECUTABLE);
        return NULL;
    }
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        if (!strcmp(program->kernels[i].name, name)) {
            kernel = kernel_create(program, &program->kernels[i], &error);
            break;
        }
    }
    fail_ret(ret, error);
    return kernel;
}

cl_int clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel *kernels, cl_uint *count_ret)
{
    TIMELINE(clCreateKernelsInProgram);

    cl_int error = CL_SUCCESS;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    program_wait(program);
    if (!program->built)
        return CL_INVALID_PROGRAM_EXECUTABLE;
    if (kernels && count < program->kernel_count)
        return CL_INVALID_VALUE;
    for (uint32_t i = 0; kernels && i < program->kernel_count; i++) {
        kernels[i] = kernel_create(program, &program->kernels[i], &error);
        if (error) {
            while (i--)
                handle_release(kernels[i], WIRE_KERNEL, 0);
            return error;
        }
    }
    if (count_ret)
        *count_ret = program->kernel_count;
    return CL_SUCCESS;
}

/* Copies pointers to shared virtual memory. From now on a kernel may write anything that it reaches through them. */
static void **pointers_copy(const void *pointers, size_t count)
{
    void **copy = malloc((count + 1) * sizeof(*copy));

    if (copy && count)
        memcpy(copy, pointers, count * sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++)
        svm_remote_written(copy[i], SVM_WHOLE);
    return copy;
}

/* Copies an argument, but not the set of nodes that have it: the nodes' clones keep their own. */
static bool argument_clone(const struct argument *from, struct argument *to)
{
    uint8_t *large = NULL;

    if (is_large(from)) {
        large = malloc(from->length);
        if (!large)
            return false;
        memcpy(large, from->large, from->length);
    }
    *to = *from;
    to->known = (struct node_set){0};
    if (large)
        to->large = large;
    return true;
}

/* Copies everything that the program has set. */
static bool kernel_take_over(cl_kernel kernel, cl_kernel source)
{
    bool good = true;

    lock_hold(&source->lock);
    kernel->uses_addresses = source->uses_addresses;
    for (uint32_t i = 0; i < source->description->argument_count && good; i++)
        good = argument_clone(&source->arguments[i], &kernel->arguments[i]);
    if (good && source->pointers) {
        kernel->pointers = pointers_copy(source->pointers, source->pointer_count);
        kernel->pointer_count = source->pointer_count;
        good = kernel->pointers != NULL;
    }
    lock_release(&source->lock);
    return good;
}

cl_kernel clCloneKernel(cl_kernel source, cl_int *ret)
{
    TIMELINE(clCloneKernel);

    cl_kernel kernel;
    cl_int error;

    HALT_GUARD;
    if (!handle_check(source, WIRE_KERNEL)) {
        fail_ret(ret, CL_INVALID_KERNEL);
        return NULL;
    }
    if (source->program->context->devices[0]->version < 210) {
        fail_ret(ret, CL_INVALID_OPERATION);
        return NULL;
    }
    kernel = kernel_new(source->program, source->description);
    if (!kernel) {
        fail_ret(ret, CL_OUT_OF_HOST_MEMORY);
        return NULL;
    }
    kernel->made_from = source;
    error = kernel_take_over(kernel, source) ? cl_error(handle_create(&kernel->object)) : CL_OUT_OF_HOST_MEMORY;
    kernel->made_from = NULL;
    fail_ret(ret, error);
    if (error)
        handle_release(kernel, WIRE_KERNEL, 0);
    return error ? NULL : kernel;
}

cl_int clRetainKernel(cl_kernel kernel)
{
    TIMELINE(clRetainKernel);

    return handle_retain(kernel, WIRE_KERNEL, CL_INVALID_KERNEL);
}

cl_int clReleaseKernel(cl_kernel kernel)
{
    TIMELINE(clReleaseKernel);

    HALT_GUARD_QUIET;
    return handle_release(kernel, WIRE_KERNEL, CL_INVALID_KERNEL);
}

/* ---- arguments ---- */

unsigned argument_use(const struct argument_description *d, cl_mem memory)
{
    if (memory->flags & CL_MEM_READ_ONLY)
        return USE_READ;
    if (d->access == CL_KERNEL_ARG_ACCESS_READ_ONLY && !strncmp(d->type_name, "image", 5))
        return USE_READ;
    if (*d->type_name && (d->address == CL_KERNEL_ARG_ADDRESS_CONSTANT || d->qualifier & CL_KERNEL_ARG_TYPE_CONST))
        return USE_READ;
    return USE_READ | USE_WRITE; /* also if it only writes: perhaps not the whole object */
}

/* Returns the kind of an argument: that of the node's description, or else the kind of the live handle that the
 * value is. */
static uint32_t argument_kind(const struct argument_description *d, size_t size, const void *value)
{
    cl_mem handle;

    if (d->what)
        return d->what;
    if (!value)
        return WIRE_ARGUMENT_LOCAL;
    if (size != sizeof(handle))
        return WIRE_ARGUMENT_VALUE;
    memcpy(&handle, value, sizeof(handle));
    if (handle_check(handle, WIRE_MEMORY))
        return WIRE_ARGUMENT_MEMORY;
    return handle_check(handle, WIRE_SAMPLER) ? WIRE_ARGUMENT_SAMPLER : WIRE_ARGUMENT_VALUE;
}

/* A value to be set: either the first eight bytes of the union in struct argument (the rest is 0), or a pointer to
 * the bytes. */
struct given {
    uint32_t what, length;
    uint64_t word;
    const void *bytes;
};

/* Loads the usual sizes through a register: memory that was written in smaller pieces cannot be read back as a word
 * at once. */
static uint64_t word_of(const void *bytes, size_t length)
{
    uint64_t word = 0;
    uint32_t half;

    if (length == sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        return word;
    }
    if (length == sizeof(half)) {
        memcpy(&half, bytes, sizeof(half));
        return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? half : (uint64_t)half << 32;
    }
    memcpy(&word, bytes, length);
    return word;
}

static cl_int given_memory(cl_kernel kernel, const struct argument_description *d, size_t size, const void *value,
                           struct given *out)
{
    cl_mem memory = NULL;

    if (size != sizeof(memory))
        return CL_INVALID_ARG_SIZE;
    if (value)
        memcpy(&memory, value, sizeof(memory));
    else if (d->image)
        return CL_INVALID_ARG_VALUE;
    if (!memory)
        return CL_SUCCESS;
    if (!handle_check(memory, WIRE_MEMORY) || memory->context != kernel->program->context)
        return CL_INVALID_MEM_OBJECT;
    if (d->what && d->image != (memory->type != CL_MEM_OBJECT_BUFFER))
        return CL_INVALID_MEM_OBJECT;
    out->word = word_of(&memory->object.id, sizeof(memory->object.id));
    if (argument_use(d, memory) & USE_WRITE && !(written_all(memory) && memory_root(memory)->written_otherwise))
        coherence_note_all(memory);
    return CL_SUCCESS;
}

static cl_int given_sampler(size_t size, const void *value, struct given *out)
{
    cl_sampler sampler;

    if (size != sizeof(sampler))
        return CL_INVALID_ARG_SIZE;
    if (!value)
        return CL_INVALID_ARG_VALUE;
    memcpy(&sampler, value, sizeof(sampler));
    if (sampler && !handle_check(sampler, WIRE_SAMPLER))
        return CL_INVALID_SAMPLER;
    out->word = sampler ? word_of(&sampler->object.id, sizeof(sampler->object.id)) : 0;
    return CL_SUCCESS;
}

static cl_int given_check(cl_kernel kernel, const struct argument_description *d, size_t size, const void *value,
                          struct given *out)
{
    *out = (struct given){.what = argument_kind(d, size, value)};
    switch (out->what) {
    case WIRE_ARGUMENT_LOCAL:
        if (value)
            return CL_INVALID_ARG_VALUE;
        out->word = size;
        return size ? CL_SUCCESS : CL_INVALID_ARG_SIZE;
    case WIRE_ARGUMENT_MEMORY:
        return given_memory(kernel, d, size, value, out);
    case WIRE_ARGUMENT_SAMPLER:
        return given_sampler(size, value, out);
    }
    if (!value)
        return CL_INVALID_ARG_VALUE;
    if (!size || size > WIRE_MAX_ARGUMENTS / 2 || (d->size && size != d->size && size != d->other_size))
        return CL_INVALID_ARG_SIZE;
    out->length = (uint32_t)size;
    out->bytes = value;
    if (size <= sizeof(out->word))
        out->word = word_of(value, size);
    return CL_SUCCESS;
}

/* Compares vectors without a call. */
static bool bytes_are(const uint8_t *one, const uint8_t *other, size_t length)
{
    uint64_t differs = 0;

    if (length % sizeof(uint64_t))
        return !memcmp(one, other, length);
    for (size_t at = 0; at < length; at += sizeof(uint64_t))
        differs |= word_of(one + at, sizeof(uint64_t)) ^ word_of(other + at, sizeof(uint64_t));
    return !differs;
}

static bool argument_is(const struct argument *argument, const struct given *given)
{
    if (!argument->set || argument->what != given->what || argument->length != given->length)
        return false;
    if (given->length <= sizeof(given->word))
        return argument->local == given->word;
    return given->length <= sizeof(argument->small) && bytes_are(argument->small, given->bytes, given->length);
}

static void argument_say(struct argument *argument, const struct given *given)
{
    argument->set = true;
    argument->what = given->what;
    argument->length = given->length;
    node_set_clear(&argument->known);
}

/* For arguments that neither are nor will be in memory of their own. Needs no lock: only one thread at a time sets
 * or uses a kernel's arguments, except for the removal of a node from a known set, which is one step. */
static void argument_change(struct argument *argument, const struct given *given)
{
    argument_say(argument, given);
    if (given->length <= sizeof(given->word))
        argument->local = given->word;
    else if (given->length == sizeof(argument->small))
        memcpy(argument->small, given->bytes, sizeof(argument->small));
    else
        memcpy(argument->small, given->bytes, given->length);
}

__attribute__((noinline)) static cl_int argument_change_large(cl_kernel kernel, struct argument *argument,
                                                              const struct given *given)
{
    uint8_t *large = given->length > sizeof(argument->small) ? malloc(given->length) : NULL;

    if (given->length > sizeof(argument->small) && !large)
        return CL_OUT_OF_HOST_MEMORY;
    lock_hold(&kernel->lock);
    argument_free(argument);
    if (large) {
        argument_say(argument, given);
        argument->large = memcpy(large, given->bytes, given->length);
    } else {
        argument_change(argument, given);
    }
    lock_release(&kernel->lock);
    return CL_SUCCESS;
}

/* Encodes the arguments that the node does not have yet, or all if node is NULL. With the kernel's lock held. */
void arguments_put(cl_kernel kernel, const struct node *node, struct wire_buffer *list)
{
    for (uint32_t i = 0; i < kernel->description->argument_count; i++) {
        struct argument *argument = &kernel->arguments[i];

        if (!argument->set || (node && node_set_has(&argument->known, node->index)))
            continue;
        wire_put_u32(list, i);
        wire_put_u32(list, argument->what);
        if (argument->what == WIRE_ARGUMENT_VALUE)
            wire_put_blob(list, argument->length > sizeof(argument->small) ? argument->large : argument->small,
                          argument->length);
        else if (argument->what == WIRE_ARGUMENT_LOCAL || argument->what == WIRE_ARGUMENT_SVM ||
                 argument->what == WIRE_ARGUMENT_ADDRESS)
            wire_put_blob(list, &argument->local, sizeof(argument->local));
        else
            wire_put_blob(list, &argument->id, sizeof(argument->id));
    }
}

void arguments_clean(cl_kernel kernel, const struct node *node)
{
    for (uint32_t i = 0; i < kernel->description->argument_count; i++) {
        struct node_set *known = &kernel->arguments[i].known;

        if (!node_set_has(known, node->index))
            node_set_add(known, node->index); /* if it fails, the argument is sent again */
    }
}

void arguments_send(cl_kernel kernel, struct node *node, enum stream_urgency urgency)
{
    struct wire_set_arguments m = {.kernel = kernel->object.id};
    struct wire_buffer list = {0};

    HALT_GUARD;
    lock_hold(&kernel->lock);
    arguments_put(kernel, node, &list);
    if (list.length && !list.failed) {
        m.arguments = list.bytes;
        m.arguments_length = (uint32_t)list.length;
        wire_put_set_arguments(stream_begin(node), &m);
        if (!cl_error(stream_end(node, urgency)))
            arguments_clean(kernel, node);
    }
    lock_release(&kernel->lock);
    wire_buffer_free(&list);
}

/* For VOCL_ARGUMENT_CACHE=0, with which the benefit of the cache can be measured. */
__attribute__((noinline)) static void send_now(cl_kernel kernel)
{
    for (unsigned i = 0; i < kernel->program->context->node_count; i++) {
        if (handle_is_on(&kernel->object, kernel->program->context->nodes[i]))
            arguments_send(kernel, kernel->program->context->nodes[i], STREAM_NOW);
    }
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    TIMELINE(clSetKernelArg);

    struct argument *argument;
    struct given given;
    cl_int error;

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    if (index >= kernel->description->argument_count)
        return CL_INVALID_ARG_INDEX;
    error = given_check(kernel, &kernel->description->arguments[index], size, value, &given);
    if (error)
        return error;
    argument = &kernel->arguments[index];
    if (argument_is(argument, &given) && !kernel->sent_when_set)
        return CL_SUCCESS; /* the nodes that have it keep it */
    if (is_large(argument) || given.length > sizeof(argument->small) || node_set_has_memory(&argument->known))
        error = argument_change_large(kernel, argument, &given);
    else
        argument_change(argument, &given);
    if (given.what == WIRE_ARGUMENT_LOCAL)
        info_forget(&kernel->object.answers);
    if (!error && kernel->sent_when_set)
        send_now(kernel);
    return error;
}

bool kernel_keep_pointers(cl_kernel kernel, const void *pointers, size_t count)
{
    void **copy = pointers_copy(pointers, count), **before;

    if (!copy)
        return false;
    lock_hold(&kernel->lock);
    before = kernel->pointers;
    kernel->pointers = copy;
    kernel->pointer_count = count;
    lock_release(&kernel->lock);
    free(before);
    return true;
}

cl_int kernel_set_pointer(cl_kernel kernel, cl_uint index, uint32_t what, uint64_t value, bool good)
{
    const struct argument_description *d;
    struct argument *argument;

    if (index >= kernel->description->argument_count)
        return CL_INVALID_ARG_INDEX;
    d = &kernel->description->arguments[index];
    if (*d->type_name && (d->address == CL_KERNEL_ARG_ADDRESS_PRIVATE || d->address == CL_KERNEL_ARG_ADDRESS_LOCAL))
        return CL_INVALID_ARG_VALUE;
    if (!good)
        return CL_INVALID_ARG_VALUE;
    lock_hold(&kernel->lock);
    argument = &kernel->arguments[index];
    argument_free(argument);
    *argument = (struct argument){.set = true, .what = what, .local = value};
    lock_release(&kernel->lock);
    if (what == WIRE_ARGUMENT_SVM) /* through pointers in it a kernel may also write memory that it was given to read */
        svm_remote_written((const void *)(uintptr_t)value, SVM_WHOLE);
    return CL_SUCCESS;
}

/* The argument is passed by its address, which is the same on both sides. */
cl_int clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void *value)
{
    TIMELINE(clSetKernelArgSVMPointer);

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    if (!svm_capabilities(kernel->program->devices[0]))
        return CL_INVALID_OPERATION;
    return kernel_set_pointer(kernel, index, WIRE_ARGUMENT_SVM, (uintptr_t)value, !value || svm_has(value));
}
