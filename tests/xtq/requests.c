/*
 * Reductions with requests, completed by all functions of MPI, between blocking reductions and with other requests; and
 * persistent ones, where MPI has these. This program checks the results.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LENGTH = 20000, MANY = 20 };

static int rank, size, wrong;

static void expect(const char *what, long is, long should)
{
    if (is != should && wrong++ < 10)
        fprintf(stderr, "rank %d: %s: %ld instead of %ld\n", rank, what, is, should);
}

static long *fill(long *data, int seed)
{
    for (int i = 0; i < LENGTH; i++)
        data[i] = rank + i + seed;
    return data;
}

static void check(const char *what, const long *result, int seed)
{
    for (int i = 0; i < LENGTH; i++)
        expect(what, result[i], (long)size * (size - 1) / 2 + (long)size * (i + seed));
}

static long *allocate(void)
{
    long *memory = calloc(LENGTH, sizeof(*memory));

    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

/* More requests than may be under way; some reduce to one rank, some are in place, one is too small for XTQ. */
static void many(MPI_Comm comm, int way)
{
    long *data[MANY], *results[MANY], small = 1, sum = 0;
    MPI_Request requests[MANY + 3];
    MPI_Status statuses[MANY + 3];
    int token = rank, from = -1, before = (rank + size - 1) % size, after = (rank + 1) % size;

    for (int i = 0; i < MANY; i++) {
        data[i] = fill(allocate(), i);
        results[i] = allocate();
        if (i % 3 == 0)
            MPI_Iallreduce(data[i], results[i], LENGTH, MPI_LONG, MPI_SUM, comm, &requests[i]);
        else if (i % 3 == 1)
            MPI_Ireduce(data[i], rank == i % size ? results[i] : NULL, LENGTH, MPI_LONG, MPI_SUM, i % size, comm,
                        &requests[i]);
        else
            MPI_Iallreduce(MPI_IN_PLACE, data[i], LENGTH, MPI_LONG, MPI_SUM, comm, &requests[i]);
    }
    MPI_Irecv(&from, 1, MPI_INT, before, 7, comm, &requests[MANY]);
    MPI_Isend(&token, 1, MPI_INT, after, 7, comm, &requests[MANY + 1]);
    MPI_Iallreduce(&small, &sum, 1, MPI_LONG, MPI_SUM, comm, &requests[MANY + 2]);
    if (way == 0) {
        MPI_Waitall(MANY + 3, requests, statuses);
    } else if (way == 1) {
        for (int left = MANY + 3; left > 0;) {
            int done, indices[MANY + 3];

            MPI_Waitsome(MANY + 3, requests, &done, indices, statuses);
            left -= done;
        }
    } else if (way == 2) {
        for (int left = MANY + 3; left > 0;) {
            int index, found;

            MPI_Testany(MANY + 3, requests, &index, &found, statuses);
            left -= found && index != MPI_UNDEFINED;
        }
    } else {
        int all = 0, flag = 0;

        while (!flag)
            MPI_Request_get_status(requests[0], &flag, statuses);
        while (!all)
            MPI_Testall(MANY + 3, requests, &all, statuses);
    }
    expect("message", from, before);
    expect("small", sum, size);
    for (int i = 0; i < MANY; i++) {
        expect("request", requests[i] == MPI_REQUEST_NULL, 1);
        if (i % 3 != 1 || rank == i % size)
            check(i % 3 == 1 ? "to one" : "to all", i % 3 == 2 ? data[i] : results[i], i);
        free(data[i]);
        free(results[i]);
    }
}

/* The reduction progresses while this rank is busy (asleep, in fact); blocking ones keep their order. */
static void in_between(MPI_Comm comm)
{
    long *data = fill(allocate(), 5), *result = allocate(), *own = fill(allocate(), 6), *other = allocate();
    MPI_Request request;

    MPI_Iallreduce(data, result, LENGTH, MPI_LONG, MPI_SUM, comm, &request);
    if (rank == 0)
        usleep(20000);
    MPI_Allreduce(own, other, LENGTH, MPI_LONG, MPI_SUM, comm);
    check("blocking", other, 6);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check("around", result, 5);
    free(data);
    free(result);
    free(own);
    free(other);
}

