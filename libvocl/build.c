/* Builds, compiles and links. A build takes one round trip; its answer describes the kernels, which need not be
 * asked for again. */
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "client/core/cache.h"
#include "libvocl/internal.h"
#include "wire/tables.h"

/* ---- the kernels of a build ---- */

void program_forget_kernels(cl_program program)
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
        info_forget(&kernel->answers);
    }
    free(program->kernels);
    program->kernels = NULL;
    program->kernel_count = 0;
}

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

static uint32_t argument_what(const struct argument_description *d)
{
    if (d->address == CL_KERNEL_ARG_ADDRESS_LOCAL)
        return WIRE_ARGUMENT_LOCAL;
    if (!strcmp(d->type_name, "sampler_t"))
        return WIRE_ARGUMENT_SAMPLER;
    if (d->address != CL_KERNEL_ARG_ADDRESS_PRIVATE || d->image || !strncmp(d->type_name, "pipe", 4))
        return WIRE_ARGUMENT_MEMORY;
    return WIRE_ARGUMENT_VALUE;
}

static bool read_argument(struct wire_cursor *in, struct argument_description *out)
{
    struct wire_kernel_argument a;

    if (!wire_get_kernel_argument(in, &a))
        return false;
    *out = (struct argument_description){.size = a.size,
                                         .other_size = a.other_size,
                                         .address = a.address,
                                         .access = a.access,
                                         .qualifier = a.qualifier,
                                         .known = a.known};
    out->type_name = copy_text(a.type_name, a.type_name_length);
    out->name = copy_text(a.name, a.name_length);
    if (!out->type_name || !out->name)
        return false;
    out->image = !strncmp(out->type_name, "image", 5);
    if (out->known || *out->type_name)
        out->what = argument_what(out);
    return true;
}

