/* epochs SEED STEPS [IMAGE]: at random, the program reads, writes and maps buffers between kernels that change them in
 * place, derive them from another one, or do not use them, and compares each with its own computation. IMAGE: there is
 * an image, too. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/draw.h"

enum { COUNT = 40000, SIZE = COUNT * 4, BUFFERS = 6, LONG = 300 };

static const char *source =
    "kernel void change(global uint *data, uint by) { size_t i = get_global_id(0); data[i] = data[i] * 3 + by; }\n"
    "kernel void derive(global const uint *from, global uint *to, uint by) { size_t i = get_global_id(0);\n"
    "    uint x = from[i]; for (uint k = 0; k < by; k++) x = x * 1664525 + 1013904223; to[i] = x; }\n";

static cl_context context;
static cl_command_queue queues[2];
static cl_kernel change, derive;
static cl_mem buffers[BUFFERS];
static cl_uint known[BUFFERS][COUNT], data[COUNT];
static const size_t global = COUNT;
static cl_command_queue last;

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static void compare(const cl_uint *seen, const cl_uint *wanted, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        if (seen[i] == wanted[i])
            continue;
        printf("%s: %u at %zu instead of %u\n", what, seen[i], i, wanted[i]);
        exit(1);
    }
}

static cl_mem make(cl_mem_flags flags, void *contents)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, flags | (contents ? CL_MEM_COPY_HOST_PTR : 0), SIZE, contents, &status);

    need(status, "clCreateBuffer");
    return buffer;
}

static void run_change(cl_command_queue queue, cl_mem buffer, cl_uint *host, cl_uint by)
{
    need(clSetKernelArg(change, 0, sizeof(buffer), &buffer), "clSetKernelArg");
    need(clSetKernelArg(change, 1, sizeof(by), &by), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queue, change, 1, NULL, &global, NULL, 0, NULL, NULL), "change");
    for (int i = 0; i < COUNT; i++)
        host[i] = host[i] * 3 + by;
}

static void run_derive(cl_command_queue queue, int from, int to, cl_uint by)
{
    need(clSetKernelArg(derive, 0, sizeof(cl_mem), &buffers[from]), "clSetKernelArg");
    need(clSetKernelArg(derive, 1, sizeof(cl_mem), &buffers[to]), "clSetKernelArg");
    need(clSetKernelArg(derive, 2, sizeof(by), &by), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queue, derive, 1, NULL, &global, NULL, 0, NULL, NULL), "derive");
    for (int i = 0; i < COUNT; i++) {
        cl_uint x = known[from][i];

        for (cl_uint k = 0; k < by; k++)
            x = x * 1664525 + 1013904223;
        known[to][i] = x;
    }
}

static void fill_some(cl_uint *to, size_t count, cl_uint seed)
{
    for (size_t i = 0; i < count; i++)
        to[i] = seed + (cl_uint)i * 7;
}

static void map_some(cl_command_queue queue, int which, size_t start, size_t count, cl_uint seed, int writes)
{
    cl_int status;
    cl_uint *at = clEnqueueMapBuffer(queue, buffers[which], CL_TRUE, writes ? CL_MAP_WRITE | CL_MAP_READ : CL_MAP_READ,
                                     start * 4, count * 4, 0, NULL, NULL, &status);

    need(status, "clEnqueueMapBuffer");
    compare(at, known[which] + start, count, "map");
    if (writes)
        fill_some(at, count, seed);
    else /* while it is mapped, a kernel uses another buffer */
        run_change(queue, buffers[(which + 1) % 3], known[(which + 1) % 3], seed);
    if (!writes)
        compare(at, known[which] + start, count, "map, later");
    else
        memcpy(known[which] + start, at, count * 4);
    need(clEnqueueUnmapMemObject(queue, buffers[which], at, 0, NULL, NULL), "clEnqueueUnmapMemObject");
}

