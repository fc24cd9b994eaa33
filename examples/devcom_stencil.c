/*
 * A stencil of five points on a grid that is divided by rows among the ranks, and closed to a ring, in the forms that
 * L. Oden's dissertation compares (sections 4.6, 5.8 and 6.9):
 *
 *     mpi      kernel, clFinish, rows read from the device, MPI_Sendrecv, rows written to it: what people write today
 *     host     kernel, clFinish, the host writes the rows into the neighbours' segments and waits for theirs
 *     stream   kernel, put and wait are commands of one in-order queue; the host waits at the end only
 *     kernel   one work-group computes all steps, puts its rows and waits for the neighbours' itself
 *     ggas     one work-group computes all steps, and stores its rows through pointers; a barrier of devices between
 *
 * The work-groups that compute all steps have one work-item: with 16, what PoCL 3.1 makes of these kernels never comes
 * to its first signal.
 *
 * words[1] steps (100), words[2] rows of each rank (64), words[3] columns (256). All forms must give the same bits.
 */
#include <devcom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SEGMENT, GRID, FROM_ABOVE = 0, FROM_BELOW };

static const char source[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "float cell(global const float *g, ulong i, ulong columns, ulong x)\n"
    "{\n"
    "    float left = x ? g[i - 1] : g[i + columns - 1], right = x + 1 < columns ? g[i + 1] : g[i - x];\n"
    "    return 0.25f * ((g[i - columns] + g[i + columns]) + (left + right)) * 0.9f + 0.1f * g[i];\n"
    "}\n"
    "kernel void one_step(global float *grids, ulong rows, ulong columns, uint step)\n"
    "{\n"
    "    ulong size = (rows + 2) * columns, i = (get_global_id(1) + 1) * columns + get_global_id(0);\n"
    "    grids[(step + 1) % 2 * size + i] = cell(grids + step % 2 * size, i, columns, get_global_id(0));\n"
    "}\n"
    "void compute(global float *to, global const float *from, ulong rows, ulong columns, ulong item, ulong items)\n"
    "{\n"
    "    for (ulong y = 1; y <= rows; y++)\n"
    "        for (ulong x = item; x < columns; x += items)\n"
    "            to[y * columns + x] = cell(from, y * columns + x, columns, x);\n"
    "}\n"
    "kernel void all_steps(global struct devcom_device *d, uint segment, ulong rows, ulong columns, uint steps)\n"
    "{\n"
    "    ulong size = (rows + 2) * columns, row = columns * 4, item = get_local_id(0), items = get_local_size(0);\n"
    "    uint above = (d->rank + d->size - 1) % d->size, below = (d->rank + 1) % d->size;\n"
    "    global float *grids = (global float *)devcom_ptr(d, d->rank, segment);\n"
    "    for (uint step = 0; step < steps; step++) {\n"
    "        ulong to = (step + 1) % 2 * size;\n"
    "        compute(grids + to, grids + step % 2 * size, rows, columns, item, items);\n"
    "        devcom_put_notify(d, 0, segment, to * 4 + row, above, segment, to * 4 + (rows + 1) * row, row, 1, "
    "DEVCOM_SET,\n"
    "                          step + 1);\n"
    "        devcom_put_notify(d, 1, segment, to * 4 + rows * row, below, segment, to * 4, row, 0, DEVCOM_SET, step + "
    "1);\n"
    "        devcom_wait_notify(d, 0, DEVCOM_GE, step + 1);\n"
    "        devcom_wait_notify(d, 1, DEVCOM_GE, step + 1);\n"
    "    }\n"
    "}\n"
    "kernel void all_steps_ggas(global struct devcom_device *d, uint segment, ulong rows, ulong columns, uint steps)\n"
    "{\n"
    "    ulong size = (rows + 2) * columns, item = get_local_id(0), items = get_local_size(0);\n"
    "    global float *mine = (global float *)devcom_ptr(d, d->rank, segment);\n"
    "    global float *above = (global float *)devcom_ptr(d, (d->rank + d->size - 1) % d->size, segment);\n"
    "    global float *below = (global float *)devcom_ptr(d, (d->rank + 1) % d->size, segment);\n"
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

static struct devcom *d;
static struct devcom_endpoint *endpoint;
static cl_context context;
static cl_command_queue queue;
static cl_device_id device;
static cl_program program;
static cl_mem buffer; /* both grids, each with a row of a neighbour's at either end */
static float *grids;
static cl_kernel one_step;
static unsigned steps = 100;
static cl_ulong rows = 64, columns = 256;
static int rank, above, below;

static void check(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "rank %d: %s: %d\n", rank, what, error);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static size_t grid_bytes(void)
{
    return (rows + 2) * columns * sizeof(float);
}

/* Where a row of the grid that a step makes lies in the segment. */
static size_t row_at(unsigned step, cl_ulong row)
{
    return (step + 1) % 2 * grid_bytes() + row * columns * sizeof(float);
}

static void enqueue_step(unsigned step)
{
    size_t global[2] = {columns, rows};

    check(clSetKernelArg(one_step, 3, sizeof(step), &step), "argument");
    check(clEnqueueNDRangeKernel(queue, one_step, 2, NULL, global, NULL, 0, NULL, NULL), "kernel");
}

/* ---- the forms ---- */

static void exchange_by_mpi(unsigned step, cl_ulong from, int to_rank, cl_ulong to, int from_rank, float *out,
                            float *in)
{
    size_t bytes = columns * sizeof(float);

    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, row_at(step, from), bytes, out, 0, NULL, NULL), "read");
    MPI_Sendrecv(out, (int)columns, MPI_FLOAT, to_rank, 0, in, (int)columns, MPI_FLOAT, from_rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, row_at(step, to), bytes, in, 0, NULL, NULL), "write");
}

