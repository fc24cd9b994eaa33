/*
 * Windows of device memory, in MPI's separate memory model (MPI 3.1, 11.4): the device's memory is the window's private
 * copy, and MPI's window is a public copy in host memory. Synchronisations compare both with their contents at the last
 * comparison, and copy the changed bytes to the other: by bytes, as MPI allows changes of both at different places.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "mpi/device/window.h"
#include "mpi/rma/window.h"

#define PART ((size_t)256 << 10)

_Atomic unsigned device_window_count;
static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t keyval_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- copying changes ---- */

static int part_copy(struct device_window *w, size_t at, uint8_t *part, size_t bytes, bool in)
{
    struct piece piece = {.rows = {.bytes = bytes, .count = 1}};
    struct pieces pieces = {.list = &piece, .count = 1};

    return in ? device_write(w->memory, w->offset + at, part, &pieces, bytes)
              : device_read(w->memory, w->offset + at, part, &pieces);
}

/* Copies bytes that kernels have written to the public copy. */
static int carry_out(struct device_window *w)
{
    int error = 0;

    for (size_t at = 0; at < w->bytes && !error; at += PART) {
        const size_t bytes = w->bytes - at < PART ? w->bytes - at : PART;

        error = part_copy(w, at, w->part, bytes, false);
        if (error || !memcmp(w->part, w->known + at, bytes))
            continue;
        for (size_t i = 0; i < bytes; i++) {
            if (w->part[i] != w->known[at + i])
                w->copy[at + i] = w->known[at + i] = w->part[i];
        }
    }
    return error;
}

/* Copies bytes that others have put from a part of the public copy, which may change meanwhile, to the device. */
static int carry_part_in(struct device_window *w, size_t at, size_t bytes)
{
    uint8_t *now = w->part, *there = w->part + PART, *known = w->known + at;
    size_t first = bytes, last = 0;
    int error;

    memcpy(now, w->copy + at, bytes);
    if (!memcmp(now, known, bytes))
        return 0;
    error = part_copy(w, at, there, bytes, false);
    for (size_t i = 0; i < bytes && !error; i++) {
        if (now[i] == known[i])
            continue;
        there[i] = known[i] = now[i];
        first = i < first ? i : first;
        last = i;
    }
    return error ? error : part_copy(w, at + first, there + first, last - first + 1, true);
}

static int carry_in(struct device_window *w)
{
    int error = 0;

    for (size_t at = 0; at < w->bytes && !error; at += PART)
        error = carry_part_in(w, at, w->bytes - at < PART ? w->bytes - at : PART);
    return error;
}

/* ---- making and freeing ---- */

static struct device_window *window_new(void)
{
    struct device_window *w = calloc(1, sizeof(*w));

    if (w) {
        pthread_mutex_init(&w->lock, NULL);
        atomic_fetch_add(&device_window_count, 1);
    }
    return w;
}

static void window_free(struct device_window *w)
{
    if (!w)
        return;
    atomic_fetch_sub(&device_window_count, 1);
    pthread_mutex_destroy(&w->lock);
    bounce_give(w->copy);
    bounce_give(w->known);
    bounce_give(w->part);
    device_give_back(w->memory);
    free(w);
}

static int make(struct device_window *w, void *base, MPI_Aint bytes)
{
    int error;

    if (device_find(base, &w->memory, &w->offset) != DEVICE_MEMORY)
        return -ENOENT;
    if (bytes < 0 || w->offset + (size_t)bytes > device_bytes(w->memory))
        return -ERANGE;
    w->address = base;
    w->copy = bounce_take((size_t)bytes);
    w->known = bounce_take((size_t)bytes);
    w->part = bounce_take(2 * PART);
    if (!w->copy || !w->known || !w->part)
        return -ENOMEM;
    error = part_copy(w, 0, w->copy, (size_t)bytes, false);
    memcpy(w->known, w->copy, (size_t)bytes);
    w->bytes = (size_t)bytes;
    return error;
}

struct device_window *device_window_make(void **base, MPI_Aint *bytes, int *error)
{
    struct device_window *w;

    *error = 0;
    if (!device_holds(*base, MPI_BYTE) || *bytes == 0)
        return NULL;
    w = window_new();
    *error = w ? make(w, *base, *bytes) : -ENOMEM;
    if (*error) {
        window_free(w);
        *base = NULL;
        *bytes = 0;
        return NULL;
    }
    *base = w->copy;
    return w;
}

static void window_attach(struct device_window *w, MPI_Win win)
{
    MPI_Group group;

    pthread_mutex_lock(&keyval_lock);
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, NULL);
    pthread_mutex_unlock(&keyval_lock);
    PMPI_Win_get_group(win, &group);
    PMPI_Group_rank(group, &w->rank);
    PMPI_Group_free(&group);
    PMPI_Win_set_attr(win, keyval, w);
}

