/* All functions of xtq.h except the collectives: each rank puts to all ranks, itself included. */
#include <time.h>

#include "xtqtest.h"

enum { HOST_QUEUE, KERNEL_QUEUE, DEVICE_QUEUE, NO_QUEUE };
enum { COUNT = 1000 };

static struct xtq *x;
static int rank, size;

struct function_command {
    struct xtq_function_packet packet;
    uint64_t more[5];
};

struct kernel_command {
    struct xtq_kernel_packet packet;
    uint32_t scale;
    uint64_t offset; /* aligned to 8 */
};

/* ---- functions ---- */

struct seen {
    struct xtq_signal *done;
    long count, sum;
    int last[64]; /* by initiator */
};

/* buffer: a struct seen; arg[2]: the number of the put; arg[3]: the value of the payload's bytes. */
static int look(const struct xtq_task *task, void *argument)
{
    struct seen *seen = task->buffer;
    const uint8_t *payload = task->payload;
    const uint64_t *more = task->arguments;

    EXPECT(argument == (void *)0x1234);
    EQUAL(task->buffer_bytes, sizeof(*seen));
    EXPECT(task->arg[0] == (uintptr_t)seen && task->arg[1] == (uintptr_t)payload);
    EXPECT((uintptr_t)payload % 64 == 0);
    EQUAL(task->arg[2], seen->last[task->initiator] + 1); /* in order */
    seen->last[task->initiator]++;
    EQUAL(task->argument_bytes, sizeof(((struct function_command *)0)->more));
    for (unsigned i = 0; i < 5; i++)
        EQUAL(more[i], task->arg[2] * 10 + i);
    for (size_t i = 0; i < task->payload_bytes; i++)
        EQUAL(payload[i], task->arg[3]);
    seen->sum += (long)task->payload_bytes;
    seen->count++;
    return 0;
}

static void functions(void)
{
    struct seen seen = {0};
    struct xtq_function_entry entry = {
        .function = look, .argument = (void *)0x1234, .buffer = &seen, .buffer_bytes = sizeof(seen)};
    uint8_t *payload = malloc(100000);
    struct xtq_signal *sent;
    long sum = 0;

    EQUAL(xtq_signal_create((int64_t)COUNT * size, &entry.signal), 0);
    EQUAL(xtq_signal_create((int64_t)COUNT * size, &sent), 0);
    EQUAL(xtq_register_function(x, 7, &entry), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i <= COUNT; i++) {
        /* from 0 to more than a ring has left at its end */
        size_t bytes = i % 97 == 0 ? 100000 : (size_t)(i * 37) % 3000;
        struct function_command command;

        xtq_function_packet(&command.packet, HOST_QUEUE, 7, (uint64_t)i, (uint64_t)(i % 251));
        for (unsigned k = 0; k < 5; k++)
            command.more[k] = (uint64_t)i * 10 + k;
        memset(payload, i % 251, bytes);
        for (int target = 0; target < size; target++) {
            bool wait = bytes > 3000; /* these reuse the memory at once, the others when all have been counted */

            EQUAL(xtq_put(x, target, &command, sizeof(command), payload, bytes, 0, wait ? NULL : sent), 0);
            if (wait)
                xtq_signal_add(sent, -1);
        }
        EQUAL(xtq_signal_wait(x, sent, XTQ_LT, (int64_t)(COUNT - i) * size + 1, -1), 0);
        sum += (long)bytes;
    }
    EQUAL(xtq_signal_wait(x, entry.signal, XTQ_EQ, 0, -1), 0);
    EQUAL(seen.count, (long)COUNT * size);
    EQUAL(seen.sum, sum * size);
    for (int target = 0; target < size; target++)
        EQUAL(xtq_quiet(x, target), 0);
    EQUAL(xtq_barrier(x), 0);
    EQUAL(xtq_unregister_function(x, 7), 0);
    EQUAL(xtq_unregister_function(x, 7), -ENOENT);
    xtq_signal_destroy(entry.signal);
    xtq_signal_destroy(sent);
    free(payload);
}

/* ---- kernels, on both engines ---- */

static const char kernel_source[] =
    "kernel void add(global int *sum, global const int *more, uint scale, ulong offset)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    atomic_add(&sum[offset + i], more[i] * (int)scale);\n"
    "}\n";

