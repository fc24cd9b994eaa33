/*
 * Commands that wait for user events (gates): chains of them, gates completed from another thread, in any order and
 * with errors, and the commands behind a gate that fails.
 */
#include "next.h"
#include <pthread.h>

enum { CHAIN = 100, LONG = 5001 };

static cl_command_queue loose;

static void status_print(const char *name, cl_event event)
{
    printf("%s is %s\n", name, parity_status_name(parity_event_status(event)));
}

/* OpenCL leaves open whether a command has begun to be submitted. */
static void pending_check(cl_event event)
{
    cl_int status = parity_event_status(event);
    EXPECT(status == CL_QUEUED || status == CL_SUBMITTED);
}

static void info_show(void)
{
    cl_event gate = parity_gate(&p);
    cl_command_queue queue;
    cl_context context;
    cl_command_type type;
    cl_ulong time;
    CHECK(clGetEventInfo(gate, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL));
    CHECK(clGetEventInfo(gate, CL_EVENT_CONTEXT, sizeof(context), &context, NULL));
    CHECK(clGetEventInfo(gate, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    EXPECT(queue == NULL && context == p.context && type == CL_COMMAND_USER);
    status_print("user event", gate);
    printf("%u reference\n", parity_references_of_event(gate));
    SHOW("profiling of a user event",
         clGetEventProfilingInfo(gate, CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL));
    SHOW("set to 1", clSetUserEventStatus(gate, 1));
    SHOW("set to CL_SUBMITTED", clSetUserEventStatus(gate, CL_SUBMITTED));
    SHOW("set to CL_COMPLETE", clSetUserEventStatus(gate, CL_COMPLETE));
    SHOW("set to CL_COMPLETE again", clSetUserEventStatus(gate, CL_COMPLETE));
    SHOW("set to -1 afterwards", clSetUserEventStatus(gate, -1));
    status_print("user event", gate);
    CHECK(clWaitForEvents(1, &gate));
    CHECK(clReleaseEvent(gate));
}

/* A chain of commands, each waiting for the one before, behind one gate. */
static void chain_run(const char *name, cl_command_queue queue)
{
    cl_mem buffer = buffer_create();
    cl_event gate = parity_gate(&p), links[CHAIN];
    cl_int wanted = 0;
    for (int i = 0; i < CHAIN; i++) {
        cl_int factor = i % 7 == 3 ? 2 : 1;
        links[i] = launch(queue, buffer, factor, i, 1, i == 0 ? &gate : &links[i - 1]);
        wanted = (cl_int)((cl_uint)wanted * (cl_uint)factor + (cl_uint)i);
    }
    CHECK(clFlush(queue));
    pending_check(links[0]);
    pending_check(links[CHAIN - 1]);
    parity_rich();
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clReleaseEvent(gate));
    CHECK(clWaitForEvents(1, &links[CHAIN - 1]));
    for (int i = 0; i < CHAIN; i++) {
        EXPECT(parity_event_status(links[i]) == CL_COMPLETE);
        CHECK(clReleaseEvent(links[i]));
    }
    result_check(name, buffer, wanted);
    CHECK(clReleaseMemObject(buffer));
}

/* A command behind three gates starts with the last of them, in any order. */
static void gates_several(void)
{
    static const int orders[][3] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}};
    for (size_t i = 0; i < PARITY_COUNT(orders); i++) {
        cl_event gates[3] = {parity_gate(&p), parity_gate(&p), parity_gate(&p)};
        cl_mem buffer = buffer_create();
        cl_event event = launch(p.queue, buffer, 1, 5, 3, gates);
        for (int k = 0; k < 3; k++) {
            pending_check(event);
            CHECK(clSetUserEventStatus(gates[orders[i][k]], CL_COMPLETE));
        }
        CHECK(clWaitForEvents(1, &event));
        result_check("three gates", buffer, 5);
        for (int k = 0; k < 3; k++)
            CHECK(clReleaseEvent(gates[k]));
        CHECK(clReleaseEvent(event));
        CHECK(clReleaseMemObject(buffer));
    }
}