int device_window_made(struct device_window *w, MPI_Win win, int result, int error)
{
    if (result)
        window_free(w);
    else if (error)
        result = device_win_error(win, error, "MPI_Win_create");
    else if (w)
        window_attach(w, win);
    return result;
}

void device_window_close(struct device_window *w)
{
    if (w && (origins_over(&w->origins, DEVICE_ALL) || (w->memory && carry_in(w))))
        vocl_log(LOG_ERROR, "xtqmpi: MPI_Win_free: writing device memory failed");
    window_free(w);
}

struct device_window *device_window_of(MPI_Win win, bool make_one)
{
    struct device_window *w = NULL;
    int found = 0;

    if (keyval != MPI_KEYVAL_INVALID && !PMPI_Win_get_attr(win, keyval, &w, &found) && found)
        return w;
    w = make_one ? window_new() : NULL;
    if (w)
        window_attach(w, win);
    return w;
}

/* ---- synchronisations ---- */

int device_rank(MPI_Win win)
{
    const struct device_window *w = device_windows() ? device_window_of(win, false) : NULL;

    return w && w->memory ? w->rank : DEVICE_NOBODY;
}

void device_window_before(MPI_Win win, unsigned what)
{
    struct device_window *w = device_windows() ? device_window_of(win, false) : NULL;
    int error = 0;

    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    if (w->memory && what & DEVICE_OUT)
        error = carry_out(w);
    pthread_mutex_unlock(&w->lock);
    if (error)
        device_win_error(win, error, "a synchronisation");
}

int device_window_after(MPI_Win win, int target, unsigned what, int result)
{
    struct device_window *w = device_windows() ? device_window_of(win, false) : NULL;
    int error = 0, failed = 0;

    if (!w)
        return result;
    pthread_mutex_lock(&w->lock);
    if (target != DEVICE_NOBODY)
        error = origins_over(&w->origins, target);
    if (w->memory && what & DEVICE_IN)
        failed = carry_in(w);
    pthread_mutex_unlock(&w->lock);
    error = error ? error : failed;
    return error ? device_win_error(win, error, "a synchronisation") : result;
}

unsigned device_fence_before(int assertion)
{
    return assertion & MPI_MODE_NOSTORE ? 0 : DEVICE_OUT;
}

/* Nothing can have been put if the previous fence had MPI_MODE_NOPUT, or this one has MPI_MODE_NOPRECEDE. */
unsigned device_fence_after(MPI_Win win, int assertion)
{
    struct device_window *w = device_windows() ? device_window_of(win, false) : NULL;
    bool none = (assertion & MPI_MODE_NOPRECEDE) || (w && w->no_puts);

    if (w)
        w->no_puts = assertion & MPI_MODE_NOPUT;
    return none ? 0 : DEVICE_IN;
}

/* The other synchronisations, which mpi/rma/window.c does not intercept. */

INTERCEPT MPI_Win_post(MPI_Group group, int assertion, MPI_Win win)
{
    int result;

    device_window_before(win, assertion & MPI_MODE_NOSTORE ? 0 : DEVICE_OUT);
    result = PMPI_Win_post(group, assertion, win);
    return result ? result : window_posted(win, group);
}

INTERCEPT MPI_Win_wait(MPI_Win win)
{
    return device_window_after(win, DEVICE_NOBODY, DEVICE_IN, PMPI_Win_wait(win));
}

INTERCEPT MPI_Win_test(MPI_Win win, int *flag)
{
    int result = PMPI_Win_test(win, flag);

    return *flag ? device_window_after(win, DEVICE_NOBODY, DEVICE_IN, result) : result;
}

INTERCEPT MPI_Win_sync(MPI_Win win)
{
    device_window_before(win, DEVICE_OUT);
    return device_window_after(win, DEVICE_NOBODY, DEVICE_IN, PMPI_Win_sync(win));
}

/* A window of device memory has the program's address, and the separate memory model. */
INTERCEPT MPI_Win_get_attr(MPI_Win win, int key, void *value, int *found)
{
    static int separate = MPI_WIN_SEPARATE;
    struct device_window *w = device_windows() ? device_window_of(win, false) : NULL;

    if (!w || !w->memory || (key != MPI_WIN_BASE && key != MPI_WIN_MODEL))
        return PMPI_Win_get_attr(win, key, value, found);
    *(void **)value = key == MPI_WIN_BASE ? w->address : (void *)&separate;
    *found = 1;
    return MPI_SUCCESS;
}
