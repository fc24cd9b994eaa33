/* Runs a kernel on every device, each in a context of its own, and then prints the number of devices. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 4096, MOST = 16 };

static const char *source = "kernel void set(global int *data, int what)\n"
                            "{\n"
                            "    data[get_global_id(0)] = what + get_global_id(0);\n"
                            "}\n";

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(3);
}

static void work(cl_device_id device, cl_int what)
{
    static cl_int data[COUNT];
    const size_t size = COUNT;
    cl_int status;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(data), NULL, &status);
    cl_kernel kernel;

    need(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    kernel = clCreateKernel(program, "set", &status);
    need(status, "clCreateKernel");
    need(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
    need(clSetKernelArg(kernel, 1, sizeof(what), &what), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (cl_int i = 0; i < COUNT; i++) {
        if (data[i] != what + i) {
            printf("device %d: %d at %d\n", what, data[i], i);
            exit(4);
        }
    }
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

int main(void)
{
    cl_device_id devices[MOST];
    cl_platform_id platform;
    cl_uint count;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &count), "clGetDeviceIDs");
    for (cl_uint i = 0; i < count; i++)
        work(devices[i], (cl_int)i);
    printf("%u devices\n", count);
    return 0;
}
