/*
 * An MPI program that uses OpenCL: each rank sums a part of 1 to N on its device, and MPI adds up the parts.
 * usage: mpi_app [first]: "first" uses OpenCL before MPI_Init; otherwise it is used afterwards
 */
#include <CL/cl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1 << 16 };

static const char *source = "kernel void fill(global ulong *data, ulong first)\n"
                            "{\n"
                            "    data[get_global_id(0)] = first + get_global_id(0);\n"
                            "}\n";

static cl_context context;
static cl_command_queue queue;

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(3);
}

static void open_device(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;

    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
}

static cl_ulong sum_part(cl_ulong first)
{
    static cl_ulong data[COUNT];
    const size_t size = COUNT;
    cl_ulong sum = 0;
    cl_program program;
    cl_kernel kernel;
    cl_mem buffer;
    cl_int status;

    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    kernel = clCreateKernel(program, "fill", &status);
    check(status, "clCreateKernel");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(data), NULL, &status);
    check(status, "clCreateBuffer");
    check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof(first), &first), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (size_t i = 0; i < COUNT; i++)
        sum += data[i];
    return sum;
}

int main(int count, char **arguments)
{
    int rank, ranks, early = count > 1 && strcmp(arguments[1], "first") == 0;
    unsigned long long part, sum;

    if (early)
        open_device();
    MPI_Init(&count, &arguments);
    if (!early)
        open_device();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    part = sum_part((cl_ulong)rank * COUNT + 1);
    MPI_Allreduce(&part, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %llu\n", ranks, sum);
    MPI_Finalize();
    return 0;
}
