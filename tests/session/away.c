/*
 * Two threads use, in every way, buffers that a worker of this host maps at the same memory as the program, until FILE
 * exists. Everything that is read, written or mapped is compared with the expected contents all the time; some of it
 * stays mapped for long.
 * usage: away FILE [host: also with buffers over the program's own memory]
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/session/moved.h"

enum { COUNT = 16000, SIZE = COUNT * 4, LITTLE = 250, ROW = 256, LONG = 24 };

static const char *source = "kernel void add(global uint *data, uint by) { data[get_global_id(0)] += by; }\n";

static cl_device_id device;
static cl_context context;
static cl_program program;
static const char *stop_file;
static bool over_host;

struct one {
    cl_command_queue queue;
    cl_kernel add;
    cl_mem data, little, part, kept, hosted, odd;
    uint32_t *is, *other;                                    /* expected contents of data; room to read into */
    uint32_t little_is, kept_is, part_is, hosted_is, odd_is; /* the value of all elements of little, kept, ... */
    uint32_t *map, *part_map, *memory, *odd_memory;
    unsigned rounds;
    unsigned seed;
};

static void wrong(const char *what, size_t at, uint32_t is, uint32_t wanted)
{
    printf("wrong: %s: %u at %zu, not %u\n", what, is, at, wanted);
    fflush(stdout);
    _exit(4);
}

static void same(const char *what, const uint32_t *is, const uint32_t *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is[i] != wanted[i])
            wrong(what, i, is[i], wanted[i]);
    }
}

static void all_are(const char *what, const uint32_t *is, uint32_t wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is[i] != wanted)
            wrong(what, i, is[i], wanted);
    }
}

static void launch(struct one *o, cl_mem memory, size_t count, uint32_t by)
{
    NEED(clSetKernelArg(o->add, 0, sizeof(memory), &memory));
    NEED(clSetKernelArg(o->add, 1, sizeof(by), &by));
    NEED(clEnqueueNDRangeKernel(o->queue, o->add, 1, NULL, &count, NULL, 0, NULL, NULL));
}

static cl_mem make(size_t size, cl_mem_flags flags, void *memory)
{
    cl_int error;
    cl_mem made = clCreateBuffer(context, flags, size, memory, &error);

    NEED(error);
    return made;
}

static void fill(cl_command_queue queue, cl_mem memory, size_t size, uint32_t with)
{
    NEED(clEnqueueFillBuffer(queue, memory, &with, sizeof(with), 0, size, 0, NULL, NULL));
}

