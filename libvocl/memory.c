/* Memory objects: the common parts of buffers, images and pipes. */
#include <errno.h>
#include <sys/mman.h>

#include "libvocl/internal.h"

cl_int memory_check_flags(cl_mem_flags flags, const void *host_pointer)
{
    const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
    const cl_mem_flags host = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    const cl_mem_flags pointer = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;

    if (flags & ~(access | host | pointer | CL_MEM_ALLOC_HOST_PTR))
        return CL_INVALID_VALUE;
    if (__builtin_popcountll(flags & access) > 1 || __builtin_popcountll(flags & host) > 1)
        return CL_INVALID_VALUE;
    if (flags & CL_MEM_USE_HOST_PTR && flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR))
        return CL_INVALID_VALUE;
    if (!host_pointer != !(flags & pointer))
        return CL_INVALID_HOST_PTR;
    return CL_SUCCESS;
}

/* An object that is made from another has the other's flags where its own say nothing. */
cl_mem_flags memory_inherit_flags(cl_mem from, cl_mem_flags flags)
{
    const cl_mem_flags access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
    const cl_mem_flags host = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    const cl_mem_flags pointer = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR;

    if (!(flags & access))
        flags |= from->flags & access;
    if (!(flags & host))
        flags |= from->flags & host;
    return flags | (from->flags & pointer);
}

/* Checks the host's access: flags are those of a map; a read is CL_MAP_READ, a write CL_MAP_WRITE. */
cl_int memory_check_host(cl_mem memory, cl_map_flags flags)
{
    if (flags & CL_MAP_READ && memory->flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS))
        return CL_INVALID_OPERATION;
    if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) &&
        memory->flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS))
        return CL_INVALID_OPERATION;
    return CL_SUCCESS;
}

cl_int memory_new(cl_context context, cl_mem_object_type type, cl_mem_flags flags, cl_mem *out)
{
    cl_mem memory = handle_begin(WIRE_MEMORY);

    if (!memory)
        return CL_OUT_OF_HOST_MEMORY;
    memory->context = context;
    memory->type = type;
    memory->flags = flags ? flags : CL_MEM_READ_WRITE;
    mutex_init(&memory->lock, RANK_MEMORY);
    handle_use(context);
    handle_show(memory);
    *out = memory;
    return CL_SUCCESS;
}

static cl_context memory_context(const struct object *object)
{
    return ((const struct _cl_mem *)object)->context;
}

static bool memory_is_watched(const struct object *object)
{
    return ((const struct _cl_mem *)object)->destructors != NULL;
}

static bool memory_release(struct object *object)
{
    return memory_release_shared((cl_mem)object);
}

static int memory_create_on(struct object *object, struct node *node)
{
    cl_mem memory = (cl_mem)object;

    if (memory->type == CL_MEM_OBJECT_PIPE)
        return pipe_create_on(memory, node);
    if (memory->type != CL_MEM_OBJECT_BUFFER)
        return image_create_on(memory, node);
    if (memory->parent)
        return sub_buffer_create_on(memory, node);
    return memory->addresses ? addressed_create_on(memory, node) : buffer_create_on(memory, node);
}

/* Objects that depend on a node's own resources exist there only. */
static const char *memory_bound(const struct object *object, const struct node *node)
{
    const struct _cl_mem *memory = (const struct _cl_mem *)object;

    if (memory->type == CL_MEM_OBJECT_PIPE && written_all((cl_mem)(uintptr_t)memory))
        return "a pipe was a kernel's argument: what may be in it cannot be read";
    if (memory->svm_remote && !svm_remote_has_all(memory->host_pointer, memory->size))
        return "a buffer is over shared virtual memory that has been freed";
    if (memory->addresses)
        return "a buffer has an address on its device";
    if (memory->sized)
        return "a buffer has a content-size buffer";
    if (memory->arena && !memory->direct && memory->map_count)
        return "a buffer over the program's memory is mapped";
    for (cl_uint i = 0; memory->arena && i < memory->context->device_count; i++) {
        if (memory->context->devices[i]->node == node && !memory->context->devices[i]->unified)
            return "a buffer over the program's memory is on a device with memory of its own";
    }
    return NULL;
}

