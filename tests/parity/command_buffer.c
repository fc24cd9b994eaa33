/* cl_khr_command_buffer: commands recorded once and run repeatedly, with sync points, on queues of both kinds; its
 * queries and errors. */
#include "parity.h"

#include "base/cl_ext.h"

enum { COUNT = 1024, SIZE = COUNT * 4 };

#define FUNCTION(name) static name##_fn name##_

FUNCTION(clCreateCommandBufferKHR);
FUNCTION(clFinalizeCommandBufferKHR);
FUNCTION(clRetainCommandBufferKHR);
FUNCTION(clReleaseCommandBufferKHR);
FUNCTION(clEnqueueCommandBufferKHR);
FUNCTION(clCommandBarrierWithWaitListKHR);
FUNCTION(clCommandCopyBufferKHR);
FUNCTION(clCommandCopyBufferRectKHR);
FUNCTION(clCommandCopyBufferToImageKHR);
FUNCTION(clCommandCopyImageKHR);
FUNCTION(clCommandCopyImageToBufferKHR);
FUNCTION(clCommandFillBufferKHR);
FUNCTION(clCommandFillImageKHR);
FUNCTION(clCommandNDRangeKernelKHR);
FUNCTION(clGetCommandBufferInfoKHR);

/* Leaves out the properties argument, which only newer headers have. */
#define PLAIN(name, buffer, queue, ...) name(buffer, queue, RECORD_NO_PROPERTIES __VA_ARGS__)
#define clCommandBarrierWithWaitListKHR_(...) PLAIN(clCommandBarrierWithWaitListKHR_, __VA_ARGS__)
#define clCommandCopyBufferKHR_(...) PLAIN(clCommandCopyBufferKHR_, __VA_ARGS__)
#define clCommandCopyBufferRectKHR_(...) PLAIN(clCommandCopyBufferRectKHR_, __VA_ARGS__)
#define clCommandCopyBufferToImageKHR_(...) PLAIN(clCommandCopyBufferToImageKHR_, __VA_ARGS__)
#define clCommandCopyImageKHR_(...) PLAIN(clCommandCopyImageKHR_, __VA_ARGS__)
#define clCommandCopyImageToBufferKHR_(...) PLAIN(clCommandCopyImageToBufferKHR_, __VA_ARGS__)
#define clCommandFillBufferKHR_(...) PLAIN(clCommandFillBufferKHR_, __VA_ARGS__)
#define clCommandFillImageKHR_(...) PLAIN(clCommandFillImageKHR_, __VA_ARGS__)

static const char source[] = "kernel void add(global int *data, int what) { data[get_global_id(0)] += what; }\n"
                             "kernel void multiply(global int *data, int what) { data[get_global_id(0)] *= what; }\n"
                             "kernel void tell(int what) { printf(\"kernel says %d\\n\", what); }\n";

static struct parity p;
static cl_kernel add, tell;
static cl_program program;
static cl_mem first, second;
static cl_int numbers[COUNT], result[COUNT];
static const size_t global = COUNT;

static bool find_functions(void)
{
#define FIND(name) found = (name##_ = (name##_fn)clGetExtensionFunctionAddressForPlatform(p.platform, #name)) && found
    bool found = true;

    FIND(clCreateCommandBufferKHR);
    FIND(clFinalizeCommandBufferKHR);
    FIND(clRetainCommandBufferKHR);
    FIND(clReleaseCommandBufferKHR);
    FIND(clEnqueueCommandBufferKHR);
    FIND(clCommandBarrierWithWaitListKHR);
    FIND(clCommandCopyBufferKHR);
    FIND(clCommandCopyBufferRectKHR);
    FIND(clCommandCopyBufferToImageKHR);
    FIND(clCommandCopyImageKHR);
    FIND(clCommandCopyImageToBufferKHR);
    FIND(clCommandFillBufferKHR);
    FIND(clCommandFillImageKHR);
    FIND(clCommandNDRangeKernelKHR);
    FIND(clGetCommandBufferInfoKHR);
    return found;
}

static cl_command_buffer_khr new_buffer(cl_command_queue queue, bool again)
{
    const cl_command_buffer_properties_khr properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR,
                                                           CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0};
    cl_int status;
    cl_command_buffer_khr buffer = clCreateCommandBufferKHR_(1, &queue, again ? properties : NULL, &status);
    CHECK(status);
    return buffer;
}

