/*
 * mpi_program ROUNDS [few]: an MPI program that does not use XTQ itself: rank 0 prints the results of reductions and
 * accumulates, which libxtqmpi must not change. Numbers are small integers, so that the order of additions does not
 * matter. With "few" the program creates few windows.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, rounds;

static unsigned long digest(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    unsigned long sum = 14695981039346656037ul;

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ at[i]) * 1099511628211ul;
    return sum;
}

/* Shows all ranks' digests, which rank 0 prints. */
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
        MPI_Allreduce(data, result, count, MPI_INT, MPI_BAND, comm); /* XTQ does not carry this */
        show(what, result, sizeof(int) * (size_t)count);
        MPI_Allreduce(data, result, count, MPI_INT, MPI_MIN, comm);
        show(what, result, sizeof(int) * (size_t)count);
    }
    free(data);
    free(result);
}

enum { LENGTH = 40000 };

/* Every rank accumulates to every rank, between fences; then with locks; then mixed with MPI's other atomic
 * operations. */
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

    for (int i = 0; i < rounds; i++) {
        int target = (rank + i) % size;

        MPI_Win_lock(i % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
        MPI_Accumulate(data, 1000, MPI_LONG, target, 2000, 1000, MPI_LONG, MPI_SUM, win);
        if (i % 3 == 0)
            MPI_Win_flush(target, win);
        MPI_Win_unlock(target, win);
    }
    /* all ranks increment a counter under an exclusive lock, by reading and writing */
    for (int i = 0; i < rounds; i++) {
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

    /* in order after this rank's accumulates; each rank has its own elements */
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

/*
 * One rank's operations on its own elements at the next rank, alternately MPI's and some that XTQ may carry: each must
 * come after the one before. With fences MPI has no way to wait in between.
 */
static void in_order(MPI_Win win, long *memory, int locked)
{
    int target = (rank + 1) % size, place = 30000 + rank * 8;
    long data[8], got[8], sum = 0, value, one = 1, before = 0;
    MPI_Datatype every_second;
    MPI_Request request;

    MPI_Type_vector(4, 1, 2, MPI_LONG, &every_second);
    MPI_Type_commit(&every_second);
    if (!locked)
        MPI_Win_fence(0, win);
    for (int round = 0; round < rounds; round++) {
        value = round * 1000;
        for (int i = 0; i < 8; i++)
            data[i] = round + i;
        if (locked)
            MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Fetch_and_op(&value, got, MPI_LONG, target, place, MPI_REPLACE, win);
        MPI_Accumulate(data, 8, MPI_LONG, target, place, 8, MPI_LONG, MPI_SUM, win);
        MPI_Accumulate(data, 8, MPI_LONG, target, place, 8, MPI_LONG, MPI_REPLACE, win);
        MPI_Fetch_and_op(NULL, &before, MPI_LONG, target, place + 7, MPI_NO_OP, win);
        MPI_Accumulate(data, 1, every_second, target, place, 1, every_second, MPI_REPLACE, win);
        MPI_Accumulate(data, 8, MPI_LONG, target, place, 8, MPI_LONG, MPI_SUM, win);
        MPI_Get_accumulate(data, 8, MPI_LONG, got, 8, MPI_LONG, target, place, 8, MPI_LONG, MPI_REPLACE, win);
        MPI_Accumulate(&one, 1, MPI_LONG, target, place + 5, 1, MPI_LONG, MPI_SUM, win);
        if (locked) {
            MPI_Raccumulate(data, 8, MPI_LONG, target, place, 8, MPI_LONG, MPI_PROD, win, &request);
            MPI_Accumulate(data, 8, MPI_LONG, target, place, 8, MPI_LONG, MPI_SUM, win);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Win_unlock(target, win);
        } else {
            MPI_Win_fence(0, win);
        }
        sum += before;
        for (int i = 0; i < 8; i++)
            sum += got[i] * (i + 1);
    }
    MPI_Type_free(&every_second);
    MPI_Barrier(MPI_COMM_WORLD);
    show(locked ? "order, locks" : "order, fences", &sum, sizeof(sum));
    if (locked)
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    show(locked ? "order, locks" : "order, fences", memory + 30000, sizeof(*memory) * 8 * (size_t)size);
    if (locked)
        MPI_Win_unlock(rank, win);
    else
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Creates more windows at once than XTQ has numbers for, and more one after the other. */
static void many_windows(void)
{
    enum { AT_ONCE = 70, AFTER_EACH_OTHER = 40 };
    long memory[AT_ONCE][8] = {{0}}, one = 1; /* MPICH 4.0.2 confuses adjacent windows */
    MPI_Win wins[AT_ONCE];

    for (int i = 0; i < AT_ONCE; i++)
        MPI_Win_create(memory[i], sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i]);
    for (int i = 0; i < AT_ONCE; i++) {
        MPI_Win_fence(0, wins[i]);
        MPI_Accumulate(&one, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, MPI_SUM, wins[i]);
        MPI_Win_fence(0, wins[i]);
    }
    for (int i = 0; i < AT_ONCE; i++)
        MPI_Win_free(&wins[i]);
    for (int i = 0; i < AFTER_EACH_OTHER; i++) {
        MPI_Win_create(memory[i], sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &wins[0]);
        MPI_Win_fence(0, wins[0]);
        MPI_Accumulate(&one, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, MPI_SUM, wins[0]);
        MPI_Win_fence(0, wins[0]);
        MPI_Win_free(&wins[0]);
    }
    show("windows", memory, sizeof(memory));
}

static void types(void)
{
    const struct {
        MPI_Datatype type;
        size_t bytes;
    } all[] = {
        {MPI_CHAR, 1},
        {MPI_SIGNED_CHAR, 1},
        {MPI_UNSIGNED_CHAR, 1},
        {MPI_SHORT, 2},
        {MPI_UNSIGNED_SHORT, 2},
        {MPI_INT, 4},
        {MPI_LONG, 8},
        {MPI_UINT64_T, 8},
        {MPI_AINT, 8},
        {MPI_OFFSET, 8},
        {MPI_COUNT, 8},
        {MPI_FLOAT, 4},
        {MPI_DOUBLE, 8},
        {MPI_INTEGER, 4},
        {MPI_REAL, 4},
        {MPI_INTEGER2, 2},
        {MPI_INTEGER8, 8},
        {MPI_REAL8, 8},
        {MPI_DOUBLE_PRECISION, 8},
    };
    static const MPI_Op ops[] = {MPI_SUM, MPI_MAX};
    char memory[64], data[64], result[64];

    for (size_t t = 0; t < sizeof(all) / sizeof(*all); t++) {
        size_t bytes = all[t].bytes * 8;
        MPI_Win win;

        memset(memory, 0, sizeof(memory));
        for (size_t i = 0; i < bytes; i++) /* small numbers in any type */
            data[i] = (char)(i % all[t].bytes == 0 ? (int)i % 7 + rank : 0);
        MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_fence(0, win);
        MPI_Accumulate(data, 8, all[t].type, 0, 0, 8, all[t].type, MPI_SUM, win);
        MPI_Win_fence(0, win);
        show("type", memory, sizeof(memory));
        MPI_Get_accumulate(NULL, 0, all[t].type, NULL, 0, all[t].type, 0, 0, 0, all[t].type, MPI_SUM,
                           win); /* no elements */
        MPI_Win_fence(0, win);
        MPI_Win_free(&win);
        for (int op = 0; op < 2; op++) {
            memset(result, 0, sizeof(result));
            MPI_Allreduce(data, result, 8, all[t].type, ops[op], MPI_COMM_WORLD);
            show("type", result, bytes);
        }
    }
}

enum { DERIVED = 10 };

static MPI_Datatype derived_type(int which)
{
    const int lengths[] = {3, 1, 5}, places[] = {40, 2, 10}, sizes[] = {6, 7, 8}, parts[] = {3, 2, 5},
              starts[] = {1, 4, 2}, block[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC},
              grid[] = {2, 1, 3}, by[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG, 2};
    const MPI_Aint bytes[] = {0, 400, 64};
    const MPI_Datatype types[] = {MPI_LONG, MPI_LONG, MPI_LONG};
    MPI_Datatype type = MPI_DATATYPE_NULL, inner;

    switch (which) {
    case 0:
        MPI_Type_contiguous(17, MPI_LONG, &type);
        break;
    case 1:
        MPI_Type_create_hvector(5, 2, 56, MPI_LONG, &type);
        break;
    case 2:
        MPI_Type_indexed(3, lengths, places, MPI_LONG, &type);
        break;
    case 3:
        MPI_Type_create_hindexed_block(3, 4, bytes, MPI_LONG, &type);
        break;
    case 4:
        MPI_Type_create_struct(3, lengths, bytes, types, &type);
        break;
    case 5:
        MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_LONG, &type);
        break;
    case 6:
    case 7:
        MPI_Type_create_darray(6, which - 3, 3, sizes, block, by, grid, which == 6 ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                               MPI_LONG, &type);
        break;
    case 8:
#if MPI_VERSION >= 4
        MPI_Type_create_subarray_c(3, (MPI_Count[]){6, 7, 8}, (MPI_Count[]){3, 2, 5}, (MPI_Count[]){1, 4, 2},
                                   MPI_ORDER_C, MPI_LONG, &type);
        break;
#endif
    default:
        MPI_Type_vector(3, 2, 4, MPI_LONG, &inner);
        MPI_Type_create_resized(inner, 0, 120, &type);
        MPI_Type_free(&inner);
        MPI_Type_vector(2, 2, 3, type, &inner);
        MPI_Type_free(&type);
        type = inner;
    }
    MPI_Type_commit(&type);
    return type;
}

/* Datatypes of all sorts at either end. */
static void derived(void)
{
    const int next = (rank + 1) % size;
    long *memory = calloc(LENGTH, sizeof(*memory)), *data = malloc(sizeof(*data) * LENGTH),
         *got = calloc(LENGTH, sizeof(*got));
    char what[100];
    MPI_Win win;

    FILL(long, data, LENGTH, rank);
    MPI_Win_create(memory, sizeof(*memory) * LENGTH, sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    for (int which = 0; which < DERIVED; which++) {
        MPI_Datatype type = derived_type(which);
        int bytes, all;

        MPI_Type_size(type, &bytes);
        all = 3 * bytes / (int)sizeof(long);
        MPI_Accumulate(data, all, MPI_LONG, next, which, 3, type, MPI_SUM, win);
        MPI_Accumulate(data + which, 3, type, next, 5, all, MPI_LONG, MPI_SUM, win);
        MPI_Accumulate(data + which, 3, type, next, 900, 3, type, MPI_SUM, win);
        MPI_Win_fence(0, win);
        MPI_Get_accumulate(data, all, MPI_LONG, got, 3, type, next, which, all, MPI_LONG, MPI_SUM, win);
        MPI_Win_fence(0, win);
        MPI_Type_free(&type);
        snprintf(what, sizeof(what), "datatype %d", which);
        show(what, memory, sizeof(*memory) * LENGTH);
#ifndef OPEN_MPI /* 4.1.4 loses some of these */
        show(what, got, sizeof(*got) * LENGTH);
#endif
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    free(memory);
    free(data);
    free(got);
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

/* Ranks with a window and a rank without one wait for each other. */
static void a_window_of_some(void)
{
    long *memory, sum = rank + 1;
    MPI_Comm some;
    MPI_Win win;

    if (size < 3) /* Open MPI creates no window for one rank */
        return;
    memory = calloc(LENGTH, sizeof(*memory));
    MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1 ? MPI_UNDEFINED : 0, rank, &some);
    if (some != MPI_COMM_NULL)
        MPI_Win_create(memory, sizeof(*memory) * LENGTH, sizeof(*memory), MPI_INFO_NULL, some, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    show("sum, some with a window", &sum, sizeof(sum));
    if (some != MPI_COMM_NULL) {
        MPI_Win_free(&win);
        MPI_Comm_free(&some);
    }
    free(memory);
}

int main(int count, char **words)
{
    MPI_Comm half, copy, self;
    MPI_Win win;
    long *memory;

    MPI_Init(&count, &words);
    rounds = atoi(words[1]);
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
        in_order(win, memory, 0);
        in_order(win, memory, 1);
        general_active_target(win, memory);
        MPI_Win_free(&win);
        if (i != 1)
            free(memory);
    }
    if (count < 3)
        many_windows();
    a_window_of_some();
    types();
    derived();
    MPI_Finalize();
    return 0;
}
