/*
 * MPI on device memory: each rank has a row of numbers on its device, and in each step a kernel adds its neighbours'
 * edges to its own. MPI gets the device's addresses, as if they were the host's:
 *
 *     mpiexec -n 4 examples/devcom_mpi [STEPS]
 *
 * The program is linked with libxtqmpi, before its MPI. See xtqmpi.h.
 */
#include <CL/cl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtqmpi.h"

enum { LENGTH = 1 << 16 };

static const char source[] = "kernel void meet(global float *row, int last)\n"
                             "{\n"
                             "    size_t i = get_global_id(0) + 1;\n"
                             "    if (i == 1)\n"
                             "        row[i] = 0.5f * (row[i] + row[0]);\n"
                             "    if (i == last)\n"
                             "        row[i] = 0.5f * (row[i] + row[i + 1]);\n"
                             "}\n"
                             "kernel void sum(global const float *row, global double *sum, int last)\n"
                             "{\n"
                             "    double s = 0;\n"
                             "    for (int i = 1; i <= last; i++)\n"
                             "        s += row[i];\n"
                             "    *sum = s;\n"
                             "}\n";

static void must(int bad, const char *what)
{
    if (bad) {
        fprintf(stderr, "%s: %d\n", what, bad);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int count, char **words)
{
    const int last = LENGTH, steps = count > 1 ? atoi(words[1]) : 100;
    const size_t items = LENGTH, one = 1;
    const char *text = source;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue commands;
    cl_program program;
    cl_kernel meet, sum;
    cl_mem row, sums;
    float *at; /* only MPI may access it */
    double *sum_at, total = 0;
    float first;
    void *address;
    int rank, size, before, after, status;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    before = rank ? rank - 1 : MPI_PROC_NULL;
    after = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

    must(clGetPlatformIDs(1, &platform, NULL), "platform");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status, "context");
    commands = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    must(status, "queue");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    must(status, "program");
    must(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "build");
    meet = clCreateKernel(program, "meet", &status);
    must(status, "kernel");
    sum = clCreateKernel(program, "sum", &status);
    must(status, "kernel");
    row = clCreateBuffer(context, CL_MEM_READ_WRITE, (LENGTH + 2) * sizeof(float), NULL, &status);
    must(status, "buffer");
    sums = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(double), NULL, &status);
    must(status, "buffer");

    must(xtqmpi_device_address(commands, row, &address), "address");
    at = address;
    must(xtqmpi_device_address(commands, sums, &address), "address");
    sum_at = address;

    first = (float)rank;
    must(clEnqueueFillBuffer(commands, row, &first, sizeof(first), 0, (LENGTH + 2) * sizeof(float), 0, NULL, NULL),
         "fill");
    must(clSetKernelArg(meet, 0, sizeof(row), &row) || clSetKernelArg(meet, 1, sizeof(last), &last) ||
             clSetKernelArg(sum, 0, sizeof(row), &row) || clSetKernelArg(sum, 1, sizeof(sums), &sums) ||
             clSetKernelArg(sum, 2, sizeof(last), &last),
         "arguments");
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[4];
        MPI_Status statuses[4];

        /* the previous kernel is in the queue that the copies use, so no wait is needed */
        MPI_Irecv(at, 1, MPI_FLOAT, before, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(at + LENGTH + 1, 1, MPI_FLOAT, after, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(at + 1, 1, MPI_FLOAT, before, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(at + LENGTH, 1, MPI_FLOAT, after, 0, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, statuses);
        must(clEnqueueNDRangeKernel(commands, meet, 1, NULL, &items, NULL, 0, NULL, NULL), "meet");
    }
    must(clEnqueueNDRangeKernel(commands, sum, 1, NULL, &one, NULL, 0, NULL, NULL), "sum");
    MPI_Allreduce(sum_at, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d steps: %.6f on average\n", size, steps, total / LENGTH / size);

    must(xtqmpi_device_release(at), "release");
    must(xtqmpi_device_release(sum_at), "release");
    clReleaseMemObject(row);
    clReleaseMemObject(sums);
    clReleaseKernel(meet);
    clReleaseKernel(sum);
    clReleaseProgram(program);
    clReleaseCommandQueue(commands);
    clReleaseContext(context);
    MPI_Finalize();
    return 0;
}
