/*
 * Unified shared memory and addressed buffers in a context of two devices, which may be on two nodes: copies between
 * the devices' allocations through either queue, memory that both share, kernels that get pointers of the other node.
 * Prints the results. usage: usm_nodes [nodes | limit | lose]. nodes: the devices are on two nodes. lose: prints
 * "ready" and waits for a line, during which the second node is killed.
 */
#include "tests/parity/parity.h"

#include "base/cl_ext.h"

enum { SIZE = 20 << 20, SMALL = 4096 }; /* SIZE: more than is staged at a time */

static const char *source = "kernel void add(global int *data, int what) { data[get_global_id(0)] += what; }\n"
                            "kernel void both(global ulong *table, int what)\n"
                            "{\n"
                            "    ((global int *)table[0])[get_global_id(0)] += what;\n"
                            "    ((global int *)table[1])[get_global_id(0)] -= what;\n"
                            "}\n";

static clDeviceMemAllocINTEL_fn device_alloc;
static clSharedMemAllocINTEL_fn shared_alloc;
static clMemFreeINTEL_fn mem_free;
static clGetMemAllocInfoINTEL_fn mem_info;
static clEnqueueMemcpyINTEL_fn copy;
static clEnqueueMemFillINTEL_fn fill;
static clSetKernelArgMemPointerINTEL_fn set_pointer;
static clSetKernelArgDevicePointerEXT_fn set_address;
static cl_device_id devices[2];
static cl_command_queue queues[2];
static cl_context context;
static cl_program program;
static unsigned char data[SIZE], got[SIZE];

static void *function(cl_platform_id platform, const char *name)
{
    void *found = clGetExtensionFunctionAddressForPlatform(platform, name);

    EXPECT(found != NULL);
    return found;
}

static void open_all(void)
{
    cl_platform_id platform;
    cl_int status;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL));
    context = clCreateContext(NULL, 2, devices, NULL, NULL, &status);
    CHECK(status);
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i], NULL, &status);
        CHECK(status);
    }
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    device_alloc = (clDeviceMemAllocINTEL_fn)function(platform, "clDeviceMemAllocINTEL");
    shared_alloc = (clSharedMemAllocINTEL_fn)function(platform, "clSharedMemAllocINTEL");
    mem_free = (clMemFreeINTEL_fn)function(platform, "clMemFreeINTEL");
    mem_info = (clGetMemAllocInfoINTEL_fn)function(platform, "clGetMemAllocInfoINTEL");
    copy = (clEnqueueMemcpyINTEL_fn)function(platform, "clEnqueueMemcpyINTEL");
    fill = (clEnqueueMemFillINTEL_fn)function(platform, "clEnqueueMemFillINTEL");
    set_pointer = (clSetKernelArgMemPointerINTEL_fn)function(platform, "clSetKernelArgMemPointerINTEL");
    set_address = (clSetKernelArgDevicePointerEXT_fn)function(platform, "clSetKernelArgDevicePointerEXT");
}

static unsigned char *on(int which, size_t size)
{
    cl_int status;
    cl_device_id device = NULL;
    unsigned char *memory = device_alloc(context, devices[which], NULL, size, 0, &status);

    CHECK(status);
    CHECK(mem_info(context, memory + size / 2, CL_MEM_ALLOC_DEVICE_INTEL, sizeof(device), &device, NULL));
    EXPECT(device == devices[which]);
    return memory;
}

/* Copies work through either device's queue, whichever device has the memory. */
static void copies_try(void)
{
    unsigned char *memory[2] = {on(0, SIZE), on(1, SIZE)}, pattern = 7;
    cl_event event;

    for (int which = 0; which < 2; which++) {
        for (int by = 0; by < 2; by++) {
            parity_random_bytes(data, SIZE, (uint32_t)(by + 2 * which));
            CHECK(fill(queues[!by], memory[which], &pattern, 1, SIZE, 0, NULL, &event));
            CHECK(copy(queues[by], CL_FALSE, memory[which] + 1, data, SIZE - 1, 1, &event, NULL));
            CHECK(copy(queues[by], CL_FALSE, memory[!which], memory[which], SIZE, 0, NULL, NULL));
            CHECK(copy(queues[by], CL_TRUE, got, memory[!which], SIZE, 0, NULL, NULL));
            EXPECT(got[0] == pattern && !memcmp(got + 1, data, SIZE - 1));
            CHECK(clFinish(queues[by]));
            CHECK(clReleaseEvent(event));
        }
    }
    CHECK(mem_free(context, memory[0]));
    CHECK(mem_free(context, memory[1]));
    printf("copies are right\n");
}

