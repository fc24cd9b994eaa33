/*
 * burn SECONDS [IDLE [MIB]]: launches kernels for so long, many at a time, and prints how many ran. With IDLE it then
 * sleeps for so many seconds, its session open and a buffer of so many MiB with it.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call) check((call), #call)

enum { AT_A_TIME = 16 };

static const char *source = "kernel void burn(global float *to, int times)\n"
                            "{\n"
                            "    float sum = get_global_id(0);\n"
                            "    for (int i = 0; i < times; i++)\n"
                            "        sum = sum * 0.999f + 1;\n"
                            "    to[get_global_id(0)] = sum;\n"
                            "}\n";

static void check(cl_int status, const char *call)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", call, status);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    const double seconds = count > 1 ? atof(words[1]) : 1;
    const size_t size = 4096, more = count > 3 ? (size_t)atol(words[3]) << 20 : 1;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status, times = 3000;
    long launches = 0;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    CHECK(status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "burn", &status);
    CHECK(status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size * sizeof(float), NULL, &status);
    CHECK(status);
    cl_mem ballast = clCreateBuffer(context, CL_MEM_READ_WRITE, more, NULL, &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    CHECK(clSetKernelArg(kernel, 1, sizeof(times), &times));
    for (double end = now() + seconds; now() < end; launches += AT_A_TIME) {
        for (int i = 0; i < AT_A_TIME; i++)
            CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
        CHECK(clFinish(queue));
    }
    printf("%ld\n", launches);
    fflush(stdout);
    if (count > 2)
        sleep((unsigned)atoi(words[2]));
    CHECK(clReleaseMemObject(ballast));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
    return 0;
}