static cl_sync_point_khr record_kernel(cl_command_buffer_khr buffer, const char *name, cl_mem memory, cl_int what,
                                       cl_uint count, const cl_sync_point_khr *after)
{
    cl_sync_point_khr point = 0;
    cl_kernel own = parity_kernel(program, name);
    CHECK(clSetKernelArg(own, 0, sizeof(memory), &memory));
    CHECK(clSetKernelArg(own, 1, sizeof(what), &what));
    CHECK(clCommandNDRangeKernelKHR_(buffer, NULL, NULL, own, 1, NULL, &global, NULL, count, after, &point, NULL));
    CHECK(clReleaseKernel(own));
    return point;
}

static void show_state(const char *when, cl_command_buffer_khr buffer)
{
    cl_command_buffer_state_khr state = 99;
    CHECK(clGetCommandBufferInfoKHR_(buffer, CL_COMMAND_BUFFER_STATE_KHR, sizeof(state), &state, NULL));
    printf("state %s: %u\n", when, state);
}

/* Each launch has its own kernel, since native reads the arguments late (NATIVE.md). */
static void replay(cl_command_queue queue, bool again, int times)
{
    const cl_int nought = 0;
    cl_command_buffer_khr buffer = new_buffer(queue, again);
    cl_sync_point_khr points[5];
    cl_event event;
    cl_ulong start = 0, end = 0;
    cl_command_type type;

    parity_write(p.queue, first, 0, SIZE, numbers);
    CHECK(clCommandFillBufferKHR_(buffer, NULL, second, &nought, sizeof(nought), 0, SIZE, 0, NULL, &points[0], NULL));
    points[1] = record_kernel(buffer, "add", first, 3, 0, NULL);
    points[2] = record_kernel(buffer, "multiply", first, 7, 1, &points[1]);
    CHECK(clCommandCopyBufferKHR_(buffer, NULL, first, second, 0, SIZE / 2, SIZE / 2, 2,
                                  (cl_sync_point_khr[]){points[0], points[2]}, &points[3], NULL));
    points[4] = record_kernel(buffer, "add", second, 11, 1, &points[3]);
    CHECK(clCommandBarrierWithWaitListKHR_(buffer, NULL, 1, &points[4], NULL, NULL));
    printf("sync points %u %u %u %u %u\n", points[0], points[1], points[2], points[3], points[4]);
    show_state("while recording", buffer);
    CHECK(clFinalizeCommandBufferKHR_(buffer));
    show_state("after", buffer);
    for (int i = 0; i < times; i++) {
        CHECK(clEnqueueCommandBufferKHR_(0, NULL, buffer, 0, NULL, &event));
        parity_rich();
        CHECK(clWaitForEvents(1, &event));
        CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
        printf(
            "type %#x, %s, times %s\n", type, parity_status_name(parity_event_status(event)),
            parity_error_name(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL)));
        if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL) == CL_SUCCESS)
            EXPECT(end >= start);
        CHECK(clReleaseEvent(event));
    }
    parity_read(p.queue, first, 0, SIZE, result);
    parity_hash_print("first", result, SIZE);
    parity_read(p.queue, second, 0, SIZE, result);
    parity_hash_print("second", result, SIZE);
    CHECK(clReleaseCommandBufferKHR_(buffer));
}

/* Runs many at once, without waiting, behind an event; the kernel is released before they end. */
static void in_flight(void)
{
    cl_command_buffer_khr buffer = new_buffer(p.queue, true);
    cl_int status;
    cl_event gate = clCreateUserEvent(p.context, &status), last;
    cl_mem target = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    CHECK(status);

    record_kernel(buffer, "add", target, 2, 0, NULL);
    CHECK(clFinalizeCommandBufferKHR_(buffer));
    CHECK(clEnqueueCommandBufferKHR_(0, NULL, buffer, 1, &gate, NULL));
    for (int i = 0; i < 50; i++)
        CHECK(clEnqueueCommandBufferKHR_(1, &p.queue, buffer, 0, NULL, i == 49 ? &last : NULL));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clWaitForEvents(1, &last));
    parity_read(p.queue, target, 0, SIZE, result);
    parity_hash_print("added 51 times", result, SIZE);
    CHECK(clFinish(p.queue));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseEvent(last));
    CHECK(clReleaseCommandBufferKHR_(buffer));
    CHECK(clReleaseMemObject(target));
}

