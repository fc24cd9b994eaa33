/*
 * Descriptors of the session in a program that may close them: closefrom() and the loops of daemons close every
 * descriptor that the program does not know, and dup2() takes over numbers. The store is a thread with a descriptor
 * table of its own. What it holds stays open, and it hands out new copies. A descriptor is checked before it is used,
 * since its number may have become the program's.
 */
#ifndef VOCL_TRANSPORT_ALIVE_FD_STORE_H
#define VOCL_TRANSPORT_ALIVE_FD_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/file_mark.h"

struct fd_store;

/* A descriptor that is checked before each use: a socket, a pipe or a memory file, since other kinds have no inode of
 * their own. */
struct stored_fd {
    atomic_int fd;
    struct fd_store *store; /* which has a copy, or NULL */
    unsigned slot;
    struct file_mark file; /* inode 0: not checked */
};

/* Starts a store. It first calls run(argument), if run is not NULL: descriptors that run() opens are in the store's
 * table, too; threads that it starts live there, and so do the `needs`, descriptors that it uses, under their numbers.
 * Returns NULL where the system does not support it; run() has not been called then. */
struct fd_store *fd_store_start(void (*run)(void *argument), void *argument, const int *needs, unsigned count);
/* Ends the store, which closes what it holds. */
void fd_store_end(struct fd_store *store);
/* For the child of a fork, where the store's thread does not exist. */
void fd_store_forget(struct fd_store *store);
/* Whether the program has closed descriptors that are not its own. */
bool fd_store_was_needed(const struct fd_store *store);

/* Stores fd, in the store as well if that is not NULL, and perhaps under another number. */
void stored_hold(struct stored_fd *stored, struct fd_store *store, int fd);
/* Gives fd to the store alone. False: it is still the caller's. */
bool fd_store_take(struct fd_store *store, int fd);
/* Stores a descriptor that no other code in the process closes: it is not checked. */
void stored_trust(struct stored_fd *stored, int fd);
/* Returns the descriptor, a new one if the program has closed it, or -1. */
int stored_fd(struct stored_fd *stored);
/* Closes the descriptor like stored_close(), and the store's copy, too. */
void stored_release(struct stored_fd *stored);
/* Closes the descriptor, unless its number has become the program's. */
void stored_close(struct stored_fd *stored);

#endif
