/* Contexts. */
#include <errno.h>

#include "libvocl/internal.h"

/* With a list that names no platform the ICD loader does not know which driver to call. */
static bool names_platform(const cl_context_properties *properties)
{
    for (size_t i = 0; properties && properties[i]; i += 2) {
        if (properties[i] == CL_CONTEXT_PLATFORM)
            return true;
    }
    return !properties;
}

static cl_int check_properties(const cl_context_properties *properties)
{
    bool platform = false, sync = false;

    for (size_t i = 0; properties && properties[i]; i += 2) {
        switch (properties[i]) {
        case CL_CONTEXT_PLATFORM:
            if (platform)
                return CL_INVALID_PROPERTY;
            platform = true;
            if (!handle_check((void *)properties[i + 1], KIND_PLATFORM))
                return CL_INVALID_PLATFORM;
            break;
        case CL_CONTEXT_INTEROP_USER_SYNC:
            if (sync || (properties[i + 1] != CL_TRUE && properties[i + 1] != CL_FALSE))
                return CL_INVALID_PROPERTY;
            sync = true;
            break;
        case CL_GL_CONTEXT_KHR: /* accepted and ignored: no device here shares anything with a display */
        case CL_EGL_DISPLAY_KHR:
        case CL_GLX_DISPLAY_KHR:
        case CL_WGL_HDC_KHR:
        case CL_CGL_SHAREGROUP_KHR:
            break;
        default:
            return CL_INVALID_PROPERTY;
        }
    }
    return CL_SUCCESS;
}

/* Whether no node has to take more devices at once than it can. */
static bool fits_nodes(cl_uint count, const cl_device_id *devices)
{
    uint16_t counts[MOST_NODES] = {0};

    for (cl_uint i = 0; count > WIRE_MAX_DEVICES && i < count; i++) {
        if (++counts[devices[i]->node->index] > WIRE_MAX_DEVICES)
            return false;
    }
    return true;
}

cl_device_id first_of_node(const struct node *node, cl_uint count, const cl_device_id *devices)
{
    for (cl_uint i = 0; i < count; i++) {
        if (devices[i]->node == node)
            return devices[i];
    }
    return NULL;
}

/* The devices of one worker must be of one native platform, as a native context can have only one. */
static cl_int check_devices(cl_uint count, const cl_device_id *devices)
{
    for (cl_uint i = 0; i < count; i++) {
        if (!handle_check(devices[i], WIRE_DEVICE))
            return CL_INVALID_DEVICE;
    }
    for (cl_uint i = 0; i < count; i++) {
        if (!devices[i]->node->alive)
            return cl_error(-ECONNRESET);
        if (first_of_node(devices[i]->node, count, devices)->platform != devices[i]->platform)
            return CL_INVALID_DEVICE;
    }
    return fits_nodes(count, devices) ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
}

bool context_has_device(cl_context context, cl_device_id device)
{
    for (cl_uint i = 0; i < context->device_count; i++) {
        if (context->devices[i] == device)
            return true;
    }
    return false;
}

cl_int context_check_list(cl_context context, cl_uint count, const cl_device_id *devices)
{
    if (!count != !devices)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!context_has_device(context, devices[i]))
            return CL_INVALID_DEVICE;
    }
    return fits_nodes(count, devices) ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
}

cl_uint devices_of_node(const struct node *node, cl_uint count, const cl_device_id *devices, uint32_t *ids)
{
    cl_uint found = 0;

    for (cl_uint i = 0; i < count; i++) {
        if (devices[i]->node == node)
            ids[found++] = devices[i]->object.id;
    }
    return found;
}

static int context_create_on(struct object *object, struct node *node)
{
    const struct _cl_context *context = (const struct _cl_context *)object;
    uint32_t ids[WIRE_MAX_DEVICES]; /* not malloc(): a context not sent for lack of memory would still be released */
    struct wire_create_context m = {object->id, ids, 0};

    m.devices_count = devices_of_node(node, context->device_count, context->devices, ids);
    wire_put_create_context(stream_begin(node), &m);
    return stream_end(node, STREAM_LATER);
}

/* Creates the context on all nodes, or fails. */
static cl_int context_send(cl_context context)
{
    int error = 0;

    for (unsigned i = 0; i < context->node_count && !error; i++)
        error = context_create_on(&context->object, context->nodes[i]);
    return cl_error(error);
}

static void add_node(cl_context context, struct node *node)
{
    unsigned i = 0;

    while (i < context->node_count && context->nodes[i] != node)
        i++;
    if (i == context->node_count)
        context->nodes[context->node_count++] = node;
}

static cl_int context_new(const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
                          cl_context *out)
{
    cl_context context = handle_new(WIRE_CONTEXT);

    if (!context)
        return CL_OUT_OF_HOST_MEMORY;
    context->node = devices[0]->node;
    context->devices = malloc(count * sizeof(cl_device_id));
    context->nodes = malloc(count * sizeof(*context->nodes));
    if (!context->devices || !context->nodes ||
        properties_copy(properties, sizeof(*properties), (void **)&context->properties, &context->properties_size)) {
        free(context->devices);
        free(context->nodes);
        handle_free(&context->object);
        return CL_OUT_OF_HOST_MEMORY;
    }
    for (cl_uint i = 0; i < count; i++) { /* without duplicates */
        cl_uint seen = 0;

        while (seen < context->device_count && context->devices[seen] != devices[i])
            seen++;
        if (seen == context->device_count)
            context->devices[context->device_count++] = devices[i];
        add_node(context, devices[i]->node);
    }
    for (cl_uint i = 0; i < context->device_count; i++)
        handle_use(context->devices[i]);
    *out = context;
    return CL_SUCCESS;
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
                           cl_int *ret)
{
    TIMELINE(clCreateContext);

    cl_context context = NULL;
    cl_int error = CL_SUCCESS;

    HALT_GUARD;
    if (!count || !devices || (!notify && data))
        error = CL_INVALID_VALUE;
    else if (count > MOST_DEVICES)
        error = CL_OUT_OF_RESOURCES;
    if (!error)
        error = check_properties(properties);
    if (!error)
        error = check_devices(count, devices);
    if (!error)
        error = context_new(properties, count, devices, &context);
    if (!error) {
        context->notify = notify;
        context->notify_data = data;
        error = context_send(context);
        if (error) {
            handle_release(context, WIRE_CONTEXT, 0);
            context = NULL;
        }
    }
    fail_ret(ret, error);
    return context;
}

