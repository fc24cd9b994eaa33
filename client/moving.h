/* What the files of a move share: move.c, quiesce.c, make_again.c, copy_over.c. */
#ifndef VOCL_CLIENT_MOVING_H
#define VOCL_CLIENT_MOVING_H

#include "client/client.h"

#define PATIENCE_NS 10000000000 /* for what was enqueued, or is being released */
#define LOOK_NS 100000
#define QUICK_NS 100000000 /* that calls wait for others before the pause */

/* What was enqueued in a queue so far ends with this. */
struct end {
    cl_command_queue queue;
    cl_event event;
    uint64_t number;
};

struct made {
    uint32_t kind, id, state;
    bool gone; /* is to be made anew, or is no more */
};

struct move {
    struct session *session;
    struct node *node, *target;
    char *reason;
    size_t reason_size;
    struct object **objects; /* in the order in which they are made; each is used */
    unsigned count, room, failed;
    struct made *early; /* made at the target while the program went on, in the order of making */
    unsigned early_count;
    struct end *ends;
    unsigned end_count, end_room;
    uint64_t bytes, bytes_paused;
    unsigned rounds;
    long began, halted; /* when; halted: 0 if it is not yet */
};

/* What begins now; VOCL_MOVE_HOLD may hold it. */
void move_phase(const struct move *m, const char *name);
/* The result is error, and that is why. */
int move_refuse(struct move *m, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- quiesce.c ---- */
void move_look_later(void);
/* Whether the program ends. */
bool move_ended(struct session *session);
/* No call is half-way: true, and none begins until halt_set(HALT_NONE). */
bool quiesce_calls(struct move *m, long until);
/* Nothing that was enqueued is under way, and nothing is enqueued until halt_set(HALT_NONE). */
int quiesce(struct move *m);
/* A marker behind what is in each queue; whether all are reached; after that, or without. */
void ends_put(struct move *m);
bool ends_reached(const struct move *m);
void ends_drop(struct move *m);
/* What is not over, or NULL. Under the lock. */
const char *quiesce_missing(const struct move *m);

/* ---- make_again.c ---- */
/* Contexts and memory objects, to begin with the contents; while calls are halted. */
int make_early(struct move *m);
/* And programs, which take long to build; after that, while the program goes on. */
int make_programs_early(struct move *m);
/* All that the program has now; while nothing is under way. */
int make_all(struct move *m);
/* Whether it was made by make_early(). */
bool made_early(const struct move *m, const struct object *object);
/* The program's again. */
void make_drop(struct move *m);

/* ---- summon.c: who is asked from outside ---- */
void summon_start(struct session *session);
/* A worker comes to that host, or "here", and is spare; 0, or a negative errno value and why. */
int summon_worker(struct session *session, const char *where, struct node **out, char *why, size_t size);

/* ---- copy_over.c ---- */
/* While the program goes on: until what it writes meanwhile is little, or gets no less. */
int copy_early(struct move *m);
/* What is not there yet. */
int copy_all(struct move *m);

#endif
