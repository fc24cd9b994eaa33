/*
 * Halts between calls. Calls are many and halts are few: a call only marks its own thread, and the thread that halts
 * the others makes their marks visible (membarrier), so that no call pays for a fence.
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"
#include "client/core/deliver.h"
#include "client/core/halt.h"
#include "client/core/per_process.h"
#include "client/core/ranks.h"

static PER_PROCESS struct mutex lock = MUTEX(RANK_HALT);
static PER_PROCESS pthread_cond_t over = PTHREAD_COND_INITIALIZER;
static struct walker *walkers;
PER_PROCESS atomic_int halt_now;
static PER_PROCESS pthread_t halter; /* while halted */
static PER_PROCESS bool ended, lost; /* lost: a thread could not be registered */
static PER_PROCESS pthread_cond_t call = PTHREAD_COND_INITIALIZER;
static PER_PROCESS bool wanted; /* a thread waits for the end of HALT_SUSPENDED */
_Thread_local struct walker halt_self;

static void forget(void *argument)
{
    struct walker **at = &walkers, *walker = argument;

    mutex_lock(&lock);
    while (*at && *at != walker)
        at = &(*at)->next;
    if (*at)
        *at = walker->next;
    walker->known = false;
    walker->gone = true;
    mutex_unlock(&lock);
}

static void introduce(struct walker *walker)
{
    /* thread_at_end() must not be called under the lock. */
    const bool told = !walker->gone && !thread_at_end(forget, walker);

    mutex_lock(&lock);
    if (!told) {
        lost = true;
    } else {
        walker->next = walkers;
        walkers = walker;
    }
    walker->known = true;
    mutex_unlock(&lock);
}

/* Under the lock. */
static bool must_wait(bool quiet)
{
    const int now = atomic_load(&halt_now);

    if (now == HALT_NONE || ended || pthread_equal(halter, pthread_self()))
        return false;
    if (now == HALT_SUSPENDED)
        return !quiet;
    return now == HALT_ALL || !deliver_runs();
}

/* Under the lock. It is in effect until the halt ends: a call that comes while nodes are being suspended wants them
 * back, too. */
static void want(void)
{
    if (wanted)
        return;
    wanted = true;
    pthread_cond_signal(&call);
}

/* Under the lock. A waiting thread counts as in its call from here on, before it has woken up. */
static void let_in(void)
{
    for (struct walker *walker = walkers; walker; walker = walker->next) {
        if (!walker->waits)
            continue;
        walker->waits = false;
        walker->let_in = true;
        atomic_store_explicit(&walker->depth, 1, memory_order_relaxed);
    }
}

/* Returns true if the call may continue, false if there was a halt and it has to look again. */
static bool pass(bool quiet)
{
    struct walker *self = &halt_self;
    bool may;

    mutex_lock(&lock);
    may = !must_wait(quiet);
    if (!may)
        atomic_store_explicit(&self->depth, 0, memory_order_release);
    self->waits = !may;
    self->let_in = false;
    while (!self->let_in && must_wait(quiet)) {
        if (!quiet)
            want();
        mutex_wait(&over, &lock);
    }
    self->waits = false;
    may |= self->let_in;
    mutex_unlock(&lock);
    return may;
}

__attribute__((cold)) void halt_enter_slowly(bool quiet)
{
    if (!halt_self.known)
        introduce(&halt_self); /* depth is set already: a halt from here on sees it, and an earlier one is seen below */
    while (atomic_load_explicit(&halt_now, memory_order_acquire) && !pass(quiet)) {
        atomic_store_explicit(&halt_self.depth, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
    }
}

static bool barrier(int command)
{
    return !syscall(SYS_membarrier, command, 0, 0);
}

bool halt_can(void)
{
    bool good;

    if (!barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
        return false;
    mutex_lock(&lock);
    good = !lost;
    mutex_unlock(&lock);
    return good;
}

void halt_set(enum halt halt)
{
    mutex_lock(&lock);
    halter = pthread_self();
    wanted &= halt != HALT_NONE;
    if (!halt)
        let_in();
    atomic_store(&halt_now, halt);
    pthread_cond_broadcast(&over);
    mutex_unlock(&lock);
    if (halt)
        barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

bool halt_any_inside(void)
{
    bool any = false;

    mutex_lock(&lock);
    for (struct walker *walker = walkers; walker && !any; walker = walker->next)
        any = walker != &halt_self && atomic_load_explicit(&walker->depth, memory_order_acquire);
    mutex_unlock(&lock);
    return any;
}

bool halt_wait_wanted(void)
{
    bool go;

    mutex_lock(&lock);
    while (!wanted && !ended)
        mutex_wait(&call, &lock);
    wanted = false;
    go = !ended;
    mutex_unlock(&lock);
    return go;
}

void halt_want(void)
{
    mutex_lock(&lock);
    want();
    mutex_unlock(&lock);
}

void halt_let_through(void)
{
    mutex_lock(&lock);
    wanted = false;
    atomic_store(&halt_now, HALT_SUSPENDED);
    let_in();
    pthread_cond_broadcast(&over);
    mutex_unlock(&lock);
}

bool halt_is_exempt(void)
{
    bool mine;

    if (atomic_load_explicit(&halt_self.depth, memory_order_relaxed))
        return true;
    mutex_lock(&lock);
    mine = atomic_load(&halt_now) != HALT_NONE && pthread_equal(halter, pthread_self());
    mutex_unlock(&lock);
    return mine;
}

void halt_end(void)
{
    mutex_lock(&lock);
    ended = true;
    pthread_cond_broadcast(&call);
    pthread_cond_broadcast(&over);
    mutex_unlock(&lock);
}

void halt_after_fork(void)
{
    walkers = halt_self.known ? &halt_self : NULL;
    halt_self.next = NULL;
    halt_self.waits = false;
}
