/* waits KIND N: N steps that may have to wait for the node, and a finish. refill: of a buffer that only maps write.
 * each_launch, each_write: N commands are
 * enqueued, and then waited for one after the other. */
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 20 };

static cl_device_id device;
static cl_command_queue queue;
static cl_mem buffer;
static cl_kernel kernel;
static char memory[SIZE];

static void need(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(1);
}

static void map(cl_map_flags flags, char value)
{
    cl_int status;
    char *at = clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, 0, SIZE, 0, NULL, NULL, &status);

    need(status, "map");
    if (flags != CL_MAP_READ)
        memset(at, value, SIZE);
    else if (at[SIZE - 1] != value)
        need(-1, "what was mapped");
    need(clEnqueueUnmapMemObject(queue, buffer, at, 0, NULL, NULL), "unmap");
}

static void launch(cl_int number, cl_event *event)
{
    const size_t one = 1;

    need(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "argument 0");
    need(clSetKernelArg(kernel, 1, sizeof(number), &number), "argument 1");
    need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, event), "launch");
}

static void divide(void)
{
    const cl_device_partition_property one[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 0, 0};
    cl_device_id part;

    need(clCreateSubDevices(device, one, 1, &part, NULL), "divide");
    need(clReleaseDevice(part), "release");
}

static void step(const char *kind, int number)
{
    if (!strcmp(kind, "divide"))
        divide();
    else if (!strcmp(kind, "launch"))
        launch(number, NULL);
    else if (!strcmp(kind, "read"))
        need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4096, memory, 0, NULL, NULL), "read");
    else if (!strcmp(kind, "read_much"))
        need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, memory, 0, NULL, NULL), "read");
    else if (!strcmp(kind, "write"))
        need(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, memory, 0, NULL, NULL), "write");
    else if (!strcmp(kind, "map_read"))
        map(CL_MAP_READ, 0);
    else if (!strcmp(kind, "overwrite"))
        map(CL_MAP_WRITE_INVALIDATE_REGION, (char)number);
    else if (!strcmp(kind, "refill"))
        map(CL_MAP_WRITE, (char)number);
}

/* Enqueues count commands, and then waits for one after the other. */
static void wait_for_each(bool launches, int count)
{
    cl_event *events = calloc((size_t)count, sizeof(*events));

    for (int i = 0; i < count; i++) {
        if (launches)
            launch(i, &events[i]);
        else
            need(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4096, memory, 0, NULL, &events[i]), "write");
    }
    for (int i = 0; i < count; i++) {
        need(clWaitForEvents(1, &events[i]), "wait");
        need(clReleaseEvent(events[i]), "release");
    }
    free(events);
}

/* The contents written last are also visible in another queue. */
static void check(cl_context context, char value)
{
    cl_int status;
    cl_command_queue other = clCreateCommandQueueWithProperties(context, device, NULL, &status);

    need(status, "another queue");
    need(clEnqueueReadBuffer(other, buffer, CL_TRUE, 0, SIZE, memory, 0, NULL, NULL), "read of all");
    if (memory[0] != value || memory[SIZE - 1] != value)
        need(-2, "what was written");
}

int main(int count, char **words)
{
    const char *source = "kernel void set(global int *out, int number) { *out = number; }\n";
    const int steps = count > 2 ? atoi(words[2]) : 0;
    cl_platform_id platform;
    bool refills;
    cl_int status;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    need(status, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    need(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    kernel = clCreateKernel(program, "set", &status);
    need(status, "clCreateKernel");
    refills = count > 1 && !strcmp(words[1], "refill");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | (refills ? 0 : CL_MEM_COPY_HOST_PTR), SIZE,
                            refills ? NULL : memory, &status);
    need(status, "clCreateBuffer");
    if (count > 1 && !strncmp(words[1], "each_", 5))
        wait_for_each(!strcmp(words[1], "each_launch"), steps);
    else
        for (int i = 0; i < steps; i++)
            step(words[1], i);
    need(clFinish(queue), "clFinish");
    if (count > 1 && (refills || !strcmp(words[1], "overwrite"))) {
        step(words[1], 77);
        check(context, 77);
    }
    return 0;
}
