/*
 * Limits for comparison: MPI itself between two ranks, and memcpy. Not an OpenCL program: run by mpiexec with two
 * ranks, over the same kind of link as the sessions.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "series.h"

static int rank;

static void report(const char *name, struct series *samples, const char *unit)
{
    const double median = series_median(samples);

    if (rank == 0)
        printf("%s %g %s\n", name, median, unit);
}

/* Measures one way, as half a round trip. */
static void latency(const char *name, void *bytes, int length)
{
    enum { ROUNDS = 21, TURNS = 500 };
    struct series samples = {0};

    EACH_ROUND (round, 1, ROUNDS) {
        double start = MPI_Wtime();

        for (int i = 0; i < TURNS; i++) {
            if (rank == 0)
                MPI_Send(bytes, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(bytes, length, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(bytes, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        round_add(&round, &samples, (MPI_Wtime() - start) / TURNS / 2 * 1e6);
    }
    report(name, &samples, "us");
}

/* Measures one message, until the other rank confirms it. */
static void bandwidth(const char *name, void *bytes, int length)
{
    enum { ROUNDS = 15 };
    struct series samples = {0};

    EACH_ROUND (round, 2, ROUNDS) {
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(bytes, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(bytes, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        round_add(&round, &samples, length / (MPI_Wtime() - start) / 1e9);
    }
    report(name, &samples, "GB/s");
}

static void copying(const char *name, char *to, const char *from, size_t length)
{
    enum { ROUNDS = 15 };
    struct series samples = {0};

    EACH_ROUND (round, 2, ROUNDS) {
        double start = MPI_Wtime();

        memcpy(to, from, length);
        round_add(&round, &samples, (double)length / (MPI_Wtime() - start) / 1e9);
    }
    report(name, &samples, "GB/s");
}

int main(int count, char **words)
{
    enum { LARGE = 64 << 20 };
    char *bytes = malloc(LARGE), *more = malloc(LARGE);
    int size;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || !bytes || !more) {
        fprintf(stderr, "two ranks, and memory for them, are needed\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(bytes, 1, LARGE);
    memset(more, 2, LARGE);
    latency("mpi_latency_8B", bytes, 8);
    latency("mpi_latency_4KiB", bytes, 4096);
    bandwidth("mpi_1MiB", bytes, 1 << 20);
    bandwidth("mpi_64MiB", bytes, LARGE);
    if (rank == 0) {
        copying("memcpy_1MiB", more, bytes, 1 << 20);
        copying("memcpy_64MiB", more, bytes, LARGE);
    }
    MPI_Finalize();
    free(bytes);
    free(more);
    return 0;
}
