/* Commands on memory that a node knows by its address: SVM of svm_remote.c, and unified shared memory. */
#include <errno.h>

#include "client/core/stream.h"
#include "client/data/address_command.h"
#include "client/data/data_command.h"
#include "client/memory/svm.h"

int address_write(struct enqueue *e, cl_command_type type, void *to, const void *from, size_t size, cl_bool blocking,
                  cl_event *event)
{
    const struct data_command m = {.type = type,
                                   .writes = true,
                                   .blocking = blocking,
                                   .part = part_address(to, size),
                                   .layout = layout_linear(from, size)};

    return enqueue_transfer(e, &m, event);
}

int address_read(struct enqueue *e, void *to, const void *from, size_t size, cl_bool blocking, cl_event *event)
{
    const struct data_command m = {
        .blocking = blocking, .part = part_address(from, size), .layout = layout_linear(to, size)};

    return enqueue_transfer(e, &m, event);
}

int address_copy(struct enqueue *e, cl_command_type type, void *to, const void *from, size_t size, cl_bool blocking,
                 cl_event *event)
{
    struct wire_copy_svm m = {.queue = e->queue->object.id,
                              .target = (uintptr_t)to,
                              .source = (uintptr_t)from,
                              .size = size,
                              .wait = e->wait,
                              .wait_count = e->wait_count};
    int error = enqueue_subscribe(e, blocking, type);

    if (error)
        return error;
    m.event = e->event_id;
    m.subscribe = e->subscribe;
    wire_put_copy_svm(stream_begin(e->node), &m);
    return enqueue_end(e, blocking, event);
}

int address_fill(struct enqueue *e, void *to, const void *pattern, size_t pattern_size, size_t size, cl_event *event)
{
    const struct wire_fill_svm m = {.queue = e->queue->object.id,
                                    .event = e->event_id,
                                    .address = (uintptr_t)to,
                                    .size = size,
                                    .pattern = pattern,
                                    .pattern_length = (uint32_t)pattern_size,
                                    .wait = e->wait,
                                    .wait_count = e->wait_count};

    wire_put_fill_svm(stream_begin(e->node), &m);
    return enqueue_finish(e, stream_end(e->node, STREAM_SOON), event);
}

/* ---- memory of svm_remote.c ---- */

int svm_remote_map(struct enqueue *e, cl_bool blocking, cl_map_flags flags, void *memory, size_t size, cl_event *event)
{
    int error = svm_remote_add_map(memory, size, flags);

    if (error)
        return enqueue_fail(e, error);
    if (flags == CL_MAP_WRITE_INVALIDATE_REGION)
        return enqueue_nothing(e, blocking, event);
    return address_read(e, memory, memory, size, blocking, event);
}

int svm_remote_unmap(struct enqueue *e, void *memory, cl_event *event)
{
    const size_t size = svm_remote_take_map(memory);

    if (!size)
        return enqueue_nothing(e, CL_FALSE, event);
    svm_remote_written(memory, size);
    return address_write(e, CL_COMMAND_SVM_UNMAP, memory, memory, size, CL_FALSE, event);
}

int svm_remote_copy(struct enqueue *e, cl_bool blocking, void *to, const void *from, size_t size, cl_event *event)
{
    const bool from_node = svm_remote_has_all(from, size), to_node = svm_remote_has_all(to, size);

    if (to_node)
        svm_remote_written(to, size);
    if (from_node && to_node)
        return address_copy(e, CL_COMMAND_SVM_MEMCPY, to, from, size, blocking, event);
    if (from_node)
        return address_read(e, to, from, size, blocking, event);
    return address_write(e, CL_COMMAND_SVM_MEMCPY, to, from, size, blocking, event);
}

int svm_remote_fill(struct enqueue *e, void *to, const void *pattern, size_t pattern_size, size_t size, cl_event *event)
{
    if (!svm_remote_has_all(to, size))
        return enqueue_fail(e, -EINVAL);
    svm_remote_written(to, size);
    return address_fill(e, to, pattern, pattern_size, size, event);
}
