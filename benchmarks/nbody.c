/*
 * 10 steps of n bodies under gravity, ms, with their transfers: positions and speeds to the device, a launch for each
 * step between two buffers of positions, positions back. Compiled in single and in double precision.
 */
#include "bench.h"

#include <math.h>

enum { STEPS = 10, GROUP = 8 };
#define TIME ((real)0.001)
#define SOFTENING ((real)0.01)

/* Bodies are four rows: x, y, z, mass. A work-item moves as many bodies as a vector register of a CPU holds. */
static const char *source =
    "kernel void advance(global const real *from, global real *to, global real *velocity, int bodies, real time,\n"
    "                    real softening)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    vector x = vector_load(i, from), y = vector_load(i, from + bodies), z = vector_load(i, from + 2 * bodies);\n"
    "    vector pull_x = 0, pull_y = 0, pull_z = 0;\n"
    "    for (int k = 0; k < bodies; k++) {\n"
    "        vector dx = from[k] - x, dy = from[bodies + k] - y, dz = from[2 * bodies + k] - z;\n"
    "        vector near = RSQRT(dx * dx + dy * dy + dz * dz + softening);\n"
    "        vector pull = from[3 * bodies + k] * near * near * near;\n"
    "        pull_x += dx * pull;\n"
    "        pull_y += dy * pull;\n"
    "        pull_z += dz * pull;\n"
    "    }\n"
    "    pull_x = vector_load(i, velocity) + pull_x * time;\n"
    "    pull_y = vector_load(i, velocity + bodies) + pull_y * time;\n"
    "    pull_z = vector_load(i, velocity + 2 * bodies) + pull_z * time;\n"
    "    vector_store(pull_x, i, velocity);\n"
    "    vector_store(pull_y, i, velocity + bodies);\n"
    "    vector_store(pull_z, i, velocity + 2 * bodies);\n"
    "    vector_store(x + pull_x * time, i, to);\n"
    "    vector_store(y + pull_y * time, i, to + bodies);\n"
    "    vector_store(z + pull_z * time, i, to + 2 * bodies);\n"
    "    vector_store(vector_load(i, from + 3 * bodies), i, to + 3 * bodies);\n"
    "}\n";

static struct bench b;
static cl_kernel kernel;
static real *start, *result, *rest; /* positions and masses, positions, speeds */

static void simulate(cl_int bodies, cl_mem places[2], cl_mem velocity)
{
    const size_t row = (size_t)bodies * sizeof(real);
    const real time = TIME, softening = SOFTENING;

    CHECK(clEnqueueWriteBuffer(b.queue, places[0], CL_FALSE, 0, 4 * row, start, 0, NULL, NULL));
    CHECK(clEnqueueWriteBuffer(b.queue, velocity, CL_FALSE, 0, 3 * row, rest, 0, NULL, NULL));
    CHECK(clSetKernelArg(kernel, 2, sizeof(cl_mem), &velocity));
    CHECK(clSetKernelArg(kernel, 3, sizeof(bodies), &bodies));
    CHECK(clSetKernelArg(kernel, 4, sizeof(time), &time));
    CHECK(clSetKernelArg(kernel, 5, sizeof(softening), &softening));
    for (int step = 0; step < STEPS; step++) {
        CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &places[step % 2]));
        CHECK(clSetKernelArg(kernel, 1, sizeof(cl_mem), &places[1 - step % 2]));
        CHECK(clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, (size_t[]){(size_t)bodies / LANES}, (size_t[]){GROUP}, 0,
                                     NULL, NULL));
    }
    CHECK(clEnqueueReadBuffer(b.queue, places[STEPS % 2], CL_TRUE, 0, 4 * row, result, 0, NULL, NULL));
}

/*
 * In so short a time a body's acceleration is constant within the tolerance, so the distance that it has moved shows
 * whether every step was made.
 */
static void check_body(int bodies, int body)
{
    double pull[3] = {0};
    for (int k = 0; k < bodies; k++) {
        double way[3], square = (double)SOFTENING;
        for (int axis = 0; axis < 3; axis++) {
            way[axis] = (double)start[axis * bodies + k] - (double)start[axis * bodies + body];
            square += way[axis] * way[axis];
        }
        for (int axis = 0; axis < 3; axis++)
            pull[axis] += way[axis] * (double)start[3 * bodies + k] / (square * sqrt(square));
    }
    for (int axis = 0; axis < 3; axis++) {
        double wanted = pull[axis] * (double)(TIME * TIME) * STEPS * (STEPS + 1) / 2;
        double difference = (double)result[axis * bodies + body] - (double)start[axis * bodies + body] - wanted;
        EXPECT(fabs(difference) < 0.02 * fabs(wanted) + 2e-6);
    }
}

static void measure(int bodies, int rounds)
{
    const size_t row = (size_t)bodies * sizeof(real);
    cl_mem places[2] = {bench_buffer(&b, CL_MEM_READ_WRITE, 4 * row), bench_buffer(&b, CL_MEM_READ_WRITE, 4 * row)};
    cl_mem velocity = bench_buffer(&b, CL_MEM_READ_WRITE, 3 * row);
    struct series total = {0};

    start = bench_memory(4 * row);
    result = bench_memory(4 * row);
    rest = bench_memory(3 * row);
    memset(rest, 0, 3 * row);
    bench_fill(start, (size_t)bodies * 4, 7);
    for (int i = 0; i < bodies; i++)
        start[3 * bodies + i] /= (real)bodies;
    EACH_ROUND (round, 1, rounds) {
        memset(result, 0, 4 * row);
        double begin = bench_now();
        simulate(bodies, places, velocity);
        double end = bench_now();
        for (int body = 0; body < bodies; body += bodies / 16)
            check_body(bodies, body);
        round_add(&round, &total, (end - begin) / 1e6);
    }
    series_report(&total, bench_name(BENCH_PRECISION("nbody", "nbody_double"), bodies, "total"), "ms");
    CHECK(clReleaseMemObject(velocity));
    CHECK(clReleaseMemObject(places[1]));
    CHECK(clReleaseMemObject(places[0]));
    free(rest);
    free(result);
    free(start);
}

int main(int count, char **words)
{
    bench_open(&b, count, words);
    cl_program program = bench_program(
        &b, source, BENCH_REALS BENCH_PRECISION(" -DRSQRT=native_rsqrt", " -DRSQRT=rsqrt") " -cl-fast-relaxed-math");
    kernel = bench_kernel(program, "advance");
    EACH_SIZE (bodies, &b, 2048, 8192, 16384)
        measure(bodies, b.quick ? 5 : bodies <= 8192 ? 11 : 5);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    bench_close(&b);
    return 0;
}
