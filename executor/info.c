/* Queries that only the node can answer. */
#include "executor/internal.h"

#define MOST (64u << 20)

struct query {
    const struct exec_get_info *m;
    const struct object *object;
    const struct device *device; /* the second object, or NULL */
};

/* In one query the size of the answer is part of the question: it follows the input, and then whether the program has a
 * place for the answer. */
static bool has_size(const struct exec_get_info *m)
{
    return m->kind == WIRE_INFO_SUB_GROUP && m->param == CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT &&
           m->input_length == 3 * sizeof(size_t);
}

static size_t word_of(const struct exec_get_info *m, unsigned index)
{
    size_t word;

    memcpy(&word, (const uint8_t *)m->input + index * sizeof(word), sizeof(word));
    return word;
}

static cl_int ask(const struct query *q, size_t size, void *value, size_t *length)
{
    const struct exec_get_info *m = q->m;

    switch (m->kind) {
    case WIRE_INFO_DEVICE:
        return clGetDeviceInfo(q->object->native, m->param, size, value, length);
    case WIRE_INFO_MEMORY:
        return clGetMemObjectInfo(q->object->native, m->param, size, value, length);
    case WIRE_INFO_IMAGE:
        return clGetImageInfo(q->object->native, m->param, size, value, length);
    case WIRE_INFO_COMMAND_BUFFER:
        return recording_info((const struct command_buffer *)q->object, m->param, size, value, length);
    case WIRE_INFO_EVENT:
        return clGetEventInfo(q->object->native, m->param, size, value, length);
    case WIRE_INFO_PROGRAM:
        return clGetProgramInfo(q->object->native, m->param, size, value, length);
    case WIRE_INFO_BUILD:
        return clGetProgramBuildInfo(q->object->native, q->device->native, m->param, size, value, length);
    case WIRE_INFO_KERNEL:
        return clGetKernelInfo(q->object->native, m->param, size, value, length);
    case WIRE_INFO_KERNEL_ARGUMENT:
        return clGetKernelArgInfo(q->object->native, m->second, m->param, size, value, length);
    case WIRE_INFO_WORK_GROUP:
        return clGetKernelWorkGroupInfo(q->object->native, q->device->native, m->param, size, value, length);
    case WIRE_INFO_SUB_GROUP:
        return clGetKernelSubGroupInfo(q->object->native, q->device->native, m->param,
                                       has_size(m) ? sizeof(size_t) : m->input_length,
                                       m->input_length ? m->input : NULL, size, value, length);
    }
    return CL_INVALID_VALUE;
}

/* The application answers this for images, and asks for other objects only, of which some drivers answer NULL. */
static bool is_null(const struct exec_get_info *m)
{
    return m->kind == WIRE_INFO_IMAGE && m->param == CL_IMAGE_BUFFER;
}

/* Removes the option that build.c added. */
static void hide_option(const struct query *q, struct wire_buffer *value)
{
    static const char option[] = "-cl-kernel-arg-info";
    char *text = (char *)value->bytes, *at;

    if (q->m->kind != WIRE_INFO_BUILD || q->m->param != CL_PROGRAM_BUILD_OPTIONS ||
        !((const struct program *)q->object)->hidden)
        return;
    at = memmem(text, value->length, option, strlen(option));
    if (!at)
        return;
    while (at > text && at[-1] == ' ')
        at--;
    *at = '\0';
    value->length = (size_t)(at - text) + 1;
}

static bool is_text_of_build(const struct exec_get_info *m)
{
    return m->kind == WIRE_INFO_BUILD && (m->param == CL_PROGRAM_BUILD_OPTIONS || m->param == CL_PROGRAM_BUILD_LOG);
}

/* Puts the texts one after the other, each with its terminating zero. */
static cl_int put_texts(const char *const *list, size_t count, struct wire_buffer *value)
{
    size_t length = 0, at = 0;
    char *to;

    for (size_t i = 0; i < count && length <= MOST; i++)
        length += strlen(list[i] ? list[i] : "") + 1;
    if (length > MOST)
        return CL_OUT_OF_RESOURCES;
    to = wire_reserve(value, length);
    if (!to)
        return CL_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < count; i++)
        at += strlen(strcpy(to + at, list[i] ? list[i] : "")) + 1;
    value->length = length; /* without padding */
    return CL_SUCCESS;
}

