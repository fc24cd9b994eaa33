/*
 * Commands that fail for what they wait for while others that they wait for still run, and of which the program keeps
 * nothing: a slow launch, and a marker that waits for it and for a user event that is set to an error. Says how often
 * the values written by the launches were right.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 100 };

static const char source[] = "kernel void slow(global uint *out, uint value) {"
                             "    uint sum = 0;"
                             "    for (uint i = 0; i < 3000000u; i++) sum = sum * 1664525u + i;"
                             "    out[0] = sum == 1u ? 0u : value; }";

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static void prepare(void)
{
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    const char *text = source;
    cl_platform_id platform;
    cl_program program;
    cl_device_id device;
    cl_int status;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, device, properties, &status);
    need(status, "clCreateCommandQueueWithProperties");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &status);
    need(status, "clCreateBuffer");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    need(status, "clCreateProgramWithSource");
    need(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
    kernel = clCreateKernel(program, "slow", &status);
    need(status, "clCreateKernel");
    need(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
}

static cl_uint round_run(cl_uint value)
{
    const size_t one = 1;
    cl_event waited[2], marker = NULL;
    cl_int status;
    cl_uint found;

    waited[0] = clCreateUserEvent(context, &status);
    need(status, "clCreateUserEvent");
    need(clSetKernelArg(kernel, 1, sizeof(value), &value), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, &waited[1]), "clEnqueueNDRangeKernel");
    need(clEnqueueMarkerWithWaitList(queue, 2, waited, value % 2 ? &marker : NULL), "clEnqueueMarkerWithWaitList");
    need(clFlush(queue), "clFlush");
    need(clSetUserEventStatus(waited[0], -7), "clSetUserEventStatus");
    if (marker)
        need(clReleaseEvent(marker), "clReleaseEvent");
    need(clReleaseEvent(waited[0]), "clReleaseEvent");
    need(clWaitForEvents(1, &waited[1]), "clWaitForEvents");
    need(clReleaseEvent(waited[1]), "clReleaseEvent");
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(found), &found, 0, NULL, NULL), "clEnqueueReadBuffer");
    return found;
}

int main(void)
{
    unsigned right = 0;

    prepare();
    for (cl_uint i = 0; i < ROUNDS; i++)
        right += round_run(i) == i;
    printf("%u right\n", right);
    return right != ROUNDS;
}
