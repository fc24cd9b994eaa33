/*
 * Kernels that communicate, communication in a command queue, chains, short messages, and the global address space,
 * between any number of ranks; also where their memory is not shared. At most one work-group of a rank waits at a time.
 */
#include <sys/mman.h>

#include "devcom.h"
#include "tests/xtq/xtqtest.h"

enum { HOST, DEVICE, SLOTS, BYTES = 1 << 20, SECOND = 1000000, ITEMS = 16 };
static const size_t MUCH = (size_t)2 << 30; /* bytes */

static const char source[] =
    "kernel void ring(global struct devcom_device *d, ulong bytes, int round)\n"
    "{\n"
    "    uint next = (d->rank + 1) % d->size;\n"
    "    global uint *mine = (global uint *)devcom_ptr(d, d->rank, 1);\n"
    "    for (ulong i = get_local_id(0); i < bytes / 4; i += get_local_size(0))\n"
    "        mine[i] = (uint)i * 3 + d->rank + round;\n"
    "    devcom_write_notify(d, 1, 0, next, 0, 4096, bytes, 5, DEVCOM_SIGNAL_SET, round, round % d->queues);\n"
    "    devcom_signal_wait(d, 5, DEVCOM_EQ, round);\n"
    "    devcom_quiet(d, round % d->queues);\n"
    "}\n"
    /* every work-group puts its own words; the last one, by a counter, sends the signal (section 5.8.1) */
    "kernel void many(global struct devcom_device *d, volatile global uint *counter, uint target)\n"
    "{\n"
    "    uint group = get_group_id(0), queue = group % d->queues;\n"
    "    global uint *mine = (global uint *)devcom_ptr(d, d->rank, 1);\n"
    "    mine[group * get_local_size(0) + get_local_id(0)] = group * 1000 + get_local_id(0);\n"
    "    devcom_write_notify(d, 1, group * get_local_size(0) * 4, target, 0, group * get_local_size(0) * 4,\n"
    "                        get_local_size(0) * 4, 6, DEVCOM_SIGNAL_ADD, 1, queue);\n"
    "    if (get_local_id(0) == 0)\n"
    "        atomic_inc(counter);\n"
    "}\n"
    "kernel void wrong(global struct devcom_device *d, global int *errors)\n"
    "{\n"
    "    int e0 = devcom_write(d, 0, 0, 0, 0, 0, 8, d->queues), e1 = devcom_write(d, 0, 0, d->size, 0, 0, 8, 0);\n"
    "    int e2 = devcom_write(d, 9, 0, 0, 0, 0, 8, 0), e3 = devcom_write(d, 0, (1 << 20) - 7, 0, 0, 0, 8, 0);\n"
    "    int e4 = devcom_signal_op(d, 0, d->signals, DEVCOM_SIGNAL_SET, 1, 0);\n"
    "    int e5 = devcom_signal_wait(d, d->signals, 0, 0);\n"
    "    if (get_local_id(0) == 0) {\n"
    "        errors[0] = e0; errors[1] = e1; errors[2] = e2; errors[3] = e3; errors[4] = e4; errors[5] = e5;\n"
    "    }\n"
    "}\n"
    "kernel void far_range(global struct devcom_device *d)\n"
    "{\n"
    "    devcom_write_notify(d, 0, 0, (d->rank + 1) % d->size, 0, 1 << 20, 8, 7, DEVCOM_SIGNAL_SET, 1, 0);\n"
    "    devcom_quiet(d, 0);\n"
    "}\n"
    "kernel void waits(global struct devcom_device *d)\n"
    "{\n"
    "    devcom_signal_wait(d, 8, DEVCOM_NE, 0);\n"
    "}\n"
    "kernel void meets(global struct devcom_device *d, global int *errors, uint rounds)\n"
    "{\n"
    "    for (uint i = 0; i < rounds; i++) {\n"
    "        int error = devcom_ggas_barrier(d);\n"
    "        if (error && get_local_id(0) == 0)\n"
    "            errors[0] = error;\n"
    "    }\n"
    "}\n"
    /* many groups store into the next rank, and the last enters the barrier; later kernels see all stores */
    "kernel void stores(global struct devcom_device *d, uint round)\n"
    "{\n"
    "    global uint *next = (global uint *)devcom_ptr(d, (d->rank + 1) % d->size, 0);\n"
    "    next[2048 + get_global_id(0)] = round * 1000 + d->rank;\n"
    "    devcom_ggas_barrier_at_end(d);\n"
    "}\n"
    "kernel void stored(global struct devcom_device *d, global int *errors, uint round)\n"
    "{\n"
    "    volatile global uint *mine = (volatile global uint *)devcom_ptr(d, d->rank, 0);\n"
    "    uint last = (d->rank + d->size - 1) % d->size;\n"
    "    if (mine[2048 + get_global_id(0)] != round * 1000 + last)\n"
    "        errors[0] = (int)round;\n"
    "    devcom_ggas_barrier_at_end(d);\n"
    "}\n"
    /* compilers for CPUs get barriers wrong in loops that may have no iterations, and in branches */
    "kernel void steps(global struct devcom_device *d, global int *errors, uint rounds)\n"
    "{\n"
    "    uint next = (d->rank + 1) % d->size, last = (d->rank + d->size - 1) % d->size, item = get_local_id(0);\n"
    "    global uint *mine = (global uint *)devcom_ptr(d, d->rank, 1);\n"
    "    volatile global uint *got = (volatile global uint *)devcom_ptr(d, d->rank, 0) + 1024;\n"
    "    for (uint i = 1; i <= rounds; i++) {\n"
    "        for (uint x = item; x < rounds * 3; x += get_local_size(0))\n"
    "            mine[x] = i * x + d->rank;\n"
    "        devcom_write_notify(d, 1, 0, next, 0, 4096, rounds * 12, 5, DEVCOM_SIGNAL_SET, i, i % d->queues);\n"
    "        int error = devcom_signal_wait(d, 5, DEVCOM_GE, i);\n"
    "        for (uint x = item; x < rounds * 3; x += get_local_size(0))\n"
    "            if (error || got[x] != i * x + last)\n"
    "                errors[item] = i;\n"
    "        devcom_signal_op(d, last, 13, DEVCOM_SIGNAL_SET, i, 0);\n"
    "        devcom_signal_wait(d, 13, DEVCOM_GE, i);\n"
    "        devcom_quiet(d, i % d->queues);\n"
    "    }\n"
    "}\n"
    "kernel void many_sums(global struct devcom_device *d, global int *errors, uint rounds, uint count)\n"
    "{\n"
    "    for (uint i = 0; i < rounds; i++) {\n"
    "        int error = devcom_ggas_allreduce(d, 2, 64, count, DEVCOM_UINT64, DEVCOM_SUM);\n"
    "        if (error)\n"
    "            errors[get_local_id(0)] = error;\n"
    "    }\n"
    "}\n"
    "kernel void sums(global struct devcom_device *d, global int *errors, int root, uint count, uint type, uint op)\n"
    "{\n"
    "    int error = devcom_ggas_reduce(d, root, 2, 64, count, type, op);\n"
    "    if (get_local_id(0) == 0)\n"
    "        errors[0] = error;\n"
    "}\n";

