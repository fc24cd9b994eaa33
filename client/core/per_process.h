/* Variables that each process has for itself, also the child of a fork. */
#ifndef VOCL_CLIENT_CORE_PER_PROCESS_H
#define VOCL_CLIENT_CORE_PER_PROCESS_H

/*
 * In the child of a fork a static variable of this kind has the value that it had when the program began: the child has
 * neither the parent's session nor the threads that may have held a lock. Any other static variable is set right by
 * hand, or keeps its value for a reason: tests/per_process.sh has the list. Not for thread-local variables.
 */
#define PER_PROCESS __attribute__((section("per_process")))

/* Resets these variables. To be called in the child. */
void per_process_after_fork(void);

#endif
