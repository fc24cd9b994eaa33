/* What each process has for itself, though it is a fork's child. */
#ifndef VOCL_CLIENT_CORE_PER_PROCESS_H
#define VOCL_CLIENT_CORE_PER_PROCESS_H

/*
 * A static variable of this kind is in the child of a fork as it was when the program began: the parent's session, and
 * the threads that held a lock, are not there. Any that is not is to be set right by hand, or stays as it is for a
 * reason: tests/per_process.sh has the list. Not for what belongs to a thread.
 */
#define PER_PROCESS __attribute__((section("per_process")))

/* In the child. */
void per_process_after_fork(void);

#endif
