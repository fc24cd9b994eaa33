/*
 * Sixteen threads in one context: each with its own queue, then all with one queue, then each waiting for events of the
 * others, then creating, building and releasing. A kernel object belongs to one thread, as OpenCL requires. And a
 * thread with the least possible stack, as some runtimes use, for everything except building.
 */
#include "parity.h"
#include <pthread.h>

enum { THREADS = 16, ROUNDS = 16, COUNT = 16384, SIZE = COUNT * 4 };

static const char *source = "kernel void next(global int *data, int factor, int more)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    data[i] = data[i] * factor + more;\n"
                            "}\n";

struct worker {
    pthread_t thread;
    uint32_t number;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem buffer;
    uint64_t hash;
};

static struct parity p;
static cl_program program;
static struct worker workers[THREADS];

static void launch(struct worker *worker, cl_int factor, cl_int more, cl_uint waits, const cl_event *wait,
                   cl_event *event)
{
    parity_args(worker->kernel, 3, sizeof(worker->buffer), &worker->buffer, sizeof(factor), &factor, sizeof(more),
                &more);
    CHECK(clEnqueueNDRangeKernel(worker->queue, worker->kernel, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, waits, wait,
                                 event));
}

/* A round: write, launch, non-blocking read of a part, all ordered by events, so that a shared queue serves as well. */
static void round_run(struct worker *worker, cl_int *data, cl_int *back, cl_int round)
{
    cl_event written, launched, read;
    cl_int factor = (cl_int)worker->number + 2;
    parity_random_bytes(data, SIZE, worker->number * 1000 + (uint32_t)round);
    CHECK(clEnqueueWriteBuffer(worker->queue, worker->buffer, round % 2 == 0, 0, SIZE, data, 0, NULL, &written));
    launch(worker, factor, round, 1, &written, &launched);
    CHECK(clEnqueueReadBuffer(worker->queue, worker->buffer, round % 3 == 0, 0, SIZE, back, 1, &launched, &read));
    CHECK(clWaitForEvents(1, &read));
    for (int i = 0; i < COUNT; i++)
        EXPECT(back[i] == (cl_int)((cl_uint)data[i] * (cl_uint)factor + (cl_uint)round));
    worker->hash ^= parity_hash(back, SIZE);
    CHECK(clReleaseEvent(read));
    CHECK(clReleaseEvent(launched));
    CHECK(clReleaseEvent(written));
}

static void *rounds_run(void *argument)
{
    struct worker *worker = argument;
    cl_int *data = malloc(SIZE), *back = malloc(SIZE);
    for (cl_int round = 0; round < ROUNDS; round++)
        round_run(worker, data, back, round);
    free(back);
    free(data);
    return NULL;
}

/* Many launches without a wait before the end. */
static void *burst_run(void *argument)
{
    struct worker *worker = argument;
    cl_int *back = malloc(SIZE), zero = 0;
    CHECK(clEnqueueFillBuffer(worker->queue, worker->buffer, &zero, sizeof(zero), 0, SIZE, 0, NULL, NULL));
    for (cl_int i = 0; i < 200; i++)
        launch(worker, 1, (cl_int)worker->number, 0, NULL, NULL);
    CHECK(clFinish(worker->queue));
    parity_read(worker->queue, worker->buffer, 0, SIZE, back);
    for (int i = 0; i < COUNT; i++)
        EXPECT(back[i] == 200 * (cl_int)worker->number);
    worker->hash ^= parity_hash(back, SIZE);
    free(back);
    return NULL;
}

/* Creates and releases objects; every thread builds its own program. */
static void *objects_churn(void *argument)
{
    struct worker *worker = argument;
    char options[64];
    snprintf(options, sizeof(options), "-DTHREAD=%u", worker->number);
    cl_program own = parity_program(&p, source, options);
    for (int i = 0; i < 50; i++) {
        cl_command_queue queue = parity_queue(&p, CL_QUEUE_PROFILING_ENABLE);
        cl_kernel kernel = parity_kernel(i % 2 ? own : program, "next");
        cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
        cl_int number = i, factor = 0, back;
        parity_args(kernel, 3, sizeof(buffer), &buffer, sizeof(factor), &factor, sizeof(number), &number);
        CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, 0, NULL, NULL));
        parity_read(queue, buffer, SIZE - sizeof(back), sizeof(back), &back);
        EXPECT(back == i);
        CHECK(clReleaseMemObject(buffer));
        CHECK(clReleaseKernel(kernel));
        CHECK(clReleaseCommandQueue(queue));
    }
    CHECK(clReleaseProgram(own));
    return NULL;
}

static void all_run(const char *name, void *(*body)(void *))
{
    for (int i = 0; i < THREADS; i++)
        workers[i].hash = 0;
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&workers[i].thread, NULL, body, &workers[i]) == 0);
    parity_rich();
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(workers[i].thread, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        printf("%s, thread %d: %016llx\n", name, i, (unsigned long long)workers[i].hash);
}

/* Every thread launches behind the same user event, and the first waits for all launches. */
static cl_event gate, behind[THREADS];

