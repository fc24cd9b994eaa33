/*
 * Reads and writes whose data in the program are in memory that the node has, too: the map of another buffer, shared
 * virtual memory. Commands on the node may use it before and afterwards, so it is for the node to move the data, in the
 * command's place.
 */
#include "client/client.h"

bool shared_has(const struct node *node, const struct layout *layout)
{
    return node->memory == NODE_MEMORY_SHARED && arena_has_all(layout->memory, layout_extent(layout));
}

static void put(struct enqueue *e, const struct part *part, const struct layout *layout, bool writes)
{
    struct wire_read_shared m = {.queue = e->queue->object.id,
                                 .memory = part->memory->object.id,
                                 .event = e->event_id,
                                 .want = e->want,
                                 .part = part_region(part),
                                 .address = (uintptr_t)layout->memory,
                                 .shared_pitch = {layout->row_pitch, layout->slice_pitch},
                                 .shared_pitch_count = part->kind == PART_PIECE ? 0 : 2,
                                 .wait = e->wait,
                                 .wait_count = e->wait_count};
    struct wire_write_shared same;

    if (part->kind == PART_IMAGE && part->memory->type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
        m.shared_pitch[0] = layout->row_bytes;
    else if (part->kind == PART_IMAGE && layout->slices == 1) /* an image of two dimensions has no slices */
        m.shared_pitch[1] = 0;
    if (!writes) {
        wire_put_read_shared(stream_begin(e->node), &m);
        return;
    }
    _Static_assert(sizeof(same) == sizeof(m), "they have the same fields");
    memcpy(&same, &m, sizeof(same));
    wire_put_write_shared(stream_begin(e->node), &same);
}

int shared_read(struct enqueue *e, const struct part *part, const struct layout *layout, cl_bool blocking,
                cl_command_type type, cl_event *event)
{
    int error = enqueue_want(e, blocking, type);

    if (error)
        return error;
    put(e, part, layout, false);
    return enqueue_end(e, blocking, event);
}

int shared_write(struct enqueue *e, const struct part *part, const struct layout *layout, cl_bool blocking,
                 cl_command_type type, cl_event *event)
{
    int error = enqueue_want(e, blocking, type);

    if (error)
        return error;
    part_after(e, part);
    put(e, part, layout, true);
    return enqueue_end(e, blocking, event);
}
