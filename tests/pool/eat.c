/*
 * eat MIB [wait]: buffers of 16 MiB, each filled by the device, until there is an error or so many MiB; prints "ate N
 * MiB, then ERROR" (0: none). wait: says "ready" before that, when it has a session, and begins when standard input
 * ends. Then it gives all back and prints what a small buffer gets: "after: ERROR".
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cl_int check_status = (call);                                                                                  \
        if (check_status) {                                                                                            \
            printf("%s: %d\n", #call, check_status);                                                                   \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

enum { PIECE = 16 << 20, MOST = 1024 };

static cl_int eat(cl_context context, cl_command_queue queue, size_t bytes, cl_mem *buffer)
{
    const cl_int pattern = 0x5a5a5a5a;
    cl_int status;

    *buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    if (!status)
        status = clEnqueueFillBuffer(queue, *buffer, &pattern, sizeof(pattern), 0, bytes, 0, NULL, NULL);
    return status ? status : clFinish(queue);
}

int main(int count, char **words)
{
    const int most = count > 1 ? atoi(words[1]) >> 4 : 1;
    cl_mem buffers[MOST], small = NULL;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status = CL_SUCCESS;
    int eaten = 0;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    CHECK(status);
    CHECK(eat(context, queue, 4096, &small));
    CHECK(clReleaseMemObject(small));
    if (count > 2) {
        puts("ready");
        fflush(stdout);
        while (getchar() != EOF)
            ;
    }
    for (; eaten < most && eaten < MOST && !status; eaten++)
        status = eat(context, queue, PIECE, &buffers[eaten]);
    printf("ate %d MiB, then %d\n", (eaten - (status != 0)) * 16, status);
    while (eaten--) {
        if (buffers[eaten])
            clReleaseMemObject(buffers[eaten]);
    }
    clFinish(queue);
    small = NULL;
    printf("after: %d\n", eat(context, queue, 4096, &small));
    if (small)
        clReleaseMemObject(small);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