static void *gate_pass(void *argument)
{
    struct worker *worker = argument;
    launch(worker, 0, (cl_int)worker->number, 1, &gate, &behind[worker->number]);
    CHECK(clFlush(worker->queue));
    if (worker->number == THREADS - 1)
        CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clWaitForEvents(1, &behind[worker->number]));
    worker->hash = worker->number;
    return NULL;
}

static void gate_run(void)
{
    cl_int status;
    gate = clCreateUserEvent(p.context, &status);
    CHECK(status);
    all_run("gate", gate_pass);
    CHECK(clWaitForEvents(THREADS, behind));
    for (int i = 0; i < THREADS; i++) {
        EXPECT(parity_event_status(behind[i]) == CL_COMPLETE);
        CHECK(clReleaseEvent(behind[i]));
    }
    CHECK(clReleaseEvent(gate));
}

static void workers_create(void)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].queue = parity_queue(&p, i % 2 ? CL_QUEUE_PROFILING_ENABLE : 0);
        workers[i].kernel = parity_kernel(program, "next");
        workers[i].buffer = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    }
}

/* Makes all threads use the same queue. */
static void queues_share(cl_command_queue queue)
{
    for (int i = 0; i < THREADS; i++) {
        CHECK(clReleaseCommandQueue(workers[i].queue));
        CHECK(clRetainCommandQueue(queue));
        workers[i].queue = queue;
    }
}

static void workers_release(void)
{
    for (int i = 0; i < THREADS; i++) {
        CHECK(clReleaseMemObject(workers[i].buffer));
        CHECK(clReleaseKernel(workers[i].kernel));
        CHECK(clReleaseCommandQueue(workers[i].queue));
    }
}

static void context_calls(void)
{
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)p.platform, 0};
    cl_int status;
    cl_context context = clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &status);
    CHECK(status);
    CHECK(clReleaseContext(context));
    context = clCreateContext(properties, 1, &p.device, NULL, NULL, &status);
    CHECK(status);
    CHECK(clReleaseContext(context));
}

static void query_calls(void)
{
    static char text[65536];
    static cl_image_format formats[1024];
    unsigned char *binary;
    size_t size, value;
    cl_uint count;

    CHECK(clGetPlatformInfo(p.platform, CL_PLATFORM_EXTENSIONS, sizeof(text), text, NULL));
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL));
    CHECK(clGetKernelInfo(workers[0].kernel, CL_KERNEL_FUNCTION_NAME, sizeof(text), text, NULL));
    CHECK(
        clGetKernelWorkGroupInfo(workers[0].kernel, p.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(value), &value, NULL));
    CHECK(clGetSupportedImageFormats(p.context, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, 1024, formats, &count));
    CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
    binary = malloc(size);
    CHECK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL));
    free(binary);
}

static void object_calls(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
    const cl_buffer_region part = {0, 256};
    const cl_int zero = 0;
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, 4096, NULL), sub, image;
    cl_kernel kernel = parity_kernel(program, "next");
    cl_event gate = parity_gate(&p), marker;
    cl_int status;

    sub = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, &status);
    CHECK(status);
    image = clCreateImage(p.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK(status);
    CHECK(clEnqueueFillBuffer(p.queue, sub, &zero, sizeof(zero), 0, 256, 0, NULL, NULL));
    CHECK(clEnqueueMarkerWithWaitList(p.queue, 1, &gate, &marker));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clWaitForEvents(1, &marker));
    CHECK(clReleaseEvent(marker));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(image));
    CHECK(clReleaseMemObject(sub));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
}

static void command_calls(void)
{
    static cl_int data[COUNT], back[COUNT];
    cl_int status;
    void *mapped;

    round_run(&workers[0], data, back, 1);
    mapped = clEnqueueMapBuffer(p.queue, workers[0].buffer, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, NULL, NULL, &status);
    CHECK(status);
    CHECK(clEnqueueUnmapMemObject(p.queue, workers[0].buffer, mapped, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
}

static void *small_stack_run(void *argument)
{
    (void)argument;
    context_calls();
    query_calls();
    object_calls();
    command_calls();
    return NULL;
}

/* Runs once with a normal stack first, since a driver's first calls may need more. Sanitizers make frames larger. */
static void small_stack(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const size_t size = 1 << 20;
#else
    const size_t size = 16384;
#endif
    pthread_attr_t attributes;
    pthread_t thread;

    small_stack_run(NULL);
    EXPECT(!pthread_attr_init(&attributes) && !pthread_attr_setstacksize(&attributes, size));
    EXPECT(!pthread_create(&thread, &attributes, small_stack_run, NULL));
    EXPECT(!pthread_join(thread, NULL));
    EXPECT(!pthread_attr_destroy(&attributes));
    puts("a small stack: right");
}

int main(void)
{
    parity_open(&p, 0);
    cl_command_queue loose = parity_queue(&p, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    program = parity_program(&p, source, NULL);
    workers_create();
    all_run("queue each", rounds_run);
    all_run("queue each, burst", burst_run);
    gate_run();
    queues_share(p.queue);
    all_run("one queue", rounds_run);
    all_run("one queue, burst", burst_run);
    queues_share(loose);
    all_run("one out-of-order queue", rounds_run);
    all_run("objects", objects_churn);
    if (parity_tries("small-stack"))
        small_stack();
    workers_release();
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(loose));
    parity_close(&p);
    return 0;
}
