/* What the files of a replay share: replay.c, replay_contents.c, replay_over.c. */
#ifndef VOCL_CLIENT_SURVIVE_REPLAYING_H
#define VOCL_CLIENT_SURVIVE_REPLAYING_H

#include "client/survive/journal.h"

struct fence { /* a read that is not done again: when it would have been over */
    struct fence *next;
    uint32_t event, tag;
};

struct replay {
    struct journal *j;
    struct node *node;
    struct replaying *all;
    size_t at;     /* of the log: what is told next */
    uint64_t turn; /* whose turn that is */
    struct wire_buffer out;
    uint32_t *done; /* events that were heard to be over, by slot */
    uint32_t room;
    uint32_t wanted, answered; /* an event, and the last call */
    struct fence *fences, *unused;
    uint32_t last_fence;             /* events that the log cannot know, above all slots that there were */
    uint8_t last[WIRE_MAX_REPEATED]; /* launch of those that are over */
    size_t last_length;
    bool refused; /* memory where it was */
    bool failed;
};

/* Nodes that are told all together, in the order in which it was told. */
struct replaying {
    struct replay *each;
    unsigned count;
};

#define REPLAY_FRAME (48u << 10)

/* ---- replay.c ---- */
/* What several nodes are told is of no use without one of them. */
bool replay_has_failed(const struct replay *r);
/* What was put is sent. */
void replay_flush(struct replay *r);
/* Bulk data, which stay where they are. */
void replay_give(struct replay *r, uint32_t tag, const uint8_t *bytes, size_t length);
/* One command of what the node was told. */
void replay_tell(struct replay *r, uint16_t number, struct wire_cursor fields);

/* ---- replay_contents.c ---- */
void replay_restore(struct replay *r);

/* ---- replay_over.c ---- */
/* The same of what is over for good. */
void replay_tell_over(struct replay *r, uint16_t number, struct wire_cursor fields);

#endif
