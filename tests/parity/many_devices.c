/*
 * One context with all devices, which four queues use in turn: chains from queue to queue by events, parts of buffers,
 * sub-buffers, copies, images, maps, user events, failures. The output is the same for any number of devices.
 */
#include "parity.h"

#include "base/cl_ext.h"

enum { QUEUES = 4, COUNT = 65536, SIZE = COUNT * 4, MOST = 64 };

static const char *source = "kernel void next(global int *data, int factor, int more)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    data[i] = data[i] * factor + more;\n"
                            "}\n"
                            "kernel void sum(global const int *left, global const int *right, global int *to)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    to[i] = left[i] + right[i];\n"
                            "}\n"
                            "kernel void invert(read_only image2d_t from, write_only image2d_t to)\n"
                            "{\n"
                            "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
                            "    write_imageui(to, at, 255u - read_imageui(from, at));\n"
                            "}\n";

static cl_platform_id platform;
static cl_device_id devices[MOST];
static cl_uint device_count;
static cl_context context;
static cl_command_queue queues[QUEUES];
static cl_program program;
static cl_kernel next, sum, invert;
static cl_int numbers[COUNT], result[COUNT];
static const size_t global = COUNT;

static cl_mem buffer_new(const void *contents)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, contents ? CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE,
                                   SIZE, (void *)(uintptr_t)contents, &status);
    CHECK(status);
    return buffer;
}

static void step(int queue, cl_mem buffer, cl_int factor, cl_int more, cl_uint count, const cl_event *wait,
                 cl_event *event)
{
    CHECK(clSetKernelArg(next, 0, sizeof(buffer), &buffer));
    CHECK(clSetKernelArg(next, 1, sizeof(factor), &factor));
    CHECK(clSetKernelArg(next, 2, sizeof(more), &more));
    CHECK(clEnqueueNDRangeKernel(queues[queue % QUEUES], next, 1, NULL, &global, (size_t[]){64}, count, wait, event));
}

static void finish_all(void)
{
    for (int i = 0; i < QUEUES; i++)
        CHECK(clFinish(queues[i]));
}

/* Each step is on the next queue, behind the event of the one before. */
static void chain(int steps)
{
    cl_mem buffer = buffer_new(numbers);
    cl_event before = NULL, after;
    for (int i = 0; i < steps; i++) {
        step(i, buffer, 3, i, before ? 1 : 0, before ? &before : NULL, &after);
        if (before)
            CHECK(clReleaseEvent(before));
        before = after;
    }
    CHECK(clEnqueueReadBuffer(queues[1], buffer, CL_TRUE, 0, SIZE, result, 1, &before, NULL));
    CHECK(clReleaseEvent(before));
    printf("chain of %d: ", steps);
    parity_hash_print("", result, SIZE);
    CHECK(clReleaseMemObject(buffer));
}

/* Two queues write, and a third adds; with events, or with clFinish in between. */
static void join(bool events)
{
    cl_mem left = buffer_new(numbers), right = buffer_new(NULL), to = buffer_new(NULL);
    cl_event ready[2];
    CHECK(clEnqueueWriteBuffer(queues[1], right, CL_TRUE, 0, SIZE, numbers, 0, NULL, NULL));
    step(0, left, 2, 1, 0, NULL, &ready[0]);
    step(1, right, 5, 7, 0, NULL, &ready[1]);
    parity_rich();
    if (!events)
        finish_all();
    CHECK(clSetKernelArg(sum, 0, sizeof(left), &left));
    CHECK(clSetKernelArg(sum, 1, sizeof(right), &right));
    CHECK(clSetKernelArg(sum, 2, sizeof(to), &to));
    CHECK(clEnqueueNDRangeKernel(queues[2], sum, 1, NULL, &global, NULL, events ? 2 : 0, events ? ready : NULL, NULL));
    CHECK(clEnqueueReadBuffer(queues[2], to, CL_TRUE, 0, SIZE, result, 0, NULL, NULL));
    parity_hash_print(events ? "join" : "join, finished between", result, SIZE);
    CHECK(clReleaseEvent(ready[0]));
    CHECK(clReleaseEvent(ready[1]));
    CHECK(clReleaseMemObject(left));
    CHECK(clReleaseMemObject(right));
    CHECK(clReleaseMemObject(to));
}

