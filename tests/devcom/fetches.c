/*
 * Gets and atomics of kernels, between any number of ranks, by memory and by messages: what they return, their order
 * after the queue's puts, their atomicity against those of hosts and of other work-groups, and their errors. With one
 * thread for all queues, or one for each.
 */
#include <stdatomic.h>

#include "tests/devcom/segments.h"

enum { GROUPS = 8, ROUNDS = 20, ITEMS = 16, TICKET = 64, LOCK = 72, COUNT = 80, ARRIVED = 9 };

static const char source[] =
    /* the place after the ranks' data, which differ, is this rank's copy of the next rank's */
    "kernel void read(global struct devcom_device *d, global int *errors, uint segment, ulong bytes)\n"
    "{\n"
    "    uint next = (d->rank + 1) % d->size;\n"
    "    int e0 = devcom_read(d, 1, 1 << 19, next, segment, 4096, bytes, 1), e1 = devcom_flush_local(d, 1);\n"
    "    volatile global uchar *got = (volatile global uchar *)devcom_ptr(d, d->rank, 1) + (1 << 19);\n"
    "    int wrong = 0;\n"
    "    for (ulong i = get_local_id(0); i < bytes; i += get_local_size(0))\n"
    "        wrong |= got[i] != (uchar)(i * 7 + i / 251 + next);\n"
    "    if (e0 || e1 || wrong)\n"
    "        errors[0] = e0 ? e0 : e1 ? e1 : 1;\n"
    "}\n"
    /* each work-group draws tickets; all work-items get the same one */
    "kernel void draw(global struct devcom_device *d, global int *errors, global long *tickets, uint rounds)\n"
    "{\n"
    "    uint group = get_group_id(0);\n"
    "    for (uint i = 0; i < rounds; i++) {\n"
    "        long mine = -1;\n"
    "        int error = devcom_fetch_add(d, 0, 0, 64, 1, group % d->queues, &mine);\n"
    "        if (error)\n"
    "            errors[0] = error;\n"
    "        tickets[(group * rounds + i) * get_local_size(0) + get_local_id(0)] = mine;\n"
    "    }\n"
    "}\n"
    /* a lock; what it guards is read and written without atomics */
    "kernel void locked(global struct devcom_device *d, global int *errors, uint rounds)\n"
    "{\n"
    "    uint i = 0;\n"
    "    do {\n"
    "        long was, now;\n"
    "        int e0 = devcom_compare_swap(d, 0, 0, 72, 0, d->rank + 1, 0, &was), e1 = 0, e2 = 0, e3 = 0, e4 = 0, e5 = "
    "0;\n"
    "        global long *word = (global long *)((global char *)devcom_ptr(d, d->rank, 1) + 64);\n"
    "        uint has = was == 0;\n"
    "        e1 = devcom_read(d, 1, 64, 0, 0, 80, has * 8, 0);\n"
    "        e2 = devcom_flush_local(d, 0);\n"
    "        if (get_local_id(0) == 0 && has)\n"
    "            ++*word;\n"
    "        e3 = devcom_write(d, 1, 64, 0, 0, 80, has * 8, 0);\n"
    "        e4 = devcom_compare_swap(d, 0, 0, 72, has ? d->rank + 1 : -1, 0, 0, &now);\n"
    "        if (e0 | e1 | e2 | e3 | e4 || (has && now != d->rank + 1))\n"
    "            errors[0] = e0 | e1 | e2 | e3 | e4 ? e0 | e1 | e2 | e3 | e4 : 2;\n"
    "        i += has;\n"
    "    } while (i < rounds && !errors[0]);\n"
    "}\n"
    /* an atomic follows the queue's puts: the word that was put just before is found */
    "kernel void order(global struct devcom_device *d, global int *errors, uint rounds)\n"
    "{\n"
    "    uint next = (d->rank + 1) % d->size, i = 1;\n"
    "    global long *mine = (global long *)devcom_ptr(d, d->rank, 1);\n"
    "    do {\n"
    "        long found = 0;\n"
    "        if (get_local_id(0) == 0)\n"
    "            mine[16] = i * 1000;\n"
    "        int e0 = devcom_write(d, 1, 128, next, 0, 96, 8, 0);\n"
    "        int e1 = devcom_fetch_add(d, next, 0, 96, 7, 0, &found);\n"
    "        if (e0 | e1 || found != i * 1000)\n"
    "            errors[0] = e0 | e1 ? e0 | e1 : (int)found;\n"
    "    } while (i++ < rounds);\n"
    "}\n"
    "kernel void wrong(global struct devcom_device *d, global int *errors)\n"
    "{\n"
    "    long out;\n"
    "    int e0 = devcom_fetch_add(d, d->size, 0, 64, 1, 0, &out), e1 = devcom_fetch_add(d, 0, 0, 60, 1, 0, &out);\n"
    "    int e2 = devcom_fetch_add(d, 0, 0, 1 << 20, 1, 0, &out), e3 = devcom_compare_swap(d, 0, 99, 64, 0, 1, 0, "
    "&out);\n"
    "    int e4 = devcom_read(d, 1, (1 << 20) - 7, 0, 0, 0, 8, 0), e5 = devcom_fetch_add(d, 0, 0, 64, 1, d->queues, "
    "&out);\n"
    "    if (get_local_id(0) == 0) {\n"
    "        errors[1] = e0; errors[2] = e1; errors[3] = e2; errors[4] = e3; errors[5] = e4; errors[6] = e5;\n"
    "    }\n"
    "}\n";

