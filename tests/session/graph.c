/*
 * A random graph of commands, made from a seed: kernels of different durations, copies, fills, writes, reads, maps and
 * markers, on several queues of all devices. Each command waits for the events of the commands whose data it uses, in
 * any order, and some wait for user events. At the end, every buffer has the contents that the same commands, in the
 * order of their enqueueing, produce on the host.
 * usage: graph SEED COMMANDS [FILE]: more commands as long as FILE does not exist
 */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tests/draw.h"
#include "tests/session/moved.h"

enum { BUFFERS = 6, QUEUES = 7, COUNT = 4096, SIZE = COUNT * 4, MOST = 64, WAITS = 64 };

static const char *source = "kernel void next(global uint *data, uint factor, uint more, uint rounds)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    uint value = data[i];\n"
                            "    for (uint r = 0; r < rounds; r++)\n"
                            "        value = value * factor + more;\n"
                            "    data[i] = value;\n"
                            "}\n"
                            "kernel void sum(global const uint *from, global uint *to, uint factor)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    to[i] += from[i] * factor;\n"
                            "}\n";

/* A buffer, its expected contents, and its users: the last command that wrote, and those that have read since. */
struct data {
    cl_mem memory;
    uint32_t wanted[COUNT];
    cl_event writer, readers[WAITS];
    cl_uint reader_count;
};

static struct data data[BUFFERS];
static cl_device_id devices[MOST];
static cl_uint device_count;
static cl_context context;
static cl_command_queue queues[QUEUES];
static cl_kernel next, sum;
static cl_event gate;
static bool gate_open = true;
static uint64_t state;

static uint32_t pick(uint32_t below)
{
    return draw_below(&state, below);
}

/* ---- dependencies ---- */

struct list {
    cl_event events[2 * WAITS + 4];
    cl_uint count;
};

static void wait_after(struct list *list, cl_event event)
{
    if (event)
        list->events[list->count++] = event;
}

static void wait_for_use(struct list *list, const struct data *d, bool write)
{
    wait_after(list, d->writer);
    for (cl_uint i = 0; write && i < d->reader_count; i++)
        wait_after(list, d->readers[i]);
}

static void forget(cl_event *event)
{
    if (*event)
        NEED(clReleaseEvent(*event));
    *event = NULL;
}

static void forget_readers(struct data *d)
{
    while (d->reader_count)
        forget(&d->readers[--d->reader_count]);
}

/* Records the event of a command with a buffer that the command uses. */
static void used(struct data *d, cl_event event, bool write)
{
    NEED(clRetainEvent(event));
    if (write) {
        forget_readers(d);
        forget(&d->writer);
        d->writer = event;
        return;
    }
    if (d->reader_count == WAITS) {
        NEED(clWaitForEvents(d->reader_count, d->readers));
        forget_readers(d);
    }
    d->readers[d->reader_count++] = event;
}

static const cl_event *events(const struct list *list)
{
    return list->count ? list->events : NULL;
}

/* ---- the commands ---- */

static cl_event run_next(cl_command_queue queue, struct data *d, struct list *list)
{
    const uint32_t factor = pick(7) + 1, more = pick(100), rounds = pick(4) ? pick(4) + 1 : pick(2000);
    const size_t global = COUNT;
    cl_event event;

    wait_for_use(list, d, true);
    NEED(clSetKernelArg(next, 0, sizeof(d->memory), &d->memory));
    NEED(clSetKernelArg(next, 1, sizeof(factor), &factor));
    NEED(clSetKernelArg(next, 2, sizeof(more), &more));
    NEED(clSetKernelArg(next, 3, sizeof(rounds), &rounds));
    NEED(clEnqueueNDRangeKernel(queue, next, 1, NULL, &global, NULL, list->count, events(list), &event));
    used(d, event, true);
    for (size_t i = 0; i < COUNT; i++) {
        for (uint32_t r = 0; r < rounds; r++)
            d->wanted[i] = d->wanted[i] * factor + more;
    }
    return event;
}

static cl_event run_sum(cl_command_queue queue, struct data *from, struct data *to, struct list *list)
{
    const uint32_t factor = pick(5) + 1;
    const size_t global = COUNT;
    cl_event event;

    wait_for_use(list, from, false);
    wait_for_use(list, to, true);
    NEED(clSetKernelArg(sum, 0, sizeof(from->memory), &from->memory));
    NEED(clSetKernelArg(sum, 1, sizeof(to->memory), &to->memory));
    NEED(clSetKernelArg(sum, 2, sizeof(factor), &factor));
    NEED(clEnqueueNDRangeKernel(queue, sum, 1, NULL, &global, NULL, list->count, events(list), &event));
    used(from, event, false);
    used(to, event, true);
    for (size_t i = 0; i < COUNT; i++)
        to->wanted[i] += from->wanted[i] * factor;
    return event;
}

static void pick_range(size_t *start, size_t *count)
{
    *start = pick(COUNT - 1);
    *count = 1 + pick((uint32_t)(COUNT - *start));
}

static cl_event run_copy(cl_command_queue queue, struct data *from, struct data *to, struct list *list)
{
    size_t start, count, target;
    cl_event event;

    pick_range(&start, &count);
    target = pick((uint32_t)(COUNT - count + 1));
    wait_for_use(list, from, false);
    wait_for_use(list, to, true);
    NEED(clEnqueueCopyBuffer(queue, from->memory, to->memory, start * 4, target * 4, count * 4, list->count,
                             events(list), &event));
    used(from, event, false);
    used(to, event, true);
    memcpy(to->wanted + target, from->wanted + start, count * 4);
    return event;
}