/* Different queues write quarters, one of them through a sub-buffer, and each queue reads the whole. */
static void pieces(void)
{
    cl_mem buffer = buffer_new(NULL), part;
    cl_buffer_region region = {SIZE / 4, SIZE / 4};
    cl_int status, pattern = 77;
    const size_t quarter = COUNT / 4;
    part = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    CHECK(status);
    CHECK(clEnqueueWriteBuffer(queues[0], buffer, CL_TRUE, 0, SIZE, numbers, 0, NULL, NULL));
    CHECK(clSetKernelArg(next, 0, sizeof(part), &part));
    CHECK(clSetKernelArg(next, 1, sizeof(cl_int), &(cl_int){9}));
    CHECK(clSetKernelArg(next, 2, sizeof(cl_int), &(cl_int){1}));
    CHECK(clEnqueueNDRangeKernel(queues[1], next, 1, NULL, &quarter, NULL, 0, NULL, NULL));
    finish_all();
    CHECK(clEnqueueFillBuffer(queues[2], buffer, &pattern, 4, SIZE / 2, SIZE / 4, 0, NULL, NULL));
    finish_all();
    CHECK(clEnqueueCopyBuffer(queues[3], buffer, buffer, SIZE / 4, SIZE / 4 * 3, SIZE / 4, 0, NULL, NULL));
    finish_all();
    for (int i = 0; i < QUEUES; i++) {
        memset(result, 0, SIZE);
        CHECK(clEnqueueReadBuffer(queues[i], buffer, CL_TRUE, 0, SIZE, result, 0, NULL, NULL));
        parity_hash_print("pieces", result, SIZE);
    }
    CHECK(clReleaseMemObject(part));
    CHECK(clReleaseMemObject(buffer));
}

static void rects_and_maps(void)
{
    const size_t origin[3] = {64, 3, 0}, host[3] = {0}, region[3] = {128, 100, 1};
    cl_mem buffer = buffer_new(numbers), other = buffer_new(NULL);
    cl_int status, *seen;
    step(0, buffer, 1, 5, 0, NULL, NULL);
    finish_all();
    CHECK(clEnqueueWriteBufferRect(queues[1], buffer, CL_TRUE, origin, host, region, 512, 0, 128, 0, numbers, 0, NULL,
                                   NULL));
    CHECK(clEnqueueCopyBufferRect(queues[2], buffer, other, origin, host, region, 512, 0, 256, 0, 0, NULL, NULL));
    finish_all();
    seen = clEnqueueMapBuffer(queues[3], buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, &status);
    CHECK(status);
    parity_hash_print("map", seen, SIZE);
    for (int i = 0; i < COUNT; i += 3)
        seen[i] = -i;
    CHECK(clEnqueueUnmapMemObject(queues[3], buffer, seen, 0, NULL, NULL));
    finish_all();
    step(0, buffer, 2, 0, 0, NULL, NULL);
    finish_all();
    CHECK(clEnqueueReadBuffer(queues[1], buffer, CL_TRUE, 0, SIZE, result, 0, NULL, NULL));
    parity_hash_print("mapped", result, SIZE);
    memset(result, 0, SIZE);
    CHECK(
        clEnqueueReadBufferRect(queues[0], other, CL_TRUE, host, host, region, 256, 0, 128, 0, result, 0, NULL, NULL));
    parity_hash_print("rect", result, SIZE);
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(other));
}

