/*
 * Faults by number, for tests: VOCL_FAULT=POINT:K:WHO:FILE has a process killed at the K-th step of a kind, and
 * VOCL_FAULT=count:FILE has each step written to a file, one a line: "WHO POINT PROCESS". Where nothing is asked for a
 * step costs one branch. The steps that are calls of libc, which fail, are tests/session/faults.c's.
 *
 *     frame-sent, frame-taken   WHO is the number of a member, 0 the program: at its own K-th frame it ends
 *     phase                     a phase of a move, a suspend or a checkpoint begins; WHO is 0 for the program, 1 for
 * the worker of the node, 2 for the worker that it moves to
 *
 * FILE is made by whom the fault strikes: it strikes once only, and a test sees whether it did.
 */
#ifndef VOCL_BASE_FAULT_H
#define VOCL_BASE_FAULT_H

#include <stdbool.h>
#include <sys/types.h>

enum fault_point { FAULT_FRAME_SENT, FAULT_FRAME_TAKEN, FAULT_PHASE };

extern bool fault_wanted;

/* Which member of the session this process is. */
void fault_begin(unsigned member);

/* A step of this process. */
void fault_reach(enum fault_point point);
static inline void fault_step(enum fault_point point)
{
    if (__builtin_expect(fault_wanted, false))
        fault_reach(point);
}

/* A phase begins; the processes of the node's worker and of the target, 0 where there is none. Who is killed is gone
 * when it returns. */
void fault_reach_phase(pid_t worker, pid_t target);

#endif
