/*
 * Reductions that run in the background. Each communicator that has had one has a thread, which drives its reductions
 * and completes them in the order in which they were started. This order is the same on all ranks, so all ranks that
 * have started later reductions have also started the one that is waited for.
 *
 * MPI's part of a persistent request is a receive of an empty message from this rank itself, which the thread sends
 * when the reduction has ended. So MPI_Wait and the like, and MPI_Request_free, get a request that they know.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "mpi/device/device.h"
#include "mpi/collectives/jobs.h"

/* The end of a reduction that a thread waits for. */
struct ending {
    bool over;
    int error;
};

struct job {
    struct job *next;
    struct reduction what;
    struct xtq_request *request; /* NULL: not started yet, or not started because of error */
    int error;
    struct completion *completion; /* or NULL */
    int tag;                       /* of a persistent request, or 0 */
    struct ending *ending;         /* or NULL */
};

struct jobs {
    struct link *link;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct job *first, **end;
    bool stop;
};

struct persistent {
    struct persistent *next;
    struct link *link;
    struct reduction what;
    MPI_Request request;
    int tag;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all persistent requests */
static struct persistent *persistents;
static _Atomic unsigned persistent_count;
static MPI_Comm self = MPI_COMM_NULL;

/* ---- reductions ---- */

static int reduction_start(struct link *link, const struct reduction *r, struct xtq_request **request)
{
    return r->root == TO_ALL ? xtq_iallreduce(link->c, r->data, r->result, r->count, r->type, r->op, request)
                             : xtq_ireduce(link->c, r->root, r->data, r->result, r->count, r->type, r->op, request);
}

/* Does a blocking reduction. All ranks wait in it, so no server is woken: it would take a core from a waiting rank. */
static int reduction_do(struct link *link, const struct reduction *r)
{
    return r->root == TO_ALL ? xtq_allreduce(link->c, r->data, r->result, r->count, r->type, r->op)
                             : xtq_reduce(link->c, r->root, r->data, r->result, r->count, r->type, r->op);
}

/* Starts reductions in order, as many as there is room for. Called under the lock. */
static void start_some(struct jobs *jobs)
{
    for (struct job *job = jobs->first; job; job = job->next) {
        if (job->request || job->error)
            continue;
        job->error = reduction_start(jobs->link, &job->what, &job->request);
        if (job->error == -EBUSY) {
            job->error = 0;
            return;
        }
    }
}

/* Completes a persistent request. A message that is too long reports an error. MPICH's MPI_Wait does not notice a
 * message of this process, but notices the end of a generalised request. */
static void persistent_end(int tag, int error)
{
    static const char nothing;
    struct completion *completion;
    MPI_Request request;

    PMPI_Send(&nothing, error ? 1 : 0, MPI_BYTE, 0, tag, self);
    completion = completion_begin(&request);
    if (completion) {
        completion_end(completion, MPI_SUCCESS);
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void job_end(struct jobs *jobs, struct job *job, int error)
{
    if (!error)
        link_count_collective();
    if (job->completion)
        completion_end(job->completion, error ? MPI_ERR_OTHER : MPI_SUCCESS);
    if (job->tag)
        persistent_end(job->tag, error);
    if (job->ending) {
        pthread_mutex_lock(&jobs->lock);
        *job->ending = (struct ending){.over = true, .error = error};
        pthread_cond_broadcast(&jobs->changed);
        pthread_mutex_unlock(&jobs->lock);
    }
    free(job);
}

static void *jobs_run(void *argument)
{
    struct jobs *jobs = argument;
    struct job *job;

    pthread_mutex_lock(&jobs->lock);
    for (;;) {
        int error;

        while (!jobs->first && !jobs->stop)
            pthread_cond_wait(&jobs->changed, &jobs->lock);
        if (!jobs->first)
            break;
        job = jobs->first;
        start_some(jobs);
        error = job->error;
        pthread_mutex_unlock(&jobs->lock);
        if (!error)
            error = xtq_wait(job->request);
        pthread_mutex_lock(&jobs->lock);
        jobs->first = job->next;
        if (!jobs->first)
            jobs->end = &jobs->first;
        start_some(jobs);
        pthread_mutex_unlock(&jobs->lock);
        job_end(jobs, job, error);
        pthread_mutex_lock(&jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

static struct jobs *jobs_of(struct link *link)
{
    struct jobs *jobs = link->jobs;

    if (jobs)
        return jobs;
    jobs = calloc(1, sizeof(*jobs));
    if (!jobs)
        return NULL;
    jobs->link = link;
    jobs->end = &jobs->first;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->changed, NULL);
    if (thread_start(&jobs->thread, jobs_run, jobs)) {
        pthread_cond_destroy(&jobs->changed);
        pthread_mutex_destroy(&jobs->lock);
        free(jobs);
        return NULL;
    }
    return link->jobs = jobs;
}

void jobs_close(struct link *link)
{
    struct jobs *jobs = link->jobs;

    if (!jobs)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->stop = true;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    pthread_join(jobs->thread, NULL);
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
    link->jobs = NULL;
}

static int submit(struct link *link, const struct job *job)
{
    struct jobs *jobs = jobs_of(link);
    struct job *copy = jobs ? malloc(sizeof(*copy)) : NULL;

    if (!copy)
        return -ENOMEM;
    *copy = *job;
    pthread_mutex_lock(&jobs->lock);
    *jobs->end = copy;
    jobs->end = &copy->next;
    start_some(jobs);
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    return 0;
}

static bool all_ended(struct jobs *jobs)
{
    bool none;

    if (!jobs)
        return true;
    pthread_mutex_lock(&jobs->lock);
    none = !jobs->first;
    pthread_mutex_unlock(&jobs->lock);
    return none;
}

int reduce_now(struct link *link, const struct reduction *what)
{
    struct ending ending = {0};
    int error;

    if (all_ended(link->jobs)) {
        error = reduction_do(link, what);
        if (!error)
            link_count_collective();
        return error;
    }
    error = submit(link, &(struct job){.what = *what, .ending = &ending});
    if (error)
        return error;
    pthread_mutex_lock(&link->jobs->lock);
    while (!ending.over)
        pthread_cond_wait(&link->jobs->changed, &link->jobs->lock);
    pthread_mutex_unlock(&link->jobs->lock);
    return ending.error;
}

int reduce_later(struct link *link, const struct reduction *what, MPI_Request *request)
{
    struct completion *completion = completion_begin(request);
    int error = completion ? submit(link, &(struct job){.what = *what, .completion = completion}) : -ENOMEM;

    if (error && completion)
        completion_end(completion, MPI_ERR_OTHER);
    return error;
}

/* ---- persistent requests ---- */

int reduce_often(struct link *link, const struct reduction *what, MPI_Request *request)
{
    static int tags;
    struct persistent *p = calloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->link = link;
    p->what = *what;
    pthread_mutex_lock(&lock);
    p->tag = tags++ % 0x7fff + 1; /* every MPI has that many tags */
    if ((self == MPI_COMM_NULL && PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &self)) ||
        PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, p->tag, self, &p->request)) {
        pthread_mutex_unlock(&lock);
        free(p);
        return -EIO;
    }
    p->next = persistents;
    persistents = p;
    atomic_fetch_add(&persistent_count, 1);
    pthread_mutex_unlock(&lock);
    *request = p->request;
    return 0;
}

static struct persistent *persistent_of(MPI_Request request, bool take)
{
    struct persistent **at, *p = NULL;

    if (!atomic_load(&persistent_count))
        return NULL;
    pthread_mutex_lock(&lock);
    for (at = &persistents; *at && (*at)->request != request;)
        at = &(*at)->next;
    p = *at;
    if (p && take) {
        *at = p->next;
        atomic_fetch_sub(&persistent_count, 1);
    }
    pthread_mutex_unlock(&lock);
    return p;
}

INTERCEPT MPI_Start(MPI_Request *request)
{
    struct persistent *p = persistent_of(*request, false);
    int result = device_pending() ? pending_start(*request) : MPI_SUCCESS;

    result = result ? result : PMPI_Start(request);

    if (p && !result && submit(p->link, &(struct job){.what = p->what, .tag = p->tag}))
        persistent_end(p->tag, -ENOMEM);
    return result;
}

INTERCEPT MPI_Startall(int count, MPI_Request requests[])
{
    int result = MPI_SUCCESS;

    if (!atomic_load(&persistent_count) && !device_pending())
        return PMPI_Startall(count, requests);
    for (int i = 0; i < count && !result; i++)
        result = MPI_Start(&requests[i]);
    return result;
}

INTERCEPT MPI_Request_free(MPI_Request *request)
{
    struct persistent *p = persistent_of(*request, true);
    int result = device_pending() && pending_abandon(request) ? MPI_SUCCESS : PMPI_Request_free(request);

    free(p);
    return result;
}

void persistents_close(void)
{
    if (self != MPI_COMM_NULL)
        PMPI_Comm_free(&self);
}
