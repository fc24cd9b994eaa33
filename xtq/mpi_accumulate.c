/*
 * MPI_Accumulate into windows. See mpi_intercept.h.
 *
 * An accumulate is a put, which has ended when xtq_fence() returns; so whatever of MPI ends accumulates (flush, unlock,
 * fence, free) waits for that first. All accumulates that can be are puts, large or small: were some MPI's own, two of
 * one element would not be atomic. MPI's other atomic operations may not be atomic against accumulates of other ranks
 * that run at the same time (doc/xtq.md); but this rank's own are in order, whoever carries them: MPI's wait for the
 * puts before them, and a put that meets what MPI carries waits for that, or, where MPI has no way to wait, between
 * fences, goes by MPI as well.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/settings.h"
#include "xtq/mpi_intercept.h"

#define MOST_RANGES 64

/* Where MPI may still have atomic operations of this rank under way: bytes of the target's memory. */
struct carried {
    unsigned count;
    struct range {
        size_t first, end;
    } ranges[MOST_RANGES];
};

/* What this rank knows of a target. */
struct target {
    struct carried carried;
    bool locked;     /* in an epoch of MPI_Win_lock or MPI_Win_lock_all */
    bool unsure;     /* a lock that MPI may not have got yet */
    uint64_t errors; /* how many it has refused */
};

struct window {
    struct link *link;
    unsigned number; /* of xtq_expose() */
    int size;
    bool started; /* between MPI_Win_start and MPI_Win_complete, where a target may not have agreed yet */
    struct target *targets;
    int *units; /* by rank: bytes of a displacement */
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
    free(window->targets);
    free(window->units);
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
    window->targets = calloc(size, sizeof(*window->targets));
    window->units = calloc(size, sizeof(*window->units));
    if (window->targets && window->units)
        return window;
    window_free(window);
    return NULL;
}

/* Collective: a number that is free on all ranks, or WINDOWS. */
static unsigned number_choose(const struct link *link, MPI_Comm comm)
{
    uint64_t taken = UINT64_MAX;

    PMPI_Allreduce(&link->exposed, &taken, 1, MPI_UINT64_T, MPI_BOR, comm);
    return taken == UINT64_MAX ? WINDOWS : (unsigned)__builtin_ctzll(~taken);
}

/* Collective: whether what may come is worth it. Of all that go into one window the same side carries all, as two of
 * one element would not be atomic otherwise; so it is the windows that are chosen. */
static bool is_large(MPI_Aint bytes, MPI_Comm comm)
{
    unsigned long long least = settings_bytes(SETTING_XTQ_WINDOW_BYTES), largest = (unsigned long long)bytes;

    if (!least)
        return true;
    PMPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, comm);
    return largest >= least;
}

/* Collective: nothing if one of the ranks cannot. */
static void window_open(void *base, MPI_Aint bytes, int unit, MPI_Comm comm, MPI_Win win)
{
    struct link *link = is_large(bytes, comm) ? link_of(comm) : NULL;
    unsigned number = link ? number_choose(link, comm) : WINDOWS;
    struct window *window;
    int error;

    if (number == WINDOWS)
        return;
    window = window_allocate(link);
    error = window ? 0 : -ENOMEM;
    if (!error && bytes)
        error = xtq_expose(link->c, number, base, (size_t)bytes);
    if (xtq_agree(link->x, error)) {
        xtq_expose(link->c, number, NULL, 0);
        window_free(window);
        return;
    }
    PMPI_Allgather(&unit, 1, MPI_INT, window->units, 1, MPI_INT, comm);
    window->number = number;
    link->exposed |= UINT64_C(1) << number;
    link_keep(link);
    link_windows(1);
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
        xtq_barrier(link->x); /* no put of this window's can come any more: its number may be used again */
        xtq_expose(link->c, window->number, NULL, 0);
        link->exposed &= ~(UINT64_C(1) << window->number);
        link_windows(-1);
        window_free(window);
    }
    result = PMPI_Win_free(win);
    if (link)
        link_release(link);
    return result;
}

/* ---- what MPI carries ---- */

