/* Other processes of this host, as /proc has them. */
#ifndef VOCL_BASE_PROCESS_H
#define VOCL_BASE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* 'R', 'S', 'T', 'Z', and so on, or '\0': there is none. */
char process_state(pid_t pid);
/* Whether it has ended, even if its parent has yet to take notice. */
bool process_gone(pid_t pid);
/* The time that processors have worked for it so far, in milliseconds. */
long process_worked_ms(pid_t pid);
/* Whether all of it stands still: by a signal, or in a debugger. */
bool process_is_stopped(pid_t pid);

#endif
