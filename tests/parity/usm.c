/*
 * Unified shared memory (cl_intel_unified_shared_memory): allocations of each kind and their queries, copies between
 * all kinds, fills, hints, and kernels that follow pointers. Lines that begin with "shared:" are about memory that the
 * program accesses itself, which a device of another host does not have.
 */
#include "parity.h"

#define FUNCTIONS(FUNCTION)                                                                                            \
    FUNCTION(clHostMemAllocINTEL)                                                                                      \
    FUNCTION(clDeviceMemAllocINTEL)                                                                                    \
    FUNCTION(clSharedMemAllocINTEL)                                                                                    \
    FUNCTION(clMemFreeINTEL)                                                                                           \
    FUNCTION(clMemBlockingFreeINTEL)                                                                                   \
    FUNCTION(clGetMemAllocInfoINTEL)                                                                                   \
    FUNCTION(clSetKernelArgMemPointerINTEL)                                                                            \
    FUNCTION(clEnqueueMemFillINTEL)                                                                                    \
    FUNCTION(clEnqueueMemcpyINTEL)                                                                                     \
    FUNCTION(clEnqueueMigrateMemINTEL)                                                                                 \
    FUNCTION(clEnqueueMemAdviseINTEL)

typedef cl_int(CL_API_CALL *clMemBlockingFreeINTEL_fn_)(cl_context, void *);
#define clMemBlockingFreeINTEL_fn clMemBlockingFreeINTEL_fn_
#define POINTER(name) static name##_fn name##_;
FUNCTIONS(POINTER)

enum { COUNT = 1000, LARGE = 3 << 20 };

static const char *source = "struct item { int value; global struct item *next; };\n"
                            "kernel void link(global struct item *items)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    items[i].value = i;\n"
                            "    items[i].next = i + 1 < get_global_size(0) ? &items[i + 1] : 0;\n"
                            "}\n"
                            "kernel void sum(global struct item *first, global int *result)\n"
                            "{\n"
                            "    int all = 0;\n"
                            "    for (global struct item *at = first; at; at = at->next)\n"
                            "        all += at->value;\n"
                            "    *result = all;\n"
                            "}\n"
                            "kernel void add(global int *data, int what)\n"
                            "{\n"
                            "    data[get_global_id(0)] += what;\n"
                            "}\n"
                            "kernel void reach(global ulong *table, int what)\n"
                            "{\n"
                            "    ((global int *)table[get_global_id(0)])[5] = what;\n"
                            "}\n"
                            "kernel void count(global volatile int *counter)\n"
                            "{\n"
                            "    atomic_add(counter, 1);\n"
                            "}\n";

static struct parity p;
static cl_program program;
static bool shared;
static unsigned char wanted[LARGE], got[LARGE];

static const char *type_name(cl_unified_shared_memory_type_intel type)
{
    switch (type) {
    case CL_MEM_TYPE_UNKNOWN_INTEL:
        return "unknown";
    case CL_MEM_TYPE_HOST_INTEL:
        return "host";
    case CL_MEM_TYPE_DEVICE_INTEL:
        return "device";
    case CL_MEM_TYPE_SHARED_INTEL:
        return "shared";
    }
    return "something else";
}

static void *alloc(cl_unified_shared_memory_type_intel type, size_t size)
{
    void *memory = NULL;
    cl_int status = CL_SUCCESS;

    if (type == CL_MEM_TYPE_DEVICE_INTEL)
        memory = clDeviceMemAllocINTEL_(p.context, p.device, NULL, size, 0, &status);
    else if (type == CL_MEM_TYPE_HOST_INTEL)
        memory = clHostMemAllocINTEL_(p.context, NULL, size, 0, &status);
    else
        memory = clSharedMemAllocINTEL_(p.context, p.device, NULL, size, 0, &status);
    CHECK(status);
    EXPECT(memory != NULL);
    return memory;
}

