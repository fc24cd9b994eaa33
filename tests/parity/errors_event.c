/* Error codes of the calls about events, wait lists and samplers, and about features that no device here has. */
#include "parity.h"

static struct parity p, other;
static cl_event gate, done, foreign;
static cl_mem buffer;
static char data[256];

static void CL_CALLBACK called(cl_event event, cl_int status, void *unused)
{
    (void)event, (void)status, (void)unused;
}

static void event_ask(void)
{
    cl_event none = NULL, two[] = {done, foreign}, with_null[] = {done, NULL};
    cl_ulong time;
    cl_int number;
    SHOW_NEW("clCreateUserEvent(NULL)", clCreateUserEvent(NULL, &status));
    SHOW("clSetUserEventStatus(NULL)", clSetUserEventStatus(NULL, CL_COMPLETE));
    SHOW("clSetUserEventStatus(submitted)", clSetUserEventStatus(gate, CL_SUBMITTED));
    SHOW("clSetUserEventStatus(running)", clSetUserEventStatus(gate, CL_RUNNING));
    SHOW("clSetUserEventStatus(a command's)", clSetUserEventStatus(done, CL_COMPLETE));
    SHOW("clSetUserEventStatus", clSetUserEventStatus(gate, CL_COMPLETE));
    SHOW("clSetUserEventStatus(again)", clSetUserEventStatus(gate, CL_COMPLETE));
    SHOW("clWaitForEvents(none)", clWaitForEvents(0, &done));
    SHOW("clWaitForEvents(no list)", clWaitForEvents(1, NULL));
    SHOW("clWaitForEvents(NULL event)", clWaitForEvents(1, &none));
    SHOW("clWaitForEvents(one NULL)", clWaitForEvents(2, with_null));
    SHOW("clWaitForEvents(of two contexts)", clWaitForEvents(2, two));
    SHOW("clGetEventInfo(NULL)", clGetEventInfo(NULL, CL_EVENT_COMMAND_TYPE, 4, &number, NULL));
    SHOW("clGetEventInfo(no such question)", clGetEventInfo(done, 0x7777, 0, NULL, NULL));
    SHOW("clGetEventInfo(too small)", clGetEventInfo(done, CL_EVENT_COMMAND_TYPE, 1, &number, NULL));
    SHOW("clGetEventProfilingInfo(NULL)", clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_END, 8, &time, NULL));
    SHOW("clGetEventProfilingInfo(not profiled)",
         clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, 8, &time, NULL));
    SHOW("clSetEventCallback(NULL)", clSetEventCallback(NULL, CL_COMPLETE, called, NULL));
    SHOW("clSetEventCallback(no function)", clSetEventCallback(done, CL_COMPLETE, NULL, NULL));
    SHOW("clSetEventCallback(queued)", clSetEventCallback(done, CL_QUEUED, called, NULL));
    SHOW("clSetEventCallback(no status)", clSetEventCallback(done, 77, called, NULL));
    SHOW("clRetainEvent(NULL)", clRetainEvent(NULL));
    SHOW("clReleaseEvent(NULL)", clReleaseEvent(NULL));
}

static void wait_list_ask(void)
{
    cl_event none = NULL;
    SHOW("clEnqueueReadBuffer(list without events)",
         clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, 0, 16, data, 1, NULL, NULL));
    SHOW("clEnqueueReadBuffer(events of none)",
         clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, 0, 16, data, 0, &done, NULL));
    SHOW("clEnqueueReadBuffer(NULL event)", clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, 0, 16, data, 1, &none, NULL));
    SHOW("clEnqueueReadBuffer(event of another context)",
         clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, 0, 16, data, 1, &foreign, NULL));
    SHOW("clEnqueueMarkerWithWaitList(NULL queue)", clEnqueueMarkerWithWaitList(NULL, 0, NULL, NULL));
    SHOW("clEnqueueMarkerWithWaitList(list without events)", clEnqueueMarkerWithWaitList(p.queue, 1, NULL, NULL));
    SHOW("clEnqueueMarkerWithWaitList(events of none)", clEnqueueMarkerWithWaitList(p.queue, 0, &done, NULL));
    SHOW("clEnqueueMarkerWithWaitList(event of another context)",
         clEnqueueMarkerWithWaitList(p.queue, 1, &foreign, NULL));
    SHOW("clEnqueueBarrierWithWaitList(NULL queue)", clEnqueueBarrierWithWaitList(NULL, 0, NULL, NULL));
    SHOW("clEnqueueBarrierWithWaitList(list without events)", clEnqueueBarrierWithWaitList(p.queue, 1, NULL, NULL));
    SHOW("clEnqueueBarrierWithWaitList(NULL event)", clEnqueueBarrierWithWaitList(p.queue, 1, &none, NULL));
    SHOW("clEnqueueMarker(NULL queue)", clEnqueueMarker(NULL, &none));
    SHOW("clEnqueueMarker(no event)", clEnqueueMarker(p.queue, NULL));
    SHOW("clEnqueueBarrier(NULL queue)", clEnqueueBarrier(NULL));
    SHOW("clEnqueueWaitForEvents(NULL queue)", clEnqueueWaitForEvents(NULL, 1, &done));
    CHECK(clFinish(p.queue));
}

