/*
 * Unified shared memory: commands, and pointers for kernels. A command is sent to its own node if that has the memory,
 * as a transfer if one side is the program's. If all of the memory is the program's, or another node's, the program
 * executes the command itself, in the queue's order (host.c).
 */
#include <errno.h>
#include <string.h>

#include "libvocl/internal.h"
#include "wire/tables.h"

#define STAGED ((size_t)16 << 20) /* bytes at a time, of copies between nodes */

/* ---- finding memory ---- */

struct location {
    bool there, here; /* there: on the queue's node; here: the program can access it */
    struct usm usm;   /* size 0: no unified shared memory */
};

/* Returns false if the allocation ends before the range does. */
static bool find_location(cl_command_queue queue, const void *pointer, size_t size, struct location *location)
{
    *location = (struct location){.here = true};
    if (usm_find(pointer, &location->usm)) {
        location->here = location->usm.type != CL_MEM_TYPE_DEVICE_INTEL;
        location->there = location->usm.placed ? arena_shared_with(queue->node) : location->usm.node == queue->node;
        return size <= location->usm.size - (size_t)((const uint8_t *)pointer - location->usm.base);
    }
    if (arena_has_all(pointer, size))
        location->there = arena_shared_with(queue->node);
    return true;
}

static cl_int check_queue(cl_command_queue queue)
{
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    return usm_offered(queue->context) ? CL_SUCCESS : CL_INVALID_OPERATION;
}

/* ---- commands that the program itself carries out ---- */

struct usm_command {
    struct host_command command;
    uint8_t *to;
    const uint8_t *from;
    size_t size, pattern_size;
    uint8_t pattern[128];
    cl_command_queue to_queue, from_queue; /* of the node that has the memory, or NULL */
    void *staged;
};

static void usm_command_free(struct host_command *command)
{
    struct usm_command *c = (struct usm_command *)command;

    if (c->to_queue)
        clReleaseCommandQueue(c->to_queue);
    if (c->from_queue)
        clReleaseCommandQueue(c->from_queue);
    free(c->staged);
    free(c);
}

static cl_int copy_piece(const struct usm_command *c, size_t at, size_t size)
{
    const void *from = c->from + at;
    cl_int error = CL_SUCCESS;

    if (c->from_queue) {
        error = usm_copy(c->from_queue, CL_TRUE, c->staged, from, size, 0, NULL, NULL);
        from = c->staged;
    }
    if (!error && c->to_queue)
        return usm_copy(c->to_queue, CL_TRUE, c->to + at, from, size, 0, NULL, NULL);
    if (!error)
        memcpy(c->to + at, from, size);
    return error;
}

static cl_int run_copy(struct host_command *command)
{
    const struct usm_command *c = (struct usm_command *)command;
    cl_int error = CL_SUCCESS;

    for (size_t at = 0; !error && at < c->size; at += STAGED)
        error = copy_piece(c, at, c->size - at < STAGED ? c->size - at : STAGED);
    return error;
}

static void fill_here(uint8_t *to, const void *pattern, size_t pattern_size, size_t size)
{
    for (size_t at = 0; at < size; at += pattern_size)
        memcpy(to + at, pattern, pattern_size);
}

static cl_int run_fill(struct host_command *command)
{
    const struct usm_command *c = (struct usm_command *)command;

    if (c->to_queue) {
        cl_int error = usm_fill(c->to_queue, c->to, c->pattern, c->pattern_size, c->size, 0, NULL, NULL);

        return error ? error : clFinish(c->to_queue);
    }
    fill_here(c->to, c->pattern, c->pattern_size, c->size);
    return CL_SUCCESS;
}

/* Makes a queue for memory that the program cannot access itself. */
static cl_int queue_for(const struct location *location, cl_command_queue *out)
{
    cl_int error = CL_SUCCESS;

    if (!location->here)
        *out = clCreateCommandQueueWithProperties(location->usm.context, location->usm.device, NULL, &error);
    return error;
}

static cl_int usm_command_new(const struct location *to, const struct location *from,
                              cl_int (*run)(struct host_command *), struct usm_command **out)
{
    struct usm_command *c = calloc(1, sizeof(*c));
    cl_int error;

    if (!c)
        return CL_OUT_OF_HOST_MEMORY;
    c->command = (struct host_command){.run = run, .free = usm_command_free};
    error = queue_for(to, &c->to_queue);
    if (!error && from)
        error = queue_for(from, &c->from_queue);
    if (!error && c->from_queue && !(c->staged = malloc(STAGED)))
        error = CL_OUT_OF_HOST_MEMORY;
    if (error)
        usm_command_free(&c->command);
    else
        *out = c;
    return error;
}