static struct devcom_endpoint *endpoint;
static cl_command_queue commands; /* not that of the staged segments, whose copies would wait for the kernels in it */
static cl_program program;
static int32_t *errors;
static int64_t *tickets;

static cl_kernel kernel(const char *name)
{
    cl_int status;
    cl_kernel out = clCreateKernel(program, name, &status);

    EQUAL(status, CL_SUCCESS);
    EQUAL(devcom_kernel_argument(endpoint, out, 0), 0);
    EQUAL(clSetKernelArgSVMPointer(out, 1, errors), CL_SUCCESS);
    return out;
}

static void run(cl_kernel what, size_t groups)
{
    size_t global = groups * ITEMS, local = ITEMS;

    EQUAL(clEnqueueNDRangeKernel(commands, what, 1, NULL, &global, &local, 0, NULL, NULL), CL_SUCCESS);
    EQUAL(clFinish(commands), CL_SUCCESS);
}

static _Atomic int64_t *word(size_t offset)
{
    void *at;

    EQUAL(devcom_segment_ptr(d, rank, HOST, &at), 0);
    return (_Atomic int64_t *)((uint8_t *)at + offset);
}

static void check_read(unsigned segment)
{
    static const cl_ulong sizes[] = {8, 4096, 65536, 300000};
    static uint8_t data[300000];
    cl_kernel read = kernel("read");

    pattern(data, sizeof(data), (unsigned)rank);
    store(segment, 4096, data, sizeof(data));
    meet();
    for (int i = 0; i < 4; i++) {
        cl_uint from = segment;

        clSetKernelArg(read, 2, sizeof(from), &from);
        clSetKernelArg(read, 3, sizeof(sizes[i]), &sizes[i]);
        run(read, 1);
        EQUAL(errors[0], 0);
        EQUAL(devcom_endpoint_error(endpoint), 0);
    }
    clReleaseKernel(read);
    meet();
}

static int compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

    return (a > b) - (a < b);
}

