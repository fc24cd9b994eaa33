/* Makes out-of-order queues, launches a kernel in each, waits for it, and releases the queue at once. */
#include "tests/parity/parity.h"

#define QUEUES 2000

int main(void)
{
    const size_t size = 1 << 19;
    struct parity p;
    cl_kernel kernel;
    cl_mem buffer;
    cl_int number = 0;

    parity_open(&p, 0);
    kernel = parity_kernel(parity_program(&p, "kernel void next(global int *data) { data[get_global_id(0)]++; }", NULL),
                           "next");
    buffer = parity_buffer(&p, CL_MEM_READ_WRITE, size * sizeof(number), NULL);
    parity_args(kernel, 1, sizeof(buffer), &buffer);
    CHECK(clEnqueueFillBuffer(p.queue, buffer, &number, sizeof(number), 0, size * sizeof(number), 0, NULL, NULL));
    CHECK(clFinish(p.queue));
    for (int i = 0; i < QUEUES; i++) {
        cl_command_queue queue = parity_queue(&p, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);

        CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
        CHECK(clFinish(queue));
        CHECK(clReleaseCommandQueue(queue));
    }
    parity_read(p.queue, buffer, (size - 1) * sizeof(number), sizeof(number), &number);
    printf("%d launches\n", number);
    return 0;
}
