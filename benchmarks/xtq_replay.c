/*
 * Replays the message sizes of a program, as `xtq_traces` prints them, by MPI's own functions and by those of
 * libxtqmpi, if that is preloaded, in turns: what the paper's Figures 8 and 10 are about. Run by mpiexec with two or
 * more ranks.
 *
 *     mpiexec -n 2 env LD_PRELOAD=libxtqmpi.so xtq_replay NAME FILE
 *
 * An operation is as frequent as FILE says, and the order is random, but the same in all runs. accumulate: of doubles
 * into a place of its own in the next rank's window, each with a flush, in one epoch of MPI_Win_lock_all, as ARMCI-MPI
 * does it, by all ranks at the same time; allreduce: of floats. A sample is the time of all operations until the
 * slowest rank has done its own, divided by their number.
 */
#include <mpi.h>

#include "bench.h"

enum { MOST = 65536 /* operations */, ROUNDS = 31 };

struct operation {
    bool accumulate;
    size_t bytes, offset;
};

static struct operation operations[MOST];
static size_t count, largest, all; /* all: bytes of a window */
static int rank, size;
static uint8_t *data, *result;

struct way {
    const char *name;
    MPI_Win win;
    double *memory; /* the window's */
    size_t rounds;
    int (*barrier)(MPI_Comm);
    int (*flush)(int, MPI_Win);
    int (*accumulate)(const void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Op, MPI_Win);
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
};

static void read_operations(const char *path)
{
    FILE *file = fopen(path, "r");
    char name[32];
    size_t bytes, times;

    EXPECT(file);
    while (fscanf(file, "%31s %zu %zu", name, &bytes, &times) == 3) {
        bool accumulate = !strcmp(name, "accumulate");

        EXPECT((accumulate || !strcmp(name, "allreduce")) && count + times <= MOST);
        for (; times > 0; times--) {
            operations[count++] = (struct operation){accumulate, bytes, all};
            all += accumulate ? bytes : 0;
        }
        largest = bytes > largest ? bytes : largest;
    }
    fclose(file);
    EXPECT(count > 0);
}

static void shuffle(void)
{
    uint64_t state = 1;

    for (size_t i = count - 1; i > 0; i--) {
        struct operation other = operations[i];
        size_t j;

        state = state * 6364136223846793005u + 1442695040888963407u;
        j = (state >> 33) % (i + 1);
        operations[i] = operations[j];
        operations[j] = other;
    }
}

static void run(const struct way *way, const struct operation *o)
{
    int next = (rank + 1) % size;

    if (o->accumulate) {
        int elements = (int)(o->bytes / sizeof(double));

        way->accumulate(data, elements, MPI_DOUBLE, next, (MPI_Aint)o->offset, elements, MPI_DOUBLE, MPI_SUM, way->win);
        way->flush(next, way->win);
    } else {
        way->allreduce(data, result, (int)(o->bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static double replay(struct way *way)
{
    double start, taken, slowest;

    way->barrier(MPI_COMM_WORLD);
    start = bench_now();
    for (size_t i = 0; i < count; i++)
        run(way, &operations[i]);
    way->barrier(MPI_COMM_WORLD); /* in which the targets are, as the paper's are in MPI */
    taken = bench_now() - start;
    way->rounds++;
    MPI_Allreduce(&taken, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest / 1000 / (double)count;
}

/* Each element of a window has had one accumulate, of 1, in each round. */
static void check(const struct way *way)
{
    bool right = true;

    for (size_t i = 0; i < all / sizeof(double); i++)
        right = right && way->memory[i] == (double)way->rounds;
    EXPECT(right);
}

int main(int words, char **word)
{
    struct way ways[] = {{.name = "own",
                          .barrier = PMPI_Barrier,
                          .flush = PMPI_Win_flush,
                          .accumulate = PMPI_Accumulate,
                          .allreduce = PMPI_Allreduce},
                         {.name = "xtq",
                          .barrier = MPI_Barrier,
                          .flush = MPI_Win_flush,
                          .accumulate = MPI_Accumulate,
                          .allreduce = MPI_Allreduce}};
    struct series series[2] = {0};
    int level;

    MPI_Init_thread(&words, &word, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT(words == 3);
    read_operations(word[2]);
    shuffle();
    data = bench_memory(largest);
    result = bench_memory(largest);
    memset(data, 0, largest);
    for (size_t i = 0; all && i < largest / sizeof(double); i++)
        ((double *)data)[i] = 1;
    for (int i = 0; i < 2; i++) {
        ways[i].memory = bench_memory(all + sizeof(double));
        memset(ways[i].memory, 0, all);
        (i ? MPI_Win_create : PMPI_Win_create)(ways[i].memory, (MPI_Aint)all, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                                               &ways[i].win);
        (i ? MPI_Win_lock_all : PMPI_Win_lock_all)(MPI_MODE_NOCHECK, ways[i].win);
    }
    EACH_ROUND (round, 3, ROUNDS) {
        for (int i = 0; i < 2; i++)
            round_add(&round, &series[i], replay(&ways[i]));
    }
    for (int i = 0; i < 2; i++) {
        char name[80];

        (i ? MPI_Win_unlock_all : PMPI_Win_unlock_all)(ways[i].win);
        MPI_Barrier(MPI_COMM_WORLD);
        check(&ways[i]);
        snprintf(name, sizeof(name), "%s_replay_%s_%dranks", ways[i].name, word[1], size);
        if (rank == 0)
            series_spread(&series[i], name, "us");
        (i ? MPI_Win_free : PMPI_Win_free)(&ways[i].win);
    }
    MPI_Finalize();
    return 0;
}
