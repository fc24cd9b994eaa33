/*
 * RandomAccess of the HPC Challenge, with mailboxes (section 6.9.3 of the dissertation): a table is divided among the
 * ranks; each draws random numbers, whose most significant bits select the word of the table, on any rank, with which
 * they are XORed. In a step each rank puts up to 1024 of them, the look-ahead, into boxes, one for each owner, and
 * applies the numbers that it has received. Four updates for each word of the table. devcom_app.h has the forms.
 *
 *     mpiexec -n 2 devcom_random_access [--table 16384] [--look-ahead 1024]    words of each rank
 *
 *     mpi      the host draws the numbers and sends them; the device applies them (as in the dissertation)
 *     hybrid   the device draws them, the host reads how many, and puts so many
 *     stream, control
 *              the puts' sizes are fixed beforehand: whole boxes
 *     ggas     each number is stored into its owner's box when it is drawn
 */
#include "devcom_app.h"

enum { MOST_LOOK_AHEAD = 1024, MOST_RANKS = 64 };

#define global
#define mul_hi(A, B) ((ulong)((unsigned __int128)(A) * (B) >> 64))
APP_BOTH(
    next_text, static ulong random_next(ulong x) { return x << 1 ^ (x >> 63 ? 7ul : 0ul); })
APP_BOTH(
    word_text, static ulong random_word(ulong x, ulong words) { return mul_hi(x, words); })
/* Draws numbers into boxes (their count, then the numbers), one for each owner; returns the generator's state. */
APP_BOTH(
    draw_text, static ulong random_draw(ulong x, global ulong *boxes, ulong count, ulong words, ulong size) {
        for (ulong r = 0; r < size; r++)
            boxes[r * (count + 1)] = 0;
        for (ulong i = 0; i < count; i++) {
            global ulong *box;

            x = random_next(x);
            box = boxes + random_word(x, words * size) / words * (count + 1);
            box[++box[0]] = x;
        }
        return x;
    })
#undef global

/* The segment: boxes to be sent in even and in odd steps, then boxes received, likewise. */
static const char kernel_text[] =
    "void apply_box(global ulong *table, global const ulong *box, ulong words, ulong rank, ulong size)\n"
    "{\n"
    "    for (ulong i = 1; i <= box[0]; i++)\n"
    "        table[random_word(box[i], words * size) - rank * words] ^= box[i];\n"
    "}\n"
    "void apply_all(global ulong *table, global const ulong *out, global const ulong *in, ulong count, ulong words,\n"
    "               ulong rank, ulong size)\n"
    "{\n"
    "    for (ulong r = 0; r < size; r++)\n"
    "        apply_box(table, (r == rank ? out : in) + r * (count + 1), words, rank, size);\n"
    "}\n"
    /* counts: the count of each box */
    "kernel void draw(global ulong *segment, global ulong *state, ulong count, ulong words, ulong size, uint step,\n"
    "                 global ulong *counts)\n"
    "{\n"
    "    global ulong *out = segment + step % 2 * size * (count + 1);\n"
    "    *state = random_draw(*state, out, count, words, size);\n"
    "    for (ulong r = 0; r < size; r++)\n"
    "        counts[r] = out[r * (count + 1)];\n"
    "}\n"
    "kernel void apply(global ulong *segment, global ulong *table, ulong count, ulong words, ulong size, uint step,\n"
    "                  uint rank)\n"
    "{\n"
    "    global ulong *out = segment + step % 2 * size * (count + 1);\n"
    "    apply_all(table, out, out + 2 * size * (count + 1), count, words, rank, size);\n"
    "}\n"
    "kernel void all_steps(global struct devcom_device *d, global ulong *table, ulong count, ulong words, ulong size,\n"
    "                      uint steps, global ulong *state)\n"
    "{\n"
    "    ulong box = count + 1, x = *state;\n"
    "    global ulong *segment = (global ulong *)devcom_ptr(d, d->rank, 0);\n"
    "    for (uint step = 0; step < steps; step++) {\n"
    "        ulong out = step % 2 * size * box, in = out + 2 * size * box;\n"
    "        x = random_draw(x, segment + out, count, words, size);\n"
    "        for (uint i = 1; i < size; i++) {\n"
    "            uint to = (d->rank + i) % size;\n"
    "            devcom_write_notify(d, 0, (out + to * box) * 8, to, 0, (in + d->rank * box) * 8,\n"
    "                                (segment[out + to * box] + 1) * 8, d->rank, DEVCOM_SIGNAL_SET, step + 1, 0);\n"
    "        }\n"
    "        for (uint i = 1; i < size; i++)\n"
    "            devcom_signal_wait(d, (d->rank + i) % size, DEVCOM_GE, step + 1);\n"
    "        apply_all(table, segment + out, segment + in, count, words, d->rank, size);\n"
    "    }\n"
    "}\n"
    "kernel void all_steps_ggas(global struct devcom_device *d, global ulong *table, ulong count, ulong words,\n"
    "                           ulong size, uint steps, global ulong *state)\n"
    "{\n"
    "    ulong box = count + 1, x = *state;\n"
    "    global ulong *segment = (global ulong *)devcom_ptr(d, d->rank, 0);\n"
    "    for (uint step = 0; step < steps; step++) {\n"
    "        ulong in = (2 + step % 2) * size * box;\n"
    "        uint filled[64] = {0};\n"
    "        for (ulong i = 0; i < count; i++) {\n"
    "            uint owner;\n"
    "            x = random_next(x);\n"
    "            owner = random_word(x, words * size) / words;\n"
    "            ((global ulong *)devcom_ptr(d, owner, 0))[in + d->rank * box + ++filled[owner]] = x;\n"
    "        }\n"
    "        for (uint r = 0; r < size; r++)\n"
    "            ((global ulong *)devcom_ptr(d, r, 0))[in + d->rank * box] = filled[r];\n"
    "        devcom_ggas_barrier(d);\n"
    "        apply_all(table, segment + in, segment + in, count, words, d->rank, size);\n"
    "    }\n"
    "}\n";

