/* Calls of OpenCL 1.0 and 1.1, as programs of that time use them, and which any driver has: images of two and three
 * dimensions, samplers, markers and barriers without lists, transfers of all sizes that wait for events, in-order and
 * out-of-order queues. */
#include "parity.h"

enum { WIDTH = 16, HEIGHT = 8, DEPTH = 4, MOST_ADDED = 512 }; /* oclgrind interprets the kernels */

static const char *source =
    "kernel void add(global uint *data, uint more, uint count)\n"
    "{\n"
    "    for (size_t i = get_global_id(0); i < count; i += get_global_size(0))\n"
    "        data[i] += more;\n"
    "}\n"
    "\n"
    "kernel void look(read_only image2d_t image, sampler_t sampler, local uint *scratch, global uint *to)\n"
    "{\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    scratch[get_local_id(0)] = read_imageui(image, sampler, at - 1).y;\n"
    "    to[at.y * get_global_size(0) + at.x] = scratch[get_local_id(0)];\n"
    "}\n";

static const size_t sizes[] = {4, 4096, 65536 + 4, 1 << 20, (7 << 20) + 4};
static struct parity p;
static cl_program program;

static cl_uint *numbers(size_t size, cl_uint first)
{
    cl_uint *data = malloc(size);
    for (size_t i = 0; i < size / sizeof(*data); i++)
        data[i] = first + (cl_uint)i;
    return data;
}

static cl_uint added_to(size_t size)
{
    return size / sizeof(cl_uint) < MOST_ADDED ? (cl_uint)(size / sizeof(cl_uint)) : MOST_ADDED;
}

static cl_event add(cl_command_queue queue, cl_mem buffer, cl_uint more, size_t size, const cl_event *after)
{
    cl_kernel kernel = parity_kernel(program, "add");
    cl_uint count = added_to(size);
    cl_event event;
    parity_args(kernel, 3, sizeof(buffer), &buffer, sizeof(more), &more, sizeof(count), &count);
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, (size_t[]){64}, (size_t[]){16}, after != NULL, after, &event));
    CHECK(clReleaseKernel(kernel));
    return event;
}

/* Write, kernel, copy, read: each waits for the event of the one before. */
static void chain(cl_command_queue queue, const char *name, size_t size)
{
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, size, NULL), copy = parity_buffer(&p, 0, size, NULL);
    cl_uint *data = numbers(size, 7), *back = numbers(size, 0);
    cl_event written, added, copied, read, marker;

    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, size, data, 0, NULL, &written));
    added = add(queue, buffer, 1000, size, &written);
    CHECK(clEnqueueCopyBuffer(queue, buffer, copy, 0, 0, size, 1, &added, &copied));
    CHECK(clEnqueueReadBuffer(queue, copy, CL_FALSE, 0, size, back, 1, &copied, &read));
    CHECK(clEnqueueMarker(queue, &marker));
    parity_rich();
    CHECK(clWaitForEvents(1, &read));
    for (size_t i = 0; i < size / sizeof(*data); i++)
        EXPECT(back[i] == data[i] + (i < added_to(size) ? 1000 : 0));
    CHECK(clWaitForEvents(1, &marker));
    printf("%s, %zu bytes: right, marker %s\n", name, size, parity_status_name(parity_event_status(marker)));
    CHECK(clReleaseEvent(written));
    CHECK(clReleaseEvent(added));
    CHECK(clReleaseEvent(copied));
    CHECK(clReleaseEvent(read));
    CHECK(clReleaseEvent(marker));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(copy));
    free(data);
    free(back);
}

/* Ordered by barriers, without events. */
static void barriers(cl_command_queue queue, const char *name, size_t size)
{
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, size, NULL);
    cl_uint *data = numbers(size, 3), *back = numbers(size, 0);

    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, size, data, 0, NULL, NULL));
    CHECK(clEnqueueBarrier(queue));
    CHECK(clReleaseEvent(add(queue, buffer, 5, size, NULL)));
    CHECK(clEnqueueBarrier(queue));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, back, 0, NULL, NULL));
    for (size_t i = 0; i < size / sizeof(*data); i++)
        EXPECT(back[i] == data[i] + (i < added_to(size) ? 5 : 0));
    CHECK(clFinish(queue));
    printf("%s, %zu bytes, barriers: right\n", name, size);
    CHECK(clReleaseMemObject(buffer));
    free(data);
    free(back);
}

