/* brief [event]: exits right after it has enqueued launches, without finishing or releasing anything. With "event", the
 * launches wait for a user event that is never set. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>

int main(int count, char **words)
{
    const char *source = "kernel void fill(global int *data, int n) {\n"
                         "    for (int i = 0; i < n; i++) data[get_global_id(0)] += i; }\n";
    const size_t items = 4096;
    const cl_int rounds = 1000;
    cl_platform_id platform;
    cl_device_id device = NULL;
    cl_int status = clGetPlatformIDs(1, &platform, NULL);
    cl_context context;
    cl_program program;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem buffer;
    cl_event event = NULL;

    (void)words;
    status = status ? status : clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    status = clBuildProgram(program, 0, NULL, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, &status);
    kernel = clCreateKernel(program, "fill", &status);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, items * sizeof(cl_int), NULL, &status);
    if (count > 1)
        event = clCreateUserEvent(context, &status);
    clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
    clSetKernelArg(kernel, 1, sizeof(rounds), &rounds);
    for (int i = 0; i < 8 && !status; i++)
        status =
            clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, event != NULL, event ? &event : NULL, NULL);
    clFlush(queue);
    printf("%d\n", status);
    return status != CL_SUCCESS;
}
