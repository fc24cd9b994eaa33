/* Programs: creation from source, binaries, IL and built-in kernels. Builds are in build.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "libvocl/internal.h"
#include "wire/tables.h"

/* ---- creation ---- */

cl_program program_new(cl_context context, cl_uint count, const cl_device_id *devices)
{
    cl_program program = handle_new(WIRE_PROGRAM);

    if (!program)
        return NULL;
    program->devices = malloc(count * sizeof(cl_device_id));
    if (!program->devices) {
        handle_free(&program->object);
        return NULL;
    }
    memcpy(program->devices, devices, count * sizeof(cl_device_id));
    program->device_count = count;
    program->context = context;
    mutex_init(&program->lock, RANK_PROGRAM);
    pthread_cond_init(&program->built_now, NULL);
    handle_use(context);
    return program;
}

/* ---- on a node ---- */

bool program_add_node(cl_program program, struct node *node)
{
    bool added;

    session_lock(node->session);
    added = node_set_add(&program->known, node->index);
    session_unlock(node->session);
    return added;
}

static void program_leave_node(cl_program program, struct node *node)
{
    session_lock(node->session);
    node_set_remove(&program->known, node->index);
    session_unlock(node->session);
}

static int source_create_on(cl_program program, struct node *node)
{
    const struct wire_create_program m = {program->object.id, program->context->object.id,
                                          (const char *)program->made.bytes, (uint32_t)program->made.length};

    wire_put_create_program(stream_begin(node), &m);
    return stream_end(node, STREAM_LATER);
}

/* Collects the sizes and the bytes of the binaries for the node's devices. */
static bool pick_binaries(cl_program program, const struct node *node, struct wire_buffer *sizes,
                          struct wire_buffer *bytes)
{
    const uint8_t *at = program->made.bytes;

    for (cl_uint i = 0; i < program->device_count; at += program->made.lengths[i++]) {
        if (program->devices[i]->node != node)
            continue;
        wire_put_u64(sizes, program->made.lengths[i]);
        wire_append(bytes, at, program->made.lengths[i]);
    }
    return !sizes->failed && !bytes->failed;
}

static void take_statuses(cl_program program, const struct node *node, const uint8_t *at)
{
    for (cl_uint i = 0; i < program->device_count; i++) {
        if (program->devices[i]->node != node)
            continue;
        memcpy(&program->made.statuses[i], at, 4);
        at += 4;
    }
}

/* Sends each node the binaries of its own devices. */
static int binaries_create_on(cl_program program, struct node *node)
{
    struct wire_buffer sizes = {0}, bytes = {0};
    uint32_t ids[WIRE_MAX_DEVICES];
    struct wire_create_program_binary m = {
        .program = program->object.id, .context = program->context->object.id, .devices = ids};
    struct wire_create_program_binary_reply reply;
    struct call call;
    int error;

    m.devices_count = devices_of_node(node, program->device_count, program->devices, ids);
    if (!pick_binaries(program, node, &sizes, &bytes)) {
        wire_buffer_free(&sizes);
        wire_buffer_free(&bytes);
        return -ENOMEM;
    }
    m.sizes = sizes.bytes;
    m.sizes_length = (uint32_t)sizes.length;
    m.binaries = bytes.bytes;
    m.binaries_length = (uint32_t)bytes.length;
    error = call_create_program_binary(node, &m, &reply, &call);
    wire_buffer_free(&sizes);
    wire_buffer_free(&bytes);
    if (error)
        return error;
    error = call_verdict(reply.error);
    if (program->made.statuses && reply.statuses_length == 4 * m.devices_count)
        take_statuses(program, node, reply.statuses);
    call_free(&call);
    return error;
}

static int il_create_on(cl_program program, struct node *node)
{
    struct wire_create_program_il m = {.program = program->object.id,
                                       .context = program->context->object.id,
                                       .il = program->made.bytes,
                                       .il_length = (uint32_t)program->made.length};
    struct wire_create_program_il_reply reply;
    struct call call;
    int error = call_create_program_il(node, &m, &reply, &call);

    if (error)
        return error;
    error = call_verdict(reply.error);
    call_free(&call);
    return error;
}

static int names_create_on(cl_program program, struct node *node)
{
    uint32_t ids[WIRE_MAX_DEVICES];
    struct wire_create_program_builtin m = {.program = program->object.id,
                                            .context = program->context->object.id,
                                            .devices = ids,
                                            .names = (const char *)program->made.bytes,
                                            .names_length = (uint32_t)program->made.length};
    struct wire_create_program_builtin_reply reply;
    struct call call;
    int error;

    m.devices_count = devices_of_node(node, program->device_count, program->devices, ids);
    error = call_create_program_builtin(node, &m, &reply, &call);
    if (error)
        return error;
    error = call_verdict(reply.error);
    if (!error && !program->kernels) { /* all nodes have the same ones */
        error = call_verdict(program_take_kernels(program, reply.kernels, reply.kernels_length));
        program->built = !error && program->kernel_count; /* without kernels the native program may need a build
                                                           * first */
    }
    call_free(&call);
    return error;
}