static struct devcom *d;
static struct devcom_endpoint *endpoint;
static struct xtqtest_device device;
static cl_program program;
static cl_mem results;
static int rank, size;

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
    return out;
}

static void run(cl_kernel what, size_t groups)
{
    size_t global = groups * ITEMS, local = ITEMS;

    if (groups == 1)
        EQUAL(devcom_enqueue_kernel(endpoint, device.commands, what, 1, &global, &local, NULL), 0);
    else
        EQUAL(clEnqueueNDRangeKernel(device.commands, what, 1, NULL, &global, &local, 0, NULL, NULL), CL_SUCCESS);
    EQUAL(clFinish(device.commands), CL_SUCCESS);
}

static int result(int i)
{
    int all[ITEMS];

    EQUAL(clEnqueueReadBuffer(device.commands, results, CL_TRUE, 0, sizeof(all), all, 0, NULL, NULL), CL_SUCCESS);
    return all[i];
}

static void *memory_of(unsigned segment)
{
    void *at;

    EQUAL(devcom_segment_ptr(d, rank, segment, &at), 0);
    return at;
}

static void check_ring(void)
{
    static const cl_ulong sizes[] = {8, 4096, 65536, BYTES / 2};
    cl_kernel ring = kernel("ring");
    const uint32_t *got = (const uint32_t *)memory_of(HOST) + 1024;
    int last = (rank + size - 1) % size;

    for (cl_int round = 1; round <= 12; round++) {
        cl_ulong bytes = sizes[round % 4];

        clSetKernelArg(ring, 1, sizeof(bytes), &bytes);
        clSetKernelArg(ring, 2, sizeof(round), &round);
        run(ring, 1);
        EQUAL(devcom_endpoint_error(endpoint), 0);
        for (cl_ulong i = 0; i < bytes / 4; i++)
            EQUAL(got[i], (uint32_t)i * 3 + (uint32_t)last + (uint32_t)round);
        meet();
    }
    EQUAL(devcom_notify_reset(d, 5, NULL), 0);
    clReleaseKernel(ring);
    meet();
}

