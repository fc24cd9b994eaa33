/* Look-ups in services that may not answer. */
#ifndef VOCL_PROXY_DAEMON_NET_QUESTION_H
#define VOCL_PROXY_DAEMON_NET_QUESTION_H

#include <stddef.h>
#include <sys/types.h>

#include "proxy/daemon/daemon.h"

/* A user, as this node knows it: the first members are the question. */
struct user {
    char name[64]; /* or "" */
    uid_t uid;
    gid_t gid;
    bool by_name; /* the UID and GID are not known */
    /* and these the answer */
    bool known, allowed, admin; /* allowed: may use the node */
    char here[64], home[256];
    unsigned limit; /* of the configuration */
};

/* ---- question.c ---- */
enum question_kind { QUESTION_PROOF, QUESTION_HOST, QUESTION_USER, QUESTION_CHECK };
struct question;
/* Calls find() in another process, with a copy of the bytes, and then, from the event loop, answered() in this one with
 * the bytes that find() has changed, or with NULL if there is no answer in time. Questions with the same bytes share
 * the answer. Returns NULL if the question cannot be asked. */
struct question *question_ask(struct daemon *d, enum question_kind kind,
                              void (*find)(const struct daemon *d, void *bytes), const void *bytes, size_t size,
                              void (*answered)(void *argument, void *bytes), void *argument);
/* The answer is no longer wanted. q may be NULL. */
void question_drop(struct question *q);
/* The configuration has changed. */
void questions_renew(void);

/* ---- user.c ---- */
/* As question_ask(): answered() gets a struct user, or NULL. The padding of *user has to be 0, too. */
struct question *user_ask(struct daemon *d, const struct user *user, void (*answered)(void *argument, void *user),
                          void *argument);
/* Whether the user of that name has the same UID here, and may have devices. If not, the reason is in why. */
bool user_may_have_devices(const struct daemon *d, const struct user *user, char *why, size_t why_size);

#endif
