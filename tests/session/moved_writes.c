/*
 * moved_writes TIMES [FILE]: a large buffer is written by a blocking call, and then read and compared for a while; so
 * often, and on until there is such a file. A session that moves meanwhile finds it being written once in a while, and
 * takes it before it is written again.
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 24 << 20, READS = 6 };

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

int main(int count, char **arguments)
{
    static unsigned char bytes[SIZE], wanted[SIZE];
    cl_command_queue queue;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_mem buffer;
    cl_int status;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    need(status, "clCreateCommandQueue");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    need(status, "clCreateBuffer");
    for (int time = 1; time <= (count > 1 ? atoi(arguments[1]) : 10) || (count > 2 && access(arguments[2], F_OK));
         time++) {
        memset(wanted, time, SIZE);
        need(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, wanted, 0, NULL, NULL), "write");
        for (int i = 0; i < READS; i++) {
            need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, bytes, 0, NULL, NULL), "read");
            if (!memcmp(bytes, wanted, SIZE))
                continue;
            printf("time %d, read %d: it has not what was written\n", time, i);
            exit(1);
        }
    }
    puts("all right");
    return 0;
}