static void info_show(const char *name, const void *pointer, const void *start)
{
    cl_unified_shared_memory_type_intel type = 0;
    cl_device_id device = NULL;
    cl_mem_alloc_flags_intel flags = 99;
    size_t size = 99, length = 0;
    void *base = &base;

    CHECK(clGetMemAllocInfoINTEL_(p.context, pointer, CL_MEM_ALLOC_TYPE_INTEL, sizeof(type), &type, &length));
    EXPECT(length == sizeof(type));
    CHECK(clGetMemAllocInfoINTEL_(p.context, pointer, CL_MEM_ALLOC_BASE_PTR_INTEL, sizeof(base), &base, NULL));
    CHECK(clGetMemAllocInfoINTEL_(p.context, pointer, CL_MEM_ALLOC_SIZE_INTEL, sizeof(size), &size, NULL));
    CHECK(clGetMemAllocInfoINTEL_(p.context, pointer, CL_MEM_ALLOC_DEVICE_INTEL, sizeof(device), &device, NULL));
    CHECK(clGetMemAllocInfoINTEL_(p.context, pointer, CL_MEM_ALLOC_FLAGS_INTEL, sizeof(flags), &flags, NULL));
    printf("%s: %s, base %s, %zu bytes, flags %lu", name, type_name(type),
           base == start ? "right"
           : base        ? "wrong"
                         : "none",
           size, (unsigned long)flags);
    if (type != CL_MEM_TYPE_HOST_INTEL) /* PoCL names a device for it */
        printf(", device %s", device == p.device ? "right" : device ? "wrong" : "none");
    printf("\n");
}

static void infos_try(cl_unified_shared_memory_type_intel type, const char *prefix)
{
    char name[64];
    unsigned char *memory = alloc(type, 10000);
    cl_uint number;

    snprintf(name, sizeof(name), "%sfirst byte", prefix);
    info_show(name, memory, memory);
    snprintf(name, sizeof(name), "%slast byte", prefix);
    info_show(name, memory + 9999, memory);
    snprintf(name, sizeof(name), "%sbehind", prefix);
    info_show(name, memory + (1 << 20), memory);
    printf("%stoo small: %s\n", prefix,
           parity_error_name(clGetMemAllocInfoINTEL_(p.context, memory, CL_MEM_ALLOC_SIZE_INTEL, 2, &number, NULL)));
    printf("%sno such question: %s\n", prefix,
           parity_error_name(clGetMemAllocInfoINTEL_(p.context, memory, 0x4190, sizeof(number), &number, NULL)));
    printf("%sfree what is within: %s\n", prefix, parity_error_name(clMemFreeINTEL_(p.context, memory + 16)));
    CHECK(clMemFreeINTEL_(p.context, memory));
    snprintf(name, sizeof(name), "%sfreed", prefix);
    info_show(name, memory, memory);
    printf("%sfree it again: %s\n", prefix, parity_error_name(clMemFreeINTEL_(p.context, memory)));
}

