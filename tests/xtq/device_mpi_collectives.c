/* Collectives with device memory. */
#include <string.h>

#include "device_mpi.h"

/* Each rank has a different kind of memory. */
void broadcast(int shift, size_t bytes, bool later)
{
    struct memory m = memory_make((enum kind)((rank + shift) % KINDS), bytes);
    MPI_Request request;

    for (int root = 0; root < size; root++) {
        fill(&m, rank, 3);
        if (later) {
            MUST(MPI_Ibcast(m.address, (int)bytes, MPI_BYTE, root, comm, &request));
            MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            MUST(MPI_Bcast(m.address, (int)bytes, MPI_BYTE, root, comm));
        }
        check("broadcast", &m, bytes, root, 3, 3);
    }
    memory_free(&m);
}

static void sums(const char *what, const struct memory *m, int count)
{
    get(m, other, (size_t)count * sizeof(int));
    for (int i = 0; i < count; i++) {
        int is;

        memcpy(&is, other + (size_t)i * sizeof(int), sizeof(int));
        expect(what, is, (long)size * (size - 1) / 2 + (long)size * i);
    }
}

static void numbers(struct memory *m, int count)
{
    int *data = (int *)(void *)scratch;

    for (int i = 0; i < count; i++)
        data[i] = rank + i;
    put(m, data, (size_t)count * sizeof(int));
}

void reduction(int shift, int count)
{
    struct memory data = memory_make((enum kind)((rank + shift) % KINDS), (size_t)count * sizeof(int)),
                  result = memory_make((enum kind)((rank + shift / 2) % KINDS), (size_t)count * sizeof(int));
    MPI_Request request;

    numbers(&data, count);
    MUST(MPI_Allreduce(data.address, result.address, count, MPI_INT, MPI_SUM, comm));
    sums("allreduce", &result, count);
    numbers(&result, count);
    MUST(MPI_Allreduce(MPI_IN_PLACE, result.address, count, MPI_INT, MPI_SUM, comm));
    sums("allreduce in place", &result, count);
    fill(&result, rank, 1);
    MUST(MPI_Iallreduce(data.address, result.address, count, MPI_INT, MPI_SUM, comm, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    sums("iallreduce", &result, count);
    for (int root = 0; root < size; root++) {
        fill(&result, rank, 1);
        MUST(MPI_Reduce(data.address, result.address, count, MPI_INT, MPI_SUM, root, comm));
        if (rank == root)
            sums("reduce", &result, count);
        else
            check("reduce elsewhere", &result, 0, 0, 0, 1);
        fill(&result, rank, 1);
        numbers(&result, count);
        MUST(MPI_Ireduce(rank == root ? MPI_IN_PLACE : data.address, rank == root ? result.address : NULL, count,
                         MPI_INT, MPI_SUM, root, comm, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (rank == root)
            sums("ireduce in place", &result, count);
    }
    memory_free(&data);
    memory_free(&result);
}
