/* A context of two workers, either of which may be lost after a snapshot of each. For each line on stdin the program
 * does its next step and checks its buffers. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 65536, SIZE = COUNT * 4 };

static const char *source = "kernel void add(global int *data, int what) { data[get_global_id(0)] += what; }\n"
                            "kernel void copy(global int *to, global const int *from)\n"
                            "{\n"
                            "    to[get_global_id(0)] = from[get_global_id(0)];\n"
                            "}\n";
static cl_context context;
static cl_command_queue queues[2];
static cl_kernel adds, copies;

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static cl_mem new_buffer(void)
{
    static int ones[COUNT];
    cl_int status;
    cl_mem buffer;

    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, SIZE, ones, &status);
    need(status, "clCreateBuffer");
    return buffer;
}

static void run(int which, cl_kernel kernel)
{
    const size_t global = COUNT;

    need(clEnqueueNDRangeKernel(queues[which], kernel, 1, NULL, &global, NULL, 0, NULL, NULL), "a launch");
    need(clFinish(queues[which]), "clFinish");
}

static void add(int which, cl_mem buffer, cl_int what)
{
    need(clSetKernelArg(adds, 0, sizeof(buffer), &buffer), "clSetKernelArg");
    need(clSetKernelArg(adds, 1, sizeof(what), &what), "clSetKernelArg");
    run(which, adds);
}

static void copy(int which, cl_mem to, cl_mem from)
{
    need(clSetKernelArg(copies, 0, sizeof(to), &to), "clSetKernelArg");
    need(clSetKernelArg(copies, 1, sizeof(from), &from), "clSetKernelArg");
    run(which, copies);
}

static void check(int which, cl_mem buffer, int wanted, const char *what)
{
    static int data[COUNT];

    need(clEnqueueReadBuffer(queues[which], buffer, CL_TRUE, 0, SIZE, data, 0, NULL, NULL), what);
    for (int i = 0; i < COUNT; i++) {
        if (data[i] == wanted)
            continue;
        printf("%s: element %d is %d, not %d\n", what, i, data[i], wanted);
        exit(1);
    }
}

static void stage(const char *name)
{
    puts(name);
    fflush(stdout);
    if (getchar() == EOF)
        exit(1);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id devices[2];
    cl_mem each[2], one, other, to;
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
    adds = clCreateKernel(program, "add", &status);
    copies = clCreateKernel(program, "copy", &status);
    for (int i = 0; i < 2; i++)
        each[i] = new_buffer();
    one = new_buffer();
    other = new_buffer();
    to = new_buffer();
    for (int i = 0; i < 2; i++)
        add(i, each[i], 1);
    stage("begun");

    /* The second worker's snapshot comes after the first one's. */
    add(1, one, 4);
    add(0, each[0], 1);
    stage("the second has written");
    check(1, one, 5, "what the second wrote");

    add(1, other, 6);
    add(0, each[0], 1);
    stage("the second has written again");
    copy(0, to, other);
    add(1, each[1], 1);
    stage("the first has got it");
    copy(0, to, other);
    check(0, to, 7, "what the first got");
    check(0, each[0], 4, "the first's");
    check(1, each[1], 3, "the second's");
    puts("right");
    return 0;
}