static void errors_try(void)
{
    const cl_mem_properties_intel unknown[] = {0x1234, 1, 0},
                                  flags[] = {CL_MEM_ALLOC_FLAGS_INTEL, CL_MEM_ALLOC_WRITE_COMBINED_INTEL, 0},
                                  many[] = {CL_MEM_ALLOC_FLAGS_INTEL, 1 << 10, 0},
                                  placed[] = {CL_MEM_ALLOC_FLAGS_INTEL, CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL, 0};
    unsigned char *memory = alloc(CL_MEM_TYPE_DEVICE_INTEL, 4096), *other;
    cl_kernel add = parity_kernel(program, "add");
    cl_mem_alloc_flags_intel found = 0;
    cl_bool flag = CL_TRUE;
    cl_int status;

    SHOW_NEW("no bytes", clDeviceMemAllocINTEL_(p.context, p.device, NULL, 0, 0, &status));
    SHOW_NEW("far too many", clDeviceMemAllocINTEL_(p.context, p.device, NULL, SIZE_MAX / 2, 0, &status));
    SHOW_NEW("alignment 3", clDeviceMemAllocINTEL_(p.context, p.device, NULL, 64, 3, &status));
    SHOW_NEW("no device", clDeviceMemAllocINTEL_(p.context, NULL, NULL, 64, 0, &status));
    SHOW_NEW("unknown property", clDeviceMemAllocINTEL_(p.context, p.device, unknown, 64, 0, &status));
    SHOW_NEW("unknown flag", clDeviceMemAllocINTEL_(p.context, p.device, many, 64, 0, &status));
    SHOW_NEW("placement", clDeviceMemAllocINTEL_(p.context, p.device, placed, 64, 0, &status));
    other = clDeviceMemAllocINTEL_(p.context, p.device, flags, 64, 64, &status);
    CHECK(status);
    CHECK(clGetMemAllocInfoINTEL_(p.context, other, CL_MEM_ALLOC_FLAGS_INTEL, sizeof(found), &found, NULL));
    printf("flags %lu, aligned %d\n", (unsigned long)found, (uintptr_t)other % 64 == 0);
    CHECK(clMemFreeINTEL_(p.context, other));
    SHOW("free of nothing", clMemFreeINTEL_(p.context, NULL));
    SHOW("free of the program's", clMemFreeINTEL_(p.context, got));
    SHOW("blocking free of the program's", clMemBlockingFreeINTEL_(p.context, got));
    info_show("the program's", got, got);
    SHOW("copy to nothing", clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, NULL, got, 4, 0, NULL, NULL));
    SHOW("copy of nothing", clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, memory, NULL, 4, 0, NULL, NULL));
    SHOW("copy of no bytes", clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, memory, got, 0, 0, NULL, NULL));
    SHOW("copy over itself", clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, memory + 8, memory, 16, 0, NULL, NULL));
    SHOW("fill with nothing", clEnqueueMemFillINTEL_(p.queue, memory, NULL, 4, 16, 0, NULL, NULL));
    SHOW("fill by threes", clEnqueueMemFillINTEL_(p.queue, memory, got, 3, 15, 0, NULL, NULL));
    SHOW("fill in part", clEnqueueMemFillINTEL_(p.queue, memory, got, 8, 12, 0, NULL, NULL));
    SHOW("argument 7", clSetKernelArgMemPointerINTEL_(add, 7, memory));
    SHOW("argument without kernel", clSetKernelArgMemPointerINTEL_(NULL, 0, memory));
    SHOW("argument that is a number", clSetKernelArgMemPointerINTEL_(add, 1, memory));
    SHOW("no pointers", clSetKernelExecInfo(add, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, 0, NULL));
    SHOW("indirect", clSetKernelExecInfo(add, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, sizeof(flag), &flag));
    CHECK(clReleaseKernel(add));
    CHECK(clMemFreeINTEL_(p.context, memory));
}

/* Copies into the middle of two allocations and back; the bytes around stay unchanged. */
static void copies_try(cl_unified_shared_memory_type_intel first, cl_unified_shared_memory_type_intel second)
{
    static const size_t sizes[] = {1, 7, 1000, 16384, 16385, 65536, 1 << 20, LARGE - 128};
    unsigned char *one = alloc(first, LARGE), *two = alloc(second, LARGE), pattern = 0xa5;

    for (size_t i = 0; i < PARITY_COUNT(sizes); i++) {
        const size_t size = sizes[i];
        cl_event events[2], last;

        parity_random_bytes(wanted, size, (uint32_t)size);
        memset(got, 0, LARGE);
        CHECK(clEnqueueMemFillINTEL_(p.queue, two, &pattern, 1, LARGE, 0, NULL, NULL));
        CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_FALSE, one + 3, wanted, size, 0, NULL, &events[0]));
        CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_FALSE, two + 64, one + 3, size, 1, &events[0], &events[1]));
        CHECK(clEnqueueMemcpyINTEL_(p.queue, i % 2 == 0, got, two + 63, size + 2, 1, &events[1], &last));
        CHECK(clWaitForEvents(1, &last));
        EXPECT(got[0] == pattern && got[size + 1] == pattern);
        EXPECT(!memcmp(got + 1, wanted, size));
        CHECK(clReleaseEvent(events[0]));
        CHECK(clReleaseEvent(events[1]));
        CHECK(clReleaseEvent(last));
    }
    /* blocking, without an event, and freed at once */
    CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, one, wanted, 1 << 20, 0, NULL, NULL));
    CHECK(clMemFreeINTEL_(p.context, one));
    CHECK(clMemBlockingFreeINTEL_(p.context, two));
    printf("%scopies between %s and %s are right\n",
           first == CL_MEM_TYPE_DEVICE_INTEL && second == CL_MEM_TYPE_DEVICE_INTEL ? "" : "shared: ", type_name(first),
           type_name(second));
}

