/*
 * How much faster several devices are than one, all in one context: n-body, where each device moves its share of the
 * bodies and all need all new positions for the next step, copied from device to device; and SGEMM, where each has its
 * share of the rows. Compare `--through "vocl run --workers 1 --"` with `--workers 2`, POCL_MAX_PTHREAD_COUNT=1 set: a
 * worker is then one core. Compiled in single and in double precision.
 */
#include "bench.h"

#include <math.h>

enum { MOST = 16, BODIES = 8192, STEPS = 10, ROWS = 1024 };

static const char *source =
    "kernel void advance(global const real4 *all, global real4 *own, global real4 *speed, int first, int bodies)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    real4 here = all[first + i], pull = 0;\n"
    "    for (int k = 0; k < bodies; k++) {\n"
    "        real4 way = all[k] - here;\n"
    "        real near = RSQRT(way.x * way.x + way.y * way.y + way.z * way.z + (real)0.01);\n"
    "        pull += way * (all[k].w * near * near * near);\n"
    "    }\n"
    "    pull.w = 0;\n"
    "    speed[i] += pull * (real)0.001;\n"
    "    own[i] = here + speed[i] * (real)0.001;\n"
    "}\n"
    "kernel void multiply(global const real *a, global const real4 *b, global real4 *c, int n)\n"
    "{\n"
    "    size_t column = get_global_id(0), row = get_global_id(1) * 4;\n"
    "    real4 sum[4] = {0, 0, 0, 0};\n"
    "    for (int k = 0; k < n; k++) {\n"
    "        real4 right = b[k * (n / 4) + column];\n"
    "        for (int r = 0; r < 4; r++)\n"
    "            sum[r] += a[(row + r) * n + k] * right;\n"
    "    }\n"
    "    for (int r = 0; r < 4; r++)\n"
    "        c[(row + r) * (n / 4) + column] = sum[r];\n"
    "}\n";

static struct bench b;
static cl_uint devices_count;
static cl_context context;
static cl_command_queue queues[MOST];
static real start[BODIES][4], result[BODIES][4], left[ROWS][ROWS], right[ROWS][ROWS], product[ROWS][ROWS];

static cl_mem buffer_new(size_t size)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);

    CHECK(status);
    return buffer;
}

static void finish_all(void)
{
    for (cl_uint d = 0; d < devices_count; d++)
        CHECK(clFlush(queues[d]));
    for (cl_uint d = 0; d < devices_count; d++)
        CHECK(clFinish(queues[d]));
}

/* Copies every device's results to every device; taken: the events after which a device may overwrite its own. */
static void exchange(cl_mem *own, cl_mem *all, size_t share, const cl_event *made, cl_event taken[MOST][MOST])
{
    for (cl_uint to = 0; to < devices_count; to++) {
        for (cl_uint from = 0; from < devices_count; from++)
            CHECK(clEnqueueCopyBuffer(queues[to], own[from], all[to], 0, from * share, share, 1, &made[from],
                                      &taken[from][to]));
    }
}

static void release(const cl_event *events)
{
    for (cl_uint d = 0; d < devices_count; d++)
        CHECK(clReleaseEvent(events[d]));
}

static void nbody(cl_kernel kernel, cl_mem *own, cl_mem *all, cl_mem *speed)
{
    const size_t bodies = BODIES / devices_count, share = bodies * sizeof(*start);
    const cl_int count = BODIES, steps = rounds_once() ? 3 : STEPS;
    static const real rest[BODIES][4];
    cl_event made[MOST], taken[MOST][MOST];

    for (cl_uint d = 0; d < devices_count; d++) {
        CHECK(clEnqueueWriteBuffer(queues[d], all[d], CL_FALSE, 0, sizeof(start), start, 0, NULL, NULL));
        CHECK(clEnqueueWriteBuffer(queues[d], speed[d], CL_FALSE, 0, share, rest, 0, NULL, NULL));
    }
    for (int step = 0; step < steps; step++) {
        for (cl_uint d = 0; d < devices_count; d++) {
            const cl_int first = (cl_int)(d * bodies);

            CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &all[d]));
            CHECK(clSetKernelArg(kernel, 1, sizeof(cl_mem), &own[d]));
            CHECK(clSetKernelArg(kernel, 2, sizeof(cl_mem), &speed[d]));
            CHECK(clSetKernelArg(kernel, 3, sizeof(first), &first));
            CHECK(clSetKernelArg(kernel, 4, sizeof(count), &count));
            CHECK(clEnqueueNDRangeKernel(queues[d], kernel, 1, NULL, &bodies, (size_t[]){64}, step ? devices_count : 0,
                                         step ? taken[d] : NULL, &made[d]));
            if (step)
                release(taken[d]);
        }
        exchange(own, all, share, made, taken);
        release(made);
    }
    for (cl_uint d = 0; d < devices_count; d++)
        release(taken[d]);
    for (cl_uint d = 0; d < devices_count; d++)
        CHECK(clEnqueueReadBuffer(queues[d], own[d], CL_FALSE, 0, share, result[d * bodies], 0, NULL, NULL));
    finish_all();
}

