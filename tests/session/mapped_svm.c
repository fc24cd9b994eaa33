/*
 * Coarse-grained shared virtual memory, used in all ways, at random: allocations are created and freed, filled, copied,
 * mapped, written between map and unmap, passed to kernels with pointers in them, and used as buffers, beside ordinary
 * buffers. Their contents are printed now and then, and are the same wherever the program runs. Each device has a
 * context of its own for this, and one context has all devices and a buffer that goes from one device to the next.
 * usage: mapped_svm SEED COMMANDS [GIBIBYTES]: GIBIBYTES: first asks several times for an allocation of that size,
 * which may fail
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/draw.h"
#include "tests/session/moved.h"

enum { DEVICES = 2, PLACES = 12, MOST = 1 << 17, COUNT = 4096, LONG = 150 };

static const char *source =
    "struct item { uint value; uint more; global struct item *next; };\n"
    "kernel void blend(global uint *to, uint count, global const uint *from, uint from_count, uint by)\n"
    "{\n"
    "    for (size_t i = get_global_id(0); i < count; i += get_global_size(0))\n"
    "        to[i] = to[i] * 1664525 + from[i % from_count] + by;\n"
    "}\n"
    "kernel void walk(global struct item *at, uint by)\n"
    "{\n"
    "    for (; at; at = at->next)\n"
    "        at->value = at->value * 3 + by;\n"
    "}\n";

struct item {
    cl_uint value, more;
    struct item *next;
};

struct place {
    cl_uint *memory; /* NULL: no allocation */
    cl_uint count;
    cl_mem over; /* a buffer over memory, or NULL */
    cl_uint mapped;
};

struct side {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue, shared_queue;
    cl_kernel mix, walk, shared_mix;
    struct place places[PLACES];
    struct item *items[3];
    cl_mem buffer;
};

static struct side sides[DEVICES];
static cl_context shared;
static cl_mem relay;
static uint64_t state;
static int careless;
static cl_uint host[MOST];

static cl_uint below(cl_uint limit)
{
    return draw_below(&state, limit);
}

static void *allocate(struct side *s, size_t size)
{
    void *memory = clSVMAlloc(s->context, CL_MEM_READ_WRITE, size, 0);

    if (memory)
        return memory;
    printf("no memory of %zu bytes\n", size);
    exit(1);
}

static void make_items(struct side *s)
{
    for (int i = 0; i < 3; i++)
        s->items[i] = allocate(s, sizeof(struct item));
    for (int i = 0; i < 3; i++) {
        const struct item item = {(cl_uint)i + 7, 0, i < 2 ? s->items[i + 1] : NULL};

        NEED(clEnqueueSVMMemcpy(s->queue, CL_TRUE, s->items[i], &item, sizeof(item), 0, NULL, NULL));
    }
    NEED(clSetKernelArgSVMPointer(s->walk, 0, s->items[0]));
    NEED(clSetKernelExecInfo(s->walk, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(s->items), s->items));
}

static void begin(struct side *s, cl_device_id device)
{
    cl_int error;

    s->device = device;
    s->context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    NEED(error);
    s->queue = clCreateCommandQueueWithProperties(s->context, device, NULL, &error);
    NEED(error);
    s->shared_queue = clCreateCommandQueueWithProperties(shared, device, NULL, &error);
    NEED(error);
    s->mix = kernel_from(s->context, source, "blend");
    s->walk = kernel_from(s->context, source, "walk");
    s->shared_mix = kernel_from(shared, source, "blend");
    s->buffer = clCreateBuffer(s->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(host), host, &error);
    NEED(error);
    make_items(s);
}

static void open_all(void)
{
    cl_device_id devices[DEVICES];
    cl_platform_id platform;
    cl_uint count;
    cl_int error;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &count));
    if (count < DEVICES)
        devices[1] = devices[0];
    shared = clCreateContext(NULL, count < DEVICES ? 1 : DEVICES, devices, NULL, NULL, &error);
    NEED(error);
    relay = clCreateBuffer(shared, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, COUNT * 4, host, &error);
    NEED(error);
    for (int i = 0; i < DEVICES; i++)
        begin(&sides[i], devices[i]);
}

/* ---- commands ---- */

static void launch(cl_command_queue queue, cl_kernel kernel, size_t items)
{
    NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
}

