/* Other processes of this host, as /proc has them. */
#ifndef VOCL_BASE_PROCESS_H
#define VOCL_BASE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* 'R', 'S', 'T', 'Z', and so on, or '\0': there is none. */
char process_state(pid_t pid);
/* Whether it has ended, even if its parent has yet to take notice. */
bool process_gone(pid_t pid);
/* The time that processors have worked for it so far, in milliseconds; with_children: and for those of its children
 * that it has waited for, and theirs. 0: there is no such process. */
long process_worked_ms(pid_t pid, bool with_children);
/* When it started, in clock ticks since the host's start: with its number this names a process for good. 0: there is
 * none. */
unsigned long process_start_time(pid_t pid);
/* 0: it has none that is seen here, or there is no such process. */
pid_t process_parent(pid_t pid);
/* This process ends by that signal when its parent does, or at once where that has ended already. parent: as it knew
 * itself when it forked. A change of user takes that back. */
void process_end_with(pid_t parent, int signal);
/* fork(): a child that does so. */
pid_t process_fork(int signal);
/* A descriptor of it, readable when it has ended; negative with errno. libc has this since 2.36 only. */
int process_open(pid_t pid);
/* Whether all of it stands still: by a signal, or in a debugger. */
bool process_is_stopped(pid_t pid);

#endif
