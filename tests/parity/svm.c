/*
 * Shared virtual memory: a list whose pointers a kernel follows and writes, fine-grained memory that program and kernel
 * use at the same time, and every command on SVM.
 */
#include "parity.h"

enum { COUNT = 1000 };

struct item {
    cl_int value;
    struct item *next;
};

static const char *source = "struct item { int value; global struct item *next; };\n"
                            "kernel void double_all(global struct item *first)\n"
                            "{\n"
                            "    for (global struct item *at = first; at; at = at->next)\n"
                            "        at->value *= 2;\n"
                            "}\n"
                            "kernel void link(global struct item *items)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    items[i].value = i;\n"
                            "    items[i].next = i + 1 < get_global_size(0) ? &items[i + 1] : 0;\n"
                            "}\n"
                            "kernel void add(global int *data, int what)\n"
                            "{\n"
                            "    data[get_global_id(0)] += what;\n"
                            "}\n";

static struct parity p;
static cl_program program;

static void CL_CALLBACK freed(cl_command_queue queue, cl_uint count, void *memory[], void *data)
{
    for (cl_uint i = 0; i < count; i++)
        clSVMFree(p.context, memory[i]);
    *(volatile cl_uint *)data = queue == p.queue ? count : 99;
}

static void *memory_new(cl_svm_mem_flags flags, size_t size)
{
    void *memory = clSVMAlloc(p.context, flags, size, 0);
    EXPECT(memory != NULL);
    EXPECT((uintptr_t)memory % 16 == 0);
    return memory;
}

