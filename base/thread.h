/* Threads of the library in a program that is not ours. */
#ifndef VOCL_BASE_THREAD_H
#define VOCL_BASE_THREAD_H

#include <pthread.h>

/* A thread with all signals blocked: the application's signals are for its own threads. 0 or an errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
