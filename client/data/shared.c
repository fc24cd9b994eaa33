/*
 * Reads and writes whose memory in the program is memory that the node has, too: a map of another buffer, or shared
 * virtual memory. Earlier and later commands on the node may use it, so the node moves the data, when it is the
 * command's turn.
 */
#include "client/core/stream.h"
#include "client/data/data_command.h"
#include "client/memory/arena.h"

bool shared_has(const struct node *node, const struct layout *layout)
{
    return node->memory == NODE_MEMORY_SHARED && !node->observer &&
           arena_has_all(layout->memory, layout_extent(layout));
}

static void put(struct enqueue *e, const struct data_command *m)
{
    const struct part *part = &m->part;
    const struct layout *layout = &m->layout;
    struct wire_read_shared read = {.queue = e->queue->object.id,
                                    .memory = part->memory->object.id,
                                    .event = e->event_id,
                                    .subscribe = e->subscribe,
                                    .part = part_region(part),
                                    .address = (uintptr_t)layout->memory,
                                    .shared_pitch = {layout->row_pitch, layout->slice_pitch},
                                    .shared_pitch_count = part->kind == PART_PIECE ? 0 : 2,
                                    .wait = e->wait,
                                    .wait_count = e->wait_count};
    struct wire_write_shared write;

    if (part->kind == PART_IMAGE && part->memory->type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
        read.shared_pitch[0] = layout->row_bytes;
    else if (part->kind == PART_IMAGE && layout->slices == 1) /* an image of two dimensions has no slices */
        read.shared_pitch[1] = 0;
    _Static_assert(sizeof(write) == sizeof(read), "they have the same fields");
    memcpy(&write, &read, sizeof(write));
    if (m->writes)
        wire_put_write_shared(stream_begin(e->node), &write);
    else
        wire_put_read_shared(stream_begin(e->node), &read);
}

int shared_move(struct enqueue *e, const struct data_command *m, cl_event *event)
{
    int error = enqueue_subscribe(e, m->blocking, m->type);

    if (error)
        return error;
    if (m->writes)
        part_after(e, &m->part);
    put(e, m);
    return enqueue_end(e, m->blocking, event);
}
