/*
 * The methods of reduction in kernels, by any number of ranks that share memory: each gives the host's result, bit by
 * bit, and any may follow any other. Ranks that share no memory get an error.
 */
#include "devcom.h"
#include "tests/xtq/xtqtest.h"

enum { KERNELS, HOSTS, AT = 64, BYTES = 1 << 18, SECOND = 1000000, ITEMS = 16 };

static const char source[] =
    "kernel void reduces(global struct devcom_device *d, global int *errors, int root, ulong offset, ulong count,\n"
    "                    uint type, uint op, uint method)\n"
    "{\n"
    "    errors[get_local_id(0)] = devcom_ggas_reduce_by(d, root, 0, offset, count, type, op, method);\n"
    "}\n"
    /* a reduce to each rank in turn, and an allreduce of all results so far: by all pairs of methods */
    "kernel void mixes(global struct devcom_device *d, global int *errors, uint rounds, uint count)\n"
    "{\n"
    "    global uint *mine = (global uint *)devcom_ptr(d, d->rank, 0);\n"
    "    uint item = get_local_id(0);\n"
    "    for (uint i = 0; i < rounds; i++) {\n"
    "        uint root = i % d->size;\n"
    "        int error;\n"
    "        for (uint x = item; x < count; x += get_local_size(0))\n"
    "            mine[x] = i * x + d->rank;\n"
    "        error = devcom_ggas_reduce_by(d, root, 0, 0, count, DEVCOM_UINT32, DEVCOM_MAX, i % 6);\n"
    "        for (uint x = item; x < count && root == d->rank; x += get_local_size(0))\n"
    "            if (((volatile global uint *)mine)[x] != i * x + d->size - 1)\n"
    "                errors[item] = 1;\n"
    "        if (error)\n"
    "            errors[item] = error;\n"
    "        error = devcom_ggas_reduce_by(d, -1, 0, 131072, count, DEVCOM_UINT64, DEVCOM_SUM, i / 6 % 6);\n"
    "        if (error)\n"
    "            errors[item] = error;\n"
    "    }\n"
    "}\n";

static struct devcom *d;
static struct devcom_endpoint *endpoint;
static struct xtqtest_device device;
static cl_program program;
static cl_mem results;
static int rank, size;
static bool shared = true;

static void meet(void)
{
    EQUAL(devcom_barrier(d, 600L * SECOND), 0);
}

static cl_kernel kernel(const char *name)
{
    cl_int status;
    cl_kernel out = clCreateKernel(program, name, &status);

    EQUAL(status, CL_SUCCESS);
    EQUAL(devcom_kernel_argument(endpoint, out, 0), 0);
    EQUAL(clSetKernelArg(out, 1, sizeof(results), &results), CL_SUCCESS);
    return out;
}

/* Runs one work-group, and returns the error of all its work-items. */
static int run(cl_kernel what)
{
    int errors[ITEMS] = {0};
    size_t global = ITEMS, local = ITEMS;

    EQUAL(clEnqueueWriteBuffer(device.commands, results, CL_TRUE, 0, sizeof(errors), errors, 0, NULL, NULL),
          CL_SUCCESS);
    EQUAL(devcom_enqueue_kernel(endpoint, device.commands, what, 1, &global, &local, NULL), 0);
    EQUAL(clEnqueueReadBuffer(device.commands, results, CL_TRUE, 0, sizeof(errors), errors, 0, NULL, NULL), CL_SUCCESS);
    for (int i = 1; i < ITEMS; i++)
        EQUAL(errors[i], errors[0]);
    EQUAL(devcom_endpoint_error(endpoint), 0);
    return errors[0];
}

static void *memory_of(unsigned segment)
{
    void *at;

    EQUAL(devcom_segment_ptr(d, rank, segment, &at), 0);
    return at;
}

/* ---- one reduction ---- */

struct reduction {
    cl_int root;
    cl_ulong offset, count;
    cl_uint type, op, method;
};

static int reduce(cl_kernel reduces, const struct reduction *r)
{
    clSetKernelArg(reduces, 2, sizeof(r->root), &r->root);
    clSetKernelArg(reduces, 3, sizeof(r->offset), &r->offset);
    clSetKernelArg(reduces, 4, sizeof(r->count), &r->count);
    clSetKernelArg(reduces, 5, sizeof(r->type), &r->type);
    clSetKernelArg(reduces, 6, sizeof(r->op), &r->op);
    clSetKernelArg(reduces, 7, sizeof(r->method), &r->method);
    return run(reduces);
}

static size_t element_bytes(cl_uint type)
{
    static const size_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

    return bytes[type];
}

static void fill(uint8_t *at, cl_uint type, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int value = (rank * 31 + (int)i * 7) % 101 - 50;

        if (type == DEVCOM_FLOAT)
            ((float *)at)[i] = (float)value / 3;
        else if (type == DEVCOM_DOUBLE)
            ((double *)at)[i] = value / 3.0;
        else
            memcpy(at + i * element_bytes(type), &(int64_t){value * 0x0123456789abcdefll}, element_bytes(type));
    }
}