/* Uses a buffer that is created with contents, and released. */
static void pass_through(cl_command_queue queue, cl_uint seed)
{
    static cl_uint host[COUNT];
    cl_mem passing;

    fill_some(host, COUNT, seed);
    passing = make(CL_MEM_READ_WRITE, host);
    run_change(queue, passing, host, seed);
    run_change(queue, passing, host, seed);
    need(clEnqueueReadBuffer(queue, passing, CL_TRUE, 0, SIZE, data, 0, NULL, NULL), "read");
    compare(data, host, COUNT, "passing");
    need(clReleaseMemObject(passing), "clReleaseMemObject");
}

static void step(uint64_t *draw)
{
    const int which = (int)draw_below(draw, 3), other = 3 + (int)draw_below(draw, 3);
    const size_t start = draw_below(draw, COUNT - 1), count = 1 + draw_below(draw, (unsigned)(COUNT - start));
    const cl_uint seed = draw_below(draw, 1000000);
    cl_command_queue queue = queues[draw_below(draw, 4) == 0];

    if (queue != last && last)
        need(clFinish(last), "clFinish");

    switch (draw_below(draw, 10)) {
    case 0:
    case 1:
        run_change(queue, buffers[which], known[which], seed);
        break;
    case 2:
    case 3:
        run_derive(queue, which, other, seed % LONG);
        break;
    case 4:
        fill_some(known[which] + start, count, seed);
        need(clEnqueueWriteBuffer(queue, buffers[which], CL_TRUE, start * 4, count * 4, known[which] + start, 0, NULL,
                                  NULL),
             "write");
        break;
    case 5:
        need(clEnqueueReadBuffer(queue, buffers[other], CL_TRUE, start * 4, count * 4, data, 0, NULL, NULL), "read");
        compare(data, known[other] + start, count, "read");
        break;
    case 6:
        map_some(queue, which, start, count, seed, seed % 2);
        break;
    case 7:
        pass_through(queue, seed);
        break;
    case 8:
        need(clEnqueueCopyBuffer(queue, buffers[other], buffers[which], start * 4, start * 4, count * 4, 0, NULL, NULL),
             "copy");
        memcpy(known[which] + start, known[other] + start, count * 4);
        break;
    default:
        fill_some(known[which] + start, count, seed);
        memcpy(data, known[which] + start, count * 4);
        need(clEnqueueWriteBuffer(queue, buffers[which], CL_FALSE, start * 4, count * 4, data, 0, NULL, NULL), "write");
        need(clFinish(queue), "clFinish");
        memset(data, 0, sizeof(data));
    }
    if (draw_below(draw, 3) == 0)
        need(clFinish(queue), "clFinish");
    last = queue;
}

int main(int count, char **arguments)
{
    uint64_t state = count > 1 ? (uint64_t)atoll(arguments[1]) : 1;
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    cl_platform_id platform;
    cl_device_id device;
    cl_program program;
    cl_int status;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    for (int i = 0; i < 2; i++)
        queues[i] = clCreateCommandQueue(context, device, 0, &status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    change = clCreateKernel(program, "change", &status);
    derive = clCreateKernel(program, "derive", &status);
    for (int i = 0; i < BUFFERS; i++) {
        fill_some(known[i], COUNT, (cl_uint)i);
        buffers[i] = make(i < 3 ? CL_MEM_READ_WRITE : CL_MEM_WRITE_ONLY, known[i]);
    }
    if (count > 3)
        clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    for (int i = 0; i < (count > 2 ? atoi(arguments[2]) : 100); i++) {
        step(&state);
    }
    if (last)
        need(clFinish(last), "clFinish");
    for (int i = 0; i < BUFFERS; i++) {
        need(clEnqueueReadBuffer(queues[0], buffers[i], CL_TRUE, 0, SIZE, data, 0, NULL, NULL), "read");
        compare(data, known[i], COUNT, "at the end");
    }
    puts("all right");
    return 0;
}
