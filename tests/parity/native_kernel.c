/* Functions of this program enqueued as commands (clEnqueueNativeKernel): with arguments, memory objects, wait lists;
 * and between kernels of another device, if there are several. */
#include "parity.h"

enum { COUNT = 1024, SIZE = COUNT * 4 };

struct arguments {
    cl_int factor, *data, *other;
    int *calls;
};

static struct parity p;
static cl_int numbers[COUNT], result[COUNT];

static void CL_CALLBACK multiply(void *given)
{
    struct arguments *arguments = given;
    for (int i = 0; i < COUNT; i++)
        arguments->data[i] *= arguments->factor;
    (*arguments->calls)++;
}

static void CL_CALLBACK add_other(void *given)
{
    struct arguments *arguments = given;
    for (int i = 0; i < COUNT; i++)
        arguments->data[i] += arguments->other[i];
    (*arguments->calls)++;
}

static void CL_CALLBACK count(void *given)
{
    (**(int **)given)++;
}

/* The arguments are copied when the command is enqueued. */
static void enqueue(void(CL_CALLBACK *function)(void *), struct arguments arguments, cl_uint memories,
                    const cl_mem *memory, cl_uint waits, const cl_event *wait, cl_event *event)
{
    const void *places[] = {&arguments.data, &arguments.other};
    CHECK(clEnqueueNativeKernel(p.queue, function, &arguments, sizeof(arguments), memories, memory, places, waits, wait,
                                event));
}

static void run(void)
{
    static int calls;
    int *counted = &calls;
    cl_int status;
    cl_mem one = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    cl_mem two = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    cl_mem both[] = {one, two};
    cl_event gate = clCreateUserEvent(p.context, &status), event;
    CHECK(status);
    enqueue(multiply, (struct arguments){.factor = 3, .calls = &calls}, 1, both, 1, &gate, &event);
    enqueue(add_other, (struct arguments){.calls = &calls}, 2, both, 1, &event, NULL);
    CHECK(clEnqueueNativeKernel(p.queue, count, &counted, sizeof(counted), 0, NULL, NULL, 0, NULL, NULL));
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    parity_rich();
    parity_read(p.queue, one, 0, SIZE, result);
    for (int i = 0; i < COUNT; i++)
        EXPECT(result[i] == 4 * numbers[i]);
    printf("%d calls, first event is %s\n", calls, parity_status_name(parity_event_status(event)));
    parity_hash_print("result", result, SIZE);
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseEvent(gate));
    CHECK(clReleaseMemObject(one));
    CHECK(clReleaseMemObject(two));
}

/* Each round adds in a native kernel and multiplies in a kernel, on the first device and on the last, all enqueued at
 * once. Nothing waits for the event of the first native kernel; another buffer is only read by a native kernel. */
static void between(void)
{
    const char *source = "kernel void triple(global int *data) { data[get_global_id(0)] *= 3; }";
    enum { ROUNDS = 8 };
    static int calls;
    cl_device_id devices[16];
    cl_uint count = 0;
    cl_program program;
    cl_kernel triple;
    cl_mem sum, one;
    cl_event added = NULL, tripled = NULL;
    cl_int status;
    struct parity all = p;
    cl_command_queue last;

    CHECK(clGetDeviceIDs(p.platform, CL_DEVICE_TYPE_ALL, 16, devices, &count));
    all.device = devices[count - 1];
    all.context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    CHECK(status);
    last = parity_queue(&all, 0);
    all.device = devices[0];
    all.queue = parity_queue(&all, 0);
    program = clCreateProgramWithSource(all.context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    triple = parity_kernel(program, "triple");
    sum = parity_buffer(&all, CL_MEM_READ_WRITE, SIZE,
                        NULL); /* PoCL 3.1 passes pointers in the order in which the objects were created */
    parity_write(all.queue, sum, 0, SIZE, numbers);
    for (int i = 0; i < COUNT; i++)
        result[i] = 1;
    one = parity_buffer(&all, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, SIZE, result);
    parity_args(triple, 1, sizeof(sum), &sum);
    for (int round = 0; round < ROUNDS; round++) {
        struct arguments arguments = {.calls = &calls};
        const void *places[] = {&arguments.data, &arguments.other};
        const cl_mem both[] = {sum, one};
        const cl_event before = tripled;
        CHECK(clEnqueueNativeKernel(all.queue, add_other, &arguments, sizeof(arguments), 2, both, places,
                                    before != NULL, before ? &before : NULL, &added));
        CHECK(clEnqueueNDRangeKernel(last, triple, 1, NULL, (size_t[]){COUNT}, NULL, 1, &added, &tripled));
        CHECK(clFlush(all.queue));
        CHECK(clFlush(last));
        CHECK(clReleaseEvent(added));
        if (before)
            CHECK(clReleaseEvent(before));
    }
    CHECK(clEnqueueReadBuffer(all.queue, sum, CL_TRUE, 0, SIZE, result, 1, &tripled, NULL));
    for (int i = 0; i < COUNT; i++) {
        cl_int wanted = numbers[i];
        for (int round = 0; round < ROUNDS; round++)
            wanted = (wanted + 1) * 3;
        EXPECT(result[i] == wanted);
    }
    printf("between kernels: %d calls, right\n", calls);
    CHECK(clReleaseEvent(tripled));
    CHECK(clReleaseMemObject(sum));
    CHECK(clReleaseMemObject(one));
    CHECK(clReleaseKernel(triple));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(last));
    CHECK(clReleaseCommandQueue(all.queue));
    CHECK(clReleaseContext(all.context));
}

int main(void)
{
    cl_device_exec_capabilities can;
    parity_open(&p, 0);
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL));
    printf("native kernels: %s\n", can & CL_EXEC_NATIVE_KERNEL ? "yes" : "no");
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    run();
    between();
    parity_close(&p);
    return 0;
}
