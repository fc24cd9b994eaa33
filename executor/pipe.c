/* Pipes. */
#include "executor/internal.h"

int exec_create_pipe(struct executor *x, const struct exec_create_pipe *m)
{
    const size_t size = (size_t)m->packet_size * m->max_packets;
    struct memory *pipe = m->pipe;

    pipe->error = m->context->error;
    pipe->context_id = m->context->id;
    if (!pipe->error && !quota_has(x, m->context->devices, size))
        pipe->error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (!pipe->error)
        pipe->native = clCreatePipe(m->context->native, m->flags, m->packet_size, m->max_packets, NULL, &pipe->error);
    if (!pipe->error)
        pipe->error = quota_take_memory(x, m->context->devices, pipe->native, size);
    if (pipe->error && pipe->native) {
        clReleaseMemObject(pipe->native);
        pipe->native = NULL;
    }
    return 0;
}
