/* 4,000 launches of one kernel without waiting, then 12,288 launches with seven arguments set before each. */
#include "parity.h"

enum { PLAIN = 4000, ARGUED = 12288, COUNT = 256 };

static const char *source =
    "kernel void next(global uint *data)\n"
    "{\n"
    "    data[get_global_id(0)] += 1;\n"
    "}\n"
    "\n"
    "kernel void blend(global uint *to, global const uint *left, global const uint *right, uint factor, ulong more,\n"
    "                char shift, uint4 where)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    to[i] = (left[i] * factor + right[(i + where.y) % where.z] + (uint)more) ^ (where.x << shift);\n"
    "}\n";

static struct parity p;
static cl_uint data[COUNT], model[3][COUNT];

static void plain_run(cl_program program)
{
    cl_kernel kernel = parity_kernel(program, "next");
    cl_mem buffer = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(data), data);
    CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    for (int i = 0; i < PLAIN; i++)
        CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, 0, NULL, NULL));
    parity_rich();
    CHECK(clFinish(p.queue));
    parity_read(p.queue, buffer, 0, sizeof(data), data);
    for (int i = 0; i < COUNT; i++)
        EXPECT(data[i] == PLAIN);
    printf("%d launches\n", PLAIN);
    CHECK(clReleaseMemObject(buffer));
    CHECK(clReleaseKernel(kernel));
}

static void blend_here(cl_uint *to, const cl_uint *left, const cl_uint *right, cl_uint round)
{
    for (cl_uint i = 0; i < COUNT; i++)
        to[i] = (left[i] * (round | 1) + right[(i + round) % COUNT] + round * 3) ^ (round << (round % 5));
}

static void blend_enqueue(cl_kernel kernel, cl_mem to, cl_mem left, cl_mem right, cl_uint round)
{
    cl_uint factor = round | 1;
    cl_ulong more = round * 3ul;
    cl_char shift = (cl_char)(round % 5);
    cl_uint4 where = {{round, round, COUNT, 0}};
    parity_args(kernel, 7, sizeof(to), &to, sizeof(left), &left, sizeof(right), &right, sizeof(factor), &factor,
                sizeof(more), &more, sizeof(shift), &shift, sizeof(where), &where);
    CHECK(clEnqueueNDRangeKernel(p.queue, kernel, 1, NULL, (size_t[]){COUNT}, (size_t[]){64}, 0, NULL, NULL));
}

static void argued_run(cl_program program)
{
    cl_kernel kernel = parity_kernel(program, "blend");
    cl_mem buffers[3];
    for (int i = 0; i < 3; i++) {
        parity_random_bytes(model[i], sizeof(model[i]), (uint32_t)i);
        buffers[i] = parity_buffer(&p, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(model[i]), model[i]);
    }
    for (cl_uint round = 0; round < ARGUED; round++) {
        cl_uint to = round % 3, left = (round + 1) % 3, right = (round + 2) % 3;
        blend_here(model[to], model[left], model[right], round);
        blend_enqueue(kernel, buffers[to], buffers[left], buffers[right], round);
    }
    for (int i = 0; i < 3; i++) {
        parity_read(p.queue, buffers[i], 0, sizeof(data), data);
        EXPECT(memcmp(data, model[i], sizeof(data)) == 0);
        parity_hash_print("launches with arguments", data, sizeof(data));
        CHECK(clReleaseMemObject(buffers[i]));
    }
    CHECK(clReleaseKernel(kernel));
}

int main(void)
{
    parity_open(&p, 0);
    cl_program program = parity_program(&p, source, NULL);
    plain_run(program);
    argued_run(program);
    CHECK(clReleaseProgram(program));
    parity_close(&p);
    return 0;
}
