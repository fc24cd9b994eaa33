/* Buffers of which a few are rewritten all the time and the others now and then, until there is a file of the name
 * given; what is in them is what was computed. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUFFERS = 12, OFTEN = 2, SELDOM = 40, COUNT = 1 << 20, SIZE = COUNT * 4 };

static const char *source = "kernel void add(global int *data, int what) { data[get_global_id(0)] += what; }\n";
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffers[BUFFERS];
static int wanted[BUFFERS];
static int data[COUNT];

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static void add(int which, cl_int what)
{
    const size_t global = COUNT;

    need(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[which]), "clSetKernelArg");
    need(clSetKernelArg(kernel, 1, sizeof(what), &what), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL), "a launch");
    wanted[which] += what;
}

static void write_over(int which, cl_int what)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = what;
    need(clEnqueueWriteBuffer(queue, buffers[which], CL_TRUE, 0, SIZE, data, 0, NULL, NULL), "a write");
    wanted[which] = what;
}

static void check(int which)
{
    need(clEnqueueReadBuffer(queue, buffers[which], CL_TRUE, 0, SIZE, data, 0, NULL, NULL), "a read");
    for (int i = 0; i < COUNT; i++) {
        if (data[i] == wanted[which])
            continue;
        printf("buffer %d: element %d is %d, not %d\n", which, i, data[i], wanted[which]);
        exit(1);
    }
}

static void open_device(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
    cl_int status;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    need(status, "clCreateCommandQueue");
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    kernel = clCreateKernel(program, "add", &status);
    need(status, "clCreateKernel");
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, SIZE, data, &status);
        need(status, "clCreateBuffer");
    }
}

int main(int count, char **arguments)
{
    if (count != 2)
        return 99;
    open_device();
    puts("ready");
    fflush(stdout);
    for (int round = 0; access(arguments[1], F_OK); round++) {
        const int seldom = OFTEN + round / SELDOM % (BUFFERS - OFTEN);

        add(round % OFTEN, round % 7);
        if (round % SELDOM == 0 && round / SELDOM % 3 == 0)
            write_over(seldom, round);
        else if (round % SELDOM == 0)
            add(seldom, 3);
        if (round % 100 == 99)
            check(round / 100 % BUFFERS);
        else if (round % 8 == 7)
            need(clFinish(queue), "clFinish");
    }
    for (int i = 0; i < BUFFERS; i++)
        check(i);
    puts("right");
    return 0;
}
