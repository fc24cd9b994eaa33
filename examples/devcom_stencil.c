/*
 * A five-point stencil on a grid that is divided by rows among the ranks, and closed to a ring: each step exchanges one
 * row of floats with either neighbour. devcom_app.h has the forms.
 *
 *     mpiexec -n 2 devcom_stencil [--rows 64] [--columns 256]    rows of each rank
 */
#include "devcom_app.h"

enum { FROM_ABOVE, FROM_BELOW, SIGNALS };

#define global
APP_BOTH(
    cell_text, static float stencil_cell(global const float *g, ulong i, ulong columns, ulong x) {
        float left = x ? g[i - 1] : g[i + columns - 1], right = x + 1 < columns ? g[i + 1] : g[i - x];
        return 0.25f * ((g[i - columns] + g[i + columns]) + (left + right)) * 0.9f + 0.1f * g[i];
    })
#undef global

static const char kernel_text[] =
    "kernel void one_step(global float *grids, ulong rows, ulong columns, uint step)\n"
    "{\n"
    "    ulong size = (rows + 2) * columns, i = (get_global_id(1) + 1) * columns + get_global_id(0);\n"
    "    grids[(step + 1) % 2 * size + i] = stencil_cell(grids + step % 2 * size, i, columns, get_global_id(0));\n"
    "}\n"
    "void compute(global float *to, global const float *from, ulong rows, ulong columns, ulong item, ulong items)\n"
    "{\n"
    "    for (ulong y = 1; y <= rows; y++)\n"
    "        for (ulong x = item; x < columns; x += items)\n"
    "            to[y * columns + x] = stencil_cell(from, y * columns + x, columns, x);\n"
    "}\n"
    "kernel void all_steps(global struct devcom_device *d, ulong rows, ulong columns, uint steps)\n"
    "{\n"
    "    ulong size = (rows + 2) * columns, row = columns * 4, item = get_local_id(0), items = get_local_size(0);\n"
    "    uint above = (d->rank + d->size - 1) % d->size, below = (d->rank + 1) % d->size;\n"
    "    global float *grids = (global float *)devcom_ptr(d, d->rank, 0);\n"
    "    for (uint step = 0; step < steps; step++) {\n"
    "        ulong to = (step + 1) % 2 * size;\n"
    "        compute(grids + to, grids + step % 2 * size, rows, columns, item, items);\n"
    "        devcom_write_notify(d, 0, to * 4 + row, above, 0, to * 4 + (rows + 1) * row, row, 1,\n"
    "                            DEVCOM_SIGNAL_SET, step + 1, 0);\n"
    "        devcom_write_notify(d, 0, to * 4 + rows * row, below, 0, to * 4, row, 0, DEVCOM_SIGNAL_SET,\n"
    "                            step + 1, 1);\n"
    "        devcom_signal_wait(d, 0, DEVCOM_GE, step + 1);\n"
    "        devcom_signal_wait(d, 1, DEVCOM_GE, step + 1);\n"
    "    }\n"
    "}\n"
    "kernel void all_steps_ggas(global struct devcom_device *d, ulong rows, ulong columns, uint steps)\n"
    "{\n"
    "    ulong size = (rows + 2) * columns, item = get_local_id(0), items = get_local_size(0);\n"
    "    global float *mine = (global float *)devcom_ptr(d, d->rank, 0);\n"
    "    global float *above = (global float *)devcom_ptr(d, (d->rank + d->size - 1) % d->size, 0);\n"
    "    global float *below = (global float *)devcom_ptr(d, (d->rank + 1) % d->size, 0);\n"
    "    for (uint step = 0; step < steps; step++) {\n"
    "        ulong to = (step + 1) % 2 * size;\n"
    "        compute(mine + to, mine + step % 2 * size, rows, columns, item, items);\n"
    "        barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "        for (ulong x = item; x < columns; x += items) {\n"
    "            above[to + (rows + 1) * columns + x] = mine[to + columns + x];\n"
    "            below[to + x] = mine[to + rows * columns + x];\n"
    "        }\n"
    "        devcom_ggas_barrier(d);\n"
    "    }\n"
    "}\n";

static unsigned rows_each = 64, columns_all = 256;
static cl_ulong rows, columns;
static cl_mem buffer; /* both grids, each with a row of a neighbour at either end */
static float *grids;
static cl_kernel one_step;

static size_t grid_cells(void)
{
    return (rows + 2) * columns;
}

/* Returns the offset in the segment of a row of the grid that a step makes. */
static size_t row_at(unsigned step, cl_ulong row)
{
    return ((step + 1) % 2 * grid_cells() + row * columns) * sizeof(float);
}

static int above(void)
{
    return (app.rank + app.size - 1) % app.size;
}

static int below(void)
{
    return (app.rank + 1) % app.size;
}

static void enqueue_step(unsigned step)
{
    size_t global[2] = {columns, rows};

    app_argument(one_step, 3, sizeof(step), &step);
    app_launch(one_step, 2, global);
}

/* ---- the forms ---- */

static void exchange_by_mpi(unsigned step, cl_ulong from, int to_rank, cl_ulong to, int from_rank, float *out,
                            float *in)
{
    size_t bytes = columns * sizeof(float);

    app_check(clEnqueueReadBuffer(app.queue, buffer, CL_TRUE, row_at(step, from), bytes, out, 0, NULL, NULL), "read");
    MPI_Sendrecv(out, (int)columns, MPI_FLOAT, to_rank, 0, in, (int)columns, MPI_FLOAT, from_rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    app_check(clEnqueueWriteBuffer(app.queue, buffer, CL_TRUE, row_at(step, to), bytes, in, 0, NULL, NULL), "write");
}

static void run_mpi(void)
{
    float *out = malloc(columns * sizeof(float)), *in = malloc(columns * sizeof(float));

    for (unsigned step = 0; step < app.steps; step++) {
        enqueue_step(step);
        exchange_by_mpi(step, 1, above(), rows + 1, below(), out, in);
        exchange_by_mpi(step, rows, below(), 0, above(), out, in);
    }
    free(out);
    free(in);
}

static void two_puts(unsigned step, struct devcom_put puts[2])
{
    puts[0] = (struct devcom_put){.segment = APP_SEGMENT,
                                  .remote_segment = APP_SEGMENT,
                                  .offset = row_at(step, 1),
                                  .remote_offset = row_at(step, rows + 1),
                                  .shape = {.bytes = columns * sizeof(float)},
                                  .rank = above(),
                                  .signal = FROM_BELOW,
                                  .op = DEVCOM_SIGNAL_SET,
                                  .value = step + 1};
    puts[1] = puts[0];
    puts[1].offset = row_at(step, rows);
    puts[1].remote_offset = row_at(step, 0);
    puts[1].rank = below();
    puts[1].signal = FROM_ABOVE;
}

static void run_hybrid(void)
{
    for (unsigned step = 0; step < app.steps; step++) {
        struct devcom_put puts[2];

        enqueue_step(step);
        app_finish();
        two_puts(step, puts);
        app_check(devcom_put(app.d, puts, 2, 0, NULL), "put");
        for (unsigned signal = 0; signal < SIGNALS; signal++)
            app_check(devcom_signal_wait(app.d, signal, DEVCOM_GE, step + 1, DEVCOM_BLOCK, NULL), "wait");
    }
}

static void run_stream(void)
{
    for (unsigned step = 0; step < app.steps; step++) {
        struct devcom_put puts[2];

        enqueue_step(step);
        two_puts(step, puts);
        app_check(devcom_enqueue_put(app.endpoint, app.queue, puts, 2, 0, NULL), "put");
        for (unsigned signal = 0; signal < SIGNALS; signal++)
            app_check(devcom_enqueue_wait(app.endpoint, app.queue, signal, DEVCOM_GE, step + 1, NULL), "wait");
    }
    app_finish();
}

static void control_step(unsigned step)
{
    const struct devcom_argument argument = {3, sizeof(step), &step, 2};
    size_t global[2] = {columns, rows};
    struct devcom_put puts[2];

    two_puts(step, puts);
    app_do_launch(one_step, 2, global, &argument, 1);
    app_do_finish();
    app_do_puts(puts, 2);
    app_do_wait(FROM_ABOVE, step + 1);
    app_do_wait(FROM_BELOW, step + 1);
}

static void run_control(void)
{
    app_run_control(control_step);
}

static const struct devcom_argument group_arguments[] = {
    {1, sizeof(rows), &rows, 0}, {2, sizeof(columns), &columns, 0}, {3, sizeof(app.steps), &app.steps, 0}};

static void run_kernel(void)
{
    app_run_group("all_steps", group_arguments, 3);
}

static void run_ggas(void)
{
    app_run_group("all_steps_ggas", group_arguments, 3);
}

/* ---- the problem ---- */

static float first_value(cl_ulong row, cl_ulong x)
{
    return (float)((row * 131 + x * 71) % 1009) / 1009;
}

static cl_ulong whole(void)
{
    return rows * (cl_ulong)app.size;
}

static void fill(void)
{
    memset(grids, 0, 2 * grid_cells() * sizeof(float));
    for (cl_ulong y = 0; y < rows + 2; y++) {
        cl_ulong row = ((cl_ulong)app.rank * rows + y + whole() - 1) % whole();

        for (cl_ulong x = 0; x < columns; x++)
            grids[y * columns + x] = first_value(row, x);
    }
}

static uint64_t sum_rows(const float *g, cl_ulong from, cl_ulong count)
{
    uint64_t all = 0;

    for (size_t i = 0; i < count * columns; i++) {
        uint32_t word;

        memcpy(&word, &g[columns + i], sizeof(word));
        all += app_mix(from * columns + i, word);
    }
    return all;
}

static uint64_t sum(void)
{
    return sum_rows(grids + app.steps % 2 * grid_cells(), (cl_ulong)app.rank * rows, rows);
}

/* Computes the whole grid, with one more row at either end, as each rank has it. */
static uint64_t serial(void)
{
    size_t all = (whole() + 2) * columns;
    float *g = calloc(2 * all, sizeof(float));
    uint64_t result;

    app_check(!g, "memory");
    for (cl_ulong y = 0; y < whole() + 2; y++)
        for (cl_ulong x = 0; x < columns; x++)
            g[y * columns + x] = first_value((y + whole() - 1) % whole(), x);
    for (unsigned step = 0; step < app.steps; step++) {
        float *from = g + step % 2 * all, *to = g + (step + 1) % 2 * all;

        for (size_t i = columns; i < (whole() + 1) * columns; i++)
            to[i] = stencil_cell(from, i, columns, i % columns);
        memcpy(to, to + whole() * columns, columns * sizeof(float));
        memcpy(to + (whole() + 1) * columns, to + columns, columns * sizeof(float));
    }
    result = sum_rows(g + app.steps % 2 * all, 0, whole());
    free(g);
    return result;
}

static void open_grids(void)
{
    void *at;

    rows = rows_each;
    columns = columns_all;
    buffer = app_segment(2 * grid_cells() * sizeof(float), &at);
    grids = at;
    app_program((const char *const[]){"#pragma OPENCL FP_CONTRACT OFF\n", cell_text, kernel_text, NULL});
    one_step = app_kernel("one_step");
    app_argument(one_step, 0, sizeof(buffer), &buffer);
    app_argument(one_step, 1, sizeof(rows), &rows);
    app_argument(one_step, 2, sizeof(columns), &columns);
}

int main(int count, char **words)
{
    static const struct app_option options[] = {{"--rows", &rows_each}, {"--columns", &columns_all}, {0}};
    static const struct app_form forms[] = {{"mpi", run_mpi, false},       {"hybrid", run_hybrid, false},
                                            {"stream", run_stream, false}, {"control", run_control, false},
                                            {"kernel", run_kernel, false}, {"ggas", run_ggas, true}};
    static const struct app_problem problem = {"stencil", SIGNALS, 0, fill, sum, serial};

    app_open(count, words, options);
    open_grids();
    app_run(&problem, forms, sizeof(forms) / sizeof(*forms));
    clReleaseKernel(one_step);
    app_close();
    return 0;
}
