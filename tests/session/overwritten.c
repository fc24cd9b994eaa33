/*
 * overwritten CASE FILE: kernels each write half of a write-only buffer, and other commands read it in between. Prints
 * "ready" when all commands are enqueued, continues when FILE exists, and prints the contents of all buffers.
 *
 *     again   the first kernel takes seconds
 *     gated   all commands wait for a user event that is set last
 *     both    the last kernel changes another buffer, too, and reads a third one, which is overwritten afterwards
 *     threads several threads do this, each with a queue of its own, again and again until FILE exists
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/session/moved.h"

enum { COUNT = 1024, SIZE = COUNT * 4, LONG = 1000000000, THREADS = 3, ROUNDS = 10 };

static const char *source =
    "kernel void fill(global uint *to, uint half_, uint with, uint spin) {\n"
    "    size_t i = get_global_id(0); uint x = with;\n"
    "    if (i == half_) for (uint k = 0; k < spin; k++) x = x * 1664525 + 1013904223;\n"
    "    to[2 * i + half_] = with + (x == 12345); }\n"
    "kernel void change(global uint *changes, global uint *to, global const uint *from, uint half_) {\n"
    "    size_t i = get_global_id(0); changes[i] = changes[i] * 3 + 1; to[2 * i + half_] = from[i] + 5; }\n";

static cl_context context;
static cl_device_id device;
static _Thread_local cl_command_queue queue;
static _Thread_local cl_kernel fill, change;
static pthread_barrier_t all_have_begun;
static const size_t half = COUNT / 2;

static cl_mem make(cl_mem_flags flags, cl_uint seed)
{
    cl_uint contents[COUNT];
    cl_int error;
    cl_mem buffer;

    for (cl_uint i = 0; i < COUNT; i++)
        contents[i] = seed * COUNT + i;
    buffer = clCreateBuffer(context, flags | CL_MEM_COPY_HOST_PTR, SIZE, contents, &error);
    NEED(error);
    return buffer;
}

static void run_fill(cl_mem to, cl_uint which, cl_uint with, cl_uint spin)
{
    NEED(clSetKernelArg(fill, 0, sizeof(to), &to));
    NEED(clSetKernelArg(fill, 1, sizeof(which), &which));
    NEED(clSetKernelArg(fill, 2, sizeof(with), &with));
    NEED(clSetKernelArg(fill, 3, sizeof(spin), &spin));
    NEED(clEnqueueNDRangeKernel(queue, fill, 1, NULL, &half, NULL, 0, NULL, NULL));
}

static void run_change(cl_mem changes, cl_mem to, cl_mem from)
{
    const cl_uint which = 1;

    NEED(clSetKernelArg(change, 0, sizeof(changes), &changes));
    NEED(clSetKernelArg(change, 1, sizeof(to), &to));
    NEED(clSetKernelArg(change, 2, sizeof(from), &from));
    NEED(clSetKernelArg(change, 3, sizeof(which), &which));
    NEED(clEnqueueNDRangeKernel(queue, change, 1, NULL, &half, NULL, 0, NULL, NULL));
}

static void copy(cl_mem from, cl_mem to)
{
    NEED(clEnqueueCopyBuffer(queue, from, to, 0, 0, SIZE, 0, NULL, NULL));
}

static void print(const char *name, cl_mem buffer)
{
    cl_uint contents[COUNT];
    unsigned long long sum = 0;

    NEED(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, contents, 0, NULL, NULL));
    for (cl_uint i = 0; i < COUNT; i++)
        sum = sum * 31 + contents[i];
    printf("%s: %u %u %u %u ... %llu\n", name, contents[0], contents[1], contents[2], contents[3], sum);
}

static void make_kernels(void)
{
    fill = kernel_from(context, source, "fill");
    change = kernel_from(context, source, "change");
}

static void *keep_overwriting(void *argument)
{
    const char *file = argument;
    cl_mem written, seen;
    cl_uint contents[COUNT];
    cl_int error;

    queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    NEED(error);
    make_kernels();
    written = make(CL_MEM_WRITE_ONLY, 1);
    seen = make(CL_MEM_READ_WRITE, 2);
    run_fill(written, 1, 0, 0);
    for (cl_uint round = 1; round % ROUNDS || access(file, F_OK); round++) {
        run_fill(written, 0, round, 0);
        copy(written, seen);
        run_fill(written, 1, round, 0);
        if (round == 1)
            pthread_barrier_wait(&all_have_begun);
        if (round % ROUNDS)
            continue;
        breathe();
        NEED(clEnqueueReadBuffer(queue, seen, CL_TRUE, 0, SIZE, contents, 0, NULL, NULL));
        for (cl_uint i = 0; i < COUNT; i++) {
            if (contents[i] == round - i % 2)
                continue;
            printf("round %u: %u at %u\n", round, contents[i], i);
            exit(1);
        }
    }
    NEED(clFinish(queue));
    return NULL;
}

static int in_threads(char *file)
{
    pthread_t threads[THREADS];

    pthread_barrier_init(&all_have_begun, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, keep_overwriting, file);
    pthread_barrier_wait(&all_have_begun);
    say("ready");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

int main(int count, char **arguments)
{
    cl_mem written, changes, from, seen, last;
    cl_event gate = NULL;
    cl_int error;

    if (count < 3)
        return 2;
    open_first(&device, &context, &queue);
    make_kernels();
    if (!strcmp(arguments[1], "threads"))
        return in_threads(arguments[2]);
    written = make(CL_MEM_WRITE_ONLY, 1);
    from = make(CL_MEM_WRITE_ONLY, 2);
    changes = make(CL_MEM_READ_WRITE, 3);
    seen = make(CL_MEM_READ_WRITE, 4);
    last = make(CL_MEM_READ_WRITE, 5);
    run_fill(from, 0, 7, 0);
    NEED(clFinish(queue));
    if (!strcmp(arguments[1], "gated")) {
        gate = clCreateUserEvent(context, &error);
        NEED(error);
        NEED(clEnqueueBarrierWithWaitList(queue, 1, &gate, NULL));
    }
    run_fill(written, 0, 70, strcmp(arguments[1], "again") ? 0 : LONG);
    copy(written, seen);
    if (!strcmp(arguments[1], "both")) {
        NEED(clFinish(queue));
        run_change(changes, written, from);
        run_fill(from, 1, 9, 0);
        NEED(clFinish(queue));
    } else {
        run_fill(written, 1, 71, 0);
    }
    copy(written, last);
    NEED(clFlush(queue));
    say("ready");
    wait_for(arguments[2]);
    if (gate)
        NEED(clSetUserEventStatus(gate, CL_COMPLETE));
    print("written", written);
    print("changes", changes);
    print("from", from);
    print("seen", seen);
    print("last", last);
    return 0;
}
