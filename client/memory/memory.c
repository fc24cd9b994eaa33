/* Memory objects: their extents, and memory that is shared with nodes, which report when they no longer use it. */
#include <string.h>

#include "client/core/handle.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"

cl_mem memory_root(cl_mem memory)
{
    while (memory->parent)
        memory = memory->parent;
    return memory;
}

void image_extent(const cl_image_desc *desc, size_t extent[3])
{
    extent[0] = desc->image_width;
    extent[1] = extent[2] = 1;
    switch (desc->image_type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
        extent[1] = desc->image_array_size;
        break;
    case CL_MEM_OBJECT_IMAGE2D:
        extent[1] = desc->image_height;
        break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
        extent[1] = desc->image_height;
        extent[2] = desc->image_array_size;
        break;
    case CL_MEM_OBJECT_IMAGE3D:
        extent[1] = desc->image_height;
        extent[2] = desc->image_depth;
        break;
    }
}

/* Releases a buffer with a region. Each node reports when it no longer uses the memory. */
static void release_region(cl_mem buffer)
{
    const struct wire_release_notify m = {WIRE_MEMORY, buffer->object.id};
    cl_context context = buffer->context;
    struct session *session = context->node->session;

    session_lock(session);
    for (unsigned i = 0; i < context->node_count; i++) {
        wire_put_release_notify(&context->nodes[i]->batch, &m);
        block_leave_region(context->nodes[i], buffer->object.id, buffer->region);
    }
    handle_released(&buffer->object);
    for (unsigned i = 0; i < context->node_count; i++)
        stream_finish(context->nodes[i], STREAM_LATER);
    session_unlock(session);
}

static void release_block(cl_mem buffer)
{
    const struct wire_release_notify m = {WIRE_MEMORY, buffer->object.id};
    struct node *node = buffer->context->node; /* a block is for one node only */

    wire_put_release_notify(stream_begin(node), &m);
    if (node->alive) {
        block_leave(node, buffer->object.id, buffer->block, buffer->size);
        buffer->block = NULL;
    }
    handle_released(&buffer->object);
    stream_end(node, STREAM_LATER);
}

bool memory_release_shared(cl_mem memory)
{
    if (memory->region)
        release_region(memory);
    else if (memory->block)
        release_block(memory);
    else
        return false;
    return true;
}

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#endif

void memory_copy_open(void *to, const void *from, size_t size)
{
#ifdef __SANITIZE_THREAD__ /* it reports each word that is written meanwhile */
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
#endif
    memcpy(to, from, size);
#ifdef __SANITIZE_THREAD__
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}
