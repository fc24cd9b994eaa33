/* Sums in two passes: a partial sum for each work-group through local memory, then one group over the partial sums. */
#include "parity.h"

enum { COUNT = 1 << 20, GROUP = 128, GROUPS = 64 };

static const char *source =
    "kernel void reduce(global const TYPE *data, uint count, local TYPE *part, global TYPE *sums)\n"
    "{\n"
    "    size_t mine = get_local_id(0);\n"
    "    TYPE sum = 0;\n"
    "    for (size_t i = get_global_id(0); i < count; i += get_global_size(0))\n"
    "        sum += data[i];\n"
    "    part[mine] = sum;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (size_t rest = get_local_size(0) / 2; rest > 0; rest /= 2) {\n"
    "        if (mine < rest)\n"
    "            part[mine] += part[mine + rest];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (mine == 0)\n"
    "        sums[get_group_id(0)] = part[0];\n"
    "}\n";

static cl_long longs[COUNT];
static float floats[COUNT];

static void pass(const struct parity *p, cl_kernel kernel, cl_mem from, cl_uint count, size_t element, cl_mem to,
                 size_t groups)
{
    size_t global = groups * GROUP, local = GROUP;
    parity_args(kernel, 4, sizeof(from), &from, sizeof(count), &count, element * GROUP, NULL, sizeof(to), &to);
    CHECK(clEnqueueNDRangeKernel(p->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
}

static void reduce(const struct parity *p, const char *options, void *data, size_t element, void *sum)
{
    cl_program program = parity_program(p, source, options);
    cl_kernel kernel = parity_kernel(program, "reduce");
    cl_mem whole = parity_buffer(p, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, element * COUNT, data);
    cl_mem partial = parity_buffer(p, CL_MEM_READ_WRITE, element * GROUPS, NULL);
    cl_mem total = parity_buffer(p, CL_MEM_WRITE_ONLY, element, NULL);
    pass(p, kernel, whole, COUNT, element, partial, GROUPS);
    pass(p, kernel, partial, GROUPS, element, total, 1);
    parity_rich();
    parity_read(p->queue, total, 0, element, sum);
    CHECK(clReleaseMemObject(total));
    CHECK(clReleaseMemObject(partial));
    CHECK(clReleaseMemObject(whole));
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseProgram(program));
}

static void reduce_longs(const struct parity *p)
{
    cl_long wanted = 0, sum;
    uint32_t seed = 3;
    for (int i = 0; i < COUNT; i++) {
        longs[i] = ((cl_long)parity_random(&seed) << 16) - ((cl_long)1 << 39);
        wanted += longs[i];
    }
    reduce(p, "-DTYPE=long", longs, sizeof(*longs), &sum);
    EXPECT(sum == wanted);
    printf("sum of longs: %lld\n", (long long)sum);
}

static void reduce_floats(const struct parity *p)
{
    double wanted = 0;
    float sum;
    parity_random_floats(floats, COUNT, 4);
    for (int i = 0; i < COUNT; i++)
        wanted += floats[i] += 0.5f;
    reduce(p, "-D TYPE=float", floats, sizeof(*floats), &sum);
    EXPECT(fabs(sum - wanted) <= 1e-5 * fabs(wanted));
    printf("sum of floats: %.9g\n", sum);
}

int main(void)
{
    struct parity p;
    parity_open(&p, 0);
    reduce_longs(&p);
    reduce_floats(&p);
    parity_close(&p);
    return 0;
}