static void lists_try(void)
{
    struct item *items = memory_new(CL_MEM_READ_WRITE, COUNT * sizeof(*items));
    cl_kernel twice = parity_kernel(program, "double_all"), link = parity_kernel(program, "link");
    cl_long sum = 0;
    CHECK(clSetKernelArgSVMPointer(link, 0, items));
    CHECK(clEnqueueNDRangeKernel(p.queue, link, 1, NULL, (size_t[]){COUNT}, (size_t[]){8}, 0, NULL, NULL));
    CHECK(clSetKernelArgSVMPointer(twice, 0, &items[10]));
    CHECK(clSetKernelExecInfo(twice, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(items), &items));
    CHECK(clEnqueueNDRangeKernel(p.queue, twice, 1, NULL, (size_t[]){1}, (size_t[]){1}, 0, NULL, NULL));
    CHECK(clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, items, COUNT * sizeof(*items), 0, NULL, NULL));
    for (struct item *at = items; at; at = at->next)
        sum += at->value;
    printf("sum of the list: %ld\n", (long)sum);
    parity_rich();
    items[20].next = NULL;
    CHECK(clEnqueueSVMUnmap(p.queue, items, 0, NULL, NULL));
    CHECK(clEnqueueNDRangeKernel(p.queue, twice, 1, NULL, (size_t[]){1}, (size_t[]){1}, 0, NULL, NULL));
    CHECK(clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, items, COUNT * sizeof(*items), 0, NULL, NULL));
    printf("%d %d %d\n", items[9].value, items[20].value, items[21].value);
    CHECK(clEnqueueSVMUnmap(p.queue, items, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
    CHECK(clReleaseKernel(twice));
    CHECK(clReleaseKernel(link));
    clSVMFree(p.context, items);
}

static void commands_try(void)
{
    cl_int *one = memory_new(CL_MEM_READ_WRITE, 4096), *two = memory_new(CL_MEM_READ_WRITE, 4096), pattern[2] = {3, 4};
    static cl_int own[1024];
    volatile cl_uint count = 0;
    cl_event events[4];
    cl_command_type type;
    cl_kernel add = parity_kernel(program, "add");
    void *both[] = {one, two};
    CHECK(clEnqueueSVMMemFill(p.queue, one, pattern, sizeof(pattern), 4096, 0, NULL, &events[0]));
    CHECK(clSetKernelArgSVMPointer(add, 0, one + 1));
    CHECK(clSetKernelArg(add, 1, sizeof(cl_int), &(cl_int){10}));
    CHECK(clEnqueueNDRangeKernel(p.queue, add, 1, NULL, (size_t[]){16}, NULL, 0, NULL, NULL));
    CHECK(clEnqueueSVMMemcpy(p.queue, CL_FALSE, two, one, 4096, 0, NULL, &events[1]));
    CHECK(clEnqueueSVMMemcpy(p.queue, CL_TRUE, own, two, 4096, 1, &events[1], NULL));
    printf("%d %d %d %d %d\n", own[0], own[1], own[2], own[16], own[17]);
    if (parity_version(&p) >= 210)
        CHECK(clEnqueueSVMMigrateMem(p.queue, 2, (const void **)both, NULL, 0, 0, NULL, &events[2]));
    else
        CHECK(clEnqueueMarkerWithWaitList(p.queue, 0, NULL, &events[2]));
    CHECK(clEnqueueSVMFree(p.queue, 2, both, freed, (void *)&count, 0, NULL, &events[3]));
    CHECK(clFinish(p.queue));
    printf("%u freed\n", count);
    for (int i = 0; i < 4; i++) {
        CHECK(clGetEventInfo(events[i], CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
        printf("type 0x%x, %s\n", type, parity_status_name(parity_event_status(events[i])));
        CHECK(clReleaseEvent(events[i]));
    }
    CHECK(clReleaseKernel(add));
}

/* The program writes what the kernel reads, without a command in between. */
static void fine_try(cl_device_svm_capabilities can)
{
    cl_kernel add = parity_kernel(program, "add");
    if (!(can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER))
        return;
    cl_int *data = memory_new(CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, COUNT * sizeof(*data));
    CHECK(clSetKernelArgSVMPointer(add, 0, data));
    for (cl_int round = 1; round <= 10; round++) {
        for (int i = 0; i < COUNT; i++)
            data[i] = i * round;
        CHECK(clSetKernelArg(add, 1, sizeof(round), &round));
        parity_launch(p.queue, add, 1, (size_t[]){COUNT}, (size_t[]){8});
        for (int i = 0; i < COUNT; i++)
            EXPECT(data[i] == i * round + round);
    }
    printf("fine grain is right\n");
    CHECK(clReleaseKernel(add));
    clSVMFree(p.context, data);
}

/* Buffers over SVM: kernels link list items in them by the program's pointers; the result is visible in a map and
 * through the pointer. */
static void buffers_try(void)
{
    const size_t half = COUNT * sizeof(struct item);
    struct item *items = memory_new(CL_MEM_READ_WRITE, 2 * half), *seen, *part_seen;
    cl_kernel link = parity_kernel(program, "link"), twice = parity_kernel(program, "double_all");
    cl_mem buffer = parity_buffer(&p, CL_MEM_USE_HOST_PTR, 2 * half, items), part;
    cl_buffer_region region = {half, half};
    cl_int status, first = 77, back = 0;
    cl_bool uses;
    void *pointer;
    cl_long sum = 0;

    part = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    if (status == CL_MISALIGNED_SUB_BUFFER_OFFSET) { /* 16,000 bytes are 125 * 128 */
        printf("sub-buffers are aligned more strictly here\n");
        return;
    }
    CHECK(status);
    CHECK(clGetMemObjectInfo(buffer, CL_MEM_USES_SVM_POINTER, sizeof(uses), &uses, NULL));
    CHECK(clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof(pointer), &pointer, NULL));
    printf("uses SVM: %d, its host pointer: %d\n", uses, pointer == items);
    CHECK(clSetKernelArg(link, 0, sizeof(part), &part));
    CHECK(clEnqueueNDRangeKernel(p.queue, link, 1, NULL, (size_t[]){COUNT}, (size_t[]){8}, 0, NULL, NULL));
    CHECK(clSetKernelArgSVMPointer(twice, 0, items + COUNT));
    CHECK(clEnqueueNDRangeKernel(p.queue, twice, 1, NULL, (size_t[]){1}, (size_t[]){1}, 0, NULL, NULL));
    seen =
        clEnqueueMapBuffer(p.queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 2 * half, 0, NULL, NULL, &status);
    CHECK(status);
    EXPECT(seen == items);
    for (struct item *at = seen + COUNT; at; at = at->next)
        sum += at->value;
    printf("sum of the list in the part: %ld\n", (long)sum);
    seen[COUNT].value = 500;
    CHECK(clEnqueueUnmapMemObject(p.queue, buffer, seen, 0, NULL, NULL));
    part_seen = clEnqueueMapBuffer(p.queue, part, CL_FALSE, CL_MAP_READ, 0, half, 0, NULL, NULL, &status);
    CHECK(status);
    CHECK(clFinish(p.queue));
    EXPECT(part_seen == items + COUNT);
    printf("in the part: %d\n", part_seen->value);
    CHECK(clEnqueueUnmapMemObject(p.queue, part, part_seen, 0, NULL, NULL));
    parity_write(p.queue, buffer, 0, sizeof(first), &first);
    parity_read(p.queue, buffer, 0, sizeof(back), &back);
    CHECK(clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, items, sizeof(*items), 0, NULL, NULL));
    printf("written, read and seen: %d %d\n", back, items[0].value);
    CHECK(clEnqueueSVMUnmap(p.queue, items, 0, NULL, NULL));
    CHECK(clReleaseKernel(link));
    CHECK(clReleaseKernel(twice));
    CHECK(clReleaseMemObject(part));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clFinish(p.queue));
    clSVMFree(p.context, items);
}

