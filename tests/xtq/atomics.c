/*
 * atomics ROUNDS: several ranks change the same elements at the same time, by all operations that MPI calls atomic with
 * respect to each other: no update may be lost, whether XTQ or MPI carries it. Each rank knows what all have added, and
 * checks the sums.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTERS = 8, FORMS = 8, WAYS = 4 };
/* Offsets in the window: counters, a pool that is added to and collected, and elements for other operations. */
enum { POOL = 2 * COUNTERS, IN_POOL = 20000, OTHERS = POOL + IN_POOL, LENGTH = OTHERS + 8 };

static const char *const ways[WAYS] = {"lock_all", "locks", "fences", "fences and locks"};
static int rank, size, wrong, all_rounds;                               /* an even number */
static MPI_Datatype every_second;                                       /* COUNTERS longs */
static long ones[IN_POOL], none[IN_POOL], taken[IN_POOL], collected[2]; /* by target */
static long last[2][COUNTERS], seen[2 * COUNTERS];

static void expect(const char *way, const char *what, long is, long should)
{
    if (is != should && wrong++ < 10)
        fprintf(stderr, "rank %d, %s: %s: %ld instead of %ld\n", rank, way, what, is, should);
}

static void swap_until_added(MPI_Win win, int target, int place)
{
    long before, after, got;

    MPI_Fetch_and_op(NULL, &got, MPI_LONG, target, place, MPI_NO_OP, win);
    do {
        MPI_Win_flush(target, win);
        before = got;
        after = before + 1;
        MPI_Compare_and_swap(&after, &before, &got, MPI_LONG, target, place, win);
        MPI_Win_flush(target, win);
    } while (got != before);
}

