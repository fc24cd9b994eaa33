/*
 * The guarantees that devcom.h promises by their words, on hosts and in kernels: what quiet, fence and flush local
 * order and complete, the conditions of waits, signals of 64 bits and counted ones, and puts by elements of a list.
 * Between any number of ranks.
 */
#include <unistd.h>

#include "tests/devcom/segments.h"

enum { DATA = 7, COUNTED, AFTER, WAITED, ELEMENTS, ITEMS = 16, SIZE = 200000 };
static const int64_t LARGE = (int64_t)1 << 40;

static const char source[] =
    "void fill(global uint *at, uint words, uint seed)\n"
    "{\n"
    "    for (uint i = get_local_id(0); i < words; i += get_local_size(0))\n"
    "        at[i] = i * 7 + seed;\n"
    "}\n"
    /* each of these puts data without a signal, and the signal by another queue */
    "kernel void quiet(global struct devcom_device *d, global int *errors, uint words, uint seed, uint one)\n"
    "{\n"
    "    uint next = (d->rank + 1) % d->size;\n"
    "    fill((global uint *)devcom_ptr(d, d->rank, 1), words, seed + d->rank);\n"
    "    int e0 = devcom_write(d, 1, 0, next, 0, 64, words * 4, 0), e1 = 0, e2 = 0;\n"
    "    if (one)\n"
    "        e1 = devcom_quiet_rank(d, next, 0);\n"
    "    else\n"
    "        e2 = devcom_quiet(d, 0);\n"
    "    int e3 = devcom_signal_op(d, next, 9, DEVCOM_SIGNAL_SET, (long)seed << 33, 1);\n"
    "    if (get_local_id(0) == 0)\n"
    "        errors[0] = e0 + e1 + e2 + e3;\n"
    "}\n"
    /* the source is overwritten as soon as it may be */
    "kernel void flush_local(global struct devcom_device *d, global int *errors, uint words, uint seed)\n"
    "{\n"
    "    uint next = (d->rank + 1) % d->size;\n"
    "    global uint *mine = (global uint *)devcom_ptr(d, d->rank, 1);\n"
    "    fill(mine, words, seed + d->rank);\n"
    "    int e0 = devcom_write_notify(d, 1, 0, next, 0, 64, words * 4, 9, DEVCOM_SIGNAL_ADD, 1L << 35, 1);\n"
    "    int e1 = devcom_flush_local(d, 1);\n"
    "    fill(mine, words, 12345);\n"
    "    if (get_local_id(0) == 0)\n"
    "        errors[0] = e0 + e1;\n"
    "}\n"
    /* the target polls the second word, and then looks at the first data */
    "kernel void fence(global struct devcom_device *d, global int *errors, uint words, uint seed)\n"
    "{\n"
    "    uint next = (d->rank + 1) % d->size;\n"
    "    global uint *mine = (global uint *)devcom_ptr(d, d->rank, 1);\n"
    "    fill(mine, words, seed + d->rank);\n"
    "    fill(mine + words, 1, seed);\n"
    "    int e0 = devcom_write(d, 1, 0, next, 0, 64, words * 4, 0), e1 = devcom_fence(d, 0);\n"
    "    int e2 = devcom_write(d, 1, words * 4, next, 0, 0, 4, 0);\n"
    "    if (get_local_id(0) == 0)\n"
    "        errors[0] = e0 + e1 + e2;\n"
    "}\n"
    "kernel void wait_for(global struct devcom_device *d, global int *errors, uint condition, long value)\n"
    "{\n"
    "    int error = devcom_signal_wait(d, 10, condition, value);\n"
    "    if (get_local_id(0) == 0)\n"
    "        errors[0] = error;\n"
    "}\n"
    /* each work-group has a channel and a place of its own, and puts it to every rank */
    "kernel void elements(global struct devcom_device *d, global int *errors)\n"
    "{\n"
    "    uint group = get_group_id(0), element = 0;\n"
    "    global uint *mine = (global uint *)devcom_ptr(d, d->rank, 1);\n"
    "    mine[1024 + group * get_local_size(0) + get_local_id(0)] = group * 1000 + get_local_id(0) + d->rank;\n"
    "    do {\n"
    "        int error = devcom_put_element(d, element, group * get_local_size(0) * 4, group * get_local_size(0) * 4,\n"
    "                                       get_local_size(0) * 4, group);\n"
    "        if (error)\n"
    "            errors[0] = error;\n"
    "    } while (++element < d->size);\n"
    "}\n"
    "kernel void wrong(global struct devcom_device *d, global int *errors)\n"
    "{\n"
    "    int e0 = devcom_quiet(d, d->queues), e1 = devcom_quiet_rank(d, d->size, 0), e2 = devcom_fence(d, d->queues);\n"
    "    int e3 = devcom_flush_local(d, d->queues), e4 = devcom_signal_wait(d, 10, DEVCOM_LE + 1, 0);\n"
    "    int e5 = devcom_put_element(d, d->size, 0, 0, 8, 0), e6 = devcom_put_element(d, 0, 1 << 20, 0, 8, 0);\n"
    "    int e7 = devcom_put_element(d, 0, 0, ~0ul, 8, 0), e8 = devcom_quiet_rank(d, 0, d->queues);\n"
    "    if (get_local_id(0) == 0) {\n"
    "        errors[0] = e0; errors[1] = e1; errors[2] = e2; errors[3] = e3; errors[4] = e4;\n"
    "        errors[5] = e5; errors[6] = e6; errors[7] = e7; errors[8] = e8;\n"
    "    }\n"
    "}\n"
    /* names and orders of version 0.1 */
    "kernel void old(global struct devcom_device *d, global int *errors)\n"
    "{\n"
    "    uint next = (d->rank + 1) % d->size;\n"
    "    int e0 = devcom_put(d, 0, 1, 0, next, 0, 64, 8);\n"
    "    int e1 = devcom_put_notify(d, 0, 1, 8, next, 0, 72, 8, 9, DEVCOM_ADD, 1), e2 = devcom_flush(d, 0);\n"
    "    int e3 = devcom_notify(d, 0, next, 9, DEVCOM_ADD, 1), e4 = devcom_wait_notify(d, 9, DEVCOM_GE, 2);\n"
    "    if (get_local_id(0) == 0)\n"
    "        errors[0] = e0 + e1 + e2 + e3 + e4;\n"
    "}\n";

