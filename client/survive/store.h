/* Contents of memory objects, saved at the application's host. */
#ifndef VOCL_CLIENT_SURVIVE_STORE_H
#define VOCL_CLIENT_SURVIVE_STORE_H

#include "client/core/handle.h"
#include "client/survive/ahead.h"

struct store;
struct move;
struct pause;

/* A saved piece of a root memory object: from start to end of a buffer, or 0 to 1 of an image, as `bytes` bytes from
 * `at` on; or, instead, SVM contents at an address. */
struct stored {
    cl_mem memory;    /* may be released since; number identifies it */
    uint8_t *address; /* of SVM; number is then that of its context */
    uint32_t number;
    size_t start, end, at, bytes;
    bool planned;      /* it is part of what is to be taken, or has been */
    bool here;         /* it was taken, and not written since */
    struct node *node; /* it is taken from; NULL: from memory shared with the program */
};

/* Creates a store in memory or, if a directory is named, in an unnamed file there. Returns NULL if memory is
 * exhausted. What is taken and given is reported to the pause (pause_copied()). */
struct store *store_new(const char *directory, struct pause *pause);
void store_free(struct store *store);

/* Begins a new plan. What is planned again and was taken already is not taken again unless it was written since
 * (WRITTEN_STORE). */
void store_plan_begin(struct store *store);
/*
 * Plans to take a node's contents of these objects: of the memory objects among them, all that may have been written
 * and is not in the program's own memory; what several nodes have, once. Nothing is under way and no call comes
 * (pause_begin()), or what is taken is not of one moment. Returns 0 or -ENOMEM.
 */
int store_plan(struct store *store, const struct node *node, struct object *const *objects, unsigned count);
/* The same for SVM of the node (svm_remote.c), which is later restored to the same addresses. Returns -ENOTSUP if its
 * context has been released. */
int store_plan_svm(struct store *store, const struct node *node);
/* The same for a buffer in memory that program and nodes share (memory->arena). */
int store_plan_shared(struct store *store, cl_mem memory);
/* Takes what is planned. On failure the store is empty. Returns 0, or a negative errno with the reason: -ENOSPC no room
 * in the directory, -ENOMEM no memory, -ECONNRESET a node was lost, -EIO a device refused. */
int store_take(struct store *store, char *reason, size_t size);
/*
 * Gives contents of these objects to a member, at which they have been recreated: those that the node has by what the
 * session now knows, whichever node they were taken from. Returns 0, or a negative errno with the reason.
 */
int store_give(struct store *store, const struct node *node, struct node *member, struct object *const *objects,
               unsigned count, char *reason, size_t size);

/* Whether a piece of the object was planned before store_plan_begin(). */
bool store_has(const struct store *store, const struct _cl_mem *memory);
/* Empties the store. */
void store_drop(struct store *store);

/* Return how many bytes of the plan are still to be taken; how many it has; and how much room they take. */
size_t store_missing(const struct store *store);
size_t store_contents(const struct store *store);
size_t store_bytes(const struct store *store);
/* Returns the next planned piece from *at on, which is 0 at first, or NULL after the last. */
const struct stored *store_piece(const struct store *store, unsigned *at);
/* Returns the bytes of the store, or NULL if the file cannot be mapped. After store_close() they are not
 * needed for a while, and no more contents come. */
uint8_t *store_open(struct store *store);
void store_close(struct store *store);

/* ---- store_ahead.c ---- */
/* Reads the contents that nodes have of the session's objects ahead (copy_ahead()); if shared is set, also those in
 * memory that nodes share with the program. */
struct store_ahead {
    struct store *store;
    struct session *session;
    bool shared;
    bool began;
    unsigned losses; /* of workers, at the start */
    struct held held;
    int error;
};
struct ahead store_ahead(struct store_ahead *s);
/* Called in the pause, before planning: empties the store if what was read may not be what nodes hold. */
void store_ahead_end(struct store_ahead *s);

#endif