static void prints(void)
{
    cl_command_buffer_khr buffer = new_buffer(p.queue, true);
    const size_t one = 1;
    cl_int what = 5;

    CHECK(clSetKernelArg(tell, 0, sizeof(what), &what));
    CHECK(clCommandNDRangeKernelKHR_(buffer, NULL, NULL, tell, 1, NULL, &one, &one, 0, NULL, NULL, NULL));
    CHECK(clFinalizeCommandBufferKHR_(buffer));
    for (int i = 0; i < 3; i++) {
        fflush(stdout);
        CHECK(clEnqueueCommandBufferKHR_(0, NULL, buffer, 0, NULL, NULL));
        CHECK(clFinish(p.queue));
        printf("finished %d\n", i);
    }
    CHECK(clReleaseCommandBufferKHR_(buffer));
}

static cl_mem new_image(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    cl_int status;
    cl_mem image = clCreateImage(p.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK(status);
    return image;
}

static void rects_and_images(void)
{
    const size_t origin[3] = {0}, to[3] = {16, 4, 0}, region[3] = {64, 8, 1}, whole[3] = {16, 16, 1};
    const cl_uint colour[4] = {1, 2, 3, 4};
    cl_mem one = new_image(), two = new_image();
    cl_command_buffer_khr buffer = new_buffer(p.queue, true);
    cl_sync_point_khr point;

    CHECK(clCommandCopyBufferRectKHR_(buffer, NULL, first, second, origin, to, region, 128, 0, 128, 0, 0, NULL, &point,
                                      NULL));
    CHECK(clCommandFillImageKHR_(buffer, NULL, one, colour, origin, whole, 1, &point, &point, NULL));
    CHECK(clCommandCopyBufferToImageKHR_(buffer, NULL, second, one, 256, (size_t[3]){4, 4, 0}, (size_t[3]){8, 8, 1}, 1,
                                         &point, &point, NULL));
    CHECK(clCommandCopyImageKHR_(buffer, NULL, one, two, origin, origin, whole, 1, &point, &point, NULL));
    CHECK(clCommandCopyImageToBufferKHR_(buffer, NULL, two, second, origin, whole, 1024, 1, &point, &point, NULL));
    CHECK(clFinalizeCommandBufferKHR_(buffer));
    parity_write(p.queue, first, 0, SIZE, numbers);
    parity_write(p.queue, second, 0, SIZE, numbers);
    CHECK(clEnqueueCommandBufferKHR_(0, NULL, buffer, 0, NULL, NULL));
    parity_read(p.queue, second, 0, SIZE, result);
    parity_hash_print("rects and images", result, SIZE);
    CHECK(clFinish(p.queue));
    CHECK(clReleaseCommandBufferKHR_(buffer));
    CHECK(clReleaseMemObject(one));
    CHECK(clReleaseMemObject(two));
}

/* Native's answers to sizes that are too small, and to queries about queues, differ from the specification
 * (NATIVE.md). */
static void queries(void)
{
    static const cl_command_buffer_info_khr params[] = {CL_COMMAND_BUFFER_NUM_QUEUES_KHR, CL_COMMAND_BUFFER_QUEUES_KHR,
                                                        CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR,
                                                        CL_COMMAND_BUFFER_STATE_KHR, 0x4242};
    cl_command_buffer_khr buffer = new_buffer(p.queue, true);
    cl_uint value[8];

    CHECK(clRetainCommandBufferKHR_(buffer));
    for (size_t i = 0; i < PARITY_COUNT(params); i++) {
        size_t size = 77;
        value[0] = 99;
        SHOW("query", clGetCommandBufferInfoKHR_(buffer, params[i], sizeof(value), value, &size));
        printf("size %zu", size);
        if (params[i] != CL_COMMAND_BUFFER_QUEUES_KHR)
            printf(", %u", value[0]);
        putchar('\n');
        SHOW("only its size", clGetCommandBufferInfoKHR_(buffer, params[i], 0, NULL, &size));
        SHOW("without its size", clGetCommandBufferInfoKHR_(buffer, params[i], sizeof(value), value, NULL));
        SHOW("nothing", clGetCommandBufferInfoKHR_(buffer, params[i], 0, NULL, NULL));
    }
    CHECK(clReleaseCommandBufferKHR_(buffer));
    CHECK(clReleaseCommandBufferKHR_(buffer));
}

static void creation_errors(cl_command_queue other)
{
    const cl_command_queue two[] = {p.queue, other};
    SHOW_NEW("no queues", clCreateCommandBufferKHR_(0, &p.queue, NULL, &status));
    SHOW_NEW("no list", clCreateCommandBufferKHR_(1, NULL, NULL, &status));
    if (parity_answers_as_before(&p)) /* newer ones have cl_khr_command_buffer_multi_device, which VOCL withholds */
        SHOW_NEW("two queues", clCreateCommandBufferKHR_(2, two, NULL, &status));
    SHOW_NEW("unknown property",
             clCreateCommandBufferKHR_(1, &p.queue, (cl_command_buffer_properties_khr[]){0x4242, 1, 0}, &status));
    SHOW_NEW("unknown flag",
             clCreateCommandBufferKHR_(
                 1, &p.queue, (cl_command_buffer_properties_khr[]){CL_COMMAND_BUFFER_FLAGS_KHR, 1 << 20, 0}, &status));
    if (parity_answers_as_before(&p)) /* PoCL 6 refuses what OpenCL allows */
        SHOW_NEW("empty properties",
                 clCreateCommandBufferKHR_(1, &p.queue, (cl_command_buffer_properties_khr[]){0}, &status));
}

static void recording_errors(cl_command_queue other, cl_command_queue foreign, cl_mem alien)
{
    cl_command_buffer_khr buffer = new_buffer(p.queue, false);
    cl_sync_point_khr point = 0, wrong[] = {7, 0};
    cl_mutable_command_khr handle = NULL;
    const cl_int what = 1;
    const size_t origin[3] = {0}, region[3] = {4, 4, 1};

    SHOW("barrier", clCommandBarrierWithWaitListKHR_(buffer, NULL, 0, NULL, &point, NULL));
    SHOW("barrier, no buffer", clCommandBarrierWithWaitListKHR_(NULL, NULL, 0, NULL, &point, NULL));
    if (parity_answers_as_before(&p)) /* see two queues */
        SHOW("barrier, own queue", clCommandBarrierWithWaitListKHR_(buffer, p.queue, 0, NULL, NULL, NULL));
    SHOW("barrier, other queue", clCommandBarrierWithWaitListKHR_(buffer, other, 0, NULL, NULL, NULL));
    SHOW("barrier, foreign queue", clCommandBarrierWithWaitListKHR_(buffer, foreign, 0, NULL, NULL, NULL));
    SHOW("barrier, mutable", clCommandBarrierWithWaitListKHR_(buffer, NULL, 0, NULL, NULL, &handle));
    SHOW("barrier, unknown points", clCommandBarrierWithWaitListKHR_(buffer, NULL, 1, wrong, NULL, NULL));
    SHOW("barrier, point 0", clCommandBarrierWithWaitListKHR_(buffer, NULL, 1, wrong + 1, NULL, NULL));
    SHOW("barrier, no points", clCommandBarrierWithWaitListKHR_(buffer, NULL, 1, NULL, NULL, NULL));
    SHOW("barrier, points but no number", clCommandBarrierWithWaitListKHR_(buffer, NULL, 0, &point, NULL, NULL));
#define COPY(from, to, from_offset, to_offset, size)                                                                   \
    clCommandCopyBufferKHR_(buffer, NULL, from, to, from_offset, to_offset, size, 0, NULL, NULL, NULL)
    SHOW("copy, no source", COPY(NULL, first, 0, 0, 4));
    SHOW("copy, no target", COPY(first, NULL, 0, 0, 4));
    SHOW("copy, alien", COPY(first, alien, 0, 0, 4));
    SHOW("copy, no size", COPY(first, second, 0, 0, 0));
    SHOW("copy, too far", COPY(first, second, SIZE, 0, 4));
    SHOW("copy, overlap", COPY(first, first, 0, 2, 4));
    SHOW("rect, no region", clCommandCopyBufferRectKHR_(buffer, NULL, first, second, origin, origin, NULL, 0, 0, 0, 0,
                                                        0, NULL, NULL, NULL));
    SHOW("rect, overlap", clCommandCopyBufferRectKHR_(buffer, NULL, first, first, origin, origin, region, 0, 0, 0, 0, 0,
                                                      NULL, NULL, NULL));
    SHOW("fill, no pattern", clCommandFillBufferKHR_(buffer, NULL, first, NULL, 4, 0, 4, 0, NULL, NULL, NULL));
    SHOW("fill, odd pattern", clCommandFillBufferKHR_(buffer, NULL, first, &what, 3, 0, 3, 0, NULL, NULL, NULL));
    SHOW("fill, odd offset", clCommandFillBufferKHR_(buffer, NULL, first, &what, 4, 2, 4, 0, NULL, NULL, NULL));
    SHOW("fill, too far", clCommandFillBufferKHR_(buffer, NULL, first, &what, 4, SIZE, 4, 0, NULL, NULL, NULL));
    SHOW("image of a buffer",
         clCommandFillImageKHR_(buffer, NULL, first, numbers, origin, region, 0, NULL, NULL, NULL));
    SHOW("image copy of buffers",
         clCommandCopyImageKHR_(buffer, NULL, first, second, origin, origin, region, 0, NULL, NULL, NULL));
    SHOW("buffer to a buffer",
         clCommandCopyBufferToImageKHR_(buffer, NULL, first, second, 0, origin, region, 0, NULL, NULL, NULL));
    SHOW("image to buffer of a buffer",
         clCommandCopyImageToBufferKHR_(buffer, NULL, first, second, origin, region, 0, 0, NULL, NULL, NULL));
    SHOW("kernel, empty",
         clCommandNDRangeKernelKHR_(buffer, NULL, NULL, add, 1, NULL, (size_t[]){0}, NULL, 0, NULL, NULL, NULL));
    SHOW("enqueue while recording", clEnqueueCommandBufferKHR_(0, NULL, buffer, 0, NULL, NULL));
    SHOW("finalize", clFinalizeCommandBufferKHR_(buffer));
    SHOW("barrier afterwards", clCommandBarrierWithWaitListKHR_(buffer, NULL, 0, NULL, NULL, NULL));
    SHOW("enqueue, number without queues", clEnqueueCommandBufferKHR_(1, NULL, buffer, 0, NULL, NULL));
    SHOW("enqueue, queues without number", clEnqueueCommandBufferKHR_(0, &p.queue, buffer, 0, NULL, NULL));
    SHOW("enqueue, other properties", clEnqueueCommandBufferKHR_(1, &other, buffer, 0, NULL, NULL));
    SHOW("enqueue, other context", clEnqueueCommandBufferKHR_(1, &foreign, buffer, 0, NULL, NULL));
    SHOW("enqueue, two queues",
         clEnqueueCommandBufferKHR_(2, (cl_command_queue[]){p.queue, p.queue}, buffer, 0, NULL, NULL));
    SHOW("enqueue, no list", clEnqueueCommandBufferKHR_(0, NULL, buffer, 1, NULL, NULL));
    SHOW("enqueue, nothing", clEnqueueCommandBufferKHR_(0, NULL, NULL, 0, NULL, NULL));
    SHOW("retain, nothing", clRetainCommandBufferKHR_(NULL));
    SHOW("release, nothing", clReleaseCommandBufferKHR_(NULL));
    SHOW("finalize, nothing", clFinalizeCommandBufferKHR_(NULL));
    SHOW("query, nothing", clGetCommandBufferInfoKHR_(NULL, CL_COMMAND_BUFFER_STATE_KHR, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
    CHECK(clReleaseCommandBufferKHR_(buffer));
}

static void errors(void)
{
    cl_command_queue other = parity_queue(&p, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), foreign;
    const cl_int one = 1;
    cl_int status;
    cl_context context = clCreateContext(NULL, 1, &p.device, NULL, NULL, &status);
    cl_mem alien;
    CHECK(status);
    foreign = clCreateCommandQueue(context, p.device, 0, &status);
    CHECK(status);
    alien = clCreateBuffer(context, CL_MEM_READ_WRITE, SIZE, NULL, &status);
    CHECK(status);
    creation_errors(other);
    CHECK(clSetKernelArg(add, 0, sizeof(first), &first));
    CHECK(clSetKernelArg(add, 1, sizeof(one), &one));
    recording_errors(other, foreign, alien);
    CHECK(clReleaseMemObject(alien));
    CHECK(clReleaseCommandQueue(foreign));
    CHECK(clReleaseCommandQueue(other));
    CHECK(clReleaseContext(context));
}

int main(void)
{
    cl_command_queue timed, unordered;

    parity_open(&p, 0);
    if (!find_functions()) {
        puts("no cl_khr_command_buffer here");
        return 77;
    }
    if (!parity_records(p.queue)) {
        puts("the driver's cl_khr_command_buffer takes other arguments than that of the headers");
        return 77;
    }
    program = parity_program(&p, source, NULL);
    add = parity_kernel(program, "add");
    tell = parity_kernel(program, "tell");
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    first = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    second = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    timed = parity_queue(&p, CL_QUEUE_PROFILING_ENABLE);
    unordered = parity_queue(&p, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    replay(p.queue, true, 3);
    replay(p.queue, false, 1);
    replay(timed, true, 2);
    replay(unordered, true, 5);
    in_flight();
    prints();
    rects_and_images();
    queries();
    errors();
    CHECK(clReleaseCommandQueue(unordered));
    CHECK(clReleaseCommandQueue(timed));
    CHECK(clReleaseMemObject(first));
    CHECK(clReleaseMemObject(second));
    CHECK(clReleaseKernel(add));
    CHECK(clReleaseKernel(tell));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
