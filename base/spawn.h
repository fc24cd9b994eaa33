/* Starting programs. */
#ifndef VOCL_BASE_SPAWN_H
#define VOCL_BASE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct spawn {
    char *const *arguments;   /* the first is found as execvp() does */
    char *const *environment; /* NULL: that of this process */
    const int *descriptors;   /* the child's descriptors 0, 1, ...; -1: /dev/null */
    unsigned count;           /* of descriptors; the child gets no others. 0: it inherits those of this process */
    int signal;               /* that ends it when this process ends, or 0 */
    bool group, session;      /* it gets a process group, or a session, of its own */
    bool fresh; /* all signals have their default actions, as in a session of its own; else only SIGPIPE */
    bool apart; /* it is not a child of this process, which need not wait for it */
};

/* Starts a program. Returns its PID (0 if apart), or a negative errno. If the program cannot be executed, the child
 * says so on its standard error and exits with status 127. */
pid_t spawn(const struct spawn *how);
/* Becomes the program, in a child that the caller has forked. */
void spawn_become(const struct spawn *how) __attribute__((noreturn));
/* In a child: starts a session of its own, with signals as programs expect them. */
void spawn_detach(void);
/* In a child: takes these descriptors, and no others. On false it may have some of them. */
bool spawn_take_descriptors(const int *descriptors, unsigned count);
/* Waits until the process has ended. Returns its exit status, or 128 plus the signal that has ended it. */
int spawn_wait(pid_t pid);

#endif
