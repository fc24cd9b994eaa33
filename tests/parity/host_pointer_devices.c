/*
 * CL_MEM_USE_HOST_PTR without maps in a context of all devices, which use the buffer in turn: however many devices
 * there are, and wherever, the program sees the same in its memory.
 */
#include "parity.h"

enum { MOST = 16, COUNT = 90001 };

static const char *source =
    "kernel void advance(global uint *data, uint amount) { size_t i = get_global_id(0); data[i] = data[i] * 5 + "
    "amount; }\n"
    "kernel void follow(global const ulong *at, global uint *to)\n"
    "{ size_t i = get_global_id(0); to[i] += *(global const uint *)at[i]; }\n"
    "kernel void brighter(read_only image2d_t from, write_only image2d_t to)\n"
    "{ int2 at = (int2)(get_global_id(0), get_global_id(1)); write_imageui(to, at, read_imageui(from, at) + 1); }\n";

static cl_context context;
static cl_command_queue queues[MOST];
static cl_uint devices;
static cl_program program;

static cl_mem buffer_over(void *memory, size_t size)
{
    cl_int error;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, memory, &error);

    CHECK(error);
    return buffer;
}

static void turns(const char *name, size_t count, cl_uint *data)
{
    cl_mem buffer = buffer_over(data, count * sizeof(*data));
    cl_kernel step = parity_kernel(program, "advance");
    cl_event event = NULL, next;

    for (size_t i = 0; i < count; i++)
        data[i] = (cl_uint)i;
    for (cl_uint round = 0; round < 16; round++) {
        cl_command_queue queue = queues[round % devices];

        data[round] += 7;
        data[count - 1 - round] ^= 0x55;
        parity_args(step, 2, sizeof(buffer), &buffer, sizeof(round), &round);
        CHECK(clEnqueueNDRangeKernel(queue, step, 1, NULL, &count, NULL, 0, NULL, NULL));
        parity_rich();
        CHECK(clFinish(queue));
        parity_hash_print(name, data, count * sizeof(*data));
    }
    for (cl_uint round = 0; round < 16; round++) {
        parity_args(step, 2, sizeof(buffer), &buffer, sizeof(round), &round);
        CHECK(clEnqueueNDRangeKernel(queues[round % devices], step, 1, NULL, &count, NULL, event ? 1 : 0,
                                     event ? &event : NULL, &next));
        CHECK(clFlush(queues[round % devices]));
        if (event)
            CHECK(clReleaseEvent(event));
        event = next;
    }
    CHECK(clWaitForEvents(1, &event));
    parity_hash_print(name, data, count * sizeof(*data));
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(step));
}

static void image_turns(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 100, .image_height = 50};
    const size_t size = 100 * 50 * 4, global[] = {100, 50};
    unsigned char *pixels[2] = {calloc(size, 1), calloc(size, 1)};
    cl_kernel brighter = parity_kernel(program, "brighter");
    cl_mem images[2];
    cl_int error;

    for (int i = 0; i < 2; i++) {
        images[i] = clCreateImage(context, CL_MEM_USE_HOST_PTR, &format, &desc, pixels[i], &error);
        CHECK(error);
    }
    for (unsigned round = 0; round < 8; round++) {
        pixels[round % 2][round * 4] = 100;
        parity_args(brighter, 2, sizeof(cl_mem), &images[round % 2], sizeof(cl_mem), &images[!(round % 2)]);
        CHECK(clEnqueueNDRangeKernel(queues[round % devices], brighter, 2, NULL, global, NULL, 0, NULL, NULL));
        CHECK(clFinish(queues[round % devices]));
        parity_hash_print("images", pixels[!(round % 2)], size);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(clReleaseMemObject(images[i]));
        free(pixels[i]);
    }
    CHECK(clReleaseKernel(brighter));
}