static int create_as_made(cl_program program, struct node *node)
{
    switch (program->made.how) {
    case MADE_FROM_SOURCE:
        return source_create_on(program, node);
    case MADE_FROM_BINARIES:
        return binaries_create_on(program, node);
    case MADE_FROM_IL:
        return il_create_on(program, node);
    case MADE_FROM_NAMES:
        return names_create_on(program, node);
    case MADE_BY_LINK:
        break;
    }
    return program->done ? 0 : -ENOTSUP; /* linked programs are made from others by program_settle_on() */
}

/* Creates the program in its state before any build. */
static int program_create_on(struct object *object, struct node *node)
{
    cl_program program = (cl_program)object;
    int error;

    if (!first_of_node(node, program->device_count, program->devices))
        return 0;
    if (!program_add_node(program, node))
        return -ENOMEM;
    error = create_as_made(program, node);
    if (error == -ENOMEM) /* nothing was sent, so the node has nothing to release */
        program_leave_node(program, node);
    return error;
}

static cl_context program_context(const struct object *object)
{
    return ((const struct _cl_program *)object)->context;
}

static bool program_is_on(const struct object *object, const struct node *node)
{
    return node_set_has(&((const struct _cl_program *)object)->known, node->index);
}

struct node *program_node(const struct object *object)
{
    const cl_context context = program_context(object);

    for (unsigned i = 0; i < context->node_count; i++) {
        if (program_is_on(object, context->nodes[i]))
            return context->nodes[i];
    }
    return context->node;
}

static void program_destroy(struct object *object)
{
    cl_program program = (cl_program)object;
    cl_context context = program->context;
    struct session *session = context->node->session;

    program_forget_kernels(program);
    program_forget_steps(program);
    free(program->specials);
    free(program->devices);
    free(program->source);
    if (program->made.how != MADE_FROM_SOURCE)
        free(program->made.bytes);
    free(program->made.lengths);
    free(program->binary_sizes);
    pthread_cond_destroy(&program->built_now);
    mutex_destroy(&program->lock);
    session_lock(session);
    node_set_clear(&program->known);
    handle_free(&program->object);
    session_unlock(session);
    handle_drop(context);
}

const struct kind program_kind = {
    .size = sizeof(struct _cl_program),
    .node = program_node,
    .context = program_context,
    .is_on = program_is_on,
    .create_on = program_create_on,
    .settle_on = program_settle_on,
    .state = program_state,
    .bound = program_bound,
    .destroy = program_destroy,
};

static bool keep_made(cl_program program, int how, const void *bytes, size_t length)
{
    program->made.how = how;
    program->made.bytes = malloc(length + 1);
    program->made.length = length;
    if (program->made.bytes)
        memcpy(program->made.bytes, bytes, length);
    return program->made.bytes != NULL;
}

static char *join_sources(cl_uint count, const char **strings, const size_t *lengths, size_t *total)
{
    char *source, *to;

    *total = 0;
    for (cl_uint i = 0; i < count; i++)
        *total += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
    to = source = malloc(*total + 1);
    for (cl_uint i = 0; source && i < count; i++) {
        size_t length = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);

        memcpy(to, strings[i], length);
        to += length;
    }
    if (source)
        *to = '\0';
    return source;
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings, const size_t *lengths,
                                     cl_int *ret)
{
    TIMELINE(clCreateProgramWithSource);

    cl_program program;
    size_t total;
    cl_int error = CL_SUCCESS;

    HALT_GUARD;
    if (!handle_check(context, WIRE_CONTEXT))
        error = CL_INVALID_CONTEXT;
    else if (!count || !strings)
        error = CL_INVALID_VALUE;
    for (cl_uint i = 0; !error && i < count; i++)
        error = strings[i] ? CL_SUCCESS : CL_INVALID_VALUE;
    if (error) {
        fail_ret(ret, error);
        return NULL;
    }
    program = program_new(context, context->device_count, context->devices);
    if (program)
        program->source = join_sources(count, strings, lengths, &total);
    if (!program || !program->source || total > WIRE_MAX_BLOB) {
        fail_ret(ret, CL_OUT_OF_HOST_MEMORY);
        if (program)
            handle_release(program, WIRE_PROGRAM, 0);
        return NULL;
    }
    program->made.how = MADE_FROM_SOURCE;
    program->made.bytes = (uint8_t *)program->source;
    program->made.length = total;
    error = cl_error(handle_create(&program->object));
    fail_ret(ret, error);
    if (error)
        handle_release(program, WIRE_PROGRAM, 0);
    return error ? NULL : program;
}

