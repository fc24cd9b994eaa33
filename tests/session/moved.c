/*
 * A program that uses something of everything for a while: buffers, a sub-buffer, an image, a kernel whose arguments
 * stay set, a program object, a user event that is set late, and a callback. It prints the final contents.
 * usage: moved MEGABYTES MILLISECONDS [FILE]: runs longer if FILE does not exist by then. With MOVED_LINKED in the
 * environment its program has a header and is linked, which each worker has to do anew: PoCL caches only programs that
 * are built.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/session/moved.h"

static const char *include = "#include \"add.h\"\n";
static const char *source = "kernel void next(global uint *data, uint by)\n"
                            "{ data[get_global_id(0)] = add(data[get_global_id(0)], by); }\n";
static const char *header = "uint add(uint a, uint b) { return a + b; }\n";

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static cl_program built(void)
{
    cl_program program = clCreateProgramWithSource(context, 2, (const char *[]){header, source}, NULL, NULL);

    NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
    return program;
}

static cl_program linked(void)
{
    const char *name = "add.h";
    cl_program sources = clCreateProgramWithSource(context, 2, (const char *[]){include, source}, NULL, NULL);
    cl_program headers = clCreateProgramWithSource(context, 1, &header, NULL, NULL);
    cl_program program;
    cl_int error;

    NEED(clCompileProgram(sources, 0, NULL, "", 1, &headers, &name, NULL, NULL));
    program = clLinkProgram(context, 1, &device, "", 1, &sources, NULL, NULL, &error);
    NEED(error);
    clReleaseProgram(headers);
    clReleaseProgram(sources);
    return program;
}

static uint64_t sum_of(cl_mem buffer, size_t size)
{
    uint32_t *data = malloc(size);
    uint64_t sum = 0;

    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, data, 0, NULL, NULL));
    for (size_t i = 0; i < size / 4; i++)
        sum = sum * 31 + data[i];
    free(data);
    return sum;
}

static void CL_CALLBACK called(cl_event event, cl_int status, void *argument)
{
    (void)event;
    *(volatile int *)argument = status == CL_COMPLETE;
}

int main(int count, char **words)
{
    const size_t size = (size_t)atoi(count > 1 ? words[1] : "1") << 20, part = size / 4;
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 64};
    const cl_buffer_region region = {part, part};
    const uint32_t three = 3;
    const size_t zero[3] = {0}, whole[3] = {64, 64, 1};
    uint32_t colour[4] = {1, 2, 3, 4}, steps = 0, by = 1, *fill = malloc(size);
    uint8_t pixels[64 * 64 * 4];
    volatile int was_called = 0;
    cl_mem rests, changes, inner, image;
    cl_event gate, gated;
    cl_program program;
    cl_kernel kernel;
    cl_int error;
    long until;

    open_first(&device, &context, &queue);
    for (size_t i = 0; i < size / 4; i++)
        fill[i] = (uint32_t)i * 2654435761u;
    rests = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, size, fill, &error);
    NEED(error);
    changes = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &error);
    NEED(error);
    inner = clCreateSubBuffer(changes, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    NEED(error);
    image = clCreateImage(context, 0, &format, &desc, NULL, &error);
    NEED(error);
    NEED(clEnqueueFillBuffer(queue, changes, &three, 4, 0, size, 0, NULL, NULL));
    NEED(clEnqueueFillImage(queue, image, colour, zero, whole, 0, NULL, NULL));
    program = getenv("MOVED_LINKED") ? linked() : built();
    kernel = clCreateKernel(program, "next", &error);
    NEED(error);
    clReleaseProgram(program);
    NEED(clSetKernelArg(kernel, 0, sizeof(inner), &inner));
    NEED(clSetKernelArg(kernel, 1, sizeof(by), &by));
    say("ready");
    for (until = now_ms() + atoi(count > 2 ? words[2] : "1000");
         now_ms() < until || (count > 3 && access(words[3], F_OK)); steps++) {
        const struct timespec pause = {0, 2000000};
        size_t items = part / 4;

        NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
        if (steps % 16 == 15)
            NEED(clFinish(queue));
        nanosleep(&pause, NULL);
    }
    gate = clCreateUserEvent(context, &error);
    NEED(error);
    NEED(clEnqueueMarkerWithWaitList(queue, 1, &gate, &gated));
    NEED(clSetEventCallback(gated, CL_COMPLETE, called, (void *)(uintptr_t)&was_called));
    NEED(clFlush(queue));
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    NEED(clSetUserEventStatus(gate, CL_COMPLETE));
    NEED(clFinish(queue));
    NEED(clEnqueueReadImage(queue, image, CL_TRUE, zero, whole, 0, 0, pixels, 0, NULL, NULL));
    /* Subtracts what the steps have added. */
    by = -steps;
    NEED(clSetKernelArg(kernel, 1, sizeof(by), &by));
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &(size_t){part / 4}, NULL, 0, NULL, NULL));
    printf("%llx %llx %u %u %d\n", (unsigned long long)sum_of(rests, size), (unsigned long long)sum_of(changes, size),
           pixels[0], pixels[64 * 64 * 4 - 1], was_called);
    return 0;
}
