/*
 * epochs KIND ROUNDS: accumulates in one kind of epoch: fence, lock, lock_all, flush, or pscw (MPI_Win_start and its
 * like). They add to what the target wrote before it opened its epoch, and fetch the values before them.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LENGTH = 10000, LARGE = 5000 };

static int rank, size, wrong;
static const char *kind;

static void expect(const char *what, int round, long is, long should)
{
    if (is != should && wrong++ < 10)
        fprintf(stderr, "rank %d, %s, round %d: %s: %ld instead of %ld\n", rank, kind, round, what, is, should);
}

static int is(const char *name)
{
    return !strcmp(kind, name);
}

/* On the next rank's memory: adds one to the first element, fetches all and adds one to them, then doubles the
 * first. */
static void operate(MPI_Win win, int target, int round)
{
    static long ones[LARGE], was[LARGE];
    long two = 2, first = -1;

    for (int i = 0; i < LARGE; i++) {
        ones[i] = 1;
        was[i] = -1;
    }
    if (is("lock"))
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Accumulate(ones, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Get_accumulate(ones, LARGE, MPI_LONG, was, LARGE, MPI_LONG, target, 0, LARGE, MPI_LONG, MPI_SUM, win);
    MPI_Fetch_and_op(&two, &first, MPI_LONG, target, 0, MPI_PROD, win);
    if (is("lock"))
        MPI_Win_unlock(target, win);
    else if (is("fence"))
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    else if (is("pscw"))
        MPI_Win_complete(win);
    else
        MPI_Win_flush(target, win);
    expect("first", round, first, round + 2);
    expect("first before", round, was[0], round + 1);
    for (int i = 1; i < LARGE; i++)
        expect("before", round, was[i], round + i);
}

static void rounds(MPI_Win win, long *memory, MPI_Group next, MPI_Group before, int count)
{
    if (is("lock_all"))
        MPI_Win_lock_all(0, win);
    for (int round = 0; round < count; round++) {
        if (!is("pscw"))
            MPI_Barrier(MPI_COMM_WORLD); /* all ranks have read their memory */
        if (is("lock") || is("flush"))
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        if (round % 8 == rank % 8)
            usleep(2000); /* an operation that comes too early is overwritten */
        for (int i = 0; i < LENGTH; i++)
            memory[i] = round + i;
        if (is("lock") || is("flush"))
            MPI_Win_unlock(rank, win);
        if (is("lock_all"))
            MPI_Win_sync(win);
        if (is("fence"))
            MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        else if (!is("pscw"))
            MPI_Barrier(MPI_COMM_WORLD);
        if (is("flush"))
            MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % size, 0, win);
        if (is("pscw")) {
            MPI_Win_post(before, 0, win);
            MPI_Win_start(next, 0, win);
        }
        if (!is("pscw") || round % 3 != 2)
            operate(win, (rank + 1) % size, round);
        else
            MPI_Win_complete(win); /* without an operation */
        if (is("flush"))
            MPI_Win_unlock((rank + 1) % size, win);
        if (is("pscw"))
            MPI_Win_wait(win);
        else if (!is("fence"))
            MPI_Barrier(MPI_COMM_WORLD);
        if (is("lock") || is("flush"))
            MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        if (is("lock_all"))
            MPI_Win_sync(win);
        for (int i = 0; i < LENGTH; i++) {
            long should = is("pscw") && round % 3 == 2 ? round + i : i == 0 ? 2 * (round + 2) : round + i + (i < LARGE);

            expect("afterwards", round, memory[i], should);
        }
        if (is("lock") || is("flush"))
            MPI_Win_unlock(rank, win);
    }
    if (is("lock_all"))
        MPI_Win_unlock_all(win);
}

int main(int count, char **words)
{
    MPI_Group all, next, before;
    long *memory;
    MPI_Win win;

    kind = words[1];
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, (int[]){(rank + 1) % size}, &next);
    MPI_Group_incl(all, 1, (int[]){(rank + size - 1) % size}, &before);
    MPI_Win_allocate(LENGTH * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    rounds(win, memory, next, before, atoi(words[2]));
    MPI_Win_free(&win);
    MPI_Group_free(&all);
    MPI_Group_free(&next);
    MPI_Group_free(&before);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong != 0;
}
