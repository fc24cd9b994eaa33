/* Programs: creation, builds, binaries. A build is a round trip; its answer describes the kernels once and for all. */
#include <stdio.h>
#include <string.h>

#include "libvocl/internal.h"
#include "wire/tables.h"

/* ---- creation ---- */

static cl_program program_new(cl_context context, cl_uint count, const cl_device_id *devices)
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
    handle_use(context);
    return program;
}

static void kernels_free(cl_program program)
{
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        struct kernel_description *kernel = &program->kernels[i];

        for (uint32_t j = 0; kernel->arguments && j < kernel->argument_count; j++) {
            free(kernel->arguments[j].type_name);
            free(kernel->arguments[j].name);
        }
        free(kernel->arguments);
        free(kernel->name);
        free(kernel->attributes);
    }
    free(program->kernels);
    program->kernels = NULL;
    program->kernel_count = 0;
}

void program_destroy(cl_program program)
{
    cl_context context = program->context;
    struct session *session = context->node->session;

    kernels_free(program);
    free(program->devices);
    free(program->source);
    free(program->il);
    pthread_mutex_destroy(&program->lock);
    session_lock(session);
    handle_free(&program->object);
    session_unlock(session);
    handle_drop(context);
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
    wire_put_create_program(stream_begin(context->node), &m);
    error = stream_end(context->node, STREAM_LATER);
    fail_ret(ret, error);
    if (error)
        handle_release(program, WIRE_PROGRAM, 0);
    return error ? NULL : program;
}

static bool in_context(cl_context context, cl_device_id device)
{
    for (cl_uint i = 0; i < context->device_count; i++) {
        if (context->devices[i] == device)
            return true;
    }
    return false;
}

static cl_int check_device_list(cl_context context, cl_uint count, const cl_device_id *devices)
{
    if (!count != !devices)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!in_context(context, devices[i]))
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