static void sampler_ask(void)
{
    const cl_sampler_properties twice[] = {CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST, CL_SAMPLER_FILTER_MODE,
                                           CL_FILTER_LINEAR, 0},
                                unknown[] = {0x7777, 1, 0}, mode[] = {CL_SAMPLER_ADDRESSING_MODE, 0x7777, 0};
    cl_uint number;
    SHOW_NEW("clCreateSampler(NULL)", clCreateSampler(NULL, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status));
    SHOW_NEW("clCreateSampler(no such mode)", clCreateSampler(p.context, CL_TRUE, 0x7777, CL_FILTER_NEAREST, &status));
    SHOW_NEW("clCreateSampler(no such filter)", clCreateSampler(p.context, CL_TRUE, CL_ADDRESS_CLAMP, 0x7777, &status));
    SHOW_NEW("clCreateSampler(repeat, not normalized)",
             clCreateSampler(p.context, CL_FALSE, CL_ADDRESS_REPEAT, CL_FILTER_NEAREST, &status));
    if (parity_version(&p) >= 200) {
        SHOW_NEW("clCreateSamplerWithProperties(NULL)", clCreateSamplerWithProperties(NULL, NULL, &status));
        SHOW_NEW("clCreateSamplerWithProperties(twice)", clCreateSamplerWithProperties(p.context, twice, &status));
        SHOW_NEW("clCreateSamplerWithProperties(unknown)", clCreateSamplerWithProperties(p.context, unknown, &status));
        SHOW_NEW("clCreateSamplerWithProperties(no such mode)",
                 clCreateSamplerWithProperties(p.context, mode, &status));
    }
    SHOW("clGetSamplerInfo(NULL)", clGetSamplerInfo(NULL, CL_SAMPLER_FILTER_MODE, 4, &number, NULL));
    SHOW("clRetainSampler(NULL)", clRetainSampler(NULL));
    SHOW("clReleaseSampler(NULL)", clReleaseSampler(NULL));
}

static void context_ask(void)
{
    cl_uint number;
    SHOW("clGetContextInfo(NULL)", clGetContextInfo(NULL, CL_CONTEXT_NUM_DEVICES, 4, &number, NULL));
    SHOW("clGetContextInfo(no such question)", clGetContextInfo(p.context, 0x7777, 0, NULL, NULL));
    SHOW("clGetContextInfo(too small)", clGetContextInfo(p.context, CL_CONTEXT_NUM_DEVICES, 1, &number, NULL));
    SHOW("clRetainContext(NULL)", clRetainContext(NULL));
    SHOW("clReleaseContext(NULL)", clReleaseContext(NULL));
    SHOW("clGetDeviceInfo(no such question)", clGetDeviceInfo(p.device, 0x7777, 0, NULL, NULL));
    SHOW("clGetDeviceInfo(too small)", clGetDeviceInfo(p.device, CL_DEVICE_NAME, 1, data, NULL));
    SHOW("clGetPlatformInfo(no such question)", clGetPlatformInfo(p.platform, 0x7777, 0, NULL, NULL));
    SHOW("clGetPlatformInfo(too small)", clGetPlatformInfo(p.platform, CL_PLATFORM_PROFILE, 1, data, NULL));
}

int main(void)
{
    cl_int status;
    parity_open(&p, 0);
    parity_open(&other, 0);
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE, sizeof(data), NULL);
    gate = clCreateUserEvent(p.context, &status);
    CHECK(status);
    foreign = clCreateUserEvent(other.context, &status);
    CHECK(clSetUserEventStatus(foreign, CL_COMPLETE));
    CHECK(clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, &done));
    parity_rich();
    event_ask();
    wait_list_ask();
    sampler_ask();
    context_ask();
    return 0;
}
