/*
 * MPI_Accumulate into windows. See mpi_intercept.h.
 *
 * An accumulate is a put, which has ended when xtq_fence() returns; so whatever of MPI ends accumulates (flush, unlock,
 * fence, free) waits for that first. All accumulates that can be are puts, large or small: were some MPI's own, two of
 * one element would not be atomic. MPI's other atomic operations wait for this rank's accumulates, so their order
 * holds; but against accumulates of other ranks that run at the same time they are not atomic (doc/xtq.md).
 */
#include <errno.h>
#include <stdlib.h>

#include "xtq/mpi_intercept.h"

#define EXPOSED 16

struct window {
    struct link *link;
    unsigned number; /* of xtq_expose() */
    int size;
    bool started;     /* between MPI_Win_start and MPI_Win_complete, where a target may not have agreed yet */
    bool *unsure;     /* by rank: a lock that MPI may not have got yet */
    int *units;       /* by rank: bytes of a displacement */
    uint64_t *errors; /* by rank: how many it has refused, as far as this rank knows */
};

static int keyval = MPI_KEYVAL_INVALID;

static struct window *window_of(MPI_Win win)
{
    struct window *window;
    int found = 0;

    if (keyval == MPI_KEYVAL_INVALID || PMPI_Win_get_attr(win, keyval, &window, &found))
        return NULL;
    return found ? window : NULL;
}

/* ---- making and freeing ---- */

static void window_free(struct window *window)
{
    if (!window)
        return;
    free(window->unsure);
    free(window->units);
    free(window->errors);
    free(window);
}

static struct window *window_allocate(struct link *link)
{
    struct window *window = calloc(1, sizeof(*window));
    size_t size = (size_t)xtq_size(link->x);

    if (!window)
        return NULL;
    window->link = link;
    window->size = (int)size;
    window->unsure = calloc(size, sizeof(*window->unsure));
    window->units = calloc(size, sizeof(*window->units));
    window->errors = calloc(size, sizeof(*window->errors));
    if (window->unsure && window->units && window->errors)
        return window;
    window_free(window);
    return NULL;
}

/* Collective: nothing if one of the ranks cannot. */
static void window_open(void *base, MPI_Aint bytes, int unit, MPI_Comm comm, MPI_Win win)
{
    struct link *link = link_of(comm);
    struct window *window;
    int error;

    if (!link || link->exposed == EXPOSED)
        return;
    window = window_allocate(link);
    error = window ? 0 : -ENOMEM;
    if (!error && bytes)
        error = xtq_expose(link->c, link->exposed, base, (size_t)bytes);
    if (xtq_agree(link->x, error)) {
        xtq_expose(link->c, link->exposed, NULL, 0);
        window_free(window);
        return;
    }
    PMPI_Allgather(&unit, 1, MPI_INT, window->units, 1, MPI_INT, comm);
    window->number = link->exposed++;
    link_keep(link);
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, NULL);
    PMPI_Win_set_attr(win, keyval, window);
}

INTERCEPT MPI_Win_create(void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    int result = PMPI_Win_create(base, bytes, unit, info, comm, win);

    if (result == MPI_SUCCESS)
        window_open(base, bytes, unit, comm, *win);
    return result;
}

INTERCEPT MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
    int result = PMPI_Win_allocate(bytes, unit, info, comm, base, win);

    if (result == MPI_SUCCESS)
        window_open(*(void **)base, bytes, unit, comm, *win);
    return result;
}

INTERCEPT MPI_Win_free(MPI_Win *win)
{
    struct window *window = window_of(*win);
    struct link *link = window ? window->link : NULL;
    int result;

    if (window) {
        xtq_barrier(link->x);
        xtq_expose(link->c, window->number, NULL, 0);
        window_free(window);
    }
    result = PMPI_Win_free(win);
    if (link)
        link_release(link);
    return result;
}

/* ---- accumulating ---- */

/* The window if the operation is a put. */
static struct window *taken(MPI_Win win, int count, MPI_Datatype datatype, int target, MPI_Aint place, int target_count,
                            MPI_Datatype target_datatype, MPI_Op mpi_op, enum xtq_type *type, enum xtq_op *op)
{
    struct window *window = window_of(win);

    if (!window || window->started || target < 0 || target >= window->size || count != target_count || count < 0 ||
        place < 0 || datatype != target_datatype || !intercept_type(datatype, type) || !intercept_op(mpi_op, op) ||
        (size_t)place * (size_t)window->units[target] % xtq_type_bytes(*type))
        return NULL;
    return window;
}

/* Wait for this rank's puts to the target. MPI's error code. */
static int complete(struct window *window, MPI_Win win, int target)
{
    struct xtq_error error = {0};
    int result = xtq_fence(window->link->x, target) ? MPI_ERR_OTHER : MPI_SUCCESS;

    xtq_error(window->link->x, target, 1, &error);
    if (error.count != window->errors[target])
        result = MPI_ERR_RMA_RANGE;
    window->errors[target] = error.count;
    if (result)
        PMPI_Win_call_errhandler(win, result);
    return result;
}

static int complete_all(MPI_Win win)
{
    struct window *window = window_of(win);
    int result = MPI_SUCCESS;

    for (int target = 0; window && target < window->size; target++) {
        int one = complete(window, win, target);

        result = result ? result : one;
    }
    return result;
}

