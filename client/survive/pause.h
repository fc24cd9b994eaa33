/* What a session is paused for: a move, a suspension, a checkpoint, a snapshot. The program goes on, then its calls
 * wait for a while. */
#ifndef VOCL_CLIENT_SURVIVE_PAUSE_H
#define VOCL_CLIENT_SURVIVE_PAUSE_H

#include "client/survive/ends.h"

#define PATIENCE_NS 10000000000 /* for what was enqueued, or is being released */

struct move_watch;

struct pause {
    struct session *session;
    struct node *node, *other; /* whose members have to stay; other: the target of a move, or NULL */
    unsigned from;             /* the node's member as it began; 0: it may be another by now */
    char *reason;              /* why it came to nothing */
    size_t reason_size;
    struct ends ends;
    bool gated;               /* what does not end may wait for a user event */
    struct move_watch *watch; /* or NULL */
    const char *phase;
    uint64_t bytes;           /* that have been copied */
    long began, halted, told; /* when; halted: 0 if it is not yet */
};

/* One at a time halts the calls. */
void pause_lock(void);
void pause_unlock(void);
/* No call is half-way: true, and none begins until halt_set(HALT_NONE). */
bool pause_calls(struct pause *p);
/* Nothing that was enqueued is under way, and nothing is enqueued until halt_set(HALT_NONE). 0, or a negative errno
 * value and why. */
int pause_begin(struct pause *p);
/* What is not over, or NULL. Under the lock. */
const char *pause_missing(const struct pause *p);
/* Whether one of these members is lost, also if the node has another by now. */
bool pause_is_broken(const struct pause *p);
/* Whether the program ends. */
bool program_ends(struct session *session);

/* What begins now; VOCL_MOVE_HOLD may hold it. */
void pause_phase(struct pause *p, const char *name);
/* So many bytes more have been copied: who watches is told now and then. */
void pause_copied(struct pause *p, size_t bytes);
/* The result is error, and that is why. */
int pause_refuse(struct pause *p, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
