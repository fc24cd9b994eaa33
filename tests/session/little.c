/* Many small non-blocking commands: writes, launches with all their arguments set, and reads. Prints how many results
 * are wrong. */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECES = 6000, WORDS = 1000, ROUNDS = 2 };

static const char *source = "kernel void add(global int *data, int first, int count, int by)\n"
                            "{\n"
                            "    for (int i = 0; i < count; i++)\n"
                            "        data[first + i] += by;\n"
                            "}\n";

static void check(cl_int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "%s: %d\n", what, error);
    exit(1);
}

struct work {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem buffer;
    cl_int *there, *back;
};

static void launch(const struct work *w, cl_int piece)
{
    const cl_int first = piece * WORDS, count = WORDS;
    const size_t one = 1;

    check(clSetKernelArg(w->kernel, 0, sizeof(w->buffer), &w->buffer), "argument 0");
    check(clSetKernelArg(w->kernel, 1, sizeof(first), &first), "argument 1");
    check(clSetKernelArg(w->kernel, 2, sizeof(count), &count), "argument 2");
    check(clSetKernelArg(w->kernel, 3, sizeof(piece), &piece), "argument 3");
    check(clEnqueueNDRangeKernel(w->queue, w->kernel, 1, NULL, &one, &one, 0, NULL, NULL), "launch");
}

static long wrong_words(const struct work *w)
{
    const size_t bytes = WORDS * sizeof(cl_int);
    long wrong = 0;

    for (int i = 0; i < PIECES; i++) {
        check(
            clEnqueueWriteBuffer(w->queue, w->buffer, CL_FALSE, i * bytes, bytes, w->there + i * WORDS, 0, NULL, NULL),
            "write");
        launch(w, i);
    }
    for (int i = 0; i < PIECES; i++)
        check(clEnqueueReadBuffer(w->queue, w->buffer, CL_FALSE, i * bytes, bytes, w->back + i * WORDS, 0, NULL, NULL),
              "read");
    check(clFinish(w->queue), "finish");
    for (int i = 0; i < PIECES * WORDS; i++)
        wrong += w->back[i] != w->there[i] + i / WORDS;
    return wrong;
}

int main(void)
{
    struct work w;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
    cl_int error;

    check(clGetPlatformIDs(1, &platform, NULL), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    check(error, "context");
    w.queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    check(error, "queue");
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    check(error, "program");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
    w.kernel = clCreateKernel(program, "add", &error);
    check(error, "kernel");
    w.buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, PIECES * WORDS * sizeof(cl_int), NULL, &error);
    check(error, "buffer");
    w.there = calloc(PIECES * WORDS, sizeof(*w.there));
    w.back = calloc(PIECES * WORDS, sizeof(*w.back));
    if (!w.there || !w.back)
        return 1;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PIECES * WORDS; i++)
            w.there[i] = i * 7 + round;
        printf("round %d: %ld wrong\n", round, wrong_words(&w));
    }
    return 0;
}
