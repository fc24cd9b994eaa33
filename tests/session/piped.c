/*
 * Pipes as tests/drivers/pipe.c implements them: a kernel writes to a pipe, another one reads it later, and the program
 * sees only sums of the packets. It uses one pipe after the other for a while; with a third argument, one more pipe is
 * written at the beginning and read at the end.
 * usage: piped ROUNDS [PAUSE] [old]
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/session/moved.h"

enum { PACKETS = 16, WORDS = 4, SUMS = 1024 };

static const char *source = "kernel void put(write_only image2d_t packets, int at, uint what)\n"
                            "{\n"
                            "    int i = get_global_id(0);\n"
                            "    write_imageui(packets, (int2)(i, at), (uint4)(what * 7 + i));\n"
                            "}\n"
                            "kernel void get(read_only image2d_t packets, int count, global uint *sums)\n"
                            "{\n"
                            "    uint sum = sums[get_global_id(0)];\n"
                            "    for (int at = 0; at < count; at++)\n"
                            "        sum = sum * 31 + read_imageui(packets, (int2)(get_global_id(0) % 4, at)).x;\n"
                            "    sums[get_global_id(0)] = sum;\n"
                            "}\n";

static cl_context context;
static cl_command_queue queue;
static cl_kernel put, get;
static cl_mem sums;

static void open_all(void)
{
    const cl_uint zero[SUMS] = {0};
    cl_device_id device;
    cl_program program;
    cl_int error;

    open_first(&device, &context, &queue);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    NEED(error);
    NEED(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    put = clCreateKernel(program, "put", &error);
    NEED(error);
    get = clCreateKernel(program, "get", &error);
    NEED(error);
    sums = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(zero), (void *)zero, &error);
    NEED(error);
}

static cl_mem pipe_new(void)
{
    cl_int error;
    cl_mem pipe = clCreatePipe(context, 0, WORDS * 4, PACKETS, NULL, &error);

    NEED(error);
    return pipe;
}

static void run_put(cl_mem pipe, cl_int at, cl_uint what)
{
    NEED(clSetKernelArg(put, 0, sizeof(pipe), &pipe));
    NEED(clSetKernelArg(put, 1, sizeof(at), &at));
    NEED(clSetKernelArg(put, 2, sizeof(what), &what));
    NEED(clEnqueueNDRangeKernel(queue, put, 1, NULL, &(size_t){WORDS}, NULL, 0, NULL, NULL));
}

static void run_get(cl_mem pipe, cl_int count)
{
    NEED(clSetKernelArg(get, 0, sizeof(pipe), &pipe));
    NEED(clSetKernelArg(get, 1, sizeof(count), &count));
    NEED(clSetKernelArg(get, 2, sizeof(sums), &sums));
    NEED(clEnqueueNDRangeKernel(queue, get, 1, NULL, &(size_t){SUMS}, NULL, 0, NULL, NULL));
}

static void print_sums(void)
{
    cl_uint seen[SUMS], sum = 0;

    NEED(clEnqueueReadBuffer(queue, sums, CL_TRUE, 0, sizeof(seen), seen, 0, NULL, NULL));
    for (int i = 0; i < SUMS; i++)
        sum = sum * 31 + seen[i];
    printf("%u\n", sum);
}

int main(int count, char **words)
{
    const int rounds = count > 1 ? atoi(words[1]) : 1, pause = count > 2 ? atoi(words[2]) : 0;
    cl_mem pipe = NULL, old = NULL;

    open_all();
    if (count > 3) {
        old = pipe_new();
        for (int at = 0; at < PACKETS; at++)
            run_put(old, at, (cl_uint)at * 1000);
    }
    for (int round = 0; round < rounds; round++) {
        const int at = round % PACKETS;

        if (!pipe)
            pipe = pipe_new();
        run_put(pipe, at, (cl_uint)round);
        run_get(pipe, at + 1);
        if (at % 5 == 4)
            print_sums();
        usleep((useconds_t)pause);
        if (at < PACKETS - 1)
            continue;
        NEED(clReleaseMemObject(pipe));
        pipe = NULL;
        if (round / PACKETS % 2)
            usleep(20000); /* there is no pipe meanwhile */
    }
    if (old)
        run_get(old, PACKETS);
    print_sums();
    return 0;
}