static void check_many(void)
{
    enum { GROUPS = 300 };
    cl_kernel many = kernel("many");
    cl_uint target = (cl_uint)((rank + 1) % size);
    const uint32_t *got = memory_of(HOST);

    clSetKernelArg(many, 1, sizeof(results), &results);
    clSetKernelArg(many, 2, sizeof(target), &target);
    run(many, GROUPS);
    EQUAL(devcom_signal_wait(d, 6, DEVCOM_EQ, GROUPS, 600L * SECOND, NULL), 0);
    for (uint32_t i = 0; i < GROUPS * ITEMS; i++)
        EQUAL(got[i], i / ITEMS * 1000 + i % ITEMS);
    EQUAL(devcom_notify_reset(d, 6, NULL), 0);
    EQUAL(devcom_endpoint_error(endpoint), 0);
    clReleaseKernel(many);
    meet();
}

static void clear_results(void)
{
    static const cl_int zero;

    EQUAL(clEnqueueFillBuffer(device.commands, results, &zero, sizeof(zero), 0, 64, 0, NULL, NULL), CL_SUCCESS);
}

static void check_steps(void)
{
    cl_kernel all = kernel("steps");

    for (cl_uint rounds = 0; rounds <= 50; rounds += 25) {
        clear_results();
        clSetKernelArg(all, 1, sizeof(results), &results);
        clSetKernelArg(all, 2, sizeof(rounds), &rounds);
        run(all, 1);
        EQUAL(devcom_endpoint_error(endpoint), 0);
        for (int i = 0; i < ITEMS; i++)
            EQUAL(result(i), 0);
        meet();
        EQUAL(devcom_notify_reset(d, 5, NULL), 0);
        EQUAL(devcom_notify_reset(d, 13, NULL), 0);
        meet();
    }
    clReleaseKernel(all);
}

