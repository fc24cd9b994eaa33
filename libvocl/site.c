/* Commands that go into their queue or into a command buffer, and are otherwise the same. */
#include "libvocl/internal.h"

cl_int site_begin(struct enqueue *e, const struct site *site, cl_command_type type)
{
    cl_int error;

    if (!site->buffer)
        return enqueue_begin(e, site->queue, site->count, site->list, site->event, type);
    halt_enter();
    enqueue_clear(e, site->queue);
    e->site = site;
    e->record_use = record_use;
    error = record_begin(e);
    if (error)
        enqueue_fail(e, error);
    return error;
}

struct wire_buffer *site_encode(struct enqueue *e)
{
    return e->site ? &e->recorded : stream_begin(e->node);
}

cl_int site_send(struct enqueue *e)
{
    return e->site ? record_send(e) : cl_error(stream_end(e->node, STREAM_SOON));
}

cl_int site_finish(struct enqueue *e, const struct site *site)
{
    return enqueue_finish(e, site_send(e), site->event);
}

cl_int site_nothing(struct enqueue *e, const struct site *site)
{
    if (site->buffer) /* markers are not recorded */
        enqueue_put_barrier(e, site_encode(e));
    else
        enqueue_put_place(e, site_encode(e));
    return site_finish(e, site);
}
