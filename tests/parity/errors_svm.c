/* Error codes of shared virtual memory, and of native kernels. */
#include "parity.h"

static struct parity p;
static cl_context other;
static cl_event foreign, good;

static void CL_CALLBACK nothing(void *arguments)
{
    (void)arguments;
}

static void allocations(void)
{
    cl_ulong most;
    void *memory;

    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL));
    printf("NULL context: %s\n", clSVMAlloc(NULL, CL_MEM_READ_WRITE, 64, 0) ? "something" : "nothing");
    printf("too much: %s\n", clSVMAlloc(p.context, CL_MEM_READ_WRITE, most + 1, 0) ? "something" : "nothing");
    printf("alignment 12: %s\n", clSVMAlloc(p.context, CL_MEM_READ_WRITE, 64, 12) ? "something" : "nothing");
    printf("no flags: %s\n", (memory = clSVMAlloc(p.context, 0, 64, 0)) ? "something" : "nothing");
    clSVMFree(p.context, memory);
    clSVMFree(p.context, NULL);
}

static void maps(int *memory)
{
    SHOW("map, NULL queue", clEnqueueSVMMap(NULL, CL_TRUE, CL_MAP_READ, memory, 64, 0, NULL, NULL));
    SHOW("map, NULL", clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, NULL, 64, 0, NULL, NULL));
    SHOW("map, size 0", clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, memory, 0, 0, NULL, NULL));
    SHOW("map, no list", clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, memory, 64, 1, NULL, NULL));
    SHOW("map, list of none", clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, memory, 64, 0, &good, NULL));
    SHOW("map, foreign event", clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, memory, 64, 1, &foreign, NULL));
    SHOW("unmap, NULL queue", clEnqueueSVMUnmap(NULL, memory, 0, NULL, NULL));
    SHOW("unmap, NULL", clEnqueueSVMUnmap(p.queue, NULL, 0, NULL, NULL));
    SHOW("unmap, foreign event", clEnqueueSVMUnmap(p.queue, memory, 1, &foreign, NULL));
}

static void copies(int *memory, int *target)
{
    int number = 1;
    SHOW("copy, NULL queue", clEnqueueSVMMemcpy(NULL, CL_TRUE, target, memory, 64, 0, NULL, NULL));
    SHOW("copy, no target", clEnqueueSVMMemcpy(p.queue, CL_TRUE, NULL, memory, 64, 0, NULL, NULL));
    SHOW("copy, no source", clEnqueueSVMMemcpy(p.queue, CL_TRUE, target, NULL, 64, 0, NULL, NULL));
    SHOW("copy, overlap", clEnqueueSVMMemcpy(p.queue, CL_TRUE, memory + 1, memory, 64, 0, NULL, NULL));
    SHOW("copy, foreign event", clEnqueueSVMMemcpy(p.queue, CL_TRUE, target, memory, 64, 1, &foreign, NULL));
    SHOW("fill, NULL queue", clEnqueueSVMMemFill(NULL, memory, &number, 4, 64, 0, NULL, NULL));
    SHOW("fill, no target", clEnqueueSVMMemFill(p.queue, NULL, &number, 4, 64, 0, NULL, NULL));
    SHOW("fill, pattern of 0", clEnqueueSVMMemFill(p.queue, memory, &number, 0, 64, 0, NULL, NULL));
    SHOW("fill, pattern of 256", clEnqueueSVMMemFill(p.queue, memory, memory, 256, 256, 0, NULL, NULL));
    SHOW("fill, odd size", clEnqueueSVMMemFill(p.queue, memory, &number, 4, 63, 0, NULL, NULL));
    SHOW("fill, odd address", clEnqueueSVMMemFill(p.queue, (char *)memory + 2, &number, 4, 64, 0, NULL, NULL));
    SHOW("fill, foreign event", clEnqueueSVMMemFill(p.queue, memory, &number, 4, 64, 1, &foreign, NULL));
}

static void frees_and_moves(int *memory)
{
    const void *pointers[] = {memory};
    void *none[] = {NULL};
    const size_t sizes[] = {64};
    SHOW("free, NULL queue", clEnqueueSVMFree(NULL, 1, (void **)pointers, NULL, NULL, 0, NULL, NULL));
    SHOW("free, none", clEnqueueSVMFree(p.queue, 0, (void **)pointers, NULL, NULL, 0, NULL, NULL));
    SHOW("free, no list", clEnqueueSVMFree(p.queue, 1, NULL, NULL, NULL, 0, NULL, NULL));
    SHOW("free, foreign event", clEnqueueSVMFree(p.queue, 1, (void **)pointers, NULL, NULL, 1, &foreign, NULL));
    if (parity_version(&p) >= 210) {
        SHOW("migrate, NULL queue", clEnqueueSVMMigrateMem(NULL, 1, pointers, sizes, 0, 0, NULL, NULL));
        SHOW("migrate, none", clEnqueueSVMMigrateMem(p.queue, 0, pointers, sizes, 0, 0, NULL, NULL));
        SHOW("migrate, no list", clEnqueueSVMMigrateMem(p.queue, 1, NULL, sizes, 0, 0, NULL, NULL));
        SHOW("migrate, NULL in it", clEnqueueSVMMigrateMem(p.queue, 1, (const void **)none, sizes, 0, 0, NULL, NULL));
        SHOW("migrate, odd flags", clEnqueueSVMMigrateMem(p.queue, 1, pointers, sizes, 1 << 20, 0, NULL, NULL));
        SHOW("migrate, whole", clEnqueueSVMMigrateMem(p.queue, 1, pointers, NULL, 0, 0, NULL, NULL));
    }
}