static const char body_source[] =
    "int add(const struct xtq_task *t, ulong first, ulong last)\n"
    "{\n"
    "    global int *sum = (global int *)t->buffer;\n"
    "    global const int *more = (global const int *)t->payload;\n"
    "    uint scale = *(global uint *)t->arguments;\n"
    "    ulong offset = *(global ulong *)(t->arguments + 8);\n"
    "    if (t->payload_bytes < t->grid[0] * 4 || offset + t->grid[0] > t->buffer_bytes / 4) return -33;\n"
    "    for (ulong i = first; i < last; i++)\n"
    "        sum[offset + i] += more[i] * (int)scale;\n"
    "    return 0;\n"
    "}\n"
    "int through_table(const struct xtq_task *t, ulong first, ulong last)\n"
    "{\n"
    "    global ulong *table = (global ulong *)t->buffer;\n"
    "    global int *one = (global int *)table[0], *other = (global int *)table[1];\n"
    "    for (ulong i = first; i < last; i++)\n"
    "        other[i] = one[i] * 2;\n"
    "    return 0;\n"
    "}\n";

static void add_to_all(unsigned queue, struct xtq_kernel_entry *entry, int *sums, size_t length)
{
    int *more = malloc(length * sizeof(*more));
    const int puts = 50;

    memset(sums, 0, length * 2 * sizeof(*sums));
    EQUAL(xtq_signal_create((int64_t)puts * size, &entry->signal), 0);
    EQUAL(xtq_register_kernel(x, 3, entry), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < puts; i++) {
        struct kernel_command command = {.scale = (uint32_t)i, .offset = i % 2 ? length : 0};

        xtq_kernel_packet(&command.packet, queue, 3, 1, &length, NULL);
        if (i % 3 == 0)
            command.packet.header |= XTQ_BARRIER;
        for (size_t k = 0; k < length; k++)
            more[k] = (int)k + rank;
        for (int target = 0; target < size; target++)
            EQUAL(xtq_put(x, target, &command, sizeof(command), more, length * sizeof(*more), 0, NULL), 0);
    }
    EQUAL(xtq_signal_wait(x, entry->signal, XTQ_EQ, 0, -1), 0);
    for (size_t k = 0; k < length; k++) {
        long each = (long)size * (long)k + (long)size * (size - 1) / 2;

        EQUAL(sums[k], each * 600);          /* 0 + 2 + ... + 48 */
        EQUAL(sums[length + k], each * 625); /* 1 + 3 + ... + 49 */
    }
    EQUAL(xtq_barrier(x), 0);
    EQUAL(xtq_unregister_kernel(x, 3), 0);
    xtq_signal_destroy(entry->signal);
    free(more);
}

static void kernels_on_host_queue(const struct xtqtest_device *d, size_t length)
{
    size_t bytes[] = {sizeof(uint32_t), sizeof(uint64_t)};
    int *sums = aligned_alloc(4096, (length * 2 * sizeof(*sums) + 4095) & ~4095ul);
    struct xtq_kernel_entry entry = {.kernel = xtqtest_kernel(d, kernel_source, "add"),
                                     .argument_count = 2,
                                     .argument_bytes = bytes,
                                     .address = sums};
    cl_int status;
    int *mapped;

    add_to_all(KERNEL_QUEUE, &entry, sums, length);
    /* the same with an OpenCL buffer */
    entry.address = NULL;
    entry.memory = clCreateBuffer(d->context, CL_MEM_USE_HOST_PTR, length * 2 * sizeof(*sums), sums, &status);
    EQUAL(status, CL_SUCCESS);
    add_to_all(KERNEL_QUEUE, &entry, sums, length);
    mapped = clEnqueueMapBuffer(d->commands, entry.memory, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &status);
    EXPECT(mapped == sums);
    clEnqueueUnmapMemObject(d->commands, entry.memory, mapped, 0, NULL, NULL);
    clFinish(d->commands);
    clReleaseMemObject(entry.memory);
    clReleaseKernel(entry.kernel);
    free(sums);
}

static void kernels_on_device_queue(size_t length)
{
    int *sums = malloc(length * 2 * sizeof(*sums));
    struct xtq_kernel_entry entry = {.body = 1, .address = sums, .buffer_bytes = length * 2 * sizeof(*sums)};

    add_to_all(DEVICE_QUEUE, &entry, sums, length);
    free(sums);
}

