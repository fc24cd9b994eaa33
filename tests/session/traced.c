/*
 * traced ROUNDS [kill SECONDS | until FILE]: a program of which every call can be counted. On each of two queues, in a
 * thread of its own: ROUNDS times a write of 4096 bytes, a launch, and a read of 4 bytes; writes and reads block. Then
 * clFinish, once for each queue. With "kill" it kills itself SECONDS later; with "until" it repeats all of this, and
 * prints "again", until FILE exists.
 */
#define _GNU_SOURCE
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BYTES 4096

static int rounds;
static cl_context context;
static cl_program program;
static cl_device_id devices[8];
static cl_uint device_count;

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static void *work(void *argument)
{
    const size_t items = BYTES / sizeof(cl_int);
    cl_device_id device = devices[argument && device_count > 1];
    cl_int status, value, data[BYTES / sizeof(cl_int)] = {1, 2, 3};
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    cl_kernel kernel = clCreateKernel(program, argument ? "twice" : "thrice", &status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status);

    need(status, "buffer");
    need(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "argument");
    for (int i = 0; i < rounds; i++) {
        need(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, BYTES, data, 0, NULL, NULL), "write");
        need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "launch");
        need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 4, sizeof(value), &value, 0, NULL, NULL), "read");
        if (value != (argument ? 4 : 6))
            need(1, "a wrong value");
    }
    need(clFinish(queue), "finish");
    return NULL;
}

int main(int count, char **words)
{
    const char *source = "kernel void twice(global int *data) { data[get_global_id(0)] *= 2; }\n"
                         "kernel void thrice(global int *data) { data[get_global_id(0)] *= 3; }\n";
    const char *then = count > 2 ? words[2] : "";
    cl_platform_id platform;
    pthread_t thread;
    cl_int status;

    rounds = count > 1 ? atoi(words[1]) : 1;
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, devices, &device_count), "clGetDeviceIDs");
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    need(status, "context");
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "build");
    do {
        pthread_create(&thread, NULL, work, "other");
        pthread_setname_np(thread, "other");
        pthread_join(thread, NULL);
        work(NULL);
        if (!strcmp(then, "until")) {
            puts("again");
            fflush(stdout);
            nanosleep(&(struct timespec){0, 100000000}, NULL);
        }
    } while (!strcmp(then, "until") && access(words[3], F_OK));
    if (!strcmp(then, "kill")) {
        sleep((unsigned)atoi(words[3]));
        kill(getpid(), SIGKILL);
    }
    return 0;
}
