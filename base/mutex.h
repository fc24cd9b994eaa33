/* A mutex with a rank. In a release build it is only libc's mutex. */
#ifndef VOCL_BASE_MUTEX_H
#define VOCL_BASE_MUTEX_H

#include <pthread.h>

#include "base/rank.h"

struct mutex {
    pthread_mutex_t mutex;
    struct rank rank;
};

/* The initializer of a static mutex. */
#define MUTEX(number)                                                                                                  \
    {                                                                                                                  \
        PTHREAD_MUTEX_INITIALIZER, RANK(number)                                                                        \
    }
/* Initializes the mutex of an object, or any mutex in the child of a fork, whatever threads of the parent held it. */
#define mutex_init(mutex, number) mutex_init_as(mutex, NULL, (struct rank)RANK(number))
/* The same for a mutex that its holder may take again. */
#define mutex_init_recursive(mutex, number) mutex_init_again(mutex, (struct rank)RANK_AGAIN(number))

static inline void mutex_init_as(struct mutex *mutex, const pthread_mutexattr_t *attributes, struct rank rank)
{
    rank_forget(&mutex->rank);
    pthread_mutex_init(&mutex->mutex, attributes);
    mutex->rank = rank;
}

static inline void mutex_init_again(struct mutex *mutex, struct rank rank)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    mutex_init_as(mutex, &attributes, rank);
}

static inline void mutex_destroy(struct mutex *mutex)
{
    pthread_mutex_destroy(&mutex->mutex);
}

static inline void mutex_lock(struct mutex *mutex)
{
    rank_take(&mutex->rank);
    pthread_mutex_lock(&mutex->mutex);
}

static inline void mutex_unlock(struct mutex *mutex)
{
    rank_release(&mutex->rank);
    pthread_mutex_unlock(&mutex->mutex);
}

static inline void mutex_wait(pthread_cond_t *condition, struct mutex *mutex)
{
    rank_wait(&mutex->rank);
    pthread_cond_wait(condition, &mutex->mutex);
}

/* Returns 0 or ETIMEDOUT. */
static inline int mutex_wait_until(pthread_cond_t *condition, struct mutex *mutex, const struct timespec *until)
{
    rank_wait(&mutex->rank);
    return pthread_cond_timedwait(condition, &mutex->mutex, until);
}

#endif
