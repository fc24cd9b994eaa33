/*
 * Events of commands that complete as they are enqueued, because nothing else runs: their queries, commands that wait
 * for them, in other queues and on other devices, too, and later commands.
 */
#include "parity.h"

enum { COUNT = 256, KINDS = 6 };

static const char *source = "kernel void next(global int *data)\n"
                            "{\n"
                            "    data[get_global_id(0)] += 1;\n"
                            "}\n";

static struct parity p;
static cl_context context;
static cl_device_id devices[16];
static cl_uint device_count;
static cl_kernel kernel;
static cl_mem buffer;
static cl_int values[COUNT];

static cl_command_queue queue_create(cl_device_id device, cl_command_queue_properties properties)
{
    cl_int status;
    cl_command_queue queue = clCreateCommandQueueWithProperties(
        context, device, (cl_queue_properties[]){CL_QUEUE_PROPERTIES, properties, 0}, &status);
    CHECK(status);
    return queue;
}

static void over_all(cl_command_queue queue, cl_event events[KINDS])
{
    cl_int status;
    void *mapped;

    CHECK(clFinish(queue));
    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(values), values, 0, NULL, &events[0]));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(values), values, 1, &events[0], &events[1]));
    CHECK(clEnqueueMarkerWithWaitList(queue, 2, events, &events[2]));
    CHECK(clEnqueueBarrierWithWaitList(queue, 0, NULL, &events[3]));
    mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 64, 1, &events[2], &events[4], &status);
    CHECK(status);
    CHECK(clEnqueueUnmapMemObject(queue, buffer, mapped, 1, &events[4], &events[5]));
}

static void release_all(cl_event events[KINDS])
{
    for (int i = 0; i < KINDS; i++)
        CHECK(clReleaseEvent(events[i]));
}

static void launch(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, (size_t[]){COUNT}, NULL, count, list, event));
}

static void CL_CALLBACK note(cl_event event, cl_int status, void *data)
{
    (void)event;
    *(cl_int *)data = status;
}

static void describe(cl_command_queue queue)
{
    cl_event events[KINDS];

    over_all(queue, events);
    CHECK(clWaitForEvents(KINDS, events));
    parity_rich();
    for (int i = 0; i < KINDS; i++) {
        cl_command_queue own_queue;
        cl_context own_context;
        cl_command_type type;
        cl_int status, told = 5;
        cl_ulong time;
        CHECK(clGetEventInfo(events[i], CL_EVENT_COMMAND_QUEUE, sizeof(own_queue), &own_queue, NULL));
        CHECK(clGetEventInfo(events[i], CL_EVENT_CONTEXT, sizeof(own_context), &own_context, NULL));
        CHECK(clGetEventInfo(events[i], CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
        CHECK(clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
        EXPECT(own_queue == queue && own_context == context);
        CHECK(clSetEventCallback(events[i], CL_COMPLETE, note, &told));
        printf(
            "event %d: type %x, status %d, told %d, profiling %s\n", i, type, status, told,
            parity_error_name(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL)));
        CHECK(clRetainEvent(events[i]));
        CHECK(clReleaseEvent(events[i]));
    }
    release_all(events);
}

/* Commands of all kinds wait for these events. */
static void wait_for(cl_command_queue over, cl_command_queue queue)
{
    cl_event events[KINDS], last[3];
    cl_int status, result[COUNT];

    over_all(over, events);
    CHECK(clFinish(over));
    values[0] += 2;
    launch(queue, KINDS, events, &last[0]);
    launch(queue, 1, &last[0], &last[1]);
    CHECK(clEnqueueBarrierWithWaitList(queue, KINDS, events, NULL));
    CHECK(clEnqueueMarkerWithWaitList(queue, KINDS, events, &last[2]));
    release_all(events);
    CHECK(clWaitForEvents(3, last));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(result), result, 2, last, NULL));
    CHECK(clGetEventInfo(last[2], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    printf("waited for: status %d, %s\n", status, result[0] == values[0] ? "right" : "wrong");
    memcpy(values, result, sizeof(values));
    for (int i = 0; i < 3; i++)
        CHECK(clReleaseEvent(last[i]));
}

/* Out of order, a barrier with a list waits for the list only, a marker without one for all commands. */
static void beside(cl_command_queue over)
{
    cl_command_queue queue = queue_create(devices[0], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_event events[KINDS], held, gate, barrier, whole;
    cl_int status;

    over_all(over, events);
    CHECK(clWaitForEvents(KINDS, events));
    gate = clCreateUserEvent(context, &status);
    CHECK(status);
    launch(queue, 1, &gate, &held);
    CHECK(clEnqueueBarrierWithWaitList(queue, 1, events, &barrier));
    CHECK(clWaitForEvents(1, &barrier));
    CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &whole));
    CHECK(clFlush(queue));
    CHECK(clGetEventInfo(whole, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    printf("out of order: the rest is %s\n", status > CL_COMPLETE ? "held" : "over");
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clWaitForEvents(1, &whole));
    CHECK(clGetEventInfo(held, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    printf("out of order: then status %d\n", status);
    CHECK(clFinish(queue));
    release_all(events);
    CHECK(clReleaseEvent(held));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseEvent(barrier));
    CHECK(clReleaseEvent(whole));
    CHECK(clReleaseCommandQueue(queue));
}

/* The times of a queue's commands increase from one command to the next. */
static void times(void)
{
    cl_command_queue queue = queue_create(devices[0], CL_QUEUE_PROFILING_ENABLE);
    cl_ulong before = 0;

    for (int round = 0; round < 20; round++) {
        cl_event events[3];
        CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, &events[0]));
        launch(queue, 0, NULL, &events[1]);
        CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, &events[2]));
        for (int i = 0; i < 3; i++) {
            cl_ulong times[4];
            for (cl_profiling_info info = 0; info < 4; info++)
                CHECK(clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_QUEUED + info, sizeof(times[0]),
                                              &times[info], NULL));
            EXPECT(times[0] <= times[1] && times[1] <= times[2] && times[2] < times[3]);
            EXPECT(before <= times[2]);
            before = times[3];
            CHECK(clReleaseEvent(events[i]));
        }
    }
    CHECK(clReleaseCommandQueue(queue));
    printf("times go on\n");
}

int main(void)
{
    cl_command_queue first, last;
    cl_program program;
    cl_int status;

    parity_open(&p, 0);
    CHECK(clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_ALL, PARITY_COUNT(devices), devices, &device_count));
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    CHECK(status);
    first = queue_create(devices[0], 0);
    last = queue_create(devices[device_count - 1], 0);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    kernel = parity_kernel(program, "next");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(values), values, &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    launch(first, 0, NULL, NULL);
    CHECK(clFinish(first));
    CHECK(clEnqueueReadBuffer(first, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL));
    describe(first);
    describe(last);
    wait_for(first, first);
    wait_for(first, last);
    wait_for(last, first);
    beside(last);
    beside(first);
    times();
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(first));
    CHECK(clReleaseCommandQueue(last));
    CHECK(clReleaseContext(context));
    parity_close(&p);
    return 0;
}
