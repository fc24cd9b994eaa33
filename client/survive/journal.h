/*
 * The journal of a node: what its worker was sent, to be replayed to another worker if this one is lost (recover.c).
 *
 *   base     the commands that create what existed at the last snapshot, without contents
 *   saved    contents at that snapshot
 *   log      the commands since, as they were sent, interleaved with notes of what became known about them
 *   kept     bulk data that were sent beside the log
 *
 * The session's lock guards all of it.
 */
#ifndef VOCL_CLIENT_SURVIVE_JOURNAL_H
#define VOCL_CLIENT_SURVIVE_JOURNAL_H

#include "client/core/objects.h"

/* Notes between the commands of the log, in the form of commands with these numbers, which are never sent.
 * JOURNAL_EVENT, JOURNAL_DATA: what follows was sent after an event was known to be complete, or the data of a read had
 * arrived; the field is the event, or the tag. JOURNAL_TURN: the position of what follows in the order of all nodes'
 * logs, a u64. JOURNAL_UNSAID replaces the number of a command that has failed. */
enum { JOURNAL_EVENT = 0x7f00, JOURNAL_DATA = 0x7f01, JOURNAL_TURN = 0x7f02, JOURNAL_UNSAID = 0x7f03 };

struct replicas;

/* A saved copy of contents: at the program's host (bytes), with workers (kept, see replicas.h), or neither. */
struct copy {
    uint8_t *bytes;
    struct replicas *kept;
};

/* Saved contents of a memory object. */
struct saved {
    struct saved *after;
    uint32_t memory;
    struct wire_region whole; /* WIRE_PIECE or WIRE_IMAGE */
    struct copy now;          /* at the last snapshot, if the object had contents */
    struct copy next;         /* for the snapshot being taken, if already read */
    bool stale;               /* written since they were read, although the object's mark is cleared */
    bool waits;               /* of shared memory: the copy counts once the node has moved away from it */
};

/* Saved contents of an SVM allocation (svm_saved.c), always at the program's host. */
struct svm_contents;
struct svm_saved {
    struct svm_saved *next;
    uint64_t number; /* from svm_remote.c */
    uint8_t *memory;
    struct svm_contents *contents, *next_contents;
    bool alive;
};

#define JOURNAL_LISTS 256
#define JOURNAL_LONGEST ((size_t)32 << 20) /* bytes of the log, within which event numbers do not repeat */

struct kept;
struct undo_copy;

struct journal {
    struct node *node;
    struct wire_buffer base, log;
    struct saved *saved[JOURNAL_LISTS];   /* by memory */
    struct svm_saved *svm[JOURNAL_LISTS]; /* by number */
    struct kept *kept[JOURNAL_LISTS];     /* by tag */
    size_t kept_bytes, limit;
    long since;          /* when (ns) the first command of the log was sent; 0: the log is empty */
    bool full, off;      /* off: the journal is unusable, and records nothing any more */
    bool once;           /* some of the contents have only one replica (replicas.h) */
    uint64_t printed[2]; /* bytes that kernels have printed since the snapshot, on stdout and stderr */
    uint64_t skip[2];    /* of those, bytes that the replay has yet to print again, and that are dropped */
    unsigned giving;     /* bulk transfers under way that read what is kept */
    unsigned losses;     /* since the snapshot */
    size_t early;        /* bytes read ahead for the next snapshot */
    bool told;           /* the worker has replied while the session started: its devices are known */
    bool lost;           /* during a failover: the node has no worker, or the new one is lost, too */
    bool displaced;      /* a new worker could not allocate SVM at the lost one's addresses */
    unsigned was;        /* number of the lost worker */
    int process;         /* its PID, if it ran on this host */
    /* epoch.c */
    size_t over;                   /* bytes of the log that have ended, with their effects in shared memory */
    atomic_uint_fast64_t epoch;    /* number of the epoch since then; constant during an enqueue */
    struct undo_copy *undo_copies; /* shared memory as it was when the epoch began */
    size_t undo_bytes;             /* of the undo copies */
    unsigned apart;                /* memory objects and SVM allocations whose contents only the worker has */
    atomic_uint inside;            /* calls that are enqueuing a command */
    atomic_bool renewing;          /* a thread checks whether there are any, to begin an epoch */
    unsigned looking;              /* accesses of the program to shared memory, under way */
    const char *exposed;           /* why a replay would be wrong just now, or NULL */
    char host[256];                /* where the lost worker was */
    struct node *wanted;           /* the spare worker that takes the lost one's place, or NULL */
    unsigned mover;                /* the target of a move, or 0: commands that name it are not recorded */
    struct replay *replay;
    struct node_set met; /* nodes that this one has interacted with since the snapshot */
    bool met_any;
};

