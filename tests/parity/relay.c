/*
 * Commands that pass data on through the program's memory: what one command leaves there the next one reads, without a
 * wait of the program in between; in an in-order queue, and by events across queues, of several devices if there are
 * any.
 *
 * usage: relay [SIZE...]
 */
#include "parity.h"
#include <sys/mman.h>

static const char source[] = "__kernel void fill(__global uchar *to, uint value, uint size)\n"
                             "{\n"
                             "    for (uint turn = 0; turn < 3; turn++)\n"
                             "        for (uint i = get_global_id(0); i < size; i += get_global_size(0))\n"
                             "            to[i] = turn == 2 ? (uchar)value : (uchar)(to[i] * 5 + turn);\n"
                             "}\n"
                             "__kernel void copy(__global const uchar *from, __global uchar *to)\n"
                             "{\n"
                             "    to[get_global_id(0)] = from[get_global_id(0)];\n"
                             "}\n";

struct relay {
    struct parity parity;
    cl_command_queue first, second; /* second: the first again, or another queue */
    bool by_events;                 /* the queues are out of order */
    cl_kernel fill, copy;
    size_t size;
    cl_mem from, to, third;
    unsigned char *memory, *svm;
    unsigned char value;
};

#ifdef __SANITIZE_THREAD__ /* with it, kernels on PoCL's CPU device take ten minutes, even natively */
#define LARGE_TOO 0
#else
#define LARGE_TOO 1
#endif

static const size_t zero[3];

/* The events of commands; each command waits for the last one before it. */
struct chain {
    cl_event events[8];
    cl_uint count;
};

static cl_uint listed(const struct relay *r, const struct chain *c)
{
    return r->by_events && c->count ? 1 : 0;
}

static const cl_event *list(const struct relay *r, const struct chain *c)
{
    return listed(r, c) ? &c->events[c->count - 1] : NULL;
}

#define NEXT(chain) (&(chain)->events[(chain)->count])
#define LINK(r, chain) listed(r, chain), list(r, chain), NEXT(chain)

static void step(struct chain *c, cl_int status)
{
    CHECK(status);
    c->count++;
}

static void end(const struct relay *r, struct chain *c)
{
    CHECK(clFlush(r->first));
    CHECK(clFlush(r->second));
    CHECK(clWaitForEvents(1, &c->events[c->count - 1]));
    CHECK(clFinish(r->first));
    CHECK(clFinish(r->second));
    while (c->count)
        CHECK(clReleaseEvent(c->events[--c->count]));
}

static bool all_are(const unsigned char *bytes, size_t length, unsigned char wanted)
{
    return !length || (bytes[0] == wanted && !memcmp(bytes, bytes + 1, length - 1));
}

static bool holds(const struct relay *r, cl_mem buffer, unsigned char wanted)
{
    unsigned char *bytes = malloc(r->size);
    bool right;

    CHECK(clEnqueueReadBuffer(r->second, buffer, CL_TRUE, 0, r->size, bytes, 0, NULL, NULL));
    right = all_are(bytes, r->size, wanted);
    free(bytes);
    return right;
}

/* A slow kernel fills from with value; to and the program's memory hold other bytes. */
static void begin(struct relay *r, struct chain *c)
{
    const unsigned char no = (unsigned char)~++r->value;
    const cl_uint value = r->value, size = (cl_uint)r->size;
    const size_t items = r->size < 64 ? 1 : 64;

    CHECK(clEnqueueFillBuffer(r->second, r->to, &no, 1, 0, r->size, 0, NULL, NULL));
    CHECK(clEnqueueFillBuffer(r->second, r->from, &no, 1, 0, r->size, 0, NULL, NULL));
    CHECK(clFinish(r->second));
    memset(r->memory, no, r->size);
    parity_args(r->fill, 3, sizeof(cl_mem), &r->from, sizeof(value), &value, sizeof(size), &size);
    step(c, clEnqueueNDRangeKernel(r->first, r->fill, 1, NULL, &items, NULL, 0, NULL, NEXT(c)));
}