static cl_int binary_send(cl_program program, const size_t *lengths, const unsigned char **binaries, cl_int *statuses)
{
    struct node *node = program->context->node;
    struct wire_buffer sizes = {0}, bytes = {0};
    uint32_t ids[WIRE_MAX_DEVICES];
    struct wire_create_program_binary m = {.program = program->object.id,
                                           .context = program->context->object.id,
                                           .devices = ids,
                                           .devices_count = program->device_count};
    struct wire_create_program_binary_reply reply;
    struct wire_buffer *out;
    struct call call;
    size_t total = 0;
    uint8_t *all;
    cl_int error;

    for (cl_uint i = 0; i < program->device_count; i++) {
        ids[i] = program->devices[i]->object.id;
        wire_put_u64(&sizes, lengths[i]);
        total += lengths[i];
    }
    all = wire_reserve(&bytes, total);
    if (!all || sizes.failed) {
        wire_buffer_free(&sizes);
        return CL_OUT_OF_HOST_MEMORY;
    }
    for (cl_uint i = 0; i < program->device_count; all += lengths[i++])
        memcpy(all, binaries[i], lengths[i]);
    m.sizes = sizes.bytes;
    m.sizes_length = (uint32_t)sizes.length;
    m.binaries = bytes.bytes;
    m.binaries_length = (uint32_t)total;
    out = call_begin(node, WIRE_create_program_binary, &call);
    m.call = call.id;
    wire_put_create_program_binary(out, &m);
    wire_buffer_free(&sizes);
    wire_buffer_free(&bytes);
    error = call_end(&call);
    if (error)
        return error;
    if (!wire_get_create_program_binary_reply(&call.fields, &reply))
        error = CL_OUT_OF_RESOURCES;
    else
        error = reply.error;
    if (statuses && error != CL_OUT_OF_RESOURCES && reply.statuses_length == 4 * program->device_count)
        memcpy(statuses, reply.statuses, reply.statuses_length);
    call_free(&call);
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
        error = program ? binary_send(program, lengths, binaries, statuses) : CL_OUT_OF_HOST_MEMORY;
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

cl_program clCreateProgramWithIL(cl_context context, const void *il, size_t length, cl_int *ret)
{
    struct wire_create_program_il m = {.il = il, .il_length = (uint32_t)length};
    struct wire_create_program_il_reply reply;
    struct wire_buffer *out;
    struct call call;
    cl_program program = NULL;
    cl_int error = CL_SUCCESS;

    if (!handle_check(context, WIRE_CONTEXT))
        error = CL_INVALID_CONTEXT;
    else if (!il || !length || length > WIRE_MAX_BLOB)
        error = CL_INVALID_VALUE;
    if (!error) {
        program = program_new(context, context->device_count, context->devices);
        error = program ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    if (!error) {
        out = call_begin(context->node, WIRE_create_program_il, &call);
        m.call = call.id;
        m.program = program->object.id;
        m.context = context->object.id;
        wire_put_create_program_il(out, &m);
        error = call_end(&call);
        if (!error) {
            error = wire_get_create_program_il_reply(&call.fields, &reply) ? reply.error : CL_OUT_OF_RESOURCES;
            call_free(&call);
        }
    }
    if (error && program) {
        handle_release(program, WIRE_PROGRAM, 0);
        program = NULL;
    }
    fail_ret(ret, error);
    return program;
}

/* ---- the kernels a build made ---- */

static char *copy_text(const void *bytes, uint32_t length)
{
    char *text = malloc(length + 1);

    if (text) {
        if (length)
            memcpy(text, bytes, length);
        text[length] = '\0';
    }
    return text;
}

static bool read_argument(struct wire_cursor *in, struct argument_description *out)
{
    struct wire_kernel_argument a;

    if (!wire_get_kernel_argument(in, &a))
        return false;
    *out = (struct argument_description){
        .size = a.size, .address = a.address, .access = a.access, .qualifier = a.qualifier, .known = a.known};
    out->type_name = copy_text(a.type_name, a.type_name_length);
    out->name = copy_text(a.name, a.name_length);
    return out->type_name && out->name;
}

static bool read_kernel(struct wire_cursor *in, struct kernel_description *out)
{
    const void *name, *attributes;
    uint32_t name_length, attributes_length, count;

    name = wire_get_blob(in, &name_length);
    count = wire_get_u32(in);
    attributes = wire_get_blob(in, &attributes_length);
    if (in->failed || count > in->left / 20)
        return false;
    *out = (struct kernel_description){.name = copy_text(name, name_length),
                                       .attributes = copy_text(attributes, attributes_length),
                                       .argument_count = count,
                                       .arguments = calloc(count + 1, sizeof(*out->arguments))};
    for (int i = 0; i < 3; i++)
        out->fixed_group[i] = wire_get_u64(in);
    if (!out->name || !out->attributes || !out->arguments)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!read_argument(in, &out->arguments[i]))
            return false;
    }
    return true;
}

/* Replaces what is known of the program's kernels. */
static cl_int kernels_read(cl_program program, const void *bytes, uint32_t length)
{
    struct wire_cursor in = wire_cursor(bytes, length);

    kernels_free(program);
    while (in.left && !in.failed) {
        struct kernel_description *more = realloc(program->kernels, (program->kernel_count + 1) * sizeof(*more));

        if (!more)
            return CL_OUT_OF_HOST_MEMORY;
        program->kernels = more;
        more[program->kernel_count] = (struct kernel_description){0};
        program->kernel_count++;
        if (!read_kernel(&in, &more[program->kernel_count - 1]))
            return CL_OUT_OF_RESOURCES;
    }
    return CL_SUCCESS;
}

/* ---- build ---- */

static uint32_t *device_ids(cl_program program, cl_uint *count, const cl_device_id *devices)
{
    uint32_t *ids;

    if (!*count) {
        *count = program->device_count;
        devices = program->devices;
    }
    ids = malloc(*count * sizeof(*ids));
    for (cl_uint i = 0; ids && i < *count; i++)
        ids[i] = devices[i]->object.id;
    return ids;
}

