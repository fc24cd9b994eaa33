/*
 * Sixteen threads call everything at once, on one context and its objects: in random order, with callbacks that call
 * OpenCL, and, where no ICD loader would dereference them, with invalid handles. Also run with the thread sanitizer.
 * usage: hammer ROUNDS [loader]
 */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/draw.h"

enum { THREADS = 16, COUNT = 1024, SIZE = COUNT * 4, SHARED = 4 };

static const char *source = "kernel void add(global int *data, int what) { data[get_global_id(0)] += what; }\n";

static cl_platform_id platform;
static cl_device_id device, devices[8];
static cl_uint device_count;
static cl_context context;
static cl_command_queue queues[SHARED];
static cl_mem buffers[SHARED];
static cl_program program;
static cl_mem total;
static atomic_int expected, called_back, destroyed;
static int rounds = 60;
static bool with_loader;

struct thread {
    pthread_t thread;
    uint64_t random;
    cl_kernel kernel;
    cl_command_queue own;
    cl_int *data;
};

static uint32_t pick(struct thread *t, uint32_t below)
{
    return draw_below(&t->random, below);
}

static void need(cl_int status, const char *what, int line)
{
    if (status == CL_SUCCESS)
        return;
    printf("line %d: %s: %d\n", line, what, status);
    exit(1);
}

#define NEED(call) need((call), #call, __LINE__)

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *data)
{
    cl_command_type type;

    (void)data;
    NEED(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    if (status == CL_COMPLETE)
        called_back++;
    NEED(clReleaseEvent(event));
}

static void CL_CALLBACK on_destruction(cl_mem memory, void *data)
{
    (void)memory, (void)data;
    destroyed++;
}

/* ---- what a thread does ---- */

static void launch(struct thread *t)
{
    const size_t global = COUNT;
    cl_int what = 1;
    cl_event event;

    NEED(clSetKernelArg(t->kernel, 0, sizeof(total), &total));
    NEED(clSetKernelArg(t->kernel, 1, sizeof(what), &what));
    NEED(clEnqueueNDRangeKernel(queues[0], t->kernel, 1, NULL, &global, NULL, 0, NULL, &event));
    expected++;
    NEED(clSetEventCallback(event, CL_COMPLETE, on_complete, NULL)); /* the callback releases it */
}

static void transfer(struct thread *t)
{
    cl_mem buffer = buffers[1 + pick(t, SHARED - 1)];
    cl_command_queue queue = pick(t, 2) ? t->own : queues[1 + pick(t, SHARED - 1)];
    size_t offset = pick(t, COUNT / 2) * 4, size = 4 + pick(t, COUNT / 2 - 1) * 4;
    cl_event event;

    NEED(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, offset, size, t->data, 0, NULL, NULL));
    NEED(clEnqueueReadBuffer(queue, buffer, CL_FALSE, offset, size, t->data, 0, NULL, &event));
    NEED(clWaitForEvents(1, &event));
    NEED(clReleaseEvent(event));
}

static void map(struct thread *t)
{
    cl_int status;
    cl_mem own = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    void *seen;

    NEED(status);
    NEED(clSetMemObjectDestructorCallback(own, on_destruction, NULL));
    seen = clEnqueueMapBuffer(t->own, own, CL_TRUE, CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, &status);
    NEED(status);
    memset(seen, (int)pick(t, 256), SIZE);
    NEED(clEnqueueUnmapMemObject(t->own, own, seen, 0, NULL, NULL));
    NEED(clReleaseMemObject(own));
}

static void image(struct thread *t)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    const size_t origin[3] = {0}, region[3] = {16, 16, 1};
    const cl_uint colour[4] = {1, 2, 3, 4};
    cl_int status;
    cl_mem own = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);

    NEED(status);
    NEED(clEnqueueFillImage(t->own, own, colour, origin, region, 0, NULL, NULL));
    NEED(clEnqueueReadImage(t->own, own, CL_TRUE, origin, region, 0, 0, t->data, 0, NULL, NULL));
    NEED(clReleaseMemObject(own));
}

static void gates(struct thread *t)
{
    cl_int status;
    cl_event gate = clCreateUserEvent(context, &status), after;

    NEED(status);
    NEED(clEnqueueMarkerWithWaitList(t->own, 1, &gate, &after));
    NEED(clSetUserEventStatus(gate, CL_COMPLETE));
    NEED(clWaitForEvents(1, &after));
    NEED(clReleaseEvent(gate));
    NEED(clReleaseEvent(after));
}

