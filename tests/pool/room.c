/*
 * room KIND MIB MOST [FILE [all|short]]: prints for how many allocations of MIB MiB there is room, at most MOST, each
 * written by a kernel if kernels can use it. KIND: buffer, pointer (CL_MEM_USE_HOST_PTR), image, pipe, svm, fine, over
 * (buffers over shared virtual memory, which take no more), host, shared, device (cl_intel_unified_shared_memory). With
 * FILE it keeps the allocations until FILE exists. Then one is freed and allocated again, then all are, and as many fit
 * as at first. all: in a context of all devices; short: the same, after memory for two allocations has been taken on
 * the last device.
 */
#include <CL/cl_ext.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cl_ext.h"
#include "tests/length.h"
#include "tests/parity/parity.h"

enum { MOST = 64, PACKET = 1024 };

static const char *source = "kernel void mark(global uint *to, uint value)\n"
                            "{\n"
                            "    to[get_global_id(0)] = value + get_global_id(0);\n"
                            "}\n";

struct one {
    void *memory; /* NULL: not allocated */
    cl_mem object;
};

static struct {
    struct parity p;
    const char *kind;
    size_t size;
    cl_kernel kernel;
    clHostMemAllocINTEL_fn host;
    clSharedMemAllocINTEL_fn shared;
    clDeviceMemAllocINTEL_fn device;
    clMemFreeINTEL_fn free;
    clSetKernelArgMemPointerINTEL_fn set;
} room;

/* Takes the memory of two allocations on the device. */
static void take_two_of(cl_device_id device)
{
    cl_int error;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);

    CHECK(error);
    for (int i = 0; i < 2; i++) {
        clCreateBuffer(context, CL_MEM_READ_WRITE, room.size, NULL, &error);
        CHECK(error);
    }
}

static void open_all(struct parity *p, bool is_short)
{
    cl_device_id devices[16];
    cl_uint count;
    cl_int error;

    CHECK(clReleaseCommandQueue(p->queue));
    CHECK(clReleaseContext(p->context));
    CHECK(clGetDeviceIDs(p->platform, CL_DEVICE_TYPE_ALL, 16, devices, &count));
    p->context = clCreateContext(NULL, count, devices, NULL, NULL, &error);
    CHECK(error);
    p->queue = clCreateCommandQueueWithProperties(p->context, p->device, NULL, &error);
    CHECK(error);
    if (is_short)
        take_two_of(devices[count - 1]);
}

static bool is(const char *kind)
{
    return !strcmp(room.kind, kind);
}

static bool is_svm(void)
{
    return is("svm") || is("fine") || is("over");
}

static bool is_usm(void)
{
    return is("host") || is("shared") || is("device");
}

static void find_usm(void)
{
#define FIND(member, name) room.member = (name##_fn)clGetExtensionFunctionAddressForPlatform(room.p.platform, #name)
    FIND(host, clHostMemAllocINTEL);
    FIND(shared, clSharedMemAllocINTEL);
    FIND(device, clDeviceMemAllocINTEL);
    FIND(free, clMemFreeINTEL);
    FIND(set, clSetKernelArgMemPointerINTEL);
#undef FIND
    if (!room.host || !room.shared || !room.device || !room.free || !room.set)
        exit(77);
}

static void *take_address(void)
{
    cl_int error;

    if (is("host"))
        return room.host(room.p.context, NULL, room.size, 0, &error);
    if (is("shared"))
        return room.shared(room.p.context, room.p.device, NULL, room.size, 0, &error);
    if (is("device"))
        return room.device(room.p.context, room.p.device, NULL, room.size, 0, &error);
    return clSVMAlloc(room.p.context, CL_MEM_READ_WRITE | (is("fine") ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0), room.size,
                      0);
}

static void *own_memory(void)
{
    void *memory = mmap(NULL, room.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static cl_mem take_object(void *memory)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 1024, .image_height = room.size / 4096};
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (memory ? CL_MEM_USE_HOST_PTR : 0);
    cl_int error;

    if (is("pipe"))
        return clCreatePipe(room.p.context, 0, PACKET, (cl_uint)(room.size / PACKET), NULL, &error);
    return is("image") ? clCreateImage(room.p.context, flags, &format, &desc, NULL, &error)
                       : clCreateBuffer(room.p.context, flags, room.size, memory, &error);
}

static void give_back(struct one *one)
{
    if (one->object)
        CHECK(clReleaseMemObject(one->object));
    CHECK(clFinish(room.p.queue));
    if (one->memory && is_usm())
        CHECK(room.free(room.p.context, one->memory));
    else if (one->memory && is_svm())
        clSVMFree(room.p.context, one->memory);
    else if (one->memory)
        munmap(one->memory, room.size);
    *one = (struct one){0};
}

