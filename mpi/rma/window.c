/*
 * Windows, and the functions that begin and end epochs in them.
 *
 * A put has completed when xtq_quiet() returns, and results have arrived when the signal "fetching" is 0. So all
 * functions of MPI that complete operations (flush, unlock, fence, free) wait for both first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "xtq/inside.h"
#include "mpi/collectives/meet.h"
#include "mpi/device/device.h"
#include "mpi/rma/window.h"

#define POSTED 1 /* tag, on the window's communicator */

static int keyval = MPI_KEYVAL_INVALID;

struct window *window_of(MPI_Win win)
{
    struct window *window;
    int found = 0;

    if (keyval == MPI_KEYVAL_INVALID || PMPI_Win_get_attr(win, keyval, &window, &found))
        return NULL;
    return found ? window : NULL;
}

static struct target *target_of(struct window *window, int target)
{
    return window && target >= 0 && target < window->size ? &window->targets[target] : NULL;
}

/* ---- making and freeing ---- */

static void window_free(struct window *window)
{
    if (!window)
        return;
    for (int i = 0; window->targets && i < window->size; i++)
        xtq_signal_destroy(window->targets[i].fetching);
    if (window->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&window->comm);
    free(window->targets);
    free(window->units);
    free(window);
}

static struct window *window_allocate(struct link *link)
{
    struct window *window = calloc(1, sizeof(*window));
    size_t size = (size_t)xtq_size(link->x);
    struct xtq_error errors = {0};
    bool good = true;

    if (!window)
        return NULL;
    window->link = link;
    window->comm = MPI_COMM_NULL;
    window->size = (int)size;
    window->targets = calloc(size, sizeof(*window->targets));
    window->units = calloc(size, sizeof(*window->units));
    for (int i = 0; window->targets && good && i < (int)size; i++) {
        good = !xtq_signal_create(0, &window->targets[i].fetching);
        xtq_error(link->x, i, WINDOW_QUEUE, &errors);
        window->targets[i].errors = errors.count; /* errors of earlier windows */
    }
    if (window->targets && window->units && good)
        return window;
    window_free(window);
    return NULL;
}

/* Collective. Returns a number that is free on all ranks, or WINDOWS. */
static unsigned number_choose(const struct link *link, MPI_Comm comm)
{
    uint64_t taken = UINT64_MAX;

    PMPI_Allreduce(&link->exposed, &taken, 1, MPI_UINT64_T, MPI_BOR, comm);
    return taken == UINT64_MAX ? WINDOWS : (unsigned)__builtin_ctzll(~taken);
}

/*
 * Collective. Whether XTQ does the operations of a window. This is decided for the window as a whole, since MPI's
 * operations are not atomic against XTQ's. Windows that have room for small operations only are left to MPI.
 */
static bool window_taken(MPI_Aint bytes, MPI_Comm comm)
{
    MPI_Aint most = 0;

    if (!link_threads())
        return false;
    PMPI_Allreduce(&bytes, &most, 1, MPI_AINT, MPI_MAX, comm);
    return (unsigned long long)most >= settings_bytes(SETTING_XTQ_WINDOW_BYTES);
}

/* Collective. Opens a window for XTQ, unless a rank cannot. */
static void window_open(void *base, MPI_Aint bytes, MPI_Aint unit, MPI_Comm comm, MPI_Win win)
{
    struct link *link = window_taken(bytes, comm) ? link_of(comm) : NULL;
    unsigned number = link && !windows_open(link) ? number_choose(link, comm) : WINDOWS;
    struct window *window;
    int error;

    if (number == WINDOWS)
        return;
    window = window_allocate(link);
    error = window ? 0 : -ENOMEM;
    if (!error)
        error = windows_expose(link, number, base, (size_t)bytes);
    if (xtq_agree(link->x, error) || meet_open(link, comm) ||
        PMPI_Comm_split(comm, 0, xtq_rank(link->x), &window->comm)) {
        windows_hide(link, number);
        window_free(window);
        return;
    }
    PMPI_Allgather(&unit, 1, MPI_AINT, window->units, 1, MPI_AINT, window->comm);
    window->number = number;
    link->exposed |= UINT64_C(1) << number;
    link_keep(link);
    link_windows(1);
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, NULL);
    PMPI_Win_set_attr(win, keyval, window);
}

