/*
 * counted ROUNDS: a program of which every round trip and every byte can be counted, on one or two nodes. ROUNDS times:
 * reads, writes, rectangles, maps, copies and fills, images; then copies to a second node, if there is one, and a read
 * there. A blocking call needs an answer; a call that does not block must cause none.
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 8192
#define LARGE (9u << 20) /* sent as bulk data */
#define SIDE 16u         /* side of an image, with 4 bytes a pixel */

static int rounds;
static cl_context context;
static cl_command_queue queue;
static cl_device_id devices[8];
static cl_uint device_count;

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static cl_mem new_buffer(size_t size)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);

    need(status, "buffer");
    return buffer;
}

static void read_and_write(cl_mem buffer)
{
    static unsigned char data[BYTES], back[BYTES];
    cl_event event;

    memset(data, 7, sizeof(data));
    for (int i = 0; i < rounds; i++) {
        need(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, BYTES, data, 0, NULL, NULL), "write");
        need(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 16, 16, data, 0, NULL, NULL), "write and wait");
        need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 100, 1000, back, 0, NULL, NULL), "read");
        need(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 4000, back, 0, NULL, &event), "read and go on");
        need(clWaitForEvents(1, &event), "wait");
        clReleaseEvent(event);
        need(memcmp(data, back, 4000), "what was read");
    }
}

static void rectangles(cl_mem buffer)
{
    static unsigned char data[BYTES];
    const size_t origin[3] = {4, 2, 0}, host[3] = {0}, region[3] = {20, 5, 1};

    for (int i = 0; i < rounds; i++) {
        need(clEnqueueWriteBufferRect(queue, buffer, CL_TRUE, origin, host, region, 64, 0, 20, 0, data, 0, NULL, NULL),
             "write a rectangle");
        need(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, origin, host, region, 64, 0, 20, 0, data, 0, NULL, NULL),
             "read a rectangle");
    }
}

static void maps(cl_mem buffer)
{
    cl_int status;
    void *memory;

    for (int i = 0; i < rounds; i++) {
        memory = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 512, 0, NULL, NULL, &status);
        need(status, "map to read");
        need(clEnqueueUnmapMemObject(queue, buffer, memory, 0, NULL, NULL), "unmap what was read");
        memory =
            clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, 256, 0, NULL, NULL, &status);
        need(status, "map to write");
        memset(memory, i, 256);
        need(clEnqueueUnmapMemObject(queue, buffer, memory, 0, NULL, NULL), "unmap what was written");
    }
}

static void copies(cl_mem from, cl_mem to)
{
    const cl_int pattern = 5;

    for (int i = 0; i < rounds; i++) {
        need(clEnqueueCopyBuffer(queue, from, to, 0, 0, BYTES, 0, NULL, NULL), "copy");
        need(clEnqueueFillBuffer(queue, to, &pattern, sizeof(pattern), 0, BYTES, 0, NULL, NULL), "fill");
        need(clFinish(queue), "finish");
    }
}

static void images(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc about = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
    const size_t origin[3] = {0}, all[3] = {SIDE, SIDE, 1}, part[3] = {SIDE, 4, 1};
    static unsigned char data[4 * SIDE * SIDE];
    cl_int status;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &about, NULL, &status);

    need(status, "image");
    for (int i = 0; i < rounds; i++) {
        need(clEnqueueWriteImage(queue, image, CL_TRUE, origin, all, 0, 0, data, 0, NULL, NULL), "write an image");
        need(clEnqueueReadImage(queue, image, CL_TRUE, origin, part, 0, 0, data, 0, NULL, NULL), "read an image");
    }
    clReleaseMemObject(image);
}

static void large(void)
{
    char *data = calloc(1, LARGE);
    cl_mem buffer = new_buffer(LARGE);

    need(data ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "memory");
    for (int i = 0; i < rounds; i++) {
        need(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, LARGE, data, 0, NULL, NULL), "write much");
        need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, LARGE, data, 0, NULL, NULL), "read much");
    }
    clReleaseMemObject(buffer);
    free(data);
}

/* Moves the buffer from one node to the other and back, each time. */
static void between(cl_mem buffer)
{
    const cl_int pattern = 1;
    cl_int status, value;
    cl_command_queue other = clCreateCommandQueue(context, devices[1], 0, &status);

    need(status, "another queue");
    for (int i = 0; i < rounds; i++) {
        need(clEnqueueFillBuffer(queue, buffer, &pattern, sizeof(pattern), 0, BYTES, 0, NULL, NULL), "fill here");
        need(clFinish(queue), "finish");
        need(clEnqueueFillBuffer(other, buffer, &pattern, sizeof(pattern), 0, 4, 0, NULL, NULL), "fill there");
        need(clEnqueueReadBuffer(other, buffer, CL_TRUE, 4, sizeof(value), &value, 0, NULL, NULL), "read there");
    }
}

int main(int count, char **words)
{
    cl_platform_id platform;
    cl_mem buffer, target;
    cl_int status;

    rounds = count > 1 ? atoi(words[1]) : 1;
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, devices, &device_count), "clGetDeviceIDs");
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    need(status, "context");
    queue = clCreateCommandQueue(context, devices[0], 0, &status);
    need(status, "queue");
    buffer = new_buffer(BYTES);
    target = new_buffer(BYTES);
    read_and_write(buffer);
    rectangles(buffer);
    maps(buffer);
    copies(buffer, target);
    images();
    large();
    if (device_count > 1)
        between(target);
    clReleaseMemObject(buffer);
    clReleaseMemObject(target);
    return 0;
}