static void memory_destroy(struct object *object)
{
    cl_mem memory = (cl_mem)object;
    cl_context context = memory->context;
    cl_mem parent = memory->parent;
    struct session *session = context->node->session;

    hostptr_close(memory);
    while (memory->destructors) {
        struct callback *callback = memory->destructors;

        memory->destructors = callback->next;
        ((void(CL_CALLBACK *)(cl_mem, void *))callback->function)(memory, callback->data);
        free(callback);
    }
    while (memory->mappings) {
        struct mapping *mapping = memory->mappings;

        memory->mappings = mapping->next;
        if (mapping->owned)
            free(mapping->pointer);
        free(mapping);
    }
    if (memory->shadow)
        munmap(memory->shadow, memory->size);
    if (memory->block)
        block_free(memory->block, memory->size);
    free(memory->properties);
    addressed_destroy(memory);
    node_set_clear(&memory->lacks);
    coherence_close(memory);
    mutex_destroy(&memory->lock);
    session_lock(session);
    observer_gone(memory);
    handle_free(&memory->object);
    session_unlock(session);
    if (parent)
        handle_drop(parent);
    handle_drop(context);
}

const struct kind memory_kind = {
    .size = sizeof(struct _cl_mem),
    .context = memory_context,
    .is_watched = memory_is_watched,
    .release = memory_release,
    .create_on = memory_create_on,
    .bound = memory_bound,
    .destroy = memory_destroy,
};

/* ---- objects that not all nodes of their context can have ---- */

static atomic_bool any_lacks;

