/* Programs. Builds run on the helper thread; their answer describes the kernels. */
#include <stdio.h>

#include "executor/internal.h"

int exec_create_program(struct executor *x, const struct wire_create_program *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct object *program = context ? object_new(x, WIRE_PROGRAM, m->program) : NULL;
    const char *source = m->source_length ? m->source : "";
    size_t length = m->source_length;

    if (!program)
        return -EBADMSG;
    program->error = context->error;
    if (!program->error)
        program->program = clCreateProgramWithSource(context->context, 1, &source, &length, &program->error);
    return 0;
}

int exec_create_program_binary(struct executor *x, const struct wire_create_program_binary *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct object *program = context ? object_new(x, WIRE_PROGRAM, m->program) : NULL;
    struct wire_create_program_binary_reply reply = {.call = m->call};
    struct wire_cursor sizes = wire_cursor(m->sizes, m->sizes_length);
    const unsigned char *at = m->binaries, *binaries[WIRE_MAX_DEVICES];
    cl_device_id devices[WIRE_MAX_DEVICES];
    cl_int statuses[WIRE_MAX_DEVICES] = {0};
    size_t lengths[WIRE_MAX_DEVICES], left = m->binaries_length;
    struct wire_buffer out = {0};

    if (!program || !devices_of(x, m->devices, m->devices_count, devices))
        return -EBADMSG;
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
        program->program = clCreateProgramWithBinary(context->context, m->devices_count, devices, lengths, binaries,
                                                     statuses, &program->error);
    reply.error = program->error;
    reply.statuses = statuses;
    reply.statuses_length = 4 * m->devices_count;
    wire_put_create_program_binary_reply(&out, &reply);
    executor_send(x, &out);
    return 0;
}

int exec_create_program_il(struct executor *x, const struct wire_create_program_il *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct object *program = context ? object_new(x, WIRE_PROGRAM, m->program) : NULL;
    struct wire_create_program_il_reply reply = {.call = m->call};
    struct wire_buffer out = {0};

    if (!program)
        return -EBADMSG;
    program->error = context->error;
    if (!program->error)
        program->program = clCreateProgramWithIL(context->context, m->il, m->il_length, &program->error);
    reply.error = program->error;
    wire_put_create_program_il_reply(&out, &reply);
    executor_send(x, &out);
    return 0;
}

/* ---- the kernel table ---- */

static uint32_t text_info(cl_kernel kernel, cl_uint index, cl_kernel_arg_info param, char *text, size_t size)
{
    size_t length = 0;

    if (clGetKernelArgInfo(kernel, index, param, size, text, &length) || !length)
        return 0;
    return (uint32_t)length - 1;
}

static const struct {
    const char *name;
    uint32_t size;
} scalars[] = {{"char", 1},         {"uchar", 1},        {"short", 2},     {"ushort", 2},        {"int", 4},
               {"uint", 4},         {"long", 8},         {"ulong", 8},     {"float", 4},         {"double", 8},
               {"half", 2},         {"size_t", 8},       {"ptrdiff_t", 8}, {"unsigned char", 1}, {"unsigned short", 2},
               {"unsigned int", 4}, {"unsigned long", 8}};

/* Of a built-in scalar or vector type; 0 for others. */
static uint32_t type_size(const char *name, uint32_t length)
{
    for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++) {
        size_t word = strlen(scalars[i].name);
        char digits[8] = "";

        if (length < word || strncmp(name, scalars[i].name, word) || length - word > 2)
            continue;
        memcpy(digits, name + word, length - word);
        if (!*digits)
            return scalars[i].size;
        for (const char *count = " 2 3 4 8 16 "; *count; count++) {
            char pattern[12];

            snprintf(pattern, sizeof(pattern), " %s ", digits);
            if (!strncmp(count, pattern, strlen(pattern)))
                return scalars[i].size * (uint32_t)(atoi(digits) == 3 ? 4 : atoi(digits));
        }
    }
    return 0;
}

static const uint8_t zeroes[1024];

/* The one size that the native call takes; 0 when it takes several, so that it does not look. */
static uint32_t probe_size(cl_kernel kernel, cl_uint index)
{
    uint32_t found = 0;

    for (uint32_t size = 1; size <= sizeof(zeroes); size++) {
        if (clSetKernelArg(kernel, index, size, zeroes))
            continue;
        if (found)
            return 0;
        found = size;
    }
    return found;
}

