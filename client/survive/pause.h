/* The pause of a session for a move, a suspension, a checkpoint or a snapshot: at first the program runs, then its
 * calls wait for a while. */
#ifndef VOCL_CLIENT_SURVIVE_PAUSE_H
#define VOCL_CLIENT_SURVIVE_PAUSE_H

#include "client/survive/ends.h"

#define PATIENCE_NS 10000000000 /* ns to wait for enqueued commands and for releases */

struct move_watch;

struct pause {
    struct session *session;
    struct node *node, *other; /* whose members must not change; other: the target of a move, or NULL */
    unsigned from;             /* the node's member at the start; 0: it may have changed */
    char *reason;              /* why the pause failed */
    size_t reason_size;
    struct ends ends;
    bool gated;               /* unfinished commands may wait for a user event */
    struct move_watch *watch; /* or NULL */
    const char *phase;        /* the current one, or NULL */
    uint64_t bytes, total;    /* copied so far; how many there are, or 0 */
    uint64_t told_bytes;      /* the last that the observer got */
    long began, halted, told; /* times in ns; halted: 0 before calls are halted */
};

/* Only one thread at a time halts the calls. */
void pause_lock(void);
void pause_unlock(void);
/* Halts the calls: none is half-way, and none begins until halt_set(HALT_NONE). Returns false, without a halt, if a
 * call takes too long. */
bool pause_calls(struct pause *p);
/* Halts the calls and waits until all that was enqueued has ended; nothing more is enqueued until halt_set(HALT_NONE).
 * Returns 0, or a negative errno with the reason. */
int pause_begin(struct pause *p);
/* Returns what has not ended yet, or NULL. Lock held. */
const char *pause_missing(const struct pause *p);
/* Whether one of these members is lost, even if the node has another one by now. */
bool pause_is_broken(const struct pause *p);
/* Whether the program is ending. */
bool program_ends(struct session *session);

/* Notes that a phase begins. VOCL_MOVE_HOLD may make it wait here. */
void pause_phase(struct pause *p, const char *name);
/* The bytes that are copied from here on count from 0. */
void pause_count_anew(struct pause *p);
/* Notes that so many bytes more are to be copied in this phase. */
void pause_expect(struct pause *p, size_t bytes);
/* Adds to the bytes copied, and reports them to the observer now and then. */
void pause_copied(struct pause *p, size_t bytes);
/* Sets the reason, and returns error. */
int pause_refuse(struct pause *p, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
