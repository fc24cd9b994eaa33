/* Events: waiting for them, their status and times, callbacks, user events. */
#include <errno.h>

#include "libvocl/internal.h"

cl_int event_check_list(cl_context context, cl_uint count, const cl_event *list)
{
    const int error = event_check(context, count, list);

    if (!error)
        return CL_SUCCESS;
    return error == -EXDEV ? CL_INVALID_CONTEXT : CL_INVALID_EVENT_WAIT_LIST;
}

cl_int clWaitForEvents(cl_uint count, const cl_event *list)
{
    TIMELINE(clWaitForEvents);

    if (!count || !list)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!handle_check(list[i], WIRE_EVENT))
            return CL_INVALID_EVENT;
        if (list[i]->context != list[0]->context)
            return CL_INVALID_CONTEXT;
    }
    return event_wait_all(count, list) ? CL_SUCCESS : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

cl_int clGetEventInfo(cl_event event, cl_event_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetEventInfo);

    cl_int status;
    cl_uint count;

    if (!handle_check(event, WIRE_EVENT))
        return CL_INVALID_EVENT;
    switch (param) {
    case CL_EVENT_COMMAND_QUEUE:
        return info_return(&event->queue, sizeof(event->queue), size, value, size_ret);
    case CL_EVENT_CONTEXT:
        return info_return(&event->context, sizeof(event->context), size, value, size_ret);
    case CL_EVENT_COMMAND_TYPE:
        return info_return(&event->type, sizeof(event->type), size, value, size_ret);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
        status = value ? event_status(event) : 0;
        if (value && status <= CL_COMPLETE)
            event_show();
        return info_return(&status, sizeof(status), size, value, size_ret);
    case CL_EVENT_REFERENCE_COUNT:
        count = (cl_uint)atomic_load(&event->object.references);
        return info_return(&count, sizeof(count), size, value, size_ret);
    }
    return CL_INVALID_VALUE;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info param, size_t size, void *value, size_t *size_ret)
{
    TIMELINE(clGetEventProfilingInfo);

    cl_ulong time;

    if (!handle_check(event, WIRE_EVENT))
        return CL_INVALID_EVENT;
    if (info_is_newer(event->context->devices[0], param))
        return CL_INVALID_VALUE;
    if (!event->queue || !(event->queue->properties & CL_QUEUE_PROFILING_ENABLE) || event_status(event) != CL_COMPLETE)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    if (!event->has_times)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    if (param < CL_PROFILING_COMMAND_QUEUED || param > CL_PROFILING_COMMAND_COMPLETE)
        return value ? CL_INVALID_VALUE : info_return(NULL, sizeof(time), 0, NULL, size_ret); /* as PoCL does */
    time = event->times[param == CL_PROFILING_COMMAND_COMPLETE ? 3 : param - CL_PROFILING_COMMAND_QUEUED];
    return info_return(&time, sizeof(time), size, value, size_ret);
}

cl_int clRetainEvent(cl_event event)
{
    TIMELINE(clRetainEvent);

    return handle_retain(event, WIRE_EVENT, CL_INVALID_EVENT);
}

cl_int clReleaseEvent(cl_event event)
{
    TIMELINE(clReleaseEvent);

    HALT_GUARD_QUIET;
    return handle_release(event, WIRE_EVENT, CL_INVALID_EVENT);
}

/* If the event already has the status, the calling thread calls the function itself, as with native OpenCL. */
cl_int clSetEventCallback(cl_event event, cl_int status, void(CL_CALLBACK *function)(cl_event, cl_int, void *),
                          void *data)
{
    TIMELINE(clSetEventCallback);

    cl_int known;

    if (!handle_check(event, WIRE_EVENT))
        return CL_INVALID_EVENT;
    if (!function || status < CL_COMPLETE || status > CL_SUBMITTED)
        return CL_INVALID_VALUE;
    known = event_known(event);
    if (known > status)
        return cl_error(event_call(event, status, function, data));
    event_show();
    function(event, known < 0 ? known : status, data);
    return CL_SUCCESS;
}

cl_event clCreateUserEvent(cl_context context, cl_int *ret)
{
    TIMELINE(clCreateUserEvent);

    cl_event event = NULL;

    if (!handle_check(context, WIRE_CONTEXT))
        fail_ret(ret, CL_INVALID_CONTEXT);
    else
        fail_ret(ret, cl_error(user_event_new(context, &event)));
    return event;
}

cl_int clSetUserEventStatus(cl_event event, cl_int status)
{
    TIMELINE(clSetUserEventStatus);

    int error;

    if (!handle_check(event, WIRE_EVENT) || event->queue)
        return CL_INVALID_EVENT;
    if (status > CL_COMPLETE)
        return CL_INVALID_VALUE;
    error = user_event_set(event, status);
    return error == -EALREADY ? CL_INVALID_OPERATION : cl_error(error);
}
