/*
 * Numbered faults, for tests. VOCL_FAULT=POINT:K:WHO:FILE kills a process at the K-th step of a kind;
 * VOCL_FAULT=count:FILE writes each step to a file, one a line: "WHO POINT PID". Without the setting a step costs one
 * branch. The steps that are failing calls of libc are in tests/session/faults.c.
 *
 *     frame-sent, frame-taken   the K-th frame of the member with the number WHO, 0 for the program: that member ends
 *     phase                     the K-th phase of moves, suspensions and checkpoints; WHO ends: 0 the program, 1 the
 *                               node's worker, 2 the worker that it moves to
 *
 * The process that the fault strikes creates FILE first: so the fault strikes only once, and a test sees whether it
 * did.
 */
#ifndef VOCL_BASE_FAULT_H
#define VOCL_BASE_FAULT_H

#include <stdbool.h>
#include <sys/types.h>

enum fault_point { FAULT_FRAME_SENT, FAULT_FRAME_TAKEN, FAULT_PHASE };

extern bool fault_wanted;

/* Reads the setting. member: which member of the session this process is. */
void fault_begin(unsigned member);

/* Counts a step of this process, which may end here. */
void fault_reach(enum fault_point point);
static inline void fault_step(enum fault_point point)
{
    if (__builtin_expect(fault_wanted, false))
        fault_reach(point);
}

/* Counts the begin of a phase. worker, target: PIDs of the node's worker and of the target, or 0. If a process is
 * killed, it has ended when this returns. */
void fault_reach_phase(pid_t worker, pid_t target);

#endif
