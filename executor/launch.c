/* Launches. */
#include "executor/internal.h"

/* PoCL 3.1 takes a work-group size of 0 for none, or divides by it, at random. */
const size_t *local_of(const struct exec_enqueue_ndrange *m)
{
    for (uint32_t i = 0; i < m->local_count; i++) {
        if (!m->local[i])
            return NULL;
    }
    return m->local_count ? m->local : NULL;
}

int exec_enqueue_ndrange(struct command *c, const struct exec_enqueue_ndrange *m)
{
    const bool slices = c->x->host.slice;
    const struct kernel *kernel = m->kernel;
    int bad;

    if (!m->global_count || (m->offset_count && m->offset_count != m->global_count) ||
        (m->local_count && m->local_count != m->global_count))
        return -EBADMSG;
    if (!is_usable(kernel)) {
        c->error = c->error ? c->error : CL_INVALID_KERNEL;
        return 0;
    }
    bad = kernel_set_arguments(c, kernel, m->arguments, m->arguments_length);
    if (bad || c->error)
        return bad;
    if (c->x->moves || c->x->contents_coming)
        command_uses_arguments(c, kernel);
    if (c->error)
        return 0;
    if (c->recording) {
        c->error = record_ndrange(c->recording, m);
        return 0;
    }
    if (slices)
        c->ask = &c->event;
    queue_ask_last(c);
    c->error =
        clEnqueueNDRangeKernel(c->queue->native, kernel->native, m->global_count, m->offset_count ? m->offset : NULL,
                               m->global, local_of(m), c->wait_count, command_waits(c), c->ask);
    if (!c->error && slices)
        slice_launched(c->x, c->queue, c->event);
    queue_keep_last(c);
    return 0;
}