static struct devcom_endpoint *endpoint;
static cl_program program;
static cl_mem errors;
static int next, last;

/* ---- hosts ---- */

/* The same for hosts and kernels: a value of the signal that does not satisfy the condition, and one that does. The low
 * halves would. */
static const struct {
    enum devcom_condition condition;
    int64_t value, before, after;
} conditions[] = {
    {DEVCOM_EQ, (int64_t)1 << 40, 0, (int64_t)1 << 40},
    {DEVCOM_NE, 0, 0, (int64_t)1 << 40},
    {DEVCOM_LT, 5, (int64_t)1 << 40, 4},
    {DEVCOM_LT, 5, 5, INT64_MIN},
    {DEVCOM_GE, (int64_t)1 << 40, 0, (int64_t)1 << 40},
    {DEVCOM_GT, (int64_t)1 << 40, (int64_t)1 << 40, ((int64_t)1 << 40) + 1},
    {DEVCOM_GT, -1, INT64_MIN, 0},
    {DEVCOM_LE, 0, (int64_t)1 << 40, 0},
    {DEVCOM_LE, -1, 0, -((int64_t)1 << 40)},
};
enum { CONDITIONS = sizeof(conditions) / sizeof(*conditions) };

static void check_conditions(void)
{
    int64_t value;

    for (int i = 0; i < CONDITIONS; i++) {
        enum devcom_condition condition = conditions[i].condition;

        EQUAL(devcom_signal_store(d, WAITED, conditions[i].before), 0);
        EQUAL(devcom_signal_wait(d, WAITED, condition, conditions[i].value, DEVCOM_TEST, NULL), -ETIMEDOUT);
        meet();
        EQUAL(devcom_signal_op(d, next, WAITED, DEVCOM_SIGNAL_SET, conditions[i].after, 0), 0);
        EQUAL(devcom_signal_wait(d, WAITED, condition, conditions[i].value, 600L * SECOND, &value), 0);
        EQUAL(value, conditions[i].after);
        meet();
    }
    EQUAL(devcom_signal_wait(d, WAITED, (enum devcom_condition)(DEVCOM_LE + 1), 0, DEVCOM_TEST, NULL), -EINVAL);
}

