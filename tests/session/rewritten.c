/*
 * Buffers of which a few are rewritten all the time and the others now and then, until there is a file of the name
 * given; what is in them is what was computed. Each change is followed by one of a small buffer that says what the
 * large ones hold, so at any moment at most one of them has something else. With a second argument it was restored,
 * and looks whether that is so.
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUFFERS = 12, OFTEN = 2, SELDOM = 40, COUNT = 1 << 20, SIZE = COUNT * 4 };

static const char *source = "kernel void add(global int *data, int what) { data[get_global_id(0)] += what; }\n"
                            "kernel void put(global int *said, int which, int what) { said[which] = what; }\n";
static cl_command_queue queue;
static cl_kernel kernel, put;
static cl_mem buffers[BUFFERS], said;
static int wanted[BUFFERS];
static int data[COUNT];

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static void say(cl_int which)
{
    const size_t global = 1;

    need(clSetKernelArg(put, 0, sizeof(cl_mem), &said), "clSetKernelArg");
    need(clSetKernelArg(put, 1, sizeof(which), &which), "clSetKernelArg");
    need(clSetKernelArg(put, 2, sizeof(wanted[which]), &wanted[which]), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queue, put, 1, NULL, &global, NULL, 0, NULL, NULL), "a launch");
}

static void add(int which, cl_int what)
{
    const size_t global = COUNT;

    need(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[which]), "clSetKernelArg");
    need(clSetKernelArg(kernel, 1, sizeof(what), &what), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL), "a launch");
    wanted[which] += what;
    say(which);
}

static void write_over(int which, cl_int what)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = what;
    need(clEnqueueWriteBuffer(queue, buffers[which], CL_TRUE, 0, SIZE, data, 0, NULL, NULL), "a write");
    wanted[which] = what;
    say(which);
}

/* By a map of one of its halves. */
static void write_half(cl_int which, cl_int what)
{
    const size_t half = SIZE / 2;
    cl_int status, *map;

    for (size_t at = 0; at < SIZE; at += half) {
        map = clEnqueueMapBuffer(queue, buffers[which], CL_TRUE, CL_MAP_WRITE, at, half, 0, NULL, NULL, &status);
        need(status, "a map");
        for (size_t i = 0; i < half / sizeof(*map); i++)
            map[i] = what;
        need(clEnqueueUnmapMemObject(queue, buffers[which], map, 0, NULL, NULL), "an unmap");
    }
    wanted[which] = what;
    say(which);
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

/* Of a write one part may be there. */
static int check_restored(void)
{
    int others = 0;

    need(clEnqueueReadBuffer(queue, said, CL_TRUE, 0, sizeof(wanted), wanted, 0, NULL, NULL), "a read");
    for (int which = 0; which < BUFFERS; which++) {
        need(clEnqueueReadBuffer(queue, buffers[which], CL_TRUE, 0, SIZE, data, 0, NULL, NULL), "a read");
        for (int i = 0; i < COUNT; i++) {
            if (data[i] == wanted[which])
                continue;
            printf("buffer %d: element %d is %d, not %d\n", which, i, data[i], wanted[which]);
            others++;
            break;
        }
    }
    puts(others > 1 ? "wrong" : "right");
    return others > 1;
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
    put = clCreateKernel(program, "put", &status);
    need(status, "clCreateKernel");
    said = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(wanted), wanted, &status);
    need(status, "clCreateBuffer");
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, SIZE, data, &status);
        need(status, "clCreateBuffer");
    }
}

int main(int count, char **arguments)
{
    if (count < 2)
        return 99;
    open_device();
    if (count > 2)
        return check_restored();
    puts("ready");
    fflush(stdout);
    for (int round = 0; access(arguments[1], F_OK); round++) {
        const int seldom = OFTEN + round / SELDOM % (BUFFERS - OFTEN);

        add(round % OFTEN, round % 7);
        if (round % SELDOM == 0 && round / SELDOM % 3 == 0)
            write_over(seldom, round);
        else if (round % SELDOM == 0 && round / SELDOM % 3 == 1)
            write_half(seldom, round);
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
