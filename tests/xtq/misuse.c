/*
 * Errors of calls, which must have no effect: NULL arguments where something is required, and registrations by tasks
 * that would wait for themselves, or for others that wait for them. Each rank on its own.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "xtqtest.h"

enum { FUNCTIONS, KERNELS, OTHERS };

static struct xtq *x;
static int rank;

static void put_function(unsigned queue, unsigned function, uint64_t argument)
{
    struct xtq_function_packet packet;

    EQUAL(xtq_function_packet(&packet, queue, function, argument, 0), 0);
    EQUAL(xtq_put(x, rank, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
}

static void nothing_refused(void)
{
    struct xtq_error error;

    EQUAL(xtq_quiet(x, rank), 0);
    for (unsigned queue = FUNCTIONS; queue <= OTHERS; queue++) {
        EQUAL(xtq_error(x, rank, queue, &error), 0);
        EQUAL(error.count, 0);
    }
}

static int nothing(const struct xtq_task *task, void *argument)
{
    (void)task;
    (void)argument;
    return 0;
}

/* ---- a task that changes its own entry gets an error each time, and the entry stays unchanged ---- */

static int own_memory, other_memory;

static int changes_itself(const struct xtq_task *task, void *argument)
{
    struct xtq_function_entry other = {.function = nothing, .buffer = &other_memory, .signal = argument};

    EXPECT(task->buffer == &own_memory);
    for (int i = 0; i < 2; i++) {
        EQUAL(xtq_unregister_function(x, 1), -EDEADLK);
        EQUAL(xtq_register_function(x, 1, &other), -EDEADLK);
    }
    EQUAL(xtq_unregister_queue(x, FUNCTIONS), -EDEADLK);
    EQUAL(xtq_unregister_queue(x, OTHERS), -EDEADLK);
    EQUAL(xtq_finalize(x), -EDEADLK);
    EQUAL(xtq_register_function(x, 2, &other), 0); /* no task uses this entry, so there is nothing to wait for */
    EQUAL(xtq_unregister_function(x, 2), 0);
    return 0;
}

static void change_itself(void)
{
    struct xtq_function_entry entry = {.function = changes_itself, .buffer = &own_memory};

    EQUAL(xtq_signal_create(10, &entry.signal), 0);
    EQUAL(xtq_signal_create(10, (struct xtq_signal **)&entry.argument), 0);
    EQUAL(xtq_register_function(x, 1, &entry), 0);
    for (int i = 1; i <= 3; i++) {
        put_function(FUNCTIONS, 1, 0);
        nothing_refused();
        EQUAL(xtq_signal_load(entry.signal), 10 - i);
        EQUAL(xtq_signal_load(entry.argument), 10);
    }
    EQUAL(xtq_unregister_function(x, 1), 0);
    xtq_signal_destroy(entry.signal);
    xtq_signal_destroy(entry.argument);
}

/* ---- a task changes another entry while a thread waits for the end of that task ---- */

static _Atomic int began, waits;

static int changes_another(const struct xtq_task *task, void *argument)
{
    struct xtq_function_entry other = {.function = nothing};

    (void)task;
    (void)argument;
    began = 1;
    while (!waits)
        sched_yield();
    usleep(20000); /* the other thread is about to wait, or waits */
    EQUAL(xtq_register_function(x, 2, &other), -EDEADLK);
    return 0;
}

static void *unregisters(void *argument)
{
    waits = 1;
    EQUAL(xtq_unregister_function(x, 1), 0);
    return argument;
}

static void change_another(void)
{
    struct xtq_function_entry entry = {.function = changes_another};
    pthread_t thread;

    EQUAL(xtq_register_function(x, 1, &entry), 0);
    put_function(FUNCTIONS, 1, 0);
    while (!began)
        sched_yield();
    EQUAL(pthread_create(&thread, NULL, unregisters, NULL), 0);
    EQUAL(pthread_join(thread, NULL), 0);
    nothing_refused();
}