/* Rectangles of a buffer, and a mapped part. */
static void pieces(void)
{
    size_t origin[3] = {16, 2, 0}, host[3] = {0, 0, 0}, region[3] = {64, 4, 1};
    cl_uint *data = numbers(8192, 1), back[64];
    cl_mem buffer = parity_buffer(&p, CL_MEM_COPY_HOST_PTR, 8192, data);
    cl_int status;
    cl_uint *mapped =
        clEnqueueMapBuffer(p.queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 1024, 1024, 0, NULL, NULL, &status);
    CHECK(status);
    mapped[0] += 17;
    CHECK(clEnqueueUnmapMemObject(p.queue, buffer, mapped, 0, NULL, NULL));
    CHECK(clEnqueueReadBufferRect(p.queue, buffer, CL_TRUE, origin, host, region, 512, 0, 64, 0, back, 0, NULL, NULL));
    parity_hash_print("rows", back, sizeof(back));
    CHECK(clEnqueueWriteBufferRect(p.queue, buffer, CL_TRUE, host, host, region, 256, 0, 64, 0, back, 0, NULL, NULL));
    parity_read(p.queue, buffer, 0, 8192, data);
    parity_hash_print("buffer", data, 8192);
    CHECK(clReleaseMemObject(buffer));
    free(data);
}

static void images(void)
{
    static const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    size_t origin[3] = {0, 0, 0}, flat[3] = {WIDTH, HEIGHT, 1}, deep[3] = {WIDTH, HEIGHT, DEPTH};
    cl_uint *data = numbers(sizeof(*data) * WIDTH * HEIGHT * DEPTH, 0),
            *back = numbers(sizeof(*data) * WIDTH * HEIGHT * DEPTH, 9);
    cl_kernel kernel = parity_kernel(program, "look");
    cl_int status;
    cl_mem image =
        clCreateImage2D(p.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, WIDTH, HEIGHT, 0, data, &status);
    CHECK(status);
    cl_mem space = clCreateImage3D(p.context, CL_MEM_READ_WRITE, &format, WIDTH, HEIGHT, DEPTH, 0, 0, NULL, &status);
    CHECK(status);
    cl_sampler sampler = clCreateSampler(p.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &status);
    CHECK(status);
    cl_mem to = parity_buffer(&p, CL_MEM_WRITE_ONLY, sizeof(*data) * WIDTH * HEIGHT, NULL);
    parity_args(kernel, 4, sizeof(image), &image, sizeof(sampler), &sampler, WIDTH * sizeof(cl_uint), NULL, sizeof(to),
                &to);
    parity_launch(p.queue, kernel, 2, (size_t[]){WIDTH, HEIGHT}, (size_t[]){WIDTH, 1});
    parity_read(p.queue, to, 0, sizeof(*data) * WIDTH * HEIGHT, back);
    parity_hash_print("looked at", back, sizeof(*data) * WIDTH * HEIGHT);
    CHECK(clEnqueueWriteImage(p.queue, space, CL_FALSE, origin, deep, 0, 0, data, 0, NULL, NULL));
    CHECK(clEnqueueCopyImage(p.queue, image, space, origin, (size_t[]){0, 0, 2}, flat, 0, NULL, NULL));
    CHECK(clEnqueueReadImage(p.queue, space, CL_TRUE, origin, deep, 0, 0, back, 0, NULL, NULL));
    parity_hash_print("space", back, sizeof(*data) * WIDTH * HEIGHT * DEPTH);
    CHECK(clReleaseSampler(sampler));
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseMemObject(space));
    CHECK(clReleaseMemObject(image));
    CHECK(clReleaseKernel(kernel));
    free(data);
    free(back);
}

/* A command waits for a user event, which the program completes. */
static void user_event(cl_command_queue queue, const char *name)
{
    cl_int status;
    cl_uint data[256] = {1, 2, 3}, back[256];
    cl_event user = clCreateUserEvent(p.context, &status);
    CHECK(status);
    cl_mem buffer = parity_buffer(&p, 0, sizeof(data), NULL);
    cl_event added;

    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
    added = add(queue, buffer, 4, sizeof(data), &user);
    CHECK(clSetUserEventStatus(user, CL_COMPLETE));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(back), back, 1, &added, NULL));
    printf("%s, user event: %u %u\n", name, back[0], back[255]);
    CHECK(clReleaseEvent(added));
    CHECK(clReleaseEvent(user));
    CHECK(clReleaseMemObject(buffer));
}

int main(void)
{
    cl_command_queue loose;
    cl_int status;
    cl_device_id device;

    printf("said before OpenCL is asked for anything, and not written yet\n");
    CHECK(clGetPlatformIDs(1, &p.platform, NULL));
    CHECK(clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    p.device = device;
    p.context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    p.queue = clCreateCommandQueue(p.context, device, 0, &status);
    CHECK(status);
    loose = clCreateCommandQueue(p.context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    CHECK(status);
    program = parity_program(&p, source, "");
    for (size_t i = 0; i < PARITY_COUNT(sizes); i++) {
        chain(p.queue, "in order", sizes[i]);
        chain(loose, "out of order", sizes[i]);
        barriers(p.queue, "in order", sizes[i]);
        barriers(loose, "out of order", sizes[i]);
    }
    pieces();
    images();
    user_event(p.queue, "in order");
    user_event(loose, "out of order");
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(loose));
    parity_close(&p);
    return 0;
}
