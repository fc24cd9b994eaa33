/* See thread.h. */
#include <signal.h>

#include "base/thread.h"

extern int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

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

int thread_at_end(void (*function)(void *), void *argument)
{
    return __cxa_thread_atexit_impl(function, argument, &__dso_handle);
}
