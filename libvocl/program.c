/* Programs: creation from source, binaries, IL and built-in kernels; queries. Builds are in build.c. */
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
    pthread_mutex_init(&program->lock, NULL);
    pthread_cond_init(&program->built_now, NULL);
    handle_use(context);
    return program;
}

static cl_context program_context(const struct object *object)
{
    return ((const struct _cl_program *)object)->context;
}

static void program_destroy(struct object *object)
{
    cl_program program = (cl_program)object;
    cl_context context = program->context;
    struct session *session = context->node->session;

    program_forget_kernels(program);
    free(program->devices);
    free(program->source);
    free(program->binary_sizes);
    pthread_cond_destroy(&program->built_now);
    pthread_mutex_destroy(&program->lock);
    session_lock(session);
    handle_free(&program->object);
    session_unlock(session);
    handle_drop(context);
}

const struct kind program_kind = {
    .size = sizeof(struct _cl_program),
    .context = program_context,
    .destroy = program_destroy,
};

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
    struct wire_create_program m;
    cl_program program;
    size_t total;
    cl_int error = CL_SUCCESS;

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
    m = (struct wire_create_program){program->object.id, context->object.id, program->source, (uint32_t)total};
    wire_put_create_program(broadcast_begin(context), &m);
    error = cl_error(broadcast_end(context, STREAM_LATER));
    fail_ret(ret, error);
    if (error)
        handle_release(program, WIRE_PROGRAM, 0);
    return error ? NULL : program;
}

static cl_int check_device_list(cl_context context, cl_uint count, const cl_device_id *devices)
{
    if (!count != !devices)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!context_has_device(context, devices[i]))
            return CL_INVALID_DEVICE;
    }
    return CL_SUCCESS;
}

static cl_int binary_check(cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
                           const unsigned char **binaries)
{
    size_t total = 0;
    cl_int error = CL_SUCCESS;

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!count || !devices || count > WIRE_MAX_DEVICES || !lengths || !binaries)
        return CL_INVALID_VALUE;
    error = check_device_list(context, count, devices);
    for (cl_uint i = 0; !error && i < count; i++) {
        if (!lengths[i] || !binaries[i])
            error = CL_INVALID_VALUE;
        total += lengths[i];
    }
    return !error && total > WIRE_MAX_BLOB ? CL_OUT_OF_HOST_MEMORY : error;
}

static cl_int binary_send(struct node *node, cl_program program, const size_t *lengths, const unsigned char **binaries,
                          cl_int *statuses)
{
    struct wire_buffer sizes = {0}, bytes = {0};
    uint32_t ids[WIRE_MAX_DEVICES];
    struct wire_create_program_binary m = {
        .program = program->object.id, .context = program->context->object.id, .devices = ids};
    struct wire_create_program_binary_reply reply;
    struct wire_buffer *out;
    struct call call;
    size_t total = 0;
    uint8_t *all;
    cl_int error;

    m.devices_count = devices_of_node(node, program->device_count, program->devices, ids);
    if (!m.devices_count)
        return CL_SUCCESS;
    for (cl_uint i = 0; i < program->device_count; i++) {
        if (program->devices[i]->node != node)
            continue;
        wire_put_u64(&sizes, lengths[i]);
        total += lengths[i];
    }
    all = wire_reserve(&bytes, total);
    if (!all || sizes.failed) {
        wire_buffer_free(&sizes);
        return CL_OUT_OF_HOST_MEMORY;
    }
    for (cl_uint i = 0; i < program->device_count; i++) {
        if (program->devices[i]->node != node)
            continue;
        memcpy(all, binaries[i], lengths[i]);
        all += lengths[i];
    }
    m.sizes = sizes.bytes;
    m.sizes_length = (uint32_t)sizes.length;
    m.binaries = bytes.bytes;
    m.binaries_length = (uint32_t)total;
    out = call_begin(node, WIRE_create_program_binary, &call);
    m.call = call.id;
    wire_put_create_program_binary(out, &m);
    wire_buffer_free(&sizes);
    wire_buffer_free(&bytes);
    error = cl_error(call_end(&call));
    if (error)
        return error;
    if (!wire_get_create_program_binary_reply(&call.fields, &reply))
        error = CL_OUT_OF_RESOURCES;
    else
        error = reply.error;
    if (statuses && error != CL_OUT_OF_RESOURCES && reply.statuses_length == 4 * m.devices_count) {
        const uint8_t *at = reply.statuses;

        for (cl_uint i = 0; i < program->device_count; i++) {
            if (program->devices[i]->node != node)
                continue;
            memcpy(&statuses[i], at, 4);
            at += 4;
        }
    }
    call_free(&call);
    return error;
}