static bool read_kernel(struct wire_cursor *in, struct kernel_description *out)
{
    const void *name, *attributes;
    uint32_t name_length, attributes_length, count;

    name = wire_get_blob(in, &name_length);
    count = wire_get_u32(in);
    attributes = wire_get_blob(in, &attributes_length);
    if (in->failed || count > in->left / 32)
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

static cl_int read_kernels(cl_program program, const void *bytes, uint32_t length)
{
    struct wire_cursor in = wire_cursor(bytes, length);

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

cl_int program_take_kernels(cl_program program, const void *bytes, uint32_t length)
{
    cl_int error;

    program_forget_kernels(program);
    error = read_kernels(program, bytes, length);
    if (error)
        program_forget_kernels(program);
    return error;
}

/* ---- build ---- */

/* One call for each node, so that all are asked before the first answer is waited for. */
static struct call *calls_for(cl_context context)
{
    return malloc(context->node_count * sizeof(struct call));
}

/* Takes the first node's description only: kernels from the same source are assumed to be the same on all nodes. */
static cl_int take_kernels(cl_program program, bool first, const void *bytes, uint32_t length)
{
    cl_int error;

    if (!first)
        return CL_SUCCESS;
    mutex_lock(&program->lock);
    error = program_take_kernels(program, bytes, length);
    mutex_unlock(&program->lock);
    return error;
}

void build_send(struct node *node, cl_program program, cl_uint count, const uint32_t *ids, const char *options,
                const struct wire_buffer *files, struct call *call, void (*over)(struct call *))
{
    struct wire_build_program m = {.program = program->object.id,
                                   .devices = ids,
                                   .devices_count = count,
                                   .with_options = (options ? 1 : 0) | (over ? 2 : 0),
                                   .options = options,
                                   .options_length = options ? (uint32_t)strlen(options) : 0,
                                   .files = files->bytes,
                                   .files_length = (uint32_t)files->length};
    struct wire_buffer *out = call_begin(node, WIRE_build_program, call);

    m.call = call->id;
    call->over = over;
    wire_put_build_program(out, &m);
    call_send(call);
}

cl_int build_take(cl_program program, bool first, struct call *call, const struct wire_buffer *key)
{
    struct wire_build_program_reply reply;
    cl_int error = cl_error(call_wait_build_program(call, &reply));

    if (error)
        return error;
    error = reply.error;
    if (!error)
        error = take_kernels(program, first, reply.kernels, reply.kernels_length);
    if (!error && key && key->length)
        cache_keep(CACHE_BUILD, key->bytes, key->length, reply.kernels, reply.kernels_length);
    call_free(call);
    return error;
}

/* Returns whether a build was started whose answer has to be waited for; otherwise the answer is already known. */
static bool build_on(struct node *node, cl_program program, cl_uint count, const uint32_t *ids, const char *options,
                     struct call *call, struct wire_buffer *key)
{
    struct wire_buffer files = {0};
    bool promised;

    include_collect(node, program->source, options, &files);
    if (!promise_key(program, node, count, ids, options, &files, key))
        key->length = 0;
    promised =
        program->context->node_count == 1 && key->length && promise_build(program, node, count, ids, options, key);
    if (!promised)
        build_send(node, program, count, ids, options, &files, call, NULL);
    wire_buffer_free(&files);
    return !promised;
}

/* Whether each of the devices' nodes has each of the programs. count 0: all devices of the context. */
static bool are_on(cl_context context, cl_uint count, const cl_device_id *devices, cl_uint program_count,
                   const cl_program *programs)
{
    for (cl_uint i = 0; i < (count ? count : context->device_count); i++) {
        const struct node *node = count ? devices[i]->node : context->devices[i]->node;

        for (cl_uint k = 0; k < program_count; k++) {
            if (!handle_is_on(&programs[k]->object, node))
                return false;
        }
    }
    return true;
}

/* count 0: for all devices of the program. */
static cl_int build_now(cl_program program, cl_uint count, const cl_device_id *devices, const char *options)
{
    cl_context context = program->context;
    struct call *calls = calls_for(context);
    struct wire_buffer *keys = calloc(context->node_count, sizeof(*keys));
    uint32_t ids[WIRE_MAX_DEVICES];
    cl_int error = CL_SUCCESS;
    unsigned asked = 0;

    HALT_GUARD;
    if (!calls || !keys) {
        free(calls);
        free(keys);
        return CL_OUT_OF_HOST_MEMORY;
    }
    if (!count) {
        count = program->device_count;
        devices = program->devices;
    }
    for (unsigned i = 0; i < context->node_count; i++) {
        cl_uint own = devices_of_node(context->nodes[i], count, devices, ids);

        if (own && build_on(context->nodes[i], program, own, ids, options, &calls[asked], &keys[asked]))
            asked++;
    }
    for (unsigned i = 0; i < asked; i++) {
        cl_int one = build_take(program, i == 0, &calls[i], &keys[i]);

        error = error ? error : one;
        wire_buffer_free(&keys[i]);
    }
    free(calls);
    free(keys);
    info_forget(&program->object.answers);
    mutex_lock(&program->lock);
    program->built = !error;
    mutex_unlock(&program->lock);
    program_keep_step(program, &(struct program_step){.what = STEP_BUILD,
                                                      .device_count = count,
                                                      .devices = (cl_device_id *)(uintptr_t)devices,
                                                      .options = (char *)(uintptr_t)options,
                                                      .error = error});
    return error;
}

/* ---- builds that are under way ---- */

static void building_add(cl_program program, int change)
{
    mutex_lock(&program->lock);
    program->building += (unsigned)change;
    pthread_cond_broadcast(&program->built_now);
    mutex_unlock(&program->lock);
}

bool program_is_building(cl_program program)
{
    bool building;

    mutex_lock(&program->lock);
    building = program->building;
    mutex_unlock(&program->lock);
    return building;
}

void program_wait(cl_program program)
{
    mutex_lock(&program->lock);
    while (program->building)
        mutex_wait(&program->built_now, &program->lock);
    mutex_unlock(&program->lock);
}

struct build {
    cl_program program;
    cl_uint count;
    cl_device_id *devices;
    char *options;
    void(CL_CALLBACK *notify)(cl_program, void *);
    void *data;
};

static void *build_thread(void *argument)
{
    struct build *build = argument;

    build_now(build->program, build->count, build->devices, build->options);
    building_add(build->program, -1);
    build->notify(build->program, build->data);
    handle_drop(build->program);
    free(build->devices);
    free(build->options);
    free(build);
    return NULL;
}

/* With a callback the call returns at once, and a thread of its own builds. */
static cl_int build_later(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                          void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    struct build *build = malloc(sizeof(*build));
    char *copy = options ? strdup(options) : NULL;
    cl_device_id *list = malloc((count + 1) * sizeof(*list));
    pthread_t thread;

    if (!build || !list || !copy != !options) {
        free(build);
        free(copy);
        free(list);
        return CL_OUT_OF_HOST_MEMORY;
    }
    if (count)
        memcpy(list, devices, count * sizeof(*list));
    *build = (struct build){program, count, list, copy, notify, data};
    handle_use(program);
    building_add(program, 1);
    if (thread_start(&thread, build_thread, build)) /* a thread that does not take the program's signals */
        build_thread(build);
    else
        pthread_detach(thread);
    return CL_SUCCESS;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    TIMELINE(clBuildProgram);

    cl_int error;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if (!count != !devices || (!notify && data) || count > MOST_DEVICES)
        return CL_INVALID_VALUE;
    error = context_check_list(program->context, count, devices);
    if (error)
        return error;
    program_wait(program);
    if (atomic_load(&program->live_kernels))
        return CL_INVALID_OPERATION;
    if (count && !are_on(program->context, count, devices, 1, &program))
        return CL_BUILD_PROGRAM_FAILURE; /* as native OpenCL: the program has nothing to build for one of them */
    return notify ? build_later(program, count, devices, options, notify, data)
                  : build_now(program, count, devices, options);
}

/* Joins the headers' names, each with its terminating zero. */
static char *join_names(cl_uint count, const char **names, size_t *length)
{
    char *text;

    *length = 0;
    for (cl_uint i = 0; i < count; i++)
        *length += strlen(names[i]) + 1;
    text = malloc(*length + 1);
    for (size_t i = 0, at = 0; text && i < count; i++) {
        strcpy(text + at, names[i]);
        at += strlen(names[i]) + 1;
    }
    return text;
}

/* Returns NULL if memory is exhausted. */
static uint32_t *ids_of(cl_uint count, const cl_program *programs)
{
    uint32_t *ids = malloc((count + 1) * sizeof(*ids));

    for (cl_uint i = 0; ids && i < count; i++)
        ids[i] = programs[i]->object.id;
    return ids;
}

cl_int compile_send(struct node *node, cl_program program, cl_uint count, const uint32_t *ids,
                    const struct program_step *step, struct call *call)
{
    uint32_t *header_ids = ids_of(step->input_count, step->inputs);
    struct wire_compile_program m = {.program = program->object.id,
                                     .devices = ids,
                                     .devices_count = count,
                                     .with_options = step->options != NULL,
                                     .options = step->options,
                                     .options_length = step->options ? (uint32_t)strlen(step->options) : 0,
                                     .headers = header_ids,
                                     .headers_count = step->input_count,
                                     .header_names = step->names,
                                     .header_names_length = (uint32_t)step->names_length,
                                     .files = step->files.bytes,
                                     .files_length = (uint32_t)step->files.length};

    if (!header_ids)
        return CL_OUT_OF_HOST_MEMORY;
    call_send_compile_program(node, &m, call);
    free(header_ids);
    return CL_SUCCESS;
}

cl_int compile_take(struct call *call)
{
    struct wire_compile_program_reply reply;
    cl_int error = cl_error(call_wait_compile_program(call, &reply));

    if (error)
        return error;
    error = reply.error;
    call_free(call);
    return error;
}

static cl_int compile_now(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                          cl_uint header_count, const cl_program *headers, const char **names)
{
    cl_context context = program->context;
    struct program_step step = {.what = STEP_COMPILE,
                                .options = (char *)(uintptr_t)options,
                                .input_count = header_count,
                                .inputs = (cl_program *)(uintptr_t)headers};
    struct call *calls = calls_for(context);
    uint32_t ids[WIRE_MAX_DEVICES];
    cl_int error = CL_SUCCESS;
    unsigned asked = 0;

    HALT_GUARD;
    if (!count) {
        count = program->device_count;
        devices = program->devices;
    }
    step.names = join_names(header_count, names, &step.names_length);
    if (!step.names || !calls) {
        free(step.names);
        free(calls);
        return CL_OUT_OF_HOST_MEMORY;
    }
    for (unsigned i = 0; !error && i < context->node_count; i++) {
        cl_uint own = devices_of_node(context->nodes[i], count, devices, ids);

        if (!own)
            continue;
        include_collect(context->nodes[i], program->source, options, &step.files);
        error = compile_send(context->nodes[i], program, own, ids, &step, &calls[asked]);
        wire_buffer_free(&step.files);
        asked += !error;
    }
    for (unsigned i = 0; i < asked; i++) {
        cl_int one = compile_take(&calls[i]);

        error = error ? error : one;
    }
    free(calls);
    info_forget(&program->object.answers);
    step.device_count = count;
    step.devices = (cl_device_id *)(uintptr_t)devices;
    step.error = error;
    program_keep_step(program, &step);
    free(step.names);
    return error;
}

cl_int clCompileProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                        cl_uint header_count, const cl_program *headers, const char **names,
                        void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    TIMELINE(clCompileProgram);

    cl_int error;

    if (!handle_check(program, WIRE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if (!count != !devices || count > MOST_DEVICES || (!notify && data) || !header_count != !headers ||
        (header_count && !names))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < header_count; i++) {
        if (!handle_check(headers[i], WIRE_PROGRAM))
            return CL_INVALID_PROGRAM;
        if (!names[i])
            return CL_INVALID_VALUE;
    }
    error = context_check_list(program->context, count, devices);
    if (error)
        return error;
    program_wait(program);
    if (atomic_load(&program->live_kernels) || program->binary ||
        (count && !are_on(program->context, count, devices, 1, &program)) ||
        !are_on(program->context, count ? count : program->device_count, count ? devices : program->devices,
                header_count, headers))
        return CL_INVALID_OPERATION;
    error = compile_now(program, count, devices, options, header_count, headers, names);
    if (notify)
        notify(program, data);
    return error;
}

static cl_int link_check(cl_context context, cl_uint count, const cl_device_id *devices, cl_uint input_count,
                         const cl_program *inputs, bool data_alone)
{
    cl_int error;

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!count != !devices || count > MOST_DEVICES || !input_count || !inputs)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < input_count; i++) {
        if (!handle_check(inputs[i], WIRE_PROGRAM))
            return CL_INVALID_PROGRAM;
        program_wait(inputs[i]);
    }
    for (cl_uint i = 0; data_alone && i < input_count; i++) {
        if (inputs[i]->built)
            return CL_INVALID_OPERATION; /* this error comes before the next one */
    }
    if (data_alone)
        return CL_INVALID_VALUE;
    error = context_check_list(context, count, devices);
    return error || are_on(context, count, devices, input_count, inputs) ? error : CL_INVALID_OPERATION;
}