static bool read_then_write(struct relay *r)
{
    struct chain c = {.count = 0};

    begin(r, &c);
    step(&c, clEnqueueReadBuffer(r->first, r->from, CL_FALSE, 0, r->size, r->memory, LINK(r, &c)));
    CHECK(clFlush(r->first));
    parity_rich();
    step(&c, clEnqueueWriteBuffer(r->second, r->to, CL_FALSE, 0, r->size, r->memory, LINK(r, &c)));
    end(r, &c);
    return holds(r, r->to, r->value);
}

static bool rect_then_rect(struct relay *r)
{
    const size_t rows = r->size < 16 ? 1 : 4, region[3] = {r->size / rows, rows, 1};
    struct chain c = {.count = 0};

    begin(r, &c);
    step(&c,
         clEnqueueReadBufferRect(r->first, r->from, CL_FALSE, zero, zero, region, 0, 0, 0, 0, r->memory, LINK(r, &c)));
    CHECK(clFlush(r->first));
    step(&c,
         clEnqueueWriteBufferRect(r->second, r->to, CL_FALSE, zero, zero, region, 0, 0, 0, 0, r->memory, LINK(r, &c)));
    end(r, &c);
    return holds(r, r->to, r->value);
}

static bool map_then_write(struct relay *r)
{
    struct chain c = {.count = 0};
    cl_int status;
    void *map;

    begin(r, &c);
    map = clEnqueueMapBuffer(r->first, r->from, CL_FALSE, CL_MAP_READ, 0, r->size, LINK(r, &c), &status);
    step(&c, status);
    CHECK(clFlush(r->first));
    step(&c, clEnqueueWriteBuffer(r->second, r->to, CL_FALSE, 0, r->size, map, LINK(r, &c)));
    step(&c, clEnqueueUnmapMemObject(r->first, r->from, map, LINK(r, &c)));
    end(r, &c);
    return holds(r, r->to, r->value);
}

/* At the end the memory has the second read's bytes. */
static bool read_then_read(struct relay *r)
{
    const size_t few = r->size / 3 + 1;
    const unsigned char third = (unsigned char)(r->value ^ 0x55);
    struct chain c = {.count = 0};

    CHECK(clEnqueueFillBuffer(r->second, r->third, &third, 1, 0, r->size, 0, NULL, NULL));
    begin(r, &c);
    step(&c, clEnqueueReadBuffer(r->first, r->from, CL_FALSE, 0, r->size, r->memory, LINK(r, &c)));
    CHECK(clFlush(r->first));
    step(&c, clEnqueueReadBuffer(r->second, r->third, CL_FALSE, 0, few, r->memory, LINK(r, &c)));
    end(r, &c);
    return all_are(r->memory, few, third) && all_are(r->memory + few, r->size - few, r->value);
}

/* Data read into the map of another buffer are that buffer's contents. */
static bool read_into_map(struct relay *r)
{
    struct chain c = {.count = 0};
    cl_int status;
    void *map;

    begin(r, &c);
    map = clEnqueueMapBuffer(r->second, r->third, CL_TRUE, CL_MAP_WRITE, 0, r->size, 0, NULL, NULL, &status);
    CHECK(status);
    step(&c, clEnqueueReadBuffer(r->first, r->from, CL_FALSE, 0, r->size, map, LINK(r, &c)));
    CHECK(clFlush(r->first));
    step(&c, clEnqueueUnmapMemObject(r->second, r->third, map, LINK(r, &c)));
    step(&c, clEnqueueCopyBuffer(r->second, r->third, r->to, 0, 0, r->size, LINK(r, &c)));
    end(r, &c);
    return holds(r, r->to, r->value);
}

struct native_arguments {
    struct relay *relay;
};

static void CL_CALLBACK native(void *argument)
{
    struct relay *r = ((struct native_arguments *)argument)->relay;

    memset(r->memory, r->value, r->size);
}

/* Passes on what a native kernel has written. */
static bool native_then_write(struct relay *r)
{
    struct native_arguments arguments = {r};
    struct chain c = {.count = 0};

    begin(r, &c);
    step(&c, clEnqueueNativeKernel(r->first, native, &arguments, sizeof(arguments), 0, NULL, NULL, LINK(r, &c)));
    CHECK(clFlush(r->first));
    step(&c, clEnqueueWriteBuffer(r->second, r->to, CL_FALSE, 0, r->size, r->memory, LINK(r, &c)));
    end(r, &c);
    return holds(r, r->to, r->value);
}

