/*
 * A task graph that hops between ranks: each task that has done its part puts the next ones, so that no rank waits in
 * between. A tree of sums: leaves are on all ranks; a task that has both of its inputs passes their sum to the rank of
 * its parent; the root's sum is the result.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <xtq.h>

enum { DEPTH = 10, LEAVES = 1 << DEPTH, NODE = 1, START = 2 };

/* Nodes are numbered as in a heap: node 1 is the root, 2n and 2n+1 are the children of n, leaves come from LEAVES on.
 */
struct node {
    _Atomic int inputs;
    _Atomic long sum;
};

static struct xtq *x;
static int size;
static struct node nodes[LEAVES];
static struct xtq_signal *done;

static int rank_of(unsigned long node)
{
    return (int)(node % (unsigned long)size);
}

static int send(unsigned long node, long value)
{
    struct xtq_function_packet packet;

    xtq_function_packet(&packet, 0, NODE, node, (uint64_t)value);
    return xtq_put(x, rank_of(node), &packet, sizeof(packet), NULL, 0, 0, NULL);
}

/* arg[2]: the node; arg[3]: one of its inputs. */
static int on_input(const struct xtq_task *task, void *argument)
{
    struct node *node = &nodes[task->arg[2]];

    (void)argument;
    atomic_fetch_add(&node->sum, (long)task->arg[3]);
    if (atomic_fetch_add(&node->inputs, 1) + 1 < 2)
        return 0;
    if (task->arg[2] == 1) {
        xtq_signal_add(done, -1);
        return 0;
    }
    return send(task->arg[2] / 2, node->sum);
}

int main(int argc, char **argv)
{
    struct xtq_function_entry entry = {.function = on_input};
    struct xtq_queue_entry queue = {.engine = XTQ_HOST};
    int rank, level, error;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    error = xtq_init(MPI_COMM_WORLD, NULL, &x);
    if (!error)
        error = xtq_signal_create(1, &done);
    if (!error)
        error = xtq_register_function(x, NODE, &entry);
    if (!error)
        error = xtq_register_queue(x, 0, &queue);
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned long leaf = LEAVES; leaf < 2 * LEAVES && !error; leaf++) {
        if (rank_of(leaf) == rank)
            error = send(leaf / 2, (long)leaf);
    }
    if (!error && rank == rank_of(1)) {
        error = xtq_signal_wait(x, done, XTQ_EQ, 0, -1);
        printf("sum of the leaves: %ld\n", nodes[1].sum);
    }
    if (error) {
        fprintf(stderr, "rank %d: error %d\n", rank, error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    xtq_barrier(x); /* the others serve until then */
    xtq_finalize(x);
    xtq_signal_destroy(done);
    MPI_Finalize();
    return 0;
}
