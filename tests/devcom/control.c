/*
 * Control programs: lists of kernels, puts and waits that run by themselves, started by this rank and by others; the
 * errors for misuse, and early ends. With any words[1], rank 2 of 3 dies instead while they run; "late": rank 0 starts
 * its program after that.
 */
#include <signal.h>
#include <unistd.h>

#include "devcom.h"
#include "tests/xtq/xtqtest.h"

enum { GRID, OUT, BYTES = 1 << 16, SECOND = 1000000 };
enum { ARRIVED, TAKEN, NEVER, STOP, START, START_WRONG, DONE, DONE_WRONG = 64, SIGNALS = 128 };

static const char source[] = "kernel void fill(global uint *to, uint value)\n"
                             "{\n"
                             "    to[get_global_id(0)] = value + get_global_id(0);\n"
                             "}\n"
                             "kernel void add(global ulong *to, global const uint *from)\n"
                             "{\n"
                             "    to[get_global_id(0)] += from[get_global_id(0)];\n"
                             "}\n";

static struct devcom *d;
static struct xtqtest_device device;
static cl_kernel fill, add;
static cl_mem sums, grid;
static int rank, size, next, last;

enum { WORDS = 1000, GOT = BYTES / 2 };

static void meet(void)
{
    EQUAL(devcom_barrier(d, 600L * SECOND), 0);
}

static void check_sums(uint64_t rounds, uint64_t base)
{
    uint64_t all[WORDS], expected = 0;

    EQUAL(clEnqueueReadBuffer(device.commands, sums, CL_TRUE, 0, sizeof(all), all, 0, NULL, NULL), CL_SUCCESS);
    for (uint64_t i = 0; i < rounds; i++)
        expected += base + i * 3;
    for (uint64_t i = 0; i < WORDS; i++)
        EQUAL(all[i], expected + i * rounds);
}

static void clear_sums(void)
{
    static const cl_ulong zero;

    EQUAL(clEnqueueFillBuffer(device.commands, sums, &zero, sizeof(zero), 0, WORDS * 8, 0, NULL, NULL), CL_SUCCESS);
    EQUAL(clFinish(device.commands), CL_SUCCESS);
}

/*
 * Each round: fill the grid, put it to the next rank, wait for the previous rank's, add that, and tell that rank that
 * its grid has been read. head is the loop's first command: its kind and count say how many rounds there are.
 */
static struct devcom_control *ring_program(struct devcom_command head, cl_uint base)
{
    struct devcom_argument argument = {1, sizeof(base), &base, 3};
    struct devcom_put put = {.segment = GRID,
                             .remote_segment = GRID,
                             .remote_offset = GOT,
                             .shape = {.bytes = WORDS * 4},
                             .rank = next,
                             .signal = ARRIVED,
                             .op = DEVCOM_SIGNAL_SET,
                             .value = 1},
                      ends[] = {{.rank = last, .signal = TAKEN, .op = DEVCOM_SIGNAL_SET, .value = 1},
                                {.rank = rank, .signal = STOP, .op = DEVCOM_SIGNAL_SET, .value = 1}};
    struct devcom_command list[] = {
        head,
        {.kind = DEVCOM_DO_LAUNCH,
         .kernel = fill,
         .dimensions = 1,
         .global = {WORDS},
         .arguments = &argument,
         .count = 1},
        {.kind = DEVCOM_DO_WAIT, .signal = TAKEN, .condition = DEVCOM_GE, .value = 0, .step = 1},
        {.kind = DEVCOM_DO_FINISH},
        {.kind = DEVCOM_DO_PUT, .puts = &put, .count = 1, .queue = 1, .step = 1},
        {.kind = DEVCOM_DO_WAIT, .signal = ARRIVED, .condition = DEVCOM_GE, .value = 1, .step = 1},
        {.kind = DEVCOM_DO_LAUNCH, .kernel = add, .dimensions = 1, .global = {WORDS}},
        {.kind = DEVCOM_DO_FINISH},
        {.kind = DEVCOM_DO_QUIET, .queue = 1},
        {.kind = DEVCOM_DO_PUT, .puts = ends, .count = 2, .queue = 2, .step = 1},
        {.kind = DEVCOM_DO_END},
    };
    struct devcom_control *c;

    EQUAL(devcom_control_create(d, device.commands, list, sizeof(list) / sizeof(*list), DEVCOM_BLOCK, &c), 0);
    return c;
}

static void reset_signals(void)
{
    meet();
    for (unsigned i = 0; i < SIGNALS; i++)
        EQUAL(devcom_signal_store(d, i, 0), 0);
    clear_sums();
    meet();
}

