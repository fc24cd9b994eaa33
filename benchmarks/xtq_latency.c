/*
 * Launch latency of a small task on another rank's device, the paper's Figure 7: from the initiator's call until the
 * target sees that the task has ended. Not just an OpenCL program: run by mpiexec with two ranks of one host, which
 * read the same clock. Three ways, in an order that changes each time:
 *
 *     cpu     two-sided: the target receives and computes itself
 *     hsa     two-sided: the target receives, and its CPU enqueues the kernel; it learns of the end by clWaitForEvents,
 *             by a callback of the event (hsa_callback), or by querying the event's status repeatedly (hsa_polled)
 *     xtq     xtq_put into a queue with a command processor (xtq_host) or a persistent kernel (xtq_device), or of a
 *             function (xtq_function). With a persistent kernel no thread of the target takes part, and the end is when
 *             the initiator sees it, by xtq_quiet. The kernel polls, since the previous message came a moment ago; or
 * it sleeps on the device (xtq_device_asleep), or has left it (xtq_device_away)
 *
 * A device with its own memory can have no persistent kernel, and gets the payload by a command.
 * With --one-core both ranks share one core, and only cpu and xtq_device are measured.
 * call: the initiator's call; transfer: from its begin until the target's CPU has the message, where it gets it; task:
 * from its begin to the end: the difference of these two is the launch and the kernel. cpu_time: the processor time
 * that the target's threads, without the device's own, use per message in a stream of messages.
 */
#include <mpi.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "xtq.h"

enum { ROUNDS = 200, WARM = 20, MOST = 4096, QUEUE_HOST = 0, QUEUE_DEVICE = 1, INDEX = 1, NOTHING = 2, IDLE_US = 5000 };

static int rank, apart; /* apart: the device has its own memory, so that it cannot run a persistent kernel */
static cl_mem there[2]; /* there: sums and payload on such a device */
static struct bench b;
static struct xtq *x;
static float *sums, *payload;
static cl_kernel kernel;
static struct xtq_signal *ended, *warm;

static const char kernel_source[] = "kernel void add(global float *sum, global const float *more)\n"
                                    "{ size_t i = get_global_id(0); sum[i] += more[i]; }\n";
static const char body_source[] = "int add(const struct xtq_task *t, ulong first, ulong last)\n"
                                  "{\n"
                                  "    global float *sum = (global float *)t->buffer;\n"
                                  "    global const float *more = (global const float *)t->payload;\n"
                                  "    for (ulong i = first; i < last; i++) sum[i] += more[i];\n"
                                  "    return 0;\n"
                                  "}\n";

static double arrived; /* when this rank's CPU got the message; 0: it does not get it */

static int add(const struct xtq_task *task, void *argument)
{
    float *sum = task->buffer;
    const float *more = task->payload;

    (void)argument;
    arrived = arrived > 0 ? arrived : bench_now();
    for (size_t i = 0; i < task->payload_bytes / sizeof(*more); i++)
        sum[i] += more[i];
    return 0;
}

static int nothing(const struct xtq_task *task, void *argument)
{
    (void)task;
    (void)argument;
    return 0;
}

/* ---- the target's part in each way; the initiator's follows ---- */

static _Atomic int called_back;

static void CL_CALLBACK on_end(cl_event event, cl_int status, void *argument)
{
    (void)event;
    (void)status;
    (void)argument;
    atomic_store(&called_back, 1);
}

static void receive(size_t bytes)
{
    MPI_Recv(payload, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    arrived = bench_now();
}

static void take_cpu(size_t bytes)
{
    struct xtq_task task = {.buffer = sums, .payload = payload, .payload_bytes = bytes};

    receive(bytes);
    add(&task, NULL);
}

static cl_event enqueue(size_t bytes)
{
    size_t count = bytes / sizeof(float);
    cl_event event;

    receive(bytes);
    if (apart) {
        CHECK(clEnqueueWriteBuffer(b.queue, there[1], CL_FALSE, 0, bytes, payload, 0, NULL, NULL));
        CHECK(clSetKernelArg(kernel, 0, sizeof(there[0]), &there[0]));
        CHECK(clSetKernelArg(kernel, 1, sizeof(there[1]), &there[1]));
    } else {
        CHECK(clSetKernelArgSVMPointer(kernel, 0, sums));
        CHECK(clSetKernelArgSVMPointer(kernel, 1, payload));
    }
    CHECK(clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, &count, NULL, 0, NULL, &event));
    return event;
}