/* Many allocations of different sizes, freed in another order, keep their contents. */
static void allocations_try(void)
{
    enum { MANY = 200 };
    static unsigned char *blocks[MANY];
    uint32_t state = 7;
    for (int i = 0; i < MANY; i++) {
        blocks[i] = clSVMAlloc(p.context, CL_MEM_READ_WRITE, 100 + 997 * i, 1u << i % 8);
        EXPECT(blocks[i] && (uintptr_t)blocks[i] % (1u << i % 8) == 0);
        memset(blocks[i], i, 100 + 997 * i);
    }
    for (int i = 0; i < 1000; i++) {
        int at = (int)(parity_random(&state) % MANY);
        EXPECT(blocks[at][0] == (unsigned char)at && blocks[at][99 + 997 * at] == (unsigned char)at);
        clSVMFree(p.context, blocks[at]);
        blocks[at] = memory_new(CL_MEM_READ_WRITE, 100 + 997 * at);
        memset(blocks[at], at, 100 + 997 * at);
    }
    for (int i = 0; i < MANY; i++)
        clSVMFree(p.context, blocks[i]);
    printf("allocations are apart\n");
}

static void errors_try(void)
{
    int number = 0;
    void *memory = memory_new(CL_MEM_READ_WRITE, 64), *none = NULL;
    cl_kernel add = parity_kernel(program, "add");
    printf("size 0: %s\n", clSVMAlloc(p.context, CL_MEM_READ_WRITE, 0, 0) ? "something" : "nothing");
    printf("alignment 3: %s\n", clSVMAlloc(p.context, CL_MEM_READ_WRITE, 64, 3) ? "something" : "nothing");
    printf("NULL context: %s\n", clSVMAlloc(NULL, CL_MEM_READ_WRITE, 64, 0) ? "something" : "nothing");
    printf("flags at odds: %s\n",
           clSVMAlloc(p.context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 64, 0) ? "something" : "nothing");
    printf("atomics alone: %s\n", clSVMAlloc(p.context, CL_MEM_SVM_ATOMICS, 64, 0) ? "something" : "nothing");
    clSVMFree(p.context, NULL);
    SHOW("clSetKernelArgSVMPointer(index)", clSetKernelArgSVMPointer(add, 7, memory));
    SHOW("clSetKernelArgSVMPointer(NULL pointer)", clSetKernelArgSVMPointer(add, 0, NULL));
    SHOW("clEnqueueSVMMap(NULL queue)", clEnqueueSVMMap(NULL, CL_TRUE, CL_MAP_READ, memory, 64, 0, NULL, NULL));
    SHOW("clEnqueueSVMMap(NULL)", clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, NULL, 64, 0, NULL, NULL));
    SHOW("clEnqueueSVMMap(size 0)", clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, memory, 0, 0, NULL, NULL));
    SHOW("clEnqueueSVMUnmap(NULL)", clEnqueueSVMUnmap(p.queue, NULL, 0, NULL, NULL));
    SHOW("clEnqueueSVMMemcpy(NULL)", clEnqueueSVMMemcpy(p.queue, CL_TRUE, NULL, memory, 64, 0, NULL, NULL));
    SHOW("clEnqueueSVMMemcpy(overlap)",
         clEnqueueSVMMemcpy(p.queue, CL_TRUE, (char *)memory + 8, memory, 32, 0, NULL, NULL));
    SHOW("clEnqueueSVMMemFill(pattern of 3)", clEnqueueSVMMemFill(p.queue, memory, &number, 3, 63, 0, NULL, NULL));
    SHOW("clEnqueueSVMMemFill(no multiple)", clEnqueueSVMMemFill(p.queue, memory, &number, 4, 30, 0, NULL, NULL));
    SHOW("clEnqueueSVMFree(none)", clEnqueueSVMFree(p.queue, 0, &none, NULL, NULL, 0, NULL, NULL));
    if (parity_version(&p) >= 210)
        SHOW("clEnqueueSVMMigrateMem(none)", clEnqueueSVMMigrateMem(p.queue, 0, NULL, NULL, 0, 0, NULL, NULL));
    CHECK(clReleaseKernel(add));
    clSVMFree(p.context, memory);
}

int main(void)
{
    cl_device_svm_capabilities can = 0;
    parity_open(&p, 0);
    if (parity_version(&p) < 200) {
        SHOW("capabilities", clGetDeviceInfo(p.device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL));
        return 0;
    }
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL));
    /* VOCL does not offer fine-grained system SVM, which PoCL 6 has */
    printf("capabilities 0x%lx\n", (unsigned long)(can & ~(cl_device_svm_capabilities)CL_DEVICE_SVM_FINE_GRAIN_SYSTEM));
    if (!(can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
        return 0;
    program = parity_program(&p, source, NULL);
    lists_try();
    commands_try();
    fine_try(can);
    buffers_try();
    allocations_try();
    errors_try();
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
