/*
 * Steps of a program that does little at a time: writes a few bytes, runs a small kernel, reads a few bytes. Checks the
 * results.
 * usage: little_steps KIND COUNT [profile]
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) check((call), #call, __LINE__)

enum { SIZE = 256 };

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;
static cl_int *shared;
static cl_bool profile;
static cl_int expected;

static void check(cl_int status, const char *call, int line)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "little_steps.c:%d: error %d from %s\n", line, status, call);
    exit(1);
}

static void expect(cl_int got)
{
    if (got == expected)
        return;
    fprintf(stderr, "%d, not %d\n", got, expected);
    exit(1);
}

static void over(cl_event event)
{
    cl_ulong last = 0;
    cl_int status;

    CHECK(clWaitForEvents(1, &event));
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    check(status, "the command", __LINE__);
    for (cl_profiling_info info = CL_PROFILING_COMMAND_QUEUED; profile && info <= CL_PROFILING_COMMAND_END; info++) {
        cl_ulong time;

        CHECK(clGetEventProfilingInfo(event, info, sizeof(time), &time, NULL));
        if (time < last)
            exit((fprintf(stderr, "times go back\n"), 1));
        last = time;
    }
    CHECK(clReleaseEvent(event));
}

static void launch(cl_event *event)
{
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, (size_t[]){SIZE}, (size_t[]){64}, 0, NULL, event));
    expected++;
}

/* Uses no events. */
static void step_plain(void)
{
    cl_int value = ++expected, result;

    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(value), &value, 0, NULL, NULL));
    launch(NULL);
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(result), &result, 0, NULL, NULL));
    expect(result);
}

static void step_finish(void)
{
    cl_int value = ++expected, result;

    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(value), &value, 0, NULL, NULL));
    launch(NULL);
    CHECK(clFinish(queue));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof(result), &result, 0, NULL, NULL));
    CHECK(clFinish(queue));
    expect(result);
}

/* Each command has an event, for which the host waits. */
static void step_events(void)
{
    cl_int value = ++expected, result;
    cl_event event;

    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(value), &value, 0, NULL, &event));
    over(event);
    launch(&event);
    over(event);
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(result), &result, 0, NULL, &event));
    over(event);
    expect(result);
}

/* Each command waits for the one before it; the host waits only for the last, and then queries all events. */
static void step_chain(void)
{
    cl_int value = ++expected, result;
    cl_event events[3];

    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof(value), &value, 0, NULL, &events[0]));
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, (size_t[]){SIZE}, (size_t[]){64}, 1, &events[0], &events[1]));
    expected++;
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(result), &result, 1, &events[1], &events[2]));
    expect(result);
    for (int i = 2; i >= 0; i--)
        over(events[i]);
}

static void step_map(void)
{
    cl_int status, *mapped;
    cl_event event;

    mapped =
        clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, SIZE * sizeof(cl_int), 0, NULL, &event, &status);
    CHECK(status);
    over(event);
    *mapped = ++expected;
    CHECK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, &event));
    over(event);
    launch(NULL);
    mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, SIZE * sizeof(cl_int), 0, NULL, NULL, &status);
    CHECK(status);
    expect(*mapped);
    CHECK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
}

static void step_svm(void)
{
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, shared, SIZE * sizeof(cl_int), 0, NULL, NULL));
    *shared = ++expected;
    CHECK(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL));
    launch(NULL);
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, shared, SIZE * sizeof(cl_int), 0, NULL, NULL));
    expect(*shared);
    CHECK(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL));
}

/* Runs no kernel: everything is decided in the program. */
static void step_still(void)
{
    cl_int value = ++expected, result, status, *mapped;
    cl_event event;

    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(value), &value, 0, NULL, &event));
    over(event);
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof(result), &result, 0, NULL, &event));
    CHECK(clEnqueueMarkerWithWaitList(queue, 1, &event, NULL));
    CHECK(clEnqueueBarrierWithWaitList(queue, 1, &event, NULL));
    over(event);
    expect(result);
    mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL, &event, &status);
    CHECK(status);
    expect(*mapped);
    CHECK(clEnqueueUnmapMemObject(queue, buffer, mapped, 1, &event, NULL));
    over(event);
    CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event));
    over(event);
    CHECK(clFlush(queue));
    CHECK(clFinish(queue));
}

/* The same with shared virtual memory. */
static void step_still_svm(void)
{
    CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, shared, SIZE * sizeof(cl_int), 0, NULL, NULL));
    CHECK(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL));
}

static void step_ask(void)
{
    size_t size;

    CHECK(clGetDeviceInfo(device, CL_DEVICE_PRINTF_BUFFER_SIZE, sizeof(size), &size, NULL));
}

/* Creates and releases a buffer over the program's memory that no command uses. */
static void step_unused(void)
{
    static cl_int words[4 * SIZE];
    cl_int status;
    cl_mem memory = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof(words), words, &status);

    CHECK(status);
    CHECK(clReleaseMemObject(memory));
}

static const struct {
    const char *name;
    void (*step)(void);
} kinds[] = {{"plain", step_plain}, {"finish", step_finish}, {"events", step_events}, {"chain", step_chain},
             {"map", step_map},     {"svm", step_svm},       {"still", step_still},   {"still_svm", step_still_svm},
             {"ask", step_ask},     {"unused", step_unused}};

int main(int count, char **words)
{
    static const char *source = "kernel void add(global int *data) { data[get_global_id(0)] += 1; }\n";
    cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    void (*step)(void) = NULL;
    cl_platform_id platform;
    cl_program program;
    cl_int status;

    for (size_t i = 0; count > 2 && i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (!strcmp(words[1], kinds[i].name))
            step = kinds[i].step;
    }
    if (!step)
        return fprintf(stderr, "usage: little_steps KIND COUNT [profile]\n"), 2;
    profile = count > 3;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    queue = clCreateCommandQueueWithProperties(context, device, profile ? properties : NULL, &status);
    CHECK(status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
    kernel = clCreateKernel(program, "add", &status);
    CHECK(status);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE * sizeof(cl_int), NULL, &status);
    CHECK(status);
    shared = clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE * sizeof(cl_int), 0);
    if (step == step_svm)
        CHECK(clSetKernelArgSVMPointer(kernel, 0, shared));
    else
        CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    launch(NULL);
    CHECK(clFinish(queue));
    for (int i = 0; i < atoi(words[2]); i++)
        step();
    return 0;
}