#define MAKING(suffix, number)                                                                                         \
    INTERCEPT MPI_Win_create##suffix(void *base, MPI_Aint bytes, number unit, MPI_Info info, MPI_Comm comm,            \
                                     MPI_Win *win)                                                                     \
    {                                                                                                                  \
        int error, result;                                                                                             \
        struct device_window *device = device_window_make(&base, &bytes, &error);                                      \
                                                                                                                       \
        result = PMPI_Win_create##suffix(base, bytes, unit, info, comm, win);                                          \
        if (result == MPI_SUCCESS)                                                                                     \
            window_open(base, bytes, unit, comm, *win);                                                                \
        return device_window_made(device, *win, result, error);                                                        \
    }                                                                                                                  \
    INTERCEPT MPI_Win_allocate##suffix(MPI_Aint bytes, number unit, MPI_Info info, MPI_Comm comm, void *base,          \
                                       MPI_Win *win)                                                                   \
    {                                                                                                                  \
        int result = PMPI_Win_allocate##suffix(bytes, unit, info, comm, base, win);                                    \
                                                                                                                       \
        if (result == MPI_SUCCESS)                                                                                     \
            window_open(*(void **)base, bytes, unit, comm, *win);                                                      \
        return result;                                                                                                 \
    }
MAKING(, int)
#if MPI_VERSION >= 4
MAKING(_c, MPI_Aint)
#endif

INTERCEPT MPI_Win_free(MPI_Win *win)
{
    struct window *window = window_of(*win);
    struct link *link = window ? window->link : NULL;
    struct device_window *device = device_windows() ? device_window_of(*win, false) : NULL;
    int result;

    if (window) {
        xtq_barrier(link->x); /* no put of this window can arrive any more: its number may be reused */
        windows_hide(link, window->number);
        link->exposed &= ~(UINT64_C(1) << window->number);
        link_windows(-1);
        window_free(window);
    }
    result = PMPI_Win_free(win);
    device_window_close(device);
    if (link)
        link_release(link);
    return result;
}

/* ---- waiting for pending operations ---- */

/* Waits for this rank's results from a target. Returns MPI's error code. */
static int results(struct window *window, int target)
{
    return xtq_signal_wait(window->link->x, window->targets[target].fetching, XTQ_EQ, 0, -1) ? MPI_ERR_OTHER
                                                                                             : MPI_SUCCESS;
}

