/*
 * Commands fail because of an event in their wait list while other commands in that list still run, and the program has
 * released all of them: a slow launch, and a marker that waits for the launch and for a user event that is set to an
 * error. Prints how often the values written by the launches were right.
 */
#include "tests/session/moved.h"

enum { ROUNDS = 100 };

static const char source[] = "kernel void slow(global uint *out, uint value) {"
                             "    uint sum = 0;"
                             "    for (uint i = 0; i < 3000000u; i++) sum = sum * 1664525u + i;"
                             "    out[0] = sum == 1u ? 0u : value; }";

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer;

static void prepare(void)
{
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    const char *text = source;
    cl_platform_id platform;
    cl_program program;
    cl_device_id device;
    cl_int status;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    NEED(status);
    queue = clCreateCommandQueueWithProperties(context, device, properties, &status);
    NEED(status);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL, &status);
    NEED(status);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    NEED(status);
    NEED(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
    kernel = clCreateKernel(program, "slow", &status);
    NEED(status);
    NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
}

static cl_uint round_run(cl_uint value)
{
    const size_t one = 1;
    cl_event waited[2], marker = NULL;
    cl_int status;
    cl_uint found;

    waited[0] = clCreateUserEvent(context, &status);
    NEED(status);
    NEED(clSetKernelArg(kernel, 1, sizeof(value), &value));
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, &waited[1]));
    NEED(clEnqueueMarkerWithWaitList(queue, 2, waited, value % 2 ? &marker : NULL));
    NEED(clFlush(queue));
    NEED(clSetUserEventStatus(waited[0], -7));
    if (marker)
        NEED(clReleaseEvent(marker));
    NEED(clReleaseEvent(waited[0]));
    NEED(clWaitForEvents(1, &waited[1]));
    NEED(clReleaseEvent(waited[1]));
    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(found), &found, 0, NULL, NULL));
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
