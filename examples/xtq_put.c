/*
 * The program of the XTQ paper's Figure 6: one rank puts a task into the queue of another rank's device, and that rank
 * waits for a signal. Run by mpiexec with two ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <xtq.h>

enum { INITIATOR = 0, TARGET = 1, INDEX = 42, COUNT = 1024 };

static const char source[] = "int add_one(const struct xtq_task *t, ulong first, ulong last)\n"
                             "{\n"
                             "    global float *out = (global float *)t->buffer;\n"
                             "    global const float *in = (global const float *)t->payload;\n"
                             "    for (ulong i = first; i < last; i++) out[i] = in[i] + 1;\n"
                             "    return 0;\n"
                             "}\n";

static void check(int error, const char *what)
{
    if (error) {
        fprintf(stderr, "%s: error %d\n", what, error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void initiate(struct xtq *x)
{
    static float payload[COUNT];
    struct xtq_kernel_packet command; /* (2) */
    size_t grid = COUNT;

    for (int i = 0; i < COUNT; i++)
        payload[i] = (float)i;
    xtq_kernel_packet(&command, 0, INDEX, 1, &grid, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    check(xtq_put(x, TARGET, &command, sizeof(command), payload, sizeof(payload), 0, NULL), "xtq_put"); /* (3) */
}

static void serve(struct xtq *x)
{
    static const char *bodies[] = {"add_one"};
    static float out[COUNT]; /* (4) the kernel writes here; rings receive the messages */
    struct xtq_queue_entry queue = {.engine = XTQ_DEVICE, .source = source, .bodies = bodies, .body_count = 1};
    struct xtq_kernel_entry kernel = {.body = 1, .address = out, .buffer_bytes = sizeof(out)};
    cl_platform_id platform;
    cl_int status;

    /* (5) */
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &queue.device, NULL), "clGetDeviceIDs");
    queue.context = clCreateContext(NULL, 1, &queue.device, NULL, NULL, &status);
    check(status, "clCreateContext");
    check(xtq_signal_create(1, &kernel.signal), "xtq_signal_create");
    /* (6) */
    check(xtq_register_kernel(x, INDEX, &kernel), "xtq_register_kernel");
    check(xtq_register_queue(x, 0, &queue), "xtq_register_queue");
    MPI_Barrier(MPI_COMM_WORLD);
    /* (7) */
    check(xtq_signal_wait(x, kernel.signal, XTQ_EQ, 0, -1), "xtq_signal_wait");
    printf("rank %d: out[%d] = %g\n", TARGET, COUNT - 1, (double)out[COUNT - 1]);
    check(xtq_barrier(x), "xtq_barrier");
    check(xtq_unregister_queue(x, 0), "xtq_unregister_queue");
    clReleaseContext(queue.context);
    xtq_signal_destroy(kernel.signal);
}

int main(int argc, char **argv)
{
    struct xtq *x;
    int rank, size, level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level); /* (1) */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "run this with 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    check(xtq_init(MPI_COMM_WORLD, NULL, &x), "xtq_init");
    if (rank == INITIATOR) {
        initiate(x);
        check(xtq_barrier(x), "xtq_barrier");
    } else {
        serve(x);
    }
    check(xtq_finalize(x), "xtq_finalize");
    MPI_Finalize();
    return 0;
}
