/* What others have to be asked for, who may not answer. */
#ifndef VOCL_PROXY_DAEMON_NET_QUESTION_H
#define VOCL_PROXY_DAEMON_NET_QUESTION_H

#include <stddef.h>
#include <sys/types.h>

#include "proxy/daemon/daemon.h"

/* Who a user is to this node: the first members are asked for. */
struct user {
    char name[64]; /* or "" */
    uid_t uid;
    gid_t gid;
    bool by_name; /* UID and GID are not known */
    /* and what is found */
    bool known, allowed, admin; /* allowed: to use the node */
    char here[64], home[256];
};

/* ---- question.c ---- */
enum question_kind { QUESTION_PROOF, QUESTION_HOST, QUESTION_USER, QUESTION_CHECK };
struct question;
/* Calls find() in another process, with a copy of the bytes, and then answered() here with what has become of them, or
 * with NULL: there is no answer in time. It does so from the event loop. Who asks with the same bytes shares the
 * answer. NULL: nobody can be asked. */
struct question *question_ask(struct daemon *d, enum question_kind kind,
                              void (*find)(const struct daemon *d, void *bytes), const void *bytes, size_t size,
                              void (*answered)(void *argument, void *bytes), void *argument);
/* Nobody wants the answer any more. May be NULL. */
void question_drop(struct question *q);
/* There is another configuration. */
void questions_renew(void);

/* ---- user.c ---- */
/* As question_ask(): answered() has a struct user, or NULL. What is between the members has to be 0, too. */
struct question *user_ask(struct daemon *d, const struct user *user, void (*answered)(void *argument, void *user),
                          void *argument);
/* Whether the user of that name has that UID here, too, and may have devices. */
bool user_may_have_devices(const struct daemon *d, const struct user *user, char *why, size_t why_size);

#endif