/* Adds one to the elements 0, 2, 4 ...; the old values come to `seen`, at once or later. */
static void add(int form, MPI_Win win, int target, int locked)
{
    MPI_Request request = MPI_REQUEST_NULL;

    switch (locked ? form : form % 5) {
    case 0:
        MPI_Accumulate(ones, 1, every_second, target, 0, 1, every_second, MPI_SUM, win);
        break;
    case 1:
        for (int i = 0; i < COUNTERS; i++)
            MPI_Accumulate(ones, 1, MPI_LONG, target, 2 * i, 1, MPI_LONG, MPI_SUM, win);
        break;
    case 2:
        for (int i = 0; i < COUNTERS; i++)
            MPI_Fetch_and_op(ones, seen + 2 * i, MPI_LONG, target, 2 * i, MPI_SUM, win);
        break;
    case 3:
        MPI_Get_accumulate(ones, COUNTERS, MPI_LONG, seen, 1, every_second, target, 0, 1, every_second, MPI_SUM, win);
        break;
    case 4:
        MPI_Get_accumulate(NULL, 0, MPI_LONG, seen, 1, every_second, target, 0, 1, every_second, MPI_NO_OP, win);
        MPI_Accumulate(ones, COUNTERS, MPI_LONG, target, 0, 1, every_second, MPI_SUM, win);
        break;
    case 5:
        MPI_Raccumulate(ones, 1, every_second, target, 0, 1, every_second, MPI_SUM, win, &request);
        break;
    case 6:
        MPI_Rget_accumulate(ones, 1, every_second, seen, 1, every_second, target, 0, 1, every_second, MPI_SUM, win,
                            &request);
        break;
    case 7:
        for (int i = 0; i < COUNTERS; i++)
            swap_until_added(win, target, 2 * i);
        break;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Expects that the values of a counter, as seen by this rank, never decrease. */
static void check_seen(const char *way, int target)
{
    for (int i = 0; i < COUNTERS; i++) {
        if (seen[2 * i] < last[target][i])
            expect(way, "seen before", seen[2 * i], last[target][i]);
        last[target][i] = seen[2 * i];
    }
}

/* Changes a word by exclusive or, with other bits in each round, the greatest number with its place, and a complex
 * number. */
static void add_others(MPI_Win win, int target, int round)
{
    unsigned long bits = 0x9e3779b97f4a7c15ul * (unsigned long)(rank * all_rounds + round + 1), was;
    struct {
        long value;
        int place;
    } most = {(rank * 7919L + round * 104729L) % 10007, rank}, before;
    double complex_one[2] = {1, rank};

    if (round % 2)
        MPI_Accumulate(&bits, 1, MPI_UNSIGNED_LONG, target, OTHERS, 1, MPI_UNSIGNED_LONG, MPI_BXOR, win);
    else
        MPI_Fetch_and_op(&bits, &was, MPI_UNSIGNED_LONG, target, OTHERS, MPI_BXOR, win);
    if (round % 2)
        MPI_Accumulate(&most, 1, MPI_LONG_INT, target, OTHERS + 2, 1, MPI_LONG_INT, MPI_MAXLOC, win);
    else
        MPI_Get_accumulate(&most, 1, MPI_LONG_INT, &before, 1, MPI_LONG_INT, target, OTHERS + 2, 1, MPI_LONG_INT,
                           MPI_MAXLOC, win);
    MPI_Accumulate(complex_one, 1, MPI_C_DOUBLE_COMPLEX, target, OTHERS + 4, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, win);
    if (round % 4 < 2)
        MPI_Win_flush(target, win); /* the operations use this function's variables */
    else
        MPI_Win_flush_local(target, win);
}

static void check_others(const char *way, const long *memory)
{
    unsigned long bits = 0;
    long most = 0, imaginary = 0;
    double sums[2];

    for (int who = 0; who < size; who++) {
        for (int round = rank; round < all_rounds; round += 2) {
            long value = (who * 7919L + round * 104729L) % 10007;

            bits ^= 0x9e3779b97f4a7c15ul * (unsigned long)(who * all_rounds + round + 1);
            most = value > most ? value : most;
            imaginary += who;
        }
    }
    memcpy(sums, memory + OTHERS + 4, sizeof(sums));
    expect(way, "exclusive or", memory[OTHERS], (long)bits);
    expect(way, "the greatest", memory[OTHERS + 2], most);
    expect(way, "complex", (long)sums[0], (long)all_rounds / 2 * size);
    expect(way, "complex", (long)sums[1], imaginary);
}

/* Adds one everywhere in the pool, or takes the pool's contents away. */
static void add_or_collect(MPI_Win win, int target, int round)
{
    memset(taken, 0, sizeof(taken));
    if ((round / 2 + rank) % 3)
        MPI_Accumulate(ones, IN_POOL, MPI_LONG, target, POOL, IN_POOL, MPI_LONG, MPI_SUM, win);
    else
        MPI_Get_accumulate(none, IN_POOL, MPI_LONG, taken, IN_POOL, MPI_LONG, target, POOL, IN_POOL, MPI_LONG,
                           MPI_REPLACE, win);
}

static void begin(MPI_Win win, int way, int round, int locked)
{
    if (way == 0 && round == 0)
        MPI_Win_lock_all(0, win);
    else if (locked && way > 0)
        MPI_Win_lock((round + rank) % 3 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, round % 2, 0, win);
    else if (!locked && (round == 0 || way == 3))
        MPI_Win_fence(0, win);
}

static void end(MPI_Win win, int way, int round, int locked)
{
    if (!locked)
        MPI_Win_fence(0, win);
    else if (way > 0)
        MPI_Win_unlock(round % 2, win);
    else if (round < all_rounds - 1)
        MPI_Win_flush(round % 2, win);
    else
        MPI_Win_unlock_all(win);
    if (way == 3)
        MPI_Barrier(MPI_COMM_WORLD); /* between locks and fences */
}

static void rounds(MPI_Win win, int way)
{
    for (int round = 0; round < all_rounds; round++) {
        int target = round % 2, locked = way < 2 || (way == 3 && round % 2);

        begin(win, way, round, locked);
        for (int i = 0; i < COUNTERS; i++)
            seen[2 * i] = last[target][i];
        add_or_collect(win, target, round);
        add((round / 2 + rank) % FORMS, win, target, locked);
        if (locked)
            add_others(win, target, round);
        end(win, way, round, locked);
        check_seen(ways[way], target);
        for (int i = 0; i < IN_POOL; i++)
            collected[target] += taken[i];
    }
    if (way >= 2)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

/* Checks the memory of a target; these are ranks 0 and 1. */
static void check(const char *way, const long *memory, const long *all_collected)
{
    long in_pool = all_collected[rank], added = 0;

    for (int who = 0; who < size; who++) {
        for (int round = rank; round < all_rounds; round += 2)
            added += (round / 2 + who) % 3 ? IN_POOL : 0;
    }
    for (int i = 0; i < IN_POOL; i++)
        in_pool += memory[POOL + i];
    expect(way, "in the pool", in_pool, added);
    for (int i = 0; i < COUNTERS; i++)
        expect(way, "counter", memory[2 * i], (long)size * all_rounds / 2);
}

static void run(MPI_Win win, long *memory, int way)
{
    long all_collected[2];

    memset(last, 0, sizeof(last));
    memset(collected, 0, sizeof(collected));
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(memory, 0, sizeof(*memory) * LENGTH);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    rounds(win, way);
    MPI_Allreduce(collected, all_collected, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    if (rank < 2)
        check(ways[way], memory, all_collected);
    if (rank < 2 && way < 2)
        check_others(ways[way], memory);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int count, char **words)
{
    size_t bytes = sizeof(long) * LENGTH;
    MPI_Win win;
    long *memory;

    MPI_Init(&count, &words);
    all_rounds = atoi(words[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_vector(COUNTERS, 1, 2, MPI_LONG, &every_second);
    MPI_Type_commit(&every_second);
    for (int i = 0; i < IN_POOL; i++)
        ones[i] = 1;
    for (int allocated = 0; allocated < 2; allocated++) {
        memory = allocated ? NULL : malloc(bytes);
        if (allocated)
            MPI_Win_allocate((MPI_Aint)bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        else
            MPI_Win_create(memory, (MPI_Aint)bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        for (int way = 0; way < WAYS; way++)
            run(win, memory, way);
        MPI_Win_free(&win);
        if (!allocated)
            free(memory);
    }
    MPI_Type_free(&every_second);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong != 0;
}
