/*
 * Commands that are enqueued after a blocking write run after it: on another queue without any event, on the same queue
 * out of order, and behind a user event that is completed later. For buffers, rectangles and images, short and long.
 */
#include "parity.h"

enum { SIDE = 512, MOST = SIDE * SIDE, ROUNDS = 5 };

static const char *source = "kernel void next(global int *data)\n"
                            "{\n"
                            "    data[get_global_id(0)] += 1;\n"
                            "}\n"
                            "kernel void pixels(read_only image2d_t from, global int *data)\n"
                            "{\n"
                            "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
                            "    data[at.y * get_global_size(0) + at.x] = read_imageui(from, at).x + 1;\n"
                            "}\n";

static struct parity p;
static cl_command_queue first, second, loose;
static cl_kernel next, pixels;
static cl_int numbers[MOST], result[MOST];

static cl_mem buffer_new(void)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(p.context, CL_MEM_READ_WRITE, sizeof(numbers), NULL, &status);
    CHECK(status);
    return buffer;
}

static void fill(int round)
{
    for (int i = 0; i < MOST; i++)
        numbers[i] = i * 3 + round * 1000003;
}

/* Counts the values among the first count that are not one more than was written. */
static int wrong(size_t count)
{
    int seen = 0;
    for (size_t i = 0; i < count; i++)
        seen += result[i] != numbers[i] + 1;
    return seen;
}

enum how { PLAIN, RECT };

static void write(cl_command_queue queue, cl_mem buffer, size_t count, enum how how)
{
    const size_t zero[3] = {0}, region[3] = {64, count / 16, 1};
    if (how == PLAIN)
        CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, count * 4, numbers, 0, NULL, NULL));
    else
        CHECK(
            clEnqueueWriteBufferRect(queue, buffer, CL_TRUE, zero, zero, region, 64, 0, 64, 0, numbers, 0, NULL, NULL));
    memset(numbers, 0, sizeof(numbers)); /* the program may reuse its memory now */
}

static void launch(cl_command_queue queue, cl_mem buffer, size_t count, cl_uint wait_count, const cl_event *wait)
{
    CHECK(clSetKernelArg(next, 0, sizeof(buffer), &buffer));
    CHECK(clEnqueueNDRangeKernel(queue, next, 1, NULL, &count, NULL, wait_count, wait, NULL));
}

static int look(cl_command_queue queue, cl_mem buffer, size_t count, int round)
{
    memset(result, 0, sizeof(result));
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * 4, result, 0, NULL, NULL));
    fill(round);
    return wrong(count);
}

static void crossed(const char *name, cl_command_queue writer, cl_command_queue user, size_t count, enum how how)
{
    cl_mem buffer = buffer_new();
    int bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        fill(round);
        write(writer, buffer, count, how);
        launch(user, buffer, count, 0, NULL);
        parity_rich();
        CHECK(clFinish(user));
        bad += look(user, buffer, count, round);
    }
    printf("%s, %zu: %d wrong\n", name, count, bad);
    CHECK(clReleaseMemObject(buffer));
}

/* A third queue sees the write, too, created after the second one already has run a command behind it. */
static void several(size_t count)
{
    cl_mem buffer = buffer_new(), other = buffer_new();
    cl_command_queue third;
    cl_int status;
    int bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        fill(round);
        write(first, buffer, count, PLAIN);
        launch(second, other, 16, 0, NULL);
        third = clCreateCommandQueue(p.context, p.device, 0, &status);
        CHECK(status);
        launch(third, buffer, count, 0, NULL);
        CHECK(clFinish(third));
        bad += look(first, buffer, count, round);
        CHECK(clFinish(second));
        CHECK(clReleaseCommandQueue(third));
    }
    printf("a third queue, %zu: %d wrong\n", count, bad);
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseMemObject(other));
}

/* The queue that wrote is released before the other one uses the buffer. */
static void gone(size_t count)
{
    cl_mem buffer = buffer_new();
    cl_int status;
    int bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        cl_command_queue queue = clCreateCommandQueue(p.context, p.device, 0, &status);
        CHECK(status);
        fill(round);
        write(queue, buffer, count, PLAIN);
        CHECK(clReleaseCommandQueue(queue));
        launch(second, buffer, count, 0, NULL);
        bad += look(second, buffer, count, round);
    }
    printf("a queue that is gone, %zu: %d wrong\n", count, bad);
    CHECK(clReleaseMemObject(buffer));
}

/* In a context with one queue at a time, or with only one until the write is complete. */
static void lonely(size_t count, bool beside)
{
    const size_t global = count;
    int bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        cl_int status;
        cl_context context = clCreateContext(NULL, 1, &p.device, NULL, NULL, &status);
        cl_command_queue queue = clCreateCommandQueue(context, p.device, 0, &status), after;
        cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(numbers), NULL, &status);
        cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
        cl_kernel kernel;
        CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
        kernel = parity_kernel(program, "next");
        CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
        fill(round);
        write(queue, buffer, count, PLAIN);
        if (!beside)
            CHECK(clReleaseCommandQueue(queue));
        after = clCreateCommandQueue(context, p.device, 0, &status);
        CHECK(status);
        CHECK(clEnqueueNDRangeKernel(after, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
        bad += look(after, buffer, count, round);
        if (beside)
            CHECK(clReleaseCommandQueue(queue));
        CHECK(clReleaseKernel(kernel));
        CHECK(clReleaseProgram(program));
        CHECK(clReleaseMemObject(buffer));
        CHECK(clReleaseCommandQueue(after));
        CHECK(clReleaseContext(context));
    }
    printf("%s, %zu: %d wrong\n", beside ? "a second queue made later" : "one queue after another", count, bad);
}

/* The write follows a command that waits for a user event, which another thread completes; the second queue's kernel
 * sees the data. */