/* Each node gets the binaries of its own devices. */
static cl_int binaries_send(cl_program program, const size_t *lengths, const unsigned char **binaries, cl_int *statuses)
{
    cl_context context = program->context;
    cl_int error = CL_SUCCESS;

    for (unsigned i = 0; !error && i < context->node_count; i++)
        error = binary_send(context->nodes[i], program, lengths, binaries, statuses);
    return error;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                     const size_t *lengths, const unsigned char **binaries, cl_int *statuses,
                                     cl_int *ret)
{
    cl_int error = binary_check(context, count, devices, lengths, binaries);
    cl_program program = NULL;

    if (!error) {
        program = program_new(context, count, devices);
        error = program ? binaries_send(program, lengths, binaries, statuses) : CL_OUT_OF_HOST_MEMORY;
    }
    if (error && program) {
        handle_release(program, WIRE_PROGRAM, 0);
        program = NULL;
    }
    if (program)
        program->binary = true;
    fail_ret(ret, error);
    return program;
}

static cl_int il_send(struct node *node, cl_program program, const void *il, size_t length)
{
    struct wire_create_program_il m = {
        .program = program->object.id, .context = program->context->object.id, .il = il, .il_length = (uint32_t)length};
    struct wire_create_program_il_reply reply;
    struct call call;
    struct wire_buffer *out = call_begin(node, WIRE_create_program_il, &call);
    cl_int error;

    m.call = call.id;
    wire_put_create_program_il(out, &m);
    error = cl_error(call_end(&call));
    if (error)
        return error;
    error = wire_get_create_program_il_reply(&call.fields, &reply) ? reply.error : CL_OUT_OF_RESOURCES;
    call_free(&call);
    return error;
}

