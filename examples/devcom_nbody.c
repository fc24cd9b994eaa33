/*
 * Bodies that attract each other, divided among the ranks: in each step all blocks of bodies go around a ring, and each
 * rank computes the pull of the block that it holds on its own bodies while the block goes on to the next rank.
 * devcom_app.h has the forms.
 *
 *     mpiexec -n 2 devcom_nbody [--bodies 256]    bodies of each rank
 *
 *     ggas   no ring: a rank stores the block that it has moved into the memory of all; a barrier of devices between
 * steps
 *
 * A block has the positions and masses of its bodies: x, y, z, and mass, one after the other. The segment has room for
 * all blocks, for even and for odd steps: a rank that begins a step knows that all have finished the last step but one.
 */
#include <math.h>

#include "devcom_app.h"

enum { CHUNK = 32, MOST_RANKS = 64 };

#define global
#define sqrt(X) sqrtf(X)
/* The order of additions for each body is fixed, so that the result is the same bit by bit. */
APP_BOTH(
    pull_text, static void nbody_pull(global float *restrict force, global const float *restrict own,
                                      global const float *restrict block, ulong bodies, ulong from, ulong to) {
        for (ulong j = 0; j < bodies; j++) {
            float x = block[j], y = block[bodies + j], z = block[2 * bodies + j], mass = block[3 * bodies + j];

            for (ulong i = from; i < to; i++) {
                float dx = x - own[i], dy = y - own[bodies + i], dz = z - own[2 * bodies + i];
                float square = dx * dx + dy * dy + dz * dz + 0.01f, pull = mass / (square * sqrt(square));

                force[i] += dx * pull;
                force[bodies + i] += dy * pull;
                force[2 * bodies + i] += dz * pull;
            }
        }
    })
/* Sets the forces to 0 afterwards. */
APP_BOTH(
    move_text,
    static void nbody_move(global float *restrict next, global float *restrict force, global float *restrict speed,
                           global const float *restrict own, ulong bodies, ulong from, ulong to) {
        for (ulong axis = 0; axis < 3 * bodies; axis += bodies)
            for (ulong i = axis + from; i < axis + to; i++) {
                speed[i] += 0.001f * force[i];
                next[i] = own[i] + 0.001f * speed[i];
                force[i] = 0;
            }
        for (ulong i = 3 * bodies + from; i < 3 * bodies + to; i++)
            next[i] = own[i];
    })
#undef global
#undef sqrt

