/*
 * meetings ROUNDS: barriers and small allreduces on communicators with windows: with all operations and types, in place
 * and not, between accumulates of all ranks into all windows, and on communicators that are created and freed. The
 * results are compared with MPI's.
 */
#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(holds)                                                                                                  \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "%s:%d: %s, rank %d\n", __FILE__, __LINE__, #holds, rank);                                 \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

enum { MOST = 5000, WINDOW = 16 << 10 };

static int rank, size, rounds;

static void fill(void *data, size_t bytes, MPI_Datatype type, int seed)
{
    for (size_t i = 0; i < bytes / 4; i++) {
        int value = (int)((i * 7 + (size_t)seed * 3) % 5);

        if (type == MPI_FLOAT)
            ((float *)data)[i] = (float)value;
        else if (type == MPI_DOUBLE)
            ((double *)data)[i / 2] = value;
        else
            ((int *)data)[i] = value;
    }
}

static void reduce(MPI_Comm comm, int count, MPI_Datatype type, MPI_Op op)
{
    static double data[MOST], result[MOST + 1], expected[MOST];
    int bytes;

    MPI_Type_size(type, &bytes);
    fill(data, sizeof(data), type, rank);
    memset(result, 0x55, sizeof(result));
    EXPECT(!PMPI_Allreduce(data, expected, count, type, op, comm));
    EXPECT(!MPI_Allreduce(data, result, count, type, op, comm));
    EXPECT(!memcmp(result, expected, (size_t)count * (size_t)bytes));
    EXPECT(((unsigned char *)result)[count * bytes] == 0x55);
    EXPECT(!MPI_Allreduce(MPI_IN_PLACE, data, count, type, op, comm));
    EXPECT(!memcmp(data, expected, (size_t)count * (size_t)bytes));
}

/* Defines functions that set elements of a type, and compare them without the bytes that have no meaning. */
#define ELEMENTS(name, c_type, set, is_same)                                                                           \
    static void set_##name(void *memory, int count, int seed)                                                          \
    {                                                                                                                  \
        c_type *all = memory;                                                                                          \
                                                                                                                       \
        for (int i = 0; i < count; i++) {                                                                              \
            const int value = (i * 7 + seed * 3) % 5;                                                                  \
            c_type *e = &all[i];                                                                                       \
                                                                                                                       \
            set;                                                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static int same_##name(const void *one, const void *two, int count)                                                \
    {                                                                                                                  \
        int same = 1;                                                                                                  \
                                                                                                                       \
        for (int i = 0; i < count; i++) {                                                                              \
            const c_type *e = (const c_type *)one + i, *f = (const c_type *)two + i;                                   \
                                                                                                                       \
            same &= is_same;                                                                                           \
        }                                                                                                              \
        return same;                                                                                                   \
    }
#define PAIR(name, c_type)                                                                                             \
    struct name {                                                                                                      \
        c_type value;                                                                                                  \
        int at;                                                                                                        \
    };                                                                                                                 \
    ELEMENTS(name, struct name, e->value = (c_type)value; e->at = seed, e->value == f->value && e->at == f->at)

ELEMENTS(byte, unsigned char, *e = (unsigned char)(value * 51), *e == *f)
ELEMENTS(boolean, _Bool, *e = value % 2, *e == *f)
ELEMENTS(long_double, long double, *e = value, *e == *f)
ELEMENTS(complex_float, float complex, *e = (float)value + (float)seed * I, *e == *f)
ELEMENTS(complex_double, double complex, *e = value + seed * I, *e == *f)
ELEMENTS(complex_long_double, long double complex, *e = value + seed * I, *e == *f)
PAIR(float_int, float)
PAIR(double_int, double)
PAIR(long_int, long)
PAIR(two_ints, int)
PAIR(short_int, short)
PAIR(long_double_int, long double)

/* Types that reduce() does not test, with their operations. */
static void other_types(MPI_Comm comm)
{
    const struct {
        MPI_Datatype type;
        size_t bytes;
        void (*set)(void *memory, int count, int seed);
        int (*same)(const void *one, const void *two, int count);
        MPI_Op ops[3];
    } types[] = {
        {MPI_BYTE, 1, set_byte, same_byte, {MPI_BAND, MPI_BOR, MPI_BXOR}},
        {MPI_C_BOOL, sizeof(_Bool), set_boolean, same_boolean, {MPI_LAND, MPI_LOR, MPI_LXOR}},
        {MPI_LONG_DOUBLE, sizeof(long double), set_long_double, same_long_double, {MPI_SUM, MPI_PROD, MPI_MAX}},
#define COMPLEX(mpi, name, c_type)                                                                                     \
    {                                                                                                                  \
        mpi, sizeof(c_type), set_##name, same_##name,                                                                  \
        {                                                                                                              \
            MPI_SUM, MPI_PROD, MPI_SUM                                                                                 \
        }                                                                                                              \
    }
        COMPLEX(MPI_C_FLOAT_COMPLEX, complex_float, float complex),
        COMPLEX(MPI_C_DOUBLE_COMPLEX, complex_double, double complex),
        COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, complex_long_double, long double complex),
#define LOCATED(mpi, name)                                                                                             \
    {                                                                                                                  \
        mpi, sizeof(struct name), set_##name, same_##name,                                                             \
        {                                                                                                              \
            MPI_MINLOC, MPI_MAXLOC, MPI_MINLOC                                                                         \
        }                                                                                                              \
    }
        LOCATED(MPI_FLOAT_INT, float_int),
        LOCATED(MPI_DOUBLE_INT, double_int),
        LOCATED(MPI_LONG_INT, long_int),
        LOCATED(MPI_2INT, two_ints),
        LOCATED(MPI_SHORT_INT, short_int),
        LOCATED(MPI_LONG_DOUBLE_INT, long_double_int),
    };
    static long double data[MOST], result[MOST], expected[MOST];

    for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
        const int most = (int)((32 << 10) / types[t].bytes), counts[] = {1, 33, most, most + 1};

        for (int i = 0; i < 12; i++) {
            const int count = counts[i / 3];
            const MPI_Op op = types[t].ops[i % 3];

            types[t].set(data, count, rank);
            memset(result, 0x55, sizeof(result));
            EXPECT(!PMPI_Allreduce(data, expected, count, types[t].type, op, comm));
            EXPECT(!MPI_Allreduce(data, result, count, types[t].type, op, comm));
            EXPECT(types[t].same(result, expected, count));
            EXPECT(((unsigned char *)result)[(size_t)count * types[t].bytes] == 0x55);
            EXPECT(!MPI_Allreduce(MPI_IN_PLACE, data, count, types[t].type, op, comm));
            EXPECT(types[t].same(data, expected, count));
        }
    }
}