/* PoCL takes a vector of three as three elements, too, and tells it by nothing but the size. */
static uint32_t probe_other_size(cl_kernel kernel, cl_uint index, uint32_t size)
{
    uint32_t other = size / 4 * 3;

    return other && size % 4 == 0 && !clSetKernelArg(kernel, index, other, zeroes) ? other : size;
}

static void describe_argument(cl_kernel kernel, cl_uint index, bool hidden, struct wire_buffer *table)
{
    char type[512] = "", name[512] = "";
    struct wire_kernel_argument a = {.address = CL_KERNEL_ARG_ADDRESS_PRIVATE, .type_name = type, .name = name};
    cl_kernel_arg_type_qualifier qualifier = 0;

    a.known = !clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(a.address), &a.address, NULL);
    clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof(a.access), &a.access, NULL);
    clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof(qualifier), &qualifier, NULL);
    a.qualifier = (uint32_t)qualifier;
    a.type_name_length = text_info(kernel, index, CL_KERNEL_ARG_TYPE_NAME, type, sizeof(type));
    a.name_length = text_info(kernel, index, CL_KERNEL_ARG_NAME, name, sizeof(name));
    if (a.known && a.address == CL_KERNEL_ARG_ADDRESS_PRIVATE && strncmp(type, "image", 5) &&
        strcmp(type, "sampler_t") && strncmp(type, "pipe", 4)) {
        a.size = type_size(type, a.type_name_length);
        if (!a.size)
            a.size = probe_size(kernel, index);
        a.other_size = probe_other_size(kernel, index, a.size);
    }
    a.known &= !hidden;
    wire_put_kernel_argument(table, &a);
}

static void describe_kernel(cl_kernel kernel, cl_device_id device, bool hidden, struct wire_buffer *table)
{
    char name[4096] = "", attributes[4096] = "";
    size_t group[3] = {0};
    cl_uint count = 0;

    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
    clGetKernelInfo(kernel, CL_KERNEL_ATTRIBUTES, sizeof(attributes), attributes, NULL);
    clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
    wire_put_blob(table, name, strlen(name));
    wire_put_u32(table, count);
    wire_put_blob(table, attributes, strlen(attributes));
    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(group), group, NULL);
    for (int i = 0; i < 3; i++)
        wire_put_u64(table, group[i]);
    for (cl_uint i = 0; i < count; i++)
        describe_argument(kernel, i, hidden, table);
}

static void describe_kernels(cl_program program, cl_device_id device, bool hidden, struct wire_buffer *table)
{
    cl_kernel *kernels;
    cl_uint count = 0;

    if (clCreateKernelsInProgram(program, 0, NULL, &count) || !count)
        return;
    kernels = calloc(count, sizeof(*kernels));
    if (!kernels || clCreateKernelsInProgram(program, count, kernels, NULL)) {
        free(kernels);
        return;
    }
    context_hush(true);
    for (cl_uint i = 0; i < count; i++) {
        if (!kernels[i]) /* oclgrind: one that calls what is not there */
            continue;
        describe_kernel(kernels[i], device, hidden, table);
        clReleaseKernel(kernels[i]);
    }
    context_hush(false);
    free(kernels);
}

int exec_set_specialization(struct executor *x, const struct wire_set_specialization *m)
{
    struct object *program = object_get(x, WIRE_PROGRAM, m->program);
    struct wire_set_specialization_reply reply = {.call = m->call, .error = CL_INVALID_PROGRAM};
    struct wire_buffer out = {0};

    if (!program)
        return -EBADMSG;
    if (is_usable(program))
        reply.error = clSetProgramSpecializationConstant(program->program, m->id, m->value_length, m->value);
    wire_put_set_specialization_reply(&out, &reply);
    executor_send(x, &out);
    return 0;
}

int exec_create_program_builtin(struct executor *x, const struct wire_create_program_builtin *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct object *program = context ? object_new(x, WIRE_PROGRAM, m->program) : NULL;
    struct wire_create_program_builtin_reply reply = {.call = m->call};
    struct wire_buffer out = {0}, kernels = {0};
    cl_device_id devices[WIRE_MAX_DEVICES];
    char names[65537];

    if (!program || !devices_of(x, m->devices, m->devices_count, devices))
        return -EBADMSG;
    memcpy(names, m->names, m->names_length);
    names[m->names_length] = '\0';
    program->error = context->error;
    if (!program->error)
        program->program =
            clCreateProgramWithBuiltInKernels(context->context, m->devices_count, devices, names, &program->error);
    if (is_usable(program))
        describe_kernels(program->program, devices[0], false, &kernels);
    reply.error = program->error;
    reply.kernels = kernels.bytes;
    reply.kernels_length = (uint32_t)kernels.length;
    wire_put_create_program_builtin_reply(&out, &reply);
    wire_buffer_free(&kernels);
    executor_send(x, &out);
    return 0;
}