static void check_count(void)
{
    struct devcom_control *c =
        ring_program((struct devcom_command){.kind = DEVCOM_DO_REPEAT, .count = 50}, (cl_uint)rank);
    unsigned at;

    for (int again = 0; again < 2; again++) {
        reset_signals();
        EQUAL(devcom_control_start(c), 0);
        EQUAL(devcom_control_wait(c, 600L * SECOND, &at), 0);
        EQUAL(at, 11);
        check_sums(50, (uint64_t)last);
    }
    devcom_control_destroy(c);
}

/* Runs until a signal is set, here by the program itself. */
static void check_until(void)
{
    struct devcom_control *c = ring_program(
        (struct devcom_command){.kind = DEVCOM_DO_UNTIL, .signal = STOP, .condition = DEVCOM_GE, .value = 33}, 7);

    reset_signals();
    EQUAL(devcom_control_start(c), 0);
    EQUAL(devcom_control_start(c), -EBUSY);
    EQUAL(devcom_control_wait(c, 600L * SECOND, NULL), 0);
    check_sums(33, 7);
    devcom_control_destroy(c);
}

/* 3 times 4 times 5 notifications, and a value that grows by its step each time. */
static void check_loops(void)
{
    struct devcom_put inner = {.rank = rank, .signal = 0, .op = DEVCOM_SIGNAL_ADD, .value = 1};
    struct devcom_put middle = {.rank = rank, .signal = 1, .op = DEVCOM_SIGNAL_SET, .value = 10};
    struct devcom_command list[] = {
        {.kind = DEVCOM_DO_REPEAT, .count = 3},
        {.kind = DEVCOM_DO_REPEAT, .count = 4},
        {.kind = DEVCOM_DO_REPEAT, .count = 5},
        {.kind = DEVCOM_DO_PUT, .puts = &inner, .count = 1},
        {.kind = DEVCOM_DO_END},
        {.kind = DEVCOM_DO_PUT, .puts = &middle, .count = 1, .step = 2},
        {.kind = DEVCOM_DO_END},
        {.kind = DEVCOM_DO_END},
    };
    struct devcom_control *c;
    int64_t value;

    reset_signals();
    EQUAL(devcom_control_create(d, NULL, list, 8, DEVCOM_BLOCK, &c), 0);
    EQUAL(devcom_control_start(c), 0);
    EQUAL(devcom_control_wait(c, 600L * SECOND, NULL), 0);
    EQUAL(devcom_signal_load(d, 0, &value), 0);
    EQUAL(value, 60);
    EQUAL(devcom_signal_load(d, 1, &value), 0);
    EQUAL(value, 10 + 2 * 11);
    devcom_control_destroy(c);
}

/* Rank 0 starts the programs of all ranks, twice, and is notified when they end. */
static void check_offer(void)
{
    struct devcom_put bad = {.segment = GRID, .remote_segment = OUT + 1, .shape = {.bytes = 8}, .rank = next};
    struct devcom_command wrong[] = {{.kind = DEVCOM_DO_PUT, .puts = &bad, .count = 1, .queue = 3}};
    struct devcom_control *c = ring_program((struct devcom_command){.kind = DEVCOM_DO_REPEAT, .count = 20}, 100),
                          *fails;
    unsigned done = DONE + (unsigned)rank;

    EQUAL(devcom_control_create(d, NULL, wrong, 1, DEVCOM_BLOCK, &fails), 0);
    reset_signals();
    EQUAL(devcom_control_offer(c, START, size, done), -EINVAL);
    EQUAL(devcom_control_offer(c, 1024, 0, done), -EINVAL);
    EQUAL(devcom_control_offer(c, START, 0, done), 0);
    EQUAL(devcom_control_offer(c, START, 0, done), -EBUSY);
    EQUAL(devcom_control_start(c), -EBUSY);
    EQUAL(devcom_control_offer(fails, START_WRONG, 0, DONE_WRONG + (unsigned)rank), 0);
    meet();
    for (int run = 1; run <= 2 && rank == 0; run++) {
        for (int r = 0; r < size; r++)
            EQUAL(devcom_signal_op(d, r, START, DEVCOM_SIGNAL_SET, 1, 0), 0);
        for (int r = 0; r < size; r++)
            EQUAL(devcom_signal_wait(d, DONE + (unsigned)r, DEVCOM_EQ, run, 600L * SECOND, NULL), 0);
        if (run == 1) { /* the programs' own signals start from 0 again */
            for (int r = 0; r < size; r++) {
                EQUAL(devcom_signal_op(d, r, ARRIVED, DEVCOM_SIGNAL_SET, 0, 0), 0);
                EQUAL(devcom_signal_op(d, r, TAKEN, DEVCOM_SIGNAL_SET, 0, 0), 0);
            }
            EQUAL(devcom_quiet(d, 0, 600L * SECOND), 0);
        }
    }
    if (rank == 0) {
        int64_t told;

        EQUAL(devcom_signal_op(d, next, START_WRONG, DEVCOM_SIGNAL_SET, 1, 0), 0);
        EQUAL(devcom_signal_wait(d, DONE_WRONG + (unsigned)next, DEVCOM_NE, 0, 600L * SECOND, &told), 0);
        EQUAL(told, -ENOENT);
    }
    meet();
    EQUAL(devcom_control_wait(c, 1000, NULL), -ETIMEDOUT);
    devcom_control_cancel(c);
    EQUAL(devcom_control_wait(c, 600L * SECOND, NULL), -ECANCELED);
    devcom_control_destroy(c);
    devcom_control_destroy(fails);
    meet();
}

