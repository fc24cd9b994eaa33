/*
 * Copies of every kind in one context with all devices, from a queue of one device to a queue of the next, small and
 * large; and objects that are released before the commands that use them run. The output is the same for any number of
 * devices.
 */
#include "parity.h"

enum { QUEUES = 4, MOST = 64, WIDTH = 1024, HEIGHT = 768, DEPTH = 2, COUNT = WIDTH * HEIGHT * DEPTH, SIZE = COUNT * 4 };

static const char *source = "kernel void next(global int *data, int factor, int more)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    data[i] = data[i] * factor + more;\n"
                            "}\n";

static cl_context context;
static cl_command_queue queues[QUEUES];
static cl_program program;
static cl_kernel next;
static cl_int numbers[COUNT], result[COUNT];

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
    const size_t global = COUNT;
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

static void show(const char *name, cl_mem buffer, int queue)
{
    memset(result, 0, SIZE);
    CHECK(clEnqueueReadBuffer(queues[queue], buffer, CL_TRUE, 0, SIZE, result, 0, NULL, NULL));
    parity_hash_print(name, result, SIZE);
}

static cl_mem filled(int queue)
{
    cl_mem buffer = buffer_new(NULL);
    CHECK(clEnqueueFillBuffer(queues[queue], buffer, &(cl_int){3}, 4, 0, SIZE, 0, NULL, NULL));
    finish_all();
    return buffer;
}

/* A kernel writes on one queue, a copy on the next waits for its event and writes into what a third queue wrote, and
 * the last queue reads. */
static void plain(size_t from_offset, size_t to_offset, size_t size)
{
    cl_mem from = buffer_new(numbers), to = filled(2);
    cl_event made, copied;
    step(0, from, 5, 1, 0, NULL, &made);
    CHECK(clEnqueueCopyBuffer(queues[1], from, to, from_offset, to_offset, size, 1, &made, &copied));
    step(3, to, 3, 2, 1, &copied, NULL);
    parity_rich();
    finish_all();
    printf("copy of %zu: status %d\n", size, parity_event_status(copied));
    show("copied", to, 0);
    show("source", from, 2);
    CHECK(clReleaseEvent(made));
    CHECK(clReleaseEvent(copied));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
}

static void rect(const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice)
{
    const size_t from_origin[3] = {16, 5, 0}, to_origin[3] = {64, 1, 0};
    cl_mem from = buffer_new(numbers), to = filled(2);
    cl_event made;
    step(0, from, 5, 1, 0, NULL, &made);
    CHECK(clEnqueueCopyBufferRect(queues[1], from, to, from_origin, to_origin, region, from_row, from_slice, to_row,
                                  to_slice, 1, &made, NULL));
    finish_all();
    printf("rect of %zu x %zu x %zu:", region[0], region[1], region[2]);
    show("", to, 3);
    CHECK(clReleaseEvent(made));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
}

/* Half of the source is newer on another device, so that it has to be combined. */
static void from_two(void)
{
    cl_mem from = buffer_new(numbers), to = filled(3);
    CHECK(clEnqueueFillBuffer(queues[0], from, &(cl_int){1}, 4, 0, SIZE / 2, 0, NULL, NULL));
    CHECK(clEnqueueFillBuffer(queues[1], from, &(cl_int){2}, 4, SIZE / 2, SIZE / 4, 0, NULL, NULL));
    finish_all();
    CHECK(clEnqueueCopyBuffer(queues[2], from, to, SIZE / 4, 0, SIZE / 2, 0, NULL, NULL));
    finish_all();
    show("from two", to, 0);
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
}

static cl_mem image_new(cl_mem_object_type type, const void *contents)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = type, .image_width = 512, .image_height = 256, .image_depth = 4};
    cl_int status;
    cl_mem image = clCreateImage(context, contents ? CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE,
                                 &format, &desc, (void *)(uintptr_t)contents, &status);
    CHECK(status);
    return image;
}

