/*
 * Rank 1 stops in the middle of a long put to rank 0; rank 2's puts arrive there all the same, and the rest of rank 1's
 * when it continues. What rank 2 puts to rank 1 meanwhile completes locally, and its puts to rank 0 remotely, by the
 * host and by kernels. As if each rank had its own host.
 */
#include <signal.h>
#include <unistd.h>

#include "devcom.h"
#include "tests/xtq/xtqtest.h"

enum { SEGMENT, SECOND = 1000000, SHORT = 8 };
static const size_t LONG = (size_t)64 << 20;

static struct devcom *d;
static int processes[3];

static void meet(void)
{
    EQUAL(devcom_barrier(d, 600L * SECOND), 0);
}

static void put(size_t offset, size_t bytes, long timeout_us)
{
    EQUAL(devcom_write(d, SEGMENT, offset, 0, SEGMENT, offset, bytes, 0), 0);
    EQUAL(devcom_quiet(d, 0, timeout_us), 0);
}

static void wait_until_stopped(int process)
{
    char path[64], state = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    while (state != 'T') {
        FILE *file = fopen(path, "r");

        EXPECT(file && fscanf(file, "%*d %*s %c", &state) == 1);
        fclose(file);
        usleep(10000);
    }
    usleep(200000); /* so that rank 0 has received the start of the put */
}

/* A put to rank 1, which has stopped, and then one to rank 0, by one queue, on which nothing else waits; and one by
 * another queue, which has a thread of its own, while the first one's thread still waits for rank 1. */
static const char source[] =
    "kernel void puts(global struct devcom_device *d, global int *errors)\n"
    "{\n"
    "    int e0 = devcom_write_notify(d, 0, 67108864, 1, 0, 67108864, 8, 3, DEVCOM_SIGNAL_ADD, 1, 0);\n"
    "    int e1 = devcom_flush_local(d, 0);\n"
    "    int e2 = devcom_write_notify(d, 0, 67108864, 0, 0, 67108864, 8, 3, DEVCOM_SIGNAL_ADD, 1, 0);\n"
    "    int e3 = devcom_quiet_rank(d, 0, 0);\n"
    "    int e4 = devcom_write_notify(d, 0, 67108864, 0, 0, 67108864, 8, 3, DEVCOM_SIGNAL_ADD, 1, 1);\n"
    "    int e5 = devcom_quiet(d, 1);\n"
    "    if (get_local_id(0) == 0)\n"
    "        errors[0] = e0 + e1 + e2 + e3 + e4 + e5 + 1;\n"
    "}\n";

static struct devcom_endpoint *endpoint;
static struct xtqtest_device device;
static cl_kernel kernel;
static cl_mem errors;

static void make_kernel(void)
{
    struct devcom_endpoint_options options = {.servers = 2};
    cl_program program;
    cl_int status;

    device = xtqtest_device();
    options.context = device.context;
    options.device = device.device;
    EQUAL(devcom_endpoint_open(d, &options, &endpoint), 0);
    EQUAL(devcom_program_create(endpoint, source, NULL, &program), 0);
    kernel = clCreateKernel(program, "puts", &status);
    EQUAL(status, CL_SUCCESS);
    errors = clCreateBuffer(device.context, CL_MEM_READ_WRITE, sizeof(cl_int), NULL, &status);
    EQUAL(status, CL_SUCCESS);
    EQUAL(devcom_kernel_argument(endpoint, kernel, 0), 0);
    EQUAL(clSetKernelArg(kernel, 1, sizeof(errors), &errors), CL_SUCCESS);
    clReleaseProgram(program);
}

static void run_kernel(void)
{
    size_t one = 1;
    cl_int result = 0;

    EQUAL(devcom_enqueue_kernel(endpoint, device.commands, kernel, 1, &one, &one, NULL), 0);
    EQUAL(clEnqueueReadBuffer(device.commands, errors, CL_TRUE, 0, sizeof(result), &result, 0, NULL, NULL), CL_SUCCESS);
    EQUAL(result, 1);
}

/* Rank 2's words while rank 1 has stopped. */
static void check_words(void)
{
    EQUAL(devcom_write(d, SEGMENT, LONG, 1, SEGMENT, LONG, SHORT, 1), 0);
    EQUAL(devcom_write(d, SEGMENT, LONG, 0, SEGMENT, LONG, SHORT, 1), 0);
    EQUAL(devcom_flush_local(d, 1, 30L * SECOND), 0);
    EQUAL(devcom_quiet_rank(d, 0, 1, 30L * SECOND), 0);
    EQUAL(devcom_quiet_rank(d, 1, 1, 100000), -ETIMEDOUT);
    EQUAL(devcom_quiet(d, 1, 100000), -ETIMEDOUT);
    run_kernel();
}

int main(int count, char **words)
{
    struct devcom_memory memory = {.bytes = LONG + SHORT};
    int rank, level, own = getpid();
    uint8_t *mine;
    void *at;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    EQUAL(devcom_init(MPI_COMM_WORLD, NULL, &d), 0);
    rank = devcom_rank(d);
    EQUAL(devcom_segment_create(d, SEGMENT, &memory), 0);
    EQUAL(devcom_segment_ptr(d, rank, SEGMENT, &at), 0);
    mine = at;
    MPI_Allgather(&own, 1, MPI_INT, processes, 1, MPI_INT, MPI_COMM_WORLD);
    if (rank)
        put(LONG, SHORT, 600L * SECOND); /* sets up the connection */
    if (rank == 2) {                     /* and the other ones */
        make_kernel();
        run_kernel();
        EQUAL(devcom_write(d, SEGMENT, LONG, 1, SEGMENT, LONG, SHORT, 1), 0);
        EQUAL(devcom_quiet(d, 1, 600L * SECOND), 0);
    }
    meet();
    if (rank == 1) {
        memset(mine, 7, LONG);
        EQUAL(devcom_write(d, SEGMENT, 0, 0, SEGMENT, 0, LONG, 0), 0);
        kill(getpid(), SIGSTOP);
        EQUAL(devcom_quiet(d, 0, 600L * SECOND), 0);
    } else if (rank == 2) {
        wait_until_stopped(processes[1]);
        for (int i = 1; i <= 10; i++) {
            memset(mine + LONG, i, SHORT);
            put(LONG, SHORT, 30L * SECOND);
        }
        check_words();
        kill(processes[1], SIGCONT);
        EQUAL(devcom_quiet_rank(d, 1, 1, 600L * SECOND), 0);
        EQUAL(devcom_quiet(d, 1, 600L * SECOND), 0);
    }
    if (rank < 2)
        EQUAL(devcom_signal_wait(d, 3, DEVCOM_EQ, rank ? 2 : 4, 600L * SECOND, NULL), 0);
    meet();
    if (rank == 0) {
        EQUAL(mine[0] + mine[LONG - 1], 14);
        EQUAL(mine[LONG + SHORT - 1], 10);
    }
    meet();
    if (rank == 2) {
        EQUAL(devcom_endpoint_error(endpoint), 0);
        clReleaseKernel(kernel);
        clReleaseMemObject(errors);
        devcom_endpoint_close(endpoint);
        xtqtest_device_close(&device);
    }
    EQUAL(devcom_finalize(d), 0);
    MPI_Finalize();
    return 0;
}
