/*
 * Requests with work to be done on completion: received data must be written to the device. The request is MPI's own.
 * The function that finds it complete does the work before the program gets to know of it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/device/device.h"

_Atomic unsigned device_pending_count;

struct pending {
    struct pending *next;
    MPI_Request request;
    int (*begin)(void *); /* NULL: not persistent */
    void (*drop)(void *);
    pending_end *end;
    void *argument;
    bool active;
    bool ended; /* MPI_Request_get_status() has found it complete, with this status */
    MPI_Status status;
};

/* Lists, by a hash of the request's handle. */
#define LISTS 64
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *lists[LISTS];
static struct pending
    *orphans; /* requests that the program does not wait for, while MPI still uses memory of this library */

static struct pending **list_of(MPI_Request request)
{
    uintptr_t number = (uintptr_t)request;

    return &lists[(number ^ number >> 6 ^ number >> 12) % LISTS];
}

/* ---- keeping ---- */

static struct pending *pending_find(MPI_Request request)
{
    struct pending *p;

    if (!device_pending() || request == MPI_REQUEST_NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    for (p = *list_of(request); p && p->request != request;)
        p = p->next;
    pthread_mutex_unlock(&lock);
    return p;
}

static void pending_insert(struct pending *p)
{
    pthread_mutex_lock(&lock);
    p->next = *list_of(p->request);
    *list_of(p->request) = p;
    atomic_fetch_add(&device_pending_count, 1);
    pthread_mutex_unlock(&lock);
}

static void pending_remove(struct pending *p)
{
    struct pending **at;

    pthread_mutex_lock(&lock);
    for (at = list_of(p->request); *at != p;)
        at = &(*at)->next;
    *at = p->next;
    atomic_fetch_sub(&device_pending_count, 1);
    pthread_mutex_unlock(&lock);
}

/* For a request whose handle is unique. */
int pending_hold(MPI_Request *request, pending_end *end, void *argument)
{
    struct pending *p = malloc(sizeof(*p));
    MPI_Status status;

    if (!p) {
        PMPI_Wait(request, &status);
        return end(argument, &status);
    }
    *p = (struct pending){.request = *request, .end = end, .argument = argument, .active = true};
    pending_insert(p);
    return MPI_SUCCESS;
}

/* Requests that are complete may share one handle, so such a request is ended at once. */
int pending_add(MPI_Request *request, pending_end *end, void *argument)
{
    MPI_Status status;
    int over = 0;

    if (orphans)
        pending_reap(false);
    if (!PMPI_Request_get_status(*request, &over, &status) && over)
        return end(argument, &status);
    return pending_hold(request, end, argument);
}

int pending_keep(MPI_Request *request, int (*begin)(void *), pending_end *end, void (*drop)(void *), void *argument)
{
    struct pending *p = malloc(sizeof(*p));

    if (!p)
        return -ENOMEM;
    *p = (struct pending){.request = *request, .begin = begin, .end = end, .drop = drop, .argument = argument};
    pending_insert(p);
    return 0;
}

int pending_start(MPI_Request request)
{
    struct pending *p = pending_find(request);

    if (!p || !p->begin)
        return MPI_SUCCESS;
    p->active = true;
    p->ended = false;
    return p->begin(p->argument);
}

/* Ends a request that is complete. */
static int pending_over(struct pending *p, MPI_Status *status)
{
    int result = MPI_SUCCESS;

    if (!p || !p->active)
        return MPI_SUCCESS;
    p->active = false;
    if (p->ended)
        *status = p->status;
    else
        result = p->end(p->argument, status);
    if (!p->begin) {
        pending_remove(p);
        free(p);
    }
    return result;
}

/* ---- requests that the program does not wait for ---- */

static void pending_free(struct pending *p)
{
    if (p->drop)
        p->drop(p->argument);
    if (p->request != MPI_REQUEST_NULL)
        PMPI_Request_free(&p->request);
    free(p);
}

void pending_reap(bool all)
{
    struct pending *list, *next;

    pthread_mutex_lock(&lock);
    list = orphans;
    orphans = NULL;
    pthread_mutex_unlock(&lock);
    for (; list; list = next) {
        MPI_Status status;
        int over = 1;

        next = list->next;
        if (all ? PMPI_Wait(&list->request, &status) : PMPI_Test(&list->request, &over, &status))
            over = 1;
        if (over) {
            if (!list->ended)
                list->end(list->argument, &status);
            pending_free(list);
            continue;
        }
        pthread_mutex_lock(&lock);
        list->next = orphans;
        orphans = list;
        pthread_mutex_unlock(&lock);
    }
}

bool pending_abandon(MPI_Request *request)
{
    struct pending *p = pending_find(*request);

    if (!p)
        return false;
    pending_remove(p);
    *request = MPI_REQUEST_NULL;
    if (!p->active) {
        pending_free(p);
        return true;
    }
    pthread_mutex_lock(&lock);
    p->next = orphans;
    orphans = p;
    pthread_mutex_unlock(&lock);
    return true;
}

/* ---- waiting and testing ---- */

/* The state of several requests, from before MPI resets the handles of complete ones, and memory for statuses. */
struct several {
    struct pending **pending;
    MPI_Status *statuses;
    MPI_Status *own;
};

static bool several_open(struct several *s, int count, const MPI_Request *requests, MPI_Status *statuses)
{
    const size_t most = count > 0 ? (size_t)count : 1;

    *s = (struct several){.statuses = statuses};
    s->pending = calloc(most, sizeof(struct pending *));
    if (statuses == MPI_STATUSES_IGNORE)
        s->statuses = s->own = calloc(most, sizeof(MPI_Status));
    if (!s->pending || !s->statuses) {
        free(s->pending);
        free(s->own);
        return false;
    }
    for (int i = 0; i < count; i++)
        s->pending[i] = pending_find(requests[i]);
    return true;
}

static void several_close(struct several *s)
{
    free(s->pending);
    free(s->own);
}

/* Ends count complete requests: those of indices, or, if that is NULL, all. Errors are stored in the statuses, as
 * MPI's. */
static int several_over(struct several *s, int result, int count, const int *indices)
{
    const bool told = result == MPI_ERR_IN_STATUS;

    for (int i = 0; i < count; i++) {
        MPI_Status *status = &s->statuses[i];
        int error;

        if (!told)
            status->MPI_ERROR = MPI_SUCCESS;
        if (status->MPI_ERROR == MPI_ERR_PENDING)
            continue;
        error = pending_over(s->pending[indices ? indices[i] : i], status);
        if (!error)
            continue;
        status->MPI_ERROR = error;
        result = MPI_ERR_IN_STATUS;
    }
    return result;
}

int device_wait(MPI_Request *request, MPI_Status *status, wait_one *wait)
{
    struct pending *p = pending_find(*request);
    MPI_Status own, *told = status == MPI_STATUS_IGNORE ? &own : status;
    int result, ended;

    if (!p)
        return wait(request, status);
    result = wait(request, told);
    ended = pending_over(p, told);
    return result ? result : ended;
}

int device_waitall(int count, MPI_Request *requests, MPI_Status *statuses, wait_all *wait)
{
    struct several s;
    int result;

    if (!several_open(&s, count, requests, statuses))
        return MPI_ERR_NO_MEM;
    result = wait(count, requests, s.statuses);
    result = several_over(&s, result, count, NULL);
    several_close(&s);
    return result;
}

INTERCEPT MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct pending *p = pending_find(*request);
    MPI_Status own, *told = status == MPI_STATUS_IGNORE ? &own : status;
    int result, ended;