static void buffer_show(const char *name, cl_mem_flags flags, size_t size, void *memory)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(p.context, flags, size, memory, &status);
    printf("%s = %s, %s\n", name, parity_error_name(status), buffer ? "something" : "nothing");
    if (buffer)
        CHECK(clReleaseMemObject(buffer));
}

/* Over an SVM allocation of 1000 bytes. */
static void buffers(void)
{
    char *memory = clSVMAlloc(p.context, CL_MEM_READ_WRITE, 1000, 0);
    EXPECT(memory);
    buffer_show("buffer over more than there is", CL_MEM_USE_HOST_PTR, 1001, memory);
    buffer_show("buffer over all of it", CL_MEM_USE_HOST_PTR, 1000, memory);
    buffer_show("buffer over its end", CL_MEM_USE_HOST_PTR, 488, memory + 512);
    clSVMFree(p.context, memory);
}

static void kernels(int *memory)
{
    cl_program program = parity_program(&p,
                                        "kernel void touch(global int *data, int number, local int *part)\n"
                                        "{ part[0] = number; data[0] = part[0]; }",
                                        NULL);
    cl_kernel kernel = parity_kernel(program, "touch");
    const void *pointers[] = {memory};
    cl_bool no = CL_FALSE;
    SHOW("argument, NULL kernel", clSetKernelArgSVMPointer(NULL, 0, memory));
    SHOW("argument, index", clSetKernelArgSVMPointer(kernel, 3, memory));
    SHOW("argument, good", clSetKernelArgSVMPointer(kernel, 0, memory));
    SHOW("argument, inside", clSetKernelArgSVMPointer(kernel, 0, memory + 3));
    SHOW("argument, a value's", clSetKernelArgSVMPointer(kernel, 1, memory));
    SHOW("argument, local", clSetKernelArgSVMPointer(kernel, 2, memory));
    SHOW("exec info, NULL kernel", clSetKernelExecInfo(NULL, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, pointers));
    SHOW("exec info, good", clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, pointers));
    SHOW("exec info, nothing", clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, NULL));
    SHOW("exec info, none of these", clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, pointers));
    SHOW("exec info, no list", clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, NULL));
    SHOW("exec info, no system memory",
         clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof(no), &no));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
}

static void native_kernels(void)
{
    char arguments[32] = {0};
    const void *places[] = {arguments + 8};
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, 64, NULL);
#define NATIVE(queue, function, arguments, size, count, buffers, places)                                               \
    clEnqueueNativeKernel(queue, function, arguments, size, count, buffers, places, 0, NULL, NULL)
    SHOW("native kernel", NATIVE(p.queue, nothing, arguments, 32, 1, &buffer, places));
    SHOW("native kernel, NULL queue", NATIVE(NULL, nothing, arguments, 32, 1, &buffer, places));
    SHOW("native kernel, no function", NATIVE(p.queue, NULL, arguments, 32, 1, &buffer, places));
    SHOW("native kernel, no arguments", NATIVE(p.queue, nothing, NULL, 32, 0, NULL, NULL));
    SHOW("native kernel, no arguments but buffers", NATIVE(p.queue, nothing, NULL, 0, 1, &buffer, places));
    SHOW("native kernel, arguments of no size", NATIVE(p.queue, nothing, arguments, 0, 0, NULL, NULL));
    SHOW("native kernel, no buffers", NATIVE(p.queue, nothing, arguments, 32, 1, NULL, places));
    SHOW("native kernel, no places", NATIVE(p.queue, nothing, arguments, 32, 1, &buffer, NULL));
    SHOW("native kernel, buffers without number", NATIVE(p.queue, nothing, arguments, 32, 0, &buffer, NULL));
    SHOW("native kernel, nothing at all", NATIVE(p.queue, nothing, NULL, 0, 0, NULL, NULL));
    SHOW("native kernel, foreign event",
         clEnqueueNativeKernel(p.queue, nothing, arguments, 32, 0, NULL, NULL, 1, &foreign, NULL));
    CHECK(clFinish(p.queue));
    CHECK(clReleaseMemObject(buffer));
}

int main(void)
{
    cl_device_svm_capabilities can = 0;
    cl_int status, *memory, *target;

    parity_open(&p, 0);
    if (parity_version(&p) < 200) {
        SHOW("capabilities", clGetDeviceInfo(p.device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL));
        return 0;
    }
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL));
    if (!can) {
        puts("no shared virtual memory here");
        return 77;
    }
    other = clCreateContext(NULL, 1, &p.device, NULL, NULL, &status);
    CHECK(status);
    foreign = clCreateUserEvent(other, &status);
    good = clCreateUserEvent(p.context, &status);
    CHECK(clSetUserEventStatus(good, CL_COMPLETE));
    memory = clSVMAlloc(p.context, CL_MEM_READ_WRITE, 4096, 0);
    target = clSVMAlloc(p.context, CL_MEM_READ_WRITE, 4096, 0);
    allocations();
    maps(memory);
    copies(memory, target);
    frees_and_moves(memory);
    parity_rich();
    kernels(memory);
    native_kernels();
    buffers();
    clSVMFree(p.context, memory);
    clSVMFree(p.context, target);
    CHECK(clReleaseEvent(foreign));
    CHECK(clReleaseEvent(good));
    CHECK(clReleaseContext(other));
    parity_close(&p);
    return 0;
}
