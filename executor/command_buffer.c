/*
 * cl_khr_command_buffer: commands that the native OpenCL records and runs repeatedly. A recorded command arrives as the
 * command that would enqueue it; its handler records it instead if command.recording is set.
 */
#include "executor/internal.h"

/* The functions of the native extension that are used. */
#define FUNCTIONS(FUNCTION)                                                                                            \
    FUNCTION(clCreateCommandBufferKHR)                                                                                 \
    FUNCTION(clFinalizeCommandBufferKHR)                                                                               \
    FUNCTION(clReleaseCommandBufferKHR)                                                                                \
    FUNCTION(clEnqueueCommandBufferKHR)                                                                                \
    FUNCTION(clGetCommandBufferInfoKHR)                                                                                \
    FUNCTION(clCommandBarrierWithWaitListKHR)                                                                          \
    FUNCTION(clCommandCopyBufferKHR)                                                                                   \
    FUNCTION(clCommandCopyBufferRectKHR)                                                                               \
    FUNCTION(clCommandCopyBufferToImageKHR)                                                                            \
    FUNCTION(clCommandCopyImageKHR)                                                                                    \
    FUNCTION(clCommandCopyImageToBufferKHR)                                                                            \
    FUNCTION(clCommandFillBufferKHR)                                                                                   \
    FUNCTION(clCommandFillImageKHR)                                                                                    \
    FUNCTION(clCommandNDRangeKernelKHR)

struct recorder {
#define MEMBER(name) name##_fn name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

struct recording {
    struct recorder recorder;
    cl_command_buffer_khr buffer;
    cl_sync_point_khr *points; /* the native one of each command so far */
    uint32_t point_count, room;
    cl_sync_point_khr *wait; /* of the command that is being recorded */
    uint32_t wait_count;
    cl_sync_point_khr point;
    uint64_t device;    /* on which it uses the session's quota (quota.c), */
    size_t counted;     /* and how many bytes of it */
    cl_kernel *kernels; /* of launches, with the arguments at the time of recording */
    uint32_t kernel_count;
    struct contents **behind; /* contents that were on their way at the time of recording */
    uint32_t behind_count;
};

/* Whether the driver's functions have the same parameters as those of the headers. A driver that reports no version
 * is an old one. */
static bool takes_the_same(cl_device_id device)
{
    cl_name_version known[256];
    cl_version version = 0;
    size_t size = 0;

    if (clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof(known), known, &size) != CL_SUCCESS)
        size = 0;
    for (size_t i = 0; i < size / sizeof(*known); i++) {
        if (!strcmp(known[i].name, CL_KHR_COMMAND_BUFFER_EXTENSION_NAME))
            version = known[i].version;
    }
    return (version >= RECORD_SINCE) == RECORD_TAKES_PROPERTIES;
}

/* Whether the device's platform has all the functions. */
static bool find_recorder(cl_device_id device, struct recorder *r)
{
    cl_platform_id platform = NULL;
    bool all = takes_the_same(device);

    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
#define FIND(name) all &= (r->name = (name##_fn)clGetExtensionFunctionAddressForPlatform(platform, #name)) != NULL;
    FUNCTIONS(FIND)
#undef FIND
    return all;
}

int exec_create_command_buffer(struct executor *x, const struct exec_create_command_buffer *m)
{
    const cl_command_buffer_properties_khr properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR, m->flags, 0};
    struct command_buffer *object = m->command_buffer;
    struct queue *queue = m->queue;
    struct recording *r;

    (void)x;
    r = object->recording = calloc(1, sizeof(*r));
    object->error = queue->error;
    if (!r)
        object->error = CL_OUT_OF_HOST_MEMORY;
    else if (!object->error && !find_recorder(queue->on, &r->recorder))
        object->error = CL_INVALID_OPERATION;
    if (!object->error)
        r->buffer =
            r->recorder.clCreateCommandBufferKHR(1, &queue->native, m->flags ? properties : NULL, &object->error);
    object->native = r ? r->buffer : NULL;
    if (r)
        r->device = QUOTA_DEVICE(queue);
    return 0;
}

