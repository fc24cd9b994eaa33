/*
 * 10 steps of 8192 bodies under gravity, ms, with their transfers: places and speeds to the device, a launch for each
 * step between two buffers of places, places back.
 */
#include "bench.h"

#include <math.h>

enum { BODIES = 8192, STEPS = 10, WIDTH = 16, GROUP = 8 };
#define TIME 0.001f
#define SOFTENING 0.01f

/* Bodies are four rows: x, y, z, mass. A work-item moves 16 of them, a vector register of a CPU. */
static const char *source =
    "kernel void advance(global const float *from, global float *to, global float *velocity, int bodies, float time,\n"
    "                    float softening)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    float16 x = vload16(i, from), y = vload16(i, from + bodies), z = vload16(i, from + 2 * bodies);\n"
    "    float16 pull_x = 0, pull_y = 0, pull_z = 0;\n"
    "    for (int k = 0; k < bodies; k++) {\n"
    "        float16 dx = from[k] - x, dy = from[bodies + k] - y, dz = from[2 * bodies + k] - z;\n"
    "        float16 near = native_rsqrt(dx * dx + dy * dy + dz * dz + softening);\n"
    "        float16 pull = from[3 * bodies + k] * near * near * near;\n"
    "        pull_x += dx * pull;\n"
    "        pull_y += dy * pull;\n"
    "        pull_z += dz * pull;\n"
    "    }\n"
    "    pull_x = vload16(i, velocity) + pull_x * time;\n"
    "    pull_y = vload16(i, velocity + bodies) + pull_y * time;\n"
    "    pull_z = vload16(i, velocity + 2 * bodies) + pull_z * time;\n"
    "    vstore16(pull_x, i, velocity);\n"
    "    vstore16(pull_y, i, velocity + bodies);\n"
    "    vstore16(pull_z, i, velocity + 2 * bodies);\n"
    "    vstore16(x + pull_x * time, i, to);\n"
    "    vstore16(y + pull_y * time, i, to + bodies);\n"
    "    vstore16(z + pull_z * time, i, to + 2 * bodies);\n"
    "    vstore16(vload16(i, from + 3 * bodies), i, to + 3 * bodies);\n"
    "}\n";

static float start[4][BODIES], result[4][BODIES], rest[3][BODIES];

static void simulate(const struct bench *b, cl_kernel kernel, cl_mem places[2], cl_mem velocity)
{
    cl_int bodies = BODIES;
    cl_float time = TIME, softening = SOFTENING;

    CHECK(clEnqueueWriteBuffer(b->queue, places[0], CL_FALSE, 0, sizeof(start), start, 0, NULL, NULL));
    CHECK(clEnqueueWriteBuffer(b->queue, velocity, CL_FALSE, 0, sizeof(rest), rest, 0, NULL, NULL));
    CHECK(clSetKernelArg(kernel, 2, sizeof(cl_mem), &velocity));
    CHECK(clSetKernelArg(kernel, 3, sizeof(bodies), &bodies));
    CHECK(clSetKernelArg(kernel, 4, sizeof(time), &time));
    CHECK(clSetKernelArg(kernel, 5, sizeof(softening), &softening));
    for (int step = 0; step < STEPS; step++) {
        CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &places[step % 2]));
        CHECK(clSetKernelArg(kernel, 1, sizeof(cl_mem), &places[1 - step % 2]));
        CHECK(clEnqueueNDRangeKernel(b->queue, kernel, 1, NULL, (size_t[]){BODIES / WIDTH}, (size_t[]){GROUP}, 0, NULL,
                                     NULL));
    }
    CHECK(clEnqueueReadBuffer(b->queue, places[STEPS % 2], CL_TRUE, 0, sizeof(result), result, 0, NULL, NULL));
}

/*
 * In so short a time a body's acceleration stays what it was at the start, within the tolerance; so how far it came
 * tells that every step was made.
 */
static void check_body(int body)
{
    double pull[3] = {0};
    for (int k = 0; k < BODIES; k++) {
        double way[3], square = SOFTENING;
        for (int axis = 0; axis < 3; axis++) {
            way[axis] = (double)start[axis][k] - (double)start[axis][body];
            square += way[axis] * way[axis];
        }
        for (int axis = 0; axis < 3; axis++)
            pull[axis] += way[axis] * (double)start[3][k] / (square * sqrt(square));
    }
    for (int axis = 0; axis < 3; axis++) {
        double wanted = pull[axis] * TIME * TIME * STEPS * (STEPS + 1) / 2;
        double difference = (double)result[axis][body] - (double)start[axis][body] - wanted;
        EXPECT(fabs(difference) < 0.02 * fabs(wanted) + 2e-6);
    }
}

int main(int count, char **words)
{
    struct series total = {0};
    struct bench b;
    bench_open(&b, count, words);
    cl_program program = bench_program(&b, source, "-cl-fast-relaxed-math");
    cl_kernel kernel = bench_kernel(program, "advance");
    cl_mem places[2] = {bench_buffer(&b, CL_MEM_READ_WRITE, sizeof(start)),
                        bench_buffer(&b, CL_MEM_READ_WRITE, sizeof(start))};
    cl_mem velocity = bench_buffer(&b, CL_MEM_READ_WRITE, sizeof(rest));
    bench_floats_fill(start[0], BODIES * 4, 7);
    for (int i = 0; i < BODIES; i++)
        start[3][i] /= BODIES;

    for (int round = -1; round < bench_rounds(&b, 21, 5); round++) {
        memset(result, 0, sizeof(result));
        double begin = bench_now();
        simulate(&b, kernel, places, velocity);
        double end = bench_now();
        for (int body = 0; body < BODIES; body += 512)
            check_body(body);
        if (round >= 0)
            series_add(&total, (end - begin) / 1e6);
    }
    series_report(&total, "nbody_8192x10_total", "ms");

    CHECK(clReleaseMemObject(velocity));
    CHECK(clReleaseMemObject(places[1]));
    CHECK(clReleaseMemObject(places[0]));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    bench_close(&b);
    return 0;
}