/* ---- a kernel's entry changes while the kernel is queued: objects retained in vain are released ---- */

static cl_uint references(cl_kernel kernel)
{
    cl_uint count = 0;

    EQUAL(clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
    return count;
}

static int changes_kernel(const struct xtq_task *task, void *argument)
{
    const struct xtq_kernel_entry *entry = argument;
    cl_uint before = references(entry->kernel);

    (void)task;
    EQUAL(xtq_register_kernel(x, 1, entry), -EDEADLK);
    EQUAL(xtq_unregister_kernel(x, 1), -EDEADLK);
    EQUAL(references(entry->kernel), before);
    return 0;
}

static const char source[] = "kernel void nothing(global int *a, global const int *b)\n"
                             "{\n"
                             "}\n";

static void change_kernel(const struct xtqtest_device *d)
{
    struct xtq_kernel_entry kernel = {.kernel = xtqtest_kernel(d, source, "nothing")};
    struct xtq_function_entry entry = {.function = changes_kernel, .argument = &kernel};
    struct xtq_queue_entry queue = {.engine = XTQ_HOST, .commands = d->commands}, others = {.engine = XTQ_HOST};
    struct xtq_kernel_packet packet;
    cl_event gate;
    cl_int status;
    size_t one = 1;

    gate = clCreateUserEvent(d->context, &status);
    EQUAL(status, CL_SUCCESS);
    EQUAL(clEnqueueBarrierWithWaitList(d->commands, 1, &gate, NULL), CL_SUCCESS);
    EQUAL(xtq_signal_create(1, &kernel.signal), 0);
    EQUAL(xtq_signal_create(1, &entry.signal), 0);
    EQUAL(xtq_register_queue(x, KERNELS, &queue), 0);
    EQUAL(xtq_register_queue(x, OTHERS, &others), 0);
    EQUAL(xtq_register_kernel(x, 1, &kernel), 0);
    EQUAL(xtq_register_function(x, 3, &entry), 0);
    EQUAL(xtq_kernel_packet(&packet, KERNELS, 1, 1, &one, NULL), 0);
    EQUAL(xtq_put(x, rank, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
    usleep(20000); /* the kernel has mostly been enqueued; it must have been when the function runs */
    put_function(KERNELS, 3, 0);
    EQUAL(xtq_signal_wait(x, entry.signal, XTQ_EQ, 0, -1), 0);
    EQUAL(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    EQUAL(xtq_signal_wait(x, kernel.signal, XTQ_EQ, 0, -1), 0);
    nothing_refused();
    EQUAL(xtq_unregister_kernel(x, 1), 0);
    for (int i = 0; i < 3000 && references(kernel.kernel) > 1; i++) /* OpenCL releases its own later */
        usleep(10000);
    EQUAL(references(kernel.kernel), 1);
    clReleaseEvent(gate);
    clReleaseKernel(kernel.kernel);
    EQUAL(xtq_unregister_function(x, 3), 0);
    EQUAL(xtq_unregister_queue(x, KERNELS), 0);
    EQUAL(xtq_unregister_queue(x, OTHERS), 0);
    xtq_signal_destroy(entry.signal);
    xtq_signal_destroy(kernel.signal);
}

/* ---- NULL where the header does not permit it ---- */

static void no_context(void)
{
    struct xtq_function_entry function = {.function = nothing};
    struct xtq_kernel_entry kernel = {.body = 1};
    struct xtq_queue_entry queue = {.engine = XTQ_HOST};
    struct xtq_collectives_options options = {.queue = OTHERS};
    struct xtq_collectives *collectives;
    struct xtq_function_packet packet;
    struct xtq_signal *signal;
    struct xtq_error error;

    EQUAL(xtq_function_packet(&packet, FUNCTIONS, 1, 0, 0), 0);
    EQUAL(xtq_signal_create(1, &signal), 0);
    EQUAL(xtq_finalize(NULL), -EINVAL);
    EXPECT(!xtq_alive(NULL, 0));
    EQUAL(xtq_barrier(NULL), -EINVAL);
    EQUAL(xtq_agree(NULL, 0), -EINVAL);
    EQUAL(xtq_largest_payload(NULL, 0), 0);
    EQUAL(xtq_rank(NULL), -EINVAL);
    EQUAL(xtq_size(NULL), -EINVAL);
    EQUAL(xtq_refused(NULL), 0);
    EQUAL(xtq_progress(NULL), -EINVAL);
    EQUAL(xtq_signal_wait(NULL, signal, XTQ_EQ, 1, 0), -EINVAL);
    EQUAL(xtq_register_function(NULL, 1, &function), -EINVAL);
    EQUAL(xtq_register_kernel(NULL, 1, &kernel), -EINVAL);
    EQUAL(xtq_register_queue(NULL, 1, &queue), -EINVAL);
    EQUAL(xtq_unregister_function(NULL, 1), -EINVAL);
    EQUAL(xtq_unregister_kernel(NULL, 1), -EINVAL);
    EQUAL(xtq_unregister_queue(NULL, 1), -EINVAL);
    EQUAL(xtq_put(NULL, 0, &packet, sizeof(packet), NULL, 0, 0, NULL), -EINVAL);
    EQUAL(xtq_quiet(NULL, 0), -EINVAL);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    EQUAL(xtq_fence(NULL, 0), -EINVAL);
#pragma GCC diagnostic pop
    EQUAL(xtq_error(NULL, 0, FUNCTIONS, &error), -EINVAL);
    EQUAL(xtq_collectives_open(NULL, &options, &collectives), -EINVAL);
    xtq_signal_destroy(signal);
}

static void no_collectives(void)
{
    struct xtq_request *request;
    int a = 1, b = 2;

    EQUAL(xtq_collectives_close(NULL), -EINVAL);
    EQUAL(xtq_expose(NULL, 0, &a, sizeof(a)), -EINVAL);
    EQUAL(xtq_accumulate(NULL, 0, 0, 0, &a, 1, XTQ_INT32, XTQ_SUM), -EINVAL);
    EQUAL(xtq_reduce(NULL, 0, &a, &b, 1, XTQ_INT32, XTQ_SUM), -EINVAL);
    EQUAL(xtq_allreduce(NULL, &a, &b, 1, XTQ_INT32, XTQ_SUM), -EINVAL);
    EQUAL(xtq_ireduce(NULL, 0, &a, &b, 1, XTQ_INT32, XTQ_SUM, &request), -EINVAL);
    EQUAL(xtq_iallreduce(NULL, &a, &b, 1, XTQ_INT32, XTQ_SUM, &request), -EINVAL);
    EQUAL(xtq_wait(NULL), -EINVAL);
    EQUAL(xtq_test(NULL), -EINVAL);
}

static void no_pointers(const struct xtqtest_device *d)
{
    const char *no_body[] = {NULL};
    struct xtq_kernel_entry kernel = {.body = 1, .argument_count = 1};
    struct xtq_queue_entry device = {.engine = XTQ_DEVICE, .context = d->context, .device = d->device, .source = ""};
    struct xtq_collectives_options options = {.queue = OTHERS};
    struct xtq_collectives *collectives;
    struct xtq_function_packet packet;
    struct xtq_kernel_packet other;
    size_t one = 1;

    EQUAL(xtq_init(MPI_COMM_WORLD, NULL, NULL), -EINVAL);
    EQUAL(xtq_signal_create(0, NULL), -EINVAL);
    xtq_signal_destroy(NULL);
    EQUAL(xtq_signal_load(NULL), 0);
    xtq_signal_store(NULL, 1);
    xtq_signal_add(NULL, 1);
    EQUAL(xtq_signal_wait(x, NULL, XTQ_EQ, 0, 0), -EINVAL);
    EQUAL(xtq_kernel_packet(NULL, FUNCTIONS, 1, 1, &one, NULL), -EINVAL);
    EQUAL(xtq_kernel_packet(&other, FUNCTIONS, 1, 1, NULL, NULL), -EINVAL);
    EQUAL(xtq_function_packet(NULL, FUNCTIONS, 1, 0, 0), -EINVAL);
    EQUAL(xtq_function_packet(&packet, FUNCTIONS, 1, 0, 0), 0);
    EQUAL(xtq_register_function(x, 1, NULL), -EINVAL);
    EQUAL(xtq_register_kernel(x, 1, NULL), -EINVAL);
    EQUAL(xtq_register_kernel(x, 1, &kernel), -EINVAL);
    EQUAL(xtq_register_queue(x, OTHERS, NULL), -EINVAL);
    EQUAL(xtq_register_queue(x, OTHERS, &device), -EINVAL);
    device.bodies = no_body;
    device.body_count = 1;
    EQUAL(xtq_register_queue(x, OTHERS, &device), -EINVAL);
    EQUAL(xtq_put(x, rank, NULL, sizeof(packet), NULL, 0, 0, NULL), -EINVAL);
    EQUAL(xtq_put(x, rank, &packet, sizeof(packet), NULL, 1, 0, NULL), -EINVAL);
    EQUAL(xtq_error(x, rank, FUNCTIONS, NULL), -EINVAL);
    EQUAL(xtq_collectives_open(x, NULL, &collectives), -EINVAL);
    EQUAL(xtq_collectives_open(x, &options, NULL), -EINVAL);
}

/* ---- a start that fails keeps no communicator: MPI has only a few thousand ---- */

static void many_failures(void)
{
    struct rlimit files, none;
    struct xtq *other;

    signal(SIGXFSZ, SIG_IGN);
    EQUAL(getrlimit(RLIMIT_FSIZE, &files), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = files.rlim_max}; /* no memory can be made to share */
    EQUAL(setrlimit(RLIMIT_FSIZE, &none), 0);
    for (int i = 0; i < 3000; i++)
        EXPECT(xtq_init(MPI_COMM_SELF, NULL, &other) < 0);
    EQUAL(setrlimit(RLIMIT_FSIZE, &files), 0);
    EQUAL(xtq_init(MPI_COMM_SELF, NULL, &other), 0);
    EQUAL(xtq_finalize(other), 0);
}

/* Each condition holds for the right ones of a smaller, an equal and a larger value; others are refused. */
static void conditions(void)
{
    static const char *const holds[] = {
        [XTQ_EQ] = "=", [XTQ_NE] = "<>", [XTQ_LT] = "<", [XTQ_GE] = "=>", [XTQ_GT] = ">", [XTQ_LE] = "<="};
    static const int64_t middle = (int64_t)1 << 40;
    struct xtq_signal *signal;

    EQUAL(xtq_signal_create(0, &signal), 0);
    for (int condition = XTQ_EQ; condition <= XTQ_LE; condition++) {
        for (int64_t value = -1; value <= 1; value++) {
            bool expected = strchr(holds[condition], "<=>"[value + 1]);

            xtq_signal_store(signal, middle * (1 + value));
            EQUAL(xtq_signal_wait(x, signal, (enum xtq_condition)condition, middle, 0), expected ? 0 : -ETIMEDOUT);
        }
    }
    EQUAL(xtq_signal_wait(x, signal, (enum xtq_condition)(XTQ_LE + 1), 0, 0), -EINVAL);
    xtq_signal_destroy(signal);
}

int main(int count, char **words)
{
    struct xtq_queue_entry queue = {.engine = XTQ_HOST};
    struct xtqtest_device d;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    d = xtqtest_device();
    many_failures();
    EQUAL(xtq_init(MPI_COMM_WORLD, NULL, &x), 0);
    EQUAL(xtq_register_queue(x, FUNCTIONS, &queue), 0);
    no_context();
    no_collectives();
    no_pointers(&d);
    conditions();
    change_itself();
    change_another();
    change_kernel(&d);
    EQUAL(xtq_finalize(x), 0);
    xtqtest_device_close(&d);
    MPI_Finalize();
    return 0;
}