static void take_hsa(size_t bytes)
{
    cl_event event = enqueue(bytes);

    CHECK(clWaitForEvents(1, &event));
    clReleaseEvent(event);
}

static void take_hsa_polled(size_t bytes)
{
    cl_event event = enqueue(bytes);
    cl_int status = CL_QUEUED;

    while (status > CL_COMPLETE)
        CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    EXPECT(status == CL_COMPLETE);
    clReleaseEvent(event);
}

static void take_hsa_callback(size_t bytes)
{
    cl_event event = enqueue(bytes);

    atomic_store(&called_back, 0);
    CHECK(clSetEventCallback(event, CL_COMPLETE, on_end, NULL));
    CHECK(clFlush(b.queue));
    while (!atomic_load(&called_back))
        ;
    clReleaseEvent(event);
}

/* The thread is the command processor, and polls as MPI_Recv does. */
static void take_xtq(size_t bytes)
{
    (void)bytes;
    while (xtq_signal_load(ended))
        xtq_progress(x);
}

/* The thread is idle, and checks from time to time. */
static void take_asleep(size_t bytes)
{
    static const struct timespec pause = {.tv_nsec = 500000};

    (void)bytes;
    while (xtq_signal_load(ended))
        nanosleep(&pause, NULL);
}

static void send_two_sided(size_t bytes)
{
    MPI_Send(payload, (int)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
}

static void put_kernel(unsigned queue, size_t bytes)
{
    struct xtq_kernel_packet packet;
    size_t count = bytes / sizeof(float);

    xtq_kernel_packet(&packet, queue, INDEX, 1, &count, NULL);
    EXPECT(!xtq_put(x, 1, &packet, sizeof(packet), payload, bytes, 0, NULL));
}

static void put_host(size_t bytes)
{
    put_kernel(QUEUE_HOST, bytes);
}

static void put_device(size_t bytes)
{
    put_kernel(QUEUE_DEVICE, bytes);
}

static void put_function(size_t bytes)
{
    struct xtq_function_packet packet;

    xtq_function_packet(&packet, QUEUE_HOST, INDEX, 0, 0);
    EXPECT(!xtq_put(x, 1, &packet, sizeof(packet), payload, bytes, 0, NULL));
}

/* The state of the persistent kernel when the message comes. */
enum kernel_is { NOWHERE, POLLING, ASLEEP, AWAY };

static const struct {
    const char *name;
    void (*send)(size_t bytes), (*take)(size_t bytes);
    enum kernel_is kernel_is;
    bool on_one_core;
} ways[] = {
    {"cpu", send_two_sided, take_cpu, NOWHERE, true},
    {"hsa", send_two_sided, take_hsa, NOWHERE, false},
    {"hsa_callback", send_two_sided, take_hsa_callback, NOWHERE, false},
    {"hsa_polled", send_two_sided, take_hsa_polled, NOWHERE, false},
    {"xtq_function", put_function, take_xtq, NOWHERE, false},
    {"xtq_host", put_host, take_xtq, NOWHERE, false},
    {"xtq_device", put_device, take_asleep, POLLING, true},
    {"xtq_device_asleep", put_device, take_asleep, ASLEEP, false},
    {"xtq_device_away", put_device, take_asleep, AWAY, false},
};
enum { WAYS = sizeof(ways) / sizeof(*ways) };
static bool one_core;

/* ---- measuring ---- */

static void pause_us(long us)
{
    struct timespec pause = {.tv_nsec = us * 1000};

    nanosleep(&pause, NULL);
}

static bool one_sided(unsigned way)
{
    return ways[way].send != send_two_sided;
}

/* Brings the kernel into its state: it left the device while other ways were measured. */
static void prepare_kernel(unsigned way, size_t bytes)
{
    double start;

    if (ways[way].kernel_is != POLLING && ways[way].kernel_is != ASLEEP)
        return;
    ways[way].send(bytes);
    EXPECT(!xtq_quiet(x, 1));
    if (ways[way].kernel_is == ASLEEP)
        pause_us(2000);
    for (start = bench_now(); bench_now() - start < 10000;)
        ;
}

/* Sends an empty message by MPI, and one by XTQ, before each task, whichever way follows: MPI is in the caches anyway,
 * because of the barrier between the ranks, and XTQ would not be. */
static void warm_up(void)
{
    struct xtq_function_packet packet;

    if (rank == 0) {
        MPI_Send(NULL, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
        xtq_function_packet(&packet, QUEUE_HOST, NOTHING, 0, 0);
        EXPECT(!xtq_put(x, 1, &packet, sizeof(packet), payload, 0, 0, NULL));
        for (double start = bench_now(); bench_now() - start < 20000;)
            ;
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        while (xtq_signal_load(warm) > 0)
            xtq_progress(x);
    }
}

/* Measures one task. The target waits first, so that it is not late, and the initiator does not disturb it
 * afterwards. */
static void one(const struct round *round, unsigned way, size_t bytes, struct series *call, struct series *transfer,
                struct series *task)
{
    double times[3], end;

    arrived = 0;
    if (rank == 1) {
        xtq_signal_store(ended, ways[way].kernel_is == POLLING || ways[way].kernel_is == ASLEEP ? 2 : 1);
        xtq_signal_store(warm, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        pause_us(100);
    warm_up();
    if (rank == 0) {
        prepare_kernel(way, bytes);
        times[0] = bench_now();
        ways[way].send(bytes);
        times[1] = bench_now();
        if (ways[way].take == take_asleep)
            EXPECT(!xtq_quiet(x, 1));
        times[2] = bench_now();
        pause_us(ways[way].take == take_asleep ? 2 * IDLE_US : 500); /* the persistent kernel leaves, too */
        MPI_Send(times, 3, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    } else {
        ways[way].take(bytes);
        end = bench_now();
        MPI_Recv(times, 3, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        round_add(round, call, (times[1] - times[0]) / 1000);
        if (arrived > 0)
            round_add(round, transfer, (arrived - times[0]) / 1000);
        round_add(round, task, ((ways[way].take == take_asleep ? times[2] : end) - times[0]) / 1000);
    }
}

/* The device's own threads, which threads_us() leaves out: it counts those that existed before, and those that XTQ has
 * started since. */
static char device_threads[4096];

static void list_threads(char *list, size_t size)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;

    *list = 0;
    while ((entry = readdir(tasks)))
        snprintf(list + strlen(list), size - strlen(list), "/%s/", entry->d_name);
    closedir(tasks);
}

static double threads_us(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    double sum = 0;

    while ((entry = readdir(tasks))) {
        char name[300], path[400];
        double ns = 0;
        FILE *file;

        snprintf(name, sizeof(name), "/%s/", entry->d_name);
        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
        file = strstr(device_threads, name) || entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!file)
            continue;
        if (fscanf(file, "%lf", &ns) == 1)
            sum += ns / 1000;
        fclose(file);
    }
    closedir(tasks);
    return sum;
}

static void cpu_time(unsigned way, size_t bytes)
{
    enum { TASKS = 3000 };
    double before, used;

    if (rank == 1)
        xtq_signal_store(ended, TASKS);
    MPI_Barrier(MPI_COMM_WORLD);
    before = threads_us();
    for (int i = 0; i < TASKS; i++) {
        if (rank == 0)
            ways[way].send(bytes);
        else if (!one_sided(way) || i == 0)
            ways[way].take(bytes);
    }
    used = threads_us() - before;
    if (rank == 1)
        printf("%s_%zuB_cpu_time %.3g us\n", ways[way].name, bytes, used / TASKS);
    pause_us(100000); /* the persistent kernel leaves */
}

static void open_target(void)
{
    static const char *bodies[] = {"add"};
    struct xtq_kernel_entry entry = {.kernel = kernel, .body = 1, .address = sums, .signal = ended};
    struct xtq_function_entry function = {.function = add, .buffer = sums, .signal = ended};
    struct xtq_function_entry nothing_entry = {.function = nothing, .signal = warm};
    struct xtq_queue_entry host = {.engine = XTQ_HOST, .commands = b.queue, .manual = true},
                           device = {.engine = XTQ_DEVICE,
                                     .context = b.context,
                                     .device = b.device,
                                     .source = body_source,
                                     .bodies = bodies,
                                     .body_count = 1,
                                     .idle_us = IDLE_US};
    const int error = xtq_register_queue(x, QUEUE_DEVICE, &device);

    EXPECT(!error || error == -ENOTSUP);
    apart = error == -ENOTSUP;
    if (apart) {
        for (int i = 0; i < 2; i++)
            there[i] = bench_buffer(&b, CL_MEM_READ_WRITE, MOST);
        entry.memory = there[0];
        entry.address = NULL;
    }
    EXPECT(!xtq_register_kernel(x, INDEX, &entry));
    EXPECT(!xtq_register_function(x, INDEX, &function));
    EXPECT(!xtq_register_function(x, NOTHING, &nothing_entry));
    EXPECT(!xtq_register_queue(x, QUEUE_HOST, &host));
}

static bool is_measured(unsigned way)
{
    return (!one_core || ways[way].on_one_core) && (!apart || ways[way].kernel_is == NOWHERE);
}

static void report(struct series *series, unsigned way, size_t bytes, const char *what)
{
    char name[80];

    snprintf(name, sizeof(name), "%s%s_%zuB_%s", one_core ? "one_core_" : "", ways[way].name, bytes, what);
    if (series->count)
        series_spread(series, name, "us");
}

/* Gives both ranks the same random order. A way that follows one which has just used OpenCL, or MPI, finds it in the
 * caches. */
static void shuffle(unsigned *order)
{
    static unsigned seed = 1;

    for (unsigned i = WAYS - 1; i > 0; i--) {
        const unsigned k = (unsigned)rand_r(&seed) % (i + 1), other = order[i];

        order[i] = order[k];
        order[k] = other;
    }
}

static void measure(size_t bytes)
{
    unsigned order[WAYS];
    struct series calls[WAYS] = {0}, transfers[WAYS] = {0}, tasks[WAYS] = {0};

    for (unsigned way = 0; way < WAYS; way++)
        order[way] = way;
    EACH_ROUND (round, WARM, ROUNDS) {
        shuffle(order);
        for (unsigned i = 0; i < WAYS; i++) {
            const unsigned way = order[i];

            if (is_measured(way))
                one(&round, way, bytes, &calls[way], &transfers[way], &tasks[way]);
        }
    }
    for (unsigned way = 0; way < WAYS && rank == 1; way++) {
        report(&calls[way], way, bytes, "call");
        report(&transfers[way], way, bytes, "transfer");
        report(&tasks[way], way, bytes, "task");
    }
    for (unsigned way = 0; way < WAYS && !one_core; way++) {
        if (is_measured(way) && ways[way].kernel_is <= POLLING)
            cpu_time(way, bytes);
    }
}

static void open_device(int count, char **words)
{
    char before[2048], after[2048];

    list_threads(before, sizeof(before));
    bench_open(&b, count, words);
    list_threads(after, sizeof(after));
    for (char *name = strtok(after, "/"); name; name = strtok(NULL, "/")) {
        char one_name[64];

        snprintf(one_name, sizeof(one_name), "/%s/", name);
        if (!strstr(before, one_name))
            strcat(device_threads, one_name);
    }
    kernel = bench_kernel(bench_program(&b, kernel_source, ""), "add");
    open_target();
}

int main(int count, char **words)
{
    int level, ranks;

    if (count > 1 && !strcmp(words[count - 1], "--one-core")) {
        cpu_set_t first;

        CPU_ZERO(&first);
        CPU_SET(0, &first);
        EXPECT(!sched_setaffinity(0, sizeof(first), &first));
        one_core = true;
        words[--count] = NULL;
    }
    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    EXPECT(ranks == 2);
    EXPECT(!xtq_init(MPI_COMM_WORLD, NULL, &x));
    sums = bench_memory(MOST);
    payload = bench_memory(MOST);
    EXPECT(!xtq_signal_create(1, &ended));
    EXPECT(!xtq_signal_create(1, &warm));
    if (rank == 1)
        open_device(count, words);
    MPI_Bcast(&apart, 1, MPI_INT, 1, MPI_COMM_WORLD);
    measure(64);
    if (!one_core)
        measure(MOST);
    EXPECT(!xtq_finalize(x));
    if (rank == 1)
        bench_close(&b);
    MPI_Finalize();
    return 0;
}
