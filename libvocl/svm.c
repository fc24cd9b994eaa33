/*
 * Shared virtual memory. Where application and worker share a host (arena.c) kernels use the application's memory
 * itself; the application does enqueued copies, fills and frees, in the queue's order (host.c). Otherwise it is
 * coarse-grained, and handled by svm_remote.c.
 */
#include <string.h>

#include "libvocl/internal.h"

cl_device_svm_capabilities svm_capabilities(cl_device_id device)
{
    if (device->svm && device->any_pointer && arena_given_to(device->node)) /* only the arena is shared */
        return device->svm & ~(cl_device_svm_capabilities)CL_DEVICE_SVM_FINE_GRAIN_SYSTEM;
    return device->svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
}

bool svm_has(const void *pointer)
{
    return arena_has(pointer) || svm_remote_has(pointer);
}

static bool is_remote(cl_context context)
{
    bool svm_remote = false;

    for (unsigned i = 0; i < context->node_count; i++)
        svm_remote |= !arena_given_to(context->nodes[i]);
    for (cl_uint i = 0; i < context->device_count; i++)
        svm_remote |= !context->devices[i]->any_pointer;
    return svm_remote;
}

static cl_device_svm_capabilities context_capabilities(cl_context context)
{
    cl_device_svm_capabilities can = 0;

    for (cl_uint i = 0; i < context->device_count; i++)
        can |= svm_capabilities(context->devices[i]);
    return can;
}

/* ---- memory ---- */

static bool flags_good(cl_context context, cl_svm_mem_flags flags)
{
    const cl_svm_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
    cl_device_svm_capabilities can = context_capabilities(context);

    if (flags & ~(access | CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS) ||
        __builtin_popcountll(flags & access) > 1)
        return false;
    if (flags & CL_MEM_SVM_ATOMICS && !(flags & CL_MEM_SVM_FINE_GRAIN_BUFFER))
        return false;
    if (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER && !(can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER))
        return false;
    return can && (!(flags & CL_MEM_SVM_ATOMICS) || can & CL_DEVICE_SVM_ATOMICS);
}

static void *alloc_placed(cl_context context, size_t size, cl_uint alignment)
{
    void *memory;

    if (svm_placed_alloc(context, size, alignment, &memory))
        return NULL;
    checkpoint_count_svm(1);
    return memory;
}

void *clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    TIMELINE(clSVMAlloc);

    HALT_GUARD;
    if (!handle_check(context, WIRE_CONTEXT) || !size || alignment & (alignment - 1) || !flags_good(context, flags))
        return NULL;
    for (cl_uint i = 0; i < context->device_count; i++) {
        if (size > context->devices[i]->alloc_size)
            return NULL;
    }
    if (!is_remote(context))
        return alloc_placed(context, size, alignment);
    return context->node_count == 1 ? svm_remote_alloc(context, flags, size, alignment) : NULL; /* with one node only */
}

static void svm_free(void *memory)
{
    if (!svm_remote_free(memory) && svm_placed_free(memory))
        checkpoint_count_svm(-1);
}

void clSVMFree(cl_context context, void *memory)
{
    TIMELINE(clSVMFree);

    HALT_GUARD;
    if (handle_check(context, WIRE_CONTEXT) && memory)
        svm_free(memory);
}

/* ---- kernels ---- */

/* Sets the pointers through which kernels reach more memory. */
static cl_int set_pointers(cl_kernel kernel, size_t size, const void *pointers)
{
    const uint8_t *bytes = pointers;
    const struct wire_set_svm_pointers m = {kernel->object.id, pointers, (uint32_t)size};
    struct node *node = kernel_kind.node(&kernel->object);

    for (size_t at = 0; at < size; at += sizeof(void *)) {
        void *pointer;

        memcpy(&pointer, bytes + at, sizeof(pointer));
        if (!svm_remote_has(pointer))
            return CL_INVALID_VALUE;
    }
    if (!kernel_keep_pointers(kernel, pointers, size / sizeof(void *)))
        return CL_OUT_OF_HOST_MEMORY;
    wire_put_set_svm_pointers(stream_begin(node), &m);
    return cl_error(stream_end(node, STREAM_LATER));
}

