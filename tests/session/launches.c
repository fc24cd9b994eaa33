/* launches N: N launches behind a user event. All seven arguments are set before each launch, two of them to a new
 * value. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

int main(int count, char **words)
{
    const char *source = "kernel void seven(global int *counter, global const int *a, global const int *b, int first,\n"
                         "                  int second, float third, float fourth) {}\n";
    const int launches = count > 1 ? atoi(words[1]) : 1;
    const size_t one = 1;
    cl_platform_id platform;
    cl_device_id device;
    cl_mem buffers[3];
    cl_int status;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "seven", &status);
    for (int i = 0; i < 3; i++)
        buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    cl_event gate = clCreateUserEvent(context, &status);
    need(clEnqueueMarkerWithWaitList(queue, 1, &gate, NULL), "marker");
    for (cl_int i = 0; i < launches; i++) {
        const cl_int minus = -i;
        const cl_float third = 0.5f, fourth = 0.25f;

        for (cl_uint k = 0; k < 3; k++)
            need(clSetKernelArg(kernel, k, sizeof(cl_mem), &buffers[k]), "buffer");
        need(clSetKernelArg(kernel, 3, sizeof(i), &i), "first");
        need(clSetKernelArg(kernel, 4, sizeof(minus), &minus), "second");
        need(clSetKernelArg(kernel, 5, sizeof(third), &third), "third");
        need(clSetKernelArg(kernel, 6, sizeof(fourth), &fourth), "fourth");
        need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), "launch");
    }
    need(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
    need(clFinish(queue), "clFinish");
    return 0;
}
