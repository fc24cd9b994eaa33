/* Launches. */
#include "base/size.h"
#include "client/survive/recover.h"
#include "libvocl/internal.h"
#include "libvocl/restore.h"
#include "wire/tables.h"

static cl_int check_group(cl_kernel kernel, cl_device_id device, cl_uint dims, const size_t *global,
                          const size_t *local)
{
    const uint64_t *fixed = kernel->description->fixed_group;
    size_t product = 1;

    if (!local)
        return fixed[0] ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS;
    for (cl_uint i = 0; i < dims; i++) {
        if (fixed[0] && local[i] != fixed[i])
            return CL_INVALID_WORK_GROUP_SIZE;
    }
    for (cl_uint i = 0; i < dims; i++) {
        if (!size_multiply(&product, product, local[i]))
            return CL_INVALID_WORK_GROUP_SIZE;
    }
    if (product > device->group_size)
        return CL_INVALID_WORK_GROUP_SIZE;
    for (cl_uint i = 0; i < dims && i < 3; i++) {
        if (local[i] > device->item_sizes[i])
            return CL_INVALID_WORK_ITEM_SIZE;
    }
    for (cl_uint i = 0; global && i < dims; i++) {
        if (global[i] % local[i])
            return CL_INVALID_WORK_GROUP_SIZE;
    }
    return CL_SUCCESS;
}

/* Whether no size is 0 and no sum overflows. Versions of OpenCL treat these differently, and also a launch without a
 * local size of a kernel with a fixed one. */
static bool is_plain(cl_uint dims, const size_t *offset, const size_t *global, const size_t *local)
{
    for (cl_uint i = 0; global && i < dims; i++) {
        if (!global[i] || (local && !local[i]) || (offset && offset[i] + global[i] < global[i]))
            return false;
    }
    return global != NULL;
}

/* Whether the queue's node can have all memory objects among the arguments. */
static cl_int check_nodes(cl_command_queue queue, cl_kernel kernel)
{
    cl_int error = CL_SUCCESS;

    if (!memory_any_lacks())
        return CL_SUCCESS;
    lock_hold(&kernel->lock);
    for (uint32_t i = 0; !error && i < kernel->description->argument_count; i++) {
        const struct argument *argument = &kernel->arguments[i];
        cl_mem memory =
            argument->what == WIRE_ARGUMENT_MEMORY && argument->id ? handle_find(WIRE_MEMORY, argument->id) : NULL;

        error = memory ? memory_check_node(memory, queue->node) : CL_SUCCESS;
    }
    lock_release(&kernel->lock);
    return error;
}

static cl_int check_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                           const size_t *global, const size_t *local, bool recorded, bool *plain)
{
    uint64_t room;
    cl_int error;

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    if (kernel->program->context != queue->context)
        return CL_INVALID_CONTEXT;
    if (!node_set_has(&kernel->known, queue->node->index))
        return CL_INVALID_PROGRAM_EXECUTABLE;
    if (dims < 1 || dims > queue->device->dimensions || dims > 3)
        return CL_INVALID_WORK_DIMENSION;
    room = queue->device->local_size;
    for (uint32_t i = 0; i < kernel->description->argument_count; i++) {
        const struct argument *argument = &kernel->arguments[i];

        if (!argument->set)
            return CL_INVALID_KERNEL_ARGS;
        if (argument->what != WIRE_ARGUMENT_LOCAL)
            continue;
        if (argument->local > room) /* PoCL would end the process */
            return CL_OUT_OF_RESOURCES;
        room -= argument->local;
    }
    *plain = is_plain(dims, offset, global, local) && (local || recorded || !kernel->description->fixed_group[0]);
    error = *plain ? check_group(kernel, queue->device, dims, global, local) : CL_SUCCESS;
    return error ? error : check_nodes(queue, kernel);
}

/* Checks launches that are not plain for a command buffer: native OpenCL may crash (PoCL 3.1 does). */
static cl_int check_recorded(cl_uint dims, const size_t *offset, const size_t *global, const size_t *local,
                             bool *nothing)
{
    if (!global)
        return CL_INVALID_GLOBAL_WORK_SIZE;
    for (cl_uint i = 0; i < dims; i++) {
        if (local && !local[i])
            return CL_INVALID_WORK_GROUP_SIZE;
        if (offset && offset[i] + global[i] < global[i])
            return CL_INVALID_GLOBAL_OFFSET;
        *nothing |= !global[i];
    }
    return CL_SUCCESS;
}