static const char kernel_text[] =
    /* own and block are offsets in the segment */
    "kernel void pull(global float *force, global const float *segment, ulong own, ulong block, ulong bodies, ulong "
    "chunk)\n"
    "{\n"
    "    ulong from = get_global_id(0) * chunk;\n"
    "    nbody_pull(force, segment + own, segment + block, bodies, from, min(from + chunk, bodies));\n"
    "}\n"
    "kernel void move(global float *force, global float *segment, ulong own, ulong next, ulong bodies, ulong chunk,\n"
    "                 global float *speed)\n"
    "{\n"
    "    ulong from = get_global_id(0) * chunk;\n"
    "    nbody_move(segment + next, force, speed, segment + own, bodies, from, min(from + chunk, bodies));\n"
    "}\n"
    "kernel void all_steps(global struct devcom_device *d, global float *force, global float *speed, ulong bodies,\n"
    "                      uint steps)\n"
    "{\n"
    "    uint size = d->size, rank = d->rank, next = (rank + 1) % size;\n"
    "    ulong block = 4 * bodies, turn = size * block;\n"
    "    global float *segment = (global float *)devcom_ptr(d, rank, 0);\n"
    "    for (uint step = 0; step < steps; step++) {\n"
    "        ulong now = step % 2 * turn, own = now + rank * block;\n"
    "        for (uint i = 0; i < size; i++) {\n"
    "            uint last = i + 1 == size, held = (rank + size - i) % size, coming = (held + size - 1) % size;\n"
    "            ulong at = now + held * block;\n"
    "            devcom_write_notify(d, 0, at * 4, next, 0, at * 4, last ? 0 : block * 4, held,\n"
    "                                last ? DEVCOM_SIGNAL_NONE : DEVCOM_SIGNAL_SET, step + 1, 0);\n"
    "            nbody_pull(force, segment + own, segment + at, bodies, 0, bodies);\n"
    "            devcom_signal_wait(d, coming, DEVCOM_GE, last ? 0 : step + 1);\n"
    "        }\n"
    "        nbody_move(segment + (step + 1) % 2 * turn + rank * block, force, speed, segment + own, bodies, 0, "
    "bodies);\n"
    "    }\n"
    "}\n"
    "kernel void all_steps_ggas(global struct devcom_device *d, global float *force, global float *speed, ulong "
    "bodies,\n"
    "                           uint steps)\n"
    "{\n"
    "    uint size = d->size, rank = d->rank;\n"
    "    ulong block = 4 * bodies, turn = size * block;\n"
    "    global float *segment = (global float *)devcom_ptr(d, rank, 0);\n"
    "    for (uint r = 0; r < size; r++)\n"
    "        for (ulong i = 0; i < block; i++)\n"
    "            ((global float *)devcom_ptr(d, r, 0))[rank * block + i] = segment[rank * block + i];\n"
    "    for (uint step = 0; step < steps; step++) {\n"
    "        ulong now = step % 2 * turn, own = now + rank * block, next = (step + 1) % 2 * turn + rank * block;\n"
    "        devcom_ggas_barrier(d);\n"
    "        for (uint i = 0; i < size; i++)\n"
    "            nbody_pull(force, segment + own, segment + now + (rank + size - i) % size * block, bodies, 0, "
    "bodies);\n"
    "        nbody_move(segment + next, force, speed, segment + own, bodies, 0, bodies);\n"
    "        for (uint r = 1; r < size; r++) {\n"
    "            global float *to = (global float *)devcom_ptr(d, (rank + r) % size, 0) + next;\n"
    "            for (ulong i = 0; i < block; i++)\n"
    "                to[i] = segment[next + i];\n"
    "        }\n"
    "    }\n"
    "}\n";

static unsigned bodies_each = 256;
static cl_ulong bodies;
static size_t block_bytes;
static cl_mem buffer, force, speed;
static float *segment;
static cl_kernel pull, move;

/* Returns the offset of a rank's block of a step, in floats. */
static cl_ulong block_at(unsigned step, int rank)
{
    return (step % 2 * (unsigned)app.size + (unsigned)rank) * 4 * bodies;
}

/* Returns the block that this rank holds after so many exchanges. */
static int held_block(int exchanges)
{
    return (app.rank - exchanges + app.size) % app.size;
}

static int next_rank(void)
{
    return (app.rank + 1) % app.size;
}

static void enqueue_both(cl_kernel kernel, unsigned step, cl_ulong other)
{
    cl_ulong own = block_at(step, app.rank);
    size_t items = (bodies + CHUNK - 1) / CHUNK;

    app_argument(kernel, 2, sizeof(own), &own);
    app_argument(kernel, 3, sizeof(other), &other);
    app_launch(kernel, 1, &items);
    app_check(clFlush(app.queue), "flush");
}

static void enqueue_pull(unsigned step, int held)
{
    enqueue_both(pull, step, block_at(step, held));
}

static void enqueue_move(unsigned step)
{
    enqueue_both(move, step, block_at(step + 1, app.rank));
}

/* ---- the forms ---- */