/* The last one takes what is beside it, and all that there is no room for. */
static void carried_add(struct carried *carried, struct range range)
{
    struct range *last = carried->count ? &carried->ranges[carried->count - 1] : NULL;

    if (!last || (carried->count < MOST_RANGES && (range.first > last->end || range.end < last->first))) {
        carried->ranges[carried->count++] = range;
        return;
    }
    last->first = range.first < last->first ? range.first : last->first;
    last->end = range.end > last->end ? range.end : last->end;
}

static bool carried_meets(const struct carried *carried, struct range range)
{
    for (unsigned i = 0; i < carried->count; i++) {
        if (range.first < carried->ranges[i].end && range.end > carried->ranges[i].first)
            return true;
    }
    return false;
}

static struct target *target_of(struct window *window, int target)
{
    return window && target >= 0 && target < window->size ? &window->targets[target] : NULL;
}

/* Where an operation of MPI's reaches to, at most. */
static struct range range_of(const struct window *window, int target, MPI_Aint place, int count, MPI_Datatype datatype)
{
    MPI_Aint lower = 0, extent = 0, first = place * window->units[target], end;

    if (count < 1 || PMPI_Type_get_extent(datatype, &lower, &extent))
        return (struct range){0, SIZE_MAX};
    end = first + extent * (count - 1);
    if (extent < 0) {
        MPI_Aint swap = first;

        first = end;
        end = swap;
    }
    PMPI_Type_get_true_extent(datatype, &lower, &extent);
    first += lower;
    end += lower + extent;
    return (struct range){first < 0 ? 0 : (size_t)first, end < 0 ? 0 : (size_t)end};
}

/* ---- accumulating ---- */

static bool accumulate_op(MPI_Op mpi_op, enum xtq_op *op)
{
    if (mpi_op != MPI_REPLACE)
        return intercept_op(mpi_op, op);
    *op = XTQ_REPLACE;
    return true;
}

