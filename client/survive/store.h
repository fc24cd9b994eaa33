/* Contents of memory objects, kept at the application's host. */
#ifndef VOCL_CLIENT_SURVIVE_STORE_H
#define VOCL_CLIENT_SURVIVE_STORE_H

#include "client/core/handle.h"
#include "client/survive/ahead.h"

struct store;
struct move;

/* What is kept of a whole: from start to end of a buffer, or 0 to 1 of an image, as so many bytes from `at` on; or of
 * shared virtual memory what is at an address. */
struct stored {
    cl_mem memory;    /* which may have gone since; number says which it was */
    uint8_t *address; /* instead; number is its context's */
    uint32_t number;
    size_t start, end, at, bytes;
    bool planned;      /* it is part of what is to be taken, or was */
    bool here;         /* it was taken, and has not been written since */
    struct node *node; /* that it is taken from; NULL: from what it shares with the program */
};

/* In memory, or, if a directory is named, in a file there that has no name. NULL: no memory. */
struct store *store_new(const char *directory);
void store_free(struct store *store);

/* What has been planned so far is not any more; what of it is planned again, and was taken, is not taken again unless
 * it was written since (WRITTEN_STORE). */
void store_plan_begin(struct store *store);
/*
 * What a node has of these objects is to be taken: all contents of the memory objects among them that somebody may have
 * written, and that are not in the program's own memory; what another node has as well once. Nothing is under way, and
 * no calls come (pause_begin()), or what is taken is not of one moment. 0 or -ENOMEM.
 */
int store_plan(struct store *store, const struct node *node, struct object *const *objects, unsigned count);
/* The same for shared virtual memory of the node's (svm_remote.c), which is given back where it was. -ENOTSUP: of a
 * context that is no more. */
int store_plan_svm(struct store *store, const struct node *node);
/* The same for what of a buffer program and nodes share (memory->arena). */
int store_plan_shared(struct store *store, cl_mem memory);
/* Takes it: the objects are as they were then. If that fails there is nothing in the store. 0, or a negative errno
 * value with the reason: -ENOSPC no room in the directory, -ENOMEM none in memory, -ECONNRESET a node was lost, -EIO a
 * device did not give it. */
int store_take(struct store *store, char *reason, size_t size);
/*
 * What a node had of these objects is given to a member, at which they were made again: what was taken from any node,
 * for what this one has by what the session knows now. 0, or a negative errno value with the reason.
 */
int store_give(struct store *store, const struct node *node, struct node *member, struct object *const *objects,
               unsigned count, char *reason, size_t size);

/* Whether a piece of it was planned before store_plan_begin(). */
bool store_has(const struct store *store, const struct _cl_mem *memory);
/* There is nothing in it. */
void store_drop(struct store *store);

/* How many bytes are still to be taken of what is planned, and all that is. */
size_t store_missing(const struct store *store);
size_t store_bytes(const struct store *store);
/* What is planned, the next from *at on, which is 0 at first; NULL: no more. */
const struct stored *store_piece(const struct store *store, unsigned *at);
/* The bytes of all of it, or NULL if the file cannot be mapped; and they are not looked at for a while. */
uint8_t *store_open(struct store *store);
void store_close(struct store *store);

/* ---- store_ahead.c ---- */
/* What the session's objects hold at the nodes is read ahead (copy_ahead()), or, if shared, also in memory that these
 * share with the program. */
struct store_ahead {
    struct store *store;
    struct session *session;
    bool shared;
    bool began;
    unsigned losses; /* of workers, as it began */
    struct held held;
    int error;
};
struct ahead store_ahead(struct store_ahead *s);
/* In the pause, before it is planned what is taken: whether what was read is still what nodes hold. */
void store_ahead_end(struct store_ahead *s);

#endif
