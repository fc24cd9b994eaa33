/* The session: its nodes, its lock, and which thread receives what the nodes send. */
#ifndef VOCL_CLIENT_CORE_SESSION_H
#define VOCL_CLIENT_CORE_SESSION_H

#include "client/core/objects.h"
#include "client/core/transfers.h"

struct session;

/* What the session needs of the API on top of it. */
struct front_end {
    const void *dispatch;
    const struct kind *const *kinds;
    /* Called when the nodes of a new session can be asked. Returns what session_view() will return; NULL: no
     * session. */
    void *(*open)(struct session *session);
    /* Whether the target, a spare node, has all devices of the node as the program knows them. Returns 0, -EXDEV with
     * the reason and target->unfit, or why the target could not be asked. */
    int (*fits)(const struct node *node, struct node *target, char *reason, size_t size);
    /* Called in the child of a fork: threads that it does not have may hold locks. */
    void (*after_fork)(void);
};

/* Spares: members that the program does not see, and that nodes may move to. From 0 on; a peer of 0: it has no member
 * any more. */
unsigned session_spare_count(const struct session *session);
struct node *session_spare(struct session *session, unsigned index);
/* Makes a spare of a member that has come, and returns its node, or NULL if there is no room. session_drop_spare()
 * removes a spare, as session_dismiss() does. */
struct node *session_add_spare(struct session *session, unsigned peer);
void session_drop_spare(struct session *session, struct node *spare);
/* Drops a spare that did not fit in the place for which it came. Returns whether one with other devices may come for
 * it. */
bool session_refuse_spare(struct session *session, struct node *spare, const char *place);
/* Dismisses the member of a node, which is suspended until session_swap() gives it another. Under the lock. */
void session_suspend(struct node *node);
/* Dismisses the member of a node; it belongs to no node from then on. Under the lock, which is released while another
 * member is joining. */
void session_dismiss(struct node *node);
/* Exchanges the members of two nodes. The second one has a member, the first one may have none. anew: if the first one
 * shared no memory with the program, it may do so now. Under the lock. */
void session_swap(struct node *one, struct node *other, bool anew);
/* Replaces the node's worker, which is lost, by that of the spare, which has none from then on. Under the lock. */
void session_replace(struct node *node, struct node *spare);
/* Ends all that is under way on a node whose worker is lost. Under the lock. */
void session_lose(struct node *node);
const struct front_end *session_front(const struct session *session);
void *session_view(const struct session *session);
/* The session's nodes, from 0 on. With VOCL_LOCAL the last one is in this process. */
unsigned session_node_count(const struct session *session);
struct node *session_node(struct session *session, unsigned index);
/* What waits for answers of nodes. Under the lock, except last_tag. */
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
/* Waits until ready(argument). Under the lock, which is released while waiting. */
void session_wait(struct session *session, bool (*ready)(void *), void *argument);
/* Sleeps a moment, before looking again at a state whose changes are not announced. Not under the lock. */
void session_look_later(void);
/* Handles what nodes have sent so far, unless another thread is about to do that. */
void session_listen(struct session *session);
/* Whether the calling thread is handling what nodes have sent: it must not wait for them. */
bool session_polls(void);
/* Makes the session's own thread drive the transport if no other thread does. Under the lock. */
void session_need_progress(struct session *session);
/* Sleeps on a condition of the lock, without driving the transport. Returns false if the session is ended by the
 * calling thread. */
bool session_wait_on(struct session *session, pthread_cond_t *condition);
/* Notes that the calling thread ends the process. Natively other threads run until the process is gone: here a
 * call of theirs that needs a node does not return, and so gets no error. */
void session_exit_begin(void);
/* Waits for ever if another thread ends the process. Not under the session's lock. */
void session_exit_wait(void);
/* Whether the session was ended by the calling thread, or in the parent of a fork. Does not return if another thread
 * ends it. Under the lock. */
bool session_is_over(struct session *session);
struct mutex *session_mutex(struct session *session);
bool session_stops(const struct session *session);
/* Wakes waiting threads: a condition has changed without a message from a node. Under the lock. */
void session_news(struct session *session);
struct transport *session_transport(struct session *session);

/* The status of a command whose node is lost. */
#define NODE_LOST_STATUS CL_DEVICE_NOT_AVAILABLE

/* ---- local.c: devices of this process ---- */
/* Makes devices of this process a member of the session. */
bool local_open(struct session *session, struct transport *transport);

#endif