/* ---- builds ---- */

enum build_kind { BUILD, COMPILE, LINK };

struct build {
    struct slow slow;
    enum build_kind kind;
    uint32_t call, id;
    cl_program program;
    cl_context context;
    char *options;
    cl_uint device_count, input_count;
    cl_device_id devices[WIRE_MAX_DEVICES];
    cl_program *inputs;
    char *names;
    const char **name_list;
    struct include_tree *tree;
    bool hidden; /* argument information is there, and the application did not ask for it */
    cl_int error;
    struct wire_buffer kernels;
};

/* PoCL 3.1 ends the process for an input that has nothing to link for a device. */
static cl_int check_inputs(const struct build *b)
{
    for (cl_uint i = 0; i < b->input_count; i++) {
        for (cl_uint at = 0; at < b->device_count; at++) {
            cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
            cl_build_status status = CL_BUILD_NONE;

            clGetProgramBuildInfo(b->inputs[i], b->devices[at], CL_PROGRAM_BINARY_TYPE, sizeof(type), &type, NULL);
            clGetProgramBuildInfo(b->inputs[i], b->devices[at], CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL);
            if (type == CL_PROGRAM_BINARY_TYPE_NONE || status == CL_BUILD_ERROR || status == CL_BUILD_IN_PROGRESS)
                return CL_INVALID_OPERATION;
        }
    }
    return CL_SUCCESS;
}

static void build_work(struct slow *slow)
{
    struct build *b = (struct build *)slow;

    switch (b->kind) {
    case BUILD:
        b->error = clBuildProgram(b->program, b->device_count, b->devices, b->options, NULL, NULL);
        break;
    case COMPILE:
        b->error = clCompileProgram(b->program, b->device_count, b->devices, b->options, b->input_count, b->inputs,
                                    b->name_list, NULL, NULL);
        break;
    case LINK:
        b->error = check_inputs(b);
        if (!b->error)
            b->program = clLinkProgram(b->context, b->device_count, b->devices, b->options, b->input_count, b->inputs,
                                       NULL, NULL, &b->error);
        break;
    }
    if (!b->error && b->kind != COMPILE)
        describe_kernels(b->program, b->devices[0], b->hidden, &b->kernels);
}

static void reply_build(struct executor *x, struct build *b)
{
    struct wire_build_program_reply build = {b->call, b->error, b->kernels.bytes, (uint32_t)b->kernels.length};
    struct wire_compile_program_reply compile = {b->call, b->error};
    struct wire_link_program_reply linked = {b->call, b->error, b->program != NULL, b->kernels.bytes,
                                             (uint32_t)b->kernels.length};
    struct wire_buffer out = {0};

    if (b->kind == BUILD)
        wire_put_build_program_reply(&out, &build);
    else if (b->kind == COMPILE)
        wire_put_compile_program_reply(&out, &compile);
    else
        wire_put_link_program_reply(&out, &linked);
    executor_send(x, &out);
}

static void build_done(struct executor *x, struct job *job)
{
    struct build *b = (struct build *)job;
    struct object *program = object_get(x, WIRE_PROGRAM, b->id);

    if (b->kind == LINK) {
        if (program) {
            program->program = b->program;
            program->error = b->program ? CL_SUCCESS : b->error;
        }
        clReleaseContext(b->context);
    } else {
        clReleaseProgram(b->program);
    }
    include_remove(b->tree);
    if (program) {
        include_free(program->tree);
        program->tree = b->tree;
    } else {
        include_free(b->tree);
    }
    reply_build(x, b);
    for (cl_uint i = 0; i < b->input_count; i++)
        clReleaseProgram(b->inputs[i]);
    wire_buffer_free(&b->kernels);
    free(b->options);
    free(b->inputs);
    free(b->names);
    free(b->name_list);
    free(b);
}

#define ARGUMENT_INFO "-cl-kernel-arg-info"

