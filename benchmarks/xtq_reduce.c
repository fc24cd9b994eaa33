/*
 * Accumulate, reduce and allreduce of floats (SUM) by size, as in the paper's Figure 9, and a data-parallel SGD step
 * with an allreduce of 1 MiB, as in its Figure 10. Run by mpiexec with two or more ranks. Three ways, alternately:
 *
 *     cpu         MPI's own MPI_Accumulate, MPI_Reduce and MPI_Allreduce
 *     hsa         two-sided: a kernel that the target's CPU enqueues combines the received data (allreduce: by
 * recursive halving, then an allgather, as xtq does) xtq         XTQ's, computed by functions; xtq_device: by a
 * persistent kernel, with --device, and then without hsa, as that kernel stays on the device
 *
 * With --mpi, MPI's functions are called by their names, which are libxtqmpi's if it is preloaded (cpu), and by the
 * names that no library replaces (own). Each sample is the time until the slowest rank has its result, or the
 * initiator's time for an accumulate.
 */
#include <mpi.h>

#include "bench.h"
#include "xtq.h"

enum { MOST = 4 << 20 /* floats */, TAG = 3, TOLD = 100 /* index of a function */ };

static int rank, size;
static struct bench b;
static struct xtq *x;
static struct xtq_collectives *now;
static struct xtq_signal *told;
static enum { BOTH, DEVICE, MPI_ALONE } mode;
static float *data, *result, *received;
static cl_kernel kernel;
static MPI_Win win;
static bool even; /* a power of two ranks, as hsa's allreduce needs; it halves the data for each doubling */

static const char source[] = "kernel void add(global float *sum, global const float *more)\n"
                             "{ size_t i = get_global_id(0); sum[i] += more[i]; }\n";

/* ---- hsa ---- */

static void add_by_kernel(float *sum, const float *more, size_t count)
{
    cl_event event;

    if (!count)
        return;
    CHECK(clSetKernelArgSVMPointer(kernel, 0, sum));
    CHECK(clSetKernelArgSVMPointer(kernel, 1, more));
    CHECK(clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, &count, NULL, 0, NULL, &event));
    CHECK(clWaitForEvents(1, &event));
    clReleaseEvent(event);
}

/* Receives in pieces; the next piece travels while this one is combined. */
static void receive_and_add(int from, float *sum, size_t count)
{
    enum { PIECE = 16384 };
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    size_t pieces = (count + PIECE - 1) / PIECE;

    for (size_t i = 0; i <= pieces; i++) {
        if (i < pieces) {
            size_t some = count - i * PIECE < PIECE ? count - i * PIECE : PIECE;

            MPI_Irecv(received + i * PIECE, (int)some, MPI_FLOAT, from, TAG, MPI_COMM_WORLD, &requests[i % 2]);
        }
        if (i > 0) {
            size_t some = count - (i - 1) * PIECE < PIECE ? count - (i - 1) * PIECE : PIECE;

            MPI_Wait(&requests[(i - 1) % 2], MPI_STATUS_IGNORE);
            add_by_kernel(sum + (i - 1) * PIECE, received + (i - 1) * PIECE, some);
        }
    }
}

static void send_pieces(int to, const float *from, size_t count, MPI_Request *request, size_t *requests)
{
    enum { PIECE = 16384 };

    *requests = 0;
    for (size_t i = 0; i < count; i += PIECE)
        MPI_Isend(from + i, (int)(count - i < PIECE ? count - i : PIECE), MPI_FLOAT, to, TAG, MPI_COMM_WORLD,
                  &request[(*requests)++]);
}

static void wait_all(MPI_Request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static MPI_Request sending[MOST / 16384 + 1];

static void hsa_accumulate(size_t count)
{
    size_t requests;

    if (rank == 0) {
        send_pieces(1, data, count, sending, &requests);
        wait_all(sending, requests);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        receive_and_add(0, result, count);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD);
    }
}

static void hsa_reduce(size_t count)
{
    size_t requests;

    memcpy(result, data, count * sizeof(*data));
    for (int mask = 1; mask < size; mask <<= 1) {
        if (rank & mask) {
            send_pieces(rank - mask, result, count, sending, &requests);
            wait_all(sending, requests);
            return;
        }
        if (rank + mask < size)
            receive_and_add(rank + mask, result, count);
    }
}

static void hsa_allreduce(size_t count)
{
    size_t first = 0, left = count, requests;
    MPI_Request one[2];

    memcpy(result, data, count * sizeof(*data));
    for (int mask = size / 2; mask > 0; mask /= 2) {
        size_t half = left / 2;
        bool upper = rank & mask;

        send_pieces(rank ^ mask, result + first + (upper ? 0 : half), upper ? half : left - half, sending, &requests);
        receive_and_add(rank ^ mask, result + first + (upper ? half : 0), upper ? left - half : half);
        wait_all(sending, requests);
        first += upper ? half : 0;
        left = upper ? left - half : half;
    }
    for (int mask = 1; mask < size; mask *= 2) { /* count is a multiple of the number of ranks */
        size_t theirs = rank & mask ? first - left : first + left;

        MPI_Irecv(result + theirs, (int)left, MPI_FLOAT, rank ^ mask, TAG, MPI_COMM_WORLD, &one[0]);
        MPI_Isend(result + first, (int)left, MPI_FLOAT, rank ^ mask, TAG, MPI_COMM_WORLD, &one[1]);
        wait_all(one, 2);
        first = theirs < first ? theirs : first;
        left *= 2;
    }
}