/* SVM is the same in a buffer over it, on all devices. */
static void pointers(void)
{
    const size_t count = 4000;
    cl_kernel follow = parity_kernel(program, "follow");
    cl_ulong *at = clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, count * sizeof(*at), 0);
    cl_uint *words = clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, count * sizeof(*words), 0);
    cl_uint *out = clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, count * sizeof(*out), 0);
    cl_mem list, to;

    if (!at || !words || !out)
        return;
    for (size_t i = 0; i < count; i++) {
        at[i] = (cl_ulong)(uintptr_t)&words[i * 7 % count];
        words[i] = (cl_uint)i;
        out[i] = 0;
    }
    list = buffer_over(at, count * sizeof(*at));
    to = buffer_over(out, count * sizeof(*out));
    CHECK(clSetKernelExecInfo(follow, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(words), &words));
    for (cl_uint round = 0; round < 8; round++) {
        words[round] += 1000;
        parity_args(follow, 2, sizeof(list), &list, sizeof(to), &to);
        CHECK(clEnqueueNDRangeKernel(queues[round % devices], follow, 1, NULL, &count, NULL, 0, NULL, NULL));
        CHECK(clFinish(queues[round % devices]));
        parity_hash_print("pointers", out, count * sizeof(*out));
    }
    CHECK(clReleaseMemObject(list));
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseKernel(follow));
    clSVMFree(context, at);
    clSVMFree(context, words);
    clSVMFree(context, out);
}

/* A buffer is mapped in one device's queue and unmapped in another's. */
static void maps_cross(void)
{
    const size_t size = 655360;
    unsigned char *memory = aligned_alloc(4096, size), *seen = malloc(size), *map;
    static const cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_READ | CL_MAP_WRITE,
                                         CL_MAP_WRITE_INVALIDATE_REGION};
    for (cl_uint i = 0; i < PARITY_COUNT(flags) * 4; i++) {
        const cl_map_flags how = flags[i / 4];
        cl_command_queue queue = queues[i % 2 * (devices - 1)], other = queues[i / 2 % 2 * (devices - 1)];
        cl_mem buffer = buffer_over(memory, size);
        cl_uint two = 0x02020202;
        cl_event event;
        cl_int status;
        CHECK(clEnqueueFillBuffer(queues[0], buffer, &two, sizeof(two), 0, size, 0, NULL, NULL));
        CHECK(clFinish(queues[0]));
        map = clEnqueueMapBuffer(queue, buffer, CL_TRUE, how, size / 2, size / 4, 0, NULL, NULL, &status);
        CHECK(status);
        if (how != CL_MAP_READ)
            memset(map, 3, size / 4);
        CHECK(clEnqueueUnmapMemObject(other, buffer, map, 0, NULL, &event));
        CHECK(clWaitForEvents(1, &event));
        parity_read(queue, buffer, 0, size, seen);
        parity_hash_print("unmapped by another", seen, size);
        CHECK(clReleaseEvent(event));
        CHECK(clReleaseMemObject(buffer));
    }
    free(memory);
    free(seen);
}

/* A blocking write to one device is complete when it returns: another device reads the new data. */
static void written_by_another(void)
{
    const size_t size = 8192;
    unsigned char *memory = aligned_alloc(4096, size), *ones = malloc(size), *seen = malloc(size);
    unsigned stale = 0;

    memset(ones, 1, size);
    for (cl_uint round = 0; round < 80; round++) {
        cl_mem buffer;

        memset(memory, 0, size);
        buffer = buffer_over(memory, size);
        CHECK(clEnqueueWriteBuffer(queues[0], buffer, CL_TRUE, 0, size, ones, 0, NULL, NULL));
        parity_read(queues[devices - 1], buffer, 0, size, seen);
        stale += memcmp(ones, seen, size) != 0;
        CHECK(clReleaseMemObject(buffer));
    }
    printf("written by another: %u of 80 stale\n", stale);
    free(memory);
    free(ones);
    free(seen);
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id ids[MOST];
    cl_uint *data = malloc(COUNT * sizeof(*data));
    cl_int error;

    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, ids, &devices));
    devices = devices < MOST ? devices : MOST;
    context = clCreateContext(NULL, devices, ids, NULL, NULL, &error);
    CHECK(error);
    for (cl_uint i = 0; i < devices; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, ids[i], NULL, &error);
        CHECK(error);
    }
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    CHECK(error);
    CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    turns("large", COUNT, data);
    turns("on no page's border", COUNT - 1, data + 1);
    turns("small", 100, data);
    image_turns();
    maps_cross();
    written_by_another();
    if (argc < 2 || strcmp(argv[1], "no-svm"))
        pointers();
    CHECK(clReleaseProgram(program));
    for (cl_uint i = 0; i < devices; i++)
        CHECK(clReleaseCommandQueue(queues[i]));
    CHECK(clReleaseContext(context));
    free(data);
    return 0;
}
