/*
 * Two queues, on the first and the last device, use buffers in turn, each behind an event of the other that is not over
 * yet: of the most bytes that one worker sends another unasked, of more, and over memory of the program. Prints their
 * contents, or that a command has failed.
 */
#include "tests/parity/parity.h"

enum { MOST = 64, ROUNDS = 6 };

static const char *source = "kernel void slow(global uint *data)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    uint x = data[i];\n"
                            "    for (uint n = 0; n < (i % 64 ? 1 : 2000); n++)\n"
                            "        x = x * 1664525u + 1013904223u;\n"
                            "    data[i] = x;\n"
                            "}\n";

static cl_context context;
static cl_command_queue queues[2];
static cl_kernel slow;

static void exchange(size_t size, bool over_memory)
{
    const size_t global = size / 4;
    cl_uint *memory = calloc(1, size), *result = malloc(size);
    cl_event before = NULL, event;
    cl_int status;
    cl_mem buffer =
        clCreateBuffer(context, over_memory ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR, size, memory, &status);

    CHECK(status);
    CHECK(clSetKernelArg(slow, 0, sizeof(buffer), &buffer));
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(clEnqueueNDRangeKernel(queues[i % 2], slow, 1, NULL, &global, NULL, before ? 1 : 0,
                                     before ? &before : NULL, &event));
        CHECK(clFlush(queues[i % 2]));
        if (before)
            CHECK(clReleaseEvent(before));
        before = event;
    }
    status = clWaitForEvents(1, &before);
    if (!status)
        status = clEnqueueReadBuffer(queues[1], buffer, CL_TRUE, 0, size, result, 0, NULL, NULL);
    if (status)
        printf("%zu bytes: failed\n", size);
    else
        parity_hash_print(over_memory ? "over memory" : "exchanged", result, size);
    CHECK(clReleaseEvent(before));
    CHECK(clReleaseMemObject(buffer));
    free(memory);
    free(result);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id devices[MOST];
    cl_uint count;
    cl_int status;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &count));
    context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    CHECK(status);
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueue(context, devices[i ? count - 1 : 0], 0, &status);
        CHECK(status);
    }
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    slow = parity_kernel(program, "slow");
    for (int i = 0; i < 3; i++) {
        exchange((size_t)1 << 20, false);
        exchange((size_t)3 << 20, false);
        exchange((size_t)2 << 20, true);
        exchange(65536, false);
    }
    return 0;
}
