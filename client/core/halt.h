/* Halts between calls that send to nodes: while a node moves (move.c) no call is half-way. */
#ifndef VOCL_CLIENT_CORE_HALT_H
#define VOCL_CLIENT_CORE_HALT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct walker { /* a thread that has made a call */
    struct walker *next;
    atomic_uint depth;
    bool known, gone;   /* gone: the thread ends */
    bool waits, let_in; /* waits: for the end of a halt; let_in: the halt has ended for it */
};
/* Each call reads it, so it is static TLS (initial-exec): a few bytes of the surplus that libc has for libraries that
 * are loaded late, as one such library in thirty uses it. */
extern _Thread_local struct walker halt_self __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern atomic_int halt_now __attribute__((visibility("hidden"))); /* enum halt */

/* The slow path of halt_mark(): for the first call of a thread, and for calls during a halt. */
void halt_enter_slowly(bool quiet);

static inline void halt_mark(bool quiet)
{
    const unsigned depth = atomic_load_explicit(&halt_self.depth, memory_order_relaxed);

    atomic_store_explicit(&halt_self.depth, depth + 1, memory_order_relaxed);
    if (depth)
        return;
    atomic_signal_fence(memory_order_seq_cst); /* the other half is the membarrier of halt_set() */
    if (atomic_load_explicit(&halt_now, memory_order_acquire) || !halt_self.known)
        halt_enter_slowly(quiet);
}

/* Begins a call that creates objects or enqueues: waits while there is a halt. May be nested. Not under a lock. */
static inline void halt_enter(void)
{
    halt_mark(false);
}
/* The same for a call that needs no node: it waits while nodes are changed, but not while they are suspended. */
static inline void halt_enter_quietly(void)
{
    halt_mark(true);
}

/* Ends the call, which has sent all that it sends. */
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
/* Makes a call of the code from here to the end of the block. */
#define HALT_GUARD __attribute__((cleanup(halt_guard_end), unused)) char halt_guard = halt_guard_begin()
#define HALT_GUARD_QUIET __attribute__((cleanup(halt_guard_end), unused)) char halt_guard = halt_guard_begin_quietly()

enum halt {
    HALT_NONE,
    HALT_PROGRAM, /* callbacks run: enqueued commands may wait for them */
    HALT_ALL,
    HALT_SUSPENDED /* until a thread needs a node: halt_want() */
};
/* Whether this system can halt threads. The calling thread itself is never halted. */
bool halt_can(void);
/* Begins a halt, or ends it. With HALT_NONE, waiting calls count as under way at once, so that the next halt waits for
 * them: however quickly halts follow each other, each of these threads makes one call between two. */
void halt_set(enum halt halt);
/* Whether a call of another thread is under way. */
bool halt_any_inside(void);
/* Sleeps until a call waits for the end of HALT_SUSPENDED. Returns false if the process ends. */
bool halt_wait_wanted(void);
/* Ends that sleep for a thread that needs a node and is in no guarded call. */
void halt_want(void);
/* Sets HALT_SUSPENDED again, but lets the calls that wait now continue as if there were no halt, with the nodes as they
 * are. */
void halt_let_through(void);
/* Whether the calling thread is in a call, or is the one that halts the others. */
bool halt_is_exempt(void);
/* Ends all waiting for halts, as the process ends. */
void halt_end(void);
void halt_after_fork(void);

#endif