/* Kernels and hosts draw at the same time; each ticket is drawn once. */
static void check_draw(void)
{
    enum { OF_KERNEL = GROUPS * ROUNDS, EACH = OF_KERNEL + ROUNDS };
    cl_kernel draw = kernel("draw");
    cl_uint rounds = ROUNDS;
    int64_t mine[EACH], all[EACH * 16];
    size_t global = (size_t)GROUPS * ITEMS, local = ITEMS;

    EXPECT(size <= 16);
    if (rank == 0)
        atomic_store(word(TICKET), 0);
    meet();
    EQUAL(clSetKernelArgSVMPointer(draw, 2, tickets), CL_SUCCESS);
    clSetKernelArg(draw, 3, sizeof(rounds), &rounds);
    EQUAL(clEnqueueNDRangeKernel(commands, draw, 1, NULL, &global, &local, 0, NULL, NULL), CL_SUCCESS);
    EQUAL(clFlush(commands), CL_SUCCESS);
    for (int i = 0; i < ROUNDS; i++)
        EQUAL(devcom_fetch_add(d, 0, HOST, TICKET, 1, 600L * SECOND, &mine[OF_KERNEL + i]), 0);
    EQUAL(clFinish(commands), CL_SUCCESS);
    EQUAL(errors[0], 0);
    for (int i = 0; i < OF_KERNEL; i++) {
        mine[i] = tickets[(size_t)i * ITEMS];
        for (int item = 1; item < ITEMS; item++)
            EQUAL(tickets[i * ITEMS + item], mine[i]);
    }
    MPI_Allgather(mine, EACH, MPI_INT64_T, all, EACH, MPI_INT64_T, MPI_COMM_WORLD);
    qsort(all, (size_t)EACH * (size_t)size, sizeof(*all), compare);
    for (int i = 0; i < EACH * size; i++)
        EQUAL(all[i], i);
    clReleaseKernel(draw);
    meet();
}

static void check_locked(void)
{
    cl_kernel locked = kernel("locked");
    cl_uint rounds = ROUNDS;

    if (rank == 0) {
        atomic_store(word(LOCK), 0);
        atomic_store(word(COUNT), 0);
    }
    meet();
    clSetKernelArg(locked, 2, sizeof(rounds), &rounds);
    run(locked, 1);
    EQUAL(errors[0], 0);
    meet();
    if (rank == 0)
        EQUAL(atomic_load(word(COUNT)), size * ROUNDS);
    EQUAL(devcom_endpoint_error(endpoint), 0);
    clReleaseKernel(locked);
    meet();
}

static void check_order(void)
{
    cl_kernel order = kernel("order");
    cl_uint rounds = ROUNDS;

    meet();
    clSetKernelArg(order, 2, sizeof(rounds), &rounds);
    run(order, 1);
    EQUAL(errors[0], 0);
    EQUAL(devcom_endpoint_error(endpoint), 0);
    clReleaseKernel(order);
    meet();
}

static void check_wrong(void)
{
    static const int expected[] = {0, -EINVAL, -EINVAL, -ERANGE, -ENOENT, -ERANGE, -EINVAL};
    cl_kernel wrong = kernel("wrong");

    run(wrong, 1);
    for (int i = 1; i < 7; i++)
        EQUAL(errors[i], expected[i]);
    EXPECT(devcom_endpoint_error(endpoint));
    clReleaseKernel(wrong);
    meet();
}

int main(int count, char **words)
{
    struct devcom_endpoint_options options = {.queues = 8, .depth = 16};
    struct devcom_options all = {0};
    cl_int status;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    messages = all.messages = count > 1 && !strcmp(words[1], "messages");
    device = xtqtest_device();
    EQUAL(devcom_init(MPI_COMM_WORLD, &all, &d), 0);
    rank = devcom_rank(d);
    size = devcom_size(d);
    make_segments();
    options.context = device.context;
    options.device = device.device;
    commands = clCreateCommandQueueWithProperties(device.context, device.device, NULL, &status);
    EQUAL(status, CL_SUCCESS);
    EXPECT((errors = calloc(ITEMS, sizeof(*errors))));
    EXPECT((tickets = calloc((size_t)GROUPS * ROUNDS * ITEMS, sizeof(*tickets))));
    for (unsigned servers = 1; servers <= 16; servers *= 4) { /* more than queues are as many as queues */
        options.servers = servers;
        EQUAL(devcom_endpoint_open(d, &options, &endpoint), 0);
        EQUAL(devcom_program_create(endpoint, source, NULL, &program), 0);
        meet();
        for (unsigned segment = HOST; segment <= BUFFER; segment++) {
            if (exists(segment) && segment != DEVICE)
                check_read(segment);
        }
        check_draw();
        check_locked();
        check_order();
        check_wrong();
        devcom_endpoint_close(endpoint);
        clReleaseProgram(program);
    }
    clReleaseCommandQueue(commands);
    EQUAL(devcom_finalize(d), 0);
    free(errors);
    free(tickets);
    drop_segments();
    xtqtest_device_close(&device);
    MPI_Finalize();
    return 0;
}