static cl_int build_now(cl_program program, cl_uint count, const uint32_t *ids, const char *options)
{
    struct node *node = program->context->node;
    struct wire_build_program m = {.program = program->object.id,
                                   .devices = ids,
                                   .devices_count = count,
                                   .with_options = options != NULL,
                                   .options = options,
                                   .options_length = options ? (uint32_t)strlen(options) : 0};
    struct wire_build_program_reply reply;
    struct call call;
    struct wire_buffer *out = call_begin(node, WIRE_build_program, &call);
    cl_int error;

    m.call = call.id;
    wire_put_build_program(out, &m);
    error = call_end(&call);
    if (error)
        return error;
    error = wire_get_build_program_reply(&call.fields, &reply) ? reply.error : CL_OUT_OF_RESOURCES;
    pthread_mutex_lock(&program->lock);
    program->tried = true;
    if (!error)
        error = kernels_read(program, reply.kernels, reply.kernels_length);
    program->built = !error;
    pthread_mutex_unlock(&program->lock);
    call_free(&call);
    return error;
}

struct build {
    cl_program program;
    cl_uint count;
    uint32_t *ids;
    char *options;
    void(CL_CALLBACK *notify)(cl_program, void *);
    void *data;
};

static void *build_thread(void *argument)
{
    struct build *build = argument;

    build_now(build->program, build->count, build->ids, build->options);
    build->notify(build->program, build->data);
    handle_drop(build->program);
    free(build->ids);
    free(build->options);
    free(build);
    return NULL;
}

/* With a callback the call returns at once, and a thread of its own sees to the build. */
static cl_int build_later(cl_program program, cl_uint count, uint32_t *ids, const char *options,
                          void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    struct build *build = malloc(sizeof(*build));
    char *copy = options ? strdup(options) : NULL;
    pthread_t thread;

    if (!build || !copy != !options) {
        free(build);
        free(copy);
        free(ids);
        return CL_OUT_OF_HOST_MEMORY;
    }
    *build = (struct build){program, count, ids, copy, notify, data};
    handle_use(program);
    if (pthread_create(&thread, NULL, build_thread, build)) {
        cl_int error = build_now(program, count, ids, options);

        notify(program, data);
        handle_drop(program);
        free(ids);
        free(copy);
        free(build);
        return error;
    }
    pthread_detach(thread);
    return CL_SUCCESS;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    uint32_t *ids;
    cl_int error;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if (!count != !devices || (!notify && data))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!in_context(program->context, devices[i]))
            return CL_INVALID_DEVICE;
    }
    if (atomic_load(&program->live_kernels))
        return CL_INVALID_OPERATION;
    ids = device_ids(program, &count, devices);
    if (!ids)
        return CL_OUT_OF_HOST_MEMORY;
    if (notify)
        return build_later(program, count, ids, options, notify, data);
    error = build_now(program, count, ids, options);
    free(ids);
    return error;
}

static cl_int compile_send(cl_program program, cl_uint count, const uint32_t *ids, const char *options,
                           cl_uint header_count, const cl_program *headers, const char **names)
{
    struct wire_compile_program m = {.program = program->object.id,
                                     .devices = ids,
                                     .devices_count = count,
                                     .with_options = options != NULL,
                                     .options = options,
                                     .options_length = options ? (uint32_t)strlen(options) : 0,
                                     .headers_count = header_count};
    struct wire_compile_program_reply reply;
    struct wire_buffer *out;
    struct call call;
    uint32_t header_ids[1024];
    char *text = NULL;
    size_t length = 0;
    cl_int error;

    for (cl_uint i = 0; i < header_count; i++) {
        size_t more = strlen(names[i]) + 1;
        char *longer = realloc(text, length + more);

        if (!longer) {
            free(text);
            return CL_OUT_OF_HOST_MEMORY;
        }
        text = longer;
        memcpy(text + length, names[i], more);
        length += more;
        header_ids[i] = headers[i]->object.id;
    }
    m.headers = header_ids;
    m.header_names = text;
    m.header_names_length = (uint32_t)length;
    out = call_begin(program->context->node, WIRE_compile_program, &call);
    m.call = call.id;
    wire_put_compile_program(out, &m);
    free(text);
    error = call_end(&call);
    if (!error) {
        error = wire_get_compile_program_reply(&call.fields, &reply) ? reply.error : CL_OUT_OF_RESOURCES;
        call_free(&call);
    }
    program->tried = true;
    return error;
}

