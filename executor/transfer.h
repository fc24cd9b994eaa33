/* Declarations that transfer.c, ring.c, migrate_in.c and migrate_out.c share. */
#ifndef VOCL_EXECUTOR_TRANSFER_H
#define VOCL_EXECUTOR_TRANSFER_H

#include "base/settings.h"
#include "executor/internal.h"

#define SLOTS SETTINGS_MOST_PIPELINE

struct slot {
    struct job job;
    struct arbitration move;
    bool asked;
    bool read; /* its bytes are there, and have not been given yet */
    struct transfer *transfer;
    struct piece *piece; /* the piece that bytes belongs to, or NULL */
    uint8_t *bytes;
    size_t offset, length;
    uint64_t began; /* start of its native copy, for tracing; or 0 */
};

struct transfer {
    struct job job;
    struct executor *x;
    struct side side;
    unsigned peer; /* 0: the application */
    uint32_t tag;
    unsigned ordinal;              /* of the device */
    cl_command_queue queue, spare; /* the command's own queue; one for pieces */
    struct staging *staging;       /* for a ring, or NULL */
    struct gate open;              /* open while the event gate is not set */
    cl_event gate, first;          /* first: its end says when the object may be touched */
    cl_event last;                 /* waits for the gate, so that PoCL looks at the gate then, also if it has failed
                                    * before */
    uint8_t *bytes;                /* the block, or the mapped memory */
    struct piece *piece;           /* the piece that the block is, or NULL */
    bool mapped, reading, announced;
    cl_int error;
    /* of a ring */
    struct slot slots[SLOTS];
    size_t offset, given, finished; /* bytes started, bytes given to the reader, bytes finished */
    bool giving;
    /* a transfer ends when all its parts have: the data, its native command */
    struct job last_job;
    unsigned parts;
    /* of a transfer between workers */
    uint32_t event_id;
    struct transfer *next;
    struct outgoing *outgoing;
    bool turned; /* the native queue has reached the command */
};

void transfer_free(struct transfer *t);
struct transfer *transfer_new(struct executor *x, cl_command_queue queue, const struct side *side, uint32_t tag,
                              bool reading);
/* Returns or frees the block. The transfer no longer has the mapped memory, if it has any, which is the driver's. */
void transfer_block_free(struct transfer *t);
void transfer_open_gate(struct transfer *t);
/* One of the transfer's parts has ended. */
void transfer_part_over(struct transfer *t);
/* Writes the transfer's block natively, behind the wait list, when the gate opens. Two parts: the write, and what
 * opens the gate. */
cl_int transfer_into_block(struct command *c, struct transfer *t);
/* Maps the object in the command's place. reached runs when t->bytes is valid, or the map has failed; the gate
 * unmaps it. */
cl_int transfer_through_map(struct command *c, struct transfer *t, cl_map_flags flags,
                            void (*reached)(struct executor *, struct job *));
/* The same in pieces, for reads and writes. Data move when the queue has reached the command, and are discarded after a
 * failure. */
cl_int transfer_through_ring(struct command *c, struct transfer *t);
/* The command failed, but the application is sending the data: takes and discards them. */
void transfer_discard(struct transfer *t);
/* Creates a user event in the command's context, held by t->open. */
cl_event transfer_gate(struct command *c, struct transfer *t, cl_int *error);
/* The native command's event is used here and, if asked for, by the application. begin: the event of the first
 * native command if there are two, or NULL. */
void transfer_share_event(struct command *c, cl_event event, cl_event begin);
/* Tells the reader, once, that data are coming. */
void transfer_say_ready(struct transfer *t);
/* Tells the reader the result where no bulk data are sent. */
void transfer_say_result(struct transfer *t, const void *data, size_t length);
/* Sends the data that were read, or the error; ends the transfer. */
void transfer_give(struct transfer *t);
/* migrate_out.c: tells the other worker the result if it is not bulk data. */
void migrate_out_say(struct executor *x, unsigned peer, uint32_t event_id, cl_int status, const void *data,
                     size_t length);
/* Reads everything at once, tells t's peer, and gives it the data. */
cl_int transfer_read_whole(struct command *c, struct transfer *t);

#endif
