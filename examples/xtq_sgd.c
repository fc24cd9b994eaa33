/*
 * Data-parallel stochastic gradient descent: each rank has its own samples of y = w.x and computes the gradient on a
 * batch of them; an allreduce sums the gradients, and all ranks take the same step. With an argument, a persistent
 * kernel on the first OpenCL device computes the sums.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <xtq.h>

enum { FEATURES = 64, SAMPLES = 2048, BATCH = 64, STEPS = 400 };

static float inputs[SAMPLES][FEATURES], outputs[SAMPLES], model[FEATURES], gradient[FEATURES + 1];

static float random_float(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1 << 24) - 0.5f;
}

/* All ranks look for the same w, with different samples. */
static void make_samples(int rank)
{
    uint32_t truth = 1, own = (uint32_t)rank + 100;
    float w[FEATURES];

    for (int k = 0; k < FEATURES; k++)
        w[k] = random_float(&truth);
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < FEATURES; k++) {
            inputs[i][k] = random_float(&own);
            outputs[i] += w[k] * inputs[i][k];
        }
    }
}

/* The last element is the batch's squared error. */
static void compute_gradient(int step)
{
    for (int k = 0; k <= FEATURES; k++)
        gradient[k] = 0;
    for (int s = 0; s < BATCH; s++) {
        const float *x = inputs[(step * BATCH + s) % SAMPLES];
        float error = -outputs[(step * BATCH + s) % SAMPLES];

        for (int k = 0; k < FEATURES; k++)
            error += model[k] * x[k];
        for (int k = 0; k < FEATURES; k++)
            gradient[k] += error * x[k];
        gradient[FEATURES] += error * error;
    }
}

static int train(struct xtq_collectives *c, int rank, int size)
{
    for (int step = 0; step < STEPS; step++) {
        int error;

        compute_gradient(step);
        error = xtq_allreduce(c, gradient, gradient, FEATURES + 1, XTQ_FLOAT, XTQ_SUM);
        if (error)
            return error;
        for (int k = 0; k < FEATURES; k++)
            model[k] -= 2.0f / (float)(BATCH * size) * gradient[k];
        if (rank == 0 && step % 100 == 99)
            printf("step %d: loss %.2e\n", step + 1, (double)(gradient[FEATURES] / (float)(BATCH * size)));
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct xtq_collectives_options options = {.queue = 0, .first_index = 0, .engine = XTQ_HOST};
    struct xtq_collectives *c = NULL;
    cl_platform_id platform;
    struct xtq *x = NULL;
    int rank, level, error = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    make_samples(rank);
    if (argc > 1) {
        options.engine = XTQ_DEVICE;
        if (clGetPlatformIDs(1, &platform, NULL) ||
            clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &options.device, NULL))
            error = CL_DEVICE_NOT_FOUND;
        else
            options.context = clCreateContext(NULL, 1, &options.device, NULL, NULL, &error);
    }
    if (!error)
        error = xtq_init(MPI_COMM_WORLD, NULL, &x);
    if (!error)
        error = xtq_collectives_open(x, &options, &c);
    if (!error)
        error = train(c, rank, xtq_size(x));
    if (error) {
        fprintf(stderr, "rank %d: error %d\n", rank, error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    xtq_collectives_close(c);
    xtq_finalize(x);
    if (options.context)
        clReleaseContext(options.context);
    MPI_Finalize();
    return 0;
}