static unsigned table_words = 16384, look_ahead = MOST_LOOK_AHEAD;
static cl_ulong words, count, size;
static cl_mem buffer, table, state, counts;
static cl_kernel draw, apply;

static uint64_t seed(int rank)
{
    return app_mix((uint64_t)rank, 2) | 1;
}

/* Return the offset of a box, in words. */
static size_t out_box(unsigned step, int to)
{
    return (step % 2 * size + (unsigned)to) * (count + 1);
}

static size_t in_box(unsigned step, int from)
{
    return ((2 + step % 2) * size + (unsigned)from) * (count + 1);
}

static int other(int i)
{
    return (app.rank + i) % app.size;
}

static void enqueue_one(cl_kernel kernel, unsigned step)
{
    static const size_t one = 1;

    app_argument(kernel, 5, sizeof(step), &step);
    app_launch(kernel, 1, &one);
}

/* ---- the forms ---- */

static void exchange_by_mpi(const uint64_t *out, uint64_t *in)
{
    MPI_Request requests[2 * MOST_RANKS];
    MPI_Status statuses[2 * MOST_RANKS]; /* gcc warns about MPI_STATUSES_IGNORE */
    int number = 0;

    for (int i = 1; i < app.size; i++) {
        const uint64_t *box = out + (size_t)other(i) * (count + 1);

        MPI_Irecv(in + (size_t)other(i) * (count + 1), (int)count + 1, MPI_UINT64_T, other(i), 0, MPI_COMM_WORLD,
                  &requests[number++]);
        MPI_Isend(box, (int)box[0] + 1, MPI_UINT64_T, other(i), 0, MPI_COMM_WORLD, &requests[number++]);
    }
    MPI_Waitall(number, requests, statuses);
}

static void write_box(size_t at, const uint64_t *box)
{
    app_check(clEnqueueWriteBuffer(app.queue, buffer, CL_FALSE, at * 8, (box[0] + 1) * 8, box, 0, NULL, NULL), "write");
}

