/*
 * moved_writes TIMES [FILE]: writes a large buffer with a blocking call, and then reads it and compares several times;
 * does this TIMES times, and on until FILE exists. A session that moves meanwhile sometimes meets the write, and copies
 * the buffer before the next one.
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <string.h>

#include "tests/session/moved.h"

enum { SIZE = 24 << 20, READS = 6 };

int main(int count, char **arguments)
{
    static unsigned char bytes[SIZE], wanted[SIZE];
    cl_command_queue queue;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_mem buffer;
    cl_int status;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    NEED(status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    NEED(status);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    NEED(status);
    for (int time = 1; time <= (count > 1 ? atoi(arguments[1]) : 10) || (count > 2 && access(arguments[2], F_OK));
         time++) {
        memset(wanted, time, SIZE);
        NEED(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, wanted, 0, NULL, NULL));
        for (int i = 0; i < READS; i++) {
            NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, bytes, 0, NULL, NULL));
            if (!memcmp(bytes, wanted, SIZE))
                continue;
            printf("time %d, read %d: it has not what was written\n", time, i);
            exit(1);
        }
    }
    puts("all right");
    return 0;
}
