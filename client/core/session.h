/* The session: the nodes, the lock, and who takes what the nodes say. */
#ifndef VOCL_CLIENT_CORE_SESSION_H
#define VOCL_CLIENT_CORE_SESSION_H

#include "client/core/objects.h"
#include "client/core/transfers.h"

struct session;

/* What the session needs from what stands on it. */
struct front_end {
    const void *dispatch;
    const struct kind *const *kinds;
    /* The nodes of a new session can be asked; what is made of their answers is session_view(). NULL: no session. */
    void *(*open)(struct session *session);
    /* Whether the target, a spare node, has all devices of the node as the program knows them: 0, or -EXDEV with the
     * reason and target->unfit, or why it could not be asked. */
    int (*fits)(const struct node *node, struct node *target, char *reason, size_t size);
    /* The process is the child of a fork: locks may be held by threads that it does not have. */
    void (*after_fork)(void);
};

/* Where nodes may move to: members beyond those that are shown, from 0 on; peer 0: there is none any more. */
unsigned session_spare_count(const struct session *session);
struct node *session_spare(struct session *session, unsigned index);
/* A member that has come is spare: its node, or NULL if there is no room; and one that goes: session_dismiss(). */
struct node *session_add_spare(struct session *session, unsigned peer);
void session_drop_spare(struct session *session, struct node *spare);
/* It goes so, as it did not fit in the place for which it has come; whether one with other devices may come there. */
bool session_refuse_spare(struct session *session, struct node *spare, const char *place);
/* The member behind a node goes; the node is suspended until session_swap() gives it another. Under the lock. */
void session_suspend(struct node *node);
/* The member behind a node goes, and is nobody's. Under the lock, which is released while another one is coming. */
void session_dismiss(struct node *node);
/* Two nodes change their members, of which the second one has one, if not the first. anew: that the first one's shared
 * no memory with the program need not stay so. Under the lock. */
void session_swap(struct node *one, struct node *other, bool anew);
/* The node's worker, which is lost, is the spare one's from now on, and there is none spare. Under the lock. */
void session_replace(struct node *node, struct node *spare);
/* The node's worker is lost, with all that is under way there. Under the lock. */
void session_lose(struct node *node);
const struct front_end *session_front(const struct session *session);
void *session_view(const struct session *session);
/* Its nodes, from 0 on; with VOCL_LOCAL the last one is in this process. */
unsigned session_node_count(const struct session *session);
struct node *session_node(struct session *session, unsigned index);
/* What waits for answers of nodes; under the lock, but for last_tag. */
struct under_way {
    struct call *calls;
    uint32_t last_call;
    struct transfers transfers;
    atomic_uint last_tag;
    uint8_t packed[WIRE_MAX_INLINE]; /* data of the command that is being encoded */
};
struct under_way *session_under_way(struct session *session);
void session_lock(struct session *session);
void session_unlock(struct session *session);
/* Wait, under the lock (let go while waiting), until ready(argument). */
void session_wait(struct session *session, bool (*ready)(void *), void *argument);
/* A moment, for what tells nobody that it has changed. Not under the lock. */
void session_look_later(void);
/* What nodes have said so far is taken, if nobody is about to do that. */
void session_listen(struct session *session);
/* Whether this thread is taking what nodes say: it must not wait for them. */
bool session_polls(void);
/* Something must go on without an application thread waiting for it. Under the lock. */
void session_need_progress(struct session *session);
/* Sleep on a condition that goes with the lock, without driving the transport. False: the session ends by this thread.
 */
bool session_wait_on(struct session *session, pthread_cond_t *condition);
/* The process exits, by the calling thread. Natively other threads go on until they are gone: here they stay in the
 * call that needs a node, and get no error. */
void session_exit_begin(void);
/* Returns only if no other thread ends the process. Not under the session's lock. */
void session_exit_wait(void);
/* Whether the session has ended, by this thread or in the parent of a fork; if another one ends it this does not
 * return. Under the lock. */
bool session_is_over(struct session *session);
struct mutex *session_mutex(struct session *session);
bool session_stops(const struct session *session);
/* A condition that threads wait for has changed without news from a node. Under the lock. */
void session_news(struct session *session);
struct transport *session_transport(struct session *session);

/* The status of a command whose node is lost. */
#define NODE_LOST_STATUS CL_DEVICE_NOT_AVAILABLE

/* ---- local.c: devices of this process ---- */
/* Devices of this process join the session. */
bool local_open(struct session *session, struct transport *transport);

#endif
