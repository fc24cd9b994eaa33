/*
 * Uses command buffers until FILE exists: one runs again and again, and its kernel and sub-buffer are already released;
 * another is recorded meanwhile. Prints whether the results are as expected.
 * usage: moved_commands FILE. Status 77: the device has no command buffers
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cl_ext.h"
#include "tests/parity/parity.h"
#include "tests/session/moved.h"

enum { ITEMS = 4096, SIZE = ITEMS * 4, RECORDED = 24 };

static const char *source = "kernel void add(global uint *data, uint by) { data[get_global_id(0)] += by; }\n";

static cl_platform_id platform;
static cl_context context;
static cl_command_queue queue;
static cl_program program;

#define FUNCTION(name) static name##_fn name##_
FUNCTION(clCreateCommandBufferKHR);
FUNCTION(clFinalizeCommandBufferKHR);
FUNCTION(clReleaseCommandBufferKHR);
FUNCTION(clEnqueueCommandBufferKHR);
FUNCTION(clCommandCopyBufferKHR);
FUNCTION(clCommandNDRangeKernelKHR);

static void find_functions(void)
{
#define FIND(name) name##_ = (name##_fn)clGetExtensionFunctionAddressForPlatform(platform, #name)
    FIND(clCreateCommandBufferKHR);
    FIND(clFinalizeCommandBufferKHR);
    FIND(clReleaseCommandBufferKHR);
    FIND(clEnqueueCommandBufferKHR);
    FIND(clCommandCopyBufferKHR);
    FIND(clCommandNDRangeKernelKHR);
    if (!clCommandNDRangeKernelKHR_)
        exit(77);
}

static cl_command_buffer_khr new_buffer(void)
{
    cl_int error;
    cl_command_buffer_khr buffer = clCreateCommandBufferKHR_(1, &queue, NULL, &error);

    NEED(error);
    return buffer;
}

/* Records a launch that adds by; only the command buffer retains its kernel. */
static cl_sync_point_khr record_add(cl_command_buffer_khr buffer, cl_mem memory, cl_uint by, cl_sync_point_khr after)
{
    const size_t items = ITEMS;
    cl_sync_point_khr point;
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, "add", &error);

    NEED(error);
    NEED(clSetKernelArg(kernel, 0, sizeof(memory), &memory));
    NEED(clSetKernelArg(kernel, 1, sizeof(by), &by));
    NEED(clCommandNDRangeKernelKHR_(buffer, NULL, NULL, kernel, 1, NULL, &items, NULL, after ? 1 : 0,
                                    after ? &after : NULL, &point, NULL));
    NEED(clReleaseKernel(kernel));
    return point;
}

static void expect(cl_mem memory, cl_uint value, const char *what)
{
    static cl_uint data[ITEMS];

    NEED(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    for (int i = 0; i < ITEMS; i++) {
        if (data[i] != value) {
            printf("%s: %u at %d, not %u\n", what, data[i], i, value);
            exit(1);
        }
    }
    printf("%s: right\n", what);
}

static cl_mem new_memory(size_t size)
{
    const cl_uint zero = 0;
    cl_int error;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &error);

    NEED(error);
    NEED(clEnqueueFillBuffer(queue, memory, &zero, sizeof(zero), 0, size, 0, NULL, NULL));
    return memory;
}

static void open_all(void)
{
    cl_device_id device;
    cl_int error;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    find_functions();
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    NEED(error);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    NEED(error);
    if (!parity_records(queue))
        exit(77);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    NEED(error);
    NEED(clBuildProgram(program, 0, NULL, "", NULL, NULL));
}

int main(int count, char **words)
{
    const cl_buffer_region region = {SIZE, SIZE};
    cl_command_buffer_khr again, meanwhile;
    cl_mem whole, inner, copy, slowly;
    cl_sync_point_khr point;
    cl_uint steps = 0, recorded = 0;
    cl_int error;

    open_all();
    whole = new_memory(2 * SIZE);
    copy = new_memory(SIZE);
    slowly = new_memory(SIZE);
    inner = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    NEED(error);
    again = new_buffer();
    meanwhile = new_buffer();
    point = record_add(again, inner, 2, 0);
    point = record_add(again, inner, 5, point);
    NEED(clCommandCopyBufferKHR_(again, NULL, RECORD_NO_PROPERTIES whole, copy, SIZE, 0, SIZE, 1, &point, NULL, NULL));
    NEED(clFinalizeCommandBufferKHR_(again));
    NEED(clReleaseMemObject(inner));
    point = 0;
    puts("ready");
    fflush(stdout);
    for (; access(count > 1 ? words[1] : "/", F_OK) || recorded < RECORDED; steps++) {
        const struct timespec pause = {0, 2000000};

        NEED(clEnqueueCommandBufferKHR_(0, NULL, again, 0, NULL, NULL));
        NEED(clFinish(queue));
        if (steps % 8 == 0 && recorded < RECORDED)
            point = record_add(meanwhile, slowly, ++recorded, point);
        nanosleep(&pause, NULL);
    }
    NEED(clFinalizeCommandBufferKHR_(meanwhile));
    NEED(clEnqueueCommandBufferKHR_(0, NULL, meanwhile, 0, NULL, NULL));
    NEED(clFinish(queue));
    expect(copy, 7 * steps, "run again and again");
    expect(slowly, RECORDED * (RECORDED + 1) / 2, "recorded meanwhile");
    NEED(clReleaseCommandBufferKHR_(again));
    NEED(clReleaseCommandBufferKHR_(meanwhile));
    return 0;
}
