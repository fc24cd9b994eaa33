/*
 * Descriptors of the session in a program that may close them: closefrom() and the loops of daemons close whatever the
 * program does not know, and dup2() takes numbers. The store is a thread with a table of descriptors of its own. What
 * it holds stays open, and it gives new copies of it; a number is looked at before it is used, for it may have become
 * the program's.
 */
#ifndef VOCL_TRANSPORT_ALIVE_FD_STORE_H
#define VOCL_TRANSPORT_ALIVE_FD_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct fd_store;

/* A descriptor that is looked at before it is used: a socket or a pipe, for others have no inode of their own. */
struct stored_fd {
    atomic_int fd;
    struct fd_store *store; /* that has a copy, or NULL */
    unsigned slot;
    dev_t device;
    ino_t inode; /* 0: not looked at */
};

/* Starts one. It first calls run(argument), if there is one; what that opens is in the store's table, too, and threads
 * that it starts live there, as do the descriptors that it needs, under their numbers. NULL where the system does not
 * have it; run() has not been called then. */
struct fd_store *fd_store_start(void (*run)(void *argument), void *argument, const int *needs, unsigned count);
/* It closes what it holds, and ends. */
void fd_store_end(struct fd_store *store);
/* In the child of a fork, which has no store. */
void fd_store_forget(struct fd_store *store);
/* Whether the program has closed what is not its own. */
bool fd_store_was_needed(const struct fd_store *store);

/* From now on fd is stored, also by the store if that is not NULL, and perhaps under another number. */
void stored_hold(struct stored_fd *stored, struct fd_store *store, int fd);
/* fd is the store's alone from now on. False: it is still the caller's. */
bool fd_store_take(struct fd_store *store, int fd);
/* One that is nobody's in the program but the caller's own: not looked at. */
void stored_trust(struct stored_fd *stored, int fd);
/* The descriptor, another one if the program has closed it, or -1. */
int stored_fd(struct stored_fd *stored);
/* Close it as the next does, and the store's copy, too. */
void stored_release(struct stored_fd *stored);
/* Close it, unless its number has become the program's. */
void stored_close(struct stored_fd *stored);

#endif