cl_int clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value)
{
    TIMELINE(clSetKernelExecInfo);

    cl_bool system;

    if (!handle_check(kernel, WIRE_KERNEL))
        return CL_INVALID_KERNEL;
    switch (param) {
    case CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL:
        return usm_exec_info(kernel, param, size, value);
    case CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT:
        return device_address_exec_info(kernel, size, value);
    }
    if (!context_capabilities(kernel->program->context))
        return CL_INVALID_OPERATION;
    if (!value)
        size = 0;
    switch (param) {
    case CL_KERNEL_EXEC_INFO_SVM_PTRS:
        if (size % sizeof(void *))
            return CL_INVALID_VALUE;
        if (is_remote(kernel->program->context))
            return set_pointers(kernel, size, value);
        return CL_SUCCESS; /* kernels can access the whole arena in any case */
    case CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM:
        if (size != sizeof(system))
            return CL_INVALID_VALUE;
        memcpy(&system, value, sizeof(system));
        return system ? CL_INVALID_OPERATION : CL_SUCCESS;
    }
    return CL_INVALID_VALUE;
}

/* ---- commands ---- */

static cl_int check(cl_command_queue queue)
{
    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    return svm_capabilities(queue->device) ? CL_SUCCESS : CL_INVALID_OPERATION;
}

/* The memory is always accessible: only the command's place in the queue matters. */
static cl_int enqueue_place(cl_command_queue queue, cl_bool blocking, cl_command_type type, cl_uint count,
                            const cl_event *list, cl_event *event)
{
    const uint64_t since = deliver_now_begun(), queued = event ? device_time(queue->device) : 0;
    struct enqueue e;
    cl_int error;

    if (!blocking && direct_sync_may(queue, false, count, list, event))
        return cl_error(direct_end(queue, type, queued, event));
    if (blocking && direct_may(queue, CL_TRUE, 0, count, list, event)) {
        error = cl_error(direct_turn(queue, count, list));
        queue_wait_callbacks(queue, since);
        return error ? error : cl_error(direct_end(queue, type, queued, event));
    }
    error = enqueue_begin(&e, queue, count, list, event, type);
    return error ? error : cl_error(enqueue_nothing(&e, blocking, event));
}

static cl_int map_mirrored(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *memory, size_t size,
                           cl_uint count, const cl_event *list, cl_event *event)
{
    struct enqueue e;
    cl_int error = svm_remote_has_all(memory, size) ? CL_SUCCESS : CL_INVALID_VALUE;

    if (!error)
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_SVM_MAP);
    return error ? error : cl_error(svm_remote_map(&e, blocking, flags, memory, size, event));
}

cl_int clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *memory, size_t size,
                       cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueSVMMap);

    cl_int error = check(queue);

    if (!error && (!memory || !size))
        error = CL_INVALID_VALUE;
    if (!error && svm_remote_has(memory))
        return map_mirrored(queue, blocking, flags, memory, size, count, list, event);
    return error ? error : enqueue_place(queue, blocking, CL_COMMAND_SVM_MAP, count, list, event);
}

cl_int clEnqueueSVMUnmap(cl_command_queue queue, void *memory, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueSVMUnmap);

    cl_int error = check(queue);
    struct enqueue e;

    if (!error && !memory)
        error = CL_INVALID_VALUE;
    if (!error && svm_remote_has(memory)) {
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_SVM_UNMAP);
        return error ? error : cl_error(svm_remote_unmap(&e, memory, event));
    }
    return error ? error : enqueue_place(queue, CL_FALSE, CL_COMMAND_SVM_UNMAP, count, list, event);
}

cl_int clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint memory_count, const void **memory, const size_t *sizes,
                              cl_mem_migration_flags flags, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueSVMMigrateMem);

    cl_int error = check(queue);

    (void)sizes;
    if (!error &&
        (!memory_count || !memory ||
         flags & ~(cl_mem_migration_flags)(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)))
        error = CL_INVALID_VALUE;
    for (cl_uint i = 0; !error && i < memory_count; i++)
        error = memory[i] ? CL_SUCCESS : CL_INVALID_VALUE;
    return error ? error : enqueue_place(queue, CL_FALSE, CL_COMMAND_SVM_MIGRATE_MEM, count, list, event);
}

struct svm_command {
    struct host_command command;
    void *to;
    const void *from;
    size_t size, pattern_size;
    uint8_t pattern[128];
    cl_command_queue queue; /* of a free */
    void **memory;
    cl_uint memory_count;
    void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[], void *);
    void *data;
};

static void svm_command_free(struct host_command *command)
{
    struct svm_command *svm = (struct svm_command *)command;

    if (svm->queue)
        handle_drop(svm->queue);
    free(svm->memory);
    free(svm);
}

static struct svm_command *svm_command_new(cl_int (*run)(struct host_command *))
{
    struct svm_command *svm = calloc(1, sizeof(*svm));

    if (svm)
        svm->command = (struct host_command){.run = run, .free = svm_command_free};
    return svm;
}

static cl_int run_copy(struct host_command *command)
{
    struct svm_command *svm = (struct svm_command *)command;

    memcpy(svm->to, svm->from, svm->size);
    return CL_SUCCESS;
}