/* Copies between two places in the program's own memory. */
static void host_copy_try(void)
{
    parity_random_bytes(wanted, 5000, 3);
    memset(got, 0, 5000);
    CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_FALSE, got, wanted, 2500, 0, NULL, NULL));
    CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, got + 2500, wanted + 2500, 2500, 0, NULL, NULL));
    CHECK(clFinish(p.queue));
    EXPECT(!memcmp(got, wanted, 5000));
    printf("copies within the program are right\n");
}

static void events_try(void)
{
    cl_uint *memory = alloc(CL_MEM_TYPE_DEVICE_INTEL, 65536);
    const cl_uint pattern[4] = {1, 2, 3, 4};
    cl_event gate, events[5] = {NULL};
    cl_command_type type;
    cl_uint value[6] = {0};
    cl_int status;

    gate = clCreateUserEvent(p.context, &status);
    CHECK(status);
    CHECK(clEnqueueMemFillINTEL_(p.queue, memory, pattern, sizeof(pattern), 65536, 1, &gate, &events[0]));
    SHOW("migration", clEnqueueMigrateMemINTEL_(p.queue, memory, 65536, 0, 0, NULL, &events[1]));
    SHOW("advice", clEnqueueMemAdviseINTEL_(p.queue, memory, 65536, 0, 0, NULL, &events[2]));
    CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_FALSE, memory + 1, wanted, 0x100, 0, NULL, &events[3]));
    CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_FALSE, value, memory + 0x1001, sizeof(value), 0, NULL, &events[4]));
    CHECK(clFlush(p.queue));
    printf("nothing has begun: %d\n", value[0] == 0 && parity_event_status(events[4]) > CL_RUNNING);
    CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(clFinish(p.queue));
    printf("%u %u %u %u %u %u\n", value[0], value[1], value[2], value[3], value[4], value[5]);
    for (int i = 0; i < 5; i++) {
        if (!events[i]) /* refused */
            continue;
        CHECK(clGetEventInfo(events[i], CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
        printf("type 0x%x, %s\n", type, parity_status_name(parity_event_status(events[i])));
        CHECK(clReleaseEvent(events[i]));
    }
    CHECK(clReleaseEvent(gate));
    CHECK(clMemFreeINTEL_(p.context, memory));
}

/* A kernel follows pointers that another kernel has written, on the device only. */
static void kernels_try(void)
{
    const size_t item = 16;
    unsigned char *items = alloc(CL_MEM_TYPE_DEVICE_INTEL, COUNT * item);
    cl_int *data = alloc(CL_MEM_TYPE_DEVICE_INTEL, 64 * sizeof(*data)), zero = 0, result = -1, values[64];
    cl_int *cells[8];
    cl_ulong *table = alloc(CL_MEM_TYPE_DEVICE_INTEL, sizeof(cells)), addresses[8];
    cl_kernel link = parity_kernel(program, "link"), sum = parity_kernel(program, "sum"),
              add = parity_kernel(program, "add"), reach = parity_kernel(program, "reach"), clone;
    cl_bool yes = CL_TRUE;
    cl_int status;

    CHECK(clSetKernelArgMemPointerINTEL_(link, 0, items));
    CHECK(clSetKernelArgMemPointerINTEL_(sum, 0, items + 10 * item));
    CHECK(clSetKernelArgMemPointerINTEL_(sum, 1, data + 3));
    CHECK(clEnqueueNDRangeKernel(p.queue, link, 1, NULL, (size_t[]){COUNT}, NULL, 0, NULL, NULL));
    CHECK(clEnqueueNDRangeKernel(p.queue, sum, 1, NULL, (size_t[]){1}, NULL, 0, NULL, NULL));
    CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, &result, data + 3, sizeof(result), 0, NULL, NULL));
    printf("sum of the list: %d\n", result);

    CHECK(clEnqueueMemFillINTEL_(p.queue, data, &zero, sizeof(zero), 64 * sizeof(*data), 0, NULL, NULL));
    for (cl_int round = 1; round <= 100; round++) {
        CHECK(clSetKernelArgMemPointerINTEL_(add, 0, data + round % 8));
        CHECK(clSetKernelArg(add, 1, sizeof(round), &round));
        CHECK(clEnqueueNDRangeKernel(p.queue, add, 1, NULL, (size_t[]){16}, NULL, 0, NULL, NULL));
    }
    CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, values, data, sizeof(values), 0, NULL, NULL));
    printf("added: %d %d %d %d\n", values[0], values[7], values[15], values[22]);

    for (int i = 0; i < 8; i++) {
        cells[i] = alloc(CL_MEM_TYPE_DEVICE_INTEL, 6 * sizeof(cl_int));
        addresses[i] = (uintptr_t)cells[i];
    }
    CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, table, addresses, sizeof(addresses), 0, NULL, NULL));
    CHECK(clSetKernelArgMemPointerINTEL_(reach, 0, table));
    CHECK(clSetKernelExecInfo(reach, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, sizeof(cells), cells));
    CHECK(clSetKernelExecInfo(reach, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, sizeof(yes), &yes));
    clone = clCloneKernel(reach, &status);
    CHECK(status);
    CHECK(clSetKernelArg(reach, 1, sizeof(cl_int), &(cl_int){42}));
    CHECK(clSetKernelArg(clone, 1, sizeof(cl_int), &(cl_int){43}));
    parity_rich();
    parity_launch(p.queue, reach, 1, (size_t[]){8}, NULL);
    parity_launch(p.queue, clone, 1, (size_t[]){2}, NULL);
    printf("reached:");
    for (int i = 0; i < 8; i++) {
        CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, &result, cells[i] + 5, sizeof(result), 0, NULL, NULL));
        printf(" %d", result);
        CHECK(clMemBlockingFreeINTEL_(p.context, cells[i]));
    }
    printf("\n");
    CHECK(clReleaseKernel(link));
    CHECK(clReleaseKernel(sum));
    CHECK(clReleaseKernel(add));
    CHECK(clReleaseKernel(reach));
    CHECK(clReleaseKernel(clone));
    CHECK(clMemFreeINTEL_(p.context, items));
    CHECK(clMemFreeINTEL_(p.context, data));
    CHECK(clMemFreeINTEL_(p.context, table));
}

