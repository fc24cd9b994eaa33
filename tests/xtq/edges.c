/*
 * Edge cases: tasks that put while ranks are in a barrier, queues that are registered and unregistered while a thread
 * waits, signals that are destroyed after their registration, sizes that no packet can hold, kernels without a payload.
 * words[1]: how often tasks put, and a hundredth of the number of registrations; "kernels": the last test alone, on
 * OpenCL's first device.
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "xtqtest.h"

enum { FUNCTIONS, KERNELS, DEVICE, LATE };
enum { PATIENCE = 30 * 100 }; /* hundredths of a second, for events that come by themselves */
enum { HOPS = 301, WIDTH = 5 };

static struct xtq *x;
static int rank, size, rounds;

/* ---- tasks that put ---- */

static _Atomic long ran;

/* arg[2]: how many are to follow; arg[3]: whether all ranks are next, or only the following one. */
static int pass_on(const struct xtq_task *task, void *argument)
{
    struct xtq_function_packet packet;

    (void)argument;
    ran++;
    if (!task->arg[2])
        return 0;
    EQUAL(xtq_function_packet(&packet, FUNCTIONS, 1, task->arg[2] - 1, task->arg[3]), 0);
    for (int i = 0; i < (task->arg[3] ? size : 1); i++)
        EQUAL(xtq_put(x, (rank + 1 + i) % size, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
    return 0;
}

static long ran_together(void)
{
    long mine = ran, all = 0;

    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* When the barrier ends, all tasks have run; it does not end before the last puts. */
static void quiescence(void)
{
    struct xtq_function_packet packet;
    long tree = 0, expected = 0;

    for (long level = 0, tasks = size; level < WIDTH; level++, tasks *= size)
        tree += tasks;
    for (int round = 0; round < rounds; round++) {
        EQUAL(xtq_function_packet(&packet, FUNCTIONS, 1, HOPS - 1, 0), 0);
        if (rank == round % size)
            EQUAL(xtq_put(x, (rank + 1) % size, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
        EQUAL(xtq_barrier(x), 0);
        expected += HOPS;
        EQUAL(ran_together(), expected);
        /* from each rank to all, repeatedly */
        EQUAL(xtq_function_packet(&packet, FUNCTIONS, 1, WIDTH - 1, 1), 0);
        EQUAL(xtq_put(x, rank, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
        EQUAL(xtq_barrier(x), 0);
        expected += tree;
        EQUAL(ran_together(), expected);
    }
    EQUAL(xtq_barrier(x), 0); /* without anything to do */
}

/* ---- queues that are registered and unregistered while a thread waits, and polls in place of their threads ---- */

static void *wait_for(void *signal)
{
    EQUAL(xtq_signal_wait(x, signal, XTQ_EQ, 0, -1), 0);
    return NULL;
}

static void start_waiting(pthread_t *thread, struct xtq_signal *signal)
{
    xtq_signal_store(signal, 1);
    EQUAL(pthread_create(thread, NULL, wait_for, signal), 0);
    usleep(20000);
}

static void stop_waiting(pthread_t thread, struct xtq_signal *signal)
{
    xtq_signal_store(signal, 0);
    EQUAL(pthread_join(thread, NULL), 0);
}

/* No thread polls here, so the queue's own thread runs the task. */
static void runs_by_itself(struct xtq_signal *ran_it)
{
    struct xtq_function_packet packet;

    xtq_signal_store(ran_it, 1);
    EQUAL(xtq_function_packet(&packet, LATE, 3, 0, 0), 0);
    EQUAL(xtq_put(x, rank, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
    for (int i = 0; i < PATIENCE && xtq_signal_load(ran_it); i++)
        usleep(10000);
    EQUAL(xtq_signal_load(ran_it), 0);
}

static int nothing(const struct xtq_task *task, void *argument)
{
    (void)task;
    (void)argument;
    return 0;
}

static void registered_while_waiting(void)
{
    struct xtq_queue_entry queue = {.engine = XTQ_HOST};
    struct xtq_function_entry entry = {.function = nothing};
    struct xtq_signal *signal;
    pthread_t thread;

    EQUAL(xtq_signal_create(0, &signal), 0);
    EQUAL(xtq_signal_create(0, &entry.signal), 0);
    EQUAL(xtq_register_function(x, 3, &entry), 0);
    start_waiting(&thread, signal);
    EQUAL(xtq_register_queue(x, LATE, &queue), 0);
    stop_waiting(thread, signal);
    runs_by_itself(entry.signal);
    start_waiting(&thread, signal);
    EQUAL(xtq_unregister_queue(x, LATE), 0);
    EQUAL(xtq_register_queue(x, LATE, &queue), 0);
    stop_waiting(thread, signal);
    runs_by_itself(entry.signal);
    EQUAL(xtq_unregister_queue(x, LATE), 0);
    EQUAL(xtq_unregister_function(x, 3), 0);
    xtq_signal_destroy(entry.signal);
    xtq_signal_destroy(signal);
}

/* ---- the end of a registration ---- */

static _Atomic bool began;

static int begin(const struct xtq_task *task, void *argument)
{
    (void)task;
    (void)argument;
    began = true;
    return 0;
}

/* After unregistering, the signal is no longer decremented. */
static void unregistered(void)
{
    struct xtq_function_entry entry = {.function = begin};
    struct xtq_function_packet packet;

    EQUAL(xtq_function_packet(&packet, FUNCTIONS, 2, 0, 0), 0);
    for (int i = 0; i < 100 * rounds; i++) {
        EQUAL(xtq_signal_create(1, &entry.signal), 0);
        EQUAL(xtq_register_function(x, 2, &entry), 0);
        began = false;
        EQUAL(xtq_put(x, rank, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
        while (!began)
            sched_yield();
        EQUAL(xtq_unregister_function(x, 2), 0);
        EQUAL(xtq_signal_load(entry.signal), 0);
        xtq_signal_destroy(entry.signal);
    }
    EQUAL(xtq_quiet(x, rank), 0);
}

static const char body_source[] = "int begin(const struct xtq_task *t, ulong first, ulong last)\n"
                                  "{\n"
                                  "    *(volatile global int *)t->buffer = 1;\n"
                                  "    return 0;\n"
                                  "}\n";

static void unregistered_on_device(const struct xtqtest_device *d)
{
    const char *bodies[] = {"begin"};
    struct xtq_queue_entry queue = {.engine = XTQ_DEVICE,
                                    .context = d->context,
                                    .device = d->device,
                                    .source = body_source,
                                    .bodies = bodies,
                                    .body_count = 1};
    volatile int seen;
    struct xtq_kernel_entry entry = {.body = 1, .address = (void *)&seen, .buffer_bytes = sizeof(seen)};
    struct xtq_kernel_packet packet;
    size_t one = 1;

    EQUAL(xtq_register_queue(x, DEVICE, &queue), 0);
    EQUAL(xtq_kernel_packet(&packet, DEVICE, 1, 1, &one, NULL), 0);
    for (int i = 0; i < 100 * rounds; i++) {
        EQUAL(xtq_signal_create(1, &entry.signal), 0);
        seen = 0;
        EQUAL(xtq_register_kernel(x, 1, &entry), 0);
        EQUAL(xtq_put(x, rank, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
        while (!seen)
            sched_yield();
        EQUAL(xtq_unregister_kernel(x, 1), 0);
        EQUAL(xtq_signal_load(entry.signal), 0);
        xtq_signal_destroy(entry.signal);
    }
    EQUAL(xtq_quiet(x, rank), 0);
    EQUAL(xtq_unregister_queue(x, DEVICE), 0);
}

/* ---- sizes that no packet can hold ---- */

static void refused_by_put(const void *packet)
{
    EQUAL(xtq_put(x, rank, packet, sizeof(struct xtq_kernel_packet), NULL, 0, 0, NULL), -EINVAL);
}

static void too_large(void)
{
    size_t ones[3] = {1, 1, 1}, grid[3] = {((size_t)1 << 32) + 1, 1, 1}, group[3] = {65537, 1, 1};
    struct xtq_function_packet function;
    struct xtq_kernel_packet kernel;

    EQUAL(xtq_function_packet(&function, FUNCTIONS, 65537, 0, 0), -EINVAL);
    refused_by_put(&function);
    EQUAL(xtq_function_packet(&function, 65536, 1, 0, 0), -EINVAL);
    refused_by_put(&function);
    EQUAL(xtq_function_packet(&function, 65535, 65535, 1, 2), 0);
    EQUAL(xtq_kernel_packet(&kernel, 65536, 1, 1, ones, NULL), -EINVAL);
    refused_by_put(&kernel);
    EQUAL(xtq_kernel_packet(&kernel, KERNELS, 1, 1, grid, NULL), -EINVAL);
    refused_by_put(&kernel);
    EQUAL(xtq_kernel_packet(&kernel, KERNELS, 1, 1, ones, group), -EINVAL);
    refused_by_put(&kernel);
    EQUAL(xtq_kernel_packet(&kernel, KERNELS, 1, 0, ones, NULL), -EINVAL);
    EQUAL(xtq_kernel_packet(&kernel, KERNELS, 1, 4, ones, NULL), -EINVAL);
    EQUAL(xtq_kernel_packet(&kernel, KERNELS, 1, 3, ones, ones), 0);
    EQUAL(kernel.grid_size[2] + kernel.workgroup_size[2], 2);
}

/* ---- kernels without a payload or a buffer ---- */

static const char kernel_source[] = "kernel void add(global int *sum, global const int *more, int value)\n"
                                    "{\n"
                                    "    if (sum)\n"
                                    "        sum[get_global_id(0)] += value + (more ? more[get_global_id(0)] : 0);\n"
                                    "}\n";

struct kernel_command {
    struct xtq_kernel_packet packet;
    int value;
};

static void put_kernel(unsigned kernel, int value, const int *more)
{
    struct kernel_command command = {.value = value};
    size_t grid = 4;

    EQUAL(xtq_kernel_packet(&command.packet, KERNELS, kernel, 1, &grid, NULL), 0);
    EQUAL(xtq_put(x, rank, &command, sizeof(command), more, more ? 4 * sizeof(*more) : 0, 0, NULL), 0);
    EQUAL(xtq_quiet(x, rank), 0);
}

static void without_payload(const struct xtqtest_device *d)
{
    const size_t bytes = sizeof(int);
    int sums[4] = {1, 2, 3, 4}, more[4] = {10, 20, 30, 40};
    struct xtq_queue_entry queue = {.engine = XTQ_HOST, .commands = d->commands};
    struct xtq_kernel_entry entry = {
        .kernel = xtqtest_kernel(d, kernel_source, "add"), .argument_count = 1, .argument_bytes = &bytes};
    struct xtq_error error;
    cl_int status;

    EQUAL(xtq_register_queue(x, KERNELS, &queue), 0);
    EQUAL(xtq_register_kernel(x, 6, &entry), 0); /* neither a buffer nor an address */
    entry.memory = clCreateBuffer(d->context, CL_MEM_COPY_HOST_PTR, sizeof(sums), sums, &status);
    EQUAL(status, CL_SUCCESS);
    EQUAL(xtq_register_kernel(x, 5, &entry), 0);
    put_kernel(5, 100, NULL);
    put_kernel(5, 1000, more);
    put_kernel(5, 10000, NULL);
    put_kernel(6, 1, NULL);
    EQUAL(xtq_error(x, rank, KERNELS, &error), 0);
    EQUAL(error.count, 0);
    EQUAL(clEnqueueReadBuffer(d->commands, entry.memory, CL_TRUE, 0, sizeof(sums), sums, 0, NULL, NULL), CL_SUCCESS);
    for (int i = 0; i < 4; i++)
        EQUAL(sums[i], 11100 + 11 * i + 11);
    EQUAL(xtq_unregister_kernel(x, 5), 0);
    EQUAL(xtq_unregister_kernel(x, 6), 0);
    EQUAL(xtq_unregister_queue(x, KERNELS), 0);
    clReleaseMemObject(entry.memory);
    clReleaseKernel(entry.kernel);
}

int main(int count, char **words)
{
    bool kernels_only = !strcmp(words[1], "kernels");
    struct xtq_function_entry entry = {.function = pass_on};
    struct xtq_queue_entry queue = {.engine = XTQ_HOST};
    struct xtqtest_device d;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    rounds = atoi(words[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    d = xtqtest_device();
    EQUAL(xtq_init(MPI_COMM_WORLD, NULL, &x), 0);
    without_payload(&d);
    if (!kernels_only) {
        too_large();
        EQUAL(xtq_register_queue(x, FUNCTIONS, &queue), 0);
        EQUAL(xtq_register_function(x, 1, &entry), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        quiescence();
        registered_while_waiting();
        unregistered();
        unregistered_on_device(&d);
    }
    EQUAL(xtq_finalize(x), 0);
    xtqtest_device_close(&d);
    MPI_Finalize();
    return 0;
}
