/*
 * How the members of a session without MPI find each other: over TLS connections that only who has the session's secret
 * can make (tls.h). A worker comes to the application and gets its number; then each pair makes its connections, to
 * whichever of the two can be reached. A stranger who connects delays nobody: he has a moment and one of a few places.
 */
#ifndef VOCL_TRANSPORT_MEETING_H
#define VOCL_TRANSPORT_MEETING_H

#include "transport/start.h"
#include "transport/tls.h"

/* Load what is needed for it, before anything is started. ending(argument): the process ends. 0 or negative errno and
 * why. */
int meeting_prepare(const uint8_t *secret, void (*ending)(void *), void *argument, char *why, size_t why_size);
/* The application: the workers come to where it listens, until what starts them has something to say.
 * start->job->members is there for them. 0 or negative errno and why. */
int meeting_open(struct start *start);
/* A worker. */
int meeting_join(struct job *job, const char *endpoint, const uint8_t *secret, long until, void (*ending)(void *),
                 void *argument, char *why, size_t why_size);

#endif