static cl_int binary_check(cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
                           const unsigned char **binaries)
{
    size_t total = 0;
    cl_int error = CL_SUCCESS;

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!count || !devices || count > MOST_DEVICES || !lengths || !binaries)
        return CL_INVALID_VALUE;
    error = context_check_list(context, count, devices);
    for (cl_uint i = 0; !error && i < count; i++) {
        if (!lengths[i] || !binaries[i])
            error = CL_INVALID_VALUE;
        total += lengths[i];
    }
    return !error && total > WIRE_MAX_BLOB ? CL_OUT_OF_HOST_MEMORY : error;
}

static bool keep_binaries(cl_program program, const size_t *lengths, const unsigned char **binaries)
{
    size_t total = 0;
    uint8_t *at;

    for (cl_uint i = 0; i < program->device_count; i++)
        total += lengths[i];
    program->made.how = MADE_FROM_BINARIES;
    program->made.bytes = at = malloc(total + 1);
    program->made.length = total;
    program->made.lengths = malloc(program->device_count * sizeof(*lengths));
    if (!at || !program->made.lengths)
        return false;
    memcpy(program->made.lengths, lengths, program->device_count * sizeof(*lengths));
    for (cl_uint i = 0; i < program->device_count; at += lengths[i++])
        memcpy(at, binaries[i], lengths[i]);
    return true;
}

/* Ends the creation of a program, unless there is an error: creates it on all nodes, also if one of them reports one.
 * Returns it, or NULL after an error. program: NULL, or the program so far. */
static cl_program create_on_all(cl_program program, cl_int error, cl_int *ret)
{
    int failure = 0;

    for (unsigned i = 0; !error && i < program->context->node_count; i++) {
        const int one = program_create_on(&program->object, program->context->nodes[i]);

        failure = failure ? failure : one;
    }
    error = error ? error : cl_error(failure);
    if (error && program)
        handle_release(program, WIRE_PROGRAM, 0);
    fail_ret(ret, error);
    return error ? NULL : program;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                     const size_t *lengths, const unsigned char **binaries, cl_int *statuses,
                                     cl_int *ret)
{
    TIMELINE(clCreateProgramWithBinary);

    cl_int error = binary_check(context, count, devices, lengths, binaries);
    cl_program program = NULL;

    HALT_GUARD;
    if (!error) {
        program = program_new(context, count, devices);
        error = program && keep_binaries(program, lengths, binaries) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    if (!error)
        program->made.statuses = statuses;
    program = create_on_all(program, error, ret);
    if (program) {
        program->made.statuses = NULL;
        program->binary = true;
    }
    return program;
}

cl_program clCreateProgramWithIL(cl_context context, const void *il, size_t length, cl_int *ret)
{
    TIMELINE(clCreateProgramWithIL);

    cl_program program = NULL;
    cl_int error = CL_SUCCESS;

    HALT_GUARD;
    if (!handle_check(context, WIRE_CONTEXT))
        error = CL_INVALID_CONTEXT;
    else if (!il || !length || length > WIRE_MAX_BLOB)
        error = CL_INVALID_VALUE;
    if (!error) {
        program = program_new(context, context->device_count, context->devices);
        error = program && keep_made(program, MADE_FROM_IL, il, length) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    if (program)
        program->il = true;
    return create_on_all(program, error, ret);
}

cl_program clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count, const cl_device_id *devices,
                                             const char *names, cl_int *ret)
{
    TIMELINE(clCreateProgramWithBuiltInKernels);

    cl_program program = NULL;
    cl_int error = CL_SUCCESS;

    HALT_GUARD;
    if (!handle_check(context, WIRE_CONTEXT))
        error = CL_INVALID_CONTEXT;
    else if (!count || !devices || count > MOST_DEVICES || !names)
        error = CL_INVALID_VALUE;
    else
        error = context_check_list(context, count, devices);
    if (!error) {
        program = program_new(context, count, devices);
        error =
            program && keep_made(program, MADE_FROM_NAMES, names, strlen(names)) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    return create_on_all(program, error, ret);
}

cl_int clRetainProgram(cl_program program)
{
    TIMELINE(clRetainProgram);

    return handle_retain(program, WIRE_PROGRAM, CL_INVALID_PROGRAM);
}

cl_int clReleaseProgram(cl_program program)
{
    TIMELINE(clReleaseProgram);

    HALT_GUARD_QUIET;
    return handle_release(program, WIRE_PROGRAM, CL_INVALID_PROGRAM);
}

cl_int clSetProgramReleaseCallback(cl_program program, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    TIMELINE(clSetProgramReleaseCallback);

    (void)notify;
    (void)data;
    return handle_check(program, WIRE_PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM; /* deprecated; the native
                                                                                             * result */
}