static cl_event run_fill(cl_command_queue queue, struct data *d, struct list *list)
{
    const uint32_t pattern = pick(1000);
    size_t start, count;
    cl_event event;

    pick_range(&start, &count);
    wait_for_use(list, d, true);
    NEED(clEnqueueFillBuffer(queue, d->memory, &pattern, 4, start * 4, count * 4, list->count, events(list), &event));
    used(d, event, true);
    for (size_t i = start; i < start + count; i++)
        d->wanted[i] = pattern;
    return event;
}

static void open_gate(void)
{
    if (gate && !gate_open)
        NEED(clSetUserEventStatus(gate, CL_COMPLETE));
    gate_open = true;
}

static cl_event run_write(cl_command_queue queue, struct data *d, struct list *list)
{
    static uint32_t values[COUNT];
    size_t start, count;
    cl_event event;

    pick_range(&start, &count);
    for (size_t i = 0; i < count; i++)
        values[i] = pick(1 << 30);
    wait_for_use(list, d, true);
    open_gate(); /* a blocking call could wait for a command behind the gate */
    NEED(clEnqueueWriteBuffer(queue, d->memory, CL_TRUE, start * 4, count * 4, values, list->count, events(list),
                              &event));
    used(d, event, true);
    memcpy(d->wanted + start, values, count * 4);
    return event;
}

static void compare(const char *what, const uint32_t *found, const struct data *d, size_t start, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (found[i] == d->wanted[start + i])
            continue;
        printf("%s: buffer %d, element %zu is %u, not %u\n", what, (int)(d - data), start + i, found[i],
               d->wanted[start + i]);
        exit(1);
    }
}

static cl_event run_read(cl_command_queue queue, struct data *d, struct list *list)
{
    static uint32_t values[COUNT];
    size_t start, count;
    cl_event event;

    pick_range(&start, &count);
    wait_for_use(list, d, false);
    open_gate();
    NEED(clEnqueueReadBuffer(queue, d->memory, CL_TRUE, start * 4, count * 4, values, list->count, events(list),
                             &event));
    used(d, event, false);
    compare("read", values, d, start, count);
    return event;
}

static cl_event run_map(cl_command_queue queue, struct data *d, struct list *list)
{
    size_t start, count;
    uint32_t *seen;
    cl_event event;
    cl_int status;

    pick_range(&start, &count);
    wait_for_use(list, d, true);
    open_gate();
    seen = clEnqueueMapBuffer(queue, d->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, start * 4, count * 4, list->count,
                              events(list), NULL, &status);
    NEED(status);
    compare("map", seen, d, start, count);
    for (size_t i = 0; i < count; i++)
        d->wanted[start + i] = seen[i] += 3;
    NEED(clEnqueueUnmapMemObject(queue, d->memory, seen, 0, NULL, &event));
    used(d, event, true);
    return event;
}

static void command(void)
{
    cl_command_queue queue = queues[pick(QUEUES)];
    struct data *one = &data[pick(BUFFERS)], *other = &data[pick(BUFFERS)];
    struct list list = {.count = 0};
    cl_event event;
    cl_int status;

    if (!pick(40) && gate_open) {
        forget(&gate);
        gate = clCreateUserEvent(context, &status);
        NEED(status);
        gate_open = false;
    }
    if (!gate_open && !pick(3))
        wait_after(&list, gate);
    switch (pick(10)) {
    case 0:
        event = run_write(queue, one, &list);
        break;
    case 1:
        event = run_read(queue, one, &list);
        break;
    case 2:
        event = run_fill(queue, one, &list);
        break;
    case 3:
        event = run_map(queue, one, &list);
        break;
    case 4:
    case 5:
        event = one == other ? run_next(queue, one, &list) : run_copy(queue, one, other, &list);
        break;
    case 6:
    case 7:
        event = one == other ? run_next(queue, one, &list) : run_sum(queue, one, other, &list);
        break;
    default:
        event = run_next(queue, one, &list);
    }
    NEED(clReleaseEvent(event));
    if (!pick(10))
        open_gate();
}

/* ---- */

static void open_all(void)
{
    cl_platform_id platform;
    cl_program program;
    cl_int status;

    NEED(clGetPlatformIDs(1, &platform, NULL));
    NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &device_count));
    context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
    NEED(status);
    for (uint32_t i = 0; i < QUEUES; i++) {
        queues[i] = clCreateCommandQueue(context, devices[i % device_count],
                                         pick(3) ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
        NEED(status);
    }
    for (int i = 0; i < BUFFERS; i++) {
        for (size_t at = 0; at < COUNT; at++)
            data[i].wanted[at] = pick(1 << 20);
        data[i].memory = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, SIZE, data[i].wanted, &status);
        NEED(status);
    }
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    NEED(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    next = clCreateKernel(program, "next", &status);
    NEED(status);
    sum = clCreateKernel(program, "sum", &status);
    NEED(status);
    NEED(clReleaseProgram(program));
}

int main(int count, char **arguments)
{
    static uint32_t found[COUNT];
    const int least = count > 2 ? atoi(arguments[2]) : 1000;
    int commands = 0;

    state = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    open_all();
    for (; commands < least || (count > 3 && access(arguments[3], F_OK)); commands++) {
        command();
        if (commands >= least)
            breathe();
    }
    open_gate();
    for (int i = 0; i < QUEUES; i++)
        NEED(clFinish(queues[i]));
    for (int i = 0; i < BUFFERS; i++) {
        NEED(clEnqueueReadBuffer(queues[(unsigned)i % QUEUES], data[i].memory, CL_TRUE, 0, SIZE, found, 0, NULL, NULL));
        compare("in the end", found, &data[i], 0, COUNT);
    }
    printf("%d commands on %u devices\n", commands, device_count);
    return 0;
}
