/* Threads of the library in the application's process. */
#ifndef VOCL_BASE_THREAD_H
#define VOCL_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread with all signals blocked: the application's signals are for its own threads. Returns 0 or an
 * errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* Calls the function at the end of this thread; in the thread that calls exit(), before the functions of atexit(). Like
 * a destructor of pthread_key_create(), but once. Keys do not serve here: each libc of the process numbers them, but
 * they are stored in one place, so MPI, which may have a libc of its own, would take ours for its own. Takes the
 * loader's lock. Returns 0, or the function will not be called. */
int thread_at_end(void (*function)(void *), void *argument);

#endif