/* The kernel sees what the program writes, and vice versa, without a command in between. */
static void shared_try(cl_unified_shared_memory_type_intel type)
{
    struct item {
        cl_int value;
        struct item *next;
    } *items = alloc(type, COUNT * sizeof(*items));
    cl_kernel link = parity_kernel(program, "link"), sum = parity_kernel(program, "sum"),
              count = parity_kernel(program, "count");
    cl_int *numbers = alloc(type, 64), pattern = 5;
    cl_long all = 0;
    cl_bool yes = CL_TRUE;
    cl_event event;

    CHECK(clSetKernelArgMemPointerINTEL_(link, 0, items));
    parity_launch(p.queue, link, 1, (size_t[]){COUNT}, NULL);
    for (struct item *at = items; at; at = at->next)
        all += at->value;
    printf("shared: sum of the list here: %ld\n", (long)all);
    items[COUNT / 2].next = NULL;
    CHECK(clSetKernelArgMemPointerINTEL_(sum, 0, items));
    CHECK(clSetKernelArgMemPointerINTEL_(sum, 1, numbers));
    CHECK(clSetKernelExecInfo(sum, CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL, sizeof(yes), &yes));
    CHECK(clSetKernelExecInfo(sum, CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL, sizeof(yes), &yes));
    parity_launch(p.queue, sum, 1, (size_t[]){1}, NULL);
    printf("shared: sum of half of it: %d\n", numbers[0]);
    CHECK(clEnqueueMemFillINTEL_(p.queue, numbers, &pattern, sizeof(pattern), 64, 0, NULL, NULL));
    CHECK(clSetKernelArgMemPointerINTEL_(count, 0, numbers + 1));
    for (int i = 0; i < 10; i++)
        CHECK(clEnqueueNDRangeKernel(p.queue, count, 1, NULL, (size_t[]){100}, NULL, 0, NULL, NULL));
    SHOW("shared: migration",
         clEnqueueMigrateMemINTEL_(p.queue, numbers, 64, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    SHOW("shared: advice", clEnqueueMemAdviseINTEL_(p.queue, numbers, 64, 0, 0, NULL, NULL));
    CHECK(clEnqueueMarkerWithWaitList(p.queue, 0, NULL, &event));
    CHECK(clWaitForEvents(1, &event));
    printf("shared: counted %d %d %d\n", numbers[0], numbers[1], numbers[15]);
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseKernel(link));
    CHECK(clReleaseKernel(sum));
    CHECK(clReleaseKernel(count));
    CHECK(clMemFreeINTEL_(p.context, items));
    CHECK(clMemFreeINTEL_(p.context, numbers));
}

/* Many allocations of different sizes, freed in another order, keep their contents. */
static void many_try(void)
{
    enum { MANY = 100 };
    static unsigned char *blocks[MANY];
    uint32_t state = 7;

    for (int i = 0; i < MANY; i++) {
        unsigned char pattern = (unsigned char)i;

        blocks[i] = alloc(CL_MEM_TYPE_DEVICE_INTEL, (size_t)(50 + 397 * i));
        CHECK(clEnqueueMemFillINTEL_(p.queue, blocks[i], &pattern, 1, (size_t)(50 + 397 * i), 0, NULL, NULL));
    }
    for (int i = 0; i < 200; i++) {
        int at = (int)(parity_random(&state) % MANY);
        size_t size = (size_t)(50 + 397 * at);
        unsigned char pattern = (unsigned char)at;

        CHECK(clEnqueueMemcpyINTEL_(p.queue, CL_TRUE, got, blocks[at], size, 0, NULL, NULL));
        EXPECT(got[0] == pattern && got[size - 1] == pattern);
        CHECK(clMemBlockingFreeINTEL_(p.context, blocks[at]));
        blocks[at] = alloc(CL_MEM_TYPE_DEVICE_INTEL, size);
        CHECK(clEnqueueMemFillINTEL_(p.queue, blocks[at], &pattern, 1, size, 0, NULL, NULL));
    }
    CHECK(clFinish(p.queue));
    for (int i = 0; i < MANY; i++)
        CHECK(clMemFreeINTEL_(p.context, blocks[i]));
    printf("allocations are apart\n");
}

static cl_ulong capability(cl_device_info param)
{
    cl_device_unified_shared_memory_capabilities_intel can = 0;

    CHECK(clGetDeviceInfo(p.device, param, sizeof(can), &can, NULL));
    return can;
}

int main(void)
{
    char extensions[8192] = "";
    cl_ulong host, device;

    parity_open(&p, 0);
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_EXTENSIONS, sizeof(extensions), extensions, NULL));
    if (!strstr(extensions, "cl_intel_unified_shared_memory")) {
        printf("no unified shared memory here\n");
        return 77;
    }
