/*
 * Edge cases: commands whose completion OpenCL has not reported yet, other mappings beside a closed address space,
 * writers that take long, time-outs, and the number of system calls. This program interposes on some functions of
 * OpenCL and the C library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "devcom.h"
#include "tests/xtq/xtqtest.h"

enum { HOST, BOUND, RANGE, GONE = 9, SECOND = 1000000, BYTES = 1 << 20 };

static struct devcom *d;
static struct xtqtest_device device;
static int rank, size;

static void meet(void)
{
    EQUAL(devcom_barrier(d, 600L * SECOND), 0);
}

/* ---- callbacks come late and from another thread, as OpenCL permits ---- */

typedef void CL_CALLBACK callback(cl_event event, cl_int status, void *argument);

struct late {
    cl_event event;
    cl_int status;
    callback *function;
    void *argument;
};

static void *call_late(void *argument)
{
    struct late *late = argument;

    usleep(20000);
    late->function(late->event, late->status, late->argument);
    free(late);
    return NULL;
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *argument)
{
    struct late *late = argument;
    pthread_t thread;

    late->event = event;
    late->status = status;
    EQUAL(pthread_create(&thread, NULL, call_late, late), 0);
    pthread_detach(thread);
}

/* Replaces a function for the library, too. */
#define IN_PLACE __attribute__((visibility("default")))

IN_PLACE cl_int clSetEventCallback(cl_event event, cl_int type, callback *function, void *argument)
{
    cl_int (*original)(cl_event, cl_int, callback *, void *);
    struct late *late = malloc(sizeof(*late));

    EXPECT(late);
    *late = (struct late){.function = function, .argument = argument};
    *(void **)&original = dlsym(RTLD_NEXT, "clSetEventCallback");
    return original(event, type, on_event, late);
}

static const char source[] = "kernel void nothing(global struct devcom_device *d)\n"
                             "{\n"
                             "}\n"
                             "kernel void put(global struct devcom_device *d, int to, uint segment)\n"
                             "{\n"
                             "    devcom_write(d, 0, 0, to, segment, 0, 8, 0);\n"
                             "    devcom_quiet(d, 0);\n"
                             "}\n";

