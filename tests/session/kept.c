/*
 * On each of the first two devices: contents that do not change (a buffer of several pieces, images of three kinds) and
 * contents that change all the time, of which saved copies are kept for recovery. Runs until FILE exists, and compares
 * the contents then. Once FILE.gate exists, each queue holds a kernel that waits for the program, so that no queue is
 * idle.
 * usage: kept FILE
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/session/moved.h"

enum { MOST = 2, IMAGES = 3, WIDTH = 100, HEIGHT = 60, DEPTH = 3, CHANGES = 4096 };
#define RESTS ((size_t)33 << 20) /* three pieces, and more than a worker's malloc() takes from its heap */
#define PIXELS (WIDTH * HEIGHT * DEPTH * 4)

struct side {
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem rests, changes, images[IMAGES];
    cl_event gate;
};

static const char *source = "kernel void next(global uint *data) { data[get_global_id(0)]++; }\n";

static const cl_image_desc descs[IMAGES] = {
    {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT},
    {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
     .image_width = WIDTH,
     .image_height = HEIGHT,
     .image_array_size = DEPTH},
    {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = WIDTH, .image_height = HEIGHT, .image_depth = DEPTH},
};

static uint8_t byte_of(size_t at, unsigned which)
{
    return (uint8_t)(at * 7 + at / 4099 + which * 31 + 1);
}

static void fill(uint8_t *bytes, size_t size, unsigned which)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte_of(i, which);
}

static void compare(const uint8_t *bytes, size_t size, unsigned which, const char *what)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == byte_of(i, which))
            continue;
        printf("%s: byte %zu is %d\n", what, i, bytes[i]);
        exit(1);
    }
}

static void launch(struct side *s, cl_uint count, const cl_event *wait)
{
    NEED(clEnqueueNDRangeKernel(s->queue, s->kernel, 1, NULL, &(size_t){CHANGES}, NULL, count, wait, NULL));
}

static void open_side(struct side *s, cl_device_id device, unsigned which, uint8_t *bytes)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const uint32_t zero = 0;
    cl_int error;

    s->context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    NEED(error);
    s->queue = clCreateCommandQueueWithProperties(s->context, device, NULL, &error);
    NEED(error);
    s->kernel = kernel_from(s->context, source, "next");
    fill(bytes, RESTS, which);
    s->rests = clCreateBuffer(s->context, CL_MEM_COPY_HOST_PTR, RESTS, bytes, &error);
    NEED(error);
    for (unsigned i = 0; i < IMAGES; i++) {
        fill(bytes, PIXELS, which + 10 * i);
        s->images[i] = clCreateImage(s->context, CL_MEM_COPY_HOST_PTR, &format, &descs[i], bytes, &error);
        NEED(error);
    }
    s->changes = clCreateBuffer(s->context, CL_MEM_READ_WRITE, CHANGES * 4, NULL, &error);
    NEED(error);
    NEED(clEnqueueFillBuffer(s->queue, s->changes, &zero, 4, 0, CHANGES * 4, 0, NULL, NULL));
    NEED(clSetKernelArg(s->kernel, 0, sizeof(s->changes), &s->changes));
    NEED(clFinish(s->queue));
}

static void check(struct side *s, unsigned which, uint32_t steps, uint8_t *bytes)
{
    const size_t zero[3] = {0};
    uint32_t changes[CHANGES];

    NEED(clEnqueueReadBuffer(s->queue, s->rests, CL_TRUE, 0, RESTS, bytes, 0, NULL, NULL));
    compare(bytes, RESTS, which, "what rests");
    for (unsigned i = 0; i < IMAGES; i++) {
        const size_t depth = descs[i].image_type == CL_MEM_OBJECT_IMAGE2D ? 1 : DEPTH;

        NEED(clEnqueueReadImage(s->queue, s->images[i], CL_TRUE, zero, (size_t[3]){WIDTH, HEIGHT, depth}, 0, 0, bytes,
                                0, NULL, NULL));
        compare(bytes, PIXELS / DEPTH * depth, which + 10 * i, "an image");
    }
    NEED(clEnqueueReadBuffer(s->queue, s->changes, CL_TRUE, 0, sizeof(changes), changes, 0, NULL, NULL));
    for (unsigned i = 0; i < CHANGES; i++) {
        if (changes[i] == steps)
            continue;
        printf("step %u is %u\n", steps, changes[i]);
        exit(1);
    }
}

int main(int count, char **words)
{
    uint8_t *bytes = malloc(RESTS);
    cl_device_id devices[MOST];
    struct side sides[MOST] = {{0}};
    cl_platform_id platform;
    uint32_t steps = 0;
    cl_uint found;
    char gate[4096];
    cl_int error;

    if (count < 2 || !bytes)
        return 2;
    snprintf(gate, sizeof(gate), "%s.gate", words[1]);
    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &found));
    found = found < MOST ? found : MOST;
    for (unsigned i = 0; i < found; i++)
        open_side(&sides[i], devices[i], i, bytes);
    say("ready");
    for (; access(words[1], F_OK); nanosleep(&(struct timespec){0, 5000000}, NULL)) {
        const bool close = !sides[0].gate && !access(gate, F_OK);

        if (sides[0].gate)
            continue;
        for (unsigned i = 0; i < found; i++) {
            if (close) {
                sides[i].gate = clCreateUserEvent(sides[i].context, &error);
                NEED(error);
            }
            launch(&sides[i], close, close ? &sides[i].gate : NULL);
            NEED(close ? clFlush(sides[i].queue) : clFinish(sides[i].queue));
        }
        steps++;
        if (close)
            say("gated");
    }
    for (unsigned i = 0; i < found && sides[i].gate; i++)
        NEED(clSetUserEventStatus(sides[i].gate, CL_COMPLETE));
    for (unsigned i = 0; i < found; i++)
        check(&sides[i], i, steps, bytes);
    say("right");
    return 0;
}