static void table(void)
{
    int one[3] = {rank, 1, 2}, other[3] = {0};
    uint64_t addresses[] = {(uintptr_t)one, (uintptr_t)other};
    struct xtq_kernel_entry entry = {.body = 2, .address = addresses, .buffer_bytes = sizeof(addresses)};
    struct xtq_kernel_packet packet;
    size_t grid[] = {3, 1, 1};

    EQUAL(xtq_signal_create(1, &entry.signal), 0);
    EQUAL(xtq_register_kernel(x, 4, &entry), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    xtq_kernel_packet(&packet, DEVICE_QUEUE, 4, 3, grid, grid);
    EQUAL(xtq_put(x, (rank + 1) % size, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
    EQUAL(xtq_signal_wait(x, entry.signal, XTQ_EQ, 0, -1), 0);
    EQUAL(other[0], 2 * rank);
    EQUAL(other[2], 4);
    EQUAL(xtq_barrier(x), 0);
    EQUAL(xtq_unregister_kernel(x, 4), 0);
    xtq_signal_destroy(entry.signal);
}

/* ---- errors ---- */

static int fails(const struct xtq_task *task, void *argument)
{
    (void)task;
    (void)argument;
    return -EDOM;
}

/* The put succeeds, and the target's error is returned later. */
static void refused(unsigned queue, const void *command, size_t bytes, int error)
{
    int target = (rank + 1) % size;
    struct xtq_error before, after;

    EQUAL(xtq_error(x, target, queue, &before), 0);
    EQUAL(xtq_put(x, target, command, bytes, NULL, 0, 0, NULL), 0);
    EQUAL(xtq_quiet(x, target), 0);
    EQUAL(xtq_error(x, target, queue, &after), 0);
    EQUAL(after.count, before.count + 1);
    EQUAL(after.last, error);
}

static void errors(const struct xtqtest_device *d)
{
    struct xtq_function_entry entry = {.function = fails};
    struct xtq_kernel_entry kernel = {.kernel = xtqtest_kernel(d, kernel_source, "add")};
    struct xtq_kernel_entry body = {.body = 1};
    struct xtq_queue_entry queue = {.engine = XTQ_HOST};
    struct xtq_function_packet function;
    struct kernel_command command = {0};
    size_t one = 1, none = 0;
    uint64_t before = xtq_refused(x);
    size_t bytes[] = {4, 8};

    EQUAL(xtq_register_function(x, 9, &entry), 0);
    kernel.argument_count = 2;
    EQUAL(xtq_register_kernel(x, 9, &kernel), -EINVAL);
    kernel.argument_bytes = bytes;
    EQUAL(xtq_register_kernel(x, 9, &kernel), 0);
    EQUAL(xtq_register_kernel(x, 10, &body), 0);
    body.body = 99;
    EQUAL(xtq_register_kernel(x, 11, &body), 0);
    body.body = 0;
    EQUAL(xtq_register_kernel(x, 12, &body), -EINVAL);
    EQUAL(xtq_register_kernel(x, 100000, &kernel), -EINVAL);
    EQUAL(xtq_register_function(x, 100000, &entry), -EINVAL);
    EQUAL(xtq_register_queue(x, HOST_QUEUE, &queue), -EBUSY);
    EQUAL(xtq_register_queue(x, 1000, &queue), -EINVAL);
    MPI_Barrier(MPI_COMM_WORLD);

    xtq_function_packet(&function, HOST_QUEUE, 9, 0, 0);
    refused(HOST_QUEUE, &function, sizeof(function), -EDOM);
    function.completion_signal = 1;
    refused(HOST_QUEUE, &function, sizeof(function), -EINVAL);
    xtq_function_packet(&function, HOST_QUEUE, 8, 0, 0); /* no entry */
    refused(HOST_QUEUE, &function, sizeof(function), -ENOENT);
    xtq_function_packet(&function, HOST_QUEUE, 65535, 0, 0);
    refused(HOST_QUEUE, &function, sizeof(function), -ENOENT);
    xtq_function_packet(&function, NO_QUEUE, 9, 0, 0);
    refused(NO_QUEUE, &function, sizeof(function), -ENOENT);
    xtq_function_packet(&function, DEVICE_QUEUE, 9, 0, 0);
    refused(DEVICE_QUEUE, &function, sizeof(function), -ENOTSUP);

    for (unsigned on = KERNEL_QUEUE; on <= DEVICE_QUEUE; on++) {
        xtq_kernel_packet(&command.packet, on, 70, 1, &one, NULL);
        refused(on, &command, sizeof(command), -ENOENT);
        command.packet.kernel_object = UINT64_MAX;
        refused(on, &command, sizeof(command), -ENOENT);
        xtq_kernel_packet(&command.packet, on, on == KERNEL_QUEUE ? 9 : 10, 1, &one, NULL);
        command.packet.setup = 4;
        refused(on, &command, sizeof(command), -EINVAL);
        command.packet.setup = 1;
        command.packet.group_segment_size = 64;
        refused(on, &command, sizeof(command), -EINVAL);
    }
    xtq_kernel_packet(&command.packet, DEVICE_QUEUE, 9, 1, &one, NULL); /* no body */
    refused(DEVICE_QUEUE, &command, sizeof(command), -ENOTSUP);
    xtq_kernel_packet(&command.packet, DEVICE_QUEUE, 11, 1, &one, NULL); /* no body of that number */
    refused(DEVICE_QUEUE, &command, sizeof(command), -ENOTSUP);
    xtq_kernel_packet(&command.packet, DEVICE_QUEUE, 10, 1, &one, NULL); /* the body's own check */
    refused(DEVICE_QUEUE, &command, sizeof(command), -33);
    xtq_kernel_packet(&command.packet, KERNEL_QUEUE, 10, 1, &one, NULL); /* no kernel */
    refused(KERNEL_QUEUE, &command, sizeof(command), -ENOTSUP);
    xtq_kernel_packet(&command.packet, HOST_QUEUE, 9, 1, &one, NULL); /* functions only */
    refused(HOST_QUEUE, &command, sizeof(command), -ENOTSUP);
    xtq_kernel_packet(&command.packet, KERNEL_QUEUE, 9, 1, &one, NULL);
    refused(KERNEL_QUEUE, &command, sizeof(command.packet), -EINVAL); /* too few arguments */
    xtq_kernel_packet(&command.packet, DEVICE_QUEUE, 10, 1, &none, NULL);
    refused(DEVICE_QUEUE, &command, sizeof(command), -EINVAL);
    EQUAL(xtq_barrier(x), 0);
    EQUAL(xtq_refused(x), before + 21);

    /* errors that the initiator finds itself */
    xtq_function_packet(&function, HOST_QUEUE, 9, 0, 0);
    EQUAL(xtq_put(x, size, &function, sizeof(function), NULL, 0, 0, NULL), -EINVAL);
    EQUAL(xtq_put(x, -1, &function, sizeof(function), NULL, 0, 0, NULL), -EINVAL);
    EQUAL(xtq_put(x, 0, &function, 63, NULL, 0, 0, NULL), -EINVAL);
    EQUAL(xtq_put(x, 0, &function, sizeof(function), NULL, (size_t)1 << 40, 0, NULL), -EMSGSIZE);
    EQUAL(xtq_put(x, 0, &function, sizeof(function), &function, xtq_largest_payload(x, 0) + 1, 0, NULL), -EMSGSIZE);
    function.queue = 1000;
    EQUAL(xtq_put(x, 0, &function, sizeof(function), NULL, 0, 0, NULL), -EINVAL);
    function.header = 77;
    EQUAL(xtq_put(x, 0, &function, sizeof(function), NULL, 0, 0, NULL), -EINVAL);
    EQUAL(xtq_unregister_function(x, 9), 0);
    EQUAL(xtq_unregister_kernel(x, 9), 0);
    EQUAL(xtq_unregister_kernel(x, 10), 0);
    EQUAL(xtq_unregister_kernel(x, 11), 0);
    clReleaseKernel(kernel.kernel);
}

/* ---- flow control ---- */

static int nothing(const struct xtq_task *task, void *argument)
{
    (void)task;
    (void)argument;
    return 0;
}

/* The queue has no server until the target serves it itself, so the ring fills. */
static void overflow(void)
{
    struct xtq_queue_entry queue = {.engine = XTQ_HOST, .manual = true};
    struct xtq_function_entry entry = {.function = nothing};
    struct xtq_function_packet packet;
    int target = (rank + 1) % size;
    size_t bytes = xtq_largest_payload(x, 0);
    uint8_t *payload = calloc(1, bytes);
    long put = 0;
    int error;

    EQUAL(xtq_signal_create(0, &entry.signal), 0);
    EQUAL(xtq_register_function(x, 5, &entry), 0);
    EQUAL(xtq_register_queue(x, NO_QUEUE, &queue), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    xtq_function_packet(&packet, NO_QUEUE, 5, 0, 0);
    while ((error = xtq_put(x, target, &packet, sizeof(packet), payload, 1000, XTQ_TRY, NULL)) == 0)
        put++;
    EQUAL(error, -EAGAIN);
    EQUAL(put, (long)((bytes + 64) / 1088));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2) /* the others wait for room, and serve meanwhile */
        while (!xtq_progress(x))
            ;
    EQUAL(xtq_put(x, target, &packet, sizeof(packet), payload, bytes, 0, NULL), 0);
    EQUAL(xtq_quiet(x, target), 0);
    EQUAL(xtq_signal_wait(x, entry.signal, XTQ_EQ, -put - 1, -1), 0);
    EQUAL(xtq_signal_wait(x, entry.signal, XTQ_EQ, 1, 0), -ETIMEDOUT);
    EQUAL(xtq_signal_wait(x, entry.signal, XTQ_EQ, 1, 3000), -ETIMEDOUT);
    EQUAL(xtq_barrier(x), 0);
    EQUAL(xtq_unregister_queue(x, NO_QUEUE), 0);
    EQUAL(xtq_unregister_queue(x, NO_QUEUE), -ENOENT);
    EQUAL(xtq_unregister_function(x, 5), 0);
    xtq_signal_destroy(entry.signal);
    free(payload);
}

/* ---- a function that puts, and one that would wait for itself ---- */

static int pass_on(const struct xtq_task *task, void *argument)
{
    struct xtq_function_packet packet;

    int waited = xtq_quiet(x, (rank + 1) % size);

    EXPECT(waited == -EDEADLK || (waited == 0 && size > 1));
    EQUAL(xtq_signal_wait(x, argument, XTQ_EQ, 100000, -1), -EDEADLK);
    if (!task->arg[2])
        return 0;
    xtq_function_packet(&packet, HOST_QUEUE, 6, task->arg[2] - 1, 0);
    return xtq_put(x, (rank + 1) % size, &packet, sizeof(packet), NULL, 0, 0, NULL);
}

static void hops(void)
{
    struct xtq_function_entry entry = {.function = pass_on};
    struct xtq_function_packet packet;

    EQUAL(xtq_signal_create(0, &entry.signal), 0);
    entry.argument = entry.signal;
    EQUAL(xtq_register_function(x, 6, &entry), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    xtq_function_packet(&packet, HOST_QUEUE, 6, (uint64_t)size * 20 - 1, 0);
    if (rank == 0)
        EQUAL(xtq_put(x, 1 % size, &packet, sizeof(packet), NULL, 0, 0, NULL), 0);
    EQUAL(xtq_signal_wait(x, entry.signal, XTQ_EQ, -20, -1), 0);
    EQUAL(xtq_barrier(x), 0);
    EQUAL(xtq_unregister_function(x, 6), 0);
    xtq_signal_destroy(entry.signal);
}

/* Servers, and a persistent kernel that has left the device, use almost no processor time while no messages come. */
static void idle(void)
{
    const struct timespec soon = {0, 200000000}, long_after = {1, 0};
    clock_t before;

    MPI_Barrier(MPI_COMM_WORLD);
    nanosleep(&soon, NULL);
    before = clock();
    nanosleep(&long_after, NULL);
    EXPECT(clock() - before < CLOCKS_PER_SEC / 4);
}

int main(int count, char **words)
{
    struct xtq_options wrong = {.lane_bytes = 5000}, options = {.lane_bytes = 1 << 18};
    struct xtqtest_device d;
    struct xtq_queue_entry queue = {.engine = XTQ_HOST};
    const char *bodies[] = {"add", "through_table"};
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    d = xtqtest_device();
    EQUAL(xtq_init(MPI_COMM_WORLD, &wrong, &x), -EINVAL);
    wrong = (struct xtq_options){.queues = rank ? 3 : 4};
    if (size > 1)
        EQUAL(xtq_init(MPI_COMM_WORLD, &wrong, &x), -EINVAL);
    EQUAL(xtq_init(MPI_COMM_WORLD, &options, &x), 0);
    EQUAL(xtq_rank(x), rank);
    EQUAL(xtq_size(x), size);

    EQUAL(xtq_register_queue(x, HOST_QUEUE, &queue), 0);
    queue.commands = d.commands;
    EQUAL(xtq_register_queue(x, KERNEL_QUEUE, &queue), 0);
    functions();
    hops();
    kernels_on_host_queue(&d, 100);
    overflow();
    for (unsigned groups = 1; groups <= 2; groups++) {
        queue = (struct xtq_queue_entry){.engine = XTQ_DEVICE,
                                         .context = d.context,
                                         .device = d.device,
                                         .source = body_source,
                                         .bodies = bodies,
                                         .body_count = 2,
                                         .groups = groups,
                                         .idle_us = groups == 1 ? 100 : 5000};
        EQUAL(xtq_register_queue(x, DEVICE_QUEUE, &queue), 0);
        kernels_on_device_queue(groups == 1 ? 100 : 20000);
        table();
        if (groups == 1)
            errors(&d);
        EQUAL(xtq_barrier(x), 0);
        if (groups == 2 && size == 2)
            idle();
        EQUAL(xtq_unregister_queue(x, DEVICE_QUEUE), 0);
    }
    EQUAL(xtq_finalize(x), 0);
    xtqtest_device_close(&d);
    MPI_Finalize();
    return 0;
}
