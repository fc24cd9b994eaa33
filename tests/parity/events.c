/*
 * Events of every command: their queries, wait lists across queues of both kinds, markers, barriers, the order of
 * profiling times, and reference counts.
 */
#include "next.h"

enum { SIZE = COUNT * 4 };

static cl_command_queue loose, second;

/* Some drivers do not say when a marker or barrier was queued or submitted. */
static bool has_all_times(cl_event event)
{
    cl_command_type type;
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    return type != CL_COMMAND_MARKER && type != CL_COMMAND_BARRIER;
}

static void times_check(cl_event event)
{
    static const cl_profiling_info names[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                              CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END,
                                              CL_PROFILING_COMMAND_COMPLETE};
    cl_ulong last = 0, time;
    for (size_t i = 0; i < PARITY_COUNT(names) - (parity_version(&p) < 200); i++) {
        size_t size = 0;
        CHECK(clGetEventProfilingInfo(event, names[i], sizeof(time), &time, &size));
        EXPECT(size == sizeof(time) && time >= last && (time != 0 || !has_all_times(event)));
        last = time;
    }
}

/* Prints all queries of an event, and releases it. Reference counts include PoCL's own. */
static void event_finish(const char *name, cl_command_queue queue, cl_event event)
{
    cl_command_queue known;
    cl_context context;
    cl_command_type type;
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(known), &known, NULL));
    CHECK(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL));
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    EXPECT(known == queue && context == p.context);
    CHECK(clWaitForEvents(1, &event));
    EXPECT(parity_event_status(event) == CL_COMPLETE);
    times_check(event);
    EXPECT(parity_references_of_event(event) >= 1);
    printf("%s: type %#x\n", name, type);
    CHECK(clReleaseEvent(event));
}

static void buffer_commands(cl_command_queue queue)
{
    cl_mem buffer = buffer_create(), other = buffer_create();
    size_t origin[3] = {0}, region[] = {16, 4, 2};
    cl_int pattern = 7, status;
    cl_event event;
    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, SIZE, zeros, 0, NULL, &event));
    event_finish("write", queue, event);
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, result, 0, NULL, &event));
    event_finish("read", queue, event);
    CHECK(clEnqueueCopyBuffer(queue, buffer, other, 0, 0, SIZE, 0, NULL, &event));
    event_finish("copy", queue, event);
    CHECK(clEnqueueFillBuffer(queue, buffer, &pattern, sizeof(pattern), 0, SIZE, 0, NULL, &event));
    event_finish("fill", queue, event);
    CHECK(clEnqueueWriteBufferRect(queue, buffer, CL_TRUE, origin, origin, region, 0, 0, 0, 0, zeros, 0, NULL, &event));
    event_finish("rectangle write", queue, event);
    CHECK(
        clEnqueueReadBufferRect(queue, buffer, CL_FALSE, origin, origin, region, 0, 0, 0, 0, result, 0, NULL, &event));
    event_finish("rectangle read", queue, event);
    CHECK(clEnqueueCopyBufferRect(queue, buffer, other, origin, origin, region, 0, 0, 0, 0, 0, NULL, &event));
    event_finish("rectangle copy", queue, event);
    void *data = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, SIZE, 0, NULL, &event, &status);
    CHECK(status);
    event_finish("map", queue, event);
    CHECK(clEnqueueUnmapMemObject(queue, buffer, data, 0, NULL, &event));
    event_finish("unmap", queue, event);
    CHECK(clEnqueueMigrateMemObjects(queue, 1, &buffer, 0, 0, NULL, &event));
    event_finish("migrate", queue, event);
    CHECK(clReleaseMemObject(other));
    CHECK(clReleaseMemObject(buffer));
}

static void other_commands(cl_command_queue queue)
{
    cl_mem buffer = buffer_create();
    cl_event event = launch(queue, buffer, 1, 1, 0, NULL);
    event_finish("launch", queue, event);
    CHECK(clEnqueueTask(queue, kernel, 0, NULL, &event));
    event_finish("task", queue, event);
    CHECK(clEnqueueMarker(queue, &event));
    event_finish("marker of OpenCL 1.1", queue, event);
    CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event));
    event_finish("marker", queue, event);
    CHECK(clEnqueueBarrierWithWaitList(queue, 0, NULL, &event));
    event_finish("barrier", queue, event);
    CHECK(clFinish(queue));
    CHECK(clReleaseMemObject(buffer));
}

/* Launches alternately in three queues, each behind the one before. */
static void queues_cross(void)
{
    cl_command_queue queues[] = {p.queue, loose, second};
    cl_mem buffer = buffer_create();
    cl_event events[30];
    cl_int wanted = 0;
    for (int i = 0; i < 30; i++) {
        cl_int factor = i % 5 == 4 ? 2 : 1;
        events[i] = launch(queues[i % 3], buffer, factor, i, i > 0, i > 0 ? &events[i - 1] : NULL);
        CHECK(clFlush(queues[i % 3]));
        wanted = wanted * factor + i;
    }
    CHECK(clWaitForEvents(30, events));
    for (int i = 0; i < 30; i++) {
        EXPECT(parity_event_status(events[i]) == CL_COMPLETE);
        times_check(events[i]);
        CHECK(clReleaseEvent(events[i]));
    }
    result_check("across queues", buffer, wanted);
    CHECK(clReleaseMemObject(buffer));
}

