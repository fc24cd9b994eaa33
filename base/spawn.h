/* Starting programs. */
#ifndef VOCL_BASE_SPAWN_H
#define VOCL_BASE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct spawn {
    char *const *arguments;   /* the first is found as execvp() does */
    char *const *environment; /* NULL: this process' own */
    const int *descriptors; /* each is the child's descriptor of that place in the list, or if it is -1 /dev/null is; */
    unsigned count;         /* it has no others. 0: what this process leaves it */
    int signal;             /* that ends it when this process ends, or 0 */
    bool group, session;    /* it has one of its own */
    bool fresh;             /* all signals do to it what they do by default, as in a session of its own; else
                                 SIGPIPE does */
    bool apart;             /* it is nobody's child, so there is nobody to wait for */
};

/* Its PID (0 if it is apart), or negative errno. If the program cannot be executed the child says so on its standard
 * error, and its status is 127. */
pid_t spawn(const struct spawn *how);
/* In a child that had to do something before. */
void spawn_become(const struct spawn *how) __attribute__((noreturn));
/* In a child: a session of its own, and signals as programs expect them. */
void spawn_detach(void);
/* In a child: it has these descriptors, and no others. False: it may have some of them. */
bool spawn_take_descriptors(const int *descriptors, unsigned count);
/* Waits until it has ended: its status, or 128 and the signal that has ended it. */
int spawn_wait(pid_t pid);

#endif
