/* Builds: they run on the helper thread, and the replies describe the kernels. */
#include <stdio.h>

#include "executor/internal.h"

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
    bool holds;  /* the stream is held until it is built */
    bool hidden; /* argument information was added unasked */
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

/* Asked for the kernels of a library, Intel's OpenCL for CPUs crashes; a library has none. */
static bool is_library(cl_program program, cl_device_id device)
{
    cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;

    clGetProgramBuildInfo(program, device, CL_PROGRAM_BINARY_TYPE, sizeof(type), &type, NULL);
    return type == CL_PROGRAM_BINARY_TYPE_LIBRARY;
}

static void build_work(struct slow *slow)
{
    struct build *b = (struct build *)slow;
    const bool links = b->kind == LINK;
    struct build_turn turn;

    if (b->error)
        return;
    turn =
        build_turn_take(b->devices[0], b->options, links, links ? b->input_count : 1, links ? b->inputs : &b->program);

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
    build_turn_leave(turn, !b->error);
    if (!b->error && b->kind != COMPILE && !(links && is_library(b->program, b->devices[0])))
        kernels_describe(b->program, b->devices[0], b->hidden, &b->kernels);
}

static void reply_build(struct executor *x, struct build *b)
{
    struct wire_build_program_reply build = {b->call, b->error, b->kernels.bytes, (uint32_t)b->kernels.length};
    struct wire_compile_program_reply compile = {b->call, b->error};
    struct wire_link_program_reply linked = {b->call, b->error, b->program != NULL, b->kernels.bytes,
                                             (uint32_t)b->kernels.length};

    if (b->kind == BUILD)
        reply_build_program(x, &build);
    else if (b->kind == COMPILE)
        reply_compile_program(x, &compile);
    else
        reply_link_program(x, &linked);
}

static void build_done(struct executor *x, struct job *job)
{
    struct build *b = (struct build *)job;
    struct program *program = object_get(x, WIRE_PROGRAM, b->id);
    const bool holds = b->holds;

    if (b->kind == LINK) {
        if (program) {
            program->native = b->program;
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
    if (holds)
        executor_resume(x);
}

#define ARGUMENT_INFO "-cl-kernel-arg-info"

/* Makes the build's options. The kinds of the kernels' arguments have to be known here in any case; *added: the
 * option was added, which the application must not notice. */
static char *options_of(const struct program *program, uint64_t with_options, const char *options, uint32_t length,
                        bool *added)
{
    char *text;

    *added = false;
    if (!with_options)
        return NULL;
    *added = is_usable(program) && driver_version(program->native) >= 120 &&
             driver_needs_argument_option(program->native) &&
             !memmem(options, length, ARGUMENT_INFO, strlen(ARGUMENT_INFO));
    if (asprintf(&text, "%.*s%s", (int)length, length ? options : "", *added ? " " ARGUMENT_INFO : "") < 0)
        return NULL;
    return text;
}

/* Takes over options, also when it fails. */
static struct build *build_new(enum build_kind kind, uint32_t call, struct device *const *devices,
                               uint32_t device_count, char *options, struct program *const *inputs,
                               uint32_t input_count)
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
    b->device_count = device_count;
    devices_native(devices, device_count, b->devices);
    for (uint32_t i = 0; i < input_count; i++) {
        if (!b->inputs)
            return NULL;             /* the session ends */
        if (!is_usable(inputs[i])) { /* its creation failed here */
            b->error = CL_INVALID_OPERATION;
            continue;
        }
        clRetainProgram(inputs[i]->native);
        b->inputs[b->input_count++] = inputs[i]->native;
    }
    return b->inputs && device_count ? b : NULL;
}

/* Starts a build, or replies with the program's error if its creation failed. */
static int build_start(struct executor *x, struct build *b, struct program *program, bool added, const void *files,
                       uint32_t files_length)
{
    int bad = 0;

    b->id = program->id;
    if (files_length)
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
    b->program = program->native;
    b->hidden = program->hidden = added;
    clRetainProgram(b->program);
    if (b->holds)
        x->held = true;
    slow_start(x, &b->slow);
    return 0;
}

int exec_build_program(struct executor *x, const struct exec_build_program *m)
{
    bool added;
    char *options = options_of(m->program, m->with_options & 1, m->options, m->options_length, &added);
    struct build *b = build_new(BUILD, m->call, m->devices, m->devices_count, options, NULL, 0);

    if (b)
        b->holds = m->with_options & 2;
    return b ? build_start(x, b, m->program, added, m->files, m->files_length) : -EBADMSG;
}

int exec_compile_program(struct executor *x, const struct exec_compile_program *m)
{
    bool added;
    char *options = options_of(m->program, m->with_options, m->options, m->options_length, &added);
    struct build *b = build_new(COMPILE, m->call, m->devices, m->devices_count, options, m->headers, m->headers_count);
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

int exec_link_program(struct executor *x, const struct exec_link_program *m)
{
    struct build *b;

    if (!is_usable(m->context))
        return -EBADMSG;
    b = build_new(LINK, m->call, m->devices, m->devices_count,
                  m->with_options ? strndup(m->options_length ? m->options : "", m->options_length) : NULL, m->inputs,
                  m->inputs_count);
    if (!b)
        return -EBADMSG;
    b->id = m->program->id;
    m->program->error = CL_SUCCESS;
    b->context = m->context->native;
    clRetainContext(b->context);
    slow_start(x, &b->slow);
    return 0;
}