/* MPI computes undefined combinations, or returns an error, as without XTQ. */
static void undefined(MPI_Comm comm)
{
    const struct {
        MPI_Datatype type;
        MPI_Op op;
    } wrong[] = {{MPI_DOUBLE, MPI_BAND}, {MPI_FLOAT_INT, MPI_SUM}, {MPI_BYTE, MPI_MAX}, {MPI_INT, MPI_MINLOC}};
    long double data[2] = {0}, result[2];

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        EXPECT(!MPI_Allreduce(data, result, 1, wrong[i].type, wrong[i].op, comm) ==
               !PMPI_Allreduce(data, result, 1, wrong[i].type, wrong[i].op, comm));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

/* All ranks get the same result, even of sums that depend on the order, and of comparisons with NaN. */
static void same_everywhere(MPI_Comm comm, MPI_Op op)
{
    float data[3] = {0.1f * (float)(rank + 1), rank % 2 ? 0.0f : -0.0f, rank == 1 ? 0.0f / 0.0f : (float)rank}, all[3],
          first[3];

    EXPECT(!MPI_Allreduce(data, all, 3, MPI_FLOAT, op, comm));
    memcpy(first, all, sizeof(all));
    MPI_Bcast(first, 3, MPI_FLOAT, 0, comm);
    EXPECT(!memcmp(first, all, sizeof(all)));
}

static void reductions(MPI_Comm comm, bool all)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_BAND,
                          MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    const MPI_Datatype types[] = {MPI_INT, MPI_LONG, MPI_UNSIGNED_CHAR, MPI_FLOAT, MPI_DOUBLE};
    const int counts[] = {1, 3, 1024, 1025, 2049, 4095, 4999};

    for (unsigned t = 0; t < (all ? sizeof(types) / sizeof(*types) : 1); t++) {
        for (unsigned o = 0; o < (t < 3 ? 10 : 4); o++) {
            for (unsigned c = 0; c < sizeof(counts) / sizeof(*counts); c++)
                reduce(comm, counts[c], types[t], ops[o]);
        }
    }
    for (int o = 0; o < 4; o++)
        same_everywhere(comm, ops[o]);
}

/* No rank passes a barrier before all have accumulated. */
static void barriers(MPI_Comm comm, MPI_Win win, long *memory)
{
    const long one = 1;
    long sum;

    for (long round = 1; round <= rounds; round++) {
        for (int target = 0; target < size; target++) {
            MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
            MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
            MPI_Win_unlock(target, win);
        }
        if (round % 2) {
            EXPECT(!MPI_Barrier(comm));
        } else {
            EXPECT(!MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm));
            EXPECT(sum == size);
        }
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        EXPECT(memory[0] == round * size);
        MPI_Win_unlock(rank, win);
        EXPECT(!MPI_Barrier(comm));
    }
}

/* A communicator with a window, and without it afterwards. XTQ's number for it may be that of a freed one. */
static void with_window(MPI_Comm comm, bool all)
{
    long *memory;
    MPI_Win win;

    EXPECT(!MPI_Win_allocate(WINDOW * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, comm, &memory, &win));
    memset(memory, 0, WINDOW * sizeof(*memory));
    MPI_Barrier(comm);
    reductions(comm, all);
    if (all) {
        other_types(comm);
        undefined(comm);
    }
    barriers(comm, win, memory);
    EXPECT(!MPI_Win_free(&win));
    reduce(comm, 10, MPI_INT, MPI_SUM);
    MPI_Barrier(comm);
}

int main(int count, char **words)
{
    MPI_Comm comm;

    MPI_Init(&count, &words);
    rounds = atoi(words[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    with_window(MPI_COMM_WORLD, true);
    for (int round = 0; round < 4; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        reduce(comm, 10, MPI_INT, MPI_SUM);
        if (round % 2)
            with_window(comm, false);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return 0;
}
