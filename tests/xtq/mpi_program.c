/*
 * An MPI program that knows nothing of XTQ: rank 0 prints what reductions and accumulates give. libxtqmpi must not
 * change that. Numbers are small whole ones, so that the order of adding is all the same.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static unsigned long digest(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    unsigned long sum = 14695981039346656037ul;

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ at[i]) * 1099511628211ul;
    return sum;
}

/* All ranks' digests, which rank 0 prints. */
static void show(const char *what, const void *data, size_t bytes)
{
    unsigned long own = digest(data, bytes), all[64];

    MPI_Gather(&own, 1, MPI_UNSIGNED_LONG, all, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    printf("%s:", what);
    for (int i = 0; i < size; i++)
        printf(" %016lx", all[i]);
    printf("\n");
}

#define FILL(type, data, count, seed)                                                                                  \
    for (int i_ = 0; i_ < (count); i_++)                                                                               \
    ((type *)(data))[i_] = (type)((i_ * 7 + (seed)) % 5 + 1)

static void reductions_on(MPI_Comm comm, const char *name)
{
    static const int counts[] = {1, 1000, 50000, 200001};
    double *data = malloc(sizeof(*data) * 200001), *result = malloc(sizeof(*result) * 200001);
    char what[100];
    int ranks, me;

    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &me);
    for (int c = 0; c < 4; c++) {
        int count = counts[c];

        snprintf(what, sizeof(what), "%s %d", name, count);
        FILL(double, data, count, rank);
        memset(result, 0, sizeof(*result) * (size_t)count);
        MPI_Allreduce(data, result, count, MPI_DOUBLE, MPI_SUM, comm);
        show(what, result, sizeof(*result) * (size_t)count);
        MPI_Reduce(data, result, count, MPI_DOUBLE, MPI_PROD, ranks - 1, comm);
        show(what, result, me == ranks - 1 ? sizeof(*result) * (size_t)count : 0);
        MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_DOUBLE, MPI_MAX, comm);
        show(what, data, sizeof(*result) * (size_t)count);
        FILL(double, data, count, rank);
        MPI_Reduce(me == 0 ? MPI_IN_PLACE : data, me == 0 ? data : NULL, count, MPI_DOUBLE, MPI_SUM, 0, comm);
        show(what, data, sizeof(*result) * (size_t)count);
        FILL(int, data, count, rank);
        MPI_Allreduce(data, result, count, MPI_INT, MPI_BAND, comm); /* not XTQ's */
        show(what, result, sizeof(int) * (size_t)count);
        MPI_Allreduce(data, result, count, MPI_INT, MPI_MIN, comm);
        show(what, result, sizeof(int) * (size_t)count);
    }
    free(data);
    free(result);
}

enum { LENGTH = 40000 };

/* Everybody into everybody, between fences; then with locks; then all of it mixed with MPI's other atomic operations.
 */
static void accumulates(MPI_Win win, long *memory)
{
    long *data = malloc(sizeof(*data) * LENGTH), old[4] = {0}, got[4];
    long one = 1;

    FILL(long, memory, LENGTH, rank * 3);
    FILL(long, data, LENGTH, rank);
    MPI_Win_fence(0, win);
    for (int target = 0; target < size; target++) {
        MPI_Accumulate(data, LENGTH, MPI_LONG, target, 0, LENGTH, MPI_LONG, MPI_SUM, win);
        MPI_Accumulate(data, 5, MPI_LONG, target, 100 + rank, 5, MPI_LONG, MPI_SUM, win);
    }
    MPI_Win_fence(0, win);
    show("fence", memory, sizeof(*memory) * LENGTH);
    memory[7] += 5;
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);

    for (int i = 0; i < 20; i++) {
        int target = (rank + i) % size;

        MPI_Win_lock(i % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
        MPI_Accumulate(data, 1000, MPI_LONG, target, 2000, 1000, MPI_LONG, MPI_SUM, win);
        if (i % 3 == 0)
            MPI_Win_flush(target, win);
        MPI_Win_unlock(target, win);
    }
    /* a counter that everybody adds to under an exclusive lock, by reading and writing */
    for (int i = 0; i < 50; i++) {
        long value;

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 10, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_flush(0, win);
        MPI_Get(&value, 1, MPI_LONG, 0, 10, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        value += 1;
        MPI_Put(&value, 1, MPI_LONG, 0, 10, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    show("locks", memory, sizeof(*memory) * LENGTH);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);

    /* in order after this rank's accumulates; each rank has elements of its own */
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 10; i++) {
        int target = (rank + 1) % size, place = 20000 + rank * 4;

        MPI_Accumulate(data, 4, MPI_LONG, target, place, 4, MPI_LONG, MPI_SUM, win);
        MPI_Get_accumulate(data, 4, MPI_LONG, got, 4, MPI_LONG, target, place, 4, MPI_LONG, MPI_SUM, win);
        MPI_Accumulate(data, 4, MPI_LONG, target, place, 4, MPI_LONG, MPI_REPLACE, win);
        MPI_Fetch_and_op(&one, &old[i % 4], MPI_LONG, target, place, MPI_SUM, win);
        MPI_Win_flush_all(win);
        for (int k = 0; k < 4; k++)
            old[k] += got[k];
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    show("got", old, sizeof(old));
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    show("mixed", memory, sizeof(*memory) * LENGTH);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    free(data);
}

static void general_active_target(MPI_Win win, long *memory)
{
    MPI_Group world, others;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    long data[100];

    FILL(long, data, 100, rank);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &before, &others);
    MPI_Win_post(others, 0, win);
    MPI_Group_free(&others);
    MPI_Group_incl(world, 1, &next, &others);
    MPI_Win_start(others, 0, win);
    MPI_Accumulate(data, 100, MPI_LONG, next, 300, 100, MPI_LONG, MPI_SUM, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&others);
    MPI_Group_free(&world);
    show("post and start", memory, sizeof(*memory) * LENGTH);
}

int main(int count, char **words)
{
    MPI_Comm half, copy, self;
    MPI_Win win;
    long *memory;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    reductions_on(MPI_COMM_WORLD, "world");
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    reductions_on(half, "half");
    MPI_Comm_dup(half, &copy);
    reductions_on(copy, "copy");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    reductions_on(self, "self");
    for (int i = 0; i < 3; i++) {
        if (i == 1) {
            MPI_Win_allocate(sizeof(*memory) * LENGTH, sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        } else {
            memory = malloc(sizeof(*memory) * LENGTH);
            MPI_Win_create(memory, sizeof(*memory) * LENGTH, sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        accumulates(win, memory);
        general_active_target(win, memory);
        MPI_Win_free(&win);
        if (i != 1)
            free(memory);
    }
    MPI_Finalize();
    return 0;
}