static void come(struct side *s, struct place *place)
{
    const cl_uint pattern = below(1000);
    cl_int error;

    place->count = 16 + below(below(4) ? 5000 : MOST - 16);
    place->memory = allocate(s, place->count * 4);
    NEED(clEnqueueSVMMemFill(s->queue, place->memory, &pattern, 4, place->count * 4, 0, NULL, NULL));
    if (below(3))
        return;
    place->over = clCreateBuffer(s->context, CL_MEM_USE_HOST_PTR, place->count * 4, place->memory, &error);
    NEED(error);
}

static void CL_CALLBACK free_all(cl_command_queue queue, cl_uint count, void *memory[], void *context)
{
    (void)queue;
    while (count--)
        clSVMFree(context, memory[count]);
}

/* Frees an allocation. A careless program does not release the buffer over it. */
static void go(struct side *s, struct place *place)
{
    void *memory = place->memory;

    if (place->mapped)
        NEED(clEnqueueSVMUnmap(s->queue, memory, 0, NULL, NULL));
    NEED(clFinish(s->queue));
    if (place->over && !careless)
        NEED(clReleaseMemObject(place->over));
    if (below(2))
        NEED(clEnqueueSVMFree(s->queue, 1, &memory, free_all, s->context, 0, NULL, NULL));
    else
        clSVMFree(s->context, memory);
    *place = (struct place){0};
}

