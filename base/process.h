/* Other processes of this host, mostly from /proc. */
#ifndef VOCL_BASE_PROCESS_H
#define VOCL_BASE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns 'R', 'S', 'T', 'Z' and so on, or '\0' if there is no such process. */
char process_state(pid_t pid);
/* Whether the process has ended, even if its parent has yet to reap it. */
bool process_gone(pid_t pid);
/* Returns the CPU time used so far, in milliseconds; with_children: also that of children that the process has waited
 * for, and of theirs. Returns 0 if there is no such process. */
long process_worked_ms(pid_t pid, bool with_children);
/* Returns when the process started, in clock ticks since the host's boot; PID and start time together identify a
 * process for good. Returns 0 if there is no such process. */
unsigned long process_start_time(pid_t pid);
/* Returns 0 if the parent is not visible here, or there is no such process. */
pid_t process_parent(pid_t pid);
/* Makes this process end by that signal when its parent ends; exits at once if the parent has ended already. parent:
 * the parent's PID, read by the parent before the fork. A change of user cancels this. */
void process_end_with(pid_t parent, int signal);
/* Like fork(), with a child that does so. */
pid_t process_fork(int signal);
/* Returns a descriptor that becomes readable when the process ends, or a negative value with errno set. libc has this
 * only since 2.36. */
int process_open(pid_t pid);
/* Like kill(), for the process that such a descriptor is of, and for no later one with its PID. */
int process_signal(int descriptor, int number);
/* Kills the process that has this PID and this start time. Returns 0, or -1 with errno set: ESRCH if it has ended. */
int process_kill(pid_t pid, unsigned long start_time);
/* Whether all threads of the process are stopped, by a signal or in a debugger. */
bool process_is_stopped(pid_t pid);

#endif
