/*
 * burn LENGTH [IDLE [MIB [wait]]]: launches kernels, many at a time, and prints how many ran. With IDLE it then stays
 * idle, its session open, with a buffer of MIB MiB. LENGTH and IDLE are seconds or a file, see length.h. wait: prints
 * "ready" when everything is prepared, and begins when standard input ends.
 */
#include "tests/length.h"
#include "tests/parity/parity.h"
#include "tests/pool/begin.h"

enum { AT_A_TIME = 16 };

static const char *source = "kernel void burn(global float *to, int times)\n"
                            "{\n"
                            "    float sum = get_global_id(0);\n"
                            "    for (int i = 0; i < times; i++)\n"
                            "        sum = sum * 0.999f + 1;\n"
                            "    to[get_global_id(0)] = sum;\n"
                            "}\n";

int main(int count, char **words)
{
    const char *length = count > 1 ? words[1] : "1";
    const size_t size = 4096, more = count > 3 ? (size_t)atol(words[3]) << 20 : 1;
    const cl_int times = 3000;
    struct parity p;
    long launches = 0;

    parity_open(&p, 0);
    cl_program program = parity_program(&p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "burn");
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE, size * sizeof(float), NULL);
    cl_mem ballast = parity_buffer(&p, CL_MEM_READ_WRITE, more ? more : 1, NULL);
    parity_args(kernel, 2, sizeof(buffer), &buffer, sizeof(times), &times);
    if (count > 4)
        begin_when_told();
    for (double began = length_now(); !length_is_over(length, began); launches += AT_A_TIME) {
        for (int i = 0; i < AT_A_TIME; i++)
            CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
        CHECK(clFinish(p.queue));
    }
    printf("%ld\n", launches);
    fflush(stdout);
    for (double began = length_now(); count > 2 && !length_is_over(words[2], began);)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    CHECK(clReleaseMemObject(ballast));
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
