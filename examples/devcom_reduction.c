/*
 * The global reduction of section 6.9.2 of the dissertation: each device adds up its part of an array, an allreduce of
 * that one value follows, and all devices get the result, which enters the next step. devcom_app.h has the forms.
 *
 *     mpiexec -n 2 devcom_reduction [--values 16384]    64-bit values of each rank
 *
 *     mpi              value read from the device, MPI_Allreduce, result written to it
 *     hybrid           devcom_allreduce() on device memory
 *     stream, control, kernel
 *                      the value is put to every rank, and each adds up the values of all
 *     ggas             devcom_ggas_allreduce() in the kernel
 */
#include "devcom_app.h"

/* The segment: the value, which is the result after an allreduce, and the values of all ranks, alternately in two
 * places. */
enum { PARTS = 64, MOST_RANKS = 64 };

#define global
APP_BOTH(
    part_text, static ulong reduction_part(global const ulong *values, ulong count, ulong before) {
        ulong sum = 0;

        for (ulong i = 0; i < count; i++)
            sum += (values[i] ^ before) >> 3;
        return sum;
    })
#undef global

static const char kernel_text[] =
    "ulong reduction_total(global const ulong *parts, ulong count)\n"
    "{\n"
    "    ulong sum = 0;\n"
    "    for (ulong i = 0; i < count; i++)\n"
    "        sum += parts[i];\n"
    "    return sum;\n"
    "}\n"
    /* each work-item adds up a part; result: of the previous step */
    "kernel void add_parts(global const ulong *values, global ulong *parts, ulong per, global const ulong *result)\n"
    "{\n"
    "    ulong i = get_global_id(0);\n"
    "    parts[i] = reduction_part(values + i * per, per, *result);\n"
    "}\n"
    "kernel void add_up(global const ulong *parts, uint count, global ulong *segment, uint to)\n"
    "{\n"
    "    segment[to] = reduction_total(parts, count);\n"
    "}\n"
    /* after the exchange: adds up the values that all ranks have put in this step */
    "kernel void add_ranks(global ulong *segment, uint size, uint from)\n"
    "{\n"
    "    segment[0] = reduction_total(segment + from, size);\n"
    "}\n"
    "kernel void all_steps(global struct devcom_device *d, global const ulong *values, ulong count, uint steps,\n"
    "                      uint most)\n"
    "{\n"
    "    global ulong *segment = (global ulong *)devcom_ptr(d, d->rank, 0);\n"
    "    for (uint step = 0; step < steps; step++) {\n"
    "        uint turn = 1 + step % 2 * most;\n"
    "        segment[turn + d->rank] = reduction_part(values, count, segment[0]);\n"
    "        for (uint i = 1; i < d->size; i++)\n"
    "            devcom_write_notify(d, 0, (turn + d->rank) * 8, (d->rank + i) % d->size, 0,\n"
    "                                (turn + d->rank) * 8, 8, d->rank, DEVCOM_SIGNAL_SET, step + 1, 0);\n"
    "        for (uint i = 1; i < d->size; i++)\n"
    "            devcom_signal_wait(d, (d->rank + i) % d->size, DEVCOM_GE, step + 1);\n"
    "        segment[0] = reduction_total(segment + turn, d->size);\n"
    "    }\n"
    "}\n"
    "kernel void all_steps_ggas(global struct devcom_device *d, global const ulong *values, ulong count, uint steps)\n"
    "{\n"
    "    global ulong *segment = (global ulong *)devcom_ptr(d, d->rank, 0);\n"
    "    for (uint step = 0; step < steps; step++) {\n"
    "        segment[0] = reduction_part(values, count, segment[0]);\n"
    "        devcom_ggas_allreduce(d, 0, 0, 1, DEVCOM_UINT64, DEVCOM_SUM);\n"
    "    }\n"
    "}\n";

