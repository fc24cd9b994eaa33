/* A context of two workers, of which the second is killed once this program has printed "ready"; a line on stdin says
 * that this is done. "survivor close": the program then closes all descriptors that it does not know, by which it may
 * lose the second worker. What the first worker has continues; commands that need the second fail, and none blocks for
 * ever. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 65536, SIZE = COUNT * 4 };

static const char *source = "kernel void add(global int *data, int what) { data[get_global_id(0)] += what; }\n";
static int failures;
static cl_kernel kernel;
static const size_t global = COUNT;

static void want(const char *what, int holds)
{
    if (holds)
        return;
    printf("%s\n", what);
    failures++;
}

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static cl_int add(cl_command_queue queue, cl_mem buffer, cl_int what, cl_uint count, const cl_event *wait,
                  cl_event *event)
{
    clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
    clSetKernelArg(kernel, 1, sizeof(what), &what);
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, count, wait, event);
}

int main(int count, char **arguments)
{
    static int zeroes[COUNT], data[COUNT];
    cl_platform_id platform;
    cl_device_id devices[2];
    cl_command_queue queues[2];
    cl_mem kept, lost;
    cl_event gate, stuck, behind;
    cl_context context;
    cl_program program;
    cl_int status;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 2, devices, NULL, NULL, &status);
    need(status, "clCreateContext");
    for (int i = 0; i < 2; i++)
        queues[i] = clCreateCommandQueue(context, devices[i], 0, &status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    kernel = clCreateKernel(program, "add", &status);
    kept = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, SIZE, zeroes, &status);
    lost = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, SIZE, zeroes, &status);
    need(add(queues[1], kept, 1, 0, NULL, NULL), "on the second");
    need(clFinish(queues[1]), "clFinish");
    need(add(queues[0], kept, 2, 0, NULL, NULL), "on the first");
    need(add(queues[1], lost, 4, 0, NULL, NULL), "on the second");
    need(clFinish(queues[0]), "clFinish");
    need(clFinish(queues[1]), "clFinish");
    gate = clCreateUserEvent(context, &status);
    need(clEnqueueMarkerWithWaitList(queues[1], 1, &gate, &stuck), "a marker on the second");
    need(clEnqueueMarkerWithWaitList(queues[0], 1, &stuck, &behind), "a marker behind it on the first");
    clFlush(queues[0]);
    clFlush(queues[1]);

    puts("ready");
    fflush(stdout);
    getchar();
    if (count > 1 && !strcmp(arguments[1], "close"))
        closefrom(3);

    want("what waits for the lost worker does not fail", clWaitForEvents(1, &behind) != CL_SUCCESS);
    want("the lost worker's event does not fail", clWaitForEvents(1, &stuck) != CL_SUCCESS);
    clSetUserEventStatus(gate, CL_COMPLETE);
    want("the lost worker's queue goes on", clFinish(queues[1]) != CL_SUCCESS);
    want("what only it had is read", clEnqueueReadBuffer(queues[0], lost, CL_TRUE, 0, SIZE, data, 0, NULL, NULL) != 0);
    want("the other queue fails", add(queues[0], kept, 8, 0, NULL, NULL) == CL_SUCCESS);
    want("what the other has is not read",
         clEnqueueReadBuffer(queues[0], kept, CL_TRUE, 0, SIZE, data, 0, NULL, NULL) == CL_SUCCESS);
    for (int i = 0; i < COUNT; i++) {
        if (data[i] == 11)
            continue;
        printf("element %d is %d\n", i, data[i]);
        return 1;
    }
    return failures > 0;
}
