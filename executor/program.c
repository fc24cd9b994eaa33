/* Programs. */
#include "executor/internal.h"

int exec_create_program(struct executor *x, const struct exec_create_program *m)
{
    const struct context *context = m->context;
    struct program *program = m->program;
    const char *source = m->source_length ? m->source : "";
    size_t length = m->source_length;

    (void)x;
    program->error = context->error;
    if (!program->error)
        program->native = clCreateProgramWithSource(context->native, 1, &source, &length, &program->error);
    return 0;
}

int exec_create_program_binary(struct executor *x, const struct exec_create_program_binary *m)
{
    const struct context *context = m->context;
    struct program *program = m->program;
    struct wire_create_program_binary_reply reply = {.call = m->call};
    struct wire_cursor sizes = wire_cursor(m->sizes, m->sizes_length);
    const unsigned char *at = m->binaries, *binaries[WIRE_MAX_DEVICES];
    cl_device_id devices[WIRE_MAX_DEVICES];
    cl_int statuses[WIRE_MAX_DEVICES] = {0};
    size_t lengths[WIRE_MAX_DEVICES], left = m->binaries_length;

    if (!m->devices_count)
        return -EBADMSG;
    devices_native(m->devices, m->devices_count, devices);
    for (uint32_t i = 0; i < m->devices_count; i++) {
        lengths[i] = wire_get_u64(&sizes);
        if (sizes.failed || !lengths[i] || lengths[i] > left)
            return -EBADMSG;
        binaries[i] = at;
        at += lengths[i];
        left -= lengths[i];
    }
    program->error = context->error;
    if (!program->error)
        program->native = clCreateProgramWithBinary(context->native, m->devices_count, devices, lengths, binaries,
                                                    statuses, &program->error);
    reply.error = program->error;
    reply.statuses = statuses;
    reply.statuses_length = 4 * m->devices_count;
    reply_create_program_binary(x, &reply);
    return 0;
}

int exec_create_program_il(struct executor *x, const struct exec_create_program_il *m)
{
    const struct context *context = m->context;
    struct program *program = m->program;
    struct wire_create_program_il_reply reply = {.call = m->call};

    program->error = context->error;
    if (!program->error)
        program->native = clCreateProgramWithIL(context->native, m->il, m->il_length, &program->error);
    reply.error = program->error;
    reply_create_program_il(x, &reply);
    return 0;
}

int exec_set_specialization(struct executor *x, const struct exec_set_specialization *m)
{
    const struct program *program = m->program;
    struct wire_set_specialization_reply reply = {.call = m->call, .error = CL_INVALID_PROGRAM};

    if (is_usable(program))
        reply.error = clSetProgramSpecializationConstant(program->native, m->id, m->value_length, m->value);
    reply_set_specialization(x, &reply);
    return 0;
}

int exec_create_program_builtin(struct executor *x, const struct exec_create_program_builtin *m)
{
    const struct context *context = m->context;
    struct program *program = m->program;
    struct wire_create_program_builtin_reply reply = {.call = m->call};
    struct wire_buffer kernels = {0};
    cl_device_id devices[WIRE_MAX_DEVICES];
    char *names = strndup(m->names_length ? m->names : "", m->names_length);

    if (!m->devices_count || !names) {
        free(names);
        return m->devices_count ? -ENOMEM : -EBADMSG;
    }
    devices_native(m->devices, m->devices_count, devices);
    program->error = context->error;
    if (!program->error)
        program->native =
            clCreateProgramWithBuiltInKernels(context->native, m->devices_count, devices, names, &program->error);
    free(names);
    if (is_usable(program))
        kernels_describe(program->native, devices[0], false, &kernels);
    reply.error = program->error;
    reply.kernels = kernels.bytes;
    reply.kernels_length = (uint32_t)kernels.length;
    reply_create_program_builtin(x, &reply);
    wire_buffer_free(&kernels);
    return 0;
}