    if (!p)
        return PMPI_Test(request, flag, status);
    result = PMPI_Test(request, flag, told);
    ended = *flag ? pending_over(p, told) : MPI_SUCCESS;
    return result ? result : ended;
}

INTERCEPT MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct several s;
    int result;

    if (!device_pending())
        return PMPI_Testall(count, requests, flag, statuses);
    if (!several_open(&s, count, requests, statuses))
        return MPI_ERR_NO_MEM;
    result = PMPI_Testall(count, requests, flag, s.statuses);
    result = several_over(&s, result, *flag ? count : 0, NULL);
    several_close(&s);
    return result;
}

typedef int any_call(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status);

static int any(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status, any_call *call)
{
    struct several s;
    MPI_Status own, *told = status == MPI_STATUS_IGNORE ? &own : status;
    int result, ended = MPI_SUCCESS;

    if (!several_open(&s, count, requests, MPI_STATUSES_IGNORE))
        return MPI_ERR_NO_MEM;
    result = call(count, requests, index, flag, told);
    if (*flag && *index != MPI_UNDEFINED)
        ended = pending_over(s.pending[*index], told);
    several_close(&s);
    return result ? result : ended;
}

static int waitany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    *flag = 1;
    return PMPI_Waitany(count, requests, index, status);
}

INTERCEPT MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    int flag;

    return device_pending() ? any(count, requests, index, &flag, status, waitany)
                            : PMPI_Waitany(count, requests, index, status);
}

INTERCEPT MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    return device_pending() ? any(count, requests, index, flag, status, PMPI_Testany)
                            : PMPI_Testany(count, requests, index, flag, status);
}

typedef int some_call(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses);

static int some(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses, some_call *call)
{
    struct several s;
    int result;

    if (!several_open(&s, count, requests, statuses))
        return MPI_ERR_NO_MEM;
    result = call(count, requests, done, indices, s.statuses);
    result = several_over(&s, result, *done == MPI_UNDEFINED ? 0 : *done, indices);
    several_close(&s);
    return result;
}

INTERCEPT MPI_Waitsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
    return device_pending() ? some(count, requests, done, indices, statuses, PMPI_Waitsome)
                            : PMPI_Waitsome(count, requests, done, indices, statuses);
}

INTERCEPT MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[])
{
    return device_pending() ? some(count, requests, done, indices, statuses, PMPI_Testsome)
                            : PMPI_Testsome(count, requests, done, indices, statuses);
}

/* The request remains. Its work is done now, and not again later. */
INTERCEPT MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct pending *p = pending_find(request);
    MPI_Status own, *told = status == MPI_STATUS_IGNORE ? &own : status;
    int result, ended = MPI_SUCCESS;

    if (!p)
        return PMPI_Request_get_status(request, flag, status);
    result = PMPI_Request_get_status(request, flag, told);
    if (!*flag || !p->active)
        return result;
    if (!p->ended)
        ended = p->end(p->argument, told);
    else
        *told = p->status;
    p->ended = true;
    p->status = *told;
    return result ? result : ended;
}