static void begin(struct one *o, unsigned seed)
{
    const cl_buffer_region region = {SIZE / 4 / 4096 * 4096, 8192};
    cl_int error;

    o->seed = seed;
    o->queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    NEED(error);
    o->add = clCreateKernel(program, "add", &error);
    NEED(error);
    o->is = calloc(COUNT, 4);
    o->other = calloc(COUNT, 4);
    o->data = make(SIZE, CL_MEM_COPY_HOST_PTR, o->is);
    o->little = make(LITTLE * 4, CL_MEM_READ_WRITE, NULL);
    o->kept = make(SIZE, CL_MEM_READ_WRITE, NULL);
    o->part = clCreateSubBuffer(o->kept, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    NEED(error);
    fill(o->queue, o->little, LITTLE * 4, 0);
    fill(o->queue, o->kept, SIZE, 0);
    if (over_host) {
        o->memory = aligned_alloc(4096, SIZE / 4096 * 4096);
        o->odd_memory = (uint32_t *)calloc(LITTLE + 3, 4) + 3;
        memset(o->memory, 0, SIZE / 4096 * 4096);
        o->hosted = make(SIZE / 4096 * 4096, CL_MEM_USE_HOST_PTR, o->memory);
        o->odd = make(LITTLE * 4, CL_MEM_USE_HOST_PTR, o->odd_memory);
    }
    NEED(clFinish(o->queue));
}

/* Reads data in one of four ways, at random, and compares the contents. */
static void look(struct one *o)
{
    const size_t zero[3] = {0}, region[3] = {ROW * 4, COUNT / ROW, 1};
    cl_event event;
    void *at;
    cl_int error;

    switch (rand_r(&o->seed) % 4) {
    case 0:
        NEED(clEnqueueReadBuffer(o->queue, o->data, CL_TRUE, 0, SIZE, o->other, 0, NULL, NULL));
        same("read", o->other, o->is, COUNT);
        break;
    case 1:
        NEED(clEnqueueReadBuffer(o->queue, o->data, CL_FALSE, 400, SIZE - 400, o->other, 0, NULL, &event));
        NEED(clWaitForEvents(1, &event));
        clReleaseEvent(event);
        same("read later", o->other, o->is + 100, COUNT - 100);
        break;
    case 2:
        NEED(clEnqueueReadBufferRect(o->queue, o->data, CL_TRUE, zero, zero, region, ROW * 4, 0, ROW * 4, 0, o->other,
                                     0, NULL, NULL));
        same("rectangle", o->other, o->is, COUNT / ROW * ROW);
        break;
    default:
        at = clEnqueueMapBuffer(o->queue, o->data, CL_TRUE, CL_MAP_READ, 4096, SIZE - 4096, 0, NULL, NULL, &error);
        NEED(error);
        same("map", at, o->is + 1024, COUNT - 1024);
        NEED(clEnqueueUnmapMemObject(o->queue, o->data, at, 0, NULL, NULL));
    }
}

/* Changes data in one of five ways, at random. */
static void change(struct one *o)
{
    const uint32_t by = (uint32_t)rand_r(&o->seed) % 1000;
    const size_t from = (size_t)rand_r(&o->seed) % (COUNT - 1), count = 1 + (size_t)rand_r(&o->seed) % (COUNT - from);
    const int how = rand_r(&o->seed) % 5;
    uint32_t *at;
    cl_int error;

    if (how == 0) {
        launch(o, o->data, COUNT, by);
        for (size_t i = 0; i < COUNT; i++)
            o->is[i] += by;
        return;
    }
    for (size_t i = from; i < from + count; i++)
        o->is[i] = by + (uint32_t)i;
    if (how == 1) {
        NEED(clEnqueueWriteBuffer(o->queue, o->data, CL_TRUE, from * 4, count * 4, o->is + from, 0, NULL, NULL));
    } else if (how == 2) {
        NEED(clEnqueueWriteBuffer(o->queue, o->data, CL_FALSE, from * 4, count * 4, o->is + from, 0, NULL, NULL));
        NEED(clFinish(o->queue));
    } else {
        at = clEnqueueMapBuffer(o->queue, o->data, CL_TRUE, how == 3 ? CL_MAP_WRITE : CL_MAP_WRITE_INVALIDATE_REGION,
                                from * 4, count * 4, 0, NULL, NULL, &error);
        NEED(error);
        memcpy(at, o->is + from, count * 4);
        NEED(clEnqueueUnmapMemObject(o->queue, o->data, at, 0, NULL, NULL));
    }
}

/* Maps kept for many rounds, then its sub-buffer for as many others, and now and then writes through the maps. */
static void keep(struct one *o)
{
    const unsigned at = o->rounds % LONG;
    cl_int error;

    if (at == 0) {
        launch(o, o->kept, COUNT, 3);
        o->map =
            clEnqueueMapBuffer(o->queue, o->kept, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, &error);
        NEED(error);
        all_are("kept", o->map, o->kept_is += 3, COUNT);
    } else if (at < LONG / 2) {
        all_are("mapped", o->map, o->kept_is, COUNT);
        o->kept_is++;
        for (size_t i = 0; i < COUNT; i++)
            o->map[i] = o->kept_is;
    } else if (at == LONG / 2) {
        NEED(clEnqueueUnmapMemObject(o->queue, o->kept, o->map, 0, NULL, NULL));
        launch(o, o->part, 2048, 0);
        o->part_map = clEnqueueMapBuffer(o->queue, o->part, CL_TRUE, CL_MAP_WRITE, 0, 8192, 0, NULL, NULL, &error);
        NEED(error);
        all_are("part", o->part_map, o->kept_is, 2048);
    } else if (at < LONG - 1) {
        for (size_t i = 0; i < 2048; i++)
            o->part_map[i] = o->kept_is + at;
    } else {
        for (size_t i = 0; i < 2048; i++)
            o->part_map[i] = o->kept_is;
        NEED(clEnqueueUnmapMemObject(o->queue, o->part, o->part_map, 0, NULL, NULL));
        NEED(clEnqueueReadBuffer(o->queue, o->kept, CL_TRUE, 0, SIZE, o->other, 0, NULL, NULL));
        all_are("kept at last", o->other, o->kept_is, COUNT);
    }
}

/* Uses a buffer that is created and released here, and the little one. */
static void pass(struct one *o)
{
    uint32_t wanted[LITTLE], read[LITTLE];
    cl_mem memory;

    for (unsigned i = 0; i < LITTLE; i++)
        wanted[i] = o->rounds + i;
    memory = make(sizeof(wanted), CL_MEM_COPY_HOST_PTR, wanted);
    NEED(clEnqueueCopyBuffer(o->queue, o->little, memory, 0, 4, 4, 0, NULL, NULL));
    wanted[1] = o->little_is;
    NEED(clEnqueueReadBuffer(o->queue, memory, CL_TRUE, 0, sizeof(read), read, 0, NULL, NULL));
    same("copy", read, wanted, LITTLE);
    clReleaseMemObject(memory);
    launch(o, o->little, LITTLE, 1);
    o->little_is++;
    NEED(clEnqueueReadBuffer(o->queue, o->little, CL_TRUE, 0, sizeof(read), read, 0, NULL, NULL));
    all_are("little", read, o->little_is, LITTLE);
}

/* The program reads and writes its own memory while no command uses it. */
static void host(struct one *o)
{
    const size_t count = SIZE / 4096 * 1024;

    launch(o, o->hosted, count, 2);
    launch(o, o->odd, LITTLE, 5);
    NEED(clFinish(o->queue));
    all_are("own memory", o->memory, o->hosted_is += 2, count);
    all_are("little own memory", o->odd_memory, o->odd_is += 5, LITTLE);
    if (o->rounds % 3)
        return;
    o->hosted_is += 7;
    o->odd_is += 9;
    for (size_t i = 0; i < count; i++)
        o->memory[i] = o->hosted_is;
    for (size_t i = 0; i < LITTLE; i++)
        o->odd_memory[i] = o->odd_is;
}

static void *run(void *argument)
{
    struct one *o = argument;

    while (access(stop_file, F_OK) || o->rounds % LONG) {
        change(o);
        look(o);
        keep(o);
        pass(o);
        if (over_host)
            host(o);
        o->rounds++;
        breathe();
        breathe(); /* two threads run this */
    }
    NEED(clEnqueueReadBuffer(o->queue, o->data, CL_TRUE, 0, SIZE, o->other, 0, NULL, NULL));
    same("in the end", o->other, o->is, COUNT);
    return NULL;
}

static void end(struct one *o)
{
    cl_mem memory[] = {o->data, o->little, o->part, o->kept, o->hosted, o->odd};

    for (unsigned i = 0; i < sizeof(memory) / sizeof(*memory); i++) {
        if (memory[i])
            NEED(clReleaseMemObject(memory[i]));
    }
    NEED(clReleaseKernel(o->add));
    NEED(clReleaseCommandQueue(o->queue));
    free(o->is);
    free(o->other);
    free(o->memory);
    free(o->odd_memory ? o->odd_memory - 3 : NULL);
}

int main(int count, char **words)
{
    static struct one one, other;
    cl_platform_id platform;
    pthread_t thread;
    cl_int error;

    stop_file = words[1];
    over_host = count > 2;
    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    NEED(error);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    NEED(error);
    NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
    begin(&one, 1);
    begin(&other, 2);
    printf("ready\n");
    fflush(stdout);
    if (pthread_create(&thread, NULL, run, &other))
        return 1;
    run(&one);
    pthread_join(thread, NULL);
    end(&one);
    end(&other);
    NEED(clReleaseProgram(program));
    NEED(clReleaseContext(context));
    printf("right, %u and %u rounds\n", one.rounds, other.rounds);
    return 0;
}