#define FIND(name)                                                                                                     \
    name##_ = (name##_fn)clGetExtensionFunctionAddressForPlatform(p.platform, #name);                                  \
    EXPECT(name##_ != NULL);
    FUNCTIONS(FIND)
    host = capability(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL);
    device = capability(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL);
    printf("device memory: %lu\n", (unsigned long)device);
    printf("shared: %lu %lu\n", (unsigned long)host,
           (unsigned long)capability(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL));
    shared = host != 0;
    program = parity_program(&p, source, NULL);
    infos_try(CL_MEM_TYPE_DEVICE_INTEL, "");
    errors_try();
    copies_try(CL_MEM_TYPE_DEVICE_INTEL, CL_MEM_TYPE_DEVICE_INTEL);
    host_copy_try();
    events_try();
    kernels_try();
    many_try();
    if (shared) {
        infos_try(CL_MEM_TYPE_HOST_INTEL, "shared: ");
        infos_try(CL_MEM_TYPE_SHARED_INTEL, "shared: ");
        copies_try(CL_MEM_TYPE_DEVICE_INTEL, CL_MEM_TYPE_SHARED_INTEL);
        copies_try(CL_MEM_TYPE_HOST_INTEL, CL_MEM_TYPE_DEVICE_INTEL);
        copies_try(CL_MEM_TYPE_SHARED_INTEL, CL_MEM_TYPE_HOST_INTEL);
        shared_try(CL_MEM_TYPE_HOST_INTEL);
        shared_try(CL_MEM_TYPE_SHARED_INTEL);
    }
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