static void images(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 128, .image_height = 64};
    const size_t origin[3] = {0}, region[3] = {128, 64, 1}, size[2] = {128, 64};
    cl_int status;
    cl_mem one = clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &desc, numbers, &status);
    cl_mem two = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status), buffer = buffer_new(NULL);
    cl_event event;
    CHECK(status);
    CHECK(clSetKernelArg(invert, 0, sizeof(one), &one));
    CHECK(clSetKernelArg(invert, 1, sizeof(two), &two));
    CHECK(clEnqueueNDRangeKernel(queues[1], invert, 2, NULL, size, NULL, 0, NULL, &event));
    CHECK(clEnqueueCopyImageToBuffer(queues[2], two, buffer, origin, region, 0, 1, &event, NULL));
    finish_all();
    CHECK(clEnqueueReadBuffer(queues[3], buffer, CL_TRUE, 0, 128 * 64 * 4, result, 0, NULL, NULL));
    parity_hash_print("image", result, 128 * 64 * 4);
    memset(result, 0, SIZE);
    CHECK(clEnqueueReadImage(queues[0], two, CL_TRUE, origin, region, 0, 0, result, 0, NULL, NULL));
    parity_hash_print("image", result, 128 * 64 * 4);
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseMemObject(one));
    CHECK(clReleaseMemObject(two));
    CHECK(clReleaseMemObject(buffer));
}

/* A command buffer of one queue uses data of other queues: it runs twice, and a third queue reads its results. */
static void recorded(void)
{
#define FUNCTION(name) name##_fn name##_ = (name##_fn)clGetExtensionFunctionAddressForPlatform(platform, #name)
    FUNCTION(clCreateCommandBufferKHR);
    FUNCTION(clFinalizeCommandBufferKHR);
    FUNCTION(clReleaseCommandBufferKHR);
    FUNCTION(clEnqueueCommandBufferKHR);
    FUNCTION(clCommandCopyBufferKHR);
    FUNCTION(clCommandNDRangeKernelKHR);
    cl_mem buffer = buffer_new(numbers), copy = buffer_new(NULL);
    cl_command_buffer_khr commands;
    cl_sync_point_khr point;
    cl_int status;

    if (!clCreateCommandBufferKHR_ || !parity_records(queues[1])) {
        printf("no command buffers\n");
        return;
    }
    commands = clCreateCommandBufferKHR_(1, &queues[1], NULL, &status);
    CHECK(status);
    CHECK(clSetKernelArg(next, 0, sizeof(buffer), &buffer));
    CHECK(clSetKernelArg(next, 1, sizeof(cl_int), &(cl_int){3}));
    CHECK(clSetKernelArg(next, 2, sizeof(cl_int), &(cl_int){4}));
    CHECK(clCommandNDRangeKernelKHR_(commands, NULL, NULL, next, 1, NULL, &global, NULL, 0, NULL, &point, NULL));
    CHECK(clCommandCopyBufferKHR_(commands, NULL, RECORD_NO_PROPERTIES buffer, copy, 0, SIZE / 2, SIZE / 2, 1, &point,
                                  NULL, NULL));
    CHECK(clFinalizeCommandBufferKHR_(commands));
    CHECK(clEnqueueWriteBuffer(queues[2], copy, CL_TRUE, 0, SIZE, numbers, 0, NULL, NULL));
    for (int i = 0; i < 2; i++) {
        /* native reads a recorded kernel's arguments when it runs, so they stay unchanged */
        CHECK(clEnqueueFillBuffer(queues[0], buffer, &(cl_int){i}, 4, 0, 1024, 0, NULL, NULL));
        finish_all();
        CHECK(clEnqueueCommandBufferKHR_(0, NULL, commands, 0, NULL, NULL));
        finish_all();
    }
    CHECK(clEnqueueReadBuffer(queues[0], buffer, CL_TRUE, 0, SIZE, result, 0, NULL, NULL));
    parity_hash_print("recorded", result, SIZE);
    CHECK(clEnqueueReadBuffer(queues[2], copy, CL_TRUE, 0, SIZE, result, 0, NULL, NULL));
    parity_hash_print("recorded copy", result, SIZE);
    CHECK(clReleaseCommandBufferKHR_(commands));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(copy));
}

