/* Prints the device's memory, and what becomes of buffers of the largest size and beyond it. */
#include "tests/parity/parity.h"

static void create(const struct parity *p, cl_ulong size)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(p->context, CL_MEM_READ_WRITE, size, NULL, &status);

    printf("a buffer of %llu bytes: %s\n", (unsigned long long)size, parity_error_name(status));
    if (buffer)
        CHECK(clReleaseMemObject(buffer));
}

int main(void)
{
    struct parity p;
    cl_ulong memory, most;

    parity_open(&p, 0);
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL));
    CHECK(clGetDeviceInfo(p.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL));
    printf("%llu bytes, %llu at once\n", (unsigned long long)memory, (unsigned long long)most);
    create(&p, most);
    create(&p, most + 1);
    parity_close(&p);
    return 0;
}
