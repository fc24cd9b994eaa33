/*
 * A kernel that kills the device (strict.c): waits for it return an error. Before that, arguments of wrong sizes, about
 * which nothing is known beyond what the driver accepts, in a program that strict.c does not build with every option.
 * Prints the results of the calls, except for the launch, whose error may come later.
 */
#include "tests/parity/parity.h"

static const char *source =
    "/* brittle: strict.c */ kernel void fault(global int *data, int number) { data[get_global_id(0)] = number; }\n";

int main(void)
{
    struct parity p;
    cl_kernel kernel;
    cl_mem buffer;

    parity_open(&p, 0);
    kernel = parity_kernel(parity_program(&p, source, "-DOPTION"), "fault");
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE, 4096, NULL);
    SHOW("a number of 8 bytes", clSetKernelArg(kernel, 1, sizeof(cl_long), &(cl_long){1}));
    SHOW("a number of 2 bytes", clSetKernelArg(kernel, 1, sizeof(cl_short), &(cl_short){1}));
    parity_args(kernel, 2, sizeof(buffer), &buffer, sizeof(cl_int), &(cl_int){1});
    SHOW("finish", clFinish(p.queue));
    CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, (size_t[]){1024}, NULL, 0, NULL, NULL));
    SHOW("finish behind it", clFinish(p.queue));
    return 0;
}
