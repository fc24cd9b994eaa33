/*
 * The Himeno benchmark (RIKEN): Jacobi's method with 19 points for a Poisson equation in three dimensions; planes of
 * the grid are divided among the ranks, and each step exchanges one plane of floats with either neighbour
 * (sections 4.5, 5.8 and 6.9.1 of the dissertation). devcom_app.h has the forms.
 *
 *     mpiexec -n 2 devcom_himeno [--planes 32] [--rows 64] [--columns 96]    planes of each rank (weak scaling)
 *     mpiexec -n 2 devcom_himeno --total 96 ...                              planes of all ranks (strong scaling)
 */
#include "devcom_app.h"

enum { FROM_ABOVE, FROM_BELOW, SIGNALS, COEFFICIENTS = 12, OPERATIONS = 34 };

/* c has for each cell of a grid: four a, three b, three c, the source, and the boundary. */
#define global
APP_BOTH(
    row_text,
    static void himeno_row(global float *restrict to, global const float *restrict p, global const float *restrict c,
                           ulong cells, ulong row, ulong columns, ulong plane) {
        for (ulong i = row + 1; i < row + columns - 1; i++) {
            float s0 = c[i] * p[i + plane] + c[cells + i] * p[i + columns] + c[2 * cells + i] * p[i + 1];
            float ss;

            s0 += c[4 * cells + i] *
                  (p[i + plane + columns] - p[i + plane - columns] - p[i - plane + columns] + p[i - plane - columns]);
            s0 +=
                c[5 * cells + i] * (p[i + columns + 1] - p[i - columns + 1] - p[i + columns - 1] + p[i - columns - 1]);
            s0 += c[6 * cells + i] * (p[i + plane + 1] - p[i - plane + 1] - p[i + plane - 1] + p[i - plane - 1]);
            s0 += c[7 * cells + i] * p[i - plane] + c[8 * cells + i] * p[i - columns] + c[9 * cells + i] * p[i - 1];
            s0 += c[10 * cells + i];
            ss = (s0 * c[3 * cells + i] - p[i]) * c[11 * cells + i];
            to[i] = p[i] + 0.8f * ss;
        }
    })
#undef global

static const char kernel_text[] =
    "kernel void one_step(global float *grids, global const float *c, ulong cells, ulong rows, ulong columns, uint "
    "step)\n"
    "{\n"
    "    ulong plane = rows * columns, row = (get_global_id(1) + 1) * plane + (get_global_id(0) + 1) * columns;\n"
    "    himeno_row(grids + (step + 1) % 2 * cells, grids + step % 2 * cells, c, cells, row, columns, plane);\n"
    "}\n"
    /* the rows at both ends are also stored into the neighbours' grids; planes_above: of the rank above */
    "kernel void one_step_ggas(global struct devcom_device *d, global const float *c, ulong cells, ulong rows,\n"
    "                          ulong columns, uint step, ulong planes, ulong planes_above)\n"
    "{\n"
    "    ulong plane = rows * columns, y = (get_global_id(0) + 1) * columns, z = get_global_id(1) + 1;\n"
    "    ulong to = (step + 1) % 2 * cells;\n"
    "    global float *grids = (global float *)devcom_ptr(d, d->rank, 0);\n"
    "    himeno_row(grids + to, grids + step % 2 * cells, c, cells, z * plane + y, columns, plane);\n"
    "    if (z == 1 && d->rank > 0) {\n"
    "        global float *above = (global float *)devcom_ptr(d, d->rank - 1, 0) + to + (planes_above + 1) * plane + "
    "y;\n"
    "        for (ulong x = 0; x < columns; x++)\n"
    "            above[x] = grids[to + plane + y + x];\n"
    "    }\n"
    "    if (z == planes && d->rank + 1 < d->size) {\n"
    "        global float *below = (global float *)devcom_ptr(d, d->rank + 1, 0) + to + y;\n"
    "        for (ulong x = 0; x < columns; x++)\n"
    "            below[x] = grids[to + planes * plane + y + x];\n"
    "    }\n"
    "    devcom_ggas_barrier_at_end(d);\n"
    "}\n"
    /* At an end of the grid, puts of no bytes go to this rank itself, since calls with barriers may not be in
     * branches. */
    "kernel void all_steps(global struct devcom_device *d, global const float *c, ulong cells, ulong rows,\n"
    "                      ulong columns, uint steps, ulong planes, ulong planes_above)\n"
    "{\n"
    "    ulong plane = rows * columns, bytes = plane * 4;\n"
    "    uint has_above = d->rank > 0, has_below = d->rank + 1 < d->size;\n"
    "    uint above = d->rank - has_above, below = d->rank + has_below;\n"
    "    global float *grids = (global float *)devcom_ptr(d, d->rank, 0);\n"
    "    for (uint step = 0; step < steps; step++) {\n"
    "        ulong to = (step + 1) % 2 * cells;\n"
    "        for (ulong z = 1; z <= planes; z++)\n"
    "            for (ulong y = 1 + get_local_id(0); y < rows - 1; y += get_local_size(0))\n"
    "                himeno_row(grids + to, grids + step % 2 * cells, c, cells, z * plane + y * columns, columns, "
    "plane);\n"
    "        devcom_write_notify(d, 0, (to + plane) * 4, above, 0, (to + (planes_above + 1) * plane) * 4,\n"
    "                            has_above * bytes, 1, has_above * DEVCOM_SIGNAL_SET, step + 1, 0);\n"
    "        devcom_write_notify(d, 0, (to + planes * plane) * 4, below, 0, to * 4, has_below * bytes, 0,\n"
    "                            has_below * DEVCOM_SIGNAL_SET, step + 1, 1);\n"
    "        devcom_signal_wait(d, 0, DEVCOM_GE, has_above * (step + 1));\n"
    "        devcom_signal_wait(d, 1, DEVCOM_GE, has_below * (step + 1));\n"
    "    }\n"
    "}\n";

