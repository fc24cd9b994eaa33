/*
 * MPI messages that have yet to leave, and such as nobody wants. In a header, as each library is compiled for one MPI
 * or the other, and calls it by its profiling names.
 */
#ifndef VOCL_GROUND_MESSAGES_H
#define VOCL_GROUND_MESSAGES_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* At the start of what is kept for a message until it has left. */
struct parting {
    struct parting *next;
    MPI_Request request;
    void (*left)(struct parting *parting); /* frees it, too */
};

struct partings {
    pthread_mutex_t lock;
    struct parting *first;
};

static inline void partings_open(struct partings *partings)
{
    pthread_mutex_init(&partings->lock, NULL);
    partings->first = NULL;
}

static inline void partings_close(struct partings *partings)
{
    pthread_mutex_destroy(&partings->lock);
}

static inline bool partings_none(struct partings *partings)
{
    bool none;

    pthread_mutex_lock(&partings->lock);
    none = !partings->first;
    pthread_mutex_unlock(&partings->lock);
    return none;
}

static inline void partings_add(struct partings *partings, struct parting *parting, void (*left)(struct parting *))
{
    parting->left = left;
    pthread_mutex_lock(&partings->lock);
    parting->next = partings->first;
    partings->first = parting;
    pthread_mutex_unlock(&partings->lock);
}

/* The number of messages that have left. */
static inline int partings_poll(struct partings *partings)
{
    int count = 0;

    pthread_mutex_lock(&partings->lock);
    for (struct parting **at = &partings->first; *at;) {
        struct parting *parting = *at;
        int done = 0;

        PMPI_Test(&parting->request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            at = &parting->next;
            continue;
        }
        *at = parting->next;
        count++;
        parting->left(parting);
    }
    pthread_mutex_unlock(&partings->lock);
    return count;
}

/* What does not fit what both sides know is received and forgotten. */
static inline void message_drop(MPI_Message *message, int bytes)
{
    void *nowhere = malloc((size_t)bytes + 1);

    if (nowhere)
        PMPI_Mrecv(nowhere, bytes, MPI_BYTE, message, MPI_STATUS_IGNORE);
    free(nowhere);
}

#endif
