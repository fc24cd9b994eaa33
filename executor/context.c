/* Contexts. */
#include <stdio.h>

#include "executor/internal.h"
#include "executor/staging.h"

/* ---- errors that are reported to the context's callback only ---- */

void context_tell(struct executor *x, uint32_t context, const char *text)
{
    struct wire_context_error m = {context, text, (uint32_t)strnlen(text, 4096)};
    struct wire_buffer out = {0};

    wire_put_context_error(&out, &m);
    executor_send(x, &out);
}

struct context_owner {
    struct executor *x;
    uint32_t id;
};

struct native_error {
    struct job job;
    uint32_t id;
    char text[4097];
};

static void tell_native(struct executor *x, struct job *job)
{
    struct native_error *error = (struct native_error *)job;

    if (object_get(x, WIRE_CONTEXT, error->id))
        context_tell(x, error->id, error->text);
    free(error);
}

static _Thread_local bool hushed;

void context_hush(bool hush)
{
    hushed = hush;
}

static void CL_CALLBACK native_error(const char *text, const void *details, size_t size, void *data)
{
    struct context_owner *owner = data; /* NULL from oclgrind, which passes it as details */
    struct native_error *error = owner && !hushed ? calloc(1, sizeof(*error)) : NULL;

    (void)details;
    (void)size;
    if (!error)
        return;
    error->job.run = tell_native;
    error->id = owner->id;
    snprintf(error->text, sizeof(error->text), "%s", text);
    executor_finish(owner->x, &error->job);
}

static void CL_CALLBACK owner_free(cl_context context, void *data)
{
    (void)context;
    free(data);
}

/* The owner has to outlive the native context. Without OpenCL 3.0's callback, which reports the context's end, it is
 * never freed. */
static cl_context create(struct executor *x, uint32_t id, const cl_context_properties *properties, cl_uint count,
                         const cl_device_id *devices, cl_int *error)
{
    struct context_owner *owner = malloc(sizeof(*owner));
    cl_context context;

    if (!owner) {
        *error = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    *owner = (struct context_owner){x, id};
    context = clCreateContext(properties, count, devices, native_error, owner, error);
    if (*error)
        free(owner);
    else
        clSetContextDestructorCallback(context, owner_free, owner);
    return context;
}

/* ---- objects ---- */

void *context_function(cl_context context, const char *name)
{
    cl_device_id devices[WIRE_MAX_DEVICES] = {NULL};
    cl_platform_id platform = NULL;

    clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL);
    clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return clGetExtensionFunctionAddressForPlatform(platform, name);
}

/* Makes a queue for what other nodes need, out of order if the device can, so that no part of it waits for the
 * others. */
static struct queue *mover_new(const struct context *context)
{
    struct queue *mover = calloc(1, sizeof(*mover));
    cl_command_queue_properties can = 0;
    cl_int error;

    if (!mover)
        return NULL;
    clGetDeviceInfo(context->on, CL_DEVICE_QUEUE_PROPERTIES, sizeof(can), &can, NULL);
    mover->out_of_order = can & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    mover->native = clCreateCommandQueue(context->native, context->on,
                                         mover->out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &error);
    if (error) {
        free(mover);
        return NULL;
    }
    mover->in = context->native;
    mover->on = context->on;
    mover->unified = device_is_unified(context->on);
    return mover;
}

int exec_create_context(struct executor *x, const struct exec_create_context *m)
{
    cl_device_id devices[WIRE_MAX_DEVICES];
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, 0, 0};
    struct context *context = m->context;
    cl_platform_id platform = NULL;

    if (!m->devices_count)
        return -EBADMSG;
    devices_native(m->devices, m->devices_count, devices);
    clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    properties[1] = (cl_context_properties)platform;
    context->native = create(x, context->id, properties, m->devices_count, devices, &context->error);
    context->on = devices[0];
    for (uint32_t i = 0; i < m->devices_count; i++)
        context->devices |= QUOTA_DEVICE(m->devices[i]);
    if (is_usable(context))
        context->spare = clCreateCommandQueue(context->native, devices[0], 0, &context->error);
    if (!context->error)
        context->mover = mover_new(context);
    if (!context->error && !device_is_unified(devices[0]))
        context->staging = staging_new(context->native, devices[0]);
    if (context->mover)
        context->mover->staging = context->staging;
    if (context->mover)
        context->mover->ordinal = m->devices[0]->ordinal;
    context->scrubs = scrub_wanted(x, devices, m->devices_count);
    return 0;
}