/* Checks what a rank has put at 64, and that nothing else was. */
static void check_got(size_t bytes, unsigned seed)
{
    static uint8_t got[SIZE], expected[SIZE];

    load(HOST, 64, got, bytes);
    pattern(expected, bytes, seed + (unsigned)last);
    EXPECT(!memcmp(got, expected, bytes));
}

/* After quiet the data are there: a signal of another queue, whose operations are independent, is not seen before. */
static void check_quiet(unsigned from, size_t bytes, bool one)
{
    static uint8_t sent[SIZE];

    for (unsigned round = 1; round <= 5; round++) {
        pattern(sent, bytes, round + (unsigned)rank);
        store(from, 0, sent, bytes);
        EQUAL(devcom_write(d, from, 0, next, HOST, 64, bytes, 0), 0);
        if (one)
            EQUAL(devcom_quiet_rank(d, next, 0, 600L * SECOND), 0);
        else
            EQUAL(devcom_quiet(d, 0, 600L * SECOND), 0);
        EQUAL(devcom_signal_op(d, next, AFTER, DEVCOM_SIGNAL_SET, round * LARGE, 1), 0);
        EQUAL(devcom_signal_wait(d, AFTER, DEVCOM_EQ, round * LARGE, 600L * SECOND, NULL), 0);
        check_got(bytes, round);
        meet();
    }
    EQUAL(devcom_signal_store(d, AFTER, 0), 0);
    meet();
}

/* After flush local this rank's memory may be changed, and the data of gets have arrived. */
static void check_flush_local(unsigned from, size_t bytes)
{
    static uint8_t sent[SIZE], zeros[SIZE];

    for (unsigned round = 1; round <= 5; round++) {
        pattern(sent, bytes, round + (unsigned)rank);
        store(from, 0, sent, bytes);
        EQUAL(devcom_write_notify(d, from, 0, next, HOST, 64, bytes, AFTER, DEVCOM_SIGNAL_ADD, 1, 0), 0);
        EQUAL(devcom_flush_local(d, 0, 600L * SECOND), 0);
        store(from, 0, zeros, bytes);
        EQUAL(devcom_signal_wait(d, AFTER, DEVCOM_GT, round - 1, 600L * SECOND, NULL), 0);
        check_got(bytes, round);
        meet();
        EQUAL(devcom_read(d, from, 0, next, HOST, 64, bytes, 2), 0);
        EQUAL(devcom_flush_local(d, 2, 600L * SECOND), 0);
        load(from, 0, zeros, bytes);
        pattern(sent, bytes, round + (unsigned)rank);
        EXPECT(!memcmp(zeros, sent, bytes));
        memset(zeros, 0, bytes);
        meet();
    }
    EQUAL(devcom_signal_store(d, AFTER, 0), 0);
    meet();
}

/* Waits until the first word of a segment has a value, as a program that knows no signals does. */
static void poll_word(uint32_t value)
{
    void *at;

    EQUAL(devcom_segment_ptr(d, rank, HOST, &at), 0);
    while (__atomic_load_n((uint32_t *)at, __ATOMIC_ACQUIRE) != value)
        devcom_signal_wait(d, DATA, DEVCOM_NE, 0, 100, NULL);
}