/* ---- cpu and xtq ---- */

static void cpu_accumulate(size_t count)
{
    if (rank != 0)
        return;
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Accumulate(data, (int)count, MPI_FLOAT, 1, 0, (int)count, MPI_FLOAT, MPI_SUM, win);
    MPI_Win_unlock(1, win);
}

static void cpu_reduce(size_t count)
{
    MPI_Reduce(data, result, (int)count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void cpu_allreduce(size_t count)
{
    MPI_Allreduce(data, result, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* MPI's own function, whatever is preloaded. */
static void own_accumulate(size_t count)
{
    if (rank != 0)
        return;
    PMPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    PMPI_Accumulate(data, (int)count, MPI_FLOAT, 1, 0, (int)count, MPI_FLOAT, MPI_SUM, win);
    PMPI_Win_unlock(1, win);
}

static void own_reduce(size_t count)
{
    PMPI_Reduce(data, result, (int)count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void own_allreduce(size_t count)
{
    PMPI_Allreduce(data, result, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void xtq_way_accumulate(size_t count)
{
    if (rank != 0)
        return;
    EXPECT(!xtq_accumulate(now, 1, 0, 0, data, count, XTQ_FLOAT, XTQ_SUM));
    EXPECT(!xtq_quiet(x, 1));
}

static void xtq_way_reduce(size_t count)
{
    EXPECT(!xtq_reduce(now, 0, data, result, count, XTQ_FLOAT, XTQ_SUM));
}

static void xtq_way_allreduce(size_t count)
{
    EXPECT(!xtq_allreduce(now, data, result, count, XTQ_FLOAT, XTQ_SUM));
}

/* ---- SGD, data-parallel: each rank's gradient of a linear model on its own samples, and their sum ---- */

enum { PARAMETERS = 256 << 10, BATCH = 4 };
static float model[PARAMETERS];

static void gradient(void)
{
    static float sample[PARAMETERS];

    memset(data, 0, PARAMETERS * sizeof(*data));
    for (int s = 0; s < BATCH; s++) {
        float error = 0;

        for (int i = 0; i < PARAMETERS; i++) {
            sample[i] = (float)((i * 13 + s * 7 + rank) % 17) / 17;
            error += sample[i] * (model[i] - (float)(i % 3));
        }
        for (int i = 0; i < PARAMETERS; i++)
            data[i] += error * sample[i] / PARAMETERS;
    }
}

static void step(void (*allreduce)(size_t count))
{
    gradient();
    allreduce(PARAMETERS);
    for (int i = 0; i < PARAMETERS; i++)
        model[i] -= 0.1f / (float)(BATCH * size) * result[i];
}

static void cpu_sgd(size_t count)
{
    (void)count;
    step(cpu_allreduce);
}

static void hsa_sgd(size_t count)
{
    (void)count;
    step(hsa_allreduce);
}

static void xtq_sgd(size_t count)
{
    (void)count;
    step(xtq_way_allreduce);
}

/* ---- measuring ---- */

enum { CPU, HSA, XTQ, OWN, WAYS };

static const struct {
    const char *name;
    void (*ways[WAYS])(size_t count);
} operations[] = {
    {"accumulate", {cpu_accumulate, hsa_accumulate, xtq_way_accumulate, own_accumulate}},
    {"accumulate_woken", {cpu_accumulate, NULL, xtq_way_accumulate}}, /* the target waits in MPI, not in XTQ */
    {"reduce", {cpu_reduce, hsa_reduce, xtq_way_reduce, own_reduce}},
    {"allreduce", {cpu_allreduce, hsa_allreduce, xtq_way_allreduce, own_allreduce}},
    {"sgd", {cpu_sgd, hsa_sgd, xtq_sgd}},
};
enum { ACCUMULATE, ACCUMULATE_WOKEN, REDUCE, ALLREDUCE, SGD };

/* Makes the target of accumulates wait as it would in each way: in MPI, or in XTQ until it is notified. */
static void wait_for_the_end(unsigned operation, unsigned way)
{
    struct xtq_function_packet packet;

    if (operation != ACCUMULATE || way != XTQ)
        return;
    if (rank == 0) {
        xtq_function_packet(&packet, 0, TOLD, 0, 0);
        EXPECT(!xtq_put(x, 1, &packet, sizeof(packet), NULL, 0, 0, NULL));
    } else if (rank == 1) {
        EXPECT(!xtq_signal_wait(x, told, XTQ_EQ, 0, -1));
        xtq_signal_store(told, 1);
    }
}

/* The barrier is also MPI's own for `own`: otherwise the target of an accumulate would wait in the other library. */
static double one(unsigned operation, unsigned way, size_t count)
{
    double start, taken, slowest;

    (way == OWN ? PMPI_Barrier : MPI_Barrier)(MPI_COMM_WORLD);
    start = bench_now();
    operations[operation].ways[way](count);
    taken = bench_now() - start;
    wait_for_the_end(operation, way);
    if (operation <= ACCUMULATE_WOKEN && rank != 0)
        taken = 0;
    (way == OWN ? PMPI_Allreduce : MPI_Allreduce)(&taken, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest / 1000;
}

static bool is_measured(unsigned operation, unsigned way, size_t count)
{
    if (way == CPU)
        return true;
    if (way == OWN)
        return mode == MPI_ALONE && operations[operation].ways[OWN];
    if (way == HSA)
        return mode == BOTH && operations[operation].ways[HSA] &&
               (operation < ALLREDUCE || (even && count % (size_t)size == 0));
    return mode != MPI_ALONE;
}

static void measure(unsigned operation, size_t count, int rounds)
{
    static const char *const names[] = {"cpu", "hsa", "xtq", "own"};
    struct series series[WAYS] = {0};

    if (mode != MPI_ALONE && operation <= ACCUMULATE_WOKEN && rank == 1)
        EXPECT(!xtq_expose(now, 0, result, MOST * sizeof(*result)));
    EACH_ROUND (round, 3, rounds) {
        for (unsigned way = 0; way < WAYS; way++) {
            double taken = is_measured(operation, way, count) ? one(operation, way, count) : -1;

            if (taken >= 0)
                round_add(&round, &series[way], taken);
        }
    }
    for (unsigned way = 0; way < WAYS && rank == 0; way++) {
        char name[80];

        snprintf(name, sizeof(name), "%s%s_%s_%zuB_%dranks", names[way], mode == DEVICE && way == XTQ ? "_device" : "",
                 operations[operation].name, count * sizeof(float), size);
        if (series[way].count)
            series_spread(&series[way], name, "us");
    }
}

static int tell(const struct xtq_task *task, void *argument)
{
    (void)task;
    (void)argument;
    return 0;
}

static void open_xtq(void)
{
    struct xtq_collectives_options options = {.queue = 0, .first_index = 0};
    struct xtq_function_entry entry = {.function = tell};
    struct xtq_queue_entry queue = {.engine = XTQ_HOST};

    if (mode == DEVICE)
        options = (struct xtq_collectives_options){
            .queue = 1, .first_index = 0, .engine = XTQ_DEVICE, .context = b.context, .device = b.device};
    EXPECT(!xtq_init(MPI_COMM_WORLD, NULL, &x));
    EXPECT(!xtq_collectives_open(x, &options, &now));
    EXPECT(!xtq_signal_create(1, &told));
    entry.signal = told;
    EXPECT(!xtq_register_function(x, TOLD, &entry));
    if (mode == DEVICE)
        EXPECT(!xtq_register_queue(x, 0, &queue));
}

static void open_all(int count, char **words)
{
    if (count > 1 && !strcmp(words[count - 1], "--device"))
        mode = DEVICE;
    else if (count > 1 && !strcmp(words[count - 1], "--mpi"))
        mode = MPI_ALONE;
    if (mode != MPI_ALONE) {
        bench_open(&b, count - (mode == DEVICE), words);
        kernel = bench_kernel(bench_program(&b, source, ""), "add");
        open_xtq();
    }
    data = bench_memory(MOST * sizeof(*data));
    result = bench_memory(MOST * sizeof(*result));
    received = bench_memory(MOST * sizeof(*received));
    MPI_Win_create(result, MOST * sizeof(*result), sizeof(*result), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < MOST; i++)
        data[i] = 1;
}

static void close_all(void)
{
    MPI_Win_free(&win);
    if (mode == MPI_ALONE)
        return;
    EXPECT(!xtq_collectives_close(now));
    EXPECT(!xtq_finalize(x));
    xtq_signal_destroy(told);
    bench_close(&b);
}

int main(int count, char **words)
{
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT(size > 1);
    even = (size & (size - 1)) == 0;
    open_all(count, words);
    if (size == 2) {
        for (size_t floats = 1; floats <= MOST; floats *= 16) {
            measure(ACCUMULATE, floats, floats > 100000 ? 9 : 101);
            measure(REDUCE, floats, floats > 100000 ? 9 : 101);
        }
        measure(ACCUMULATE_WOKEN, 1, 31);
        measure(ACCUMULATE_WOKEN, 16 << 10, 31);
        measure(ALLREDUCE, 1, 101);
        measure(ALLREDUCE, 256, 101);
    }
    measure(ALLREDUCE, 1 << 10, size == 2 ? 101 : 15);
    measure(ALLREDUCE, 4 << 10, size == 2 ? 101 : 15);
    measure(ALLREDUCE, 16 << 10, size == 2 ? 51 : 15);
    measure(ALLREDUCE, 1 << 20, size == 2 ? 25 : 9); /* 4 MiB */
    measure(SGD, PARAMETERS, 15);
    close_all();
    MPI_Finalize();
    return 0;
}
