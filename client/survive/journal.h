/*
 * What a node was told, for another worker to be told it again if this one is lost (recover.c).
 *
 *   base     the commands that make what there was at the last snapshot, without contents
 *   saved    contents as they were then
 *   log      the commands since, as they were sent, and in between what became known of them
 *   kept     bulk data that went beside the log
 *
 * All of it under the session's lock.
 */
#ifndef VOCL_CLIENT_SURVIVE_JOURNAL_H
#define VOCL_CLIENT_SURVIVE_JOURNAL_H

#include "client/core/objects.h"

/* Between the commands of the log, as commands of these numbers, which are never sent: that an event was complete, or
 * the data of a read were there, was known when what follows was sent. The field is the event, or the tag. And which
 * turn what follows is, among those of all nodes: a u64. JOURNAL_UNSAID was a command that has come to nothing. */
enum { JOURNAL_EVENT = 0x7f00, JOURNAL_DATA = 0x7f01, JOURNAL_TURN = 0x7f02, JOURNAL_UNSAID = 0x7f03 };

struct keep;

/* Contents as they were: here, or with workers (keep.h); or neither. */
struct copy {
    uint8_t *bytes;
    struct keep *kept;
};

/* Contents of a memory object. */
struct saved {
    struct saved *after;
    uint32_t memory;
    struct wire_region whole; /* WIRE_PIECE or WIRE_IMAGE */
    struct copy now;          /* as at the last snapshot, if it has had any */
    struct copy next;         /* for the one that is being taken, if they are there already */
    bool stale;               /* written since they were read, though the object says no more so */
    bool waits;               /* the memory is here: counts when the node has gone to where it is not */
};

/* The same of shared virtual memory (svm_saved.c), always here. */
struct svm_contents;
struct svm_saved {
    struct svm_saved *next;
    uint64_t number; /* svm_remote.c's */
    uint8_t *memory;
    struct svm_contents *contents, *next_contents;
    bool alive;
};

#define JOURNAL_LISTS 256
#define JOURNAL_LONGEST ((size_t)32 << 20) /* bytes of the log: numbers of events do not come again so soon */

struct kept;
struct image;

struct journal {
    struct node *node;
    struct wire_buffer base, log;
    struct saved *saved[JOURNAL_LISTS];   /* by memory */
    struct svm_saved *svm[JOURNAL_LISTS]; /* by number */
    struct kept *kept[JOURNAL_LISTS];     /* by tag */
    size_t kept_bytes, limit;
    long since;          /* when the first command of the log was sent; 0: there is none */
    bool full, off;      /* off: it could not be used any more, nothing is kept */
    bool once;           /* some of the contents are with one worker only (keep.h) */
    uint64_t printed[2]; /* bytes that kernels have printed since the snapshot, on stdout and stderr */
    uint64_t skip[2];    /* of these are to come again */
    unsigned giving;     /* bulk operations under way that use what is kept */
    unsigned losses;     /* since the snapshot */
    size_t early;        /* bytes that were read for the next one while the program went on */
    bool told;           /* something, while the session started */
    bool lost;           /* while it is replaced: it has no worker, or the new one is lost, too */
    bool displaced;      /* a new one could not have memory where the lost one had it */
    unsigned was;        /* the lost one, */
    int process;         /* and its process, if it was of this host */
    /* window.c */
    size_t over;                 /* so much of the log is over, and what it did is in memory that is here */
    atomic_uint_fast64_t window; /* the number of what is since then; the same while a command is being enqueued */
    struct image *images;        /* contents that were here when it began */
    size_t imaged;               /* bytes of them */
    unsigned apart;              /* memory objects and allocations whose contents are the worker's */
    atomic_uint inside;          /* commands that are being enqueued */
    atomic_bool renewing;        /* somebody looks whether there are any, to begin a window */
    unsigned looking;            /* the program uses memory that is here */
    const char *exposed;         /* why nothing could be done again just now, or NULL */
    char host[256];              /* that the lost one was on */
    struct node *wanted;         /* the spare worker that is to be the next, or NULL */
    unsigned mover;              /* the target of a move, or 0: what is sent there is not kept */
    struct replay *replay;
    struct node_set met; /* with which it has had to do since the snapshot */
    bool met_any;
};