/* Wait lists of any length, as runtimes of task graphs have: with one gate many times, and with many gates. */
static void lists_long(const char *name, cl_command_queue queue)
{
    static cl_event gates[LONG];
    cl_mem buffer = buffer_create();
    cl_event last;
    for (int i = 0; i < LONG; i++)
        gates[i] = i % 2 ? gates[i - 1] : parity_gate(&p);
    CHECK(clEnqueueMarkerWithWaitList(queue, LONG, gates, NULL));
    last = launch(queue, buffer, 1, 1, LONG, gates);
    CHECK(clFlush(queue));
    for (int i = 0; i < LONG; i += 2) {
        pending_check(last);
        CHECK(clSetUserEventStatus(gates[i], CL_COMPLETE));
        CHECK(clReleaseEvent(gates[i]));
    }
    CHECK(clWaitForEvents(1, &last));
    CHECK(clFinish(queue));
    result_check(name, buffer, 1);
    CHECK(clReleaseEvent(last));
    CHECK(clReleaseMemObject(buffer));
}

/* One gate, two queues: a launch in one, waited for by a copy in the other. */
static void queues_two(void)
{
    cl_mem from = buffer_create(), to = buffer_create();
    cl_event gate = parity_gate(&p), copied, launched = launch(loose, from, 1, 42, 1, &gate);
    CHECK(clEnqueueCopyBuffer(p.queue, from, to, 0, 0, sizeof(zeros), 1, &launched, &copied));
    CHECK(clFlush(loose));
    CHECK(clFlush(p.queue));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clWaitForEvents(1, &copied));
    result_check("two queues", to, 42);
    CHECK(clReleaseEvent(copied));
    CHECK(clReleaseEvent(launched));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
}

/* The program blocks, one after the other, in each call that waits, and another thread completes the gate. */
static void thread_opens(int way)
{
    static const char *const names[] = {"clWaitForEvents", "clFinish", "blocking read", "blocking map"};
    cl_mem buffer = buffer_create();
    cl_event gate = parity_gate(&p), event = launch(p.queue, buffer, 1, way + 1, 1, &gate);
    pthread_t thread;
    cl_int status = CL_SUCCESS;
    thread = parity_gate_open_later(gate);
    switch (way) {
    case 0:
        status = clWaitForEvents(1, &event);
        break;
    case 1:
        status = clFinish(p.queue);
        break;
    case 2:
        status = clEnqueueReadBuffer(p.queue, buffer, CL_TRUE, 0, sizeof(result), result, 0, NULL, NULL);
        break;
    case 3:
        CHECK(clEnqueueUnmapMemObject(
            p.queue, buffer,
            clEnqueueMapBuffer(p.queue, buffer, CL_TRUE, CL_MAP_READ, 0, sizeof(result), 0, NULL, NULL, &status), 0,
            NULL, NULL));
        break;
    }
    CHECK(status);
    EXPECT(parity_event_status(event) == CL_COMPLETE);
    EXPECT(pthread_join(thread, NULL) == 0);
    result_check(names[way], buffer, way + 1);
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(buffer));
}

/*
 * Every kind of command behind a gate that fails, enqueued before the failure: PoCL 3.1 waits forever for a command
 * that is enqueued behind an event which has already failed.
 */
static void kinds_fail(cl_command_queue queue)
{
    static const char *const names[] = {"read", "write", "copy", "fill", "map", "marker", "barrier", "without waiting"};
    cl_event gate = parity_gate(&p), events[PARITY_COUNT(names)];
    cl_mem from = buffer_create(), to = buffer_create();
    cl_int status, pattern = 3;
    static cl_int data[COUNT];
    CHECK(clEnqueueReadBuffer(queue, from, CL_FALSE, 0, sizeof(result), result, 1, &gate, &events[0]));
    CHECK(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, sizeof(data), data, 1, &gate, &events[1]));
    CHECK(clEnqueueCopyBuffer(queue, from, to, 0, 0, sizeof(data), 1, &gate, &events[2]));
    CHECK(clEnqueueFillBuffer(queue, to, &pattern, sizeof(pattern), 0, sizeof(data), 1, &gate, &events[3]));
    clEnqueueMapBuffer(queue, to, CL_FALSE, CL_MAP_READ, 0, sizeof(data), 1, &gate, &events[4], &status);
    CHECK(status);
    CHECK(clEnqueueMarkerWithWaitList(queue, 1, &gate, &events[5]));
    CHECK(clEnqueueBarrierWithWaitList(queue, 1, &gate, &events[6]));
    CHECK(clEnqueueReadBuffer(queue, from, CL_FALSE, 0, sizeof(data), data, 0, NULL, &events[7]));
    CHECK(clFlush(queue));
    CHECK(clSetUserEventStatus(gate, -77));
    for (size_t i = 0; i < PARITY_COUNT(names); i++) {
        SHOW(names[i], clWaitForEvents(1, &events[i]));
        status_print(names[i], events[i]);
        CHECK(clReleaseEvent(events[i]));
    }
    SHOW("finish", clFinish(queue));
    result_check("contents", to, 0);
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseEvent(gate));
}

