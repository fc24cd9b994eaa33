/*
 * A program that is idle for a while and is then suspended. It has a buffer with initial contents, one that a kernel
 * has written, an image, and a large buffer that is never written. It waits for DIRECTORY/ask, and then makes calls
 * that need no device; once DIRECTORY/resume exists, it uses all objects and checks their contents. It prints an error,
 * and tries again after DIRECTORY/again exists.
 * usage: suspended MEGABYTES DIRECTORY
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/session/moved.h"

static const char *source = "kernel void twice(global uint *data) { data[get_global_id(0)] *= 2; }\n";

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

/* Makes calls that the library answers without a device. */
static void ask(cl_kernel kernel, cl_mem given, cl_mem gone, cl_event event)
{
    cl_uint references;
    cl_bool available;
    char name[1024];
    cl_int status;

    NEED(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL));
    NEED(clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof(available), &available, NULL));
    NEED(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(references), &references, NULL));
    NEED(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    NEED(clRetainMemObject(given));
    NEED(clReleaseMemObject(given));
    NEED(clReleaseMemObject(gone));
    NEED(clSetKernelArg(kernel, 0, sizeof(given), &given));
    NEED(clWaitForEvents(1, &event));
    NEED(clFlush(queue));
    NEED(clFinish(queue));
    say(available && status == CL_COMPLETE ? "asked" : "wrong answers");
}

/* Uses all objects. Returns 0 or an OpenCL error. */
static cl_int use(cl_kernel kernel, cl_mem given, cl_mem made, cl_mem image, cl_mem untouched, size_t size)
{
    const size_t items = size / 4, zero[3] = {0}, whole[3] = {16, 16, 1};
    uint32_t *data = malloc(size), pixels[256], last;
    bool right = true;
    cl_int error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);

    if (!error)
        error = clEnqueueReadBuffer(queue, given, CL_TRUE, 0, size, data, 0, NULL, NULL);
    for (size_t i = 0; !error && i < items; i++)
        right &= data[i] == 2 * (uint32_t)(i * 2654435761u);
    if (!error)
        error = clEnqueueReadBuffer(queue, made, CL_TRUE, 0, size, data, 0, NULL, NULL);
    for (size_t i = 0; !error && i < items; i++)
        right &= data[i] == 14;
    if (!error)
        error = clEnqueueReadImage(queue, image, CL_TRUE, zero, whole, 0, 0, pixels, 0, NULL, NULL);
    for (size_t i = 0; !error && i < 256; i++)
        right &= pixels[i] == 0x04030201;
    if (!error)
        error = clEnqueueReadBuffer(queue, untouched, CL_TRUE, 0, 4, &last, 0, NULL, NULL);
    free(data);
    if (!error)
        say(right ? "right" : "wrong");
    return error;
}

int main(int count, char **words)
{
    const size_t size = (size_t)atoi(count > 1 ? words[1] : "1") << 20, items = size / 4;
    const char *directory = count > 2 ? words[2] : ".";
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    const size_t zero[3] = {0}, whole[3] = {16, 16, 1};
    const uint32_t seven = 7, colour[4] = {1, 2, 3, 4};
    uint32_t *fill = malloc(size);
    cl_mem given, made, untouched, image, gone;
    cl_program program;
    cl_kernel kernel;
    cl_event event;
    cl_int error;

    open_first(&device, &context, &queue);
    for (size_t i = 0; i < items; i++)
        fill[i] = (uint32_t)i * 2654435761u;
    given = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, size, fill, &error);
    NEED(error);
    made = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &error);
    NEED(error);
    gone = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &error);
    NEED(error);
    untouched = clCreateBuffer(context, CL_MEM_READ_WRITE, 16 * size, NULL, &error);
    NEED(error);
    image = clCreateImage(context, 0, &format, &desc, NULL, &error);
    NEED(error);
    NEED(clEnqueueFillImage(queue, image, colour, zero, whole, 0, NULL, NULL));
    NEED(clEnqueueFillBuffer(queue, made, &seven, 4, 0, size, 0, NULL, NULL));
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    NEED(error);
    NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
    kernel = clCreateKernel(program, "twice", &error);
    NEED(error);
    NEED(clSetKernelArg(kernel, 0, sizeof(made), &made));
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, &event));
    NEED(clFinish(queue));
    free(fill);
    say("ready");
    wait_for_in(directory, "ask");
    ask(kernel, given, gone, event);
    wait_for_in(directory, "resume");
    for (int tries = 0; (error = use(kernel, given, made, image, untouched, size)); tries++) {
        if (tries > 3)
            return 1;
        printf("error %d\n", error);
        fflush(stdout);
        wait_for_in(directory, "again");
    }
    return 0;
}