static void shared_try(void)
{
    cl_device_unified_shared_memory_capabilities_intel can[2];
    cl_kernel add = parity_kernel(program, "add");
    cl_int *memory, status;

    for (int i = 0; i < 2; i++)
        CHECK(clGetDeviceInfo(devices[i], CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL, sizeof(*can), &can[i],
                              NULL));
    if (can[0] && can[1]) {
        memory = shared_alloc(context, NULL, NULL, SMALL, 0, &status);
        CHECK(status);
        memset(memory, 0, SMALL);
        CHECK(set_pointer(add, 0, memory));
        for (cl_int round = 1; round <= 10; round++) {
            CHECK(clSetKernelArg(add, 1, sizeof(round), &round));
            parity_launch(queues[round % 2], add, 1, (size_t[]){SMALL / 4}, NULL);
        }
        EXPECT(memory[0] == 55 && memory[SMALL / 4 - 1] == 55);
        CHECK(mem_free(context, memory));
    } else {
        EXPECT(!shared_alloc(context, NULL, NULL, SMALL, 0, &status) && status);
    }
    CHECK(clReleaseKernel(add));
    printf("shared memory is right\n");
}

/* Each node's kernels use its own memory; a launch with another node's memory is refused, and nothing else fails. */
static void kernels_try(bool strangers)
{
    cl_kernel add = parity_kernel(program, "add");
    cl_event event = NULL;
    cl_int zero = 0, what = 5, result[2], status;
    unsigned char *memory[2] = {on(0, SMALL), on(1, SMALL)};

    CHECK(clSetKernelArg(add, 1, sizeof(what), &what));
    for (int i = 0; i < 2; i++) {
        CHECK(fill(queues[i], memory[i], &zero, sizeof(zero), SMALL, 0, NULL, NULL));
        CHECK(set_pointer(add, 0, memory[i] + 4));
        CHECK(clEnqueueNDRangeKernel(queues[i], add, 1, NULL, (size_t[]){100}, NULL, 0, NULL, NULL));
        CHECK(copy(queues[i], CL_TRUE, result, memory[i], sizeof(result), 0, NULL, NULL));
        EXPECT(result[0] == 0 && result[1] == what);
    }
    if (strangers) {
        CHECK(set_pointer(add, 0, memory[0]));
        status = clEnqueueNDRangeKernel(queues[1], add, 1, NULL, (size_t[]){100}, NULL, 0, NULL, &event);
        EXPECT(status || clWaitForEvents(1, &event));
        if (event)
            CHECK(clReleaseEvent(event));
        parity_launch(queues[0], add, 1, (size_t[]){100}, NULL);
    }
    CHECK(mem_free(context, memory[0]));
    CHECK(mem_free(context, memory[1]));
    CHECK(clReleaseKernel(add));
    printf("kernels are right\n");
}

/* Passes the addresses of two buffers in a third one, to each device in turn. */
static void addresses_try(void)
{
    const cl_mem_properties properties[] = {CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT, CL_TRUE, 0};
    cl_mem_device_address_ext addresses[2][2], table[2];
    cl_kernel both = parity_kernel(program, "both"), add = parity_kernel(program, "add");
    static cl_int numbers[2][SMALL / 4];
    cl_mem buffers[2], tables;
    cl_int status, what = 3;

    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < SMALL / 4; j++)
            numbers[i][j] = j;
        buffers[i] = clCreateBufferWithProperties(context, properties, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SMALL,
                                                  numbers[i], &status);
        CHECK(status);
        CHECK(clGetMemObjectInfo(buffers[i], CL_MEM_DEVICE_ADDRESS_EXT, sizeof(addresses[i]), addresses[i], NULL));
        EXPECT(addresses[i][0] && addresses[i][1]);
    }
    CHECK(clSetKernelArg(both, 1, sizeof(what), &what));
    for (int round = 0; round < 4; round++) {
        const int which = round % 2;

        for (int i = 0; i < 2; i++)
            table[i] = addresses[i][which];
        tables = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(table), table, &status);
        CHECK(status);
        CHECK(clSetKernelExecInfo(both, CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT, sizeof(table), table));
        CHECK(clSetKernelArg(both, 0, sizeof(tables), &tables));
        parity_launch(queues[which], both, 1, (size_t[]){SMALL / 4}, NULL);
        CHECK(set_address(add, 0, addresses[0][which]));
        CHECK(clSetKernelArg(add, 1, sizeof(what), &(cl_int){100}));
        parity_launch(queues[which], add, 1, (size_t[]){1}, NULL);
        CHECK(clReleaseMemObject(tables));
    }
    for (int i = 0; i < 2; i++) {
        parity_read(queues[i], buffers[i], 0, SMALL, numbers[i]);
        EXPECT(numbers[i][0] == (i ? -4 * what : 4 * what + 400));
        EXPECT(numbers[i][1000] == 1000 + (i ? -4 * what : 4 * what));
        CHECK(clReleaseMemObject(buffers[i]));
    }
    CHECK(clReleaseKernel(both));
    CHECK(clReleaseKernel(add));
    printf("addresses are right\n");
}