static void images(cl_mem_object_type type, size_t depth)
{
    const size_t whole[3] = {512, 256, depth}, zero[3] = {0}, origin[3] = {100, 7, depth - 1}, region[3] = {65, 33, 1};
    const cl_uint colour[4] = {9, 8, 7, 6};
    cl_mem from = image_new(type, numbers), to = image_new(type, numbers + 1000), buffer = filled(2);
    CHECK(clEnqueueFillImage(queues[0], from, colour, origin, region, 0, NULL, NULL));
    CHECK(clEnqueueFillImage(queues[1], to, colour, zero, region, 0, NULL, NULL));
    finish_all();
    CHECK(clEnqueueCopyImage(queues[1], from, to, origin, zero, region, 0, NULL, NULL));
    finish_all();
    CHECK(clEnqueueCopyImageToBuffer(queues[2], to, buffer, zero, region, 4096, 0, NULL, NULL));
    finish_all();
    show("image to buffer", buffer, 3);
    CHECK(clEnqueueCopyBufferToImage(queues[3], buffer, from, 4096 + 256, origin, region, 0, NULL, NULL));
    finish_all();
    for (int i = 0; i < 2; i++) {
        CHECK(clEnqueueReadImage(queues[0], i ? to : from, CL_TRUE, zero, whole, 0, 0, result, 0, NULL, NULL));
        parity_hash_print(i ? "image to" : "image from", result, 512 * 256 * 4 * depth);
    }
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseMemObject(buffer));
}

/* Everything is released before the first command may run; with again, a later kernel overwrites what the copy has
 * read. */
static void released(bool again)
{
    cl_int status;
    cl_event gate = clCreateUserEvent(context, &status), first, second, third;
    cl_mem buffer = buffer_new(numbers), other = buffer_new(NULL);
    CHECK(status);
    step(0, buffer, 3, 1, 1, &gate, &first);
    CHECK(clEnqueueCopyBuffer(queues[1], buffer, other, 0, 0, SIZE, 1, &first, &second));
    if (again)
        step(0, buffer, 7, 2, 1, &second, NULL);
    step(2, other, 5, 2, 1, &second, &third);
    memset(result, 0, SIZE);
    CHECK(clEnqueueReadBuffer(queues[3], other, CL_FALSE, 0, SIZE, result, 1, &third, NULL));
    CHECK(clReleaseEvent(first));
    CHECK(clReleaseEvent(second));
    CHECK(clReleaseEvent(third));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(other));
    for (int i = 0; i < QUEUES; i++)
        CHECK(clFlush(queues[i]));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    finish_all();
    parity_hash_print(again ? "released, and overwritten" : "released", result, SIZE);
    CHECK(clReleaseEvent(gate));
}

/* The copy's source is never written, since the user event fails. */
static void failed(size_t size)
{
    cl_int status;
    cl_event gate = clCreateUserEvent(context, &status), made, copied;
    cl_mem from = buffer_new(numbers), to = filled(1);
    CHECK(status);
    step(0, from, 3, 1, 1, &gate, &made);
    CHECK(clEnqueueCopyBuffer(queues[1], from, to, 0, 0, size, 1, &made, &copied));
    CHECK(clSetUserEventStatus(gate, -7));
    status = clWaitForEvents(1, &copied);
    printf("nothing to copy: %s, %s\n", parity_error_name(status),
           parity_event_status(copied) < 0 ? "failed" : "complete");
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseEvent(made));
    CHECK(clReleaseEvent(copied));
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
}

static void open_all(void)
{
    cl_platform_id platform;
    cl_device_id devices[MOST];
    cl_uint count;
    cl_int status;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &count));
    context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    CHECK(status);
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = clCreateCommandQueue(context, devices[(cl_uint)i % count], 0, &status);
        CHECK(status);
    }
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    next = parity_kernel(program, "next");
}

int main(void)
{
    open_all();
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i * 7;
    plain(4, 4096, 1000);
    plain(1024, 0, 300000);
    plain(0, 0, SIZE);
    rect((size_t[]){64, 10, 1}, WIDTH * 4, 0, WIDTH * 4, 0);
    rect((size_t[]){1024, 700, 2}, WIDTH * 4, WIDTH * HEIGHT * 4, 1536, 1536 * 720);
    rect((size_t[]){4000, 760, 1}, WIDTH * 4, 0, WIDTH * 4, 0);
    from_two();
    images(CL_MEM_OBJECT_IMAGE2D, 1);
    images(CL_MEM_OBJECT_IMAGE3D, 4);
    for (int i = 0; i < 4; i++)
        released(i % 2);
    failed(64);
    failed(SIZE);
    for (int i = 0; i < QUEUES; i++)
        CHECK(clReleaseCommandQueue(queues[i]));
    CHECK(clReleaseKernel(next));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseContext(context));
    return 0;
}
