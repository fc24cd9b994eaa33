/* Which sizes clSetKernelArg accepts for values of each type, and what a kernel gets for 3-component vectors passed as
 * 3 elements. */
#include "parity.h"

static const char *source =
    "typedef struct { int a, b, c; } triple;\n"
    "typedef float3 named;\n"
    "kernel void types(char a, uchar3 b, short c, short4 d, int e, int2 f, int3 g, float3 h, float4 i, long j,\n"
    "                  ulong3 k, float8 l, float16 m, triple n, named o, global int *p, local int *q) { }\n"
    "kernel void vectors(float3 a, int3 b, uchar3 c, long3 d, global long *out)\n"
    "{\n"
    "    out[0] = a.x; out[1] = a.y; out[2] = a.z;\n"
    "    out[3] = b.x; out[4] = b.y; out[5] = b.z;\n"
    "    out[6] = c.x; out[7] = c.y; out[8] = c.z;\n"
    "    out[9] = d.x; out[10] = d.y; out[11] = d.z;\n"
    "}\n";

/* Starts at size 1: PoCL 3.1 ends the program for size 0. */
static void sizes_show(const struct parity *p)
{
    static const char zeroes[256];
    cl_program program = parity_program(p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "types");
    for (cl_uint i = 0; i < 17; i++) {
        printf("argument %u:", i);
        for (size_t size = 1; size <= 160; size++) {
            if (clSetKernelArg(kernel, i, size, i == 16 ? NULL : zeroes) == CL_SUCCESS)
                printf(" %zu", size);
        }
        puts("");
    }
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
}

static void vectors_show(const struct parity *p, bool tight)
{
    const cl_float a[4] = {1.5f, -2.5f, 3.5f, 0};
    const cl_int b[4] = {1 << 20, -7, 77, 0};
    const cl_uchar c[4] = {250, 3, 99, 0};
    const cl_long d[4] = {(cl_long)1 << 40, -1, 12, 0};
    const size_t count = tight ? 3 : 4, one = 1;
    cl_mem buffer = parity_buffer(p, CL_MEM_READ_WRITE, 12 * sizeof(cl_long), NULL);
    cl_program program = parity_program(p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "vectors");
    cl_long out[12];
    for (int round = 0; round < 3; round++) {
        parity_args(kernel, 5, count * sizeof(*a), a, count * sizeof(*b), b, count * sizeof(*c), c, count * sizeof(*d),
                    d, sizeof(buffer), &buffer);
        parity_rich();
        parity_launch(p->queue, kernel, 1, &one, NULL);
        parity_read(p->queue, buffer, 0, sizeof(out), out);
        printf("%s:", tight ? "three elements" : "four elements");
        for (size_t i = 0; i < PARITY_COUNT(out); i++)
            printf(" %lld", (long long)out[i]);
        puts("");
    }
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseMemObject(buffer));
}

/* Whether a vector of three elements may be set without its fourth. */
static bool three_are_taken(const struct parity *p)
{
    static const cl_float three[3];
    cl_program program = parity_program(p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "vectors");
    const cl_int status = clSetKernelArg(kernel, 0, sizeof(three), three);

    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
    return status == CL_SUCCESS;
}

int main(void)
{
    struct parity p;
    parity_open(&p, 0);
    sizes_show(&p);
    vectors_show(&p, false);
    /* three quarters of a vector's size: a driver that refuses them has shown that above */
    if (three_are_taken(&p))
        vectors_show(&p, true);
    parity_close(&p);
    return 0;
}