cl_int clCompileProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                        cl_uint header_count, const cl_program *headers, const char **names,
                        void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    uint32_t *ids;
    cl_int error;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if (!count != !devices || (!notify && data) || header_count > 1024 || !header_count != !headers ||
        (header_count && !names))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < header_count; i++) {
        if (!handle_check(headers[i], WIRE_PROGRAM))
            return CL_INVALID_PROGRAM;
        if (!names[i])
            return CL_INVALID_VALUE;
    }
    for (cl_uint i = 0; i < count; i++) {
        if (!in_context(program->context, devices[i]))
            return CL_INVALID_DEVICE;
    }
    if (atomic_load(&program->live_kernels) || program->binary)
        return CL_INVALID_OPERATION;
    ids = device_ids(program, &count, devices);
    if (!ids)
        return CL_OUT_OF_HOST_MEMORY;
    error = compile_send(program, count, ids, options, header_count, headers, names);
    free(ids);
    if (notify)
        notify(program, data);
    return error;
}

static cl_int link_check(cl_context context, cl_uint count, const cl_device_id *devices, cl_uint input_count,
                         const cl_program *inputs, bool data_alone)
{
    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!count != !devices || !input_count || !inputs || input_count > 1024)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < input_count; i++) {
        if (!handle_check(inputs[i], WIRE_PROGRAM))
            return CL_INVALID_PROGRAM;
    }
    for (cl_uint i = 0; data_alone && i < input_count; i++) {
        if (inputs[i]->built)
            return CL_INVALID_OPERATION; /* is the first thing wrong */
    }
    if (data_alone)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!in_context(context, devices[i]))
            return CL_INVALID_DEVICE;
    }
    return CL_SUCCESS;
}

static cl_int link_send(cl_program program, cl_uint count, const uint32_t *ids, const char *options,
                        cl_uint input_count, const cl_program *inputs, bool *created)
{
    uint32_t input_ids[1024];
    struct wire_link_program m = {.program = program->object.id,
                                  .context = program->context->object.id,
                                  .devices = ids,
                                  .devices_count = count,
                                  .with_options = options != NULL,
                                  .options = options,
                                  .options_length = options ? (uint32_t)strlen(options) : 0,
                                  .inputs = input_ids,
                                  .inputs_count = input_count};
    struct wire_link_program_reply reply;
    struct wire_buffer *out;
    struct call call;
    cl_int error;

    for (cl_uint i = 0; i < input_count; i++)
        input_ids[i] = inputs[i]->object.id;
    out = call_begin(program->context->node, WIRE_link_program, &call);
    m.call = call.id;
    wire_put_link_program(out, &m);
    error = call_end(&call);
    if (error)
        return error;
    error = wire_get_link_program_reply(&call.fields, &reply) ? reply.error : CL_OUT_OF_RESOURCES;
    *created = reply.created;
    if (!error)
        error = kernels_read(program, reply.kernels, reply.kernels_length);
    program->built = !error;
    program->tried = true;
    call_free(&call);
    return error;
}