static void check_misuse(void)
{
    static const int expected[] = {-EINVAL, -EINVAL, -ENOENT, -ERANGE, -EINVAL, -EINVAL};
    struct devcom_endpoint_options options = {.context = device.context, .device = device.device, .queues = 33};
    struct devcom_endpoint *none;
    cl_kernel wrong = kernel("wrong"), far_range = kernel("far_range"), waits = kernel("waits");
    size_t too_many = 1000 * ITEMS, local = ITEMS;
    cl_program bad;

    clSetKernelArg(wrong, 1, sizeof(results), &results);
    run(wrong, 1);
    for (int i = 0; i < 6; i++)
        EQUAL(result(i), expected[i]);
    EQUAL(devcom_endpoint_error(endpoint), -EINVAL);
    EQUAL(devcom_endpoint_error(endpoint), 0);
    run(far_range, 1);
    EQUAL(devcom_endpoint_error(endpoint), -ERANGE);
    EQUAL(devcom_enqueue_kernel(endpoint, device.commands, waits, 1, &too_many, &local, NULL), -EDEADLK);
    EQUAL(devcom_enqueue_kernel(endpoint, device.commands, waits, 1, &too_many, NULL, NULL), -EINVAL);
    EQUAL(devcom_endpoint_open(d, &options, &none), -EINVAL);
    EQUAL(devcom_program_create(endpoint, "kernel void k(", NULL, &bad), -EIO);
    clReleaseKernel(wrong);
    clReleaseKernel(far_range);
    clReleaseKernel(waits);
    meet();
}

/* Streams may wait as many times as there are compute units, and not once more. */
static void check_refusal(void)
{
    cl_uint units;
    cl_command_queue queues[64];
    unsigned count = 0;
    cl_int status;
    int error = 0;

    clGetDeviceInfo(device.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
    while (count < 64 && !error) {
        queues[count] = clCreateCommandQueueWithProperties(device.context, device.device, NULL, &status);
        EQUAL(status, CL_SUCCESS);
        error = devcom_enqueue_wait(endpoint, queues[count], 8, DEVCOM_NE, 0, NULL);
        count++;
    }
    if (units < 64) {
        EQUAL(error, -EDEADLK);
        EQUAL(count, units + 1);
    }
    EQUAL(devcom_signal_store(d, 8, 1), 0);
    for (unsigned i = 0; i < count; i++) {
        EQUAL(clFinish(queues[i]), CL_SUCCESS);
        clReleaseCommandQueue(queues[i]);
    }
    EQUAL(devcom_signal_store(d, 8, 0), 0);
    EQUAL(devcom_endpoint_error(endpoint), 0);
    meet();
}

/* fill; put; wait; copy: without a call of the host in between. */
static void check_stream(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    cl_mem mine;
    const uint32_t *got = memory_of(HOST);

    EQUAL(devcom_segment_buffer(d, DEVICE, &mine), 0);
    for (int64_t round = 1; round <= 10; round++) {
        uint32_t word = (uint32_t)(round * 100 + rank);
        struct devcom_put put = {.segment = DEVICE,
                                 .remote_segment = HOST,
                                 .shape = {.bytes = 40000},
                                 .rank = next,
                                 .signal = 10,
                                 .op = DEVCOM_SIGNAL_SET,
                                 .value = round};

        EQUAL(clEnqueueFillBuffer(device.commands, mine, &word, sizeof(word), 0, 40000, 0, NULL, NULL), CL_SUCCESS);
        EQUAL(devcom_enqueue_put(endpoint, device.commands, &put, 1, 1, NULL), 0);
        EQUAL(devcom_enqueue_wait(endpoint, device.commands, 10, DEVCOM_GE, round, NULL), 0);
        EQUAL(clFinish(device.commands), CL_SUCCESS);
        EQUAL(got[9999], (uint32_t)(round * 100 + last));
        EQUAL(devcom_endpoint_error(endpoint), 0);
        meet();
    }
    EQUAL(devcom_notify_reset(d, 10, NULL), 0);
    EQUAL(devcom_enqueue_put(endpoint, device.commands, NULL, 0, 1, NULL), -EINVAL);
    EQUAL(devcom_enqueue_wait(endpoint, device.commands, 1024, DEVCOM_EQ, 0, NULL), -EINVAL);
}

/* A table of blocks that change places, and a strided one, each started twice. */
static void check_chain(void)
{
    enum { COUNT = 64, BLOCK = 1000 };
    struct devcom_put puts[COUNT];
    struct devcom_chain *chain;
    uint8_t *mine = memory_of(DEVICE), *got = memory_of(HOST);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;

    for (int i = 0; i < COUNT; i++)
        puts[i] = (struct devcom_put){.segment = DEVICE,
                                      .remote_segment = HOST,
                                      .offset = (size_t)i * BLOCK,
                                      .remote_offset = (size_t)(COUNT - 1 - i) * BLOCK,
                                      .shape = {.bytes = BLOCK},
                                      .rank = next};
    puts[COUNT / 2].shape = (struct devcom_shape){100, {10, 1}, {100, 0}, {100, 0}};
    puts[COUNT - 1].signal = 11;
    puts[COUNT - 1].op = DEVCOM_SIGNAL_ADD;
    puts[COUNT - 1].value = 1;
    EQUAL(devcom_chain_create(d, puts, COUNT, 2, &chain), 0);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < COUNT; i++)
            memset(mine + (size_t)i * BLOCK, i + rank + round, BLOCK);
        EQUAL(devcom_chain_start(chain), 0);
        EQUAL(devcom_signal_wait(d, 11, DEVCOM_EQ, round, 600L * SECOND, NULL), 0);
        EQUAL(devcom_chain_wait(chain, 600L * SECOND), 0);
        for (int i = 0; i < COUNT * BLOCK; i++)
            EQUAL(got[i], (uint8_t)(COUNT - 1 - i / BLOCK + last + round));
        meet();
    }
    devcom_chain_destroy(chain);
    puts[3].rank = size;
    EQUAL(devcom_chain_create(d, puts, COUNT, 2, &chain), -EINVAL);
    EQUAL(devcom_chain_create(d, puts, 0, 2, &chain), -EINVAL);
    puts[3].rank = next;
    puts[3].offset = BYTES;
    EQUAL(devcom_chain_create(d, puts, COUNT, 2, &chain), 0);
    EQUAL(devcom_chain_start(chain), -ERANGE);
    EQUAL(devcom_chain_wait(chain, 600L * SECOND), 0);
    devcom_chain_destroy(chain);
    EQUAL(devcom_notify_reset(d, 11, NULL), 0);
    meet();
}

