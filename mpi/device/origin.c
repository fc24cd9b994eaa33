/* One-sided operations whose origin is device memory: its copy in host memory is kept until they complete. */
#include <errno.h>
#include <stdlib.h>

#include "mpi/device/window.h"

struct origin {
    struct origin *next;
    struct device_operand operand;
    int target;
    bool gets;
};

static int origin_keep(MPI_Win win, int target, const struct device_operand *o, unsigned ways)
{
    struct device_window *w = device_window_of(win, true);
    struct origin *origin = w ? malloc(sizeof(*origin)) : NULL;

    if (!origin)
        return -ENOMEM;
    *origin = (struct origin){.operand = *o, .target = target, .gets = ways & DEVICE_RECEIVED};
    pthread_mutex_lock(&w->lock);
    origin->next = w->origins;
    w->origins = origin;
    pthread_mutex_unlock(&w->lock);
    return 0;
}

/* Under the window's lock. */
int origins_over(struct origin **origins, int target)
{
    int error = 0;

    while (*origins) {
        struct origin *origin = *origins;
        int failed = 0;

        if (target != DEVICE_ALL && origin->target != target) {
            origins = &origin->next;
            continue;
        }
        *origins = origin->next;
        if (origin->gets)
            failed = operand_write(&origin->operand, origin->operand.bytes);
        operand_close(&origin->operand);
        free(origin);
        error = error ? error : failed;
    }
    return error;
}

/* The window takes over the operand. */
int origin_begun(int result, MPI_Win win, int target, struct device_operand *o, unsigned ways)
{
    int error = result ? 0 : origin_keep(win, target, o, ways);

    if (error) /* so that the operation has completed before its memory is freed */
        PMPI_Win_flush(target, win);
    if (error || result)
        operand_close(o);
    return error ? device_win_error(win, error, "MPI_Put or MPI_Get") : result;
}

#define ORIGINS(name, rname, suffix, number, constant, ways)                                                           \
    INTERCEPT MPI_##name##suffix(constant void *data, number count, MPI_Datatype datatype, int target, MPI_Aint place, \
                                 number target_count, MPI_Datatype target_datatype, MPI_Win win)                       \
    {                                                                                                                  \
        struct device_operand o;                                                                                       \
        int error;                                                                                                     \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_##name##suffix(data, count, datatype, target, place, target_count, target_datatype, win);      \
        error = operand_open(&o, data, count, datatype, ways, MPI_COMM_SELF);                                          \
        if (error)                                                                                                     \
            return device_win_error(win, error, "MPI_" #name);                                                         \
        return origin_begun(                                                                                           \
            PMPI_##name##suffix(o.host, count, datatype, target, place, target_count, target_datatype, win), win,      \
            target, &o, ways);                                                                                         \
    }                                                                                                                  \
    INTERCEPT MPI_##rname##suffix(constant void *data, number count, MPI_Datatype datatype, int target,                \
                                  MPI_Aint place, number target_count, MPI_Datatype target_datatype, MPI_Win win,      \
                                  MPI_Request *request)                                                                \
    {                                                                                                                  \
        struct device_pair *pair;                                                                                      \
        void *host;                                                                                                    \
        int error;                                                                                                     \
                                                                                                                       \
        if (!device_holds(data, datatype))                                                                             \
            return PMPI_##rname##suffix(data, count, datatype, target, place, target_count, target_datatype, win,      \
                                        request);                                                                      \
        error = pair_open(&pair, (ways) == DEVICE_SENT, data, count, datatype, ways, MPI_COMM_SELF, &host);            \
        if (error)                                                                                                     \
            return device_win_error(win, error, "MPI_" #rname);                                                        \
        return pair_end(                                                                                               \
            PMPI_##rname##suffix(host, count, datatype, target, place, target_count, target_datatype, win, request),   \
            request, pair);                                                                                            \
    }
#define BOTH(suffix, number)                                                                                           \
    ORIGINS(Put, Rput, suffix, number, const, DEVICE_SENT)                                                             \
    ORIGINS(Get, Rget, suffix, number, , DEVICE_RECEIVED)
BOTH(, int)
#if MPI_VERSION >= 4
BOTH(_c, MPI_Count)
#endif
