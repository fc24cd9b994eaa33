/*
 * Rank 2 of 3 is killed, or stopped, in the middle of its puts. The others continue with each other, by host and by
 * kernel, and in a group; a wait for the dead rank, by host, group or kernel, gets an error. words[1]: after how many
 * microseconds; words[2]: "stop": rank 2 is stopped, not killed, which only ranks on another host take for a loss, as
 * if the link were down; words[3]: the bytes of its puts, 4096 and up to 128 KiB; words[4]: how many uncounted puts it
 * does before each counted one, so that it ends in the middle of a message.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "devcom.h"
#include "tests/xtq/xtqtest.h"

enum { SEGMENT, SECOND = 1000000 };

/* The parts of each rank's segment: rank 2's puts, which come from the first half and go to both; the puts of the
 * others to each other; puts that nobody checks, apart from those from where rank 2 puts. */
enum { MOST_PUT = 1 << 17, OTHERS_AT = 2 * MOST_PUT, FAR_AT = 3 * MOST_PUT, BYTES = 4 * MOST_PUT };

static struct devcom *d;
static long us;
static bool stops;
static size_t put_bytes = 4096;
static int before;
static int pid_of_2;

static void *end(void *argument)
{
    struct timespec pause = {.tv_nsec = us * 1000};

    nanosleep(&pause, NULL);
    kill(getpid(), stops ? SIGSTOP : SIGKILL);
    return argument;
}

static void put(size_t from, int rank, size_t to, size_t bytes, unsigned signal, int64_t value)
{
    int error;

    while ((error = devcom_write_notify(d, SEGMENT, from, rank, SEGMENT, to, bytes, signal, DEVCOM_SIGNAL_SET, value,
                                        0)) == -EAGAIN)
        EQUAL(devcom_quiet(d, 0, 600L * SECOND), 0);
    EQUAL(error, 0);
}

/* Only whole puts are signalled: data that a signal counts have arrived. */
static void put_for_ever(uint8_t *mine)
{
    for (int64_t number = 1;; number++) {
        memset(mine, (int)(number % 256), put_bytes);
        for (int i = 0; i < before; i++)
            put(FAR_AT, 0, FAR_AT, put_bytes, 7, number);
        put(0, 0, MOST_PUT * (size_t)(number % 2), put_bytes, 1, number);
        EQUAL(devcom_quiet(d, 0, DEVCOM_BLOCK), 0);
    }
}

/* Operations to a lost rank on another host fail, those under way and those begun later. */
static void check_far(void)
{
    int64_t was;
    int error = 0;

    if (devcom_shares_host(d, 2))
        return;
    while (!error) {
        error = devcom_write(d, SEGMENT, FAR_AT, 2, SEGMENT, FAR_AT, 65536, 1);
        error = error ? error : devcom_quiet(d, 1, DEVCOM_BLOCK);
    }
    EQUAL(error, -ECONNRESET);
    EQUAL(devcom_fetch_add(d, 2, SEGMENT, 0, 1, DEVCOM_BLOCK, &was), -ECONNRESET);
    EQUAL(devcom_write(d, SEGMENT, FAR_AT, 2, SEGMENT, FAR_AT, 8, 0), -ECONNRESET);
    EXPECT(!devcom_alive(d, 2));
}

static void check_last(const uint8_t *mine)
{
    int64_t number;

    EQUAL(devcom_signal_load(d, 1, &number), 0);
    if (number < 2)
        return;
    for (size_t i = 0; i < put_bytes; i++) /* the put under way may have overwritten half of the previous one */
        EQUAL(mine[MOST_PUT * (size_t)(number % 2) + i], (uint8_t)number);
}

