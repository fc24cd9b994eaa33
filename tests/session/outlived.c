/*
 * outlived FILE: a kernel that works for a while and then adds one to a buffer waits for a user event, which is set
 * once FILE exists. Prints "ready" before that, and the final contents of the buffer.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include "tests/session/moved.h"

static const char *source = "kernel void late(global uint *data, uint turns)\n"
                            "{\n"
                            "    uint value = data[1];\n"
                            "    for (uint i = 0; i < turns; i++)\n"
                            "        value = value * 1664525u + 1013904223u + data[2];\n"
                            "    data[1] = value;\n"
                            "    data[0]++;\n"
                            "}\n";

int main(int count, char **words)
{
    const size_t one = 1;
    const cl_uint turns = 300000000;
    cl_uint zeros[1024] = {0}, now[1024];
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem buffer;
    cl_event gate;
    cl_int error;

    if (count < 2)
        return 2;
    open_first(&device, &context, &queue);
    kernel = kernel_from(context, source, "late");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(zeros), zeros, &error);
    NEED(error);
    gate = clCreateUserEvent(context, &error);
    NEED(error);
    NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    NEED(clSetKernelArg(kernel, 1, sizeof(turns), &turns));
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 1, &gate, NULL));
    NEED(clFlush(queue));
    say("ready");
    wait_for(words[1]);
    NEED(clSetUserEventStatus(gate, CL_COMPLETE));
    say("begun");
    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(now), now, 0, NULL, NULL));
    printf("%u\n", now[0]);
    return 0;
}
