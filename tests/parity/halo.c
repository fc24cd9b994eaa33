/*
 * A halo exchange between all devices of one context, as a grid of two rows: each device has a buffer for each
 * neighbour, whose contents are copied to the neighbour's device; rectangles, migrations and reads go the same ways.
 * One event starts all copies of a round. The output does not depend on the number of devices, since there are always
 * eight parts.
 */
#include "parity.h"

enum { PARTS = 8, MOST = 64, COUNT = 1 << 19, SIZE = COUNT * 4, ROW = 4096 };

static cl_platform_id platform;
static cl_device_id devices[MOST];
static cl_context context;
static cl_command_queue queues[PARTS];
static cl_kernel next;
static cl_mem mine[PARTS][PARTS], theirs[PARTS][PARTS];
static cl_int result[COUNT];

static const char *source = "kernel void next(global int *data, int more)\n"
                            "{\n"
                            "    data[get_global_id(0)] += (int)get_global_id(0) * more;\n"
                            "}\n";

static bool are_neighbours(int a, int b)
{
    return (a ^ b) == 4 || (a / 4 == b / 4 && abs(a - b) == 1);
}

static void open_all(void)
{
    cl_uint count;
    cl_int status;
    cl_program program;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &count));
    count = count < MOST ? count : MOST;
    context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    CHECK(status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    next = clCreateKernel(program, "next", &status);
    CHECK(status);
    CHECK(clReleaseProgram(program));
    for (cl_uint i = 0; i < PARTS; i++) {
        queues[i] = clCreateCommandQueue(context, devices[i % count], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
        CHECK(status);
    }
    for (int i = 0; i < PARTS; i++) {
        for (int k = 0; k < PARTS; k++) {
            if (!are_neighbours(i, k))
                continue;
            mine[i][k] = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
            CHECK(status);
            theirs[i][k] = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
            CHECK(status);
            CHECK(clEnqueueFillBuffer(queues[i], mine[i][k], &(cl_int){i * 10 + k}, 4, 0, SIZE, 0, NULL, NULL));
        }
        CHECK(clFinish(queues[i]));
    }
}

/* Runs a kernel on the part's own device. */
static void compute(int i, int k, int more)
{
    const size_t global = COUNT;

    CHECK(clSetKernelArg(next, 0, sizeof(cl_mem), &mine[i][k]));
    CHECK(clSetKernelArg(next, 1, sizeof(more), &more));
    CHECK(clEnqueueNDRangeKernel(queues[i], next, 1, NULL, &global, NULL, 0, NULL, NULL));
}

static void copy(int round, int i, int k, const cl_event *gate, cl_event *event)
{
    const size_t zero[3] = {0, 0, 0}, region[3] = {ROW / 2, SIZE / ROW, 1};

    switch (round % 3) {
    case 0:
        CHECK(clEnqueueCopyBuffer(queues[k], mine[i][k], theirs[i][k], 0, 0, SIZE, 1, gate, event));
        break;
    case 1:
        CHECK(clEnqueueCopyBufferRect(queues[k], mine[i][k], theirs[i][k], zero, zero, region, ROW, 0, ROW, 0, 1, gate,
                                      event));
        break;
    case 2:
        CHECK(clEnqueueMigrateMemObjects(queues[k], 1, &mine[i][k], 0, 1, gate, event));
    }
}

static void exchange(int round)
{
    cl_event gate, events[PARTS * PARTS];
    cl_uint count = 0;
    cl_int status;

    for (int i = 0; i < PARTS; i++) {
        for (int k = 0; k < PARTS; k++) {
            if (are_neighbours(i, k))
                compute(i, k, round + 1);
        }
        parity_rich();
        CHECK(clFinish(queues[i]));
    }
    gate = clCreateUserEvent(context, &status);
    CHECK(status);
    for (int i = 0; i < PARTS; i++) {
        for (int k = 0; k < PARTS; k++) {
            if (are_neighbours(i, k))
                copy(round, i, k, &gate, &events[count++]);
        }
    }
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clWaitForEvents(count, events));
    for (cl_uint i = 0; i < count; i++)
        CHECK(clReleaseEvent(events[i]));
    CHECK(clReleaseEvent(gate));
}

static void show(int round)
{
    for (int i = 0; i < PARTS; i++) {
        for (int k = 0; k < PARTS; k++) {
            char name[64];

            if (!are_neighbours(i, k))
                continue;
            snprintf(name, sizeof(name), "round %d, %d > %d", round, i, k);
            CHECK(clEnqueueReadBuffer(queues[k], round % 3 == 2 ? mine[i][k] : theirs[i][k], CL_TRUE, 0, SIZE, result,
                                      0, NULL, NULL));
            parity_hash_print(name, result, SIZE);
        }
    }
}

/* Copies one buffer to all devices at once, which then exchange it. */
static void broadcast(void)
{
    cl_event gate, events[PARTS], last[PARTS];
    cl_int status;

    compute(0, 1, 7);
    CHECK(clFinish(queues[0]));
    gate = clCreateUserEvent(context, &status);
    CHECK(status);
    for (int i = 1; i < PARTS; i++) {
        CHECK(clEnqueueCopyBuffer(queues[i], mine[0][1], theirs[i][i ^ 4], 0, 0, SIZE, 1, &gate, &events[i]));
        CHECK(
            clEnqueueCopyBuffer(queues[i ^ 4], theirs[i][i ^ 4], mine[i][i ^ 4], 0, 0, SIZE, 1, &events[i], &last[i]));
    }
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clWaitForEvents(PARTS - 1, last + 1));
    for (int i = 1; i < PARTS; i++) {
        CHECK(clEnqueueReadBuffer(queues[i ^ 4], mine[i][i ^ 4], CL_TRUE, 0, SIZE, result, 0, NULL, NULL));
        parity_hash_print("broadcast", result, SIZE);
        CHECK(clReleaseEvent(events[i]));
        CHECK(clReleaseEvent(last[i]));
    }
    CHECK(clReleaseEvent(gate));
}

/* A copy that waits for an event that fails, and one beyond the end of a buffer. */
static void fail(void)
{
    cl_int status;
    cl_event gate = clCreateUserEvent(context, &status), event;

    CHECK(status);
    CHECK(clEnqueueCopyBuffer(queues[1], mine[0][1], theirs[0][1], 0, 0, SIZE, 1, &gate, &event));
    CHECK(clSetUserEventStatus(gate, -7));
    SHOW("wait for a copy behind what fails", clWaitForEvents(1, &event));
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(gate));
    SHOW("too far", clEnqueueCopyBuffer(queues[1], mine[0][1], theirs[0][1], 4, 0, SIZE, 0, NULL, NULL));
}

int main(void)
{
    open_all();
    for (int round = 0; round < 6; round++) {
        exchange(round);
        show(round);
    }
    broadcast();
    if (parity_tries("failed-event"))
        fail();
    for (int i = 0; i < PARTS; i++) {
        for (int k = 0; k < PARTS; k++) {
            if (!are_neighbours(i, k))
                continue;
            CHECK(clReleaseMemObject(mine[i][k]));
            CHECK(clReleaseMemObject(theirs[i][k]));
        }
        CHECK(clReleaseCommandQueue(queues[i]));
    }
    CHECK(clReleaseKernel(next));
    CHECK(clReleaseContext(context));
    return 0;
}