static unsigned planes_each = 32, total, rows_all = 64, columns_all = 96;
static cl_ulong rows, columns, cells;        /* cells: of a grid, with a plane at either end */
static cl_ulong planes, planes_above, first; /* of this rank; of the one above; the plane above this rank's first */
static size_t plane;
static cl_mem buffer, coefficients;
static float *grids;
static cl_kernel one_step;

static cl_ulong planes_of(int rank)
{
    return total / (unsigned)app.size + ((unsigned)rank < total % (unsigned)app.size);
}

/* Returns the offset in the segment of a plane of the grid that a step makes. */
static size_t plane_at(unsigned step, cl_ulong z)
{
    return ((step + 1) % 2 * cells + z * plane) * sizeof(float);
}

static bool has_above(void)
{
    return app.rank > 0;
}

static bool has_below(void)
{
    return app.rank + 1 < app.size;
}

/* ---- the forms ---- */

static void enqueue_step(cl_kernel kernel, unsigned step)
{
    size_t global[2] = {rows - 2, planes};

    app_argument(kernel, 5, sizeof(step), &step);
    app_launch(kernel, 2, global);
}

static void enqueue_plane(bool read, unsigned step, cl_ulong z, float *host)
{
    size_t bytes = plane * sizeof(float);

    app_check(read ? clEnqueueReadBuffer(app.queue, buffer, CL_FALSE, plane_at(step, z), bytes, host, 0, NULL, NULL)
                   : clEnqueueWriteBuffer(app.queue, buffer, CL_FALSE, plane_at(step, z), bytes, host, 0, NULL, NULL),
              "copy");
}

