/*
 * A program with all objects open and nothing to do, for benchmarks/idle: it queries the devices, runs one kernel,
 * prints "ready", and sleeps for the given number of seconds.
 */
#include "bench.h"

#include <unistd.h>

static const char *source = "kernel void set(global int *buffer)\n"
                            "{\n"
                            "    buffer[get_global_id(0)] = 42;\n"
                            "}\n";

int main(int count, char **words)
{
    struct bench b;
    int seconds = count == 2 ? atoi(words[1]) : 0;
    cl_int result;

    if (seconds < 1) {
        fprintf(stderr, "usage: %s SECONDS\n", words[0]);
        return 2;
    }
    bench_open(&b, 1, words);
    cl_program program = bench_program(&b, source, NULL);
    cl_kernel kernel = bench_kernel(program, "set");
    cl_mem buffer = bench_buffer(&b, CL_MEM_READ_WRITE, 4096);
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    CHECK(clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, (size_t[]){1024}, (size_t[]){64}, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(b.queue, buffer, CL_TRUE, 0, sizeof(result), &result, 0, NULL, NULL));
    EXPECT(result == 42);
    puts("ready");
    fflush(stdout);
    sleep((unsigned)seconds);

    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    bench_close(&b);
    return 0;
}
