/* Calls that send to nodes, and a halt between them: while a node moves (move.c) none is half-way. */
#ifndef VOCL_CLIENT_CORE_HALT_H
#define VOCL_CLIENT_CORE_HALT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct walker { /* a thread that has made a call */
    struct walker *next;
    atomic_uint depth;
    bool known, gone;   /* gone: it ends */
    bool waits, let_in; /* for the end of a halt; it was over for it */
};
/* Each call looks at it, so it is at a fixed place of each thread, of what libc has left over for libraries that are
 * loaded late: a few bytes, as one such library in thirty does. */
extern _Thread_local struct walker halt_self __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern atomic_int halt_now __attribute__((visibility("hidden"))); /* enum halt */

/* The rest of halt_mark(): the first call of a thread, or one while there is a halt. */
void halt_enter_slowly(bool quiet);

static inline void halt_mark(bool quiet)
{
    const unsigned depth = atomic_load_explicit(&halt_self.depth, memory_order_relaxed);

    atomic_store_explicit(&halt_self.depth, depth + 1, memory_order_relaxed);
    if (depth)
        return;
    atomic_signal_fence(memory_order_seq_cst); /* the other half is halt_set()'s */
    if (atomic_load_explicit(&halt_now, memory_order_acquire) || !halt_self.known)
        halt_enter_slowly(quiet);
}

/* A call begins that makes objects, or enqueues: it waits while there is a halt. May be nested. Not under a lock. */
static inline void halt_enter(void)
{
    halt_mark(false);
}
/* The same for a call that no node is needed for: it waits while nodes are changed, but not while they are suspended.
 */
static inline void halt_enter_quietly(void)
{
    halt_mark(true);
}

/* It has sent what it had to send. */
static inline void halt_leave(void)
{
    atomic_store_explicit(&halt_self.depth, atomic_load_explicit(&halt_self.depth, memory_order_relaxed) - 1,
                          memory_order_release);
}

static inline void halt_guard_end(char *guard)
{
    (void)guard;
    halt_leave();
}
static inline char halt_guard_begin(void)
{
    halt_enter();
    return 0;
}
static inline char halt_guard_begin_quietly(void)
{
    halt_enter_quietly();
    return 0;
}
/* A call from here until the block ends. */
#define HALT_GUARD __attribute__((cleanup(halt_guard_end), unused)) char halt_guard = halt_guard_begin()
#define HALT_GUARD_QUIET __attribute__((cleanup(halt_guard_end), unused)) char halt_guard = halt_guard_begin_quietly()

enum halt {
    HALT_NONE,
    HALT_PROGRAM, /* functions that are called back go on: what is enqueued may wait for them */
    HALT_ALL,
    HALT_SUSPENDED /* until somebody needs a node: halt_want() */
};
/* False: this system cannot halt threads. The calling thread itself is never halted. */
bool halt_can(void);
/* HALT_NONE: the calls that wait are under way from now on, so that the next halt waits for them. However quickly halts
 * follow each other, whoever waited does one thing between two. */
void halt_set(enum halt halt);
/* Whether a call is under way. */
bool halt_any_inside(void);
/* Sleeps until a call waits for the end of HALT_SUSPENDED; false: the process ends. */
bool halt_wait_wanted(void);
/* A call that is no guarded one needs a node. */
void halt_want(void);
/* HALT_SUSPENDED again, but who waits now goes on as if there were no halt, and finds the nodes as they are. */
void halt_let_through(void);
/* Whether this thread is in a call, or is the one that halts the others. */
bool halt_is_exempt(void);
/* The process ends: nobody waits any more. */
void halt_end(void);
void halt_after_fork(void);

#endif
