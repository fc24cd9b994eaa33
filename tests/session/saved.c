/*
 * Resumes where its counter says, which is in a buffer as all that it computes: restored from a checkpoint it does the
 * remaining steps. At step PAUSE it prints that and waits for DIRECTORY/go.
 * usage: saved STEPS PAUSE DIRECTORY KILOBYTES [WORD]: WORD "svm" or "pipe" also creates such an object; "other"
 * creates a buffer of another size
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/session/moved.h"

#define SIDE 24

static const char *source = "kernel void advance(global uint *data, global uint *hosted, global const uint *input, int "
                            "last, global uint *part) {\n"
                            "  size_t i = get_global_id(0);\n"
                            "  data[i] = data[i] * 1664525u + 1013904223u + input[i] + part[0];\n"
                            "  if (i < 1000) hosted[i] += data[i];\n"
                            "}\n"
                            "kernel void count(global uint *counter) { counter[0]++; }\n";

static cl_context context;
static cl_command_queue queues[8];
static cl_uint queue_count;
static cl_mem data, input, hosted, counter, image;
static size_t size;

static void say_number(const char *word, unsigned long number)
{
    printf("%s %lx\n", word, number);
    fflush(stdout);
}

static void open_devices(void)
{
    cl_platform_id platform;
    cl_device_id devices[8];
    cl_int error;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, devices, &queue_count));
    queue_count = queue_count < 8 ? queue_count : 8;
    context = clCreateContext(NULL, queue_count, devices, NULL, NULL, &error);
    NEED(error);
    for (cl_uint i = 0; i < queue_count; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i], NULL, &error);
        NEED(error);
    }
}

static cl_mem make(cl_mem_flags flags, size_t bytes, void *from)
{
    cl_int error;
    cl_mem buffer = clCreateBuffer(context, flags, bytes, from, &error);

    if (error)
        printf("error %d\n", error);
    NEED(error);
    return buffer;
}

/* Creates the objects that exist before the first kernel; one of them is released at once, and one is never written. */
static void make_objects(bool other)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
    static uint32_t pixels[SIDE * SIDE], none;
    uint32_t *fill = malloc(size), *own = aligned_alloc(4096, 8192);
    cl_int error;

    for (size_t i = 0; i < size / 4; i++)
        fill[i] = (uint32_t)i * 2654435761u;
    memset(own, 0, 8192);
    NEED(clReleaseMemObject(make(CL_MEM_COPY_HOST_PTR, size, fill)));
    data = make(CL_MEM_COPY_HOST_PTR | CL_MEM_HOST_READ_ONLY, other ? size / 2 : size, fill);
    input = make(CL_MEM_COPY_HOST_PTR | CL_MEM_READ_ONLY | CL_MEM_HOST_NO_ACCESS, size, fill);
    counter = make(CL_MEM_COPY_HOST_PTR, sizeof(none), &none);
    hosted = make(CL_MEM_USE_HOST_PTR, 8192, own);
    make(CL_MEM_READ_WRITE, 16 * size, NULL);
    image = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &desc, pixels, &error);
    NEED(error);
    free(fill);
}

static void make_bound(const char *word)
{
    cl_int error = 0;

    if (!strcmp(word, "svm") && !clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0))
        error = 1;
    if (!strcmp(word, "pipe"))
        clCreatePipe(context, 0, 4, 16, NULL, &error);
    if (error)
        exit(77);
}

static unsigned long hash(unsigned long before, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        before = (before ^ words[i]) * 0x100000001b3;
    return before;
}

static void result(cl_command_queue queue)
{
    const size_t zero[3] = {0}, whole[3] = {SIDE, SIDE, 1};
    uint32_t *all = malloc(size), pixels[SIDE * SIDE], *mapped;
    unsigned long sum;
    cl_int error;

    NEED(clEnqueueReadBuffer(queue, data, CL_TRUE, 0, size, all, 0, NULL, NULL));
    sum = hash(1, all, size / 4);
    NEED(clEnqueueReadImage(queue, image, CL_TRUE, zero, whole, 0, 0, pixels, 0, NULL, NULL));
    sum = hash(sum, pixels, SIDE * SIDE);
    mapped = clEnqueueMapBuffer(queue, hosted, CL_TRUE, CL_MAP_READ, 0, 8192, 0, NULL, NULL, &error);
    NEED(error);
    say_number("result", hash(sum, mapped, 2048));
    NEED(clEnqueueUnmapMemObject(queue, hosted, mapped, 0, NULL, NULL));
    NEED(clFinish(queue));
    free(all);
}

/* Runs a step, with an object that exists while the step lasts. */
static cl_mem step(cl_kernel advance, cl_kernel count, cl_command_queue queue, uint32_t number)
{
    const size_t items = size / 4, one = 1, line[3] = {SIDE, 1, 1}, place[3] = {0, number % SIDE, 0};
    const uint32_t colour[4] = {number, 2 * number, 3, 4};
    cl_mem part = make(CL_MEM_COPY_HOST_PTR, 4, &number);

    NEED(clSetKernelArg(advance, 0, sizeof(data), &data));
    NEED(clSetKernelArg(advance, 1, sizeof(hosted), &hosted));
    NEED(clSetKernelArg(advance, 2, sizeof(input), &input));
    NEED(clSetKernelArg(advance, 3, 4, &number));
    NEED(clSetKernelArg(advance, 4, sizeof(part), &part));
    NEED(clSetKernelArg(count, 0, sizeof(counter), &counter));
    NEED(clEnqueueNDRangeKernel(queue, advance, 1, NULL, &items, NULL, 0, NULL, NULL));
    NEED(clEnqueueFillImage(queue, image, colour, place, line, 0, NULL, NULL));
    NEED(clEnqueueNDRangeKernel(queue, count, 1, NULL, &one, NULL, 0, NULL, NULL));
    NEED(clFinish(queue));
    return part;
}

int main(int argument_count, char **words)
{
    const uint32_t steps = (uint32_t)atoi(words[1]), pause = (uint32_t)atoi(words[2]);
    const char *directory = words[3], *word = argument_count > 5 ? words[5] : "";
    cl_kernel advance, count;
    cl_program program;
    uint32_t number;
    cl_int error;

    size = (size_t)atoi(words[4]) << 10;
    open_devices();
    make_objects(!strcmp(word, "other"));
    make_bound(word);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    NEED(error);
    NEED(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    advance = clCreateKernel(program, "advance", &error);
    NEED(error);
    count = clCreateKernel(program, "count", &error);
    NEED(error);
    NEED(clEnqueueReadBuffer(queues[0], counter, CL_TRUE, 0, 4, &number, 0, NULL, NULL));
    say_number("from", number);
    for (; number < steps; number++) {
        cl_mem part = step(advance, count, queues[number % queue_count], number);

        if (number + 1 == pause) {
            say_number("at", number + 1);
            wait_for_in(directory, "go");
        }
        NEED(clReleaseMemObject(part));
    }
    result(queues[0]);
    return 0;
}
