/* Threads: see thread.h. */
#include <signal.h>

#include "base/thread.h"

int thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}