void recording_free(struct executor *x, struct command_buffer *object)
{
    struct recording *r = object->recording;

    if (!r)
        return;
    quota_give_back(x, r->device, r->counted);
    if (r->buffer)
        r->recorder.clReleaseCommandBufferKHR(r->buffer);
    for (uint32_t i = 0; i < r->kernel_count; i++)
        clReleaseKernel(r->kernels[i]);
    while (r->behind_count)
        contents_drop(r->behind[--r->behind_count]);
    free(r->behind);
    free(r->kernels);
    free(r->points);
    free(r->wait);
    free(r);
}

cl_int recording_info(const struct command_buffer *object, cl_uint param, size_t size, void *value, size_t *length)
{
    return object->recording->recorder.clGetCommandBufferInfoKHR(object->native, param, size, value, length);
}

/* ---- recording ---- */

/* Translates the sync points that the command waits for to the native ones, and makes room for its own. */
static int prepare(struct recording *r, const uint32_t *points, uint32_t count)
{
    cl_sync_point_khr *wait = realloc(r->wait, (count + 1) * sizeof(*wait));

    if (!wait)
        return -ENOMEM;
    r->wait = wait;
    r->wait_count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (!points[i] || points[i] > r->point_count)
            return -EBADMSG;
        wait[i] = r->points[points[i] - 1];
    }
    if (r->point_count == r->room) {
        uint32_t room = r->room ? 2 * r->room : 64;
        cl_sync_point_khr *more = realloc(r->points, room * sizeof(*more));

        if (!more)
            return -ENOMEM;
        r->points = more;
        r->room = room;
    }
    return 0;
}

#define OVERHEAD 256 /* about what native OpenCL stores for a command beside the command's own data */

static bool count(struct executor *x, struct recording *r, size_t size)
{
    if (!quota_take(x, r->device, size + OVERHEAD))
        return false;
    r->counted += size + OVERHEAD;
    return true;
}

int exec_record(struct executor *x, const struct exec_record *m)
{
    struct command_buffer *object = m->command_buffer;
    struct wire_cursor frame = wire_cursor(m->command, m->command_length), fields;
    uint16_t number;
    int bad;

    if (x->recording || wire_next(&frame, &number, &fields) != 1 || frame.left ||
        !(wire_flags(number) & WIRE_RECORDABLE))
        return -EBADMSG;
    if (!is_usable(object))
        return 0;
    if (!count(x, object->recording, m->command_length)) {
        object->error = CL_OUT_OF_RESOURCES;
        return 0;
    }
    bad = prepare(object->recording, m->points, m->points_count);
    if (bad)
        return bad;
    x->recording = object;
    bad = executor_dispatch(x, number, &fields);
    x->recording = NULL;
    return bad;
}

void recording_behind(struct command_buffer *object, struct contents *contents)
{
    struct recording *r = object->recording;
    struct contents **more = realloc(r->behind, (r->behind_count + 1) * sizeof(*more));

    if (!more) {
        object->error = CL_OUT_OF_HOST_MEMORY;
        return;
    }
    r->behind = more;
    more[r->behind_count++] = contents_use(contents);
}

void recording_end(struct command_buffer *object, cl_int error)
{
    struct recording *r = object->recording;

    r->points[r->point_count++] = r->point;
    if (error && !object->error)
        object->error = error;
}

#define WAITS r->wait_count, r->wait_count ? r->wait : NULL, &r->point, NULL

cl_int record_copy_buffer(struct recording *r, const struct exec_copy_buffer *m)
{
    return r->recorder.clCommandCopyBufferKHR(r->buffer, NULL, RECORD_NO_PROPERTIES m->source->native,
                                              m->target->native, m->source_offset, m->target_offset, m->size, WAITS);
}

cl_int record_copy_rect(struct recording *r, const struct exec_copy_rect *m)
{
    return r->recorder.clCommandCopyBufferRectKHR(
        r->buffer, NULL, RECORD_NO_PROPERTIES m->source->native, m->target->native, m->source_origin, m->target_origin,
        m->region, m->source_row_pitch, m->source_slice_pitch, m->target_row_pitch, m->target_slice_pitch, WAITS);
}