static void run_mpi(void)
{
    float *out = malloc(columns * sizeof(float)), *in = malloc(columns * sizeof(float));

    for (unsigned step = 0; step < steps; step++) {
        enqueue_step(step);
        check(clFinish(queue), "finish");
        exchange_by_mpi(step, 1, above, rows + 1, below, out, in);
        exchange_by_mpi(step, rows, below, 0, above, out, in);
    }
    free(out);
    free(in);
}

static void two_puts(unsigned step, struct devcom_put puts[2])
{
    size_t bytes = columns * sizeof(float);

    puts[0] = (struct devcom_put){
        GRID, GRID, row_at(step, 1), row_at(step, rows + 1), {.bytes = bytes}, above, FROM_BELOW, DEVCOM_SET, step + 1};
    puts[1] = (struct devcom_put){GRID,  GRID,       row_at(step, rows), row_at(step, 0), {.bytes = bytes},
                                  below, FROM_ABOVE, DEVCOM_SET,         step + 1};
}

static void run_host(void)
{
    for (unsigned step = 0; step < steps; step++) {
        struct devcom_put puts[2];

        enqueue_step(step);
        check(clFinish(queue), "finish");
        two_puts(step, puts);
        check(devcom_put(d, puts, 2, 0, NULL), "put");
        check(devcom_signal_wait(d, FROM_ABOVE, DEVCOM_GE, step + 1, DEVCOM_BLOCK, NULL), "wait");
        check(devcom_signal_wait(d, FROM_BELOW, DEVCOM_GE, step + 1, DEVCOM_BLOCK, NULL), "wait");
    }
}

static void run_stream(void)
{
    for (unsigned step = 0; step < steps; step++) {
        struct devcom_put puts[2];

        enqueue_step(step);
        two_puts(step, puts);
        check(devcom_enqueue_put(endpoint, queue, puts, 2, 0, NULL), "put");
        check(devcom_enqueue_wait(endpoint, queue, FROM_ABOVE, DEVCOM_GE, step + 1, NULL), "wait");
        check(devcom_enqueue_wait(endpoint, queue, FROM_BELOW, DEVCOM_GE, step + 1, NULL), "wait");
    }
    check(clFinish(queue), "finish");
}

static void run_one_kernel(const char *name)
{
    static const size_t items = 1; /* which suits a processor */
    cl_uint segment = GRID;
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);

    check(status, name);
    check(devcom_kernel_argument(endpoint, kernel, 0), "argument");
    status = clSetKernelArg(kernel, 1, sizeof(segment), &segment);
    status |= clSetKernelArg(kernel, 2, sizeof(rows), &rows);
    status |= clSetKernelArg(kernel, 3, sizeof(columns), &columns);
    status |= clSetKernelArg(kernel, 4, sizeof(steps), &steps);
    check(status, "argument");
    check(devcom_enqueue_kernel(endpoint, queue, kernel, 1, &items, &items, NULL), name);
    check(clFinish(queue), "finish");
    clReleaseKernel(kernel);
}

static void run_kernel(void)
{
    run_one_kernel("all_steps");
}

static void run_ggas(void)
{
    run_one_kernel("all_steps_ggas");
}

/* ---- the same start for all, and what came of it ---- */