/* What lies on both sides of the elements remains. */
static void check(cl_kernel reduces, const struct reduction *r)
{
    size_t bytes = r->count * element_bytes(r->type);
    uint8_t *mine = memory_of(KERNELS), *expected = memory_of(HOSTS);
    const bool gets = r->root < 0 || r->root == rank;
    int error;

    memset(mine, 77, BYTES);
    fill(mine + AT, r->type, r->count);
    memcpy(expected, mine, BYTES);
    meet();
    error = r->root < 0 ? devcom_allreduce(d, HOSTS, AT, r->count, r->type, r->op, r->method, 600L * SECOND)
                        : devcom_reduce(d, r->root, HOSTS, AT, r->count, r->type, r->op, r->method, 600L * SECOND);
    EQUAL(error, 0);
    meet();
    EQUAL(reduce(reduces, r), 0);
    meet();
    EXPECT(!memcmp(mine, expected, AT) && !memcmp(mine + AT + bytes, expected + AT + bytes, BYTES - AT - bytes));
    for (size_t i = 0; i < bytes && gets; i++) {
        if (mine[AT + i] != expected[AT + i]) {
            fprintf(stderr, "rank %d of %d: root %d, %lu of type %u, operation %u, method %u: byte %zu\n", rank, size,
                    r->root, (unsigned long)r->count, r->type, r->op, r->method, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void check_all(cl_kernel reduces)
{
    static const cl_ulong counts[] = {0, 1, 3, 100, 4097, 20001};
    struct reduction r = {.offset = AT};
    cl_uint round = 0;

    for (r.method = DEVCOM_AUTO; r.method <= DEVCOM_TREE; r.method++) {
        for (r.type = DEVCOM_INT8; r.type <= DEVCOM_DOUBLE; r.type++) {
            for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
                r.count = counts[i];
                r.op = round++ / 2 % 4;
                r.root = -1;
                check(reduces, &r);
                r.root = (int)(round / 3 % (cl_uint)size);
                check(reduces, &r);
            }
        }
    }
}

/* ---- many ---- */

static void check_mixed(cl_uint count)
{
    cl_kernel mixes = kernel("mixes");
    uint64_t *mine = (uint64_t *)((uint8_t *)memory_of(KERNELS) + 131072), expected = 1;
    cl_uint rounds = 72;

    for (cl_uint i = 0; i < count; i++)
        mine[i] = i + 1;
    for (cl_uint i = 0; i < rounds; i++)
        expected *= (uint64_t)size;
    clSetKernelArg(mixes, 2, sizeof(rounds), &rounds);
    clSetKernelArg(mixes, 3, sizeof(count), &count);
    meet();
    EQUAL(run(mixes), 0);
    meet();
    for (cl_uint i = 0; i < count; i++)
        EQUAL(mine[i], expected * (i + 1));
    clReleaseKernel(mixes);
}

static void check_misuse(cl_kernel reduces)
{
    const struct reduction good = {.root = -1, .offset = AT, .count = 1, .type = DEVCOM_INT32};
    struct reduction r = good;

    r.method = DEVCOM_TREE + 1;
    EQUAL(reduce(reduces, &r), -EINVAL);
    r = good;
    r.op = DEVCOM_MAX + 1;
    EQUAL(reduce(reduces, &r), -EINVAL);
    r = good;
    r.type = DEVCOM_DOUBLE + 1;
    EQUAL(reduce(reduces, &r), -EINVAL);
    for (r = good; r.method <= DEVCOM_TREE; r.method++) {
        r.root = size;
        EQUAL(reduce(reduces, &r), -EINVAL);
        r.root = -1;
        r.offset = AT + 1;
        EQUAL(reduce(reduces, &r), -EINVAL);
        r.offset = BYTES;
        EQUAL(reduce(reduces, &r), -ERANGE);
        r.offset = AT;
        EQUAL(reduce(reduces, &r), 0);
    }
    meet();
}

static void check_far(cl_kernel reduces)
{
    struct reduction r = {.root = -1, .offset = AT, .count = 1, .type = DEVCOM_INT32};

    for (r.method = DEVCOM_AUTO; r.method <= DEVCOM_TREE; r.method++)
        EQUAL(reduce(reduces, &r), -ENOTSUP);
}

int main(int count, char **words)
{
    struct devcom_memory memory = {.bytes = BYTES};
    struct devcom_endpoint_options options;
    cl_kernel reduces;
    cl_int status;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    device = xtqtest_device();
    options = (struct devcom_endpoint_options){.context = device.context, .device = device.device};
    results = clCreateBuffer(device.context, CL_MEM_READ_WRITE, ITEMS * sizeof(int), NULL, &status);
    EQUAL(status, CL_SUCCESS);
    EQUAL(devcom_init(MPI_COMM_WORLD, NULL, &d), 0);
    rank = devcom_rank(d);
    size = devcom_size(d);
    EQUAL(devcom_segment_create(d, KERNELS, &memory), 0);
    EQUAL(devcom_segment_create(d, HOSTS, &memory), 0);
    EQUAL(devcom_endpoint_open(d, &options, &endpoint), 0);
    EQUAL(devcom_program_create(endpoint, source, NULL, &program), 0);
    reduces = kernel("reduces");
    for (int r = 0; r < size; r++)
        shared = shared && devcom_shares_host(d, r);
    if (shared) {
        check_misuse(reduces);
        check_all(reduces);
        check_mixed(1);
        check_mixed(600);
        check_mixed(10000); /* several pieces */
    } else {
        check_far(reduces);
    }
    clReleaseKernel(reduces);
    clReleaseProgram(program);
    clReleaseMemObject(results);
    devcom_endpoint_close(endpoint);
    EQUAL(devcom_finalize(d), 0);
    xtqtest_device_close(&device);
    MPI_Finalize();
    return 0;
}
