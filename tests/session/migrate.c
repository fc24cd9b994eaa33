/* Writes 64 MiB on one device, migrates them to the next device, and sums them up there in four bytes, which it
 * prints. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 16 << 20 };

static const char *source = "kernel void make(global uint *data) { data[get_global_id(0)] = get_global_id(0) * 7; }\n"
                            "kernel void look(global const uint *data, global uint *sum, uint count)\n"
                            "{\n"
                            "    uint all = 0;\n"
                            "    for (uint i = 0; i < count; i++)\n"
                            "        all += data[i];\n"
                            "    *sum = all;\n"
                            "}\n";

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id devices[2];
    cl_uint found, count = COUNT, sum = 0;
    cl_command_queue queues[2];
    cl_int status;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &found), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, found < 2 ? 1 : 2, devices, NULL, NULL, &status);
    need(status, "clCreateContext");
    for (cl_uint i = 0; i < 2; i++)
        queues[i] = clCreateCommandQueue(context, devices[found < 2 ? 0 : i], 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    cl_kernel make = clCreateKernel(program, "make", &status), look = clCreateKernel(program, "look", &status);
    cl_mem data = clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * 4, NULL, &status);
    cl_mem result = clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, &status);
    cl_event made;
    need(clSetKernelArg(make, 0, sizeof(data), &data), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queues[0], make, 1, NULL, (size_t[]){COUNT}, NULL, 0, NULL, &made), "make");
    need(clEnqueueMigrateMemObjects(queues[1], 1, &data, 0, 1, &made, NULL), "migrate");
    need(clSetKernelArg(look, 0, sizeof(data), &data), "clSetKernelArg");
    need(clSetKernelArg(look, 1, sizeof(result), &result), "clSetKernelArg");
    need(clSetKernelArg(look, 2, sizeof(count), &count), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queues[1], look, 1, NULL, (size_t[]){1}, NULL, 0, NULL, NULL), "look");
    need(clEnqueueReadBuffer(queues[1], result, CL_TRUE, 0, 4, &sum, 0, NULL, NULL), "read");
    printf("%u\n", sum);
    need(clReleaseEvent(made), "release");
    return 0;
}
