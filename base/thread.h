/* Threads of the library in a program that is not ours. */
#ifndef VOCL_BASE_THREAD_H
#define VOCL_BASE_THREAD_H

#include <pthread.h>

/* A thread with all signals blocked: the application's signals are for its own threads. 0 or an errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* Calls that at the end of this thread: of that which calls exit(), before what atexit() was given. As
 * pthread_key_create()'s destructors, once. Keys are numbered by each libc of the process and kept in one place: MPI,
 * which may have a libc of its own, would take ours for its own. Takes the loader's lock. 0, or it will not be called.
 */
int thread_at_end(void (*function)(void *), void *argument);

#endif
