/*
 * Rewrites a few buffers all the time and the others now and then, until the file named by the first argument exists,
 * and checks their contents. Each change is followed by one of a small buffer that records what the large ones hold, so
 * that at any moment at most one of them has other contents. With a second argument, the program was restored, and
 * checks just that.
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "tests/session/moved.h"

enum { BUFFERS = 12, OFTEN = 2, SELDOM = 40, COUNT = 1 << 20, SIZE = COUNT * 4 };

static const char *source = "kernel void add(global int *data, int what) { data[get_global_id(0)] += what; }\n"
                            "kernel void put(global int *said, int which, int what) { said[which] = what; }\n";
static cl_command_queue queue;
static cl_kernel kernel, put;
static cl_mem buffers[BUFFERS], said;
static int wanted[BUFFERS];
static int data[COUNT];

static void tell(cl_int which)
{
    const size_t global = 1;

    NEED(clSetKernelArg(put, 0, sizeof(cl_mem), &said));
    NEED(clSetKernelArg(put, 1, sizeof(which), &which));
    NEED(clSetKernelArg(put, 2, sizeof(wanted[which]), &wanted[which]));
    NEED(clEnqueueNDRangeKernel(queue, put, 1, NULL, &global, NULL, 0, NULL, NULL));
}

static void add(int which, cl_int what)
{
    const size_t global = COUNT;

    NEED(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[which]));
    NEED(clSetKernelArg(kernel, 1, sizeof(what), &what));
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    wanted[which] += what;
    tell(which);
}

static void write_over(int which, cl_int what)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = what;
    NEED(clEnqueueWriteBuffer(queue, buffers[which], CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    wanted[which] = what;
    tell(which);
}

/* Writes a buffer by maps of its two halves, one after the other. */
static void write_half(cl_int which, cl_int what)
{
    const size_t half = SIZE / 2;
    cl_int status, *map;

    for (size_t at = 0; at < SIZE; at += half) {
        map = clEnqueueMapBuffer(queue, buffers[which], CL_TRUE, CL_MAP_WRITE, at, half, 0, NULL, NULL, &status);
        NEED(status);
        for (size_t i = 0; i < half / sizeof(*map); i++)
            map[i] = what;
        NEED(clEnqueueUnmapMemObject(queue, buffers[which], map, 0, NULL, NULL));
    }
    wanted[which] = what;
    tell(which);
}

static void check(int which)
{
    NEED(clEnqueueReadBuffer(queue, buffers[which], CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
    for (int i = 0; i < COUNT; i++) {
        if (data[i] == wanted[which])
            continue;
        printf("buffer %d: element %d is %d, not %d\n", which, i, data[i], wanted[which]);
        exit(1);
    }
}

/* At most one buffer may differ from its record; it may have been written in part. */
static int check_restored(void)
{
    int others = 0;

    NEED(clEnqueueReadBuffer(queue, said, CL_TRUE, 0, sizeof(wanted), wanted, 0, NULL, NULL));
    for (int which = 0; which < BUFFERS; which++) {
        NEED(clEnqueueReadBuffer(queue, buffers[which], CL_TRUE, 0, SIZE, data, 0, NULL, NULL));
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

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    NEED(status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    NEED(status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    NEED(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    kernel = clCreateKernel(program, "add", &status);
    NEED(status);
    put = clCreateKernel(program, "put", &status);
    NEED(status);
    said = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(wanted), wanted, &status);
    NEED(status);
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, SIZE, data, &status);
        NEED(status);
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
            NEED(clFinish(queue));
        breathe();
    }
    for (int i = 0; i < BUFFERS; i++)
        check(i);
    puts("right");
    return 0;
}