/* ---- journal.c ---- */
struct journal *journal_new(struct node *node, size_t limit);
/* Frees everything, and records nothing from now on. */
void journal_off(struct journal *j);
/* Records bytes, whole commands, that were sent to the node. */
void journal_sent(struct node *node, const void *bytes, size_t length);
/* Records the release of an object that the worker was not sent: the next worker is not to have the object. */
void journal_forget(struct node *node, uint32_t kind, uint32_t id);
/* Removes from the commands those that name the target of a move, and those that are never replayed. */
void journal_leave_out(const struct journal *j, struct wire_buffer *commands);
/* Records bulk data that are sent beside a command. */
void journal_data(struct node *node, uint32_t tag, const void *bytes, size_t length);
const uint8_t *journal_find_data(const struct journal *j, uint32_t tag, size_t *length);
/* Makes the next record begin a new turn. */
void journal_end_turn(const struct journal *j);
/* Records that an event was complete, or data arrived. number: JOURNAL_EVENT or JOURNAL_DATA. */
void journal_known(struct journal *j, uint16_t number, uint32_t what);
/* Removes the call of that number, which has failed, from what is replayed. */
void journal_unsay(struct journal *j, uint32_t call);
/* Returns why the journal cannot be replayed to another worker, or NULL. */
const char *journal_bound(const struct journal *j);
/* Compacts the log into base, when all that was sent has ended and contents were saved. Returns 0, or -ENOMEM with
 * nothing changed. */
int journal_compact(struct journal *j);
struct saved *journal_find_saved(const struct journal *j, uint32_t memory);
bool copy_is_there(const struct copy *copy);
void copy_drop(struct copy *copy);
/* Saves a copy, which it takes over unless it returns false. The copy replaces the object's last one at the next
 * journal_compact(). waits: as in struct saved. */
bool journal_save(struct journal *j, uint32_t memory, const struct wire_region *whole, const struct copy *copy,
                  bool waits);
/* The node has moved away from memory that it shared with the program: copies that waited for this count. Or it has
 * not: drops them. */
void journal_unshare(struct journal *j);
void journal_drop_waiting(struct journal *j);
/* Drops what was saved for the next snapshot, which will not be taken. */
void journal_drop_next(struct journal *j);
/* Frees the recorded bulk data. */
void journal_drop_data(struct journal *j);

/* Nodes that have interacted since their last snapshot: contents went from one to the other, or one waits for an event
 * of the other. They are replayed together or not at all. */
struct group {
    struct node **nodes; /* the first is the one passed to group_find() */
    unsigned count;
};

/* Records that two nodes interact from here on. */
void group_meet(struct node *one, struct node *other);
/* Finds all nodes that have interacted with one, directly or by way of others. Returns 0 or -ENOMEM. */
int group_find(struct node *node, struct group *out);
void group_free(struct group *group);
/* Returns why the group cannot be replayed, or NULL. */
const char *group_bound(const struct group *group);

/* ---- svm_saved.c: contents of shared virtual memory ---- */
/* Returns the allocations written since they were last saved, each held and with its mark cleared, and adds their size
 * to *bytes. The caller unholds them and frees the list. Returns NULL if memory is exhausted. */
struct svm_place *svm_saved_find(struct node *node, unsigned *count, size_t *bytes);
/* Reads one of them for the next snapshot. Returns 0 and adds its size to *bytes, or returns an error. */
int svm_saved_take(struct node *node, const struct svm_place *place, size_t *bytes);
/* Makes what was read for the next snapshot current, and forgets freed allocations. Returns 0 or -ENOMEM. */
int svm_saved_renew(struct journal *j);
/* Drops what was read for a snapshot that will not be taken, and marks it to be read again. */
void svm_saved_drop_next(struct journal *j);
void svm_saved_free(struct journal *j);
/* Returns the next saved part, or NULL after the last. *at is 0 at first. */
const uint8_t *svm_saved_next(const struct svm_saved *saved, unsigned *at, uint64_t *address, size_t *size);

/* ---- epoch.c ---- */
/* Begins an epoch, when all that was sent has ended: the log counts from here on. */
void epoch_begin(struct journal *j);
/* Restores shared memory from the undo copies of the epoch. */
void epoch_restore(const struct journal *j);
void epoch_free(struct journal *j);

#endif