cl_context clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
                                   void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
                                   cl_int *ret)
{
    TIMELINE(clCreateContextFromType);

    cl_platform_id platform = NULL;
    cl_device_id *devices = NULL;
    cl_context context = NULL;
    cl_uint count = 0, same = 0;
    cl_int error = names_platform(properties) ? check_properties(properties) : CL_INVALID_PLATFORM;

    if (!error && !notify && data)
        error = CL_INVALID_VALUE;

    for (size_t i = 0; !error && properties && properties[i]; i += 2) {
        if (properties[i] == CL_CONTEXT_PLATFORM)
            platform = (cl_platform_id)properties[i + 1];
    }
    if (!error)
        error = clGetDeviceIDs(platform, type, 0, NULL, &count);
    if (!error && !(devices = malloc(count * sizeof(*devices))))
        error = CL_OUT_OF_HOST_MEMORY;
    if (!error)
        error = clGetDeviceIDs(platform, type, count, devices, NULL);
    for (cl_uint i = 0; !error && i < count;
         i++) { /* of each worker those of one platform: what goes into one context */
        const cl_device_id first = first_of_node(devices[i]->node, same, devices);

        if (devices[i]->node->alive && (!first || first->platform == devices[i]->platform))
            devices[same++] = devices[i];
    }
    if (!error)
        context = clCreateContext(properties, same ? same : 1, devices, notify, data, &error);
    free(devices);
    fail_ret(ret, error);
    return context;
}

static cl_context context_itself(const struct object *object)
{
    return (cl_context)(uintptr_t)object;
}

static bool context_is_watched(const struct object *object)
{
    return ((const struct _cl_context *)object)->destructors != NULL;
}

static const char *context_bound(const struct object *object, const struct node *node)
{
    struct svm_place place;

    (void)object;
    for (unsigned i = 0; svm_remote_at(node, i, &place); i++) {
        if (!place.chosen)
            return "shared virtual memory is at an address that the native OpenCL chose";
    }
    return usm_any(node) ? "unified shared memory is the worker's own" : NULL;
}

/* Calls the destructor callbacks of the program, last first, before the context goes. */
static void context_destroy(struct object *object)
{
    cl_context context = (cl_context)object;
    struct session *session = context->node->session;
    cl_device_id *devices = context->devices;
    struct node **nodes = context->nodes;
    cl_uint count = context->device_count;

    while (context->destructors) {
        struct callback *callback = context->destructors;

        context->destructors = callback->next;
        ((void(CL_CALLBACK *)(cl_context, void *))callback->function)(context, callback->data);
        free(callback);
    }
    free(context->properties);
    session_lock(session);
    handle_free(&context->object);
    session_unlock(session);
    for (cl_uint i = 0; i < count; i++)
        handle_drop(devices[i]);
    free(devices);
    free(nodes);
}

const struct kind context_kind = {
    .size = sizeof(struct _cl_context),
    .context = context_itself,
    .is_watched = context_is_watched,
    .create_on = context_create_on,
    .bound = context_bound,
    .destroy = context_destroy,
};

cl_int clRetainContext(cl_context context)
{
    TIMELINE(clRetainContext);

    return handle_retain(context, WIRE_CONTEXT, CL_INVALID_CONTEXT);
}

cl_int clReleaseContext(cl_context context)
{
    TIMELINE(clReleaseContext);

    HALT_GUARD_QUIET;
    return handle_release(context, WIRE_CONTEXT, CL_INVALID_CONTEXT);
}

cl_int clSetContextDestructorCallback(cl_context context, void(CL_CALLBACK *function)(cl_context, void *), void *data)
{
    TIMELINE(clSetContextDestructorCallback);

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!function)
        return CL_INVALID_VALUE;
    return cl_error(destructor_add(context->node, &context->destructors, (void (*)(void))function, data));
}

cl_int clGetContextInfo(cl_context context, cl_context_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetContextInfo);

    cl_uint count;

    if (!handle_check(context, WIRE_CONTEXT))
        return CL_INVALID_CONTEXT;
    switch (param) {
    case CL_CONTEXT_REFERENCE_COUNT:
        count = (cl_uint)atomic_load(&context->object.references);
        return info_return(&count, sizeof(count), size, value, size_ret);
    case CL_CONTEXT_NUM_DEVICES:
        return info_return(&context->device_count, sizeof(cl_uint), size, value, size_ret);
    case CL_CONTEXT_DEVICES:
        return info_return(context->devices, context->device_count * sizeof(cl_device_id), size, value, size_ret);
    case CL_CONTEXT_PROPERTIES:
        return info_return(context->properties, context->properties_size, size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}
