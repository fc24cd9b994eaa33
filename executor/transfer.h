/* What transfer.c, ring.c, migrate_in.c and migrate_out.c share. */
#ifndef VOCL_EXECUTOR_TRANSFER_H
#define VOCL_EXECUTOR_TRANSFER_H

#include "base/settings.h"
#include "executor/internal.h"

#define SLOTS SETTINGS_MOST_PIPELINE

struct slot {
    struct job job;
    struct arbitration move;
    bool asked;
    struct transfer *transfer;
    struct piece *piece; /* that bytes is of, or NULL */
    uint8_t *bytes;
    size_t offset, length;
    uint64_t began; /* the copy of it natively, for who traces it; or 0 */
};

struct transfer {
    struct job job;
    struct executor *x;
    struct side side;
    unsigned peer; /* 0: the application */
    uint32_t tag;
    unsigned ordinal;              /* of the device */
    cl_command_queue queue, spare; /* the command's own; one for pieces */
    struct staging *staging;       /* for a ring, or NULL */
    struct gate open;              /* until gate is open */
    cl_event gate, first;          /* first: from when on the object may be touched */
    cl_event last;                 /* waits for the gate: PoCL looks at it then, also if it has failed before */
    uint8_t *bytes;                /* the block, or the mapped memory */
    struct piece *piece;           /* that the block is, or NULL */
    bool mapped, reading, announced;
    cl_int error;
    /* ring */
    struct slot slots[SLOTS];
    size_t offset, finished; /* bytes begun, bytes done with */
    /* a transfer ends when all that it waits for has come: the data, its native command */
    struct job last_job;
    unsigned parts;
    /* between workers */
    uint32_t event_id;
    struct transfer *next;
    struct outgoing *outgoing;
    bool turned; /* its command's turn has come */
};

void transfer_free(struct transfer *t);
struct transfer *transfer_new(struct executor *x, cl_command_queue queue, const struct side *side, uint32_t tag,
                              bool reading);
void transfer_open_gate(struct transfer *t);
/* One of its parts is over. */
void transfer_part_over(struct transfer *t);
/* Its block is written natively, behind the wait list, when the gate opens. Two parts: that, and what opens the gate.
 */
cl_int transfer_into_block(struct command *c, struct transfer *t);
/* Map it in the command's place; reached runs when t->bytes is there, or has failed, and the gate unmaps it. */
cl_int transfer_through_map(struct command *c, struct transfer *t, cl_map_flags flags,
                            void (*reached)(struct executor *, struct job *));
/* The same in pieces; data moves when the command's turn has come. Either way, and if it fails. */
cl_int transfer_through_ring(struct command *c, struct transfer *t);
/* The command failed, but the application is sending: take it and throw it away. */
void transfer_discard(struct transfer *t);
/* A user event in the command's context, held by t->open. */
cl_event transfer_gate(struct command *c, struct transfer *t, cl_int *error);
/* The native command's event is needed here and, if asked for, by the application. begin: the event of the one that
 * came before, where a command is two native ones, or NULL. */
void transfer_share_event(struct command *c, cl_event event, cl_event begin);
/* Who reads is told that data comes, once. */
void transfer_say_ready(struct transfer *t);
/* And how it went, where no bulk data does. */
void transfer_say_result(struct transfer *t, const void *data, size_t length);
/* What has been read, or the error; ends the transfer. */
void transfer_give(struct transfer *t);
/* migrate_out.c: its end, if it is not bulk data. */
void migrate_out_say(struct executor *x, unsigned peer, uint32_t event_id, cl_int status, const void *data,
                     size_t length);
/* All at once: t's peer is told, and given the data. */
cl_int transfer_read_whole(struct command *c, struct transfer *t);

#endif