cl_program clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices, const char *options,
                         cl_uint input_count, const cl_program *inputs, void(CL_CALLBACK *notify)(cl_program, void *),
                         void *data, cl_int *ret)
{
    cl_int error = link_check(context, count, devices, input_count, inputs, !notify && data);
    cl_program program = NULL;
    bool created = false;
    uint32_t *ids = NULL;

    if (!error) {
        program = program_new(context, count ? count : context->device_count, count ? devices : context->devices);
        ids = program ? device_ids(program, &count, devices) : NULL;
        error = ids ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    if (!error)
        error = link_send(program, count, ids, options, input_count, inputs, &created);
    free(ids);
    if (error && !created && program) {
        handle_release(program, WIRE_PROGRAM, 0);
        program = NULL;
    }
    if (notify && program)
        notify(program, data);
    fail_ret(ret, error);
    return program;
}

static cl_int builtin_send(cl_program program, const char *names)
{
    uint32_t ids[WIRE_MAX_DEVICES];
    struct wire_create_program_builtin m = {.program = program->object.id,
                                            .context = program->context->object.id,
                                            .devices = ids,
                                            .devices_count = program->device_count,
                                            .names = names,
                                            .names_length = (uint32_t)strlen(names)};
    struct wire_create_program_builtin_reply reply;
    struct wire_buffer *out;
    struct call call;
    cl_int error;

    for (cl_uint i = 0; i < program->device_count; i++)
        ids[i] = program->devices[i]->object.id;
    out = call_begin(program->context->node, WIRE_create_program_builtin, &call);
    m.call = call.id;
    wire_put_create_program_builtin(out, &m);
    error = call_end(&call);
    if (error)
        return error;
    error = wire_get_create_program_builtin_reply(&call.fields, &reply) ? reply.error : CL_OUT_OF_RESOURCES;
    if (!error)
        error = kernels_read(program, reply.kernels, reply.kernels_length);
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
        error = program ? builtin_send(program, names) : CL_OUT_OF_HOST_MEMORY;
    }
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

cl_int clSetProgramSpecializationConstant(cl_program program, cl_uint id, size_t size, const void *value)
{
    (void)id;
    (void)size;
    (void)value;
    return handle_check(program, WIRE_PROGRAM) && program->il ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM;
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

/* CL_PROGRAM_BINARIES: value is an array of pointers to memory of the application. */
static cl_int binaries(cl_program program, size_t size, void *value, size_t *size_ret)
{
    size_t needed = program->device_count * sizeof(unsigned char *), length = 0;
    unsigned char **to = value;
    struct wire_cursor in;
    uint8_t *bytes;
    cl_int error;

    if (size_ret)
        *size_ret = needed;
    if (!value)
        return CL_SUCCESS;
    if (size < needed)
        return CL_INVALID_VALUE;
    error = info_ask(program->context->node, WIRE_INFO_BINARIES, program->object.id, 0, 0, NULL, 0, 0, NULL, &length);
    if (error)
        return error;
    bytes = malloc(length + 1);
    if (!bytes)
        return CL_OUT_OF_HOST_MEMORY;
    error =
        info_ask(program->context->node, WIRE_INFO_BINARIES, program->object.id, 0, 0, NULL, 0, length, bytes, &length);
    in = wire_cursor(bytes, length);
    for (cl_uint i = 0; !error && i < program->device_count; i++) {
        uint64_t count = wire_get_u64(&in);
        const void *from = wire_get_bytes(&in, count);

        if (from && to[i])
            memcpy(to[i], from, count);
    }
    free(bytes);
    return error;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info param, size_t size, void *value, size_t *size_ret)
{
    size_t kernel_count;
    cl_uint count;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if (!program->built && (param == CL_PROGRAM_NUM_KERNELS || param == CL_PROGRAM_KERNEL_NAMES))
        return info_ask(program->context->node, WIRE_INFO_PROGRAM, program->object.id, 0, param, NULL, 0, size, value,
                        size_ret);
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
    case CL_PROGRAM_NUM_KERNELS:
        kernel_count = program->kernel_count;
        return info_return(&kernel_count, sizeof(kernel_count), size, value, size_ret);
    case CL_PROGRAM_KERNEL_NAMES:
        return kernel_names(program, size, value, size_ret);
    }
    return info_ask(program->context->node, WIRE_INFO_PROGRAM, program->object.id, 0, param, NULL, 0, size, value,
                    size_ret);
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info param, size_t size,
                             void *value, size_t *size_ret)
{
    bool found = false;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    for (cl_uint i = 0; i < program->device_count; i++)
        found |= program->devices[i] == device;
    if (!found)
        return CL_INVALID_DEVICE;
    return info_ask(program->context->node, WIRE_INFO_BUILD, program->object.id, device->object.id, param, NULL, 0,
                    size, value, size_ret);
}