static bool svm_copy_then_write(struct relay *r)
{
    struct chain c = {.count = 0};

    if (!r->svm)
        return true;
    begin(r, &c);
    step(&c, clEnqueueSVMMemFill(r->first, r->svm, &r->value, 1, r->size, LINK(r, &c)));
    step(&c, clEnqueueSVMMemcpy(r->first, CL_FALSE, r->memory, r->svm, r->size, LINK(r, &c)));
    CHECK(clFlush(r->first));
    step(&c, clEnqueueWriteBuffer(r->second, r->to, CL_FALSE, 0, r->size, r->memory, LINK(r, &c)));
    end(r, &c);
    return holds(r, r->to, r->value);
}

/* Passes on a kernel's results in SVM. */
static bool svm_kernel_then_write(struct relay *r)
{
    const cl_uint value = ++r->value, size = (cl_uint)r->size;
    const size_t items = r->size < 64 ? 1 : 64;
    struct chain c = {.count = 0};

    if (!r->svm)
        return true;
    CHECK(clSetKernelArgSVMPointer(r->fill, 0, r->svm));
    CHECK(clSetKernelArg(r->fill, 1, sizeof(value), &value));
    CHECK(clSetKernelArg(r->fill, 2, sizeof(size), &size));
    step(&c, clEnqueueNDRangeKernel(r->first, r->fill, 1, NULL, &items, NULL, 0, NULL, NEXT(&c)));
    step(&c, clEnqueueSVMMap(r->first, CL_FALSE, CL_MAP_READ, r->svm, r->size, LINK(r, &c)));
    CHECK(clFlush(r->first));
    step(&c, clEnqueueWriteBuffer(r->second, r->to, CL_FALSE, 0, r->size, r->svm, LINK(r, &c)));
    step(&c, clEnqueueSVMUnmap(r->first, r->svm, LINK(r, &c)));
    end(r, &c);
    return holds(r, r->to, r->value);
}

static bool read_into_svm(struct relay *r)
{
    struct chain c = {.count = 0};
    cl_event mapped;

    if (!r->svm)
        return true;
    begin(r, &c);
    /* with an event, without which PoCL 6 crashes at the unmapping */
    CHECK(clEnqueueSVMMap(r->second, CL_TRUE, CL_MAP_WRITE, r->svm, r->size, 0, NULL, &mapped));
    CHECK(clReleaseEvent(mapped));
    step(&c, clEnqueueReadBuffer(r->first, r->from, CL_FALSE, 0, r->size, r->svm, LINK(r, &c)));
    CHECK(clFlush(r->first));
    step(&c, clEnqueueSVMUnmap(r->second, r->svm, LINK(r, &c)));
    CHECK(clSetKernelArgSVMPointer(r->copy, 0, r->svm));
    CHECK(clSetKernelArg(r->copy, 1, sizeof(cl_mem), &r->to));
    step(&c, clEnqueueNDRangeKernel(r->second, r->copy, 1, NULL, &r->size, NULL, LINK(r, &c)));
    end(r, &c);
    return holds(r, r->to, r->value);
}

