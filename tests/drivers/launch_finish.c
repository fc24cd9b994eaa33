/* Launches a kernel 50 times, and waits each time by clFinish. */
#include "tests/parity/parity.h"

int main(void)
{
    struct parity p;
    cl_kernel kernel;
    cl_int number = 0;
    cl_mem buffer;

    parity_open(&p, 0);
    kernel = parity_kernel(parity_program(&p, "kernel void next(global int *data) { data[0]++; }", NULL), "next");
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(number), &number);
    parity_args(kernel, 1, sizeof(buffer), &buffer);
    for (int i = 0; i < 50; i++) {
        CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, (size_t[]){1}, NULL, 0, NULL, NULL));
        CHECK(clFinish(p.queue));
    }
    parity_read(p.queue, buffer, 0, sizeof(number), &number);
    printf("%d launches\n", number);
    return 0;
}
