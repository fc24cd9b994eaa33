/*
 * Uses sub-devices until FILE exists: all but the first, which is released at once, and others that are created and
 * released meanwhile. Compares the results.
 * usage: moved_parts FILE
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/session/moved.h"

enum { ITEMS = 1024, SIZE = ITEMS * 4, MOST = 64 };

static const char *source = "kernel void add(global uint *data, uint by) { data[get_global_id(0)] += by; }\n";

static cl_uint divide(cl_device_id device, cl_device_id *parts)
{
    const cl_device_partition_property properties[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_uint count;

    NEED(clCreateSubDevices(device, properties, MOST, parts, &count));
    return count;
}

static void step(cl_command_queue queue, cl_kernel kernel, cl_mem memory, cl_uint by)
{
    const size_t items = ITEMS;

    NEED(clSetKernelArg(kernel, 0, sizeof(memory), &memory));
    NEED(clSetKernelArg(kernel, 1, sizeof(by), &by));
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    NEED(clFinish(queue));
}

int main(int count, char **words)
{
    const cl_uint zero = 0;
    cl_device_id device, parts[MOST], others[MOST], parent;
    cl_uint data[ITEMS], part_count, steps = 0, units;
    cl_platform_id platform;
    cl_command_queue queue;
    cl_context context;
    cl_program program;
    cl_kernel kernel;
    cl_mem memory;
    cl_int error;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    NEED(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL));
    if (units < 2)
        return 77;
    part_count = divide(device, parts);
    NEED(clReleaseDevice(parts[0]));
    context = clCreateContext(NULL, part_count - 1, parts + 1, NULL, NULL, &error);
    NEED(error);
    queue = clCreateCommandQueueWithProperties(context, parts[part_count - 1], NULL, &error);
    NEED(error);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    NEED(error);
    NEED(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    kernel = clCreateKernel(program, "add", &error);
    NEED(error);
    memory = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &error);
    NEED(error);
    NEED(clEnqueueFillBuffer(queue, memory, &zero, sizeof(zero), 0, SIZE, 0, NULL, NULL));
    puts("ready");
    fflush(stdout);
    for (; access(count > 1 ? words[1] : "/", F_OK); steps++) {
        const cl_uint other_count = divide(device, others);

        step(queue, kernel, memory, 3);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        for (cl_uint i = 0; i < other_count; i++)
            NEED(clReleaseDevice(others[(i + steps) % other_count]));
    }
    NEED(clGetDeviceInfo(parts[1], CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL));
    NEED(clGetDeviceInfo(parts[1], CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL));
    NEED(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    for (int i = 0; i < ITEMS; i++) {
        if (data[i] != 3 * steps) {
            printf("%u at %d, not %u\n", data[i], i, 3 * steps);
            return 1;
        }
    }
    printf("right, %u units of %s\n", units, parent == device ? "the device" : "another");
    return 0;
}