cl_int link_send(struct node *node, cl_program program, cl_uint count, const uint32_t *ids, const char *options,
                 cl_uint input_count, const cl_program *inputs, struct call *call)
{
    uint32_t *input_ids = ids_of(input_count, inputs);
    struct wire_link_program m = {.program = program->object.id,
                                  .context = program->context->object.id,
                                  .devices = ids,
                                  .devices_count = count,
                                  .with_options = options != NULL,
                                  .options = options,
                                  .options_length = options ? (uint32_t)strlen(options) : 0,
                                  .inputs = input_ids,
                                  .inputs_count = input_count};

    if (!input_ids)
        return CL_OUT_OF_HOST_MEMORY;
    call_send_link_program(node, &m, call);
    free(input_ids);
    return CL_SUCCESS;
}

cl_int link_take(cl_program program, bool first, struct call *call, bool *created)
{
    struct wire_link_program_reply reply;
    cl_int error = cl_error(call_wait_link_program(call, &reply));

    if (error) {
        *created = false;
        return error;
    }
    error = reply.error;
    *created &= reply.created != 0;
    if (!error)
        error = take_kernels(program, first, reply.kernels, reply.kernels_length);
    call_free(call);
    return error;
}

static cl_int link_now(cl_program program, const char *options, cl_uint input_count, const cl_program *inputs,
                       bool *created)
{
    cl_context context = program->context;
    struct call *calls = calls_for(context);
    uint32_t ids[WIRE_MAX_DEVICES];
    cl_int error = CL_SUCCESS;
    unsigned asked = 0;

    if (!calls)
        return CL_OUT_OF_HOST_MEMORY;
    for (unsigned i = 0; !error && i < context->node_count; i++) {
        cl_uint own = devices_of_node(context->nodes[i], program->device_count, program->devices, ids);

        if (!own)
            continue;
        error = link_send(context->nodes[i], program, own, ids, options, input_count, inputs, &calls[asked]);
        asked += !error;
        if (!error && !program_add_node(program, context->nodes[i]))
            error = CL_OUT_OF_HOST_MEMORY;
    }
    *created = !error;
    for (unsigned i = 0; i < asked; i++) {
        cl_int one = link_take(program, i == 0, &calls[i], created);

        error = error ? error : one;
    }
    free(calls);
    info_forget(&program->object.answers);
    program->built = !error;
    if (!error || *created)
        program_keep_step(program, &(struct program_step){.what = STEP_LINK,
                                                          .device_count = program->device_count,
                                                          .devices = program->devices,
                                                          .options = (char *)(uintptr_t)options,
                                                          .input_count = input_count,
                                                          .inputs = (cl_program *)(uintptr_t)inputs,
                                                          .error = error});
    return error;
}

cl_program clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices, const char *options,
                         cl_uint input_count, const cl_program *inputs, void(CL_CALLBACK *notify)(cl_program, void *),
                         void *data, cl_int *ret)
{
    TIMELINE(clLinkProgram);

    cl_int error = link_check(context, count, devices, input_count, inputs, !notify && data);
    cl_program program = NULL;
    bool created = false;

    HALT_GUARD;
    if (!error) {
        program = program_new(context, count ? count : context->device_count, count ? devices : context->devices);
        error = program ? link_now(program, options, input_count, inputs, &created) : CL_OUT_OF_HOST_MEMORY;
    }
    if (error && !created && program) {
        handle_release(program, WIRE_PROGRAM, 0);
        program = NULL;
    }
    if (notify && program)
        notify(program, data);
    fail_ret(ret, error);
    return program;
}
