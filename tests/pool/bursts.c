/*
 * bursts MIB ROUNDS PAUSE: works with MIB MiB, in buffers of 16 MiB, pauses for PAUSE (seconds or a file, see
 * length.h), and so on; then checks their contents. Prints a line for each round, and "right" at the end.
 */
#include "tests/length.h"
#include "tests/parity/parity.h"

enum { ONE = 16 << 20, MOST = 1024 };

static const char *source = "kernel void work(global uint *data)\n"
                            "{\n"
                            "    data[get_global_id(0)] = data[get_global_id(0)] * 3 + (uint)get_global_id(0);\n"
                            "}\n";

/* Returns the value of an element after so many rounds. */
static cl_uint expect(size_t at, int rounds)
{
    cl_uint value = 7;

    for (int i = 0; i < rounds; i++)
        value = value * 3 + (cl_uint)at;
    return value;
}

int main(int count, char **words)
{
    const unsigned buffers = count > 1 ? (unsigned)(atoi(words[1]) + 15) / 16 : 1;
    const int rounds = count > 2 ? atoi(words[2]) : 3;
    const char *pause = count > 3 ? words[3] : "1";
    const size_t items = ONE / sizeof(cl_uint);
    const cl_uint seven = 7;
    cl_uint *data = malloc(ONE);
    cl_mem memory[MOST];
    struct parity p;
    bool right = true;

    if (!data || buffers > MOST)
        return 2;
    parity_open(&p, 0);
    cl_program program = parity_program(&p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "work");
    for (unsigned i = 0; i < buffers; i++) {
        memory[i] = parity_buffer(&p, CL_MEM_READ_WRITE, ONE, NULL);
        CHECK(clEnqueueFillBuffer(p.queue, memory[i], &seven, sizeof(seven), 0, ONE, 0, NULL, NULL));
    }
    for (int round = 1; round <= rounds; round++) {
        for (unsigned i = 0; i < buffers; i++) {
            parity_args(kernel, 1, sizeof(memory[i]), &memory[i]);
            CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
        }
        CHECK(clFinish(p.queue));
        printf("round %d\n", round);
        fflush(stdout);
        for (double began = length_now(); !length_is_over(pause, began);)
            nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
    for (unsigned i = 0; i < buffers; i++) {
        CHECK(clEnqueueReadBuffer(p.queue, memory[i], CL_TRUE, 0, ONE, data, 0, NULL, NULL));
        for (size_t k = 0; k < items && right; k++)
            right = data[k] == expect(k, rounds);
        CHECK(clReleaseMemObject(memory[i]));
    }
    puts(right ? "right" : "wrong");
    free(data);
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return !right;
}