/* What the kernels' arguments are has to be known here in any case; *added: the application must not notice. */
static char *options_of(struct executor *x, uint32_t id, uint64_t with_options, const char *options, uint32_t length,
                        bool *added)
{
    const struct object *program = object_get(x, WIRE_PROGRAM, id);
    char *text;

    *added = false;
    if (!with_options)
        return NULL;
    *added = program && is_usable(program) && driver_version(program->program) >= 120 &&
             !memmem(options, length, ARGUMENT_INFO, strlen(ARGUMENT_INFO));
    if (asprintf(&text, "%.*s%s", (int)length, length ? options : "", *added ? " " ARGUMENT_INFO : "") < 0)
        return NULL;
    return text;
}

/* options: become the build's. */
static struct build *build_new(struct executor *x, enum build_kind kind, uint32_t call, const uint32_t *devices,
                               uint32_t device_count, char *options, const uint32_t *inputs, uint32_t input_count)
{
    struct build *b = calloc(1, sizeof(*b));

    if (!b) {
        free(options);
        return NULL;
    }
    b->kind = kind;
    b->call = call;
    b->slow.work = build_work;
    b->slow.job.run = build_done;
    b->options = options;
    b->inputs = calloc(input_count + 1, sizeof(*b->inputs));
    for (uint32_t i = 0; i < device_count; i++) {
        struct object *device = object_get(x, WIRE_DEVICE, devices[i]);

        if (!device)
            return NULL; /* the session ends */
        b->devices[b->device_count++] = device->device;
    }
    for (uint32_t i = 0; i < input_count; i++) {
        struct object *input = object_get(x, WIRE_PROGRAM, inputs[i]);

        if (!input || !is_usable(input) || !b->inputs)
            return NULL;
        clRetainProgram(input->program);
        b->inputs[b->input_count++] = input->program;
    }
    return b->inputs && device_count ? b : NULL;
}

/* The program may have failed to come into being: then that is what its build says. */
static int build_start(struct executor *x, struct build *b, uint32_t id, bool added, const void *files,
                       uint32_t files_length)
{
    struct object *program = object_get(x, WIRE_PROGRAM, id);
    int bad = program ? 0 : -EBADMSG;

    b->id = id;
    if (!bad && files_length)
        bad = include_write(files, files_length, &b->options, &b->tree);
    if (bad) {
        include_remove(b->tree);
        return bad;
    }
    if (!is_usable(program)) {
        b->error = program->error;
        reply_build(x, b);
        return 0;
    }
    b->program = program->program;
    b->hidden = program->hidden = added;
    clRetainProgram(b->program);
    slow_start(x, &b->slow);
    return 0;
}

int exec_build_program(struct executor *x, const struct wire_build_program *m)
{
    bool added;
    char *options = options_of(x, m->program, m->with_options, m->options, m->options_length, &added);
    struct build *b = build_new(x, BUILD, m->call, m->devices, m->devices_count, options, NULL, 0);

    return b ? build_start(x, b, m->program, added, m->files, m->files_length) : -EBADMSG;
}

int exec_compile_program(struct executor *x, const struct wire_compile_program *m)
{
    bool added;
    char *options = options_of(x, m->program, m->with_options, m->options, m->options_length, &added);
    struct build *b =
        build_new(x, COMPILE, m->call, m->devices, m->devices_count, options, m->headers, m->headers_count);
    char *at, *end;

    if (!b)
        return -EBADMSG;
    if (m->headers_count) {
        b->names = malloc(m->header_names_length + 1);
        b->name_list = calloc(m->headers_count, sizeof(*b->name_list));
        if (!b->names || !b->name_list)
            return -ENOMEM;
        memcpy(b->names, m->header_names, m->header_names_length);
        b->names[m->header_names_length] = '\0';
        at = b->names;
        end = b->names + m->header_names_length;
        for (uint32_t i = 0; i < m->headers_count; i++) {
            if (at >= end)
                return -EBADMSG;
            b->name_list[i] = at;
            at += strlen(at) + 1;
        }
    }
    return build_start(x, b, m->program, added, m->files, m->files_length);
}

int exec_link_program(struct executor *x, const struct wire_link_program *m)
{
    struct object *context = object_get(x, WIRE_CONTEXT, m->context);
    struct build *b;

    if (!context || !is_usable(context))
        return -EBADMSG;
    b = build_new(x, LINK, m->call, m->devices, m->devices_count,
                  m->with_options ? strndup(m->options_length ? m->options : "", m->options_length) : NULL, m->inputs,
                  m->inputs_count);
    if (!b || !object_new(x, WIRE_PROGRAM, m->program))
        return -EBADMSG;
    b->id = m->program;
    b->context = context->context;
    clRetainContext(b->context);
    slow_start(x, &b->slow);
    return 0;
}
