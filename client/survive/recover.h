/*
 * VOCL_RECOVER: a worker that is lost is replaced, and the program goes on. What the node was told since the last
 * snapshot is in its journal (journal.h); another worker takes the lost one's place, and is told it again (replay.c).
 */
#ifndef VOCL_CLIENT_SURVIVE_RECOVER_H
#define VOCL_CLIENT_SURVIVE_RECOVER_H

#include "client/core/objects.h"
#include "client/core/stream.h"
#include "client/survive/ahead.h"
#include "client/survive/journal.h"

struct journal;
struct enqueue;
struct move_watch;
struct savings;

/* ---- recover.c ---- */
/* A new session, before any of its nodes is told anything, or heard to be lost: their journals, if that is what the
 * settings say. */
void recover_open(struct session *session);
/* All its nodes have told their devices. */
void recover_start(struct session *session);
/* It ends. Under the lock. */
void recover_stop(void);
/* The node's worker is lost: true, and it is being replaced, and calls wait. Under the lock, as all that follows. */
bool recover_begin(struct node *node);
/* Whether what fails because its worker is lost is to be done again. */
bool recover_will(const struct node *node);
/* Whether lost workers are replaced: what they had told their successors tell again, at times when they are spare. */
bool recover_is_on(void);
/* Whether any worker of the session is being replaced. */
bool recover_any_mending(struct session *session);
/* The node goes to a spare worker that has nothing yet, which is told all again; calls go on, or wait. Its own one
 * ends. 0, or a negative errno value: -ENOTSUP with why not, and all is as it was. Without the lock. */
int recover_move(struct node *node, struct node *target, struct move_watch *watch, const char **why);
/* A journal is as long as it may be. */
void recover_snapshot_soon(void);
/* What a node tells. */
void recover_note_event(struct node *node, uint32_t event, cl_int status);
void recover_note_reply(struct node *node, uint32_t call);
/* An allocation that came to nothing. */
void recover_note_refused(struct node *node, uint32_t call);
/* It has lost another worker, as it says, which may be replaced; and the same of that worker, which will not be. */
void recover_note_lost(struct node *node, unsigned peer);
void recover_tell_lost(struct node *lost);
/* The first bytes of what kernels print that have been printed before. stream: 1 or 2. */
uint32_t recover_printed(struct node *node, unsigned stream, uint32_t length);

/* Nothing is kept of it any more. */
void recover_give_up(struct node *node, const char *why);

/* ---- mend.c: under the lock ---- */
/* Its worker is lost, or dismissed: another one takes its place, and calls go on, or it is lost. */
void mend(struct node *node);
/* Nothing is sent until that is over. */
void mend_hold(struct node *node);
/* Its worker goes. Lets go of the lock. */
void mend_dismiss(struct node *node);
/* Whether that is over, of a node. For session_wait(). */
bool mend_is_over(void *node);
/* Where it was. */
void mend_note_place(struct node *node);

/* ---- window.c: memory that the program has, too; as struct observer has them ---- */
void window_enter(struct enqueue *e);
void window_leave(struct enqueue *e);
int window_use(struct enqueue *e, cl_mem memory, unsigned use, bool launch);
bool window_is_settled(const struct enqueue *e, cl_mem memory, unsigned use);
bool window_open(cl_mem memory, bool writes, size_t size);
void window_close(cl_mem memory);
void window_count(struct node *node, bool more);
void window_add(cl_mem memory);
void window_forget(cl_mem memory);
/* It is no more here. Under the lock. */
void window_apart(cl_mem memory);

/* ---- snapshot.c ---- */
/* The contents of a node are saved and its journal begins anew: 0, or a negative errno value. Without the lock; the
 * program's calls wait. */
int snapshot(struct node *node, char *why, size_t size);
/* The same where nobody else takes one (pause_lock()). */
int snapshot_again(struct node *node, char *why, size_t size);
/* For one that is taken in a pause of something else: what it needs is read while the program goes on (copy_ahead()),
 * of the node and those that it has had to do with, if what they are told is kept; added to all, or NULL. Nobody
 * else takes one between these (pause_lock()). here: contents come to this host whatever VOCL_RECOVER_TO says. */
struct savings *snapshot_ahead(struct savings *all, struct node *node, bool away, bool here);
struct ahead savings_ahead(struct savings *all);
void savings_free(struct savings *all);
/* There will be no such pause. */
void snapshot_drop_early(struct node *node);
/* The same while calls are halted, since then, and nothing is under way. away: also of memory that the program shares
 * with its worker, for when the node is where that is not (journal_unshare()). */
int snapshot_quiet(struct node *node, bool away, long halted, bool here);

/* ---- replay.c ---- */
/* The new workers of the nodes are told all; -ECONNRESET: one is lost, too. Under the lock. */
int replay(const struct group *group);
void replay_event(struct journal *j, uint32_t event);
void replay_reply(struct journal *j, uint32_t call);
void replay_refused(struct journal *j);

/* ---- shorten.c ---- */
/* Of two parts of a journal, what makes the objects that there are after them; 0 or -ENOMEM. */
int journal_shorten(const struct wire_buffer *base, const struct wire_buffer *log, struct wire_buffer *out);

#endif