/* The device applies a step while the host draws the next one. */
static void run_mpi(void)
{
    size_t boxes = size * (count + 1);
    uint64_t *host = malloc(4 * boxes * sizeof(*host)), x = seed(app.rank);

    app_check(!host, "memory");
    for (unsigned step = 0; step < app.steps; step++) {
        uint64_t *out = host + step % 2 * boxes, *in = out + 2 * boxes;

        x = random_draw(x, out, count, words, size);
        exchange_by_mpi(out, in);
        app_finish();
        for (int r = 0; r < app.size; r++) {
            if (r == app.rank)
                write_box(out_box(step, r), out + (size_t)r * (count + 1));
            else
                write_box(in_box(step, r), in + (size_t)r * (count + 1));
        }
        enqueue_one(apply, step);
        app_check(clFlush(app.queue), "flush");
    }
    app_finish();
    free(host);
}

/* Puts to all others, so many numbers each (NULL: whole boxes); signal r comes from rank r. */
static unsigned step_puts(unsigned step, const uint64_t *numbers, struct devcom_put *puts)
{
    unsigned number = 0;

    for (int i = 1; i < app.size; i++) {
        int to = other(i);

        puts[number++] = (struct devcom_put){.segment = APP_SEGMENT,
                                             .remote_segment = APP_SEGMENT,
                                             .offset = out_box(step, to) * 8,
                                             .remote_offset = in_box(step, app.rank) * 8,
                                             .shape = {.bytes = ((numbers ? numbers[to] : count) + 1) * 8},
                                             .rank = to,
                                             .signal = (unsigned)app.rank,
                                             .op = DEVCOM_SIGNAL_SET,
                                             .value = step + 1};
    }
    return number;
}

static void run_hybrid(void)
{
    uint64_t numbers[MOST_RANKS];

    for (unsigned step = 0; step < app.steps; step++) {
        struct devcom_put puts[MOST_RANKS];

        enqueue_one(draw, step);
        app_check(clEnqueueReadBuffer(app.queue, counts, CL_TRUE, 0, size * 8, numbers, 0, NULL, NULL), "read");
        app_check(devcom_put(app.d, puts, step_puts(step, numbers, puts), 0, NULL), "put");
        for (int i = 1; i < app.size; i++)
            app_check(devcom_signal_wait(app.d, (unsigned)other(i), DEVCOM_GE, step + 1, DEVCOM_BLOCK, NULL), "wait");
        enqueue_one(apply, step);
    }
    app_finish();
}

static void run_stream(void)
{
    for (unsigned step = 0; step < app.steps; step++) {
        struct devcom_put puts[MOST_RANKS];
        unsigned number = step_puts(step, NULL, puts);

        enqueue_one(draw, step);
        if (number)
            app_check(devcom_enqueue_put(app.endpoint, app.queue, puts, number, 0, NULL), "put");
        for (int i = 1; i < app.size; i++)
            app_check(devcom_enqueue_wait(app.endpoint, app.queue, (unsigned)other(i), DEVCOM_GE, step + 1, NULL),
                      "wait");
        enqueue_one(apply, step);
    }
    app_finish();
}

static void set_arguments(cl_kernel kernel, cl_mem second)
{
    const cl_ulong numbers[] = {count, words, size};

    app_argument(kernel, 1, sizeof(second), &second);
    for (unsigned i = 0; i < 3; i++)
        app_argument(kernel, 2 + i, sizeof(cl_ulong), &numbers[i]);
}

static void control_step(unsigned step)
{
    static const size_t one = 1;
    const struct devcom_argument argument = {5, sizeof(step), &step, 2};
    struct devcom_put puts[MOST_RANKS];

    app_do_launch(draw, 1, &one, &argument, 1);
    app_do_finish();
    app_do_puts(puts, step_puts(step, NULL, puts));
    for (int i = 1; i < app.size; i++)
        app_do_wait((unsigned)other(i), step + 1);
    app_do_launch(apply, 1, &one, &argument, 1);
}

static void run_control(void)
{
    app_run_control(control_step);
}

