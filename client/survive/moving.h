/* What the files of a move share: move.c, make_again.c, copy_over.c, svm_move.c, unshare.c. */
#ifndef VOCL_CLIENT_SURVIVE_MOVING_H
#define VOCL_CLIENT_SURVIVE_MOVING_H

#include "client/survive/ahead.h"
#include "client/survive/move.h"
#include "client/survive/pause.h"

struct made {
    uint32_t kind, id, state;
    bool gone; /* is to be made anew, or is no more */
};

/* Shared virtual memory that is at the target; copied: with what is in it, as far as that is not written since. */
struct svm_there {
    uint64_t number;
    uint8_t *memory;
    bool copied, gone;
};

/* An object that native OpenCL did not make, and why. */
struct outcome {
    uint32_t kind, id;
    int error;
};

/* A node that goes to another member, or whose objects are collected for that; of a suspended session each node is
 * one. */
struct move {
    struct pause *pause;
    struct node *node, *target;
    struct object **objects; /* in the order in which they are made; each is used */
    unsigned count, room, failed;
    struct made *early; /* made at the target while the program went on, in the order of making */
    unsigned early_count;
    bool is_early; /* the program goes on */
    struct svm_there *svm;
    unsigned svm_count;
    struct outcome *failed_here; /* of a node that is suspended: what native OpenCL refused there */
    unsigned failed_here_count;
    bool unshares; /* the target cannot have the memory that the program shares with its worker */
    struct unshared *unshared;
    unsigned unshared_count;
};

/* Whether nothing is under way, and nothing is being released. Under the lock. */
bool move_is_settled(const struct move *m);
/* The node has the target's member from now on, and the target its own. Under the lock. */
void move_members(struct move *m);

/* ---- make_again.c ---- */
/* Contexts and memory objects, to begin with the contents; while calls are halted. */
int make_early(struct move *m);
/* And programs, which take long to build; after that, while the program goes on. */
int make_programs_early(struct move *m);
/* All that the program has now; while nothing is under way. */
int make_all(struct move *m);
/* Collects all that the program has on the node, which can be made again, and what native OpenCL refused of it; nothing
 * is made. While nothing is under way. */
int make_list(struct move *m);
/* Whether it was made by make_early(). */
bool made_early(const struct move *m, const struct object *object);
/* The program's again. */
void make_drop(struct move *m);

/* ---- summon.c: who is asked from outside ---- */
void summon_start(struct session *session);
/* One request at a time has to do with members. */
void summon_lock(void);
void summon_unlock(void);
/* A worker comes to that host, or "here", and is spare; 0, or a negative errno value and why. */
int summon_worker(struct session *session, const char *where, struct node **out, char *why, size_t size);
/* A spare worker that is there, or one that comes: *came. 0, or a negative errno value and why. */
int summon_spare(struct session *session, const char *where, struct node **spare, bool *came, char *why, size_t size);
void summon_drop(struct session *session, struct node *spare);
/* The node goes to a worker there, any: also of another kind of device; 0, or a negative errno value and why. */
int summon_move(struct node *node, const char *where, bool any, char *why, size_t size);

/* ---- suspend.c ---- */
/* The session's workers go, and its contents are kept here; 0, or a negative errno value and why. */
int suspend_begin(struct session *session, char *reason, size_t size);
/* They come again. 0 also if they are there. */
int suspend_end(struct session *session, char *reason, size_t size);
bool suspend_is_on(void);
/* What is under way of a suspension is over, and the session is not suspended: 0; or a negative errno value and why.
 * Not under a lock: it waits. */
int suspend_settle(char *reason, size_t size);
/* VOCL_SUSPEND_EVERY. */
void suspend_start(struct session *session);

/* ---- svm_move.c ---- */
/* Shared virtual memory of which the node has its own: what is in it, while the program goes on; and in the pause, at
 * the target, and what is not there yet. */
struct svm_ahead {
    struct move *move;
    struct svm_place *list; /* what was found, each held */
    unsigned count;
};
struct ahead svm_ahead(struct svm_ahead *s);
int svm_make(struct move *m);
int svm_copy(struct move *m);

/* ---- unshare.c: to where the memory that the program shares with its worker is not to be had ---- */
/* Whether that is so, as far as it is known by now; and whether it can be done, or why not. */
bool unshare_begin(struct move *m);
int unshare_check(struct move *m);
/* Whether contents that are in that memory go from worker to worker, */
bool unshare_goes(const struct move *m, const struct object *object);
/* or why they cannot go, or NULL. */
const char *unshare_bound(const struct move *m, const struct object *object);
/* In the pause, when all is made at the target: what goes from here. */
int unshare_contents(struct move *m);
/* The node has changed, under the lock: what it was told is right for the new one; and the calls of the program still
 * wait. */
void unshare_told(struct move *m);
void unshare_change(struct move *m);
/* The old worker has forgotten all, or there was no change. */
void unshare_end(struct move *m);

/* ---- copy_over.c ---- */
/* What has been made at the target; while the program goes on. */
struct objects_ahead {
    struct move *move;
    unsigned *list; /* places in its early, of what was found */
    unsigned count;
};
struct ahead objects_ahead(struct objects_ahead *o);
/* What is not there yet. */
int copy_all(struct move *m);
/* Whether it is a memory object with contents of its own, which the program's memory does not hold. */
bool has_contents(const struct object *object);

#endif