/* The first node's memory still exists; commands that need the second's fail; all is freed. */
static void lose(void)
{
    unsigned char *memory[2] = {on(0, SMALL), on(1, SMALL)}, byte = 9;
    cl_unified_shared_memory_type_intel type = 0;

    CHECK(copy(queues[0], CL_TRUE, memory[0], &byte, 1, 0, NULL, NULL));
    CHECK(copy(queues[1], CL_TRUE, memory[1], &byte, 1, 0, NULL, NULL));
    printf("ready\n");
    fflush(stdout);
    (void)getchar();
    byte = 0;
    EXPECT(copy(queues[1], CL_TRUE, &byte, memory[1], 1, 0, NULL, NULL) < 0);
    EXPECT(copy(queues[0], CL_TRUE, memory[0], memory[1], 1, 0, NULL, NULL) < 0);
    CHECK(copy(queues[0], CL_TRUE, &byte, memory[0], 1, 0, NULL, NULL));
    EXPECT(byte == 9);
    CHECK(mem_free(context, memory[1]));
    CHECK(mem_info(context, memory[1], CL_MEM_ALLOC_TYPE_INTEL, sizeof(type), &type, NULL));
    EXPECT(type == CL_MEM_TYPE_UNKNOWN_INTEL);
    CHECK(mem_free(context, memory[0]));
    printf("freed\n");
}

/* One device's memory is none of the other's: the limit is that of each device, and counts what is in a context of both
 * for both. */
static void limit_of_each(const size_t size)
{
    cl_int status[4];
    cl_context contexts[2];
    cl_mem buffers[2];
    void *memory[2];

    memory[0] = device_alloc(context, devices[0], NULL, size, 0, &status[0]);
    memory[1] = device_alloc(context, devices[1], NULL, size, 0, &status[1]);
    (void)device_alloc(context, devices[1], NULL, size, 0, &status[2]);
    CHECK(mem_free(context, memory[0]));
    (void)shared_alloc(context, devices[0], NULL, size, 0, &status[3]);
    printf("%d %d %d %d\n", status[0], status[1], status[2], status[3]);
    CHECK(mem_free(context, memory[1]));
    for (int i = 0; i < 2; i++) {
        contexts[i] = clCreateContext(NULL, 1, &devices[i], NULL, NULL, &status[0]);
        CHECK(status[0]);
        buffers[i] = clCreateBuffer(contexts[i], CL_MEM_READ_WRITE, size, NULL, &status[i]);
    }
    (void)clCreateBuffer(contexts[1], CL_MEM_READ_WRITE, size, NULL, &status[2]);
    (void)clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status[3]);
    printf("%d %d %d %d\n", status[0], status[1], status[2], status[3]);
    for (int i = 0; i < 2; i++) {
        CHECK(clReleaseMemObject(buffers[i]));
        CHECK(clReleaseContext(contexts[i]));
    }
}

/* The node's limit for the session has room for one of the allocations at a time, on each of its devices. */
static void limit(void)
{
    const cl_mem_properties properties[] = {CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT, CL_TRUE, 0};
    const size_t size = 40000000;
    cl_int status[4];
    void *memory = device_alloc(context, devices[0], NULL, size, 0, &status[0]);
    cl_mem buffer;

    (void)device_alloc(context, devices[0], NULL, size, 0, &status[1]);
    (void)shared_alloc(context, devices[0], NULL, size, 0, &status[2]);
    (void)clCreateBufferWithProperties(context, properties, CL_MEM_READ_WRITE, size, NULL, &status[3]);
    printf("%d %d %d %d\n", status[0], status[1], status[2], status[3]);
    CHECK(mem_free(context, memory));
    memory = shared_alloc(context, devices[0], NULL, size, 0, &status[0]);
    (void)device_alloc(context, devices[0], NULL, size, 0, &status[1]);
    CHECK(mem_free(context, memory));
    buffer = clCreateBufferWithProperties(context, properties, CL_MEM_READ_WRITE, size, NULL, &status[2]);
    (void)device_alloc(context, devices[0], NULL, size, 0, &status[3]);
    printf("%d %d %d %d\n", status[0], status[1], status[2], status[3]);
    CHECK(clReleaseMemObject(buffer));
    limit_of_each(size);
}

int main(int count, char **words)
{
    const bool loses = count > 1 && !strcmp(words[1], "lose"), nodes = count > 1 && !strcmp(words[1], "nodes");

    open_all();
    if (count > 1 && !strcmp(words[1], "limit")) {
        limit();
        return 0;
    }
    if (loses) {
        lose();
        return 0;
    }
    copies_try();
    shared_try();
    kernels_try(nodes);
    addresses_try();
    CHECK(clReleaseProgram(program));
    for (int i = 0; i < 2; i++)
        CHECK(clReleaseCommandQueue(queues[i]));
    CHECK(clReleaseContext(context));
    return 0;
}