static void CL_CALLBACK nothing(void *argument)
{
    (void)argument;
}

/* The event completes, though earlier commands in its queue have not. */
static void over_check(const char *name, cl_event event)
{
    CHECK(clFlush(loose));
    printf("%s: ", name);
    fflush(stdout);
    CHECK(clWaitForEvents(1, &event));
    printf("over\n");
    CHECK(clReleaseEvent(event));
}

static void svm_independent(void)
{
    enum { SIZE = 1024 };
    void *one = clSVMAlloc(p.context, CL_MEM_READ_WRITE, SIZE, 0), *other = NULL;
    const void *list[] = {one};
    cl_event event;
    cl_int zero = 0;
    if (!one)
        return;
    other = clSVMAlloc(p.context, CL_MEM_READ_WRITE, SIZE, 0);
    CHECK(clEnqueueSVMMap(loose, CL_FALSE, CL_MAP_WRITE, one, SIZE, 0, NULL, &event));
    over_check("SVM map", event);
    CHECK(clEnqueueSVMUnmap(loose, one, 0, NULL, &event));
    over_check("SVM unmap", event);
    CHECK(clEnqueueSVMMemFill(loose, one, &zero, sizeof(zero), SIZE, 0, NULL, &event));
    over_check("SVM fill", event);
    CHECK(clEnqueueSVMMemcpy(loose, CL_FALSE, other, one, SIZE, 0, NULL, &event));
    over_check("SVM copy", event);
    CHECK(clEnqueueSVMMigrateMem(loose, 1, list, NULL, 0, 0, NULL, &event));
    over_check("SVM migrate", event);
    CHECK(clEnqueueSVMFree(loose, 1, &one, NULL, NULL, 0, NULL, &event));
    over_check("SVM free", event);
    clSVMFree(p.context, other);
}

static void maps_independent(cl_mem memory, cl_mem image)
{
    static const cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
    const size_t origin[3] = {0}, region[] = {16, 16, 1};
    size_t pitch;
    cl_event event;
    cl_int status;
    for (size_t i = 0; i < PARITY_COUNT(flags); i++) {
        void *map = clEnqueueMapBuffer(loose, memory, CL_FALSE, flags[i], 0, 4096, 0, NULL, &event, &status);
        CHECK(status);
        over_check("map", event);
        CHECK(clEnqueueUnmapMemObject(loose, memory, map, 0, NULL, &event));
        over_check("unmap", event);
        map =
            clEnqueueMapImage(loose, image, CL_FALSE, flags[i], origin, region, &pitch, NULL, 0, NULL, &event, &status);
        CHECK(status);
        over_check("image map", event);
        CHECK(clEnqueueUnmapMemObject(loose, image, map, 0, NULL, &event));
        over_check("image unmap", event);
    }
}

/* Out of order, commands wait only for what they list, except for barriers. */
static void independent(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    cl_mem held = buffer_create(), buffer = buffer_create();
    cl_event gate = parity_gate(&p), first = launch(loose, held, 1, 1, 1, &gate), behind[2], event;
    cl_int status;
    cl_mem image = clCreateImage(p.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK(status);
    maps_independent(buffer, image);
    svm_independent();
    CHECK(clEnqueueNativeKernel(loose, nothing, NULL, 0, 0, NULL, NULL, 0, NULL, &event));
    over_check("native kernel", event);
    CHECK(clEnqueueBarrierWithWaitList(loose, 1, &gate, NULL));
    clEnqueueMapBuffer(loose, buffer, CL_FALSE, CL_MAP_READ, 0, 4096, 0, NULL, &behind[0], &status);
    CHECK(status);
    CHECK(clEnqueueNativeKernel(loose, nothing, NULL, 0, 0, NULL, NULL, 0, NULL, &behind[1]));
    CHECK(clFlush(loose));
    pending_check(first);
    pending_check(behind[0]);
    pending_check(behind[1]);
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clFinish(loose));
    for (int i = 0; i < 2; i++)
        CHECK(clReleaseEvent(behind[i]));
    CHECK(clReleaseEvent(first));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(image));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(held));
}