static void fill(void)
{
    memset(grids, 0, 2 * grid_bytes());
    for (cl_ulong y = 0; y < rows + 2; y++) {
        cl_ulong whole = rows * (cl_ulong)devcom_size(d), row = ((cl_ulong)rank * rows + y + whole - 1) % whole;

        for (cl_ulong x = 0; x < columns; x++)
            grids[y * columns + x] = (float)((row * 131 + x * 71) % 1009) / 1009;
    }
    check(devcom_signal_store(d, FROM_ABOVE, 0), "signal");
    check(devcom_signal_store(d, FROM_BELOW, 0), "signal");
    check(devcom_barrier(d, DEVCOM_BLOCK), "barrier");
}

static unsigned long checksum(void)
{
    const unsigned char *bytes = (const unsigned char *)grids + row_at(steps - 1, 1);
    unsigned long sum = 14695981039346656037u, all = 0;

    for (size_t i = 0; i < rows * columns * sizeof(float); i++)
        sum = (sum ^ bytes[i]) * 1099511628211u;
    sum *= 2 * (unsigned long)rank + 1;
    MPI_Allreduce(&sum, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    double mine, all;

    getrusage(RUSAGE_SELF, &usage);
    mine = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void run_form(const char *name, void (*run)(void), unsigned long *expected)
{
    double start, cpu;
    unsigned long sum;

    fill();
    run(); /* once without the clock: kernels are compiled when they first run */
    fill();
    cpu = cpu_seconds();
    start = MPI_Wtime();
    run();
    check(devcom_endpoint_error(endpoint), name);
    check(devcom_barrier(d, DEVCOM_BLOCK), "barrier");
    start = MPI_Wtime() - start;
    cpu = cpu_seconds() - cpu;
    sum = checksum();
    *expected = *expected ? *expected : sum;
    if (rank == 0)
        printf("%-6s %8.3f ms, processor time of all ranks %8.3f ms, checksum %016lx\n", name, start * 1e3, cpu * 1e3,
               sum);
    check(sum != *expected, "other bits");
}

static void open_device(void)
{
    struct devcom_endpoint_options options = {.queues = 2};
    cl_platform_id platform;
    cl_int status;

    check(clGetPlatformIDs(1, &platform, NULL), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "context");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(status, "queue");
    options.context = context;
    options.device = device;
    check(devcom_endpoint_open(d, &options, &endpoint), "endpoint");
    check(devcom_program_create(endpoint, source, NULL, &program), "program");
}

static bool all_share(void)
{
    for (int r = 0; r < devcom_size(d); r++) {
        if (!devcom_shares_host(d, r))
            return false;
    }
    return true;
}

static void open_grids(struct devcom_ggas **ggas)
{
    struct devcom_memory memory = {.bytes = 2 * grid_bytes(), .context = context, .device = device, .commands = queue};
    cl_int status;
    void *at;

    if (all_share())
        check(devcom_ggas_open(d, GRID, 1, &memory, ggas), "global address space");
    else
        check(devcom_segment_create(d, GRID, &memory), "segment");
    check(devcom_endpoint_refresh(endpoint), "endpoint");
    check(devcom_segment_ptr(d, rank, GRID, &at), "segment");
    check(devcom_segment_buffer(d, GRID, &buffer), "buffer");
    grids = at;
    one_step = clCreateKernel(program, "one_step", &status);
    check(status, "kernel");
    status = clSetKernelArg(one_step, 0, sizeof(buffer), &buffer);
    status |= clSetKernelArg(one_step, 1, sizeof(rows), &rows);
    status |= clSetKernelArg(one_step, 2, sizeof(columns), &columns);
    check(status, "argument");
}

int main(int count, char **words)
{
    struct devcom_ggas *ggas = NULL;
    unsigned long expected = 0;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    steps = count > 1 ? (unsigned)atoi(words[1]) : steps;
    rows = count > 2 ? (cl_ulong)atol(words[2]) : rows;
    columns = count > 3 ? (cl_ulong)atol(words[3]) : columns;
    if (!steps || !rows || !columns)
        return 2;
    check(devcom_init(MPI_COMM_WORLD, NULL, &d), "devcom");
    rank = devcom_rank(d);
    above = (rank + devcom_size(d) - 1) % devcom_size(d);
    below = (rank + 1) % devcom_size(d);
    open_device();
    open_grids(&ggas);
    run_form("mpi", run_mpi, &expected);
    run_form("host", run_host, &expected);
    run_form("stream", run_stream, &expected);
    run_form("kernel", run_kernel, &expected);
    if (ggas)
        run_form("ggas", run_ggas, &expected);
    clReleaseKernel(one_step);
    devcom_endpoint_close(endpoint);
    if (ggas)
        check(devcom_ggas_close(ggas), "global address space");
    check(devcom_finalize(d), "finalize");
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    MPI_Finalize();
    return 0;
}