static bool take(struct one *one)
{
    const bool needs_memory = is_svm() || is_usm() || is("pointer"),
               needs_object = !is_usm() && (!is_svm() || is("over"));

    if (needs_memory)
        one->memory = is("pointer") ? own_memory() : take_address();
    if (needs_object && (one->memory || !needs_memory))
        one->object = take_object(one->memory);
    if ((one->memory || !needs_memory) && (one->object || !needs_object))
        return true;
    give_back(one);
    return false;
}

/* Allocates; native OpenCL may hold freed memory for a moment longer. */
static bool take_again(struct one *one)
{
    for (double began = length_now(); !take(one);) {
        if (length_is_over("60", began))
            return false;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return true;
}

/* Has the kernel write the allocation. Returns whether it ran. */
static bool mark(struct one *one, cl_uint value)
{
    const size_t words = room.size / sizeof(value);
    cl_int error;

    if (is("image") || is("pipe"))
        return true;
    if (one->object)
        error = clSetKernelArg(room.kernel, 0, sizeof(one->object), &one->object);
    else
        error =
            is_usm() ? room.set(room.kernel, 0, one->memory) : clSetKernelArgSVMPointer(room.kernel, 0, one->memory);
    if (!error)
        error = clSetKernelArg(room.kernel, 1, sizeof(value), &value);
    if (!error)
        error = clEnqueueNDRangeKernel(room.p.queue, room.kernel, 1, NULL, &words, NULL, 0, NULL, NULL);
    return !error && clFinish(room.p.queue) == CL_SUCCESS;
}

/* Whether the first and last words are what the kernel wrote. */
static bool is_marked(struct one *one, cl_uint value)
{
    const size_t words = room.size / sizeof(value);
    cl_uint *seen = one->memory;
    bool good;

    if (is("image") || is("pipe") || is("device"))
        return true;
    if (one->object)
        seen = clEnqueueMapBuffer(room.p.queue, one->object, CL_TRUE, CL_MAP_READ, 0, room.size, 0, NULL, NULL, NULL);
    else if (is_svm())
        CHECK(clEnqueueSVMMap(room.p.queue, CL_TRUE, CL_MAP_READ, seen, room.size, 0, NULL, NULL));
    good = seen && seen[0] == value && seen[words - 1] == (cl_uint)(value + words - 1);
    if (one->object)
        CHECK(clEnqueueUnmapMemObject(room.p.queue, one->object, seen, 0, NULL, NULL));
    else if (is_svm())
        CHECK(clEnqueueSVMUnmap(room.p.queue, seen, 0, NULL, NULL));
    CHECK(clFinish(room.p.queue));
    return good;
}

static unsigned fill(struct one *all, unsigned most)
{
    unsigned count = 0;

    while (count < most && take(&all[count])) {
        if (!mark(&all[count], count + 1))
            printf("number %u: no kernel\n", count);
        count++;
    }
    return count;
}

int main(int count, char **words)
{
    const unsigned most = count > 3 ? (unsigned)atoi(words[3]) : 1;
    struct one all[MOST] = {{0}};
    cl_program program;
    unsigned there;

    room.kind = count > 1 ? words[1] : "buffer";
    room.size = (count > 2 ? (size_t)atol(words[2]) : 1) << 20;
    parity_open(&room.p, 0);
    if (count > 5)
        open_all(&room.p, !strcmp(words[5], "short"));
    program = parity_program(&room.p, source, NULL);
    room.kernel = parity_kernel(program, "mark");
    if (is_usm())
        find_usm();
    there = fill(all, most < MOST ? most : MOST);
    printf("%u\n", there);
    fflush(stdout);
    for (double began = length_now(); count > 4 && !length_is_over(words[4], began);)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    for (unsigned i = 0; i < there; i++) {
        if (!is_marked(&all[i], i + 1))
            printf("number %u: not what was written\n", i);
    }
    if (there) {
        give_back(&all[there - 1]);
        printf("freed one: %d\n", take_again(&all[there - 1]) && mark(&all[there - 1], there));
    }
    for (unsigned i = 0; i < there; i++)
        give_back(&all[i]);
    for (unsigned i = 0; i < there; i++) {
        if (!take_again(&all[i]))
            printf("number %u: not again\n", i);
    }
    printf("freed all: %u\n", there + fill(all + there, (most < MOST ? most : MOST) - there));
    for (unsigned i = 0; i < MOST; i++)
        give_back(&all[i]);
    CHECK(clReleaseKernel(room.kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&room.p);
    return 0;
}
