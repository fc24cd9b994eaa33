/*
 * Threads of a worker that copy beside its loop (cross_memory.c): one copy at a time does not keep a fast link busy,
 * and meanwhile the loop can give its driver what has come. There is one for each processor that the worker may use,
 * except the loop's, but only a few; they start with the first data that are worth it. A program gets no such threads.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/thread.h"
#include "transport/stream/stream.h"

#define MOST 3

struct copiers {
    struct transport *t;
    pthread_mutex_t lock;
    pthread_cond_t given, copied;
    struct copies waiting, running, over;
    unsigned wait_count, thread_count;
    bool ends;
    pthread_t threads[MOST];
};

static void *copy_for_ever(void *argument)
{
    struct copiers *c = argument;
    struct copy *copy;
    bool first;

    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!c->ends && TAILQ_EMPTY(&c->waiting))
            pthread_cond_wait(&c->given, &c->lock);
        if (c->ends)
            break;
        copy = TAILQ_FIRST(&c->waiting);
        TAILQ_REMOVE(&c->waiting, copy, in);
        c->wait_count--;
        TAILQ_INSERT_TAIL(&c->running, copy, in);
        pthread_mutex_unlock(&c->lock);
        copy->failed = !cross_memory_copy(copy);
        pthread_mutex_lock(&c->lock);
        TAILQ_REMOVE(&c->running, copy, in);
        first = TAILQ_EMPTY(&c->over);
        TAILQ_INSERT_TAIL(&c->over, copy, in);
        pthread_cond_broadcast(&c->copied);
        if (first) /* otherwise the loop has been woken for those before */
            transport_wake(c->t);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static unsigned spare_processors(void)
{
    cpu_set_t mine;
    int count;

    if (sched_getaffinity(0, sizeof(mine), &mine))
        return 0;
    count = CPU_COUNT(&mine) - 1;
    return count > MOST ? MOST : (unsigned)count;
}

static struct copiers *copiers_new(struct transport *t)
{
    struct copiers *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->t = t;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->given, NULL);
    pthread_cond_init(&c->copied, NULL);
    TAILQ_INIT(&c->waiting);
    TAILQ_INIT(&c->running);
    TAILQ_INIT(&c->over);
    for (unsigned wanted = spare_processors(); c->thread_count < wanted; c->thread_count++) {
        if (thread_start(&c->threads[c->thread_count], copy_for_ever, c))
            break;
    }
    vocl_log(LOG_INFO, "%u threads copy beside the loop", c->thread_count);
    return c;
}

static void free_all(struct copies *list)
{
    struct copy *copy;

    while ((copy = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, copy, in);
        free(copy);
    }
}

void copiers_close(struct transport *t)
{
    struct copiers *c = t->copiers;

    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->ends = true;
    pthread_cond_broadcast(&c->given);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < c->thread_count; i++)
        pthread_join(c->threads[i], NULL);
    free_all(&c->waiting);
    free_all(&c->over);
    pthread_cond_destroy(&c->given);
    pthread_cond_destroy(&c->copied);
    pthread_mutex_destroy(&c->lock);
    free(c);
    t->copiers = NULL;
}

bool copiers_are_free(struct transport *t)
{
    struct copiers *c;
    bool are;

    if (t->client)
        return false;
    if (!t->copiers)
        t->copiers = copiers_new(t);
    c = t->copiers;
    if (!c || !c->thread_count)
        return false;
    pthread_mutex_lock(&c->lock);
    are = c->wait_count < c->thread_count;
    pthread_mutex_unlock(&c->lock);
    return are;
}

bool copiers_give(struct transport *t, const struct copy *what)
{
    struct copiers *c = t->copiers;
    struct copy *copy = malloc(sizeof(*copy));

    if (!copy)
        return false;
    *copy = *what;
    pthread_mutex_lock(&c->lock);
    TAILQ_INSERT_TAIL(&c->waiting, copy, in);
    c->wait_count++;
    pthread_cond_signal(&c->given);
    pthread_mutex_unlock(&c->lock);
    return true;
}

bool copiers_next(struct transport *t, struct copy *what)
{
    struct copiers *c = t->copiers;
    struct copy *copy;

    if (!c)
        return false;
    pthread_mutex_lock(&c->lock);
    copy = TAILQ_FIRST(&c->over);
    if (copy)
        TAILQ_REMOVE(&c->over, copy, in);
    pthread_mutex_unlock(&c->lock);
    if (copy)
        *what = *copy;
    free(copy);
    return copy;
}

static struct copy *find(struct copies *list, const struct bulk *bulk)
{
    struct copy *copy;

    TAILQ_FOREACH (copy, list, in) {
        if (copy->bulk == bulk)
            return copy;
    }
    return NULL;
}

static unsigned remove_of(struct copies *list, const struct bulk *bulk)
{
    struct copy *copy;
    unsigned count = 0;

    for (; (copy = find(list, bulk)); count++) {
        TAILQ_REMOVE(list, copy, in);
        free(copy);
    }
    return count;
}

void copiers_forget(struct transport *t, const struct bulk *bulk)
{
    struct copiers *c = t->copiers;

    pthread_mutex_lock(&c->lock);
    c->wait_count -= remove_of(&c->waiting, bulk);
    while (find(&c->running, bulk))
        pthread_cond_wait(&c->copied, &c->lock);
    remove_of(&c->over, bulk);
    pthread_mutex_unlock(&c->lock);
}
