/*
 * Barriers and small allreduces on communicators with windows: of all operations and types, in place and not, between
 * accumulates of all ranks into all windows, and on communicators that come and go. What they give is compared with
 * what MPI gives.
 */
#include <mpi.h>
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

static int rank, size;

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

/* All ranks have the same, even of what adding in another order, or comparing with no number, gives otherwise. */
static void same_everywhere(MPI_Comm comm, MPI_Op op)
{
    float data[3] = {0.1f * (float)(rank + 1), rank % 2 ? 0.0f : -0.0f, rank == 1 ? 0.0f / 0.0f : (float)rank}, all[3],
          first[3];

    EXPECT(!MPI_Allreduce(data, all, 3, MPI_FLOAT, op, comm));
    memcpy(first, all, sizeof(all));
    MPI_Bcast(first, 3, MPI_FLOAT, 0, comm);
    EXPECT(!memcmp(first, all, sizeof(all)));
}

static void reductions(MPI_Comm comm)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_BAND,
                          MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    const MPI_Datatype types[] = {MPI_INT, MPI_LONG, MPI_UNSIGNED_CHAR, MPI_FLOAT, MPI_DOUBLE};
    const int counts[] = {1, 3, 100, 1024, 1025, 2048, 2049, 4999};

    for (unsigned t = 0; t < sizeof(types) / sizeof(*types); t++) {
        for (unsigned o = 0; o < (t < 3 ? 10 : 4); o++) {
            for (unsigned c = 0; c < sizeof(counts) / sizeof(*counts); c++)
                reduce(comm, counts[c], types[t], ops[o]);
        }
    }
    for (int o = 0; o < 4; o++)
        same_everywhere(comm, ops[o]);
}

/* Nobody passes a barrier before all have accumulated. */
static void barriers(MPI_Comm comm, MPI_Win win, long *memory)
{
    const long one = 1;
    long sum;

    for (long round = 1; round <= 200; round++) {
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

/* A communicator, with a window and again without. Its number may be that of one that was freed. */
static void with_window(MPI_Comm comm)
{
    long *memory;
    MPI_Win win;

    EXPECT(!MPI_Win_allocate(WINDOW * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, comm, &memory, &win));
    memset(memory, 0, WINDOW * sizeof(*memory));
    MPI_Barrier(comm);
    reductions(comm);
    barriers(comm, win, memory);
    EXPECT(!MPI_Win_free(&win));
    reduce(comm, 10, MPI_INT, MPI_SUM);
    MPI_Barrier(comm);
}

int main(int count, char **words)
{
    MPI_Comm comm;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    with_window(MPI_COMM_WORLD);
    for (int round = 0; round < 4; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        reduce(comm, 10, MPI_INT, MPI_SUM);
        if (round % 2)
            with_window(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return 0;
}