static void check_inline(void)
{
    int64_t words[8];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    const int64_t *got = memory_of(HOST);

    for (int i = 0; i < 8; i++)
        words[i] = i * 10 + rank;
    EQUAL(devcom_write_inline(d, words, sizeof(words), next, HOST, 0, 12, DEVCOM_SIGNAL_SET, 1, 0), 0);
    memset(words, 0, sizeof(words));
    EQUAL(devcom_signal_wait(d, 12, DEVCOM_EQ, 1, 600L * SECOND, NULL), 0);
    for (int i = 0; i < 8; i++)
        EQUAL(got[i], i * 10 + last);
    EQUAL(devcom_notify_reset(d, 12, NULL), 0);
    EQUAL(devcom_write_inline(d, words, 8193, next, HOST, 0, 0, DEVCOM_SIGNAL_NONE, 0, 0), -EMSGSIZE);
    meet();
}

/* ---- the global address space ---- */

static double contribution(int from, size_t i)
{
    return (double)((from * 31 + (int)i * 7) % 101 - 50) / 3;
}

static void check_sums(cl_kernel sums, cl_int root, cl_uint count, cl_uint op)
{
    double *mine = (double *)((uint8_t *)memory_of(SLOTS) + 64);
    cl_uint type = DEVCOM_DOUBLE;

    for (size_t i = 0; i < count; i++)
        mine[i] = contribution(rank, i);
    clSetKernelArg(sums, 1, sizeof(results), &results);
    clSetKernelArg(sums, 2, sizeof(root), &root);
    clSetKernelArg(sums, 3, sizeof(count), &count);
    clSetKernelArg(sums, 4, sizeof(type), &type);
    clSetKernelArg(sums, 5, sizeof(op), &op);
    run(sums, 1);
    EQUAL(result(0), 0);
    for (size_t i = 0; i < count && (root < 0 || root == rank); i++) {
        double expected = contribution(0, i);

        for (int r = 1; r < size; r++) {
            double more = contribution(r, i);

            expected = op == DEVCOM_SUM ? expected + more : more > expected ? more : expected;
        }
        EXPECT(mine[i] == expected);
    }
    meet();
}