/* Prepares arguments over the application's memory; called before the kernel's lock is taken, as it may have to
 * wait. */
static cl_int arguments_hosted(struct enqueue *e, cl_kernel kernel)
{
    cl_int error = CL_SUCCESS;

    if (!hostptr_any() || e->site)
        return CL_SUCCESS;
    for (uint32_t i = 0; !error && i < kernel->description->argument_count; i++) {
        const struct argument *argument = &kernel->arguments[i];
        cl_mem memory;

        lock_hold(&kernel->lock);
        memory = argument->what == WIRE_ARGUMENT_MEMORY && argument->id ? handle_find(WIRE_MEMORY, argument->id) : NULL;
        lock_release(&kernel->lock);
        if (memory && memory_root(memory)->hosted)
            error = cl_error(
                hostptr_before(e, memory_root(memory), argument_use(&kernel->description->arguments[i], memory)));
    }
    return error;
}

/* Returns the memory object of an argument and the kernel's use of it, or NULL if it is none. With the kernel's lock
 * held. */
static cl_mem memory_of(cl_kernel kernel, uint32_t i, unsigned *use)
{
    const struct argument *argument = &kernel->arguments[i];
    cl_mem memory =
        argument->what == WIRE_ARGUMENT_MEMORY && argument->id ? handle_find(WIRE_MEMORY, argument->id) : NULL;

    *use = memory ? argument_use(&kernel->description->arguments[i], memory) : 0;
    if (*use & USE_WRITE && memory->flags & CL_MEM_WRITE_ONLY) /* the previous contents are undefined for it */
        *use &= ~(unsigned)USE_READ;
    return memory;
}

static bool arguments_settled(const struct enqueue *e, cl_kernel kernel)
{
    bool settled = true;
    unsigned use;

    lock_hold(&kernel->lock);
    for (uint32_t i = 0; settled && i < kernel->description->argument_count; i++) {
        cl_mem memory = memory_of(kernel, i, &use);

        settled = !memory || e->node->observer->is_settled(e, memory, use);
    }
    lock_release(&kernel->lock);
    return settled;
}

static cl_int argument_kept(struct enqueue *e, cl_kernel kernel, uint32_t i, unsigned wanted)
{
    unsigned use;
    cl_mem memory;

    lock_hold(&kernel->lock);
    memory = memory_of(kernel, i, &use);
    lock_release(&kernel->lock);
    if (!memory || (use & USE_WRITE) != wanted)
        return CL_SUCCESS;
    return cl_error(e->node->observer->uses(e, memory, use, true));
}

/* Reports the arguments to the observer, also before the lock is taken. Objects that are only read come first, as one
 * of them may also be written. */
static cl_int arguments_kept(struct enqueue *e, cl_kernel kernel)
{
    cl_int error = CL_SUCCESS;

    if (!e->counted || e->site)
        return CL_SUCCESS;
    e->used = true;
    if (arguments_settled(e, kernel))
        return CL_SUCCESS;
    for (uint32_t i = 0; !error && i < kernel->description->argument_count; i++)
        error = argument_kept(e, kernel, i, 0);
    for (uint32_t i = 0; !error && i < kernel->description->argument_count; i++)
        error = argument_kept(e, kernel, i, USE_WRITE);
    return error;
}

/* With the kernel's lock held. */
static cl_int arguments_coherence(struct enqueue *e, cl_kernel kernel, bool after)
{
    cl_int error = CL_SUCCESS;

    if (e->queue->context->node_count < 2 && !e->site && !coherence_watched())
        return CL_SUCCESS;
    for (uint32_t i = 0; !error && i < kernel->description->argument_count; i++) {
        const struct argument *argument = &kernel->arguments[i];
        cl_mem memory;
        unsigned use;

        if (argument->what == WIRE_ARGUMENT_SVM && after)
            svm_remote_written((const void *)(uintptr_t)argument->local, SVM_WHOLE);
        if (argument->what != WIRE_ARGUMENT_MEMORY || !argument->id)
            continue;
        memory = handle_find(WIRE_MEMORY, argument->id);
        if (!memory)
            continue;
        use = argument_use(&kernel->description->arguments[i], memory);
        if (!after)
            error = cl_error(coherence_before(e, memory, 0, memory->size, use));
        else if (use & USE_WRITE)
            coherence_after(e, memory, 0, memory->size);
    }
    for (size_t i = 0; after && i < kernel->pointer_count; i++)
        svm_remote_written(kernel->pointers[i], SVM_WHOLE);
    if (!kernel->uses_addresses)
        return error;
    if (after)
        addressed_after(e);
    else if (!error)
        error = cl_error(addressed_before(e));
    return error;
}