/* Cancels a program that would wait forever, and one that would run forever. */
static void check_cancel(void)
{
    struct devcom_command waits[] = {{.kind = DEVCOM_DO_FINISH},
                                     {.kind = DEVCOM_DO_WAIT, .signal = NEVER, .condition = DEVCOM_NE, .value = 0}};
    struct devcom_command turns[] = {{.kind = DEVCOM_DO_REPEAT},
                                     {.kind = DEVCOM_DO_LAUNCH, .kernel = fill, .dimensions = 1, .global = {64}},
                                     {.kind = DEVCOM_DO_END}};
    struct devcom_control *c;
    unsigned at;

    for (int i = 0; i < 2; i++) {
        EQUAL(i ? devcom_control_create(d, device.commands, turns, 3, DEVCOM_BLOCK, &c)
                : devcom_control_create(d, device.commands, waits, 2, DEVCOM_BLOCK, &c),
              0);
        for (int again = 0; again < 3; again++) {
            EQUAL(devcom_control_start(c), 0);
            EQUAL(devcom_control_wait(c, 5000, &at), -ETIMEDOUT);
            devcom_control_cancel(c);
            EQUAL(devcom_control_wait(c, 600L * SECOND, &at), -ECANCELED);
            EXPECT(i || at <= 1);
        }
        EQUAL(devcom_control_start(c), 0);
        devcom_control_destroy(c); /* while it runs */
    }
    EQUAL(devcom_control_create(d, device.commands, waits, 2, 3000, &c), 0);
    EQUAL(devcom_control_start(c), 0);
    EQUAL(devcom_control_wait(c, 600L * SECOND, &at), -ETIME);
    EQUAL(at, 1);
    devcom_control_destroy(c);
}

static int create(cl_command_queue commands, const struct devcom_command *list, unsigned count)
{
    struct devcom_control *c;
    int error = devcom_control_create(d, commands, list, count, DEVCOM_BLOCK, &c);

    if (!error)
        devcom_control_destroy(c);
    return error;
}

static void check_misuse(void)
{
    cl_uint value = 0;
    struct devcom_argument argument = {1, sizeof(value), &value, 0}, odd = {1, 3, &value, 1}, none = {1, 4, NULL, 1};
    struct devcom_put put = {.rank = size, .signal = 0, .op = DEVCOM_SIGNAL_SET, .value = 1},
                      outside = {.segment = GRID,
                                 .offset = BYTES,
                                 .remote_segment = GRID,
                                 .shape = {.bytes = 8},
                                 .rank = next};
    struct devcom_command launch = {.kind = DEVCOM_DO_LAUNCH,
                                    .kernel = fill,
                                    .dimensions = 1,
                                    .global = {WORDS},
                                    .arguments = &argument,
                                    .count = 1};
    struct devcom_command loop[] = {
        {.kind = DEVCOM_DO_REPEAT, .count = 1}, {.kind = DEVCOM_DO_FINISH}, {.kind = DEVCOM_DO_END}};
    struct devcom_command deep[20], one;
    struct devcom_control *c;
    unsigned at;

    EQUAL(create(device.commands, &launch, 1), 0);
    EQUAL(create(NULL, &launch, 1), -EINVAL);
    EQUAL(create(device.commands, &launch, 0), -EINVAL);
    one = launch, one.kernel = NULL;
    EQUAL(create(device.commands, &one, 1), -EINVAL);
    one = launch, one.dimensions = 4;
    EQUAL(create(device.commands, &one, 1), -EINVAL);
    one = launch, one.arguments = &odd;
    EQUAL(create(device.commands, &one, 1), -EINVAL);
    one = launch, one.arguments = &none;
    EQUAL(create(device.commands, &one, 1), -EINVAL);
    EQUAL(create(NULL, loop, 3), 0);
    EQUAL(create(NULL, loop, 2), -EINVAL);
    EQUAL(create(NULL, loop + 1, 2), -EINVAL);
    for (int i = 0; i < 20; i++)
        deep[i] = (struct devcom_command){i < 10 ? DEVCOM_DO_REPEAT : DEVCOM_DO_END, .count = 1};
    EQUAL(create(NULL, deep, 20), -EINVAL);
    EQUAL(create(NULL, deep + 2, 16), 0);
    one = (struct devcom_command){.kind = DEVCOM_DO_END + 1};
    EQUAL(create(NULL, &one, 1), -EINVAL);
    one = (struct devcom_command){.kind = DEVCOM_DO_WAIT, .signal = 1024};
    EQUAL(create(NULL, &one, 1), -EINVAL);
    one = (struct devcom_command){.kind = DEVCOM_DO_PUT, .puts = &put, .count = 1};
    EQUAL(create(NULL, &one, 1), -EINVAL);
    one = (struct devcom_command){.kind = DEVCOM_DO_QUIET, .queue = 4};
    EQUAL(create(NULL, &one, 1), -EINVAL);
    one = (struct devcom_command){.kind = DEVCOM_DO_PUT, .puts = &outside, .count = 1};
    EQUAL(devcom_control_create(d, NULL, &one, 1, DEVCOM_BLOCK, &c), 0);
    EQUAL(devcom_control_start(c), 0);
    EQUAL(devcom_control_wait(c, 600L * SECOND, &at), -ERANGE);
    EQUAL(at, 0);
    devcom_control_destroy(c);
    meet();
}