/* Reduces 9 times: each time the sums of the previous sums. */
static void check_many_sums(cl_uint count)
{
    cl_kernel all = kernel("many_sums");
    uint64_t *mine = (uint64_t *)((uint8_t *)memory_of(SLOTS) + 64), expected = 1;
    cl_uint rounds = 9;

    for (cl_uint i = 0; i < count; i++)
        mine[i] = i + 1;
    for (cl_uint i = 0; i < rounds; i++)
        expected *= (uint64_t)size;
    meet();
    clear_results();
    clSetKernelArg(all, 1, sizeof(results), &results);
    clSetKernelArg(all, 2, sizeof(rounds), &rounds);
    clSetKernelArg(all, 3, sizeof(count), &count);
    run(all, 1);
    for (int i = 0; i < ITEMS; i++)
        EQUAL(result(i), 0);
    for (cl_uint i = 0; i < count; i++)
        EQUAL(mine[i], expected * (i + 1));
    meet();
    clReleaseKernel(all);
}

static void check_addresses(const struct devcom_ggas *g)
{
    struct devcom_put put = {.segment = SLOTS, .offset = 8, .remote_segment = SLOTS + 1, .shape = {.bytes = 8}};
    uint64_t first = (uintptr_t)devcom_ggas_ptr(g, 0, 0);
    size_t offset;
    unsigned slot;
    int owner;

    EQUAL(devcom_segment_register(d, HOST, 0), 0);
    for (int r = 0; r < size; r++) { /* every rank writes its address into all slots of all ranks */
        for (unsigned s = 0; s < 2; s++)
            ((uint64_t *)devcom_ggas_ptr(g, r, s))[16 + rank] = first + (uint64_t)rank;
    }
    meet();
    for (int r = 0; r < size; r++)
        EQUAL(((uint64_t *)devcom_ggas_ptr(g, rank, 1))[16 + r], first + (uint64_t)r);
    EXPECT(devcom_ggas_ptr(g, rank, 0) == memory_of(SLOTS));
    EQUAL(devcom_ggas_owner(g, (uint8_t *)devcom_ggas_ptr(g, size - 1, 1) + 77, &owner, &slot, &offset), 0);
    EXPECT(owner == size - 1 && slot == 1 && offset == 77);
    EQUAL(devcom_ggas_owner(g, (uint8_t *)devcom_ggas_ptr(g, 0, 0) - 1, &owner, &slot, &offset), -EFAULT);
    EXPECT(!devcom_ggas_ptr(g, size, 0) && !devcom_ggas_ptr(g, 0, 2));
    put.rank = (rank + 1) % size;
    EQUAL(devcom_put(d, &put, 1, 0, NULL), 0);
    meet();
}