/* Waits for this rank's operations at a target. Returns MPI's error code. */
static int complete(struct window *window, MPI_Win win, int target)
{
    struct xtq_error error = {0};
    int result = xtq_quiet(window->link->x, target) ? MPI_ERR_OTHER : results(window, target);

    xtq_error(window->link->x, target, WINDOW_QUEUE, &error);
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

/* ---- epochs ---- */

/* Tells the thread sanitizer that MPI orders this rank's and other ranks' accesses to this rank's memory: see
 * context_sent(). */
static void order_told(const struct window *window)
{
    if (!window)
        return;
    context_tell_sent(window->link->x);
    context_tell_received(window->link->x);
}

/*
 * No rank continues before all ranks' operations have run, and MPI's own have completed at all targets: after MPI's
 * fence alone, the next put could arrive at a target that still waits for MPI's operations.
 */
INTERCEPT MPI_Win_fence(int assertion, MPI_Win win)
{
    struct window *window = window_of(win);
    int result, fenced;

    order_told(window);
    device_window_before(win, device_fence_before(assertion));
    result = complete_all(win);
    fenced = PMPI_Win_fence(assertion, win);
    if (window) {
        int met = PMPI_Barrier(window->comm);

        order_told(window);
        fenced = fenced ? fenced : met;
        window->fenced = !(assertion & MPI_MODE_NOSUCCEED);
    }
    return device_window_after(win, DEVICE_ALL, device_fence_after(win, assertion), result ? result : fenced);
}

/* Returns the ranks of a group in the window, in *out, to be freed, and their number, or -1. */
static int group_ranks(const struct window *window, MPI_Group group, int **out)
{
    MPI_Group all;
    int count, *ranks;

    PMPI_Group_size(group, &count);
    ranks = malloc(((size_t)count + 1) * 2 * sizeof(*ranks));
    if (!ranks)
        return -1;
    for (int i = 0; i < count; i++)
        ranks[i] = i;
    PMPI_Comm_group(window->comm, &all);
    PMPI_Group_translate_ranks(group, count, ranks, all, ranks + count);
    PMPI_Group_free(&all);
    memmove(ranks, ranks + count, (size_t)count * sizeof(*ranks));
    *out = ranks;
    return count;
}

/* Sends one message to each rank for each epoch. The rank receives it at the latest when it ends the epoch, so that
 * messages and epochs match. */
int window_posted(MPI_Win win, MPI_Group group)
{
    struct window *window = window_of(win);
    int *origins = NULL, count = window ? group_ranks(window, group, &origins) : 0;
    int result = count < 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS;

    order_told(window);
    for (int i = 0; i < count && !result; i++) {
        MPI_Request request;

        result = PMPI_Isend(NULL, 0, MPI_BYTE, origins[i], POSTED, window->comm, &request);
        if (!result)
            result = PMPI_Request_free(&request);
    }
    free(origins);
    return result;
}

int window_enter(struct window *window, MPI_Win win, int target)
{
    struct target *t = &window->targets[target];
    MPI_Request request;
    int result;

    if (!t->unsure)
        return MPI_SUCCESS;
    if (t->opened)
        result = serve_until(PMPI_Irecv(NULL, 0, MPI_BYTE, target, POSTED, window->comm, &request), &request);
    else
        result = PMPI_Win_flush(target, win);
    order_told(window);
    t->unsure = false;
    return result;
}

INTERCEPT MPI_Win_start(MPI_Group group, int assertion, MPI_Win win)
{
    struct window *window = window_of(win);
    int *targets = NULL, count = window ? group_ranks(window, group, &targets) : 0;
    int result = count < 0 ? MPI_ERR_NO_MEM : PMPI_Win_start(group, assertion, win);

    for (int i = 0; i < count && !result; i++) {
        struct target *t = target_of(window, targets[i]);

        window->started = true;
        if (t)
            t->opened = t->unsure = true;
    }
    free(targets);
    return result;
}

INTERCEPT MPI_Win_complete(MPI_Win win)
{
    struct window *window = window_of(win);
    int result = MPI_SUCCESS, completed;

    for (int target = 0; window && target < window->size; target++) {
        struct target *t = &window->targets[target];
        int one;

        if (!t->opened)
            continue;
        one = window_enter(window, win, target);
        one = one ? one : complete(window, win, target);
        result = result ? result : one;
        t->opened = false;
    }
    order_told(window);
    if (window)
        window->started = false;
    completed = PMPI_Win_complete(win);
    return device_window_after(win, DEVICE_ALL, 0, result ? result : completed);
}

INTERCEPT MPI_Win_lock(int type, int target, int assertion, MPI_Win win)
{
    struct window *window = window_of(win);
    struct target *t = target_of(window, target);
    int result = PMPI_Win_lock(type, target, assertion, win);

    order_told(window);
    if (t && !result)
        t->locked = t->unsure = true;
    return device_window_after(win, DEVICE_NOBODY, target == device_rank(win) ? DEVICE_IN : 0, result);
}

INTERCEPT MPI_Win_lock_all(int assertion, MPI_Win win)
{
    struct window *window = window_of(win);
    int result = PMPI_Win_lock_all(assertion, win);

    order_told(window);
    for (int target = 0; window && !result && target < window->size; target++)
        window->targets[target].locked = window->targets[target].unsure = true;
    return device_window_after(win, DEVICE_NOBODY, DEVICE_IN, result);
}

INTERCEPT MPI_Win_unlock(int target, MPI_Win win)
{
    struct window *window = window_of(win);
    struct target *t = target_of(window, target);
    const bool own = target == device_rank(win);
    int result = complete_one(win, target), unlocked;

    order_told(window);
    if (t)
        t->locked = t->unsure = false;
    device_window_before(win, own ? DEVICE_OUT : 0);
    unlocked = PMPI_Win_unlock(target, win);
    return device_window_after(win, target, own ? DEVICE_IN : 0, result ? result : unlocked);
}

INTERCEPT MPI_Win_unlock_all(MPI_Win win)
{
    struct window *window = window_of(win);
    int result = complete_all(win), unlocked;

    order_told(window);
    for (int target = 0; window && target < window->size; target++)
        window->targets[target].locked = window->targets[target].unsure = false;
    device_window_before(win, DEVICE_OUT);
    unlocked = PMPI_Win_unlock_all(win);
    return device_window_after(win, DEVICE_ALL, DEVICE_IN, result ? result : unlocked);
}

INTERCEPT MPI_Win_flush(int target, MPI_Win win)
{
    int result = complete_one(win, target), flushed = PMPI_Win_flush(target, win);

    return device_window_after(win, target, 0, result ? result : flushed);
}

INTERCEPT MPI_Win_flush_all(MPI_Win win)
{
    int result = complete_all(win), flushed = PMPI_Win_flush_all(win);

    return device_window_after(win, DEVICE_ALL, 0, result ? result : flushed);
}

INTERCEPT MPI_Win_flush_local(int target, MPI_Win win)
{
    struct window *window = window_of(win);
    int result = target_of(window, target) ? results(window, target) : MPI_SUCCESS;
    int flushed = PMPI_Win_flush_local(target, win);

    return device_window_after(win, target, 0, result ? result : flushed);
}

INTERCEPT MPI_Win_flush_local_all(MPI_Win win)
{
    struct window *window = window_of(win);
    int result = MPI_SUCCESS, flushed;

    for (int target = 0; window && target < window->size && !result; target++)
        result = results(window, target);
    flushed = PMPI_Win_flush_local_all(win);
    return device_window_after(win, DEVICE_ALL, 0, result ? result : flushed);
}