static void check_fence(unsigned from, size_t bytes)
{
    static uint8_t sent[SIZE];

    for (uint32_t round = 1; round <= 5; round++) {
        pattern(sent, bytes, round + (unsigned)rank);
        store(from, 0, sent, bytes);
        store(from, SIZE, &round, sizeof(round));
        EQUAL(devcom_write(d, from, 0, next, HOST, 64, bytes, 0), 0);
        EQUAL(devcom_fence(d, 0), 0);
        EQUAL(devcom_write(d, from, SIZE, next, HOST, 0, sizeof(round), 0), 0);
        poll_word(round);
        check_got(bytes, round);
        EQUAL(devcom_quiet(d, 0, 600L * SECOND), 0);
        meet();
    }
}

/* All ranks count into one signal of each rank. */
static void check_counted(void)
{
    enum { EACH = 20 };

    for (int i = 0; i < EACH; i++) {
        for (int to = 0; to < size; to++)
            EQUAL(devcom_signal_op(d, to, COUNTED, DEVCOM_SIGNAL_ADD, LARGE, (unsigned)i % 4), 0);
    }
    EQUAL(devcom_signal_wait(d, COUNTED, DEVCOM_GT, (EACH * size - 1) * LARGE, 600L * SECOND, NULL), 0);
    EQUAL(devcom_signal_wait(d, COUNTED, DEVCOM_EQ, EACH * size * LARGE, DEVCOM_TEST, NULL), 0);
    meet();
    EQUAL(devcom_signal_store(d, COUNTED, 0), 0);
    meet();
}

static void check_misuse(void)
{
    struct devcom_put put = {.segment = DEVICE, .shape = {8, {2, 1}, {8, 0}, {8, 0}}}, none = {.rank = size};

    EQUAL(devcom_quiet(d, 4, DEVCOM_TEST), -EINVAL);
    EQUAL(devcom_quiet_rank(d, size, 0, DEVCOM_TEST), -EINVAL);
    EQUAL(devcom_quiet_rank(d, -1, 0, DEVCOM_TEST), -EINVAL);
    EQUAL(devcom_quiet_rank(d, 0, 4, DEVCOM_TEST), -EINVAL);
    EQUAL(devcom_quiet_rank(NULL, 0, 0, DEVCOM_TEST), -EINVAL);
    EQUAL(devcom_fence(d, 4), -EINVAL);
    EQUAL(devcom_fence(NULL, 0), -EINVAL);
    EQUAL(devcom_flush_local(d, 4, DEVCOM_TEST), -EINVAL);
    EQUAL(devcom_endpoint_list(NULL, &put, 1), -EINVAL);
    EQUAL(devcom_endpoint_list(endpoint, NULL, 1), -EINVAL);
    EQUAL(devcom_endpoint_list(endpoint, &put, 1), -EINVAL);
    EQUAL(devcom_endpoint_list(endpoint, &none, 1), -EINVAL);
    EQUAL(devcom_endpoint_list(endpoint, NULL, 0), 0);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void check_old_names(void)
{
    EQUAL(DEVCOM_NONE, DEVCOM_SIGNAL_NONE);
    EQUAL(DEVCOM_DO_FENCE, DEVCOM_DO_QUIET);
    EQUAL(devcom_notify(d, next, AFTER, DEVCOM_SET, 2, 0), 0);
    EQUAL(devcom_notify(d, next, AFTER, DEVCOM_ADD, 1, 0), 0);
    EQUAL(devcom_queue_flush(d, 0, 600L * SECOND), 0);
    EQUAL(devcom_queue_fence(d, 0, 600L * SECOND), 0);
    EQUAL(devcom_signal_wait(d, AFTER, DEVCOM_EQ, 3, 600L * SECOND, NULL), 0);
    meet();
    EQUAL(devcom_signal_store(d, AFTER, 0), 0);
    meet();
}
#pragma GCC diagnostic pop

/* ---- kernels ---- */

static cl_kernel kernel(const char *name)
{
    cl_int status;
    cl_kernel out = clCreateKernel(program, name, &status);

    EQUAL(status, CL_SUCCESS);
    EQUAL(devcom_kernel_argument(endpoint, out, 0), 0);
    EQUAL(clSetKernelArg(out, 1, sizeof(errors), &errors), CL_SUCCESS);
    return out;
}

static void set(cl_kernel what, unsigned index, cl_uint value)
{
    EQUAL(clSetKernelArg(what, index, sizeof(value), &value), CL_SUCCESS);
}

static void start(cl_kernel what, cl_event *event)
{
    size_t items = ITEMS;

    EQUAL(devcom_enqueue_kernel(endpoint, device.commands, what, 1, &items, &items, event), 0);
}

static int error_of(int i)
{
    int all[ITEMS];

    EQUAL(clEnqueueReadBuffer(device.commands, errors, CL_TRUE, 0, sizeof(all), all, 0, NULL, NULL), CL_SUCCESS);
    return all[i];
}

static void check_words(cl_uint words, cl_uint seed)
{
    static cl_uint got[SIZE / 4];

    load(HOST, 64, got, words * 4);
    for (cl_uint i = 0; i < words; i++)
        EQUAL(got[i], i * 7 + seed + (cl_uint)last);
}

/* Runs the kernel in rounds: the next rank has all words of a round when it has the signal. */
static void run_rounds(cl_kernel running, cl_uint words, unsigned shift)
{
    for (cl_uint round = 1; round <= 4; round++) {
        set(running, 2, words);
        set(running, 3, round);
        start(running, NULL);
        EQUAL(devcom_signal_wait(d, AFTER, DEVCOM_EQ, (int64_t)round << shift, 600L * SECOND, NULL), 0);
        check_words(words, round);
        EQUAL(error_of(0), 0);
        meet();
    }
    EQUAL(devcom_signal_store(d, AFTER, 0), 0);
    clReleaseKernel(running);
    meet();
}

static void check_kernel_quiet(cl_uint words, bool one)
{
    cl_kernel quiet = kernel("quiet");

    set(quiet, 4, one);
    run_rounds(quiet, words, 33);
}

static void check_kernel_flush_local(cl_uint words)
{
    run_rounds(kernel("flush_local"), words, 35);
}

static void check_kernel_fence(cl_uint words)
{
    cl_kernel fence = kernel("fence");

    for (cl_uint round = 1; round <= 4; round++) {
        set(fence, 2, words);
        set(fence, 3, 100 + round);
        start(fence, NULL);
        poll_word(100 + round);
        check_words(words, 100 + round);
        EQUAL(error_of(0), 0);
        meet();
    }
    clReleaseKernel(fence);
}

static bool has_ended(cl_event event)
{
    cl_int status;

    EQUAL(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL), CL_SUCCESS);
    return status == CL_COMPLETE;
}

