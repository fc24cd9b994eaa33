/* c = a + b, in one launch over all elements and in many launches over parts by global offset. */
#include "parity.h"

enum { COUNT = 1 << 20, PARTS = 16 };

static const char *source = "kernel void add(global const float *a, global const float *b, global float *c)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    c[i] = a[i] + b[i];\n"
                            "}\n";

static float a[COUNT], b[COUNT], sum[COUNT], wanted[COUNT];

static void add_whole(const struct parity *p, cl_kernel kernel)
{
    parity_launch(p->queue, kernel, 1, (size_t[]){COUNT}, NULL);
}

static void add_parts(const struct parity *p, cl_kernel kernel)
{
    for (size_t part = 0; part < PARTS; part++) {
        size_t offset = part * (COUNT / PARTS), size = COUNT / PARTS, local = 64;
        CHECK(clEnqueueNDRangeKernel(p->queue, kernel, 1, &offset, &size, &local, 0, NULL, NULL));
    }
}

static void result_check(const struct parity *p, cl_mem buffer, const char *name)
{
    memset(sum, 0, sizeof(sum));
    parity_read(p->queue, buffer, 0, sizeof(sum), sum);
    parity_compare(name, sum, wanted, COUNT, 0);
    parity_hash_print(name, sum, sizeof(sum));
}

int main(void)
{
    struct parity p;
    parity_open(&p, 0);
    parity_random_floats(a, COUNT, 1);
    parity_random_floats(b, COUNT, 2);
    for (int i = 0; i < COUNT; i++)
        wanted[i] = a[i] + b[i];

    cl_program program = parity_program(&p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "add");
    cl_mem buffer_a = parity_buffer(&p, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof(a), a);
    cl_mem buffer_b = parity_buffer(&p, CL_MEM_READ_ONLY, sizeof(b), NULL);
    cl_mem whole = parity_buffer(&p, CL_MEM_WRITE_ONLY, sizeof(sum), NULL);
    cl_mem parts = parity_buffer(&p, CL_MEM_WRITE_ONLY, sizeof(sum), NULL);
    parity_write(p.queue, buffer_b, 0, sizeof(b), b);

    parity_args(kernel, 3, sizeof(cl_mem), &buffer_a, sizeof(cl_mem), &buffer_b, sizeof(cl_mem), &whole);
    add_whole(&p, kernel);
    parity_rich();
    result_check(&p, whole, "whole");
    CHECK(clSetKernelArg(kernel, 2, sizeof(cl_mem), &parts));
    add_parts(&p, kernel);
    result_check(&p, parts, "parts");

    CHECK(clReleaseMemObject(parts));
    CHECK(clReleaseMemObject(whole));
    CHECK(clReleaseMemObject(buffer_b));
    CHECK(clReleaseMemObject(buffer_a));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