static void measure_nbody(cl_kernel kernel)
{
    const size_t share = BODIES / devices_count * sizeof(*start);
    struct series total = {0};
    cl_mem own[MOST], all[MOST], speed[MOST];

    bench_fill(start[0], BODIES * 4, 7);
    for (int i = 0; i < BODIES; i++)
        start[i][3] /= BODIES;
    for (cl_uint d = 0; d < devices_count; d++) {
        own[d] = buffer_new(share);
        all[d] = buffer_new(sizeof(start));
        speed[d] = buffer_new(share);
    }
    EACH_ROUND (round, 1, bench_rounds(&b, 5, 3)) {
        double begin = bench_now();

        nbody(kernel, own, all, speed);
        round_add(&round, &total, (bench_now() - begin) / 1e6);
        for (int body = 0; body < BODIES; body += 97)
            EXPECT(isfinite(result[body][0]) && fabs((double)result[body][0] - start[body][0]) < 1e-3f &&
                   memcmp(&result[body][0], &start[body][0], sizeof(real)) != 0);
    }
    series_report(&total, BENCH_PRECISION("scaled_nbody_8192x10", "scaled_nbody_double_8192x10"), "ms");
    for (cl_uint d = 0; d < devices_count; d++) {
        CHECK(clReleaseMemObject(own[d]));
        CHECK(clReleaseMemObject(all[d]));
        CHECK(clReleaseMemObject(speed[d]));
    }
}

static void measure_sgemm(cl_kernel kernel)
{
    const int times = rounds_once() ? 1 : 4;
    const size_t rows = ROWS / devices_count, share = rows * ROWS * sizeof(real);
    struct series total = {0};
    cl_mem a[MOST], whole[MOST], c[MOST];
    const cl_int n = ROWS;

    bench_fill(left[0], (size_t)ROWS * ROWS, 1);
    bench_fill(right[0], (size_t)ROWS * ROWS, 2);
    for (cl_uint d = 0; d < devices_count; d++) {
        a[d] = buffer_new(share);
        whole[d] = buffer_new(sizeof(right));
        c[d] = buffer_new(share);
    }
    EACH_ROUND (round, 1, bench_rounds(&b, 5, 3)) {
        double begin = bench_now();

        for (cl_uint d = 0; d < devices_count; d++) {
            CHECK(clEnqueueWriteBuffer(queues[d], a[d], CL_FALSE, 0, share, left[d * rows], 0, NULL, NULL));
            CHECK(clEnqueueWriteBuffer(queues[d], whole[d], CL_FALSE, 0, sizeof(right), right, 0, NULL, NULL));
            CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &a[d]));
            CHECK(clSetKernelArg(kernel, 1, sizeof(cl_mem), &whole[d]));
            CHECK(clSetKernelArg(kernel, 2, sizeof(cl_mem), &c[d]));
            CHECK(clSetKernelArg(kernel, 3, sizeof(n), &n));
            for (int i = 0; i < times; i++)
                CHECK(clEnqueueNDRangeKernel(queues[d], kernel, 2, NULL, (size_t[]){ROWS / 4, rows / 4},
                                             (size_t[]){16, 4}, 0, NULL, NULL));
            CHECK(clEnqueueReadBuffer(queues[d], c[d], CL_FALSE, 0, share, product[d * rows], 0, NULL, NULL));
        }
        finish_all();
        round_add(&round, &total, (bench_now() - begin) / 1e6);
        for (int i = 0; i < ROWS; i += 131) {
            double wanted = 0;

            for (int k = 0; k < ROWS; k++)
                wanted += (double)left[i][k] * (double)right[k][i];
            EXPECT(fabs((double)product[i][i] - wanted) < 1e-3 * wanted);
        }
    }
    series_report(&total, BENCH_PRECISION("scaled_sgemm_1024x4", "scaled_dgemm_1024x4"), "ms");
    for (cl_uint d = 0; d < devices_count; d++) {
        CHECK(clReleaseMemObject(a[d]));
        CHECK(clReleaseMemObject(whole[d]));
        CHECK(clReleaseMemObject(c[d]));
    }
}

int main(int count, char **words)
{
    cl_device_id devices[MOST];
    cl_int status;

    bench_open(&b, count, words);
    CHECK(clGetDeviceIDs(b.platform, CL_DEVICE_TYPE_ALL, MOST, devices, &devices_count));
    while (ROWS % (devices_count * 16) || devices_count > MOST)
        devices_count--;
    context = clCreateContext(NULL, devices_count, devices, NULL, NULL, &status);
    CHECK(status);
    for (cl_uint d = 0; d < devices_count; d++) {
        queues[d] = clCreateCommandQueueWithProperties(context, devices[d], NULL, &status);
        CHECK(status);
    }
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(clBuildProgram(program, 0, NULL,
                         BENCH_PRECISION("-Dreal=float -Dreal4=float4 -DRSQRT=native_rsqrt",
                                         "-Dreal=double -Dreal4=double4 -DRSQRT=rsqrt") " -cl-fast-relaxed-math",
                         NULL, NULL));
    cl_kernel advance = bench_kernel(program, "advance"), multiply = bench_kernel(program, "multiply");
    measure_nbody(advance);
    measure_sgemm(multiply);
    CHECK(clReleaseKernel(advance));
    CHECK(clReleaseKernel(multiply));
    CHECK(clReleaseProgram(program));
    for (cl_uint d = 0; d < devices_count; d++)
        CHECK(clReleaseCommandQueue(queues[d]));
    CHECK(clReleaseContext(context));
    bench_close(&b);
    return 0;
}