/* Runs as many work-groups as the device runs at once, repeatedly; the endpoint is closed after the last. */
static void ended(void)
{
    struct devcom_endpoint_options options = {.context = device.context, .device = device.device};
    struct devcom_endpoint *endpoint;
    cl_program program;
    cl_kernel kernel;
    cl_event event;
    cl_uint units;
    cl_int status;
    size_t global, local = 1;

    EQUAL(clGetDeviceInfo(device.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL), CL_SUCCESS);
    global = units;
    EQUAL(devcom_endpoint_open(d, &options, &endpoint), 0);
    EQUAL(devcom_program_create(endpoint, source, NULL, &program), 0);
    kernel = clCreateKernel(program, "nothing", &status);
    EQUAL(status, CL_SUCCESS);
    EQUAL(devcom_kernel_argument(endpoint, kernel, 0), 0);
    for (int i = 0; i < 10; i++) {
        EQUAL(devcom_enqueue_kernel(endpoint, device.commands, kernel, 1, &global, &local, i % 2 ? NULL : &event), 0);
        EQUAL(clFinish(device.commands), CL_SUCCESS);
        EQUAL(i % 2 ? 0 : clReleaseEvent(event), CL_SUCCESS);
        EQUAL(devcom_enqueue_wait(endpoint, device.commands, 0, DEVCOM_GE, 0, i % 2 ? NULL : &event), 0);
        EQUAL(clFinish(device.commands), CL_SUCCESS);
        EQUAL(i % 2 ? 0 : clReleaseEvent(event), CL_SUCCESS);
    }
    global = units + 1;
    EQUAL(devcom_enqueue_kernel(endpoint, device.commands, kernel, 1, &global, &local, NULL), -EDEADLK);
    EQUAL(devcom_endpoint_error(endpoint), 0);
    devcom_endpoint_close(endpoint);
    usleep(40000); /* a callback that still used the endpoint would do so now */
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

/* Puts and waits would overtake the commands before them in a queue that is not in-order. */
static void in_order(void)
{
    struct devcom_endpoint_options options = {.context = device.context, .device = device.device};
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    struct devcom_put put = {.segment = HOST, .remote_segment = HOST, .shape.bytes = 8, .rank = rank};
    struct devcom_endpoint *endpoint;
    cl_command_queue loose;
    cl_int status;

    loose = clCreateCommandQueueWithProperties(device.context, device.device, properties, &status);
    if (status == CL_INVALID_QUEUE_PROPERTIES) /* the device has no such queues */
        return;
    EQUAL(status, CL_SUCCESS);
    EQUAL(devcom_endpoint_open(d, &options, &endpoint), 0);
    EQUAL(devcom_enqueue_put(endpoint, loose, &put, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_enqueue_wait(endpoint, loose, 0, DEVCOM_GE, 0, NULL), -EINVAL);
    EQUAL(devcom_enqueue_put(endpoint, device.commands, &put, 1, 0, NULL), 0);
    EQUAL(clFinish(device.commands), CL_SUCCESS);
    EQUAL(devcom_endpoint_error(endpoint), 0);
    devcom_endpoint_close(endpoint);
    clReleaseCommandQueue(loose);
}

/* ---- a range of addresses is unmapped as a whole, once: others may map addresses that have become free ---- */

static uint8_t *range;
static size_t range_bytes;
static int unmapped;

IN_PLACE int munmap(void *address, size_t bytes)
{
    uint8_t *from = address;

    if (range && from < range + range_bytes && range < from + bytes)
        unmapped++;
    return (int)syscall(SYS_munmap, address, bytes);
}

static void unmapped_once(void)
{
    struct devcom_memory memory = {.bytes = BYTES};
    struct devcom_ggas *g;

    EQUAL(devcom_ggas_open(d, RANGE, 3, &memory, &g), 0);
    EQUAL(devcom_segment_delete(d, RANGE + 1), 0);
    unmapped = 0;
    range = devcom_ggas_ptr(g, 0, 0);
    range_bytes = (size_t)((uint8_t *)devcom_ggas_ptr(g, size - 1, 2) + BYTES - range);
    EQUAL(devcom_ggas_close(g), 0);
    range = NULL;
    EQUAL(unmapped, 1);
}

/* ---- ranks that describe a global address space differently get an error, and keep what they have mapped ---- */

static void described_differently(void)
{
    const bool last = rank == size - 1;
    struct devcom_memory memory = {.bytes = BYTES}, more = {.bytes = 2 * BYTES};
    struct devcom_ggas *g;
    _Atomic int64_t *mapped;

    EQUAL(last ? devcom_segment_alloc(d, RANGE, &memory) : 0, 0);
    meet();
    EQUAL(devcom_segment_ptr(d, size - 1, RANGE, (void **)&mapped), 0);
    EQUAL(devcom_ggas_open(d, last ? RANGE + 1 : RANGE, 2, &memory, &g), -EINVAL);
    EQUAL(devcom_ggas_open(d, RANGE + 1, last ? 2 : 1, &memory, &g), -EINVAL);
    EQUAL(devcom_ggas_open(d, RANGE + 1, last ? 1 : 2, &memory, &g), -EINVAL);
    EQUAL(devcom_ggas_open(d, RANGE + 1, 2, last ? &more : &memory, &g), -EINVAL);
    atomic_fetch_add(mapped, 1);
    meet();
    EQUAL(*mapped, size);
    meet();
    EQUAL(last ? devcom_segment_delete(d, RANGE) : 0, 0);
    meet();
}

/* ---- a segment stays mapped until a writer has finished, however long that takes ---- */

static _Atomic bool slow;

IN_PLACE ssize_t process_vm_writev(pid_t pid, const struct iovec *from, unsigned long count, const struct iovec *to,
                                   unsigned long to_count, unsigned long flags)
{
    if (slow) {
        EQUAL(devcom_signal_op(d, (rank + 1) % size, 0, DEVCOM_SIGNAL_SET, 1, 1), 0);
        usleep(2 * SECOND);
    }
    return (ssize_t)syscall(SYS_process_vm_writev, pid, from, count, to, to_count, flags);
}

/* Rank 0 writes into rank 1's segment while rank 1 deletes it. */
static void deleted_late(void)
{
    static int64_t bound;
    struct devcom_memory memory = {.address = &bound, .bytes = sizeof(bound)};
    struct devcom_reach reach;
    int64_t seven = 7;

    EQUAL(devcom_segment_register(d, BOUND, devcom_segment_bind(d, BOUND, &memory)), 0);
    EQUAL(devcom_signal_store(d, 0, 0), 0);
    EQUAL(devcom_segment_reach(d, (rank + 1) % size, BOUND, DEVCOM_BLOCK, &reach), 0);
    meet();
    if (rank == 0) {
        slow = reach.path == DEVCOM_DIRECT && !strstr(reach.why, "forbids access");
        if (!slow) /* the kernel permits no cross-memory copy; messages are not tested here */
            EQUAL(devcom_signal_op(d, 1, 0, DEVCOM_SIGNAL_SET, 1, 1), 0);
        else
            EQUAL(devcom_write_inline(d, &seven, sizeof(seven), 1, BOUND, 0, 0, DEVCOM_SIGNAL_NONE, 0, 0), 0);
    } else if (rank == 1) {
        EQUAL(devcom_signal_wait(d, 0, DEVCOM_EQ, 1, 60L * SECOND, NULL), 0);
        EQUAL(devcom_segment_delete(d, BOUND), 0);
        EQUAL(bound, strstr(reach.why, "forbids access") ? 0 : 7);
    }
    slow = false;
    meet();
    if (rank != 1)
        EQUAL(devcom_segment_delete(d, BOUND), 0);
    meet();
}

/* ---- a call that only tests makes no system call ---- */

static _Thread_local long system_calls;

IN_PLACE int sched_yield(void)
{
    system_calls++;
    return (int)syscall(SYS_sched_yield);
}

IN_PLACE int clock_gettime(clockid_t clock, struct timespec *time)
{
    system_calls++;
    return (int)syscall(SYS_clock_gettime, clock, time);
}

static void looks_once(void)
{
    unsigned which;
    char data[8];
    int from;
    size_t bytes;

    EQUAL(devcom_signal_store(d, 0, 0), 0);
    system_calls = 0;
    for (int i = 0; i < 1000; i++) {
        EQUAL(devcom_signal_wait(d, 0, DEVCOM_EQ, 1, DEVCOM_TEST, NULL), -ETIMEDOUT);
        EQUAL(devcom_notify_waitsome(d, 0, 1, DEVCOM_TEST, &which), -ETIMEDOUT);
        EQUAL(devcom_passive_receive(d, data, sizeof(data), DEVCOM_TEST, &from, &bytes), -ETIMEDOUT);
    }
    EQUAL(system_calls, 0);
    EQUAL(devcom_passive_send(d, rank, "seven", 6, DEVCOM_TEST), 0);
    EQUAL(devcom_passive_receive(d, data, sizeof(data), DEVCOM_TEST, &from, &bytes), 0);
    EQUAL(bytes, 6);
    EQUAL(devcom_signal_store(d, 0, 1), 0);
    EQUAL(devcom_signal_wait(d, 0, DEVCOM_EQ, 1, DEVCOM_TEST, NULL), 0);
    EQUAL(devcom_notify_waitsome(d, 0, 1, DEVCOM_TEST, &which), 0);
    EQUAL(devcom_signal_store(d, 0, 0), 0);
    meet();
}

/* ---- an atomic that timed out is resumed by the next call, and is done once ---- */

static int64_t words[16] __attribute__((aligned(64)));

static void counted_once(void)
{
    struct devcom_memory memory = {.address = words, .bytes = sizeof(words)};
    const int64_t rounds = 100;
    int64_t was = -1, last = -1;
    int error = 0, next = (rank + 1) % size;

    EQUAL(devcom_segment_register(d, BOUND, devcom_segment_bind(d, BOUND, &memory)), 0);
    for (int64_t i = 0; i < rounds; i++) {
        while ((error = devcom_fetch_add(d, next, BOUND, 0, 1, DEVCOM_TEST, &was)) == -ETIMEDOUT)
            usleep(50);
        EQUAL(error, 0);
        EXPECT(was > last);
        last = was;
        while ((error = devcom_compare_swap(d, next, BOUND, 8, i, i + 1, DEVCOM_TEST, &was)) == -ETIMEDOUT)
            usleep(50);
        EQUAL(error, 0);
        EQUAL(was, i);
    }
    meet();
    EQUAL(words[0], rounds);
    EQUAL(words[1], rounds);
    /* an atomic that is never resumed is dropped at the end */
    error = devcom_fetch_add(d, next, BOUND, 16, 1, DEVCOM_TEST, &was);
    EXPECT(!error || error == -ETIMEDOUT);
    meet();
    EQUAL(devcom_segment_delete(d, BOUND), 0);
    meet();
}

/* ---- the endpoint reports what another host refuses of a kernel, and the fence what it refuses of this host ---- */

static void told_apart(void)
{
    struct devcom_endpoint_options options = {.context = device.context, .device = device.device};
    struct devcom_endpoint *endpoint;
    const cl_int to = (rank + 1) % size;
    const size_t one = 1;
    cl_program program;
    cl_kernel kernel;
    cl_int status;

    EQUAL(devcom_endpoint_open(d, &options, &endpoint), 0);
    EQUAL(devcom_program_create(endpoint, source, NULL, &program), 0);
    kernel = clCreateKernel(program, "put", &status);
    EQUAL(status, CL_SUCCESS);
    EQUAL(devcom_kernel_argument(endpoint, kernel, 0), 0);
    EQUAL(clSetKernelArg(kernel, 1, sizeof(to), &to), CL_SUCCESS);
    for (int i = 0; i < 40; i++) {
        cl_uint of_kernel = i % 2 ? HOST : GONE, of_host = i % 2 ? GONE : HOST;

        EQUAL(clSetKernelArg(kernel, 2, sizeof(of_kernel), &of_kernel), CL_SUCCESS);
        EQUAL(devcom_write(d, HOST, 0, to, of_host, 0, 8, 0), 0);
        EQUAL(devcom_enqueue_kernel(endpoint, device.commands, kernel, 1, &one, &one, NULL), 0);
        EQUAL(clFinish(device.commands), CL_SUCCESS);
        EQUAL(devcom_endpoint_error(endpoint), of_kernel == GONE ? -ENOENT : 0);
        EQUAL(devcom_quiet(d, 0, 60L * SECOND), of_host == GONE ? -ENOENT : 0);
    }
    meet();
    devcom_endpoint_close(endpoint);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

/* ---- NULL where the header does not permit it ---- */

static void no_context(void)
{
    struct devcom_memory memory = {.bytes = BYTES};
    struct devcom_endpoint_options options = {.context = device.context, .device = device.device};
    struct devcom_put put = {.shape.bytes = 8};
    struct devcom_command command = {.kind = DEVCOM_DO_FINISH};
    struct devcom_endpoint *e;
    struct devcom_control *control;
    struct devcom_chain *chain;
    struct devcom_ggas *g;
    struct devcom_reach reach;
    cl_program program;
    cl_mem buffer;
    unsigned which;
    int64_t value;
    size_t bytes;
    int from;
    void *at;

    EQUAL(devcom_finalize(NULL), -EINVAL);
    EQUAL(devcom_rank(NULL), -EINVAL);
    EQUAL(devcom_size(NULL), -EINVAL);
    EXPECT(!devcom_shares_host(NULL, 0) && !devcom_alive(NULL, 0));
    EQUAL(devcom_segment_alloc(NULL, HOST, &memory), -EINVAL);
    EQUAL(devcom_segment_bind(NULL, HOST, &memory), -EINVAL);
    EQUAL(devcom_segment_register(NULL, HOST, 0), -EINVAL);
    EQUAL(devcom_segment_create(NULL, HOST, &memory), -EINVAL);
    EQUAL(devcom_segment_delete(NULL, HOST), -EINVAL);
    EQUAL(devcom_segment_ptr(NULL, 0, HOST, &at), -EINVAL);
    EQUAL(devcom_segment_buffer(NULL, HOST, &buffer), -EINVAL);
    EQUAL(devcom_segment_reach(NULL, 0, HOST, 0, &reach), -EINVAL);
    EQUAL(devcom_write(NULL, HOST, 0, 0, HOST, 0, 8, 0), -EINVAL);
    EQUAL(devcom_read(NULL, HOST, 0, 0, HOST, 0, 8, 0), -EINVAL);
    EQUAL(devcom_write_notify(NULL, HOST, 0, 0, HOST, 0, 8, 0, DEVCOM_SIGNAL_SET, 1, 0), -EINVAL);
    EQUAL(devcom_signal_op(NULL, 0, 0, DEVCOM_SIGNAL_SET, 1, 0), -EINVAL);
    EQUAL(devcom_put(NULL, &put, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_get(NULL, &put, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_write_inline(NULL, &value, 8, 0, HOST, 0, 0, DEVCOM_SIGNAL_NONE, 0, 0), -EINVAL);
    EQUAL(devcom_flush_local(NULL, 0, 0), -EINVAL);
    EQUAL(devcom_quiet(NULL, 0, 0), -EINVAL);
    EQUAL(devcom_signal_load(NULL, 0, &value), -EINVAL);
    EQUAL(devcom_signal_store(NULL, 0, 1), -EINVAL);
    EQUAL(devcom_signal_wait(NULL, 0, DEVCOM_EQ, 0, 0, NULL), -EINVAL);
    EQUAL(devcom_notify_waitsome(NULL, 0, 1, 0, &which), -EINVAL);
    EQUAL(devcom_notify_reset(NULL, 0, NULL), -EINVAL);
    EQUAL(devcom_fetch_add(NULL, 0, HOST, 0, 1, 0, &value), -EINVAL);
    EQUAL(devcom_compare_swap(NULL, 0, HOST, 0, 1, 2, 0, &value), -EINVAL);
    EQUAL(devcom_passive_send(NULL, 0, &value, 8, 0), -EINVAL);
    EQUAL(devcom_passive_receive(NULL, &value, 8, 0, &from, &bytes), -EINVAL);
    EQUAL(devcom_barrier(NULL, 0), -EINVAL);
    EQUAL(devcom_broadcast(NULL, 0, HOST, 0, 8, 0), -EINVAL);
    EQUAL(devcom_allreduce(NULL, HOST, 0, 1, DEVCOM_INT32, DEVCOM_SUM, DEVCOM_AUTO, 0), -EINVAL);
    EQUAL(devcom_reduce(NULL, 0, HOST, 0, 1, DEVCOM_INT32, DEVCOM_SUM, DEVCOM_AUTO, 0), -EINVAL);
    EQUAL(devcom_chain_create(NULL, &put, 1, 0, &chain), -EINVAL);
    EQUAL(devcom_chain_start(NULL), -EINVAL);
    EQUAL(devcom_chain_wait(NULL, 0), -EINVAL);
    devcom_chain_destroy(NULL);
    EQUAL(devcom_endpoint_open(NULL, &options, &e), -EINVAL);
    EQUAL(devcom_endpoint_refresh(NULL), -EINVAL);
    EQUAL(devcom_endpoint_error(NULL), -EINVAL);
    devcom_endpoint_close(NULL);
    EQUAL(devcom_program_create(NULL, source, NULL, &program), -EINVAL);
    EQUAL(devcom_kernel_argument(NULL, NULL, 0), -EINVAL);
    EQUAL(devcom_enqueue_kernel(NULL, device.commands, NULL, 1, &bytes, &bytes, NULL), -EINVAL);
    EQUAL(devcom_enqueue_put(NULL, device.commands, &put, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_enqueue_wait(NULL, device.commands, 0, DEVCOM_EQ, 0, NULL), -EINVAL);
    EQUAL(devcom_control_create(NULL, NULL, &command, 1, 0, &control), -EINVAL);
    EQUAL(devcom_control_start(NULL), -EINVAL);
    EQUAL(devcom_control_offer(NULL, 0, 0, 0), -EINVAL);
    EQUAL(devcom_control_wait(NULL, 0, NULL), -EINVAL);
    devcom_control_cancel(NULL);
    devcom_control_destroy(NULL);
    EQUAL(devcom_ggas_open(NULL, RANGE, 1, &memory, &g), -EINVAL);
    EQUAL(devcom_ggas_close(NULL), -EINVAL);
    EXPECT(!devcom_ggas_ptr(NULL, 0, 0));
    EQUAL(devcom_ggas_owner(NULL, &memory, &from, &which, &bytes), -EINVAL);
}

static void no_pointers(void)
{
    struct devcom_memory memory = {.bytes = BYTES};
    struct devcom_endpoint_options options = {.context = device.context, .device = device.device};
    struct devcom_put put = {.shape.bytes = 8};
    struct devcom_command command = {.kind = DEVCOM_DO_FINISH}, no_puts = {.kind = DEVCOM_DO_PUT, .count = 1};
    struct devcom_endpoint *e;
    struct devcom_control *control;
    struct devcom_chain *chain;
    struct devcom_ggas *g;

    EQUAL(devcom_init(MPI_COMM_WORLD, NULL, NULL), -EINVAL);
    EQUAL(devcom_segment_alloc(d, GONE, NULL), -EINVAL);
    EQUAL(devcom_segment_bind(d, GONE, NULL), -EINVAL);
    EQUAL(devcom_segment_ptr(d, rank, HOST, NULL), -EINVAL);
    EQUAL(devcom_segment_buffer(d, HOST, NULL), -EINVAL);
    EQUAL(devcom_segment_reach(d, rank, HOST, 0, NULL), -EINVAL);
    EQUAL(devcom_put(d, NULL, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_get(d, NULL, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_write_inline(d, NULL, 8, rank, HOST, 0, 0, DEVCOM_SIGNAL_NONE, 0, 0), -EINVAL);
    EQUAL(devcom_signal_load(d, 0, NULL), -EINVAL);
    EQUAL(devcom_notify_reset(d, 0, NULL), 0);
    EQUAL(devcom_notify_waitsome(d, 0, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_fetch_add(d, rank, HOST, 0, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_compare_swap(d, rank, HOST, 0, 1, 2, 0, NULL), -EINVAL);
    EQUAL(devcom_passive_send(d, rank, NULL, 8, 0), -EINVAL);
    EQUAL(devcom_chain_create(d, NULL, 1, 0, &chain), -EINVAL);
    EQUAL(devcom_chain_create(d, &put, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_control_create(d, NULL, NULL, 1, 0, &control), -EINVAL);
    EQUAL(devcom_control_create(d, NULL, &no_puts, 1, 0, &control), -EINVAL);
    EQUAL(devcom_control_create(d, NULL, &command, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_ggas_open(d, RANGE, 1, NULL, &g), -EINVAL);
    EQUAL(devcom_ggas_open(d, RANGE, 1, &memory, NULL), -EINVAL);
    EQUAL(devcom_endpoint_open(d, NULL, &e), -EINVAL);
    EQUAL(devcom_endpoint_open(d, &options, NULL), -EINVAL);
    EQUAL(devcom_endpoint_open(d, &options, &e), 0);
    EQUAL(devcom_program_create(e, NULL, NULL, NULL), -EINVAL);
    EQUAL(devcom_kernel_argument(e, NULL, 0), -EINVAL);
    EQUAL(devcom_enqueue_put(e, NULL, &put, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_enqueue_put(e, device.commands, NULL, 1, 0, NULL), -EINVAL);
    EQUAL(devcom_enqueue_wait(e, NULL, 0, DEVCOM_EQ, 0, NULL), -EINVAL);
    devcom_endpoint_close(e);
}

/* ---- the library's own segment, whose id is the one after the program's ---- */

static void not_ours(void)
{
    const unsigned own = 32; /* the default of devcom_options.segments */
    struct devcom_memory memory = {.bytes = BYTES};
    struct devcom_reach reach;
    cl_mem buffer;
    void *at;

    EQUAL(devcom_segment_alloc(d, own, &memory), -EINVAL);
    EQUAL(devcom_segment_register(d, own, 0), -EINVAL);
    EQUAL(devcom_segment_ptr(d, rank, own, &at), -ENOENT);
    EQUAL(devcom_segment_buffer(d, own, &buffer), -ENOENT);
    EQUAL(devcom_segment_reach(d, rank, own, 0, &reach), -ENOENT);
    EQUAL(devcom_segment_delete(d, own), -ENOENT);
}

int main(int count, char **words)
{
    struct devcom_memory memory = {.bytes = BYTES};
    struct devcom_options options = {.messages = count > 1};
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device = xtqtest_device();
    EQUAL(devcom_init(MPI_COMM_WORLD, &options, &d), 0);
    EQUAL(devcom_segment_create(d, HOST, &memory), 0);
    no_context();
    no_pointers();
    not_ours();
    ended();
    in_order();
    meet();
    if (!options.messages)
        looks_once();
    if (options.messages || size == 1)
        counted_once();
    if (!devcom_shares_host(d, (rank + 1) % size)) {
        told_apart();
    } else {
        unmapped_once();
        if (size > 1) {
            described_differently();
            deleted_late();
        }
    }
    EQUAL(devcom_finalize(d), 0);
    xtqtest_device_close(&device);
    MPI_Finalize();
    return 0;
}