/* Exchanges blocks while the device computes. */
static void run_mpi(void)
{
    float *host = malloc((size_t)app.size * block_bytes);
    int count = (int)(4 * bodies), previous = (app.rank + app.size - 1) % app.size;

    app_check(!host, "memory");
    for (unsigned step = 0; step < app.steps; step++) {
        app_check(clEnqueueReadBuffer(app.queue, buffer, CL_TRUE, block_at(step, app.rank) * sizeof(float), block_bytes,
                                      host + (size_t)app.rank * 4 * bodies, 0, NULL, NULL),
                  "read");
        for (int i = 0; i < app.size; i++) {
            int held = held_block(i), coming = held_block(i + 1 < app.size ? i + 1 : 0);

            enqueue_pull(step, held);
            if (i + 1 == app.size)
                continue;
            MPI_Sendrecv(host + (size_t)held * 4 * bodies, count, MPI_FLOAT, next_rank(), 0,
                         host + (size_t)coming * 4 * bodies, count, MPI_FLOAT, previous, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            app_check(clEnqueueWriteBuffer(app.queue, buffer, CL_FALSE, block_at(step, coming) * sizeof(float),
                                           block_bytes, host + (size_t)coming * 4 * bodies, 0, NULL, NULL),
                      "write");
        }
        enqueue_move(step);
    }
    app_finish();
    free(host);
}

/* Puts a block to the next rank; signal r announces the block of rank r. */
static struct devcom_put put_of(unsigned step, int held)
{
    size_t at = block_at(step, held) * sizeof(float);

    return (struct devcom_put){.segment = APP_SEGMENT,
                               .remote_segment = APP_SEGMENT,
                               .offset = at,
                               .remote_offset = at,
                               .shape = {.bytes = block_bytes},
                               .rank = next_rank(),
                               .signal = (unsigned)held,
                               .op = DEVCOM_SIGNAL_SET,
                               .value = step + 1};
}

static void run_hybrid(void)
{
    for (unsigned step = 0; step < app.steps; step++) {
        for (int i = 0; i < app.size; i++) {
            struct devcom_put put = put_of(step, held_block(i));

            enqueue_pull(step, held_block(i));
            if (i + 1 == app.size)
                continue;
            app_check(devcom_put(app.d, &put, 1, 0, NULL), "put");
            app_check(devcom_signal_wait(app.d, (unsigned)held_block(i + 1), DEVCOM_GE, step + 1, DEVCOM_BLOCK, NULL),
                      "wait");
        }
        enqueue_move(step);
        app_finish();
    }
}

static void run_stream(void)
{
    for (unsigned step = 0; step < app.steps; step++) {
        for (int i = 0; i < app.size; i++) {
            struct devcom_put put = put_of(step, held_block(i));

            if (i + 1 < app.size)
                app_check(devcom_enqueue_put(app.endpoint, app.queue, &put, 1, 0, NULL), "put");
            enqueue_pull(step, held_block(i));
            if (i + 1 < app.size)
                app_check(devcom_enqueue_wait(app.endpoint, app.queue, (unsigned)held_block(i + 1), DEVCOM_GE, step + 1,
                                              NULL),
                          "wait");
        }
        enqueue_move(step);
    }
    app_finish();
}

static void do_both(cl_kernel kernel, unsigned step, cl_ulong other)
{
    cl_ulong own = block_at(step, app.rank);
    size_t items = (bodies + CHUNK - 1) / CHUNK;
    const struct devcom_argument arguments[] = {{2, sizeof(own), &own, 0}, {3, sizeof(other), &other, 0}};

    app_do_launch(kernel, 1, &items, arguments, 2);
}

static void control_step(unsigned step)
{
    for (int i = 0; i < app.size; i++) {
        struct devcom_put put = put_of(step, held_block(i));

        do_both(pull, step, block_at(step, held_block(i)));
        if (i + 1 == app.size)
            continue;
        app_do_puts(&put, 1);
        app_do_wait((unsigned)held_block(i + 1), step + 1);
    }
    do_both(move, step, block_at(step + 1, app.rank));
    app_do_finish();
}

static void run_control(void)
{
    app_run_control(control_step);
}

static const struct devcom_argument group_arguments[] = {{1, sizeof(force), &force, 0},
                                                         {2, sizeof(speed), &speed, 0},
                                                         {3, sizeof(bodies), &bodies, 0},
                                                         {4, sizeof(app.steps), &app.steps, 0}};

static void run_kernel(void)
{
    app_run_group("all_steps", group_arguments, 4);
}

static void run_ggas(void)
{
    app_run_group("all_steps_ggas", group_arguments, 4);
}

/* ---- the problem ---- */

static void fill_block(float *block, int rank)
{
    for (size_t i = 0; i < 3 * bodies; i++)
        block[i] = (float)(app_mix((uint64_t)rank * 3 * bodies + i, 3) >> 40) / (1 << 24);
    for (size_t i = 3 * bodies; i < 4 * bodies; i++)
        block[i] = 1.0f / (float)bodies;
}

static void fill(void)
{
    float *zeros = calloc(3 * bodies, sizeof(float));

    app_check(!zeros, "memory");
    fill_block(segment + block_at(0, app.rank), app.rank);
    for (int i = 0; i < 2; i++)
        app_check(clEnqueueWriteBuffer(app.queue, i ? force : speed, CL_TRUE, 0, 3 * bodies * sizeof(float), zeros, 0,
                                       NULL, NULL),
                  "write");
    free(zeros);
}

static uint64_t sum_block(const float *block, int rank)
{
    uint64_t all = 0;

    for (size_t i = 0; i < 4 * bodies; i++) {
        uint32_t word;

        memcpy(&word, &block[i], sizeof(word));
        all += app_mix((uint64_t)rank * 4 * bodies + i, word);
    }
    return all;
}

static uint64_t sum(void)
{
    return sum_block(segment + block_at(app.steps, app.rank), app.rank);
}

static void serial_step(float *blocks, float *forces, float *speeds, unsigned step)
{
    for (int r = 0; r < app.size; r++) {
        const float *own = blocks + block_at(step, r);
        float *at = forces + (size_t)r * 3 * bodies;

        for (int i = 0; i < app.size; i++)
            nbody_pull(at, own, blocks + block_at(step, (r - i + app.size) % app.size), bodies, 0, bodies);
        nbody_move(blocks + block_at(step + 1, r), at, speeds + (size_t)r * 3 * bodies, own, bodies, 0, bodies);
    }
}

static uint64_t serial(void)
{
    float *blocks = malloc(2 * (size_t)app.size * block_bytes), *forces = calloc((size_t)app.size, block_bytes);
    float *speeds = calloc((size_t)app.size, block_bytes);
    uint64_t all = 0;

    app_check(!blocks || !forces || !speeds, "memory");
    for (int r = 0; r < app.size; r++)
        fill_block(blocks + block_at(0, r), r);
    for (unsigned step = 0; step < app.steps; step++)
        serial_step(blocks, forces, speeds, step);
    for (int r = 0; r < app.size; r++)
        all += sum_block(blocks + block_at(app.steps, r), r);
    free(blocks);
    free(forces);
    free(speeds);
    return all;
}

static void open_bodies(void)
{
    const cl_ulong numbers[] = {bodies_each, CHUNK};
    void *at;

    bodies = bodies_each;
    block_bytes = 4 * bodies * sizeof(float);
    app_check(app.size > MOST_RANKS, "so many ranks");
    force = app_buffer(3 * bodies * sizeof(float), NULL);
    speed = app_buffer(3 * bodies * sizeof(float), NULL);
    buffer = app_segment(2 * (size_t)app.size * block_bytes, &at);
    segment = at;
    app_program((const char *const[]){"#pragma OPENCL FP_CONTRACT OFF\n", pull_text, move_text, kernel_text, NULL});
    pull = app_kernel("pull");
    move = app_kernel("move");
    for (int i = 0; i < 2; i++) {
        app_argument(i ? move : pull, 0, sizeof(force), &force);
        app_argument(i ? move : pull, 1, sizeof(buffer), &buffer);
        app_argument(i ? move : pull, 4, sizeof(cl_ulong), &numbers[0]);
        app_argument(i ? move : pull, 5, sizeof(cl_ulong), &numbers[1]);
    }
    app_argument(move, 6, sizeof(speed), &speed);
}

int main(int count, char **words)
{
    static const struct app_option options[] = {{"--bodies", &bodies_each}, {0}};
    static const struct app_form forms[] = {{"mpi", run_mpi, false},       {"hybrid", run_hybrid, false},
                                            {"stream", run_stream, false}, {"control", run_control, false},
                                            {"kernel", run_kernel, false}, {"ggas", run_ggas, true}};
    struct app_problem problem = {"nbody", MOST_RANKS, 0, fill, sum, serial};

    app_open(count, words, options);
    open_bodies();
    problem.operations = (unsigned long)app.size * (unsigned long)app.size * bodies * bodies;
    app_run(&problem, forms, sizeof(forms) / sizeof(*forms));
    clReleaseKernel(pull);
    clReleaseKernel(move);
    clReleaseMemObject(force);
    clReleaseMemObject(speed);
    app_close();
    return 0;
}