/* A program made again from the binaries of all devices, whose lengths depend on the kernel's name. */
static void from_binaries(const char *name)
{
    unsigned char *bytes[MOST];
    size_t sizes[MOST];
    cl_int statuses[MOST], error;
    char text[128];
    const char *source_of = text;
    cl_program built, again;
    cl_mem buffer = buffer_new(numbers);
    cl_kernel kernel;

    snprintf(text, sizeof(text), "kernel void %s(global int *data) { data[get_global_id(0)] += 3; }", name);
    built = clCreateProgramWithSource(context, 1, &source_of, NULL, &error);
    CHECK(clBuildProgram(built, 0, NULL, "", NULL, NULL));
    CHECK(clGetProgramInfo(built, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL));
    for (cl_uint i = 0; i < device_count; i++)
        EXPECT((bytes[i] = malloc(sizes[i])));
    CHECK(clGetProgramInfo(built, CL_PROGRAM_BINARIES, sizeof(bytes), bytes, NULL));
    again = clCreateProgramWithBinary(context, device_count, devices, sizes, (const unsigned char **)bytes, statuses,
                                      &error);
    CHECK(error);
    for (cl_uint i = 0; i < device_count; i++) {
        CHECK(statuses[i]);
        free(bytes[i]);
    }
    CHECK(clBuildProgram(again, 0, NULL, "", NULL, NULL));
    kernel = parity_kernel(again, name);
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    for (int i = 0; i < QUEUES; i++) {
        CHECK(clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
        finish_all();
    }
    CHECK(clEnqueueReadBuffer(queues[0], buffer, CL_TRUE, 0, SIZE, result, 0, NULL, NULL));
    parity_hash_print("from binaries", result, SIZE);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(again));
    CHECK(clReleaseProgram(built));
    CHECK(clReleaseMemObject(buffer));
}

static void binaries(void)
{
    static const char *const names[] = {"more", "more_", "more__", "more___"};

    for (size_t i = 0; i < PARITY_COUNT(names); i++)
        from_binaries(names[i]);
}

/* One user event for all queues, and the statuses of the commands behind it if it fails. */
static void gates(cl_int outcome)
{
    cl_int status;
    cl_event gate = clCreateUserEvent(context, &status), behind[QUEUES], last;
    cl_mem buffer = buffer_new(numbers);
    CHECK(status);
    for (int i = 0; i < QUEUES; i++)
        CHECK(clEnqueueMarkerWithWaitList(queues[i], 1, &gate, &behind[i]));
    step(2, buffer, 1, 1, QUEUES, behind, &last);
    CHECK(clSetUserEventStatus(gate, outcome));
    status = clWaitForEvents(1, &last);
    printf("gate %s: %s, %s\n", outcome < 0 ? "failed" : "open", parity_error_name(status),
           parity_event_status(last) < 0 ? "failed" : "complete");
    for (int i = 0; i < QUEUES; i++)
        CHECK(clReleaseEvent(behind[i]));
    CHECK(clReleaseEvent(last));
    CHECK(clReleaseEvent(gate));
    finish_all();
    CHECK(clReleaseMemObject(buffer));
}

static void open_all(void)
{
    cl_int status;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &device_count));
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    CHECK(status);
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = clCreateCommandQueue(context, devices[(cl_uint)i % device_count],
                                         i == 3 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &status);
        CHECK(status);
    }
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    next = parity_kernel(program, "next");
    sum = parity_kernel(program, "sum");
    invert = parity_kernel(program, "invert");
}

int main(void)
{
    open_all();
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i * 7;
    chain(1);
    chain(10);
    chain(100);
    join(true);
    join(false);
    pieces();
    rects_and_maps();
    images();
    recorded();
    binaries();
    gates(CL_COMPLETE);
    if (parity_tries("failed-event"))
        gates(-5);
    for (int i = 0; i < QUEUES; i++)
        CHECK(clReleaseCommandQueue(queues[i]));
    CHECK(clReleaseKernel(next));
    CHECK(clReleaseKernel(sum));
    CHECK(clReleaseKernel(invert));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseContext(context));
    return 0;
}