static void held(size_t count)
{
    cl_mem buffer = buffer_new();
    int bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        cl_event gate = parity_gate(&p);
        pthread_t opener;
        fill(round);
        launch(first, buffer, count, 1, &gate);
        opener = parity_gate_open_later(gate);
        write(first, buffer, count, PLAIN);
        launch(second, buffer, count, 0, NULL);
        bad += look(second, buffer, count, round);
        EXPECT(pthread_join(opener, NULL) == 0);
        CHECK(clReleaseEvent(gate));
    }
    printf("behind a user event, %zu: %d wrong\n", count, bad);
    CHECK(clReleaseMemObject(buffer));
}

/* A command that was enqueued after the write still waits for a user event when the context gets its second queue. */
static void held_alone(void)
{
    cl_int status;
    cl_context context = clCreateContext(NULL, 1, &p.device, NULL, NULL, &status);
    cl_command_queue queue = clCreateCommandQueue(context, p.device, 0, &status), after;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(numbers), NULL, &status);
    cl_event gate = clCreateUserEvent(context, &status);
    CHECK(status);
    fill(1);
    write(queue, buffer, 256, PLAIN);
    CHECK(clEnqueueMarkerWithWaitList(queue, 1, &gate, NULL));
    after = clCreateCommandQueue(context, p.device, 0, &status);
    CHECK(status);
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clFinish(queue));
    CHECK(clEnqueueReadBuffer(after, buffer, CL_TRUE, 0, 1024, result, 0, NULL, NULL));
    fill(1);
    printf("a second queue after what waits: %d\n", memcmp(numbers, result, 1024));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(after));
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
}

/* The kernel is enqueued before the write, but starts after it, and must see its data. */
static void gated(size_t count, bool release_first)
{
    cl_mem buffer = buffer_new();
    cl_int status;
    int bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        cl_event gate = clCreateUserEvent(p.context, &status);
        CHECK(status);
        launch(second, buffer, count, 1, &gate);
        CHECK(clFlush(second));
        fill(round);
        write(first, buffer, count, PLAIN);
        CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
        if (release_first)
            CHECK(clReleaseEvent(gate));
        CHECK(clFinish(second));
        bad += look(second, buffer, count, round);
        if (!release_first)
            CHECK(clReleaseEvent(gate));
    }
    printf("gated, %zu: %d wrong\n", count, bad);
    CHECK(clReleaseMemObject(buffer));
}

static void image(void)
{
    const cl_image_format format = {CL_R, CL_UNSIGNED_INT32};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
    const size_t origin[3] = {0}, region[3] = {SIDE, SIDE, 1};
    cl_int status;
    cl_mem image = clCreateImage(p.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status), buffer = buffer_new();
    int bad = 0;
    CHECK(status);
    CHECK(clSetKernelArg(pixels, 0, sizeof(image), &image));
    CHECK(clSetKernelArg(pixels, 1, sizeof(buffer), &buffer));
    for (int round = 0; round < ROUNDS; round++) {
        fill(round);
        CHECK(clEnqueueWriteImage(first, image, CL_TRUE, origin, region, 0, 0, numbers, 0, NULL, NULL));
        CHECK(clEnqueueNDRangeKernel(second, pixels, 2, NULL, region, NULL, 0, NULL, NULL));
        bad += look(second, buffer, MOST, round);
    }
    printf("image: %d wrong\n", bad);
    CHECK(clReleaseMemObject(image));
    CHECK(clReleaseMemObject(buffer));
}

/* A marker without a list still waits for the commands before it. */
static void markers(void)
{
    cl_mem buffer = buffer_new();
    cl_event gate, marker;
    cl_int status;
    gate = clCreateUserEvent(p.context, &status);
    CHECK(status);
    launch(loose, buffer, 16, 1, &gate);
    CHECK(clEnqueueWriteBuffer(first, buffer, CL_TRUE, 0, sizeof(numbers), numbers, 0, NULL, NULL));
    CHECK(clEnqueueMarkerWithWaitList(loose, 0, NULL, &marker));
    CHECK(clFlush(loose));
    CHECK(clFinish(first));
    printf("marker behind a gate: %d\n", parity_event_status(marker) > CL_COMPLETE);
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clWaitForEvents(1, &marker));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseEvent(marker));
    CHECK(clReleaseMemObject(buffer));
}

int main(void)
{
    const size_t counts[] = {256, 4096, 16384, 65536, MOST};
    cl_program program;
    cl_int status;

    parity_open(&p, 0);
    first = p.queue;
    second = clCreateCommandQueue(p.context, p.device, 0, &status);
    CHECK(status);
    loose = clCreateCommandQueue(p.context, p.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    CHECK(status);
    program = clCreateProgramWithSource(p.context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    next = parity_kernel(program, "next");
    pixels = parity_kernel(program, "pixels");
    for (size_t i = 0; i < PARITY_COUNT(counts); i++) {
        crossed("another queue", first, second, counts[i], PLAIN);
        crossed("out of order", loose, loose, counts[i], PLAIN);
        crossed("from out of order", loose, second, counts[i], PLAIN);
        crossed("to out of order", second, loose, counts[i], PLAIN);
        if (parity_tries("early-write"))
            crossed("rectangle", first, second, counts[i], RECT);
        several(counts[i]);
        gone(counts[i]);
        gated(counts[i], i % 2);
        held(counts[i]);
    }
    held_alone();
    lonely(4096, false);
    lonely(65536, true);
    if (parity_tries("early-write"))
        image();
    markers();
    CHECK(clReleaseKernel(next));
    CHECK(clReleaseKernel(pixels));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(second));
    CHECK(clReleaseCommandQueue(loose));
    parity_close(&p);
    return 0;
}
