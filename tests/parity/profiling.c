/*
 * The profiling times of reads and writes of all kinds include the transfer: they imply no rate that no memory has, and
 * are not longer than the elapsed time. Sizes and queues of every kind.
 */
#include "parity.h"

#include <time.h>

enum { LARGEST = 16 << 20 };

static struct parity p;
static cl_mem buffer;
static char *memory;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static cl_event enqueue(cl_command_queue queue, int kind, size_t bytes)
{
    const size_t origin[3] = {0}, region[3] = {bytes / 2, 2, 1};
    cl_event event;

    if (kind == 0)
        CHECK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, bytes, memory, 0, NULL, &event));
    else if (kind == 1)
        CHECK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, bytes, memory, 0, NULL, &event));
    else if (kind == 2)
        CHECK(clEnqueueWriteBufferRect(queue, buffer, CL_FALSE, origin, origin, region, bytes, 0, bytes, 0, memory, 0,
                                       NULL, &event));
    else
        CHECK(clEnqueueReadBufferRect(queue, buffer, CL_FALSE, origin, origin, region, bytes, 0, bytes, 0, memory, 0,
                                      NULL, &event));
    return event;
}

static void measure(cl_command_queue queue, const char *name, int kind, size_t bytes)
{
    cl_ulong times[4], complete;
    double begun = now_ns(), passed;
    cl_event event = enqueue(queue, kind, bytes);

    parity_rich();
    CHECK(clWaitForEvents(1, &event));
    passed = now_ns() - begun;
    for (cl_uint i = 0; i < 4; i++)
        CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, sizeof(cl_ulong), &times[i], NULL));
    complete = times[3];
    if (parity_version(&p) >= 200)
        CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_COMPLETE, sizeof(complete), &complete, NULL));
    EXPECT(times[0] <= times[1] && times[1] <= times[2] && times[2] <= times[3] && times[3] <= complete);
    EXPECT((double)(times[3] - times[0]) <= passed);
    if (bytes >= 1 << 20) /* no faster than 1 TB/s */
        EXPECT((double)(times[3] - times[2]) > (double)bytes / 1000);
    printf("%s, kind %d, %zu bytes: good times\n", name, kind, bytes);
    CHECK(clReleaseEvent(event));
}

int main(void)
{
    cl_command_queue loose;

    parity_open(&p, CL_QUEUE_PROFILING_ENABLE);
    loose = parity_queue(&p, CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE, LARGEST * 2, NULL);
    memory = calloc(2, LARGEST);
    EXPECT(memory);
    for (size_t bytes = 16; bytes <= LARGEST; bytes *= 16) {
        for (int kind = 0; kind < 4; kind++) {
            measure(p.queue, "in order", kind, bytes);
            measure(loose, "out of order", kind, bytes);
        }
    }
    free(memory);
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseCommandQueue(loose));
    parity_close(&p);
    return 0;
}