/* A diamond: two launches on two buffers, both waited for by a third command. */
static void diamond(void)
{
    cl_mem left = buffer_create(), right = buffer_create();
    cl_event both[] = {launch(loose, left, 1, 3, 0, NULL), launch(second, right, 1, 4, 0, NULL)}, joined, last;
    CHECK(clFlush(loose));
    CHECK(clFlush(second));
    parity_rich();
    CHECK(clEnqueueCopyBuffer(p.queue, left, right, 0, SIZE / 2, SIZE / 2, 2, both, &joined));
    last = launch(loose, right, 10, 0, 1, &joined);
    CHECK(clFlush(p.queue));
    CHECK(clWaitForEvents(1, &last));
    parity_read(p.queue, right, 0, SIZE, result);
    for (int i = 0; i < COUNT; i++)
        EXPECT(result[i] == (i < COUNT / 2 ? 40 : 30));
    parity_hash_print("diamond", result, SIZE);
    CHECK(clReleaseEvent(last));
    CHECK(clReleaseEvent(joined));
    CHECK(clReleaseEvent(both[0]));
    CHECK(clReleaseEvent(both[1]));
    CHECK(clReleaseMemObject(left));
    CHECK(clReleaseMemObject(right));
}

/*
 * An in-order queue needs no events; an out-of-order one has barriers and markers. Without clEnqueueWaitForEvents, in
 * which PoCL 3.1 ends the program.
 */
static void barriers(void)
{
    cl_mem buffer = buffer_create();
    cl_event marker;
    for (int i = 0; i < 20; i++) {
        CHECK(clReleaseEvent(launch(loose, buffer, 2, 1, 0, NULL)));
        if (i % 2)
            CHECK(clEnqueueBarrierWithWaitList(loose, 0, NULL, NULL));
        else
            CHECK(clEnqueueBarrier(loose));
    }
    CHECK(clEnqueueMarkerWithWaitList(loose, 0, NULL, &marker));
    CHECK(clWaitForEvents(1, &marker));
    CHECK(clReleaseEvent(marker));
    result_check("barriers", buffer, (1 << 20) - 1);
    CHECK(clReleaseMemObject(buffer));
}

static void references(void)
{
    cl_int status;
    cl_event event = clCreateUserEvent(p.context, &status);
    CHECK(status);
    for (int i = 0; i < 3; i++)
        CHECK(clRetainEvent(event));
    printf("retained three times: %u references\n", parity_references_of_event(event));
    for (int i = 0; i < 3; i++)
        CHECK(clReleaseEvent(event));
    printf("released three times: %u reference\n", parity_references_of_event(event));
    CHECK(clReleaseEvent(event));
}

/* Waiting twice, for events of several queues and for the same event many times in one list. */
static void waits(void)
{
    cl_mem one = buffer_create(), two = buffer_create();
    cl_event first = launch(p.queue, one, 1, 1, 0, NULL), other = launch(second, two, 1, 1, 0, NULL);
    cl_event list[] = {first, other, first, other, other};
    SHOW("wait for events of two queues", clWaitForEvents(2, list));
    SHOW("wait again", clWaitForEvents(2, list));
    SHOW("wait for the same ones several times", clWaitForEvents(5, list));
    cl_event event = launch(loose, one, 1, 1, 5, list);
    SHOW("wait behind that list", clWaitForEvents(1, &event));
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(other));
    CHECK(clReleaseEvent(first));
    result_check("waits", one, 2);
    CHECK(clReleaseMemObject(one));
    CHECK(clReleaseMemObject(two));
}

/* Profiling has to be asked for when the queue is created. */
static void unprofiled(void)
{
    cl_ulong time;
    cl_command_queue plain = parity_queue(&p, 0);
    cl_mem buffer = buffer_create();
    cl_event event = launch(plain, buffer, 1, 1, 0, NULL);
    CHECK(clFinish(plain));
    SHOW("profiling of a plain queue",
         clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(time), &time, NULL));
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(plain));
}

int main(void)
{
    parity_open(&p, CL_QUEUE_PROFILING_ENABLE);
    second = parity_queue(&p, CL_QUEUE_PROFILING_ENABLE);
    loose = parity_queue(&p, CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_program program = parity_program(&p, source, NULL);
    kernel = parity_kernel(program, "next");
    printf("-- in order\n");
    buffer_commands(p.queue);
    other_commands(p.queue);
    printf("-- out of order\n");
    buffer_commands(loose);
    other_commands(loose);
    queues_cross();
    diamond();
    barriers();
    references();
    waits();
    unprofiled();
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(loose));
    CHECK(clReleaseCommandQueue(second));
    parity_close(&p);
    return 0;
}
