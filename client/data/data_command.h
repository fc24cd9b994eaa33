/* Commands that move data between the program's memory and a node. */
#ifndef VOCL_CLIENT_DATA_DATA_COMMAND_H
#define VOCL_CLIENT_DATA_DATA_COMMAND_H

#include "client/core/layout.h"
#include "client/data/coherence.h"
#include "client/data/enqueue.h"

/* What such a command does; its place in a queue is in struct enqueue. */
struct data_command {
    cl_command_type type;
    bool writes;          /* to the node, not from it */
    cl_bool blocking;     /* until the program's memory has been read, or filled */
    struct part part;     /* of an object or at an address, on the node */
    struct layout layout; /* in the program's memory */
    void *owned;          /* of a write: memory to free when the data have left it, or cannot; or NULL */
};

/* Returns the layout, in the program's memory, of the part of a buffer whose memory begins at place (direct.c). */
struct layout data_command_there(const struct data_command *m, const uint8_t *place);
/* Does all that reads, writes, maps and unmaps of every kind have in common: contents that have to be there first; the
 * data, in the command or note, in bulk, or in memory that the node has, too; the wait of a blocking command; the
 * event. Ends e. */
int enqueue_transfer(struct enqueue *e, const struct data_command *m, cl_event *event);

#endif
