/* Commands on memory that a node knows by address: svm_remote.c's, and unified shared memory. */
#include <sys/mman.h>

#include "client/client.h"

bool address_map(uint64_t address, size_t size, int protection)
{
    void *wanted = (void *)(uintptr_t)address, *memory;

    memory = mmap(wanted, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    if (memory == wanted)
        return true;
    munmap(memory, size); /* an old kernel, for which the address is a wish */
    return false;
}

void address_free(struct node *node, uint64_t address)
{
    const struct wire_svm_free m = {address};

    wire_put_svm_free(stream_begin(node), &m);
    stream_end(node, STREAM_LATER);
}

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