static unsigned values_each = 16384;
static const cl_uint most_ranks = MOST_RANKS;
static cl_ulong count; /* of this rank's values */
static cl_mem values, parts, buffer;
static uint64_t *segment;
static cl_kernel add_parts, add_up, add_ranks;

static uint64_t first_value(uint64_t i)
{
    return app_mix(i, 1);
}

/* Returns the offset of the values that the ranks put in a step, in words. */
static cl_uint turn_at(unsigned step)
{
    return 1 + step % 2 * MOST_RANKS;
}

/* Stores this rank's sum into a word of the segment. */
static void enqueue_sum(cl_uint to)
{
    static const size_t items = PARTS, one = 1;

    app_launch(add_parts, 1, &items);
    app_argument(add_up, 3, sizeof(to), &to);
    app_launch(add_up, 1, &one);
}

/* ---- the forms ---- */

static void run_mpi(void)
{
    for (unsigned step = 0; step < app.steps; step++) {
        uint64_t mine, all;

        enqueue_sum(0);
        app_check(clEnqueueReadBuffer(app.queue, buffer, CL_TRUE, 0, sizeof(mine), &mine, 0, NULL, NULL), "read");
        MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        app_check(clEnqueueWriteBuffer(app.queue, buffer, CL_TRUE, 0, sizeof(all), &all, 0, NULL, NULL), "write");
    }
}

static void run_hybrid(void)
{
    for (unsigned step = 0; step < app.steps; step++) {
        enqueue_sum(0);
        app_finish();
        app_check(devcom_allreduce(app.d, APP_SEGMENT, 0, 1, DEVCOM_UINT64, DEVCOM_SUM, DEVCOM_AUTO, DEVCOM_BLOCK),
                  "allreduce");
    }
}

/* Puts to all others; signal r comes from rank r. */
static unsigned step_puts(unsigned step, struct devcom_put *puts)
{
    size_t at = (turn_at(step) + (unsigned)app.rank) * sizeof(uint64_t);
    unsigned number = 0;

    for (int i = 1; i < app.size; i++)
        puts[number++] = (struct devcom_put){.segment = APP_SEGMENT,
                                             .remote_segment = APP_SEGMENT,
                                             .offset = at,
                                             .remote_offset = at,
                                             .shape = {.bytes = sizeof(uint64_t)},
                                             .rank = (app.rank + i) % app.size,
                                             .signal = (unsigned)app.rank,
                                             .op = DEVCOM_SIGNAL_SET,
                                             .value = step + 1};
    return number;
}

static void run_stream(void)
{
    static const size_t one = 1;

    for (unsigned step = 0; step < app.steps; step++) {
        struct devcom_put puts[MOST_RANKS];
        unsigned number = step_puts(step, puts);
        cl_uint turn = turn_at(step);

        enqueue_sum(turn + (unsigned)app.rank);
        if (number)
            app_check(devcom_enqueue_put(app.endpoint, app.queue, puts, number, 0, NULL), "put");
        for (int i = 1; i < app.size; i++)
            app_check(devcom_enqueue_wait(app.endpoint, app.queue, (unsigned)((app.rank + i) % app.size), DEVCOM_GE,
                                          step + 1, NULL),
                      "wait");
        app_argument(add_ranks, 2, sizeof(turn), &turn);
        app_launch(add_ranks, 1, &one);
    }
    app_finish();
}

static void control_step(unsigned step)
{
    static const size_t items = PARTS, one = 1;
    struct devcom_put puts[MOST_RANKS];
    cl_uint turn = turn_at(step), to = turn + (unsigned)app.rank;

    app_do_launch(add_parts, 1, &items, NULL, 0);
    app_do_launch(add_up, 1, &one, &(struct devcom_argument){3, sizeof(to), &to, 0}, 1);
    app_do_finish();
    app_do_puts(puts, step_puts(step, puts));
    for (int i = 1; i < app.size; i++)
        app_do_wait((unsigned)((app.rank + i) % app.size), step + 1);
    app_do_launch(add_ranks, 1, &one, &(struct devcom_argument){2, sizeof(turn), &turn, 0}, 1);
}

