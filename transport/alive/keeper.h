/*
 * Descriptors of the session in a program that may close them: closefrom() and the loops of daemons close whatever the
 * program does not know, and dup2() takes numbers. The keeper is a thread with a table of descriptors of its own. What
 * it holds stays open, and it gives new copies of it; a number is looked at before it is used, for it may have become
 * the program's.
 */
#ifndef VOCL_TRANSPORT_ALIVE_KEEPER_H
#define VOCL_TRANSPORT_ALIVE_KEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct keeper;

/* A descriptor that is looked at before it is used: a socket or a pipe, for others have no inode of their own. */
struct kept {
    atomic_int fd;
    struct keeper *keeper; /* that has a copy, or NULL */
    unsigned slot;
    dev_t device;
    ino_t inode; /* 0: not looked at */
};

/* Starts one. It first calls run(argument), if there is one; what that opens is in the keeper's table, too, and threads
 * that it starts live there, as do the descriptors that it needs, under their numbers. NULL where the system does not
 * have it; run() has not been called then. */
struct keeper *keeper_start(void (*run)(void *argument), void *argument, const int *needs, unsigned count);
/* It closes what it holds, and ends. */
void keeper_end(struct keeper *keeper);
/* In the child of a fork, which has no keeper. */
void keeper_forget(struct keeper *keeper);
/* Whether the program has closed what is not its own. */
bool keeper_was_needed(const struct keeper *keeper);

/* From now on fd is kept, also by the keeper if that is not NULL, and perhaps under another number. */
void kept_hold(struct kept *kept, struct keeper *keeper, int fd);
/* fd is the keeper's alone from now on. False: it is still the caller's. */
bool keeper_take(struct keeper *keeper, int fd);
/* One that is nobody's in the program but the caller's own: not looked at. */
void kept_trust(struct kept *kept, int fd);
/* The descriptor, another one if the program has closed it, or -1. */
int kept_fd(struct kept *kept);
/* Close it as the next does, and the keeper's copy, too. */
void kept_release(struct kept *kept);
/* Close it, unless its number has become the program's. */
void kept_close(struct kept *kept);

#endif