/* Maps an allocation for a while, in which no other command uses it. */
static void map(struct side *s, struct place *place)
{
    const cl_map_flags all[] = {CL_MAP_READ, CL_MAP_READ | CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
    const cl_map_flags flags = all[below(3)];
    const cl_uint by = below(1000);

    NEED(clEnqueueSVMMap(s->queue, CL_TRUE, flags, place->memory, place->count * 4, 0, NULL, NULL));
    for (cl_uint i = 0; flags == CL_MAP_WRITE_INVALIDATE_REGION && i < place->count; i++)
        place->memory[i] = i * by;
    for (cl_uint i = by % 16; flags & CL_MAP_WRITE && i < place->count; i += 1 + by % 7)
        place->memory[i] = place->memory[i] * 5 + by;
    place->mapped = 1 + below(3);
}

static void unmap(struct side *s, struct place *place)
{
    if (--place->mapped)
        return;
    NEED(clEnqueueSVMUnmap(s->queue, place->memory, 0, NULL, NULL));
}

static void mix(struct side *s, struct place *to, struct place *from)
{
    const cl_uint by = below(1000), count = COUNT;

    if (to->over && below(2))
        NEED(clSetKernelArg(s->mix, 0, sizeof(cl_mem), &to->over));
    else
        NEED(clSetKernelArgSVMPointer(s->mix, 0, to->memory));
    NEED(clSetKernelArg(s->mix, 1, 4, &to->count));
    if (from && from->memory && !from->mapped && from != to) {
        NEED(clSetKernelArgSVMPointer(s->mix, 2, from->memory));
        NEED(clSetKernelArg(s->mix, 3, 4, &from->count));
    } else {
        NEED(clSetKernelArg(s->mix, 2, sizeof(cl_mem), &s->buffer));
        NEED(clSetKernelArg(s->mix, 3, 4, &count));
    }
    NEED(clSetKernelArg(s->mix, 4, 4, &by));
    for (cl_uint times = 1 + below(4); times; times--)
        launch(s->queue, s->mix, 64);
}

/* Uses an ordinary buffer, whose contents the program does not see until it reads them. */
static void mix_buffer(struct side *s, const struct place *from)
{
    const cl_uint by = below(1000), count = COUNT;

    NEED(clSetKernelArg(s->mix, 0, sizeof(cl_mem), &s->buffer));
    NEED(clSetKernelArg(s->mix, 1, 4, &count));
    NEED(clSetKernelArgSVMPointer(s->mix, 2, from->memory));
    NEED(clSetKernelArg(s->mix, 3, 4, &from->count));
    NEED(clSetKernelArg(s->mix, 4, 4, &by));
    launch(s->queue, s->mix, 64);
}

static void copy(struct side *s, struct place *to, const struct place *from)
{
    const cl_uint count = from->count < to->count ? from->count : to->count;

    if (to == from || !from->memory || from->mapped) {
        for (cl_uint i = 0; i < to->count; i++)
            host[i] = host[i] * 69069 + i;
        NEED(clEnqueueSVMMemcpy(s->queue, below(2), to->memory, host, to->count * 4, 0, NULL, NULL));
        NEED(clFinish(s->queue)); /* the program's memory is written again */
    } else {
        NEED(clEnqueueSVMMemcpy(s->queue, CL_FALSE, to->memory, from->memory, count * 4, 0, NULL, NULL));
    }
}

static void print_sum(const char *what, const cl_uint *numbers, cl_uint count)
{
    cl_uint sum = 0;

    for (cl_uint i = 0; i < count; i++)
        sum = sum * 31 + numbers[i];
    printf("%s: %u numbers, %u\n", what, count, sum);
}

static void look(struct side *s, const struct place *place)
{
    static cl_uint seen[MOST];
    struct item item;

    if (place->over && below(2))
        NEED(clEnqueueReadBuffer(s->queue, place->over, CL_TRUE, 0, place->count * 4, seen, 0, NULL, NULL));
    else
        NEED(clEnqueueSVMMemcpy(s->queue, CL_TRUE, seen, place->memory, place->count * 4, 0, NULL, NULL));
    print_sum("memory", seen, place->count);
    NEED(clEnqueueReadBuffer(s->queue, s->buffer, CL_TRUE, 0, COUNT * 4, seen, 0, NULL, NULL));
    print_sum("buffer", seen, COUNT);
    for (int i = 0; i < 3; i++) {
        NEED(clEnqueueSVMMemcpy(s->queue, CL_TRUE, &item, s->items[i], sizeof(item), 0, NULL, NULL));
        printf("item %d: %u\n", i, item.value);
    }
}

/* Changes contents that go from device to device. */
static void pass_on(struct side *s)
{
    const cl_uint by = below(1000), count = COUNT;

    NEED(clSetKernelArg(s->shared_mix, 0, sizeof(relay), &relay));
    NEED(clSetKernelArg(s->shared_mix, 1, 4, &count));
    NEED(clSetKernelArg(s->shared_mix, 2, sizeof(relay), &relay));
    NEED(clSetKernelArg(s->shared_mix, 3, 4, &(cl_uint){1}));
    NEED(clSetKernelArg(s->shared_mix, 4, 4, &by));
    launch(s->shared_queue, s->shared_mix, 1);
    NEED(clFinish(s->shared_queue));
}

static void command(struct side *s)
{
    struct place *place = &s->places[below(PLACES)], *other = &s->places[below(PLACES)];

    if (!place->memory) {
        come(s, place);
        return;
    }
    if (place->mapped) {
        unmap(s, place);
        return;
    }
    switch (below(20)) {
    case 0:
        go(s, place);
        break;
    case 1:
    case 2:
    case 3:
        map(s, place);
        break;
    case 4:
    case 5:
        copy(s, place, other);
        break;
    case 6:
        look(s, place);
        break;
    case 7:
    case 8:
        mix_buffer(s, place);
        break;
    case 9:
        NEED(clSetKernelArg(s->walk, 1, 4, &(cl_uint){below(9)}));
        launch(s->queue, s->walk, 1);
        break;
    case 10:
        pass_on(s);
        break;
    default:
        mix(s, place, other);
    }
}

/* Asks for more memory than a worker may have, whose limit was this program's at first. */
static void ask_for(size_t bytes)
{
    struct rlimit limit;
    unsigned had = 0;

    if (!bytes || getrlimit(RLIMIT_AS, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
    for (int i = 0; i < 3; i++)
        had += clSVMAlloc(sides[0].context, CL_MEM_READ_WRITE, bytes, 0) != NULL;
    fprintf(stderr, "%u of 3 were to be had\n", had);
}

int main(int count, char **words)
{
    const unsigned commands = count > 2 ? (unsigned)atoi(words[2]) : 0;
    cl_uint seen[COUNT];

    state = count > 1 ? strtoull(words[1], NULL, 10) : 1;
    careless = state % 3 == 0;
    for (cl_uint i = 0; i < MOST; i++)
        host[i] = i * 2654435761u;
    open_all();
    ask_for(count > 3 ? (size_t)atoi(words[3]) << 30 : 0);
    for (unsigned i = 0; i < commands; i++) {
        command(&sides[below(DEVICES)]);
        if (!below(30))
            NEED(clFinish(sides[below(DEVICES)].queue));
        usleep(LONG);
    }
    for (int i = 0; i < DEVICES; i++) {
        for (int k = 0; k < PLACES; k++) {
            if (sides[i].places[k].memory && !sides[i].places[k].mapped)
                look(&sides[i], &sides[i].places[k]);
        }
    }
    NEED(clEnqueueReadBuffer(sides[0].shared_queue, relay, CL_TRUE, 0, sizeof(seen), seen, 0, NULL, NULL));
    print_sum("relay", seen, COUNT);
    return 0;
}