static void run_control(void)
{
    app_run_control(control_step);
}

static const struct devcom_argument group_arguments[] = {{1, sizeof(values), &values, 0},
                                                         {2, sizeof(count), &count, 0},
                                                         {3, sizeof(app.steps), &app.steps, 0},
                                                         {4, sizeof(most_ranks), &most_ranks, 0}};

static void run_kernel(void)
{
    app_run_group("all_steps", group_arguments, 4);
}

static void run_ggas(void)
{
    app_run_group("all_steps_ggas", group_arguments, 3);
}

/* ---- the problem ---- */

static void fill(void)
{
    memset(segment, 0, (1 + 2 * MOST_RANKS) * sizeof(*segment));
}

/* All ranks have the result. */
static uint64_t sum(void)
{
    return app_mix((uint64_t)app.rank, segment[0]);
}

static uint64_t serial(void)
{
    size_t whole = (size_t)app.size * count;
    uint64_t *all = malloc(whole * sizeof(*all)), result = 0, expected = 0;

    app_check(!all, "memory");
    for (size_t i = 0; i < whole; i++)
        all[i] = first_value(i);
    for (unsigned step = 0; step < app.steps; step++)
        result = reduction_part(all, whole, result);
    for (int r = 0; r < app.size; r++)
        expected += app_mix((uint64_t)r, result);
    free(all);
    return expected;
}

static void open_values(void)
{
    uint64_t *mine = malloc(values_each * sizeof(*mine));
    cl_ulong per = values_each / PARTS;
    cl_uint parts_here = PARTS, ranks = (cl_uint)app.size;
    void *at;

    count = values_each;
    app_check(!mine || app.size > MOST_RANKS || values_each % PARTS != 0, "--values");
    for (size_t i = 0; i < values_each; i++)
        mine[i] = first_value((size_t)app.rank * values_each + i);
    values = app_buffer(values_each * sizeof(*mine), mine);
    parts = app_buffer(PARTS * sizeof(*mine), NULL);
    free(mine);
    buffer = app_segment((1 + 2 * MOST_RANKS) * sizeof(*segment), &at);
    segment = at;
    app_program((const char *const[]){part_text, kernel_text, NULL});
    add_parts = app_kernel("add_parts");
    app_argument(add_parts, 0, sizeof(values), &values);
    app_argument(add_parts, 1, sizeof(parts), &parts);
    app_argument(add_parts, 2, sizeof(per), &per);
    app_argument(add_parts, 3, sizeof(buffer), &buffer);
    add_up = app_kernel("add_up");
    app_argument(add_up, 0, sizeof(parts), &parts);
    app_argument(add_up, 1, sizeof(parts_here), &parts_here);
    app_argument(add_up, 2, sizeof(buffer), &buffer);
    add_ranks = app_kernel("add_ranks");
    app_argument(add_ranks, 0, sizeof(buffer), &buffer);
    app_argument(add_ranks, 1, sizeof(ranks), &ranks);
}

int main(int number, char **words)
{
    static const struct app_option options[] = {{"--values", &values_each}, {0}};
    static const struct app_form forms[] = {{"mpi", run_mpi, false},       {"hybrid", run_hybrid, false},
                                            {"stream", run_stream, false}, {"control", run_control, false},
                                            {"kernel", run_kernel, false}, {"ggas", run_ggas, true}};
    static const struct app_problem problem = {"reduction", MOST_RANKS, 1, fill, sum, serial};

    app_open(number, words, options);
    open_values();
    app_run(&problem, forms, sizeof(forms) / sizeof(*forms));
    clReleaseKernel(add_parts);
    clReleaseKernel(add_up);
    clReleaseKernel(add_ranks);
    clReleaseMemObject(values);
    clReleaseMemObject(parts);
    app_close();
    return 0;
}
