/* Shared by the files of a move: move.c, recreate.c, copy_over.c, svm_move.c, unshare.c. */
#ifndef VOCL_CLIENT_SURVIVE_MOVING_H
#define VOCL_CLIENT_SURVIVE_MOVING_H

#include "client/survive/ahead.h"
#include "client/survive/move.h"
#include "client/survive/pause.h"

struct made {
    uint32_t kind, id, state;
    bool gone; /* to be recreated, or released */
};

/* An SVM allocation that exists at the target. copied: with its contents, as far as they were not written since. */
struct svm_there {
    uint64_t number;
    uint8_t *memory;
    bool copied, gone;
};

/* An object that native OpenCL failed to create, and the error. */
struct outcome {
    uint32_t kind, id;
    int error;
};

/* The move of a node to another member, or only the collection of its objects. A suspended session has one for each of
 * its nodes. */
struct move {
    struct pause *pause;
    struct node *node, *target;
    struct object **objects; /* in the order of creation; each is held */
    unsigned count, room, failed;
    struct made *early; /* created at the target while the program ran, by kind and number */
    unsigned early_count;
    bool is_early; /* the program runs */
    struct svm_there *svm;
    unsigned svm_count;
    struct outcome *failed_here; /* of a suspended node: what native OpenCL refused there */
    unsigned failed_here_count;
    bool unshares; /* the target cannot have the memory that the program shares with its worker */
    struct unshared *unshared;
    unsigned unshared_count;
};

/* Whether nothing is under way, and no object is being released. Lock held. */
bool move_is_settled(const struct move *m);
/* Swaps the members of node and target. Lock held. */
void move_members(struct move *m);

/* ---- recreate.c ---- */
/* Creates contexts and memory objects at the target, so that copying can begin. Calls are halted. */
int make_early(struct move *m);
/* Then creates and builds programs, which takes long, while the program runs. */
int make_programs_early(struct move *m);
/* Creates all else that the program has now. Nothing is under way. */
int make_all(struct move *m);
/* Collects all objects that the program has on the node, checks that they can be recreated, and notes which of them
 * native OpenCL refused. Creates nothing. Nothing is under way. */
int make_list(struct move *m);
/* Whether the object was created by make_early() or make_programs_early(). */
bool made_early(const struct move *m, const struct object *object);
/* Releases the objects collected. */
void make_drop(struct move *m);

/* ---- summon.c: requests from outside ---- */
void summon_start(struct session *session);
/* Serializes the requests that change members. */
void summon_lock(void);
void summon_unlock(void);
/* Starts a worker on that host, or on this one for "here", as a spare one. Returns 0, or a negative errno with the
 * reason. */
int summon_worker(struct session *session, const char *where, struct node **out, char *why, size_t size);
/* Finds a spare worker there, or starts one: *came. Returns 0, or a negative errno with the reason. */
int summon_spare(struct session *session, const char *where, struct node **spare, bool *came, char *why, size_t size);
void summon_drop(struct session *session, struct node *spare);
/* Moves the node to a worker there. any: also to another kind of device. watch: the observer, or NULL. Returns 0, or a
 * negative errno with the reason. */
int summon_move(struct node *node, const char *where, bool any, struct move_watch *watch, char *why, size_t size);

/* Returns an observer that reports to whoever has sent that request. */
struct move_watch summon_watch(struct answer *answer);

/* ---- suspend.c ---- */
/* Saves the session's contents at this host and ends its workers. watch: the observer, or NULL. Returns 0, or a
 * negative errno with the reason. */
int suspend_begin(struct session *session, struct move_watch *watch, char *reason, size_t size);
/* Resumes the session. Returns 0 also if it is not suspended. */
int suspend_end(struct session *session, struct move_watch *watch, char *reason, size_t size);
bool suspend_is_on(void);
/* Waits until no suspension or resumption is under way. Returns 0 if the session is not suspended then, else a negative
 * errno with the reason. Called without any lock. */
int suspend_settle(char *reason, size_t size);
/* Starts the thread of VOCL_SUSPEND_EVERY. */
void suspend_start(struct session *session);

/* ---- svm_move.c ---- */
/* SVM of which the node has its own copy: svm_ahead() copies contents while the program runs; in the pause svm_make()
 * allocates it at the target, and svm_copy() copies what is missing. */
struct svm_ahead {
    struct move *move;
    struct svm_place *list; /* allocations to copy, each held */
    unsigned count;
};
struct ahead svm_ahead(struct svm_ahead *s);
int svm_make(struct move *m);
int svm_copy(struct move *m);

/* ---- unshare.c: moves to where the memory that the program shares with its worker is not available ---- */
/* Whether the target cannot share that memory, as far as is known yet. */
bool unshare_begin(struct move *m);
/* Whether the move is possible nevertheless. Returns 0, or a negative errno with the reason. */
int unshare_check(struct move *m);
/* Whether the object is a buffer in that memory, whose contents are copied from worker to worker. */
bool unshare_goes(const struct move *m, const struct object *object);
/* Returns why the object's contents in that memory cannot be moved, or NULL. */
const char *unshare_bound(const struct move *m, const struct object *object);
/* In the pause, when all objects exist at the target: sends the contents that come from the program's host. */
int unshare_contents(struct move *m);
/* After the node's change of members: unshare_told(), with the lock held, adapts the journal; unshare_change(), while
 * calls still wait, the buffers. */
void unshare_told(struct move *m);
void unshare_change(struct move *m);
/* Frees the shared memory, when the old worker has forgotten everything, or the node has not changed. */
void unshare_end(struct move *m);

/* ---- copy_over.c ---- */
/* Copies the contents of objects created at the target, while the program runs. */
struct objects_ahead {
    struct move *move;
    unsigned *list; /* indices in move->early of objects to copy */
    unsigned count;
};
struct ahead objects_ahead(struct objects_ahead *o);
/* Copies what is still missing; copy_missing() returns how many bytes that is. */
int copy_all(struct move *m);
size_t copy_missing(const struct move *m);
/* Whether it is a memory object with contents of its own, not held in the program's memory. */
bool has_contents(const struct object *object);

#endif