/* The gate fails: its dependants fail in turn and have no effect. */
static void gate_fails(const char *name, cl_command_queue queue, cl_int code)
{
    cl_mem buffer = buffer_create();
    cl_event gate = parity_gate(&p), first = launch(queue, buffer, 1, 1, 1, &gate);
    cl_event second = launch(queue, buffer, 1, 10, 1, &first);
    printf("-- %s, gate set to %d\n", name, code);
    CHECK(clSetUserEventStatus(gate, code));
    SHOW("wait for the gate", clWaitForEvents(1, &gate));
    SHOW("wait for the first", clWaitForEvents(1, &first));
    SHOW("wait for the second", clWaitForEvents(1, &second));
    status_print("gate", gate);
    status_print("first", first);
    status_print("second", second);
    SHOW("finish", clFinish(queue));
    result_check("contents", buffer, 0);
    CHECK(clReleaseEvent(second));
    CHECK(clReleaseEvent(first));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(buffer));
}

/* The events behind a failed gate are queried only after a later command has succeeded. */
static void asked_late(const char *name, cl_command_queue queue)
{
    cl_mem buffer = buffer_create();
    cl_event gate = parity_gate(&p), first = launch(queue, buffer, 1, 1, 1, &gate);
    cl_event second = launch(queue, buffer, 1, 10, 1, &first), after;
    printf("-- %s, asked late\n", name);
    CHECK(clFlush(queue));
    CHECK(clSetUserEventStatus(gate, -7));
    CHECK(clFinish(queue));
    after = launch(queue, buffer, 1, 5, 0, NULL);
    SHOW("wait for what comes after", clWaitForEvents(1, &after));
    status_print("first", first);
    status_print("second", second);
    SHOW("wait for the second", clWaitForEvents(1, &second));
    SHOW("wait for the first", clWaitForEvents(1, &first));
    result_check("contents", buffer, 5);
    CHECK(clReleaseEvent(after));
    CHECK(clReleaseEvent(second));
    CHECK(clReleaseEvent(first));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(buffer));
}

static void CL_CALLBACK heard(cl_event event, cl_int status, void *argument)
{
    (void)event, (void)status, (void)argument;
}

/* A later success does not hide an earlier failure: markers of two queues at once. */
static void fails_first(cl_mem buffer, cl_command_queue other)
{
    cl_command_queue queues[] = {p.queue, other};
    cl_event gate = parity_gate(&p), behind[2], after[2], last;
    for (int i = 0; i < 2; i++)
        CHECK(clEnqueueMarkerWithWaitList(queues[i], 1, &gate, &behind[i]));
    last = launch(queues[1], buffer, 1, 1, 2, behind);
    CHECK(clSetUserEventStatus(gate, -5));
    for (int i = 0; i < 2; i++)
        CHECK(clEnqueueMarkerWithWaitList(queues[i], 0, NULL, &after[i]));
    CHECK(clSetEventCallback(after[0], CL_COMPLETE, heard, NULL));
    CHECK(clWaitForEvents(1, &after[1]));
    status_print("the command before the marker", last);
    for (int i = 0; i < 2; i++)
        CHECK(clFinish(queues[i]));
    for (int i = 0; i < 2; i++) {
        CHECK(clReleaseEvent(behind[i]));
        CHECK(clReleaseEvent(after[i]));
    }
    CHECK(clReleaseEvent(last));
    CHECK(clReleaseEvent(gate));
}

static void fail_first(void)
{
    cl_command_queue other = parity_queue(&p, 0);
    cl_mem buffer = buffer_create();
    for (int i = 0; i < 16; i++)
        fails_first(buffer, other);
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(other));
}

static void all_fail(void)
{
    gate_fails("out of order", loose, -5);
    gate_fails("out of order", loose, -1234);
    gate_fails("in order", p.queue, -5);
    gate_fails("in order", p.queue, -9999);
    asked_late("out of order", loose);
    asked_late("in order", p.queue);
    fail_first();
    printf("-- every kind, out of order\n");
    kinds_fail(loose);
    printf("-- every kind, in order\n");
    kinds_fail(p.queue);
}

int main(void)
{
    parity_open(&p, 0);
    loose = parity_queue(&p, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_program program = parity_program(&p, source, NULL);
    kernel = parity_kernel(program, "next");
    info_show();
    chain_run("chain in order", p.queue);
    chain_run("chain out of order", loose);
    gates_several();
    lists_long("long lists in order", p.queue);
    lists_long("long lists out of order", loose);
    queues_two();
    independent();
    for (int way = 0; way < 4; way++)
        thread_opens(way);
    if (parity_tries("failed-event"))
        all_fail();
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(loose));
    parity_close(&p);
    return 0;
}