static void check_kernel_conditions(void)
{
    cl_kernel wait_for = kernel("wait_for");
    cl_event event;

    for (int i = 0; i < CONDITIONS; i++) {
        cl_long value = conditions[i].value;

        EQUAL(devcom_signal_store(d, WAITED, conditions[i].before), 0);
        set(wait_for, 2, conditions[i].condition);
        EQUAL(clSetKernelArg(wait_for, 3, sizeof(value), &value), CL_SUCCESS);
        start(wait_for, &event);
        usleep(10000);
        EXPECT(!has_ended(event));
        meet();
        EQUAL(devcom_signal_op(d, next, WAITED, DEVCOM_SIGNAL_SET, conditions[i].after, 0), 0);
        EQUAL(clWaitForEvents(1, &event), CL_SUCCESS);
        clReleaseEvent(event);
        EQUAL(error_of(0), 0);
        meet();
    }
    clReleaseKernel(wait_for);
}

/* Each rank has a part of every other rank's memory, which its elements name. */
static void check_kernel_elements(void)
{
    enum { GROUPS = 50, PART = GROUPS * ITEMS * 4 };
    struct devcom_put puts[16] = {0};
    size_t global = (size_t)GROUPS * ITEMS, local = ITEMS;
    static cl_uint got[GROUPS * ITEMS];
    cl_kernel elements = kernel("elements");

    EXPECT(size <= 16);
    for (int to = 0; to < size; to++)
        puts[to] = (struct devcom_put){.segment = DEVICE,
                                       .offset = 4096,
                                       .remote_segment = HOST,
                                       .remote_offset = (size_t)rank * PART,
                                       .shape = {.bytes = PART},
                                       .rank = to,
                                       .signal = ELEMENTS,
                                       .op = DEVCOM_SIGNAL_ADD,
                                       .value = LARGE};
    EQUAL(devcom_endpoint_list(endpoint, puts, (unsigned)size), 0);
    EQUAL(clEnqueueNDRangeKernel(device.commands, elements, 1, NULL, &global, &local, 0, NULL, NULL), CL_SUCCESS);
    EQUAL(devcom_signal_wait(d, ELEMENTS, DEVCOM_EQ, size * GROUPS * LARGE, 600L * SECOND, NULL), 0);
    for (int from = 0; from < size; from++) {
        load(HOST, (size_t)from * PART, got, PART);
        for (cl_uint i = 0; i < GROUPS * ITEMS; i++)
            EQUAL(got[i], i / ITEMS * 1000 + i % ITEMS + (cl_uint)from);
    }
    EQUAL(error_of(0), 0);
    EQUAL(devcom_endpoint_error(endpoint), 0);
    clReleaseKernel(elements);
    meet();
}