/* Reused, so that a launch allocates nothing; accessible without a call, as in client/core/halt.h. */
static _Thread_local struct wire_buffer arguments __attribute__((tls_model("initial-exec")));

/* Sets only the members of m that are sent. With the kernel's lock held. */
static void describe(struct wire_enqueue_ndrange *m, const struct enqueue *e, cl_kernel kernel, cl_uint dims,
                     const size_t *offset, const size_t *global, const size_t *local)
{
    m->queue = e->queue->object.id;
    m->kernel = kernel->object.id;
    m->event = e->event_id;
    m->subscribe = e->subscribe;
    m->global_count = dims;
    m->offset_count = offset ? dims : 0;
    m->local_count = local ? dims : 0;
    m->wait = e->wait;
    m->wait_count = e->wait_count;
    for (cl_uint i = 0; i < dims; i++) {
        m->global[i] = global ? global[i] : 0;
        m->offset[i] = offset ? offset[i] : 0;
        m->local[i] = local ? local[i] : 0;
    }
    arguments.length = 0;
    arguments_put(kernel, e->site ? NULL : e->node, &arguments); /* a recorded launch has all its arguments */
    m->arguments = arguments.bytes;
    m->arguments_length = (uint32_t)arguments.length;
}

cl_int launch(const struct site *site, cl_kernel kernel, cl_uint dims, const size_t *offset, const size_t *global,
              const size_t *local)
{
    struct wire_enqueue_ndrange m;
    struct wire_buffer *out;
    struct enqueue e;
    bool plain, nothing = false;
    cl_int error;
    size_t mark;

    if (!site->buffer)
        restore_before_kernel();
    if (!handle_check(site->queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    error = check_launch(site->queue, kernel, dims, offset, global, local, site->buffer, &plain);
    if (!error && !plain && site->buffer)
        error = check_recorded(dims, offset, global, local, &nothing);
    if (!error)
        error = site_begin(&e, site, CL_COMMAND_NDRANGE_KERNEL);
    if (error)
        return error;
    if (nothing)
        return site_nothing(&e, site);
    if (!plain)
        error = cl_error(enqueue_need_event(&e, CL_COMMAND_NDRANGE_KERNEL));
    if (!error)
        error = arguments_hosted(&e, kernel);
    if (!error)
        error = arguments_kept(&e, kernel);
    if (error)
        return enqueue_fail(&e, error);
    enqueue_expect(&e);
    lock_hold(&kernel->lock);
    error = arguments_coherence(&e, kernel, false);
    if (!error && site->buffer)
        error = cl_error(record_kernel(site->buffer, kernel));
    if (error) {
        lock_release(&kernel->lock);
        return enqueue_fail(&e, error);
    }
    describe(&m, &e, kernel, dims, offset, global, local);
    arguments_coherence(&e, kernel, true);
    out = site_encode(&e);
    mark = out->length;
    wire_put_enqueue_ndrange(out, &m);
    if (!e.site)
        stream_repeat(e.node, mark);
    error = site_send(&e);
    e.sent = !error;
    if (!error)
        arguments_clean(kernel, e.node);
    lock_release(&kernel->lock);
    if (!error && !plain)
        error = cl_error(native_outcome(e.node, &e.event->object));
    return enqueue_finish(&e, error, site->event);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint count, const cl_event *list,
                              cl_event *event)
{
    TIMELINE(clEnqueueNDRangeKernel);

    const struct site site = {.queue = queue, .count = count, .list = list, .event = event};

    return launch(&site, kernel, dims, offset, global, local);
}

/* Its event reports CL_COMMAND_NDRANGE_KERNEL, as the native one does. */
cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueTask);

    const struct site site = {.queue = queue, .count = count, .list = list, .event = event};
    const size_t one = 1;

    return launch(&site, kernel, 1, NULL, &one, &one);
}