static cl_int run_fill(struct host_command *command)
{
    struct svm_command *svm = (struct svm_command *)command;

    for (size_t at = 0; at < svm->size; at += svm->pattern_size)
        memcpy((uint8_t *)svm->to + at, svm->pattern, svm->pattern_size);
    return CL_SUCCESS;
}

static cl_int run_free(struct host_command *command)
{
    struct svm_command *svm = (struct svm_command *)command;

    if (svm->function) {
        svm->function(svm->queue, svm->memory_count, svm->memory, svm->data);
        return CL_SUCCESS;
    }
    for (cl_uint i = 0; i < svm->memory_count; i++)
        svm_free(svm->memory[i]);
    return CL_SUCCESS;
}

cl_int clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size,
                          cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueSVMMemcpy);

    const uint8_t *target = to, *source = from;
    struct svm_command *svm;
    struct enqueue e;
    cl_event own = NULL;
    cl_int error = check(queue), status;

    if (!error && (!to || !from || !size))
        error = CL_INVALID_VALUE;
    if (!error && target < source + size && source < target + size)
        error = CL_MEM_COPY_OVERLAP;
    if (!error && (svm_remote_has(to) || svm_remote_has(from))) {
        error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_SVM_MEMCPY);
        return error ? error : cl_error(svm_remote_copy(&e, blocking, to, from, size, event));
    }
    if (!error && direct_may(queue, blocking, size, count, list, event)) {
        const struct layout there = layout_linear(to, size), here = layout_linear(from, size);

        return cl_error(direct_move(queue, NULL, CL_COMMAND_SVM_MEMCPY, blocking, &there, &here, count, list, event));
    }
    if (!error)
        error = event_check_list(queue->context, count, list);
    if (error)
        return error;
    svm = svm_command_new(run_copy);
    if (!svm)
        return CL_OUT_OF_HOST_MEMORY;
    svm->to = to;
    svm->from = from;
    svm->size = size;
    error = cl_error(
        host_command_enqueue(queue, CL_COMMAND_SVM_MEMCPY, &svm->command, count, list, blocking ? &own : event));
    if (error || !blocking)
        return error;
    status = event_wait(own);
    event_show();
    if (event)
        *event = own;
    else
        clReleaseEvent(own);
    return status < 0 ? status : CL_SUCCESS;
}

cl_int clEnqueueSVMMemFill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size,
                           cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueSVMMemFill);

    struct svm_command *svm;
    struct enqueue e;
    cl_int error = check(queue);

    if (!error && (!to || !pattern || !pattern_size || pattern_size > 128 || pattern_size & (pattern_size - 1) ||
                   !size || size % pattern_size || (uintptr_t)to % pattern_size))
        error = CL_INVALID_VALUE;
    if (!error && svm_remote_has(to)) {
        error = svm_remote_has_all(to, size) ? enqueue_begin(&e, queue, count, list, event, CL_COMMAND_SVM_MEMFILL)
                                             : CL_INVALID_VALUE;
        return error ? error : cl_error(svm_remote_fill(&e, to, pattern, pattern_size, size, event));
    }
    if (!error)
        error = event_check_list(queue->context, count, list);
    if (error)
        return error;
    svm = svm_command_new(run_fill);
    if (!svm)
        return CL_OUT_OF_HOST_MEMORY;
    svm->to = to;
    svm->size = size;
    svm->pattern_size = pattern_size;
    memcpy(svm->pattern, pattern, pattern_size);
    return cl_error(host_command_enqueue(queue, CL_COMMAND_SVM_MEMFILL, &svm->command, count, list, event));
}

cl_int clEnqueueSVMFree(cl_command_queue queue, cl_uint memory_count, void *memory[],
                        void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[], void *), void *data,
                        cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueSVMFree);

    struct svm_command *svm;
    cl_int error = check(queue);

    if (!error && (!memory_count || !memory))
        error = CL_INVALID_VALUE;
    for (cl_uint i = 0; !error && i < memory_count; i++)
        error = memory[i] ? CL_SUCCESS : CL_INVALID_VALUE;
    if (!error)
        error = event_check_list(queue->context, count, list);
    if (error)
        return error;
    svm = svm_command_new(run_free);
    if (svm)
        svm->memory = malloc(memory_count * sizeof(*memory));
    if (!svm || !svm->memory) {
        free(svm);
        return CL_OUT_OF_HOST_MEMORY;
    }
    memcpy(svm->memory, memory, memory_count * sizeof(*memory));
    svm->memory_count = memory_count;
    svm->function = function;
    svm->data = data;
    svm->queue = queue;
    handle_use(queue);
    return cl_error(host_command_enqueue(queue, CL_COMMAND_SVM_FREE, &svm->command, count, list, event));
}