cl_int record_fill_buffer(struct recording *r, const struct exec_fill_buffer *m)
{
    return r->recorder.clCommandFillBufferKHR(r->buffer, NULL, RECORD_NO_PROPERTIES m->buffer->native, m->pattern,
                                              m->pattern_length, m->offset, m->size, WAITS);
}

cl_int record_copy_image(struct recording *r, const struct exec_copy_image *m)
{
    return r->recorder.clCommandCopyImageKHR(r->buffer, NULL, RECORD_NO_PROPERTIES m->source->native, m->target->native,
                                             m->source_origin, m->target_origin, m->region, WAITS);
}

cl_int record_fill_image(struct recording *r, const void *colour, const struct exec_fill_image *m)
{
    return r->recorder.clCommandFillImageKHR(r->buffer, NULL, RECORD_NO_PROPERTIES m->image->native, colour, m->origin,
                                             m->region, WAITS);
}

cl_int record_copy_image_to_buffer(struct recording *r, const struct exec_copy_image_to_buffer *m)
{
    return r->recorder.clCommandCopyImageToBufferKHR(r->buffer, NULL, RECORD_NO_PROPERTIES m->source->native,
                                                     m->target->native, m->origin, m->region, m->offset, WAITS);
}

cl_int record_copy_buffer_to_image(struct recording *r, const struct exec_copy_buffer_to_image *m)
{
    return r->recorder.clCommandCopyBufferToImageKHR(r->buffer, NULL, RECORD_NO_PROPERTIES m->source->native,
                                                     m->target->native, m->offset, m->origin, m->region, WAITS);
}

/* PoCL 3.1 takes a kernel's arguments when the command buffer is enqueued, not when the launch is recorded: so it
 * gets a clone, whose arguments nobody changes. */
static cl_int keep_kernel(struct recording *r, cl_kernel *kernel)
{
    cl_kernel *kernels = realloc(r->kernels, (r->kernel_count + 1) * sizeof(cl_kernel));
    cl_int error;

    if (!kernels)
        return CL_OUT_OF_HOST_MEMORY;
    r->kernels = kernels;
    if (driver_version(*kernel) < 210) /* kernels cannot be cloned: the arguments are taken when the driver does */
        return CL_SUCCESS;
    *kernel = clCloneKernel(*kernel, &error);
    if (!error)
        kernels[r->kernel_count++] = *kernel;
    return error;
}

cl_int record_ndrange(struct recording *r, const struct exec_enqueue_ndrange *m)
{
    cl_kernel kernel = m->kernel->native;
    cl_int error = keep_kernel(r, &kernel);

    if (error)
        return error;
    return r->recorder.clCommandNDRangeKernelKHR(r->buffer, NULL, NULL, kernel, m->global_count,
                                                 m->offset_count ? m->offset : NULL, m->global, local_of(m), WAITS);
}

cl_int record_barrier(struct recording *r)
{
    return r->recorder.clCommandBarrierWithWaitListKHR(r->buffer, NULL, RECORD_NO_PROPERTIES WAITS);
}

/* ---- running ---- */

int exec_finalize_command_buffer(struct executor *x, const struct exec_finalize_command_buffer *m)
{
    struct command_buffer *object = m->command_buffer;
    struct wire_finalize_command_buffer_reply reply = {.call = m->call};

    if (is_usable(object))
        object->error = object->recording->recorder.clFinalizeCommandBufferKHR(object->native);
    reply.error = object->error;
    reply_finalize_command_buffer(x, &reply);
    return 0;
}

int exec_enqueue_command_buffer(struct command *c, const struct exec_enqueue_command_buffer *m)
{
    const struct command_buffer *object = m->command_buffer;

    if (!c->error && !is_usable(object))
        c->error = object->error ? object->error : CL_INVALID_COMMAND_BUFFER_KHR;
    for (uint32_t i = 0; !c->error && i < object->recording->behind_count; i++)
        contents_before(c, object->recording->behind[i]);
    if (!c->error)
        c->error = object->recording->recorder.clEnqueueCommandBufferKHR(1, &c->queue->native, object->native,
                                                                         c->wait_count, command_waits(c), c->ask);
    return 0;
}