static cl_int enqueue_here(cl_command_queue queue, cl_command_type type, struct usm_command *c, cl_bool blocking,
                           cl_uint count, const cl_event *list, cl_event *event)
{
    cl_event own = NULL;
    cl_int error = cl_error(host_command_enqueue(queue, type, &c->command, count, list, blocking ? &own : event)),
           status;

    if (error || !blocking)
        return error;
    status = event_wait(own);
    if (event)
        *event = own;
    else
        clReleaseEvent(own);
    return status < 0 ? status : CL_SUCCESS;
}

/* ---- commands ---- */

static cl_int copy_here(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size,
                        const struct location *target, const struct location *source, cl_uint count,
                        const cl_event *list, cl_event *event)
{
    struct usm_command *c;
    cl_int error = event_check_list(queue->context, count, list);

    if (!error)
        error = usm_command_new(target, source, run_copy, &c);
    if (error)
        return error;
    c->to = to;
    c->from = from;
    c->size = size;
    return enqueue_here(queue, CL_COMMAND_MEMCPY_INTEL, c, blocking, count, list, event);
}

cl_int usm_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count,
                const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueMemcpyINTEL);

    const uint8_t *first = to, *second = from;
    struct location target, source;
    struct enqueue e;
    bool at_once;
    cl_int error = check_queue(queue);

    if (!error && (!to || !from || !size || !find_location(queue, to, size, &target) ||
                   !find_location(queue, from, size, &source)))
        error = CL_INVALID_VALUE;
    if (!error && first < second + size && second < first + size)
        error = CL_MEM_COPY_OVERLAP;
    if (error)
        return error;
    if (target.here && source.here && direct_may(queue, blocking, size, count, list, event)) {
        const struct layout into = layout_linear(to, size), out = layout_linear(from, size);

        return cl_error(direct_move(queue, NULL, CL_COMMAND_MEMCPY_INTEL, blocking, &into, &out, count, list, event));
    }
    /* the program's own memory is sent at once; memory that commands may still write has to wait for them */
    at_once = source.here && !source.usm.size;
    if (!(target.there && (source.there || at_once)) && !(source.there && target.here))
        return copy_here(queue, blocking, to, from, size, &target, &source, count, list, event);
    error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_MEMCPY_INTEL);
    if (error)
        return error;
    if (target.there && source.there)
        return cl_error(address_copy(&e, CL_COMMAND_MEMCPY_INTEL, to, from, size, blocking, event));
    return target.there ? cl_error(address_write(&e, CL_COMMAND_MEMCPY_INTEL, to, from, size, blocking, event))
                        : cl_error(address_read(&e, to, from, size, blocking, event));
}

cl_int usm_fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, cl_uint count,
                const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueMemFillINTEL);

    struct usm_command *c;
    struct location target;
    struct enqueue e;
    cl_int error = check_queue(queue);

    if (!error && (!to || !pattern || !pattern_size || pattern_size > 128 || pattern_size & (pattern_size - 1) ||
                   !size || size % pattern_size || (uintptr_t)to % pattern_size))
        error = CL_INVALID_VALUE;
    if (!error && !find_location(queue, to, size, &target))
        error = CL_INVALID_VALUE;
    if (!error && target.there && !target.here) {
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_MEMFILL_INTEL);
        return error ? error : cl_error(address_fill(&e, to, pattern, pattern_size, size, event));
    }
    if (!error && target.here && direct_may(queue, CL_FALSE, size, count, list, event)) {
        const uint64_t queued = device_time(queue->device);

        error = cl_error(direct_turn(queue, count, list));
        if (!error)
            fill_here(to, pattern, pattern_size, size);
        return error ? error : cl_error(direct_end(queue, CL_COMMAND_MEMFILL_INTEL, queued, event));
    }
    if (!error)
        error = event_check_list(queue->context, count, list);
    if (!error)
        error = usm_command_new(&target, NULL, run_fill, &c);
    if (error)
        return error;
    c->to = to;
    c->size = size;
    c->pattern_size = pattern_size;
    memcpy(c->pattern, pattern, pattern_size);
    return enqueue_here(queue, CL_COMMAND_MEMFILL_INTEL, c, CL_FALSE, count, list, event);
}