static cl_int texts(const struct query *q, struct wire_buffer *value)
{
    const char **list;
    size_t length = 0;
    cl_int error = ask(q, 0, NULL, &length);

    if (error || !length)
        return error;
    list = length > MOST ? NULL : malloc(length);
    if (!list)
        return CL_OUT_OF_HOST_MEMORY;
    error = ask(q, length, list, NULL);
    if (!error)
        error = put_texts(list, length / sizeof(*list), value);
    free(list);
    return error;
}

/* Drivers differ in what they say of the length where there is no place for the answer. */
static cl_int sub_group_sizes(const struct query *q, struct wire_buffer *value)
{
    const size_t most = 3 * sizeof(size_t), size = word_of(q->m, 1);
    size_t length = 0;
    void *to = wire_reserve(value, most);
    cl_int error;

    if (!to)
        return CL_OUT_OF_HOST_MEMORY;
    memset(to, 0, most);
    error = ask(q, size < most ? size : most, word_of(q->m, 2) ? to : NULL, &length);
    value->length = length < most ? length : most;
    return error;
}

static cl_int simple(const struct query *q, struct wire_buffer *value)
{
    size_t length = 0;
    cl_int error = ask(q, 0, NULL, &length);
    void *to;

    if (!error && !query_is_plain(q->m->param) && !is_null(q->m))
        error = CL_INVALID_VALUE;
    if (error || !length)
        return error;
    if (length > MOST)
        return CL_OUT_OF_RESOURCES;
    to = wire_reserve(value, length);
    if (!to)
        return CL_OUT_OF_HOST_MEMORY;
    value->length = length; /* without padding */
    error = ask(q, length, to, NULL);
    if (is_null(q->m))
        memset(to, 0, length);
    hide_option(q, value);
    if (is_text_of_build(q->m))
        include_restore(((const struct program *)q->object)->tree, value);
    return error;
}

static cl_int formats(const struct query *q, struct wire_buffer *value)
{
    cl_image_format *list = NULL;
    cl_mem_flags flags;
    cl_uint count = 0;
    cl_int error;

    if (q->m->input_length != sizeof(flags))
        return CL_INVALID_VALUE;
    memcpy(&flags, q->m->input, sizeof(flags));
    error = clGetSupportedImageFormats(q->object->native, flags, q->m->second, 0, NULL, &count);
    if (!error && count && !(list = malloc(count * sizeof(*list))))
        error = CL_OUT_OF_HOST_MEMORY;
    if (!error && count)
        error = clGetSupportedImageFormats(q->object->native, flags, q->m->second, count, list, NULL);
    if (!error && count)
        wire_put_bytes(value, list, count * sizeof(*list));
    free(list);
    return error;
}

static cl_int local_size(struct executor *x, const struct query *q, struct wire_buffer *value)
{
    const struct queue *queue = object_get(x, WIRE_QUEUE, q->m->second);
    size_t offset[3], global[3], local[3] = {0};
    struct wire_work_size work;
    cl_int error;

    if (!queue || !is_usable(queue) || q->m->input_length != sizeof(work))
        return CL_INVALID_COMMAND_QUEUE;
    memcpy(&work, q->m->input, sizeof(work));
    if (work.dims < 1 || work.dims > 3)
        return CL_INVALID_WORK_DIMENSION;
    for (int i = 0; i < 3; i++) {
        offset[i] = work.offset[i];
        global[i] = work.global[i];
    }
    error = driver_suggested_size(queue->on, queue->native, q->object->native, work.dims,
                                  work.has_offset ? offset : NULL, global, local);
    for (int i = 0; !error && i < 3; i++)
        wire_put_u64(value, local[i]);
    return error;
}