/* The window if the operation is a put. */
static struct window *taken(MPI_Win win, int count, MPI_Datatype datatype, int target, MPI_Aint place, int target_count,
                            MPI_Datatype target_datatype, MPI_Op mpi_op, enum xtq_type *type, enum xtq_op *op)
{
    struct window *window = window_of(win);

    if (!window || window->started || target < 0 || target >= window->size || count != target_count || count < 0 ||
        place < 0 || datatype != target_datatype || !intercept_type(datatype, type) || !accumulate_op(mpi_op, op) ||
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
    if (error.count != window->targets[target].errors)
        result = MPI_ERR_RMA_RANGE;
    window->targets[target].errors = error.count;
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

    return target_of(window, target) ? complete(window, win, target) : MPI_SUCCESS;
}

/* An atomic operation that MPI carries comes after this rank's puts, and before what follows. */
static void before_mpi(MPI_Win win, int target, MPI_Aint place, int count, MPI_Datatype datatype)
{
    struct window *window = window_of(win);

    complete_one(win, target);
    if (target_of(window, target))
        carried_add(&window->targets[target].carried, range_of(window, target, place, count, datatype));
}

/* MPI has carried all there was to this target, and holds whatever lock it was asked for. */
static void settle(struct target *target)
{
    if (target) {
        target->carried.count = 0;
        target->unsure = false;
    }
}

static void settle_all(struct window *window)
{
    for (int target = 0; window && target < window->size; target++)
        settle(&window->targets[target]);
}

/* Whether a put may go now, after what MPI has carried of this rank. */
static bool may_put(struct window *window, MPI_Win win, int target, MPI_Aint place, int count, MPI_Datatype datatype)
{
    struct target *t = &window->targets[target];
    bool meets = t->carried.count && carried_meets(&t->carried, range_of(window, target, place, count, datatype));

    if (meets && !t->locked)
        return false;
    if (meets || t->unsure) { /* MPI_Win_lock may return before there is a lock */
        PMPI_Win_flush(target, win);
        settle(t);
    }
    return true;
}

INTERCEPT MPI_Accumulate(const void *data, int count, MPI_Datatype datatype, int target, MPI_Aint place,
                         int target_count, MPI_Datatype target_datatype, MPI_Op mpi_op, MPI_Win win)
{
    enum xtq_type type;
    enum xtq_op op;
    struct window *window =
        taken(win, count, datatype, target, place, target_count, target_datatype, mpi_op, &type, &op);

    if (!window || !may_put(window, win, target, place, count, datatype)) {
        before_mpi(win, target, place, target_count, target_datatype);
        return PMPI_Accumulate(data, count, datatype, target, place, target_count, target_datatype, mpi_op, win);
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
    before_mpi(win, target, place, target_count, target_datatype);
    return PMPI_Raccumulate(data, count, datatype, target, place, target_count, target_datatype, op, win, request);
}

INTERCEPT MPI_Get_accumulate(const void *data, int count, MPI_Datatype datatype, void *result, int result_count,
                             MPI_Datatype result_datatype, int target, MPI_Aint place, int target_count,
                             MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    before_mpi(win, target, place, target_count, target_datatype);
    return PMPI_Get_accumulate(data, count, datatype, result, result_count, result_datatype, target, place,
                               target_count, target_datatype, op, win);
}

INTERCEPT MPI_Rget_accumulate(const void *data, int count, MPI_Datatype datatype, void *result, int result_count,
                              MPI_Datatype result_datatype, int target, MPI_Aint place, int target_count,
                              MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
    before_mpi(win, target, place, target_count, target_datatype);
    return PMPI_Rget_accumulate(data, count, datatype, result, result_count, result_datatype, target, place,
                                target_count, target_datatype, op, win, request);
}

INTERCEPT MPI_Fetch_and_op(const void *data, void *result, MPI_Datatype datatype, int target, MPI_Aint place, MPI_Op op,
                           MPI_Win win)
{
    before_mpi(win, target, place, 1, datatype);
    return PMPI_Fetch_and_op(data, result, datatype, target, place, op, win);
}

INTERCEPT MPI_Compare_and_swap(const void *data, const void *compare, void *result, MPI_Datatype datatype, int target,
                               MPI_Aint place, MPI_Win win)
{
    before_mpi(win, target, place, 1, datatype);
    return PMPI_Compare_and_swap(data, compare, result, datatype, target, place, win);
}

/* ---- epochs ---- */

/*
 * All ranks' puts have run, and MPI's own operations are over at all targets, before any rank goes on: with MPI's fence
 * alone the next put could come to a target that is still waiting for these.
 */
INTERCEPT MPI_Win_fence(int assertion, MPI_Win win)
{
    struct window *window = window_of(win);
    int result = complete_all(win), fenced = PMPI_Win_fence(assertion, win);

    if (window && xtq_barrier(window->link->x))
        result = MPI_ERR_OTHER;
    settle_all(window);
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
    struct target *t = target_of(window_of(win), target);
    int result = PMPI_Win_lock(type, target, assertion, win);

    if (t && !result)
        t->locked = t->unsure = true;
    return result;
}

INTERCEPT MPI_Win_lock_all(int assertion, MPI_Win win)
{
    struct window *window = window_of(win);
    int result = PMPI_Win_lock_all(assertion, win);

    for (int target = 0; window && !result && target < window->size; target++)
        window->targets[target].locked = window->targets[target].unsure = true;
    return result;
}

INTERCEPT MPI_Win_unlock(int target, MPI_Win win)
{
    struct target *t = target_of(window_of(win), target);
    int result = complete_one(win, target), unlocked = PMPI_Win_unlock(target, win);

    settle(t);
    if (t)
        t->locked = false;
    return result ? result : unlocked;
}

INTERCEPT MPI_Win_unlock_all(MPI_Win win)
{
    struct window *window = window_of(win);
    int result = complete_all(win), unlocked = PMPI_Win_unlock_all(win);

    settle_all(window);
    for (int target = 0; window && target < window->size; target++)
        window->targets[target].locked = false;
    return result ? result : unlocked;
}

INTERCEPT MPI_Win_flush(int target, MPI_Win win)
{
    int result = complete_one(win, target), flushed = PMPI_Win_flush(target, win);

    if (!flushed)
        settle(target_of(window_of(win), target));
    return result ? result : flushed;
}

INTERCEPT MPI_Win_flush_all(MPI_Win win)
{
    int result = complete_all(win), flushed = PMPI_Win_flush_all(win);

    if (!flushed)
        settle_all(window_of(win));
    return result ? result : flushed;
}