static void check_kernel(struct xtqtest_device *device)
{
    static const char source[] = "kernel void waits(global struct devcom_device *d, global int *error)\n"
                                 "{\n"
                                 "    int got = devcom_signal_wait(d, 9, DEVCOM_NE, 0);\n"
                                 "    error[0] = got;\n"
                                 "}\n";
    struct devcom_endpoint_options options = {.context = device->context, .device = device->device};
    struct devcom_endpoint *endpoint;
    cl_program program;
    cl_kernel kernel;
    cl_int status, error = 1;
    cl_mem result = clCreateBuffer(device->context, CL_MEM_READ_WRITE, 4, NULL, &status);
    size_t one = 1;

    EQUAL(devcom_endpoint_open(d, &options, &endpoint), 0);
    EQUAL(devcom_program_create(endpoint, source, NULL, &program), 0);
    kernel = clCreateKernel(program, "waits", &status);
    EQUAL(devcom_kernel_argument(endpoint, kernel, 0), 0);
    EQUAL(clSetKernelArg(kernel, 1, sizeof(result), &result), CL_SUCCESS);
    EQUAL(devcom_enqueue_kernel(endpoint, device->commands, kernel, 1, &one, &one, NULL), 0);
    EQUAL(clEnqueueReadBuffer(device->commands, result, CL_TRUE, 0, 4, &error, 0, NULL, NULL), CL_SUCCESS);
    EQUAL(error, -ECONNRESET);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseMemObject(result);
    devcom_endpoint_close(endpoint);
}

/* Waits in a group with the rank that is lost meanwhile. */
static void *wait_in_group(void *all)
{
    EQUAL(devcom_group_barrier(all, DEVCOM_BLOCK), -ECONNRESET);
    return NULL;
}

/* A group with the lost rank, whether it had been committed before or not, has an error; one of the others works. */
static void check_groups(struct devcom_group *all, int rank)
{
    struct devcom_group *late, *two;
    int32_t sum = 1 + rank;
    void *mine;

    EQUAL(devcom_segment_ptr(d, rank, SEGMENT, &mine), 0);
    EQUAL(devcom_group_barrier(all, DEVCOM_BLOCK), -ECONNRESET);
    EQUAL(devcom_group_delete(all), 0);
    EQUAL(devcom_group_create(d, 1, &late), 0);
    EQUAL(devcom_group_create(d, 2, &two), 0);
    for (int r = 0; r < 3; r++) {
        EQUAL(devcom_group_add(late, r), 0);
        EQUAL(r < 2 ? devcom_group_add(two, r) : 0, 0);
    }
    EQUAL(devcom_group_commit(late, DEVCOM_BLOCK), -ECONNRESET);
    EQUAL(devcom_group_delete(late), 0);
    EQUAL(devcom_group_commit(two, DEVCOM_BLOCK), 0);
    for (enum devcom_method method = DEVCOM_AUTO; method <= DEVCOM_TREE; method++) {
        memcpy((uint8_t *)mine + OTHERS_AT, &sum, sizeof(sum));
        EQUAL(devcom_group_allreduce(two, SEGMENT, OTHERS_AT, 1, DEVCOM_INT32, DEVCOM_SUM, method, DEVCOM_BLOCK), 0);
        EQUAL(*(int32_t *)((uint8_t *)mine + OTHERS_AT), 3);
        EQUAL(devcom_group_barrier(two, DEVCOM_BLOCK), 0);
    }
    EQUAL(devcom_group_delete(two), 0);
}

/* Each rank leaves when the other needs nothing more from it, or has left. */
static void leave(int rank)
{
    EQUAL(devcom_signal_op(d, 1 - rank, 8, DEVCOM_SIGNAL_SET, 1, 0), 0);
    while (devcom_signal_wait(d, 8, DEVCOM_EQ, 1, 10000, NULL) && devcom_alive(d, 1 - rank))
        ;
}

