/*
 * Adds two vectors on the first OpenCL device and checks the sum. Plain OpenCL, except for a query that other platforms
 * do not answer: on which host the device is.
 *
 *     cc vector_add.c -lOpenCL -o vector_add
 *     ./vector_add               on a device of this machine
 *     vocl run -- ./vector_add   on a device that VOCL finds
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 20 };

static const char *source = "kernel void add(global const float *a, global const float *b, global float *sum)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    sum[i] = a[i] + b[i];\n"
                            "}\n";

/* Gets the device's host, which only VOCL can tell. */
static void device_host(cl_platform_id platform, cl_device_id device, size_t size, char *host)
{
    cl_int (*get_host)(cl_device_id device, size_t size, char *value, size_t *size_ret);

    *host = '\0';
    *(void **)&get_host = clGetExtensionFunctionAddressForPlatform(platform, "voclGetDeviceHost");
    if (get_host)
        get_host(device, size, host, NULL);
}

static void check(cl_int status, const char *call)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s failed: error %d\n", call, status);
        exit(1);
    }
}

int main(void)
{
    static float a[COUNT], b[COUNT], sum[COUNT];
    size_t bytes = sizeof(a), count = COUNT;
    char name[256], host[256];
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;

    for (int i = 0; i < COUNT; i++) {
        a[i] = i;
        b[i] = COUNT - i;
    }

    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    check(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL), "clGetDeviceInfo");
    device_host(platform, device, sizeof(host), host);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");

    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "add", &status);
    check(status, "clCreateKernel");

    cl_mem buffer_a = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, a, &status);
    check(status, "clCreateBuffer");
    cl_mem buffer_b = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, b, &status);
    check(status, "clCreateBuffer");
    cl_mem buffer_sum = clCreateBuffer(context, CL_MEM_WRITE_ONLY, bytes, NULL, &status);
    check(status, "clCreateBuffer");

    check(clSetKernelArg(kernel, 0, sizeof(buffer_a), &buffer_a), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof(buffer_b), &buffer_b), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, sizeof(buffer_sum), &buffer_sum), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, buffer_sum, CL_TRUE, 0, bytes, sum, 0, NULL, NULL), "clEnqueueReadBuffer");

    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += sum[i] != COUNT;
    printf("device: %s%s%s\n", name, *host ? ", on " : "", host);
    printf("%d additions, %d wrong\n", COUNT, wrong);

    clReleaseMemObject(buffer_sum);
    clReleaseMemObject(buffer_b);
    clReleaseMemObject(buffer_a);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return wrong != 0;
}