cl_program clCreateProgramWithIL(cl_context context, const void *il, size_t length, cl_int *ret)
{
    cl_program program = NULL;
    cl_int error = CL_SUCCESS, one;

    if (!handle_check(context, WIRE_CONTEXT))
        error = CL_INVALID_CONTEXT;
    else if (!il || !length || length > WIRE_MAX_BLOB)
        error = CL_INVALID_VALUE;
    if (!error) {
        program = program_new(context, context->device_count, context->devices);
        error = program ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    if (program)
        program->il = true;
    for (unsigned i = 0; program && i < context->node_count; i++) { /* all of them: it will be released on all */
        one = il_send(context->nodes[i], program, il, length);
        error = error ? error : one;
    }
    if (error && program) {
        handle_release(program, WIRE_PROGRAM, 0);
        program = NULL;
    }
    fail_ret(ret, error);
    return program;
}

static cl_int builtin_send(struct node *node, cl_program program, const char *names)
{
    uint32_t ids[WIRE_MAX_DEVICES];
    struct wire_create_program_builtin m = {.program = program->object.id,
                                            .context = program->context->object.id,
                                            .devices = ids,
                                            .names = names,
                                            .names_length = (uint32_t)strlen(names)};
    struct wire_create_program_builtin_reply reply;
    struct wire_buffer *out;
    struct call call;
    cl_int error;

    m.devices_count = devices_of_node(node, program->device_count, program->devices, ids);
    if (!m.devices_count)
        return CL_SUCCESS;
    out = call_begin(node, WIRE_create_program_builtin, &call);
    m.call = call.id;
    wire_put_create_program_builtin(out, &m);
    error = cl_error(call_end(&call));
    if (error)
        return error;
    error = wire_get_create_program_builtin_reply(&call.fields, &reply) ? reply.error : CL_OUT_OF_RESOURCES;
    if (!error)
        error = program_take_kernels(program, reply.kernels, reply.kernels_length);
    program->built = !error && program->kernel_count; /* the native one may want a build first */
    call_free(&call);
    return error;
}

cl_program clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count, const cl_device_id *devices,
                                             const char *names, cl_int *ret)
{
    cl_program program = NULL;
    cl_int error = CL_SUCCESS;

    if (!handle_check(context, WIRE_CONTEXT))
        error = CL_INVALID_CONTEXT;
    else if (!count || !devices || count > WIRE_MAX_DEVICES || !names || strlen(names) > 65536)
        error = CL_INVALID_VALUE;
    else
        error = check_device_list(context, count, devices);
    if (!error) {
        program = program_new(context, count, devices);
        error = program ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    for (unsigned i = 0; !error && i < context->node_count; i++)
        error = builtin_send(context->nodes[i], program, names);
    if (error && program) {
        handle_release(program, WIRE_PROGRAM, 0);
        program = NULL;
    }
    fail_ret(ret, error);
    return program;
}

cl_int clRetainProgram(cl_program program)
{
    return handle_retain(program, WIRE_PROGRAM, CL_INVALID_PROGRAM);
}

cl_int clReleaseProgram(cl_program program)
{
    return handle_release(program, WIRE_PROGRAM, CL_INVALID_PROGRAM);
}

cl_int clSetProgramReleaseCallback(cl_program program, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    (void)notify;
    (void)data;
    return handle_check(program, WIRE_PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM; /* deprecated, as native */
}

static cl_int specialize(struct node *node, cl_program program, cl_uint id, size_t size, const void *value)
{
    struct wire_set_specialization m = {
        .program = program->object.id, .id = id, .value = value, .value_length = (uint32_t)size};
    struct wire_set_specialization_reply reply;
    struct call call;
    struct wire_buffer *out = call_begin(node, WIRE_set_specialization, &call);
    cl_int error;

    m.call = call.id;
    wire_put_set_specialization(out, &m);
    error = cl_error(call_end(&call));
    if (error)
        return error;
    error = wire_get_set_specialization_reply(&call.fields, &reply) ? reply.error : CL_OUT_OF_RESOURCES;
    call_free(&call);
    return error;
}

cl_int clSetProgramSpecializationConstant(cl_program program, cl_uint id, size_t size, const void *value)
{
    cl_int error = CL_SUCCESS;

    if (!handle_check(program, WIRE_PROGRAM) || !program->il)
        return CL_INVALID_PROGRAM;
    if (!value || !size || size > 128)
        return CL_INVALID_VALUE;
    program_wait(program);
    for (unsigned i = 0; !error && i < program->context->node_count; i++)
        error = specialize(program->context->nodes[i], program, id, size, value);
    return error;
}

/* ---- queries ---- */

static cl_int kernel_names(cl_program program, size_t size, void *value, size_t *size_ret)
{
    size_t length = 1;
    char *names, *to;
    cl_int error;

    for (uint32_t i = 0; i < program->kernel_count; i++)
        length += strlen(program->kernels[i].name) + 1;
    to = names = calloc(1, length);
    if (!names)
        return CL_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < program->kernel_count; i++)
        to += sprintf(to, "%s%s", i ? ";" : "", program->kernels[i].name);
    error = info_string(names, size, value, size_ret);
    free(names);
    return error;
}

/* What a build decides. Binaries may grow with the launches, too. */
static bool is_of_build(cl_program_info param)
{
    return param != CL_PROGRAM_REFERENCE_COUNT && param != CL_PROGRAM_CONTEXT && param != CL_PROGRAM_NUM_DEVICES &&
           param != CL_PROGRAM_DEVICES && param != CL_PROGRAM_SOURCE && param != CL_PROGRAM_IL;
}

/* What it was told that a binary has. Binaries grow, and nodes may say what they like. */
static bool has_room(cl_program program, cl_uint device, uint64_t size)
{
    bool has;

    pthread_mutex_lock(&program->lock);
    has = program->binary_sizes && size <= program->binary_sizes[device];
    pthread_mutex_unlock(&program->lock);
    if (!has)
        vocl_log(LOG_WARN, "a binary of %llu bytes is more than its size was told to be", (unsigned long long)size);
    return has;
}

static cl_int remember_sizes(cl_program program, const size_t *sizes)
{
    cl_int error = CL_SUCCESS;

    pthread_mutex_lock(&program->lock);
    if (!program->binary_sizes)
        program->binary_sizes = calloc(program->device_count, sizeof(*sizes));
    if (program->binary_sizes)
        memcpy(program->binary_sizes, sizes, program->device_count * sizeof(*sizes));
    else
        error = CL_OUT_OF_HOST_MEMORY;
    pthread_mutex_unlock(&program->lock);
    return error;
}

/* The binaries of the node's devices, to where the application has room for them. */
static cl_int binaries_of(struct node *node, cl_program program, unsigned char **to)
{
    size_t length;
    struct wire_cursor in;
    void *bytes;
    cl_int error = cl_error(info_take(node, WIRE_INFO_BINARIES, program->object.id, &bytes, &length));

    in = wire_cursor(bytes, length);
    for (cl_uint i = 0; !error && i < program->device_count; i++) {
        uint64_t count;
        const void *from;

        if (program->devices[i]->node != node)
            continue;
        count = wire_get_u64(&in);
        from = wire_get_bytes(&in, count);
        if (!from || (to[i] && !has_room(program, i, count)))
            error = CL_OUT_OF_RESOURCES;
        else if (to[i])
            memcpy(to[i], from, count);
    }
    free(bytes);
    return error;
}

/* CL_PROGRAM_BINARIES: value is an array of pointers to memory of the application. */
static cl_int binaries(cl_program program, size_t size, void *value, size_t *size_ret)
{
    size_t needed = program->device_count * sizeof(unsigned char *);
    cl_int error = CL_SUCCESS;

    if (size_ret)
        *size_ret = needed;
    if (!value)
        return CL_SUCCESS;
    if (size < needed)
        return CL_INVALID_VALUE;
    for (unsigned i = 0; !error && i < program->context->node_count; i++)
        error = binaries_of(program->context->nodes[i], program, value);
    return error;
}

/* CL_PROGRAM_BINARY_SIZES: each node tells those of its own devices. */
static cl_int binary_sizes(cl_program program, size_t size, void *value, size_t *size_ret)
{
    size_t all[WIRE_MAX_DEVICES] = {0}, own[WIRE_MAX_DEVICES];

    for (unsigned node = 0; node < program->context->node_count; node++) {
        struct node *asked = program->context->nodes[node];
        size_t count = 0, at = 0;
        cl_int error = cl_error(info_ask(asked, WIRE_INFO_PROGRAM, program->object.id, 0, CL_PROGRAM_BINARY_SIZES, NULL,
                                         0, sizeof(own), own, &count));

        if (error)
            return error;
        for (cl_uint i = 0; i < program->device_count; i++) {
            if (program->devices[i]->node == asked && at < count / sizeof(*own))
                all[i] = own[at++];
        }
    }
    if (value && size >= program->device_count * sizeof(*all) && remember_sizes(program, all))
        return CL_OUT_OF_HOST_MEMORY;
    return info_return(all, program->device_count * sizeof(*all), size, value, size_ret);
}

cl_int clGetProgramInfo(cl_program program, cl_program_info param, size_t size, void *value, size_t *size_ret)
{
    size_t kernel_count;
    cl_uint count;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if (info_is_newer(program->context->devices[0], param))
        return CL_INVALID_VALUE;
    if (is_of_build(param))
        program_wait(program);
    if (!program->built && (param == CL_PROGRAM_NUM_KERNELS || param == CL_PROGRAM_KERNEL_NAMES))
        return cl_error(info_ask_once(program->context->node, WIRE_INFO_PROGRAM, &program->object, 0, param, NULL, 0,
                                      size, value, size_ret));
    switch (param) {
    case CL_PROGRAM_REFERENCE_COUNT:
        /* native counts what holds it, too */
        count = (cl_uint)(atomic_load(&program->object.references) + atomic_load(&program->object.uses));
        return info_return(&count, sizeof(count), size, value, size_ret);
    case CL_PROGRAM_CONTEXT:
        return info_return(&program->context, sizeof(cl_context), size, value, size_ret);
    case CL_PROGRAM_NUM_DEVICES:
        return info_return(&program->device_count, sizeof(cl_uint), size, value, size_ret);
    case CL_PROGRAM_DEVICES:
        return info_return(program->devices, program->device_count * sizeof(cl_device_id), size, value, size_ret);
    case CL_PROGRAM_SOURCE:
        return info_string(program->source, size, value, size_ret);
    case CL_PROGRAM_BINARIES:
        return binaries(program, size, value, size_ret);
    case CL_PROGRAM_BINARY_SIZES:
        return binary_sizes(program, size, value, size_ret);
    case CL_PROGRAM_NUM_KERNELS:
        kernel_count = program->kernel_count;
        return info_return(&kernel_count, sizeof(kernel_count), size, value, size_ret);
    case CL_PROGRAM_KERNEL_NAMES:
        return kernel_names(program, size, value, size_ret);
    }
    return cl_error(info_ask_once(program->context->node, WIRE_INFO_PROGRAM, &program->object, 0, param, NULL, 0, size,
                                  value, size_ret));
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info param, size_t size,
                             void *value, size_t *size_ret)
{
    const cl_build_status under_way = CL_BUILD_IN_PROGRESS;
    bool found = false;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    for (cl_uint i = 0; i < program->device_count; i++)
        found |= program->devices[i] == device;
    if (!found)
        return CL_INVALID_DEVICE;
    if (param == CL_PROGRAM_BUILD_STATUS && program_is_building(program))
        return info_return(&under_way, sizeof(under_way), size, value, size_ret);
    program_wait(program);
    return cl_error(info_ask_once(device->node, WIRE_INFO_BUILD, &program->object, device->object.id, param, NULL, 0,
                                  size, value, size_ret));
}
