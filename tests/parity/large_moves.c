/*
 * Non-blocking reads and writes of more than 64 MiB: in their order among launches, behind user events, and with data
 * that an earlier read brings. With buffers and rectangles.
 */
#include "parity.h"

enum { ROW = 4096, ROWS = 4352, COUNT = ROW * ROWS, EVERY = 65521 }; /* 68 MiB */

static const char *source = "kernel void next(global int *data)\n"
                            "{\n"
                            "    data[get_global_id(0) * 65521] += 1;\n"
                            "}\n";

static struct parity p;
static cl_kernel next;
static cl_mem buffer;
static cl_int *numbers, *result;

static void fill(int round)
{
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i * 3 + round * 1000003;
}

/* Counts the values that a launch or a transfer has missed. */
static int wrong(int launches)
{
    int seen = 0;
    for (int i = 0; i < COUNT; i++)
        seen += result[i] != numbers[i] + (i % EVERY ? 0 : launches);
    return seen;
}

static void launch(cl_uint wait_count, const cl_event *wait)
{
    const size_t global = (COUNT + EVERY - 1) / EVERY;
    CHECK(clSetKernelArg(next, 0, sizeof(cl_mem), &buffer));
    CHECK(clEnqueueNDRangeKernel(p.queue, next, 1, NULL, &global, NULL, wait_count, wait, NULL));
}

static void write_all(cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    CHECK(clEnqueueWriteBuffer(p.queue, buffer, CL_FALSE, 0, COUNT * sizeof(cl_int), numbers, wait_count, wait, event));
}

static void read_all(cl_event *event)
{
    CHECK(clEnqueueReadBuffer(p.queue, buffer, CL_FALSE, 0, COUNT * sizeof(cl_int), result, 0, NULL, event));
}

static void between_launches(void)
{
    cl_event written, read;
    fill(1);
    write_all(0, NULL, &written);
    launch(0, NULL);
    launch(0, NULL);
    read_all(&read);
    CHECK(clWaitForEvents(1, &read));
    cl_command_type type;
    CHECK(clGetEventInfo(written, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
    EXPECT(type == CL_COMMAND_WRITE_BUFFER);
    EXPECT(parity_event_status(written) == CL_COMPLETE);
    EXPECT(wrong(2) == 0);
    CHECK(clReleaseEvent(written));
    CHECK(clReleaseEvent(read));
}

/* Nothing is transferred before the program completes the user event. */
static void behind_user_event(void)
{
    cl_int status;
    cl_event gate = clCreateUserEvent(p.context, &status), written;
    CHECK(status);
    fill(2);
    write_all(1, &gate, &written);
    launch(0, NULL);
    read_all(NULL);
    CHECK(clFlush(p.queue));
    EXPECT(parity_event_status(written) != CL_COMPLETE);
    fill(3);
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clFinish(p.queue));
    EXPECT(parity_event_status(written) == CL_COMPLETE);
    EXPECT(wrong(1) == 0);
    CHECK(clReleaseEvent(written));
    CHECK(clReleaseEvent(gate));
}

/* Data that a read brings are written again, and the buffer may be released meanwhile. */
static void there_and_back(void)
{
    const size_t zero[3] = {0}, region[3] = {ROW * sizeof(cl_int), ROWS, 1};
    fill(4);
    write_all(0, NULL, NULL);
    launch(0, NULL);
    read_all(NULL);
    cl_mem other = parity_buffer(&p, CL_MEM_READ_WRITE, COUNT * sizeof(cl_int), NULL);
    CHECK(clEnqueueWriteBufferRect(p.queue, other, CL_FALSE, zero, zero, region, 0, 0, 0, 0, result, 0, NULL, NULL));
    CHECK(clReleaseMemObject(buffer));
    buffer = other;
    launch(0, NULL);
    CHECK(clEnqueueReadBufferRect(p.queue, buffer, CL_FALSE, zero, zero, region, 0, 0, 0, 0, result, 0, NULL, NULL));
    parity_rich();
    CHECK(clFinish(p.queue));
    EXPECT(wrong(2) == 0);
}

int main(void)
{
    cl_program program;
    parity_open(&p, 0);
    program = parity_program(&p, source, "");
    next = parity_kernel(program, "next");
    numbers = malloc(COUNT * sizeof(*numbers));
    result = malloc(COUNT * sizeof(*result));
    EXPECT(numbers && result);
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE, COUNT * sizeof(cl_int), NULL);
    between_launches();
    behind_user_event();
    there_and_back();
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(next));
    CHECK(clReleaseProgram(program));
    free(numbers);
    free(result);
    parity_close(&p);
    return 0;
}