static void objects(struct thread *t)
{
    cl_int status;
    cl_buffer_region region = {0, 1024};
    cl_command_queue queue = clCreateCommandQueue(context, device, pick(t, 2), &status);
    cl_kernel kernel;
    cl_mem part;
    cl_sampler sampler;

    NEED(status);
    kernel = clCreateKernel(program, "add", &status);
    NEED(status);
    part = clCreateSubBuffer(buffers[0], CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    NEED(status);
    sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, &status);
    NEED(status);
    NEED(clRetainContext(context));
    NEED(clRetainProgram(program));
    NEED(clReleaseSampler(sampler));
    NEED(clReleaseMemObject(part));
    NEED(clReleaseKernel(kernel));
    NEED(clReleaseProgram(program));
    NEED(clReleaseCommandQueue(queue));
    NEED(clReleaseContext(context));
}

static void queries(struct thread *t)
{
    char text[4096];
    cl_uint count;
    size_t size;

    (void)t;
    NEED(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(text), text, NULL));
    NEED(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL));
    NEED(clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof(count), &count, NULL));
    NEED(clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(text), text, NULL));
    NEED(clGetKernelWorkGroupInfo(t->kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(size), &size, NULL));
    NEED(clGetMemObjectInfo(buffers[0], CL_MEM_SIZE, sizeof(size), &size, NULL));
}

/* Invalid handles, of which none may be dereferenced. */
static void garbage(struct thread *t)
{
    void *handle = (void *)(uintptr_t)(pick(t, 2) ? t->random : (uintptr_t)t->data + pick(t, SIZE));
    bool good = with_loader ||
                (clRetainMemObject(handle) == CL_INVALID_MEM_OBJECT && clFinish(handle) == CL_INVALID_COMMAND_QUEUE &&
                 clReleaseEvent(handle) == CL_INVALID_EVENT && clReleaseKernel(handle) == CL_INVALID_KERNEL &&
                 clFlush((cl_command_queue)(void *)buffers[0]) == CL_INVALID_COMMAND_QUEUE);

    if (!good)
        need(1, "a handle that is none", __LINE__);
}

static void build(struct thread *t)
{
    cl_int status;
    cl_program own;

    if (pick(t, 8))
        return;
    own = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    NEED(status);
    NEED(clBuildProgram(own, 0, NULL, NULL, NULL, NULL));
    NEED(clReleaseProgram(own));
}

static void *run(void *argument)
{
    static void (*const things[])(struct thread *) = {launch,  transfer, map,     image, gates,
                                                      objects, queries,  garbage, build};
    struct thread *t = argument;

    for (int i = 0; i < rounds; i++)
        things[pick(t, sizeof(things) / sizeof(*things))](t);
    return NULL;
}

/* ---- */

static void open_all(struct thread *threads)
{
    cl_int status, zeroes[COUNT] = {0};

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, devices, &device_count));
    device = devices[0];
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    NEED(status);
    for (int i = 0; i < SHARED; i++) {
        queues[i] = clCreateCommandQueue(context, devices[(cl_uint)i % device_count],
                                         i == 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &status);
        NEED(status);
        buffers[i] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, SIZE, zeroes, &status);
        NEED(status);
    }
    total = buffers[0];
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    NEED(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i].random = i + 1;
        threads[i].data = calloc(1, SIZE);
        threads[i].kernel = clCreateKernel(program, "add", &status);
        NEED(status);
        threads[i].own = clCreateCommandQueue(context, devices[i % device_count], 0, &status);
        NEED(status);
    }
}

static void close_all(struct thread *threads)
{
    for (int i = 0; i < THREADS; i++) {
        NEED(clFinish(threads[i].own));
        NEED(clReleaseCommandQueue(threads[i].own));
        NEED(clReleaseKernel(threads[i].kernel));
        free(threads[i].data);
    }
    for (int i = 0; i < SHARED; i++) {
        NEED(clFinish(queues[i]));
        NEED(clReleaseCommandQueue(queues[i]));
        NEED(clReleaseMemObject(buffers[i]));
    }
    NEED(clReleaseProgram(program));
    NEED(clReleaseContext(context));
}

int main(int count, char **arguments)
{
    static struct thread threads[THREADS];
    static cl_int data[COUNT];

    if (count > 1)
        rounds = atoi(arguments[1]);
    with_loader = count > 2;
    open_all(threads);
    for (int i = 0; i < THREADS; i++)
        need(pthread_create(&threads[i].thread, NULL, run, &threads[i]), "pthread_create", __LINE__);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i].thread, NULL);
    NEED(clEnqueueReadBuffer(queues[0], total, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    for (int i = 0; i < COUNT; i++) {
        if (data[i] == expected)
            continue;
        printf("%d launches, and element %d is %d\n", expected, i, data[i]);
        return 1;
    }
    close_all(threads);
    return 0;
}