cl_int memory_lacks(cl_mem memory, struct node *node)
{
    atomic_store(&any_lacks, true);
    return node_set_add(&memory->lacks, node->index) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

bool memory_any_lacks(void)
{
    return atomic_load_explicit(&any_lacks, memory_order_relaxed);
}

cl_int memory_check_node(cl_mem memory, const struct node *node)
{
    if (!node_set_has(&memory->lacks, node->index))
        return CL_SUCCESS;
    return memory->type == CL_MEM_OBJECT_BUFFER ? CL_MISALIGNED_SUB_BUFFER_OFFSET : CL_IMAGE_FORMAT_NOT_SUPPORTED;
}

/* ---- limits ---- */

#define WORTH_ASKING ((size_t)64 << 10) /* smaller objects fail in the command that uses them */

static bool is_limited(cl_context context)
{
    for (cl_uint i = 0; i < context->device_count; i++) {
        if (context->devices[i]->limited)
            return true;
    }
    return false;
}

cl_int memory_outcome(cl_mem memory)
{
    cl_context context = memory->context;
    int error = -ECONNRESET;

    for (unsigned i = 0; i < context->node_count; i++) {
        if (!memory_check_node(memory, context->nodes[i]))
            error = stream_joined(error, native_outcome(context->nodes[i], &memory->object));
    }
    return cl_error(error);
}

cl_int memory_check_room(cl_mem memory)
{
    return memory->size < WORTH_ASKING || !is_limited(memory->context) ? CL_SUCCESS : memory_outcome(memory);
}

void mapping_add(cl_mem memory, struct mapping *mapping)
{
    mutex_lock(&memory->lock);
    mapping->next = memory->mappings;
    memory->mappings = mapping;
    memory->map_count++;
    mutex_unlock(&memory->lock);
    atomic_fetch_add(&memory_root(memory)->in_place, 1);
    atomic_store(&memory_root(memory)->written, WRITTEN_ALL); /* after in_place: a reader clears the mark first */
}

struct mapping *mapping_take(cl_mem memory, void *pointer)
{
    struct mapping *found = NULL;

    mutex_lock(&memory->lock);
    for (struct mapping **at = &memory->mappings; *at; at = &(*at)->next) {
        if ((*at)->pointer == pointer) {
            found = *at;
            *at = found->next;
            memory->map_count--;
            break;
        }
    }
    mutex_unlock(&memory->lock);
    if (found)
        atomic_fetch_sub(&memory_root(memory)->in_place, 1);
    return found;
}

cl_int clRetainMemObject(cl_mem memory)
{
    TIMELINE(clRetainMemObject);

    return handle_retain(memory, WIRE_MEMORY, CL_INVALID_MEM_OBJECT);
}

cl_int clReleaseMemObject(cl_mem memory)
{
    TIMELINE(clReleaseMemObject);

    HALT_GUARD_QUIET;
    if (handle_check(memory, WIRE_MEMORY))
        hostptr_release(memory);
    return handle_release(memory, WIRE_MEMORY, CL_INVALID_MEM_OBJECT);
}

cl_int clSetMemObjectDestructorCallback(cl_mem memory, void(CL_CALLBACK *function)(cl_mem, void *), void *data)
{
    TIMELINE(clSetMemObjectDestructorCallback);

    if (!handle_check(memory, WIRE_MEMORY))
        return CL_INVALID_MEM_OBJECT;
    if (!function)
        return CL_INVALID_VALUE;
    return cl_error(destructor_add(memory->context->node, &memory->destructors, (void (*)(void))function, data));
}

cl_int clGetMemObjectInfo(cl_mem memory, cl_mem_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetMemObjectInfo);

    cl_bool svm;
    cl_uint count;

    if (!handle_check(memory, WIRE_MEMORY))
        return CL_INVALID_MEM_OBJECT;
    if (info_is_newer(memory->context->devices[0], param))
        return CL_INVALID_VALUE;
    switch (param) {
    case CL_MEM_TYPE:
        return info_return(&memory->type, sizeof(memory->type), size, value, size_ret);
    case CL_MEM_FLAGS:
        return info_return(&memory->flags, sizeof(memory->flags), size, value, size_ret);
    case CL_MEM_SIZE:
        return info_return(&memory->size, sizeof(memory->size), size, value, size_ret);
    case CL_MEM_HOST_PTR:
        return info_return(&memory->host_pointer, sizeof(void *), size, value, size_ret);
    case CL_MEM_MAP_COUNT:
        return info_return(&memory->map_count, sizeof(cl_uint), size, value, size_ret);
    case CL_MEM_REFERENCE_COUNT:
        /* native OpenCL counts the objects that hold it, too */
        count = handle_count(memory->context->node->session, &memory->object);
        return info_return(&count, sizeof(count), size, value, size_ret);
    case CL_MEM_CONTEXT:
        return info_return(&memory->context, sizeof(cl_context), size, value, size_ret);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return info_return(&memory->parent, sizeof(cl_mem), size, value, size_ret);
    case CL_MEM_OFFSET:
        return info_return(&memory->origin, sizeof(size_t), size, value, size_ret);
    case CL_MEM_USES_SVM_POINTER:
        svm = memory->host_pointer && svm_has(memory->host_pointer);
        return info_return(&svm, sizeof(svm), size, value, size_ret);
    case CL_MEM_DEVICE_ADDRESS_EXT:
        return device_address_info(memory, size, value, size_ret);
    case CL_MEM_PROPERTIES:
        return info_return(memory->properties, memory->properties_size, size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}

cl_int clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint object_count, const cl_mem *objects,
                                  cl_mem_migration_flags flags, cl_uint count, const cl_event *list, cl_event *event)
{
    TIMELINE(clEnqueueMigrateMemObjects);

    struct wire_migrate m;
    struct enqueue e;
    uint32_t *ids;
    cl_int error;

    if (!handle_check(queue, WIRE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!object_count || !objects || flags & ~(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < object_count; i++) {
        if (!handle_check(objects[i], WIRE_MEMORY))
            return CL_INVALID_MEM_OBJECT;
        if (objects[i]->context != queue->context)
            return CL_INVALID_CONTEXT;
    }
    error = enqueue_begin(&e, queue, count, list, event, CL_COMMAND_MIGRATE_MEM_OBJECTS);
    if (error)
        return error;
    for (cl_uint i = 0; !error && i < object_count && !(flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED); i++)
        error = cl_error(coherence_before(&e, objects[i], 0, objects[i]->size, USE_READ));
    if (error)
        return enqueue_fail(&e, error);
    ids = malloc(object_count * sizeof(*ids));
    if (!ids)
        return enqueue_fail(&e, CL_OUT_OF_HOST_MEMORY);
    for (cl_uint i = 0; i < object_count; i++)
        ids[i] = objects[i]->object.id;
    m = (struct wire_migrate){.queue = queue->object.id,
                              .event = e.event_id,
                              .flags = flags,
                              .objects = ids,
                              .objects_count = object_count,
                              .wait = e.wait,
                              .wait_count = e.wait_count};
    wire_put_migrate(stream_begin(e.node), &m);
    free(ids);
    return enqueue_finish(&e, cl_error(stream_end(e.node, STREAM_SOON)), event);
}

/* ---- data ---- */

/* Lets this process move many bytes itself when the command's turn comes. Returns -EAGAIN if it may not. */
static int move_later(cl_command_queue queue, const struct data_command *m, cl_uint count, const cl_event *list,
                      cl_event *event)
{
    HALT_GUARD; /* a move of the session waits for the end of this call, and so the memory stays here until the copy
                 * is enqueued */
    struct layout there;

    if (!m->part.memory->direct || !direct_may_later(queue, m->blocking, layout_bytes(&m->layout), count, list))
        return -EAGAIN;
    there = data_command_there(m, m->part.memory->arena);
    return direct_move_later(queue, m->type, m->part.memory, m->writes ? &there : &m->layout,
                             m->writes ? &m->layout : &there, count, list, event);
}

cl_int memory_enqueue(cl_command_queue queue, const struct data_command *m, cl_uint count, const cl_event *list,
                      cl_event *event)
{
    struct enqueue e;
    int error = m->blocking ? -EAGAIN : move_later(queue, m, count, list, event);

    if (error != -EAGAIN)
        return cl_error(error);
    error = enqueue_begin(&e, queue, count, list, event, m->type);
    if (error)
        return error;
    return cl_error(layout_bytes(&m->layout) ? enqueue_transfer(&e, m, event)
                                             : enqueue_nothing(&e, m->blocking, event));
}

/* For workers that may be lost and replaced: between observer_opens() and observer_closes() nothing may be waited
 * for, as the next worker waits for that interval to end. */
static cl_int move_looked_at(cl_command_queue queue, const struct data_command *m, cl_uint count, const cl_event *list,
                             cl_event *event)
{
    const uint64_t since = deliver_now_begun();
    const struct layout there = data_command_there(m, m->part.memory->arena); /* buffers with observers keep their
                                                                               * place: unshare.c */
    uint64_t times[4] = {event ? device_time(queue->device) : 0};
    cl_int error = cl_error(direct_turn(queue, count, list));

    if (error)
        return error;
    if (!direct_enter(m->part.memory, m->writes)) /* before the interval in which nothing may be waited for */
        return memory_enqueue(queue, m, count, list, event);
    if (!observer_opens(m->part.memory, m->writes, layout_bytes(&m->layout))) {
        direct_leave();
        return memory_enqueue(queue, m, count, list, event);
    }
    direct_copy(queue, m->type, m->writes ? &there : &m->layout, m->writes ? &m->layout : &there, times, event);
    observer_closes(m->part.memory);
    direct_leave();
    return cl_error(direct_copied(queue, m->type, m->blocking, since, times, event));
}

cl_int memory_move(cl_command_queue queue, const struct data_command *m, cl_uint count, const cl_event *list,
                   cl_event *event)
{
    const uint8_t *place = m->part.memory->arena;
    struct layout there;
    int error;

    if (!place || !m->part.memory->direct ||
        !direct_may(queue, m->blocking, layout_bytes(&m->layout), count, list, event))
        return memory_enqueue(queue, m, count, list, event);
    if (queue->node->observer)
        return move_looked_at(queue, m, count, list, event);
    there = data_command_there(m, place);
    error = direct_move(queue, m->part.memory, m->type, m->blocking, m->writes ? &there : &m->layout,
                        m->writes ? &m->layout : &there, count, list, event);
    return error == -EAGAIN ? memory_enqueue(queue, m, count, list, event) : cl_error(error);
}