static void survive(int rank, const uint8_t *mine, struct devcom_group *all)
{
    struct devcom_memory more = {.bytes = 4096};
    struct xtqtest_device device = xtqtest_device();
    pthread_t waits;

    EQUAL(pthread_create(&waits, NULL, wait_in_group, all), 0);
    if (rank == 1) /* while the loss is not known yet */
        check_far();
    for (int64_t number = 1; devcom_alive(d, 2) || number < 1000; number++) {
        put(OTHERS_AT, 1 - rank, OTHERS_AT, 64, 2, number);
        if (number == 999)
            EQUAL(devcom_signal_wait(d, 2, DEVCOM_GE, 999, 600L * SECOND, NULL), 0);
    }
    EXPECT(devcom_alive(d, 1 - rank));
    check_far();
    if (rank == 0)
        check_last(mine);
    EQUAL(devcom_signal_wait(d, 3, DEVCOM_NE, 0, DEVCOM_BLOCK, NULL), -ECONNRESET);
    EQUAL(devcom_signal_wait(d, 3, DEVCOM_NE, 0, 1000, NULL), -ETIMEDOUT);
    EQUAL(devcom_barrier(d, DEVCOM_BLOCK), -ECONNRESET);
    EQUAL(devcom_passive_receive(d, NULL, 0, DEVCOM_BLOCK, &(int){0}, &(size_t){0}), -ECONNRESET);
    EQUAL(devcom_segment_register(d, SEGMENT, 0), -ECONNRESET);
    EQUAL(pthread_join(waits, NULL), 0);
    check_groups(all, rank);
    check_kernel(&device);
    EQUAL(devcom_segment_alloc(d, SEGMENT + 1, &more), 0);
    /* the two still reach each other, through all queues */
    for (unsigned queue = 0; queue < 2; queue++) {
        int told = devcom_quiet(d, queue, 600L * SECOND);

        EXPECT(!told || told == -ECONNRESET);
        EQUAL(devcom_signal_op(d, 1 - rank, 4 + queue, DEVCOM_SIGNAL_SET, 1, queue), 0);
        EQUAL(devcom_quiet(d, queue, 600L * SECOND), 0);
        EQUAL(devcom_flush_local(d, queue, 600L * SECOND), 0);
        EQUAL(devcom_signal_wait(d, 4 + queue, DEVCOM_EQ, 1, 600L * SECOND, NULL), 0);
    }
    leave(rank);
    xtqtest_device_close(&device);
}

int main(int count, char **words)
{
    struct devcom_memory memory = {.bytes = BYTES};
    struct devcom_group *all;
    pthread_t thread;
    int rank, level;
    void *mine;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    us = atol(words[1]);
    stops = count > 2 && !strcmp(words[2], "stop");
    if (count > 3)
        put_bytes = (size_t)atol(words[3]);
    if (count > 4)
        before = atoi(words[4]);
    EXPECT(put_bytes <= MOST_PUT);
    EQUAL(devcom_init(MPI_COMM_WORLD, NULL, &d), 0);
    rank = devcom_rank(d);
    EQUAL(devcom_segment_create(d, SEGMENT, &memory), 0);
    EQUAL(devcom_segment_ptr(d, rank, SEGMENT, &mine), 0);
    pid_of_2 = getpid();
    MPI_Bcast(&pid_of_2, 1, MPI_INT, 2, MPI_COMM_WORLD);
    EQUAL(devcom_group_create(d, 0, &all), 0);
    for (int r = 0; r < 3; r++)
        EQUAL(devcom_group_add(all, r), 0);
    EQUAL(devcom_group_commit(all, DEVCOM_BLOCK), 0);
    EQUAL(devcom_group_barrier(all, DEVCOM_BLOCK), 0);
    if (rank != 2)
        EQUAL(devcom_signal_op(d, 2, 6, DEVCOM_SIGNAL_ADD, 1, 0), 0);
    if (rank == 2) {
        EQUAL(devcom_signal_wait(d, 6, DEVCOM_EQ, 2, DEVCOM_BLOCK, NULL), 0);
        EQUAL(pthread_create(&thread, NULL, end, NULL), 0);
        put_for_ever(mine);
    }
    survive(rank, mine, all);
    EQUAL(devcom_finalize(d), -ECONNRESET);
    printf("rank %d survives\n", rank);
    fflush(stdout);
    if (rank == 0 && stops)
        kill(pid_of_2, SIGKILL);
    _exit(0); /* MPI_Finalize() fails when a rank is missing */
}
