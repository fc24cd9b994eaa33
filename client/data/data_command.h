/* Commands that move data between the program's memory and a node. */
#ifndef VOCL_CLIENT_DATA_DATA_COMMAND_H
#define VOCL_CLIENT_DATA_DATA_COMMAND_H

#include "client/core/layout.h"
#include "client/data/coherence.h"
#include "client/data/enqueue.h"

/* What such a command does, beside its place in a queue. */
struct data_command {
    cl_command_type type;
    bool writes;          /* to the node */
    cl_bool blocking;     /* until the program's memory has been read, or filled */
    struct part part;     /* of an object, or at an address: on the node */
    struct layout layout; /* in the program's memory */
    void *owned;          /* of a write: memory that is freed when the data have left it, or cannot; NULL */
};

/* Where a part of a buffer is whose memory is here, at that place (direct.c). */
struct layout data_command_there(const struct data_command *m, const uint8_t *place);
/* All that reads, writes, maps and unmaps of every kind have in common: contents that have to be there first, the data
 * in the command or note, in bulk, or in memory that the node has, too, the wait of a blocking one, the event. Ends e,
 * which was opened for it. */
int enqueue_transfer(struct enqueue *e, const struct data_command *m, cl_event *event);

#endif