static void run_mpi(void)
{
    int above = has_above() ? app.rank - 1 : MPI_PROC_NULL, below = has_below() ? app.rank + 1 : MPI_PROC_NULL;
    float *host = malloc(4 * plane * sizeof(float)), *first_plane = host, *last_plane = host + plane;
    float *from_above = host + 2 * plane, *from_below = host + 3 * plane;

    app_check(!host, "memory");
    for (unsigned step = 0; step < app.steps; step++) {
        enqueue_step(one_step, step);
        if (has_above())
            enqueue_plane(true, step, 1, first_plane);
        if (has_below())
            enqueue_plane(true, step, planes, last_plane);
        app_finish();
        MPI_Sendrecv(first_plane, (int)plane, MPI_FLOAT, above, 0, from_below, (int)plane, MPI_FLOAT, below, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(last_plane, (int)plane, MPI_FLOAT, below, 0, from_above, (int)plane, MPI_FLOAT, above, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (has_above())
            enqueue_plane(false, step, 0, from_above);
        if (has_below())
            enqueue_plane(false, step, planes + 1, from_below);
    }
    app_finish();
    free(host);
}

static unsigned step_puts(unsigned step, struct devcom_put puts[2])
{
    struct devcom_put put = {.segment = APP_SEGMENT,
                             .remote_segment = APP_SEGMENT,
                             .shape = {.bytes = plane * sizeof(float)},
                             .op = DEVCOM_SIGNAL_SET,
                             .value = step + 1};
    unsigned count = 0;

    if (has_above()) {
        put.offset = plane_at(step, 1);
        put.remote_offset = plane_at(step, planes_above + 1);
        put.rank = app.rank - 1;
        put.signal = FROM_BELOW;
        puts[count++] = put;
    }
    if (has_below()) {
        put.offset = plane_at(step, planes);
        put.remote_offset = plane_at(step, 0);
        put.rank = app.rank + 1;
        put.signal = FROM_ABOVE;
        puts[count++] = put;
    }
    return count;
}

static void run_hybrid(void)
{
    for (unsigned step = 0; step < app.steps; step++) {
        struct devcom_put puts[2];

        enqueue_step(one_step, step);
        app_finish();
        app_check(devcom_put(app.d, puts, step_puts(step, puts), 0, NULL), "put");
        if (has_above())
            app_check(devcom_signal_wait(app.d, FROM_ABOVE, DEVCOM_GE, step + 1, DEVCOM_BLOCK, NULL), "wait");
        if (has_below())
            app_check(devcom_signal_wait(app.d, FROM_BELOW, DEVCOM_GE, step + 1, DEVCOM_BLOCK, NULL), "wait");
    }
}

static void enqueue_wait(unsigned signal, unsigned step)
{
    app_check(devcom_enqueue_wait(app.endpoint, app.queue, signal, DEVCOM_GE, step + 1, NULL), "wait");
}

static void run_stream(void)
{
    for (unsigned step = 0; step < app.steps; step++) {
        struct devcom_put puts[2];
        unsigned count = step_puts(step, puts);

        enqueue_step(one_step, step);
        if (count)
            app_check(devcom_enqueue_put(app.endpoint, app.queue, puts, count, 0, NULL), "put");
        if (has_above())
            enqueue_wait(FROM_ABOVE, step);
        if (has_below())
            enqueue_wait(FROM_BELOW, step);
    }
    app_finish();
}

static void control_step(unsigned step)
{
    const struct devcom_argument argument = {5, sizeof(step), &step, 2};
    size_t global[2] = {rows - 2, planes};
    struct devcom_put puts[2];
    unsigned count = step_puts(step, puts);

    app_do_launch(one_step, 2, global, &argument, 1);
    app_do_finish();
    app_do_puts(puts, count);
    if (has_above())
        app_do_wait(FROM_ABOVE, step + 1);
    if (has_below())
        app_do_wait(FROM_BELOW, step + 1);
}

static void run_control(void)
{
    app_run_control(control_step);
}

/* The number of steps is last, or set in each step. */
static const struct devcom_argument device_arguments[] = {{1, sizeof(coefficients), &coefficients, 0},
                                                          {2, sizeof(cells), &cells, 0},
                                                          {3, sizeof(rows), &rows, 0},
                                                          {4, sizeof(columns), &columns, 0},
                                                          {6, sizeof(planes), &planes, 0},
                                                          {7, sizeof(planes_above), &planes_above, 0},
                                                          {5, sizeof(app.steps), &app.steps, 0}};

static void run_kernel(void)
{
    app_run_group("all_steps", device_arguments, 7);
}

/* Each step stores into the neighbours' grids, and the last of its work-groups enters a barrier with the other ranks;
 * one of these work-groups waits at a time, since the queue is in-order. */
static void run_ggas(void)
{
    cl_kernel kernel = app_device_kernel("one_step_ggas", device_arguments, 6);

    for (unsigned step = 0; step < app.steps; step++)
        enqueue_step(kernel, step);
    app_finish();
    clReleaseKernel(kernel);
}

/* ---- the problem ---- */

static void fill_planes(float *p, cl_ulong from, cl_ulong count)
{
    for (cl_ulong z = 0; z < count; z++) {
        float at = (float)(from + z) / (float)(total + 1);

        for (size_t i = 0; i < plane; i++)
            p[z * plane + i] = at * at;
    }
}

static void fill_coefficients(float *c, size_t count)
{
    static const float values[COEFFICIENTS] = {1, 1, 1, 1.0f / 6, 0.0625f, 0.0625f, 0.0625f, 1, 1, 1, 0, 1};

    for (size_t i = 0; i < COEFFICIENTS * count; i++)
        c[i] = values[i / count];
}

/* Fills both grids, since the boundary never changes. */
static void fill(void)
{
    fill_planes(grids, first, planes + 2);
    fill_planes(grids + cells, first, planes + 2);
}

static uint64_t sum_planes(const float *p, cl_ulong from, cl_ulong count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count * plane; i++) {
        uint32_t word;

        memcpy(&word, &p[plane + i], sizeof(word));
        sum += app_mix((from + 1) * plane + i, word);
    }
    return sum;
}

static uint64_t sum(void)
{
    return sum_planes(grids + app.steps % 2 * cells, first, planes);
}

static uint64_t serial(void)
{
    size_t all = (total + 2) * plane;
    float *p = malloc(2 * all * sizeof(float)), *c = malloc(COEFFICIENTS * all * sizeof(float));
    uint64_t result;

    app_check(!p || !c, "memory");
    fill_planes(p, 0, total + 2);
    fill_planes(p + all, 0, total + 2);
    fill_coefficients(c, all);
    for (unsigned step = 0; step < app.steps; step++) {
        for (cl_ulong z = 1; z <= total; z++)
            for (cl_ulong y = 1; y < rows - 1; y++)
                himeno_row(p + (step + 1) % 2 * all, p + step % 2 * all, c, all, z * plane + y * columns, columns,
                           plane);
    }
    result = sum_planes(p + app.steps % 2 * all, 0, total);
    free(p);
    free(c);
    return result;
}

static void divide(void)
{
    rows = rows_all;
    columns = columns_all;
    total = total ? total : planes_each * (unsigned)app.size;
    app_check(total < (unsigned)app.size || rows < 3 || columns < 3, "the grid is too small");
    plane = rows * columns;
    planes = planes_of(app.rank);
    planes_above = has_above() ? planes_of(app.rank - 1) : 0;
    cells = (planes_of(0) + 2) * plane;
    for (int r = 0; r < app.rank; r++)
        first += planes_of(r);
}

static void open_grids(void)
{
    const cl_ulong numbers[] = {cells, rows, columns};
    float *c = malloc(COEFFICIENTS * cells * sizeof(float));
    void *at;

    app_check(!c, "memory");
    fill_coefficients(c, cells);
    coefficients = app_buffer(COEFFICIENTS * cells * sizeof(float), c);
    free(c);
    buffer = app_segment(2 * cells * sizeof(float), &at);
    grids = at;
    app_program((const char *const[]){"#pragma OPENCL FP_CONTRACT OFF\n", row_text, kernel_text, NULL});
    one_step = app_kernel("one_step");
    app_argument(one_step, 0, sizeof(buffer), &buffer);
    app_argument(one_step, 1, sizeof(coefficients), &coefficients);
    for (unsigned i = 0; i < 3; i++)
        app_argument(one_step, 2 + i, sizeof(cl_ulong), &numbers[i]);
}

int main(int count, char **words)
{
    static const struct app_option options[] = {
        {"--planes", &planes_each}, {"--total", &total}, {"--rows", &rows_all}, {"--columns", &columns_all}, {0}};
    static const struct app_form forms[] = {{"mpi", run_mpi, false},       {"hybrid", run_hybrid, false},
                                            {"stream", run_stream, false}, {"control", run_control, false},
                                            {"kernel", run_kernel, false}, {"ggas", run_ggas, true}};
    struct app_problem problem = {"himeno", SIGNALS, 0, fill, sum, serial};

    app_open(count, words, options);
    divide();
    open_grids();
    problem.operations = (unsigned long)OPERATIONS * total * (rows - 2) * (columns - 2);
    app_run(&problem, forms, sizeof(forms) / sizeof(*forms));
    clReleaseKernel(one_step);
    clReleaseMemObject(coefficients);
    app_close();
    return 0;
}
