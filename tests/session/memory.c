/*
 * memory locked | core: with "locked", a program that locks all its memory before its first OpenCL call and again after
 * it. With "core", a program that dies and leaves a core dump, which must hold its own memory (including memory under a
 * buffer) and not the contents of buffers.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/parity/parity.h"

enum { SIZE = 64 << 20 };

static const char *source = "kernel void add(global uint *data) { data[get_global_id(0)] += 1; }\n";

static size_t resident(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    size_t kilobytes = 0;

    while (status && fgets(line, sizeof(line), status))
        sscanf(line, "VmRSS: %zu", &kilobytes);
    if (status)
        fclose(status);
    return kilobytes >> 10;
}

static void locked(const struct parity *p, cl_kernel add)
{
    const size_t count = 100000;
    cl_uint *data = calloc(count, sizeof(*data));
    cl_mem buffer;

    EXPECT(!mlockall(MCL_CURRENT | MCL_FUTURE));
    buffer = parity_buffer(p, CL_MEM_USE_HOST_PTR, count * sizeof(*data), data);
    parity_args(add, 1, sizeof(buffer), &buffer);
    CHECK(clEnqueueNDRangeKernel(p->queue, add, 1, NULL, &count, NULL, 0, NULL, NULL));
    CHECK(clFinish(p->queue));
    printf("%u, ", data[count - 1]);
    CHECK(clReleaseMemObject(buffer));
    buffer = parity_buffer(p, CL_MEM_COPY_HOST_PTR, count * sizeof(*data), data);
    parity_read(p->queue, buffer, 0, count * sizeof(*data), data);
    printf("%u, %zu MiB\n", data[count - 1], resident());
    CHECK(clReleaseMemObject(buffer));
    free(data);
}

static void dies(const struct parity *p, cl_kernel add)
{
    const size_t count = 100000;
    char *contents = malloc(SIZE), *own = malloc(count * 4);
    cl_mem buffer = parity_buffer(p, 0, SIZE, NULL);
    cl_mem over = parity_buffer(p, CL_MEM_USE_HOST_PTR, count * 4, own);

    for (size_t i = 0; i < SIZE; i += 16)
        memcpy(contents + i, "Vof the buffer's", 16);
    parity_write(p->queue, buffer, 0, SIZE, contents);
    free(contents);
    parity_args(add, 1, sizeof(over), &over);
    CHECK(clEnqueueNDRangeKernel(p->queue, add, 1, NULL, &count, NULL, 0, NULL, NULL));
    CHECK(clFinish(p->queue));
    for (size_t i = 0; i < count * 4; i += 16)
        memcpy(own + i, "Vof the program'", 16);
    abort();
}

int main(int argc, char **argv)
{
    struct parity p;
    cl_program program;
    cl_kernel add;

    if (argc > 1 && !strcmp(argv[1], "locked"))
        EXPECT(!mlockall(MCL_CURRENT | MCL_FUTURE));
    parity_open(&p, 0);
    program = parity_program(&p, source, NULL);
    add = parity_kernel(program, "add");
    if (argc > 1 && !strcmp(argv[1], "locked"))
        locked(&p, add);
    else
        dies(&p, add);
    CHECK(clReleaseKernel(add));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