/* Sends a hint, which is of use only for native memory of the queue's own node. */
static cl_int enqueue_hint(cl_command_queue queue, cl_command_type type, uint32_t what, uint64_t value,
                           const void *memory, size_t size, cl_uint count, const cl_event *list, cl_event *event)
{
    struct wire_hint_usm m;
    struct location location;
    struct enqueue e;
    cl_int error = check_queue(queue);

    if (!error && (!memory || !size || !find_location(queue, memory, size, &location)))
        error = CL_INVALID_VALUE;
    if (error)
        return error;
    if (!location.usm.size || location.usm.placed || location.usm.chosen || !location.there)
        return enqueue_marker_as(queue, type, count, list, event);
    error = enqueue_begin(&e, queue, count, list, event, type);
    if (error)
        return error;
    m = (struct wire_hint_usm){.queue = queue->object.id,
                               .event = e.event_id,
                               .what = what,
                               .value = value,
                               .address = (uintptr_t)memory,
                               .size = size,
                               .wait = e.wait,
                               .wait_count = e.wait_count};
    wire_put_hint_usm(stream_begin(e.node), &m);
    return enqueue_finish(&e, cl_error(stream_end(e.node, STREAM_SOON)), event);
}

cl_int usm_migrate(cl_command_queue queue, const void *memory, size_t size, cl_mem_migration_flags flags, cl_uint count,
                   const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueMigrateMemINTEL);

    if (flags & ~(cl_mem_migration_flags)(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED))
        return CL_INVALID_VALUE;
    return enqueue_hint(queue, CL_COMMAND_MIGRATEMEM_INTEL, WIRE_HINT_MIGRATE, flags, memory, size, count, list, event);
}

cl_int usm_advise(cl_command_queue queue, const void *memory, size_t size, cl_mem_advice_intel advice, cl_uint count,
                  const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueMemAdviseINTEL);

    return enqueue_hint(queue, CL_COMMAND_MEMADVISE_INTEL, WIRE_HINT_ADVISE, advice, memory, size, count, list, event);
}

/* ---- kernels ---- */

cl_int usm_set_argument(cl_kernel kernel, cl_uint index, const void *value)
{
    TIMELINE(clSetKernelArgMemPointerINTEL);

    struct usm usm;

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    if (!usm_offered(kernel->program->context))
        return CL_INVALID_OPERATION;
    return kernel_set_pointer(kernel, index, WIRE_ARGUMENT_SVM, (uintptr_t)value,
                              !value || usm_find(value, &usm) || svm_has(value));
}

static cl_int check_pointers(const void *value, size_t size)
{
    struct usm usm;
    void *pointer;

    if (size % sizeof(pointer))
        return CL_INVALID_VALUE;
    for (size_t at = 0; at < size; at += sizeof(pointer)) {
        memcpy(&pointer, (const uint8_t *)value + at, sizeof(pointer));
        if (!usm_find(pointer, &usm) && !svm_has(pointer))
            return CL_INVALID_VALUE;
    }
    return CL_SUCCESS;
}

cl_int exec_info_send(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value)
{
    const struct wire_set_exec_info m = {kernel->object.id, param, value, (uint32_t)size};
    const cl_context context = kernel->program->context;
    int error = -ECONNRESET;

    HALT_GUARD;
    for (unsigned i = 0; i < context->node_count; i++) {
        if (!handle_is_on(&kernel->object, context->nodes[i]))
            continue;
        wire_put_set_exec_info(stream_begin(context->nodes[i]), &m);
        error = stream_joined(error, stream_end(context->nodes[i], STREAM_LATER));
    }
    return cl_error(error);
}

cl_int usm_exec_info(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value)
{
    cl_int error = CL_SUCCESS;

    if (!usm_offered(kernel->program->context))
        return CL_INVALID_OPERATION;
    if (!value && size)
        return CL_INVALID_VALUE;
    if (param == CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL)
        error = check_pointers(value, size);
    else if (size != sizeof(cl_bool))
        error = CL_INVALID_VALUE;
    if (!error && param == CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL &&
        !kernel_keep_pointers(kernel, value, size / sizeof(void *)))
        error = CL_OUT_OF_HOST_MEMORY;
    return error ? error : exec_info_send(kernel, param, size, value);
}