/* Waits until the segments of another rank, which a loss has ended, are gone. */
static void outlast(int other)
{
    int error = 0;

    while (!error) {
        error = devcom_write(d, GRID, 0, other, GRID, 0, 8, 0);
        error = error ? error : devcom_quiet(d, 0, 600L * SECOND);
    }
    EXPECT(error == -ENOENT || error == -ECONNRESET);
}

/*
 * Rank 2 is killed while all programs run. They end with an error, and so do the waits for them. late: rank 0 starts
 * its program when the others have ended.
 */
static int survive_loss(bool late)
{
    struct devcom_control *c = ring_program((struct devcom_command){.kind = DEVCOM_DO_REPEAT}, 1);

    reset_signals();
    if (late && rank == 0)
        outlast(1);
    EQUAL(devcom_control_start(c), 0);
    if (rank == 2) {
        if (!late)
            EQUAL(devcom_signal_wait(d, ARRIVED, DEVCOM_GE, 20, 600L * SECOND, NULL), 0);
        kill(getpid(), SIGKILL);
    }
    EQUAL(devcom_control_wait(c, 600L * SECOND, NULL), -ECONNRESET);
    devcom_control_destroy(c);
    EQUAL(devcom_finalize(d), -ECONNRESET);
    printf("rank %d survives\n", rank);
    fflush(stdout);
    _exit(0); /* MPI_Finalize() fails when a rank is missing */
}

int main(int count, char **words)
{
    struct devcom_memory memory = {.bytes = BYTES};
    size_t from = GOT;
    cl_mem got;
    cl_int status;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    device = xtqtest_device();
    fill = xtqtest_kernel(&device, source, "fill");
    add = xtqtest_kernel(&device, source, "add");
    EQUAL(devcom_init(MPI_COMM_WORLD, NULL, &d), 0);
    rank = devcom_rank(d);
    size = devcom_size(d);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    memory.context = device.context;
    memory.device = device.device;
    memory.commands = device.commands;
    EQUAL(devcom_segment_create(d, GRID, &memory), 0);
    EQUAL(devcom_segment_buffer(d, GRID, &grid), 0);
    got = clCreateSubBuffer(grid, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                            &(cl_buffer_region){from, BYTES - from}, &status);
    EQUAL(status, CL_SUCCESS);
    sums = clCreateBuffer(device.context, CL_MEM_READ_WRITE, WORDS * 8, NULL, &status);
    EQUAL(status, CL_SUCCESS);
    EQUAL(clSetKernelArg(fill, 0, sizeof(grid), &grid), CL_SUCCESS);
    EQUAL(clSetKernelArg(fill, 1, sizeof(cl_uint), &(cl_uint){0}), CL_SUCCESS);
    EQUAL(clSetKernelArg(add, 0, sizeof(sums), &sums), CL_SUCCESS);
    EQUAL(clSetKernelArg(add, 1, sizeof(got), &got), CL_SUCCESS);
    if (count > 1)
        return survive_loss(!strcmp(words[1], "late"));
    check_count();
    check_until();
    check_loops();
    check_offer();
    check_cancel();
    check_misuse();
    clReleaseMemObject(got);
    EQUAL(devcom_finalize(d), 0);
    clReleaseMemObject(sums);
    clReleaseKernel(fill);
    clReleaseKernel(add);
    xtqtest_device_close(&device);
    MPI_Finalize();
    return 0;
}
