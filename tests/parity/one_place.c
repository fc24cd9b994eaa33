/*
 * Reads into the same memory of the program, one after the other without waiting, and writes from there: the final
 * contents, and those whenever all commands are known to be complete, are those that the commands give one after the
 * other, of all sizes, from one queue and from two that wait for each other. The program computes what to expect.
 *
 *     one_place [ROUNDS]
 */
#include "parity.h"

enum { MEMORY = 4 << 20, STEPS = 40 };

static struct parity p;
static cl_command_queue queues[2];
static cl_mem from, to;
static unsigned char *memory, *wanted, *device_wanted, *device_has;
static uint32_t seed = 7;
static int rounds = 12;

static uint32_t below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % limit;
}

/* Draws a part of the memory: small, several pieces long, or nearly all. */
static void draw_part(size_t *at, size_t *size)
{
    static const uint32_t most[] = {4096, 100 << 10, 256 << 10, 300 << 10, 1 << 20, 3 << 20};

    *size = 1 + below(most[below(PARITY_COUNT(most))]);
    if (below(3) == 0)
        *size = most[below(PARITY_COUNT(most))];
    *at = below(4) ? below((uint32_t)(MEMORY - *size)) : 0;
}

/* Fills the device's buffer with value and reads it, or writes the memory to another buffer. Each step waits for the
 * one before. */
static cl_event step(cl_command_queue queue, unsigned char value, cl_event before)
{
    size_t at, size;
    cl_event filled = NULL, event = NULL;

    draw_part(&at, &size);
    if (below(4)) {
        CHECK(clEnqueueFillBuffer(queue, from, &value, 1, 0, size, before != NULL, before ? &before : NULL, &filled));
        CHECK(clEnqueueReadBuffer(queue, from, CL_FALSE, 0, size, memory + at, 1, &filled, &event));
        memset(wanted + at, value, size);
        CHECK(clReleaseEvent(filled));
    } else {
        CHECK(clEnqueueWriteBuffer(queue, to, CL_FALSE, at, size, memory + at, before != NULL, before ? &before : NULL,
                                   &event));
        memcpy(device_wanted + at, wanted + at, size);
    }
    if (before)
        CHECK(clReleaseEvent(before));
    return event;
}

static void run(const char *name, unsigned count, bool gated)
{
    for (int round = 0; round < rounds; round++) {
        cl_event gate = gated ? parity_gate(&p) : NULL, last = gate;

        if (gate)
            CHECK(clRetainEvent(gate));
        for (int i = 0; i < STEPS; i++)
            last = step(queues[(unsigned)i % count], (unsigned char)(round * STEPS + i), last);
        for (unsigned i = 0; i < count; i++)
            CHECK(clFlush(queues[i]));
        parity_rich();
        if (gate) {
            CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
            CHECK(clReleaseEvent(gate));
        }
        CHECK(clWaitForEvents(1, &last));
        CHECK(clReleaseEvent(last));
        EXPECT(!memcmp(memory, wanted, MEMORY));
    }
    parity_read(p.queue, to, 0, MEMORY, device_has);
    EXPECT(!memcmp(device_has, device_wanted, MEMORY));
    printf("%s: right\n", name);
}

/* The memory keeps what an event's command has left until a later command may start. */
static void run_by_turns(void)
{
    unsigned char value = 1;

    for (int round = 0; round < rounds; round++, value += 3) {
        const size_t size = below(2) ? 3 << 20 : 200 << 10;
        cl_event gate = parity_gate(&p), read;

        CHECK(clEnqueueFillBuffer(p.queue, from, &value, 1, 0, size, 0, NULL, NULL));
        CHECK(clEnqueueReadBuffer(p.queue, from, CL_FALSE, 0, size, memory, 0, NULL, NULL));
        CHECK(clEnqueueFillBuffer(p.queue, from, &(unsigned char){(unsigned char)(value + 1)}, 1, 0, size, 0, NULL,
                                  NULL));
        CHECK(clEnqueueReadBuffer(p.queue, from, CL_FALSE, 0, size, memory, 0, NULL, &read));
        CHECK(clEnqueueFillBuffer(queues[1], from, &(unsigned char){(unsigned char)(value + 2)}, 1, 0, size, 1, &gate,
                                  NULL));
        CHECK(clEnqueueReadBuffer(queues[1], from, CL_FALSE, 0, size, memory, 0, NULL, NULL));
        CHECK(clFlush(queues[1]));
        CHECK(clWaitForEvents(1, &read));
        EXPECT(memory[0] == (unsigned char)(value + 1) && !memcmp(memory, memory + 1, size - 1));
        CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
        CHECK(clFinish(queues[1]));
        EXPECT(memory[0] == (unsigned char)(value + 2) && !memcmp(memory, memory + 1, size - 1));
        CHECK(clReleaseEvent(gate));
        CHECK(clReleaseEvent(read));
    }
    printf("by turns: right\n");
}

int main(int count, char **words)
{
    if (count > 1)
        rounds = atoi(words[1]);
    parity_open(&p, 0);
    queues[0] = p.queue;
    queues[1] = parity_queue(&p, 0);
    memory = calloc(1, MEMORY);
    wanted = calloc(1, MEMORY);
    device_wanted = calloc(1, MEMORY);
    device_has = calloc(1, MEMORY);
    from = parity_buffer(&p, CL_MEM_READ_WRITE, MEMORY, NULL);
    to = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, MEMORY, device_wanted);
    run("one queue", 1, false);
    run("one queue, gated", 1, true);
    run("two queues", 2, false);
    run("two queues, gated", 2, true);
    run_by_turns();
    CHECK(clReleaseMemObject(from));
    CHECK(clReleaseMemObject(to));
    CHECK(clReleaseCommandQueue(queues[1]));
    free(memory);
    free(wanted);
    free(device_wanted);
    free(device_has);
    parity_close(&p);
    return 0;
}