/* ---- journal.c ---- */
struct journal *journal_new(struct node *node, size_t limit);
/* Everything is given back, and nothing is kept from now on. */
void journal_off(struct journal *j);
/* These bytes, whole commands, have gone to the node. */
void journal_sent(struct node *node, const void *bytes, size_t length);
/* Its worker has no such object any more: not told, for another one it is who never had it. */
void journal_forget(struct node *node, uint32_t kind, uint32_t id);
/* Commands without those that have to do with the target of a move, and those that are never told again. */
void journal_leave_out(const struct journal *j, struct wire_buffer *commands);
/* Data that go beside a command. */
void journal_data(struct node *node, uint32_t tag, const void *bytes, size_t length);
const uint8_t *journal_find_data(const struct journal *j, uint32_t tag, size_t *length);
/* What follows is of a turn of its own. */
void journal_end_turn(const struct journal *j);
/* number: JOURNAL_EVENT or JOURNAL_DATA. */
void journal_known(struct journal *j, uint16_t number, uint32_t what);
/* A call of that number has come to nothing, and is not made again. */
void journal_unsay(struct journal *j, uint32_t call);
/* Why what was sent cannot be told to another worker, or NULL. */
const char *journal_bound(const struct journal *j);
/* All that was sent is over, contents were saved: the log becomes base. 0 or -ENOMEM: all is as it was. */
int journal_compact(struct journal *j);
struct saved *journal_find_saved(const struct journal *j, uint32_t memory);
bool copy_is_there(const struct copy *copy);
void copy_drop(struct copy *copy);
/* With journal_compact() instead of what was saved of that object, if anything; takes the copy. waits: see there. */
bool journal_save(struct journal *j, uint32_t memory, const struct wire_region *whole, const struct copy *copy,
                  bool waits);
/* The node is where memory is not that was here; or it is not: what was saved of that is not needed. */
void journal_unshare(struct journal *j);
void journal_drop_waiting(struct journal *j);
/* There will be no journal_compact(). */
void journal_drop_next(struct journal *j);
/* Bulk data that were kept are not needed any more. */
void journal_drop_data(struct journal *j);

/* Nodes that have had to do with each other since their last snapshot: contents went from one to the other, or one
 * waits for an event of the other. None of these is told again without the others. */
struct group {
    struct node **nodes; /* the first is the one that was asked for */
    unsigned count;
};

/* They have to do with each other from here on. */
void group_meet(struct node *one, struct node *other);
/* All that have to do with that one; 0 or -ENOMEM. */
int group_find(struct node *node, struct group *out);
void group_free(struct group *group);
/* Why not all of them can be told again, or NULL. */
const char *group_bound(const struct group *group);

/* ---- svm_saved.c: contents of shared virtual memory ---- */
/* What was written since it was saved last, each held, and the marks taken; *bytes has so many more. NULL: there is no
 * memory. Who has it lets go of them, and frees it. */
struct svm_place *svm_saved_find(struct node *node, unsigned *count, size_t *bytes);
/* One of these is read for the next snapshot: 0, and *bytes has so many more, or an error. */
int svm_saved_take(struct node *node, const struct svm_place *place, size_t *bytes);
/* What was read for the next snapshot counts from now on, and what has been freed is forgotten. 0 or -ENOMEM. */
int svm_saved_renew(struct journal *j);
/* There will be no such snapshot: it is to be read again. */
void svm_saved_drop_next(struct journal *j);
void svm_saved_free(struct journal *j);
/* The next part of what was saved there, *at being 0 at first; NULL: there is no more. */
const uint8_t *svm_saved_next(const struct svm_saved *saved, unsigned *at, uint64_t *address, size_t *size);

/* ---- window.c ---- */
/* All that was sent is over, and the log is kept from here on. */
void window_begin(struct journal *j);
/* Memory that is here is as it was then. */
void window_restore(const struct journal *j);
void window_free(struct journal *j);

#endif
