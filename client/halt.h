/* Calls that send to nodes, and a halt between them: while a node moves (move.c) none is half-way. */
#ifndef VOCL_CLIENT_HALT_H
#define VOCL_CLIENT_HALT_H

#include <stdbool.h>

/* A call begins that makes objects, or enqueues: it waits while there is a halt. May be nested. Not under a lock. */
void halt_enter(void);
/* It has sent what it had to send. */
void halt_leave(void);

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
/* The same for a call that no node is needed for: it waits while nodes are changed, but not while they rest. */
void halt_enter_quietly(void);
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
    HALT_REST /* until somebody needs a node: halt_wanted() */
};
/* False: this system cannot halt threads. The calling thread itself is never halted. */
bool halt_can(void);
void halt_set(enum halt halt);
/* Whether a call is under way. */
bool halt_any_inside(void);
/* Sleeps until a call waits for the end of HALT_REST; false: the process ends. */
bool halt_wait_wanted(void);
/* A call that is no guarded one needs a node. */
void halt_want(void);
/* HALT_REST again, but who waits now goes on as if there were no halt, and finds the nodes as they are. */
void halt_let_through(void);
/* How often that was. */
unsigned halt_times_through(void);
/* Whether this thread is in a call, or is the one that halts the others. */
bool halt_is_exempt(void);
/* The process ends: nobody waits any more. */
void halt_end(void);
void halt_after_fork(void);

#endif