static int complete_one(MPI_Win win, int target)
{
    struct window *window = window_of(win);

    return window && target >= 0 && target < window->size ? complete(window, win, target) : MPI_SUCCESS;
}

INTERCEPT MPI_Accumulate(const void *data, int count, MPI_Datatype datatype, int target, MPI_Aint place,
                         int target_count, MPI_Datatype target_datatype, MPI_Op mpi_op, MPI_Win win)
{
    enum xtq_type type;
    enum xtq_op op;
    struct window *window =
        taken(win, count, datatype, target, place, target_count, target_datatype, mpi_op, &type, &op);

    if (!window) {
        complete_one(win, target);
        return PMPI_Accumulate(data, count, datatype, target, place, target_count, target_datatype, mpi_op, win);
    }
    if (window->unsure[target]) { /* MPI_Win_lock may return before there is a lock */
        PMPI_Win_flush(target, win);
        window->unsure[target] = false;
    }
    link_count_accumulate();
    if (!xtq_accumulate(window->link->c, target, window->number, (size_t)place * (size_t)window->units[target], data,
                        (size_t)count, type, op))
        return MPI_SUCCESS;
    PMPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

/* ---- what comes after accumulates of the same rank ---- */

INTERCEPT MPI_Raccumulate(const void *data, int count, MPI_Datatype datatype, int target, MPI_Aint place,
                          int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
    complete_one(win, target);
    return PMPI_Raccumulate(data, count, datatype, target, place, target_count, target_datatype, op, win, request);
}

INTERCEPT MPI_Get_accumulate(const void *data, int count, MPI_Datatype datatype, void *result, int result_count,
                             MPI_Datatype result_datatype, int target, MPI_Aint place, int target_count,
                             MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    complete_one(win, target);
    return PMPI_Get_accumulate(data, count, datatype, result, result_count, result_datatype, target, place,
                               target_count, target_datatype, op, win);
}

INTERCEPT MPI_Rget_accumulate(const void *data, int count, MPI_Datatype datatype, void *result, int result_count,
                              MPI_Datatype result_datatype, int target, MPI_Aint place, int target_count,
                              MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
    complete_one(win, target);
    return PMPI_Rget_accumulate(data, count, datatype, result, result_count, result_datatype, target, place,
                                target_count, target_datatype, op, win, request);
}

INTERCEPT MPI_Fetch_and_op(const void *data, void *result, MPI_Datatype datatype, int target, MPI_Aint place, MPI_Op op,
                           MPI_Win win)
{
    complete_one(win, target);
    return PMPI_Fetch_and_op(data, result, datatype, target, place, op, win);
}

INTERCEPT MPI_Compare_and_swap(const void *data, const void *compare, void *result, MPI_Datatype datatype, int target,
                               MPI_Aint place, MPI_Win win)
{
    complete_one(win, target);
    return PMPI_Compare_and_swap(data, compare, result, datatype, target, place, win);
}

/* ---- epochs ---- */

/* All ranks' puts have run, and all ranks have come here, before any goes on. */
INTERCEPT MPI_Win_fence(int assertion, MPI_Win win)
{
    struct window *window = window_of(win);
    int result = complete_all(win), fenced;

    if (window && xtq_barrier(window->link->x))
        result = MPI_ERR_OTHER;
    fenced = PMPI_Win_fence(assertion, win);
    return result ? result : fenced;
}

INTERCEPT MPI_Win_start(MPI_Group group, int assertion, MPI_Win win)
{
    struct window *window = window_of(win);

    if (window)
        window->started = true;
    return PMPI_Win_start(group, assertion, win);
}

INTERCEPT MPI_Win_complete(MPI_Win win)
{
    struct window *window = window_of(win);

    if (window)
        window->started = false;
    return PMPI_Win_complete(win);
}

INTERCEPT MPI_Win_lock(int type, int target, int assertion, MPI_Win win)
{
    struct window *window = window_of(win);
    int result = PMPI_Win_lock(type, target, assertion, win);

    if (window && target >= 0 && target < window->size)
        window->unsure[target] = true;
    return result;
}

INTERCEPT MPI_Win_lock_all(int assertion, MPI_Win win)
{
    struct window *window = window_of(win);
    int result = PMPI_Win_lock_all(assertion, win);

    for (int target = 0; window && target < window->size; target++)
        window->unsure[target] = true;
    return result;
}

INTERCEPT MPI_Win_unlock(int target, MPI_Win win)
{
    struct window *window = window_of(win);
    int result = complete_one(win, target), unlocked = PMPI_Win_unlock(target, win);

    if (window && target >= 0 && target < window->size)
        window->unsure[target] = false;
    return result ? result : unlocked;
}

INTERCEPT MPI_Win_unlock_all(MPI_Win win)
{
    struct window *window = window_of(win);
    int result = complete_all(win), unlocked = PMPI_Win_unlock_all(win);

    for (int target = 0; window && target < window->size; target++)
        window->unsure[target] = false;
    return result ? result : unlocked;
}

INTERCEPT MPI_Win_flush(int target, MPI_Win win)
{
    int result = complete_one(win, target), flushed = PMPI_Win_flush(target, win);

    return result ? result : flushed;
}

INTERCEPT MPI_Win_flush_all(MPI_Win win)
{
    int result = complete_all(win), flushed = PMPI_Win_flush_all(win);

    return result ? result : flushed;
}