/* The program may unmap its memory also when the command has failed. */
static bool fails(struct relay *r)
{
    const size_t length = (r->size + 4095) & ~(size_t)4095;
    unsigned char *pages[2];
    cl_event user, failed[2];
    cl_int status;

    for (int i = 0; i < 2; i++) {
        pages[i] = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT(pages[i] != MAP_FAILED);
    }
    user = clCreateUserEvent(r->parity.context, &status);
    CHECK(status);
    CHECK(clEnqueueWriteBuffer(r->first, r->to, CL_FALSE, 0, r->size, pages[0], 1, &user, &failed[0]));
    CHECK(clEnqueueReadBuffer(r->second, r->from, CL_FALSE, 0, r->size, pages[1], 1, &user, &failed[1]));
    CHECK(clFlush(r->first));
    CHECK(clFlush(r->second));
    CHECK(clSetUserEventStatus(user, -7));
    for (int i = 0; i < 2; i++) {
        EXPECT(clWaitForEvents(1, &failed[i]) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        CHECK(clReleaseEvent(failed[i]));
        EXPECT(!munmap(pages[i], length));
    }
    CHECK(clReleaseEvent(user));
    return true;
}

static const struct {
    const char *name;
    bool (*run)(struct relay *r);
} cases[] = {
    {"read, then write", read_then_write},
    {"read rect, then write rect", rect_then_rect},
    {"map, then write", map_then_write},
    {"read, then read", read_then_read},
    {"read into a map", read_into_map},
    {"native kernel, then write", native_then_write},
    {"svm copy, then write", svm_copy_then_write},
    {"svm kernel, then write", svm_kernel_then_write},
    {"read into svm", read_into_svm},
};

static void test_size(struct relay *r, size_t size)
{
    r->size = size;
    r->from = parity_buffer(&r->parity, CL_MEM_READ_WRITE, size, NULL);
    r->to = parity_buffer(&r->parity, CL_MEM_READ_WRITE, size, NULL);
    r->third = parity_buffer(&r->parity, CL_MEM_READ_WRITE, size, NULL);
    r->memory = malloc(size);
    r->svm = clSVMAlloc(r->parity.context, CL_MEM_READ_WRITE, size, 0);
    for (size_t i = 0; i < PARITY_COUNT(cases); i++) {
        unsigned wrong = 0;

        for (int again = 0; again < 2; again++)
            wrong += !cases[i].run(r);
        printf("%s, %zu bytes%s: %u wrong\n", cases[i].name, size, r->by_events ? ", by events" : "", wrong);
    }
    if (r->svm)
        clSVMFree(r->parity.context, r->svm);
    free(r->memory);
    CHECK(clReleaseMemObject(r->from));
    CHECK(clReleaseMemObject(r->to));
    CHECK(clReleaseMemObject(r->third));
}

static void open_devices(struct relay *r, cl_device_id *second)
{
    cl_device_id devices[16];
    cl_uint count;
    cl_int status;

    CHECK(clGetPlatformIDs(1, &r->parity.platform, NULL));
    CHECK(clGetDeviceIDs(r->parity.platform, CL_DEVICE_TYPE_ALL, PARITY_COUNT(devices), devices, &count));
    count = count < PARITY_COUNT(devices) ? count : PARITY_COUNT(devices);
    r->parity.device = devices[0];
    *second = devices[count - 1];
    r->parity.context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    CHECK(status);
}

int main(int argc, char **argv)
{
    size_t sizes[16] = {1, 5000, 300000, (size_t)4 << 20}, count = LARGE_TOO ? 4 : 3;
    struct relay r = {.value = 1};
    cl_command_queue in_order, other;
    cl_device_id second;
    cl_program program;
    const char *text = source;
    cl_int status;

    if (argc > 1)
        count = 0;
    for (int i = 1; i < argc && count < PARITY_COUNT(sizes); i++)
        sizes[count++] = strtoul(argv[i], NULL, 0);
    open_devices(&r, &second);
    in_order = parity_queue(&r.parity, 0);
    other = clCreateCommandQueue(r.parity.context, second, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    CHECK(status);
    program = clCreateProgramWithSource(r.parity.context, 1, &text, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    r.fill = parity_kernel(program, "fill");
    r.copy = parity_kernel(program, "copy");
    r.first = in_order;
    for (int by_events = 0; by_events < 2; by_events++) {
        r.by_events = by_events;
        r.second = by_events ? other : in_order;
        for (size_t i = 0; i < count; i++)
            test_size(&r, sizes[i]);
    }
    /* in queues of their own: on some drivers a queue is unusable after a failure */
    for (size_t i = 0; i < count && parity_tries("failed-event"); i++) {
        r.size = sizes[i];
        r.from = parity_buffer(&r.parity, CL_MEM_READ_WRITE, r.size, NULL);
        r.to = parity_buffer(&r.parity, CL_MEM_READ_WRITE, r.size, NULL);
        r.first = parity_queue(&r.parity, 0);
        r.second = parity_queue(&r.parity, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
        fails(&r);
        printf("failing, %zu bytes\n", r.size);
        CHECK(clReleaseCommandQueue(r.first));
        CHECK(clReleaseCommandQueue(r.second));
        CHECK(clReleaseMemObject(r.from));
        CHECK(clReleaseMemObject(r.to));
    }
    CHECK(clReleaseKernel(r.fill));
    CHECK(clReleaseKernel(r.copy));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(in_order));
    CHECK(clReleaseCommandQueue(other));
    CHECK(clReleaseContext(r.parity.context));
    return 0;
}
