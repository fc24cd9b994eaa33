/* Functions of this program enqueued as commands (clEnqueueNativeKernel): with arguments, memory objects, wait lists.
 */
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

int main(void)
{
    cl_device_exec_capabilities can;
    parity_open(&p, 0);
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL));
    printf("native kernels: %s\n", can & CL_EXEC_NATIVE_KERNEL ? "yes" : "no");
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    run();
    parity_close(&p);
    return 0;
}
