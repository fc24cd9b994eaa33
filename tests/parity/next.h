/*
 * For programs whose commands are all launches of one kernel, each of which changes the result of the previous one, so
 * that the final contents show the order in which they ran.
 */
#ifndef VOCL_TESTS_NEXT_H
#define VOCL_TESTS_NEXT_H

#include "parity.h"

enum { COUNT = 4096 };

static const char *source = "kernel void next(global int *data, int factor, int more)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    data[i] = data[i] * factor + more;\n"
                            "}\n";

static struct parity p;
static cl_kernel kernel;
static cl_int zeros[COUNT], result[COUNT];

static inline cl_mem buffer_create(void)
{
    return parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(zeros), zeros);
}

static inline cl_event launch(cl_command_queue queue, cl_mem buffer, cl_int factor, cl_int more, cl_uint waits,
                              const cl_event *wait)
{
    cl_event event;

    parity_args(kernel, 3, sizeof(buffer), &buffer, sizeof(factor), &factor, sizeof(more), &more);
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, waits, wait, &event));
    return event;
}

static inline void result_check(const char *name, cl_mem buffer, cl_int wanted)
{
    parity_read(p.queue, buffer, 0, sizeof(result), result);
    for (int i = 0; i < COUNT; i++)
        EXPECT(result[i] == wanted);
    printf("%s: %d\n", name, wanted);
}

#endif