static const struct devcom_argument group_arguments[] = {
    {1, sizeof(table), &table, 0}, {2, sizeof(count), &count, 0},         {3, sizeof(words), &words, 0},
    {4, sizeof(size), &size, 0},   {5, sizeof(app.steps), &app.steps, 0}, {6, sizeof(state), &state, 0}};

static void run_kernel(void)
{
    app_run_group("all_steps", group_arguments, 6);
}

static void run_ggas(void)
{
    app_run_group("all_steps_ggas", group_arguments, 6);
}

/* ---- the problem ---- */

static void fill(void)
{
    uint64_t *content = malloc(words * 8), first = seed(app.rank);

    app_check(!content, "memory");
    for (size_t i = 0; i < words; i++)
        content[i] = (size_t)app.rank * words + i;
    app_check(clEnqueueWriteBuffer(app.queue, table, CL_TRUE, 0, words * 8, content, 0, NULL, NULL), "write");
    app_check(clEnqueueWriteBuffer(app.queue, state, CL_TRUE, 0, 8, &first, 0, NULL, NULL), "write");
    free(content);
}

static uint64_t sum(void)
{
    uint64_t *content = malloc(words * 8), all = 0;

    app_check(!content, "memory");
    app_check(clEnqueueReadBuffer(app.queue, table, CL_TRUE, 0, words * 8, content, 0, NULL, NULL), "read");
    for (size_t i = 0; i < words; i++)
        all += app_mix((size_t)app.rank * words + i, content[i]);
    free(content);
    return all;
}

static uint64_t serial(void)
{
    uint64_t *whole = malloc(size * words * 8), all = 0;

    app_check(!whole, "memory");
    for (size_t i = 0; i < size * words; i++)
        whole[i] = i;
    for (int r = 0; r < app.size; r++) {
        uint64_t x = seed(r);

        for (size_t i = 0; i < (size_t)app.steps * count; i++) {
            x = random_next(x);
            whole[random_word(x, words * size)] ^= x;
        }
    }
    for (size_t i = 0; i < size * words; i++)
        all += app_mix(i, whole[i]);
    free(whole);
    return all;
}

static void open_table(void)
{
    const cl_uint rank = (cl_uint)app.rank;
    void *at;

    words = table_words;
    count = look_ahead;
    size = (cl_ulong)app.size;
    app_check(count > MOST_LOOK_AHEAD || size > MOST_RANKS, "--look-ahead");
    app.steps = app.steps ? app.steps : (unsigned)((4 * words + count - 1) / count);
    table = app_buffer(words * 8, NULL);
    state = app_buffer(8, NULL);
    counts = app_buffer(MOST_RANKS * 8, NULL);
    buffer = app_segment(4 * size * (count + 1) * 8, &at);
    app_program((const char *const[]){next_text, word_text, draw_text, kernel_text, NULL});
    draw = app_kernel("draw");
    app_argument(draw, 0, sizeof(buffer), &buffer);
    set_arguments(draw, state);
    app_argument(draw, 6, sizeof(counts), &counts);
    apply = app_kernel("apply");
    app_argument(apply, 0, sizeof(buffer), &buffer);
    set_arguments(apply, table);
    app_argument(apply, 6, sizeof(rank), &rank);
}

int main(int number, char **arguments)
{
    static const struct app_option options[] = {{"--table", &table_words}, {"--look-ahead", &look_ahead}, {0}};
    static const struct app_form forms[] = {{"mpi", run_mpi, false},       {"hybrid", run_hybrid, false},
                                            {"stream", run_stream, false}, {"control", run_control, false},
                                            {"kernel", run_kernel, false}, {"ggas", run_ggas, true}};
    struct app_problem problem = {"random_access", MOST_RANKS, 0, fill, sum, serial};

    app.steps = 0;
    app_open(number, arguments, options);
    open_table();
    problem.operations = size * count;
    app_run(&problem, forms, sizeof(forms) / sizeof(*forms));
    clReleaseKernel(draw);
    clReleaseKernel(apply);
    clReleaseMemObject(table);
    clReleaseMemObject(state);
    clReleaseMemObject(counts);
    app_close();
    return 0;
}