/* While a rank waits in a reduction, others access its window, though MPI carries the accesses. */
static void with_window(void)
{
    long *data = fill(allocate(), 2), *result = allocate(), memory[2] = {0, 0}, one = 1;
    MPI_Win win;

    MPI_Win_create(memory, sizeof(memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 1) {
        for (int i = 0; i < 10; i++) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(&one, 1, MPI_LONG, 0, i % 2, 1, MPI_LONG, win);
            MPI_Win_unlock(0, win);
        }
    }
    MPI_Allreduce(data, result, LENGTH, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    check("with a window", result, 2);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    expect("put meanwhile", memory[0] + memory[1], rank == 0 ? 2 : 0);
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
    free(data);
    free(result);
}

/* In a different order on two communicators, as MPI allows. */
static void crossed(MPI_Comm comm, MPI_Comm copy)
{
    long *data = fill(allocate(), 1), *first = allocate(), *second = allocate();
    MPI_Request requests[2];
    int nothing = 0;

    MPI_Iallreduce(data, first, LENGTH, MPI_LONG, MPI_SUM, rank % 2 ? comm : copy, &requests[0]);
    if (rank % 2 == 0 && rank + 1 < size) /* the other rank starts its second reduction only after this */
        MPI_Send(&nothing, 1, MPI_INT, rank + 1, 9, comm);
    if (rank % 2)
        MPI_Recv(&nothing, 1, MPI_INT, rank - 1, 9, comm, MPI_STATUS_IGNORE);
    MPI_Iallreduce(data, second, LENGTH, MPI_LONG, MPI_SUM, rank % 2 ? copy : comm, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    check("crossed", second, 1);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check("crossed", first, 1);
    free(data);
    free(first);
    free(second);
}

#if MPI_VERSION >= 4
/* Never inlined, for the thread sanitizer: see tests/tsan.supp. */
static void __attribute__((noinline)) persistent(MPI_Comm comm)
{
    long *data = allocate(), *result = allocate(), *mine = allocate();
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int token = 0, from = 0;

    MPI_Allreduce_init(data, result, LENGTH, MPI_LONG, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Reduce_init_c(data, mine, LENGTH, MPI_LONG, MPI_SUM, size - 1, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Recv_init(&from, 1, MPI_INT, (rank + size - 1) % size, 3, comm, &requests[2]);
    for (int round = 0; round < 5; round++) {
        fill(data, round);
        if (round % 2) {
            MPI_Startall(3, requests);
        } else {
            for (int i = 0; i < 3; i++)
                MPI_Start(&requests[i]);
        }
        token = round * 100 + rank;
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 3, comm);
        MPI_Waitall(3, requests, statuses);
        check("persistent", result, round);
        if (rank == size - 1)
            check("persistent, to one", mine, round);
        expect("persistent receive", from, round * 100 + (rank + size - 1) % size);
    }
    for (int i = 0; i < 3; i++) {
        expect("persistent request", requests[i] != MPI_REQUEST_NULL, 1);
        MPI_Request_free(&requests[i]);
        expect("persistent request", requests[i] == MPI_REQUEST_NULL, 1);
    }
    fill(data, 3);
    MPI_Iallreduce_c(data, result, LENGTH, MPI_LONG, MPI_SUM, comm, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check("counted by MPI_Count", result, 3);
    MPI_Allreduce_c(data, mine, LENGTH, MPI_LONG, MPI_SUM, comm);
    check("counted by MPI_Count", mine, 3);
    free(data);
    free(result);
    free(mine);
}
#endif

int main(int count, char **words)
{
    MPI_Comm copy;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    many(copy, 0); /* before XTQ knows this communicator */
    MPI_Barrier(copy);
    for (int way = 0; way < 4; way++)
        many(copy, way);
    in_between(copy);
    in_between(MPI_COMM_WORLD);
    with_window();
    if (size % 2 == 0)
        crossed(MPI_COMM_WORLD, copy);
#if MPI_VERSION >= 4
    persistent(copy);
#endif
    MPI_Comm_free(&copy);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong != 0;
}
