/*
 * In an out-of-order queue a command waits for the events of its own wait list only: a command that waits for a user
 * event delays no later command with a wait list, not even if the events of that list are complete.
 * usage: own_list BYTES
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        const cl_int status_ = (call);                                                                                 \
        if (status_) {                                                                                                 \
            printf("%s: %d\n", #call, status_);                                                                        \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static cl_device_id device;
static cl_context context;
static size_t size;
static char *bytes;

static cl_mem buffer_new(void)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);

    CHECK(status);
    return buffer;
}

static cl_command_queue queue_new(cl_command_queue_properties properties)
{
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(context, device, properties, &status);

    CHECK(status);
    return queue;
}

static void await(cl_event event, const char *what)
{
    CHECK(clWaitForEvents(1, &event));
    CHECK(clReleaseEvent(event));
    printf("%s\n", what);
    fflush(stdout);
}

static void run_all(cl_command_queue queue, cl_event over)
{
    cl_mem buffer = buffer_new(), other = buffer_new();
    cl_event event;
    cl_int status;
    void *mapped;

    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, size, bytes, 1, &over, &event));
    await(event, "write");
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, size, bytes, 1, &over, &event));
    await(event, "read");
    CHECK(clEnqueueCopyBuffer(queue, buffer, other, 0, 0, size, 1, &over, &event));
    await(event, "copy");
    mapped =
        clEnqueueMapBuffer(queue, buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0, size, 1, &over, &event, &status);
    CHECK(status);
    await(event, "map");
    CHECK(clEnqueueUnmapMemObject(queue, buffer, mapped, 1, &over, &event));
    await(event, "unmap");
    CHECK(clEnqueueMarkerWithWaitList(queue, 1, &over, &event));
    await(event, "marker");
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(other));
}

static void held(cl_command_queue_properties properties)
{
    cl_command_queue queue = queue_new(properties | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), before = queue_new(0);
    cl_mem buffer = buffer_new();
    cl_event over, gate;
    cl_int status;

    CHECK(clEnqueueWriteBuffer(before, buffer, CL_TRUE, 0, size, bytes, 0, NULL, &over));
    gate = clCreateUserEvent(context, &status);
    CHECK(status);
    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, size, bytes, 1, &gate, NULL));
    run_all(queue, over);
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clFinish(queue));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseEvent(over));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(before));
    CHECK(clReleaseCommandQueue(queue));
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_int status;

    size = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
    bytes = calloc(1, size + 1);
    if (!size || !bytes)
        return 2;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    held(0);
    held(CL_QUEUE_PROFILING_ENABLE);
    CHECK(clReleaseContext(context));
    free(bytes);
    return 0;
}
