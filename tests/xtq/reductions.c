/*
 * Accumulate, reduce and allreduce with all types and operations, compared with loops; with an argument, a number of
 * work-groups, by the persistent kernel, too. (Not compared with MPI: MPICH 4.0.2 compares unsigned numbers as signed
 * ones, and so does Open MPI 4.1.4 with unsigned long.)
 */
#include "xtqtest.h"

static int rank, size;
static struct xtq *x;
static struct xtq_collectives *c;

static const struct {
    enum xtq_type type;
    size_t bytes;
} types[] = {
    {XTQ_INT8, 1},   {XTQ_UINT8, 1}, {XTQ_INT16, 2},  {XTQ_UINT16, 2}, {XTQ_INT32, 4},
    {XTQ_UINT32, 4}, {XTQ_INT64, 8}, {XTQ_UINT64, 8}, {XTQ_FLOAT, 4},  {XTQ_DOUBLE, 8},
};
static const enum xtq_op ops[] = {XTQ_SUM, XTQ_PROD, XTQ_MIN, XTQ_MAX};

#define REFERENCE(type, wide)                                                                                          \
    static void reference_##type(void *into, const void *from, size_t count, enum xtq_op op)                           \
    {                                                                                                                  \
        type *a = into;                                                                                                \
        const type *b = from;                                                                                          \
                                                                                                                       \
        for (size_t i = 0; i < count; i++) {                                                                           \
            if (op == XTQ_SUM || op == XTQ_PROD)                                                                       \
                a[i] = (type)(op == XTQ_SUM ? (wide)a[i] + (wide)b[i] : (wide)a[i] * (wide)b[i]);                      \
            else if (op == XTQ_MIN ? b[i] < a[i] : b[i] > a[i])                                                        \
                a[i] = b[i];                                                                                           \
        }                                                                                                              \
    }
REFERENCE(int8_t, uint64_t)
REFERENCE(uint8_t, uint64_t)
REFERENCE(int16_t, uint64_t)
REFERENCE(uint16_t, uint64_t)
REFERENCE(int32_t, uint64_t)
REFERENCE(uint32_t, uint64_t)
REFERENCE(int64_t, uint64_t)
REFERENCE(uint64_t, uint64_t)
REFERENCE(float, double)
REFERENCE(double, double)

static void (*const references[])(void *, const void *, size_t, enum xtq_op) = {
    reference_int8_t,   reference_uint8_t, reference_int16_t,  reference_uint16_t, reference_int32_t,
    reference_uint32_t, reference_int64_t, reference_uint64_t, reference_float,    reference_double,
};

/* Fills with any bits for integers; with small integers for reals, whose sum does not depend on the order. */
static void fill(void *data, size_t count, unsigned type, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 1;

    for (size_t i = 0; i < count; i++) {
        uint64_t bits = (uint64_t)xtqtest_random(&state) << 32 | xtqtest_random(&state);

        if (types[type].type == XTQ_FLOAT)
            ((float *)data)[i] = (float)(int)(bits % 5) - 2;
        else if (types[type].type == XTQ_DOUBLE)
            ((double *)data)[i] = (double)(int)(bits % 5) - 2;
        else
            memcpy((char *)data + i * types[type].bytes, &bits, types[type].bytes);
    }
}

static bool same(const void *left, const void *right, size_t count, unsigned type)
{
    if (types[type].type == XTQ_FLOAT) {
        for (size_t i = 0; i < count; i++) {
            if (((const float *)left)[i] != ((const float *)right)[i])
                return false; /* 0 equals -0 */
        }
        return true;
    }
    if (types[type].type == XTQ_DOUBLE) {
        for (size_t i = 0; i < count; i++) {
            if (((const double *)left)[i] != ((const double *)right)[i])
                return false;
        }
        return true;
    }
    return !memcmp(left, right, count * types[type].bytes);
}

static void one(size_t count, unsigned type, unsigned op, int root)
{
    size_t bytes = count * types[type].bytes + 64;
    char *data = malloc(bytes), *kept = malloc(bytes), *expected = calloc(1, bytes), *result = calloc(1, bytes);

    fill(expected, count, type, (uint32_t)count);
    for (int from = 1; from < size; from++) {
        fill(data, count, type, (uint32_t)from * 77 + (uint32_t)count);
        references[type](expected, data, count, ops[op]);
    }
    fill(data, count, type, (uint32_t)rank * 77 + (uint32_t)count);
    memcpy(kept, data, bytes - 64);
    EQUAL(xtq_allreduce(c, data, result, count, types[type].type, ops[op]), 0);
    EXPECT(same(result, expected, count, type));
    memset(result, 0, bytes);
    EQUAL(xtq_reduce(c, root, data, rank == root ? result : NULL, count, types[type].type, ops[op]), 0);
    if (rank == root)
        EXPECT(same(result, expected, count, type));
    EXPECT(!memcmp(data, kept, count * types[type].bytes));
    EQUAL(xtq_allreduce(c, data, data, count, types[type].type, ops[op]), 0);
    EXPECT(same(data, expected, count, type));
    free(data);
    free(kept);
    free(expected);
    free(result);
}

/* Eight at a time, waited for in another order; the sums depend on the order of additions, but are the same each
 * time. */