static void check_kernel_misuse(void)
{
    static const int expected[] = {-EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -ERANGE, -ERANGE, -EINVAL};
    cl_kernel wrong = kernel("wrong");

    start(wrong, NULL);
    for (int i = 0; i < 9; i++)
        EQUAL(error_of(i), expected[i]);
    EQUAL(devcom_endpoint_error(endpoint), -EINVAL);
    clReleaseKernel(wrong);
}

static void check_kernel_old_names(void)
{
    cl_kernel old = kernel("old");

    start(old, NULL);
    EQUAL(error_of(0), 0);
    meet();
    EQUAL(devcom_signal_wait(d, AFTER, DEVCOM_EQ, 2, DEVCOM_TEST, NULL), 0);
    EQUAL(devcom_signal_store(d, AFTER, 0), 0);
    clReleaseKernel(old);
    meet();
}

static void check_hosts(void)
{
    static const size_t sizes[] = {8, 5000, SIZE};

    check_conditions();
    for (int i = 0; i < 3; i++) {
        for (unsigned from = DEVICE; from <= BOUND; from++) {
            check_quiet(from, sizes[i], false);
            check_quiet(from, sizes[i], true);
            check_flush_local(from, sizes[i]);
            check_fence(from, sizes[i]);
        }
    }
    check_counted();
    check_old_names();
}

static void check_kernels(void)
{
    static const cl_uint sizes[] = {2, 1000, SIZE / 4};

    for (int i = 0; i < 3; i++) {
        check_kernel_quiet(sizes[i], false);
        check_kernel_quiet(sizes[i], true);
        check_kernel_flush_local(sizes[i]);
        check_kernel_fence(sizes[i]);
    }
    check_kernel_conditions();
    check_kernel_elements();
    check_kernel_misuse();
    check_kernel_old_names();
}

int main(int count, char **words)
{
    struct devcom_endpoint_options options = {0};
    static const cl_int zeros[ITEMS];
    cl_int status;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    device = xtqtest_device();
    EQUAL(devcom_init(MPI_COMM_WORLD, NULL, &d), 0);
    rank = devcom_rank(d);
    size = devcom_size(d);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    make_segments();
    options.context = device.context;
    options.device = device.device;
    EQUAL(devcom_endpoint_open(d, &options, &endpoint), 0);
    EQUAL(devcom_program_create(endpoint, source, NULL, &program), 0);
    errors = clCreateBuffer(device.context, CL_MEM_COPY_HOST_PTR, sizeof(zeros), (void *)zeros, &status);
    EQUAL(status, CL_SUCCESS);
    check_hosts();
    check_misuse();
    check_kernels();
    devcom_endpoint_close(endpoint);
    EQUAL(devcom_finalize(d), 0);
    clReleaseMemObject(errors);
    clReleaseProgram(program);
    drop_segments();
    xtqtest_device_close(&device);
    MPI_Finalize();
    return 0;
}