static cl_int timers(const struct query *q, struct wire_buffer *value)
{
    cl_ulong times[2] = {0, 0};
    cl_int error = clGetDeviceAndHostTimer(q->object->native, &times[0], &times[1]);

    if (!error)
        wire_put_bytes(value, times, sizeof(times));
    return error;
}

static cl_int binaries(const struct query *q, struct wire_buffer *value)
{
    size_t length = 0, *sizes, count;
    cl_int error = clGetProgramInfo(q->object->native, CL_PROGRAM_BINARY_SIZES, 0, NULL, &length);
    unsigned char **pointers;

    if (error)
        return error;
    count = length / sizeof(*sizes);
    sizes = malloc(length + 1);
    pointers = calloc(count + 1, sizeof(*pointers));
    error = sizes && pointers ? clGetProgramInfo(q->object->native, CL_PROGRAM_BINARY_SIZES, length, sizes, NULL)
                              : CL_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; !error && i < count; i++) {
        pointers[i] = calloc(1, sizes[i] + 1);
        if (!pointers[i])
            error = CL_OUT_OF_HOST_MEMORY;
    }
    if (!error)
        error = clGetProgramInfo(q->object->native, CL_PROGRAM_BINARIES, count * sizeof(*pointers), pointers, NULL);
    for (size_t i = 0; pointers && i < count; i++) {
        if (!error) {
            wire_put_u64(value, sizes[i]);
            wire_put_bytes(value, pointers[i], sizes[i]);
        }
        free(pointers[i]);
    }
    free(pointers);
    free(sizes);
    return error;
}

static unsigned object_kind(uint32_t kind)
{
    switch (kind) {
    case WIRE_INFO_DEVICE:
    case WIRE_INFO_TIMERS:
        return WIRE_DEVICE;
    case WIRE_INFO_MEMORY:
    case WIRE_INFO_IMAGE:
        return WIRE_MEMORY;
    case WIRE_INFO_PROGRAM:
    case WIRE_INFO_BUILD:
    case WIRE_INFO_BINARIES:
        return WIRE_PROGRAM;
    case WIRE_INFO_IMAGE_FORMATS:
        return WIRE_CONTEXT;
    case WIRE_INFO_EVENT:
        return WIRE_EVENT;
    case WIRE_INFO_COMMAND_BUFFER:
        return WIRE_COMMAND_BUFFER;
    }
    return WIRE_KERNEL;
}

static bool needs_device(uint32_t kind)
{
    return kind == WIRE_INFO_BUILD || kind == WIRE_INFO_WORK_GROUP || kind == WIRE_INFO_SUB_GROUP;
}

int exec_get_info(struct executor *x, const struct exec_get_info *m)
{
    struct query q = {m, object_get(x, object_kind(m->kind), m->object), object_get(x, WIRE_DEVICE, m->second)};
    struct wire_get_info_reply reply = {.call = m->call};
    struct wire_buffer value = {0};

    if (!q.object || (needs_device(m->kind) && !q.device))
        return -EBADMSG;
    if (!is_usable(q.object))
        reply.error = q.object->error ? q.object->error : CL_INVALID_VALUE;
    else if (m->kind == WIRE_INFO_IMAGE_FORMATS)
        reply.error = formats(&q, &value);
    else if (m->kind == WIRE_INFO_LOCAL_SIZE)
        reply.error = local_size(x, &q, &value);
    else if (has_size(m))
        reply.error = sub_group_sizes(&q, &value);
    else if (m->kind == WIRE_INFO_TIMERS)
        reply.error = timers(&q, &value);
    else if (m->kind == WIRE_INFO_BINARIES)
        reply.error = binaries(&q, &value);
    else if (m->kind == WIRE_INFO_DEVICE && query_is_texts(m->param))
        reply.error = texts(&q, &value);
    else
        reply.error = simple(&q, &value);
    if (value.failed)
        reply.error = CL_OUT_OF_HOST_MEMORY;
    reply.value = value.bytes;
    reply.value_length = reply.error ? 0 : (uint32_t)value.length;
    reply_get_info(x, &reply);
    wire_buffer_free(&value);
    return 0;
}