static void several(void)
{
    enum { COUNT = 30011, MANY = 8 };
    float *data = malloc(sizeof(*data) * COUNT), *results = malloc(sizeof(*results) * COUNT * MANY);
    struct xtq_request *requests[MANY], *more;
    int one_too_many;

    for (int i = 0; i < COUNT; i++)
        data[i] = 1.0f / (float)(i * 7 + rank + 1);
    for (int i = 0; i < MANY; i++)
        EQUAL(xtq_iallreduce(c, data, results + i * COUNT, COUNT, XTQ_FLOAT, XTQ_SUM, &requests[i]), 0);
    one_too_many = xtq_iallreduce(c, data, results, COUNT, XTQ_FLOAT, XTQ_SUM, &more);
    EQUAL(one_too_many, -EBUSY);
    for (int i = 0; i < MANY; i++) {
        int at = (i * 3 + rank) % MANY, error;

        if (i % 2) {
            EQUAL(xtq_wait(requests[at]), 0);
        } else {
            while ((error = xtq_test(requests[at])) == -EINPROGRESS)
                ;
            EQUAL(error, 0);
        }
    }
    for (int i = 1; i < MANY; i++)
        EXPECT(!memcmp(results, results + i * COUNT, sizeof(*results) * COUNT));
    MPI_Bcast(data, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD);
    memcpy(data, results, sizeof(*data) * COUNT);
    MPI_Bcast(data, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD);
    EXPECT(!memcmp(data, results, sizeof(*data) * COUNT)); /* on all ranks */
    free(data);
    free(results);
}

static void accumulate(size_t count, unsigned type, unsigned op)
{
    size_t bytes = count * types[type].bytes;
    char *window = malloc(bytes), *expected = malloc(bytes), *data = malloc(bytes);
    struct xtq_error before, after;
    int next = (rank + 1) % size;

    fill(window, count, type, 5);
    memcpy(expected, window, bytes);
    EQUAL(xtq_expose(c, 3, window, bytes), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    fill(data, count, type, (uint32_t)rank + 9);
    for (int target = 0; target < size; target++)
        EQUAL(xtq_accumulate(c, target, 3, 0, data, count, types[type].type, ops[op]), 0);
    EQUAL(xtq_barrier(x), 0);
    for (int from = 0; from < size; from++) {
        fill(data, count, type, (uint32_t)from + 9);
        references[type](expected, data, count, ops[op]);
    }
    EXPECT(same(window, expected, count, type));
    /* beyond the end: nothing is written, and the error is returned later */
    EQUAL(xtq_error(x, next, 3, &before), 0);
    EQUAL(xtq_accumulate(c, next, 3, bytes, data, 1, types[type].type, ops[op]), 0);
    EQUAL(xtq_accumulate(c, next, 4, 0, data, 1, types[type].type, ops[op]), 0);
    EQUAL(xtq_quiet(x, next), 0);
    EQUAL(xtq_error(x, next, 3, &after), 0);
    EQUAL(after.count, before.count + 2);
    EQUAL(after.last, -ENOENT);
    if (types[type].bytes > 1)
        EQUAL(xtq_accumulate(c, next, 3, 1, data, 1, types[type].type, ops[op]), -EINVAL);
    EQUAL(xtq_barrier(x), 0);
    EQUAL(xtq_expose(c, 3, NULL, 0), 0);
    free(window);
    free(expected);
    free(data);
}

static void all(void)
{
    static const size_t counts[] = {0, 1, 7, 1000, 20000, 100003};

    for (unsigned type = 0; type < 10; type++) {
        for (unsigned op = 0; op < 4; op++) {
            for (unsigned i = 0; i < 6; i++) {
                if (counts[i] < 20000 || (type + op + i) % 3 == 0)
                    one(counts[i], type, op, (int)(type + op) % size);
            }
            accumulate(30000 / types[type].bytes + type, type, op);
        }
    }
    several();
    EQUAL(xtq_allreduce(c, NULL, NULL, 1, XTQ_FLOAT, XTQ_SUM), -EINVAL);
    EQUAL(xtq_reduce(c, size, &rank, &rank, 1, XTQ_INT32, XTQ_SUM), -EINVAL);
    EQUAL(xtq_reduce(c, 0, &rank, &rank, 1, (enum xtq_type)99, XTQ_SUM), -EINVAL);
}

int main(int count, char **words)
{
    struct xtq_options xtq_options = {.lane_bytes = 1 << 18};
    struct xtq_collectives_options options = {.queue = 3, .first_index = 40, .engine = XTQ_HOST};
    struct xtqtest_device d;
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EQUAL(xtq_init(MPI_COMM_WORLD, &xtq_options, &x), 0);
    EQUAL(xtq_collectives_open(x, &options, &c), 0);
    all();
    EQUAL(xtq_collectives_close(c), 0);
    if (count > 1) {
        d = xtqtest_device();
        options.engine = XTQ_DEVICE;
        options.context = d.context;
        options.device = d.device;
        options.groups = (unsigned)atoi(words[1]);
        EQUAL(xtq_collectives_open(x, &options, &c), 0);
        all();
        EQUAL(xtq_collectives_close(c), 0);
        xtqtest_device_close(&d);
    }
    EQUAL(xtq_finalize(x), 0);
    MPI_Finalize();
    return 0;
}
