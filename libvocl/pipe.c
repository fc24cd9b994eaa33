/* Pipes: memory objects that only kernels can access. */
#include "libvocl/internal.h"

static cl_uint most_packet(cl_context context)
{
    cl_uint most = 0;

    for (cl_uint i = 0; i < context->device_count; i++) {
        cl_uint packet = 0;

        device_number(context->devices[i], CL_DEVICE_PIPE_MAX_PACKET_SIZE, &packet, sizeof(packet));
        most = packet > most ? packet : most;
    }
    return most;
}

static bool has_pipes(cl_context context)
{
    cl_bool has = CL_FALSE;

    for (cl_uint i = 0; i < context->device_count && !has; i++)
        device_number(context->devices[i], CL_DEVICE_PIPE_SUPPORT, &has, sizeof(has));
    return has;
}

static cl_int check(cl_context context, cl_mem_flags flags, cl_uint packet_size, cl_uint max_packets,
                    const cl_pipe_properties *properties)
{
    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!has_pipes(context))
        return CL_INVALID_OPERATION;
    if (flags & ~(cl_mem_flags)(CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS) || (properties && *properties))
        return CL_INVALID_VALUE;
    if (!packet_size || !max_packets || packet_size > most_packet(context))
        return CL_INVALID_PIPE_SIZE;
    return CL_SUCCESS;
}

int pipe_create_on(cl_mem pipe, struct node *node)
{
    const struct wire_create_pipe m = {pipe->object.id, pipe->context->object.id, pipe->node_flags, pipe->packet_size,
                                       pipe->max_packets};

    wire_put_create_pipe(stream_begin(node), &m);
    return stream_end(node, STREAM_LATER);
}

cl_mem clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet_size, cl_uint max_packets,
                    const cl_pipe_properties *properties, cl_int *ret)
{
    TIMELINE(clCreatePipe);

    HALT_GUARD;
    cl_int error = check(context, flags, packet_size, max_packets, properties);
    cl_mem pipe = NULL;

    if (!error)
        error =
            memory_new(context, CL_MEM_OBJECT_PIPE, flags ? flags : CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS, &pipe);
    if (!error) {
        pipe->packet_size = packet_size;
        pipe->max_packets = max_packets;
        pipe->node_flags = flags;
        observer_made(pipe);
        error = cl_error(handle_create(&pipe->object));
        if (!error) /* other reasons to refuse it */
            error = memory_outcome(pipe);
    }
    fail_ret(ret, error);
    if (!error)
        return pipe;
    if (pipe)
        handle_release(pipe, WIRE_MEMORY, 0);
    return NULL;
}

cl_int clGetPipeInfo(cl_mem pipe, cl_pipe_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetPipeInfo);

    if (!handle_check(pipe, WIRE_MEMORY) || pipe->type != CL_MEM_OBJECT_PIPE)
        return CL_INVALID_MEM_OBJECT;
    if (info_is_newer(pipe->context->devices[0], param))
        return CL_INVALID_VALUE;
    switch (param) {
    case CL_PIPE_PACKET_SIZE:
        return info_return(&pipe->packet_size, sizeof(cl_uint), size, value, size_ret);
    case CL_PIPE_MAX_PACKETS:
        return info_return(&pipe->max_packets, sizeof(cl_uint), size, value, size_ret);
    case CL_PIPE_PROPERTIES:
        return info_return(NULL, 0, size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}