/* Occupies *taken on the last rank, to be unmapped: the addresses where rank 0 would look for a range. */
static void take_place(void **taken)
{
    uint8_t *probe = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t place = (uintptr_t)probe + BYTES - MUCH;

    EXPECT(probe != MAP_FAILED);
    munmap(probe, BYTES);
    MPI_Bcast(&place, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    *taken = MAP_FAILED;
    if (rank > 0 && rank == size - 1)
        *taken = mmap((void *)(uintptr_t)place, MUCH, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

static void check_meeting_at_end(void)
{
    cl_kernel stores = kernel("stores"), stored = kernel("stored");
    size_t global = 64 * ITEMS, local = ITEMS;

    clear_results();
    clSetKernelArg(stored, 1, sizeof(results), &results);
    for (cl_uint round = 1; round <= 50; round++) {
        clSetKernelArg(stores, 1, sizeof(round), &round);
        clSetKernelArg(stored, 2, sizeof(round), &round);
        EQUAL(clEnqueueNDRangeKernel(device.commands, stores, 1, NULL, &global, &local, 0, NULL, NULL), CL_SUCCESS);
        EQUAL(clEnqueueNDRangeKernel(device.commands, stored, 1, NULL, &global, &local, 0, NULL, NULL), CL_SUCCESS);
    }
    EQUAL(clFinish(device.commands), CL_SUCCESS);
    EQUAL(result(0), 0);
    EQUAL(devcom_endpoint_error(endpoint), 0);
    clReleaseKernel(stores);
    clReleaseKernel(stored);
}

static void check_ggas(void)
{
    struct devcom_memory memory = {
        .bytes = BYTES, .context = device.context, .device = device.device, .commands = device.commands};
    struct devcom_ggas *g;
    cl_kernel meets = kernel("meets"), sums = kernel("sums");
    cl_uint rounds = 100;
    bool shared = true;
    void *taken;

    for (int r = 0; r < size; r++)
        shared = shared && devcom_shares_host(d, r);
    if (!shared) {
        EQUAL(devcom_ggas_open(d, SLOTS, 2, &memory, &g), -ENOTSUP);
        clReleaseKernel(meets);
        clReleaseKernel(sums);
        return;
    }
    EQUAL(devcom_ggas_open(d, DEVICE, 2, &memory, &g), -EBUSY);
    EQUAL(devcom_ggas_open(d, SLOTS, 32, &memory, &g), -EINVAL);
    for (int again = 0; again < 2; again++) {
        take_place(&taken);
        EQUAL(devcom_ggas_open(d, SLOTS, 2, &memory, &g), 0);
        if (taken != MAP_FAILED)
            munmap(taken, MUCH);
        check_addresses(g);
        EQUAL(devcom_endpoint_refresh(endpoint), 0);
        clSetKernelArg(meets, 1, sizeof(results), &results);
        clSetKernelArg(meets, 2, sizeof(rounds), &rounds);
        run(meets, 1);
        EQUAL(devcom_endpoint_error(endpoint), 0);
        for (int i = 0; i < 4; i++) {
            check_sums(sums, -1, 100, DEVCOM_SUM);
            check_sums(sums, size - 1, 511, DEVCOM_MAX);
            check_sums(sums, -1, 20000, DEVCOM_SUM);
            check_sums(sums, 0, 20001, DEVCOM_SUM);
        }
        check_many_sums(100);
        check_many_sums(20000);
        check_meeting_at_end();
        EQUAL(devcom_ggas_close(g), 0);
        EQUAL(devcom_endpoint_refresh(endpoint), 0);
    }
    clReleaseKernel(meets);
    clReleaseKernel(sums);
}

int main(int count, char **words)
{
    struct devcom_memory host = {.bytes = BYTES}, on_device = host;
    struct devcom_endpoint_options options = {.depth = 16};
    cl_int status;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    device = xtqtest_device();
    EQUAL(devcom_init(MPI_COMM_WORLD, NULL, &d), 0);
    rank = devcom_rank(d);
    size = devcom_size(d);
    on_device.context = options.context = device.context;
    on_device.device = options.device = device.device;
    on_device.commands = device.commands;
    EQUAL(devcom_segment_create(d, HOST, &host), 0);
    EQUAL(devcom_segment_create(d, DEVICE, &on_device), 0);
    EQUAL(devcom_endpoint_open(d, &options, &endpoint), 0);
    EQUAL(devcom_program_create(endpoint, source, NULL, &program), 0);
    results = clCreateBuffer(device.context, CL_MEM_READ_WRITE, 64, NULL, &status);
    EQUAL(status, CL_SUCCESS);
    meet();
    check_ring();
    check_many();
    check_steps();
    check_misuse();
    check_refusal();
    check_stream();
    check_chain();
    check_inline();
    check_ggas();
    devcom_endpoint_close(endpoint);
    EQUAL(devcom_finalize(d), 0);
    clReleaseMemObject(results);
    clReleaseProgram(program);
    xtqtest_device_close(&device);
    MPI_Finalize();
    return 0;
}
