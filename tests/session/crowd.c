/*
 * One context over all devices, however many: a chain in which each device adds to the result of the one before it; a
 * launch on each device that waits for the same user event, with arguments that were set once; and finally one device
 * that waits for all others. Then prints the number of devices.
 *
 *     crowd [SECONDS]    waits so long, or for a newline on stdin, and exits without releasing anything
 */
#include <CL/cl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 2048, COUNT = 1024 };

static const char *source = "kernel void add(global int *data, int what)\n"
                            "{\n"
                            "    data[get_global_id(0)] += what;\n"
                            "}\n";

static cl_uint count;
static cl_device_id devices[MOST];
static cl_command_queue queues[MOST];
static cl_event events[MOST];
static cl_context context;

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(3);
}

static void is(cl_mem buffer, cl_uint reader, cl_int wanted, const char *what)
{
    cl_int data[COUNT];

    need(clEnqueueReadBuffer(queues[reader], buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL), what);
    for (int i = 0; i < COUNT; i++) {
        if (data[i] != wanted) {
            printf("%s: %d at %d, not %d\n", what, data[i], i, wanted);
            exit(4);
        }
    }
}

static cl_mem zeros(void)
{
    static cl_int nothing[COUNT];
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(nothing), nothing, &status);

    need(status, "clCreateBuffer");
    return buffer;
}

static void launch(cl_uint on, cl_kernel kernel, cl_uint waits, const cl_event *list, cl_event *event)
{
    const size_t size = COUNT;

    need(clEnqueueNDRangeKernel(queues[on], kernel, 1, NULL, &size, NULL, waits, list, event),
         "clEnqueueNDRangeKernel");
}

static void set(cl_kernel kernel, cl_mem buffer, cl_int what)
{
    need(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
    need(clSetKernelArg(kernel, 1, sizeof(what), &what), "clSetKernelArg");
}

/* The buffer goes from each device to the next. */
static void chain(cl_kernel kernel)
{
    cl_mem buffer = zeros();

    for (cl_uint i = 0; i < count; i++) {
        set(kernel, buffer, (cl_int)i);
        launch(i, kernel, i ? 1 : 0, i ? &events[i - 1] : NULL, &events[i]);
    }
    is(buffer, count - 1, (cl_int)(count * (count - 1) / 2), "the chain");
    for (cl_uint i = 0; i < count; i++)
        need(clReleaseEvent(events[i]), "clReleaseEvent");
    need(clReleaseMemObject(buffer), "clReleaseMemObject");
}

/* All launches wait for one event, and one marker for all launches. */
static void gate(cl_program program)
{
    cl_mem buffers[MOST];
    cl_kernel kernels[MOST];
    cl_int status;
    cl_event open = clCreateUserEvent(context, &status);

    need(status, "clCreateUserEvent");
    for (cl_uint i = 0; i < count; i++) {
        kernels[i] = clCreateKernel(program, "add", &status);
        need(status, "clCreateKernel");
        buffers[i] = zeros();
        set(kernels[i], buffers[i], 7);
        launch(i, kernels[i], 1, &open, NULL);
        launch(i, kernels[i], 0, NULL, &events[i]);
        need(clFlush(queues[i]), "clFlush");
    }
    need(clSetUserEventStatus(open, CL_COMPLETE), "clSetUserEventStatus");
    need(clEnqueueMarkerWithWaitList(queues[0], count, events, NULL), "clEnqueueMarkerWithWaitList");
    need(clFinish(queues[0]), "clFinish");
    need(clReleaseEvent(open), "clReleaseEvent");
    for (cl_uint i = 0; i < count; i++) {
        is(buffers[i], i, 14, "behind the gate");
        need(clReleaseEvent(events[i]), "clReleaseEvent");
        need(clReleaseKernel(kernels[i]), "clReleaseKernel");
        need(clReleaseMemObject(buffers[i]), "clReleaseMemObject");
    }
}

/* Launches the same kernel on all devices, with the same arguments. */
static void everywhere(cl_kernel kernel)
{
    cl_mem buffer = zeros();

    set(kernel, buffer, 1);
    for (int turn = 0; turn < 2; turn++) {
        for (cl_uint i = 0; i < count; i++) {
            launch(i, kernel, 0, NULL, NULL);
            need(clFinish(queues[i]), "clFinish");
        }
    }
    is(buffer, 0, (cl_int)(2 * count), "everywhere");
    need(clReleaseMemObject(buffer), "clReleaseMemObject");
}

int main(int argument_count, char **arguments)
{
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, 0, 0};
    cl_platform_id platform;
    cl_program program;
    cl_kernel kernel;
    cl_int status;
    size_t found;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    properties[1] = (cl_context_properties)platform;
    context = clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &status);
    need(status, "clCreateContextFromType");
    need(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, &found), "clGetContextInfo");
    count = (cl_uint)(found / sizeof(*devices));
    for (cl_uint i = 0; i < count; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i], NULL, &status);
        need(status, "clCreateCommandQueueWithProperties");
    }
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(status, "clCreateProgramWithSource");
    need(clBuildProgram(program, count, devices, NULL, NULL, NULL), "clBuildProgram");
    kernel = clCreateKernel(program, "add", &status);
    need(status, "clCreateKernel");
    chain(kernel);
    gate(program);
    everywhere(kernel);
    printf("%u devices\n", count);
    fflush(stdout);
    if (argument_count > 1) {
        poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, atoi(arguments[1]) * 1000);
        return 0;
    }
    need(clReleaseKernel(kernel), "clReleaseKernel");
    need(clReleaseProgram(program), "clReleaseProgram");
    for (cl_uint i = 0; i < count; i++)
        need(clReleaseCommandQueue(queues[i]), "clReleaseCommandQueue");
    need(clReleaseContext(context), "clReleaseContext");
    return 0;
}
