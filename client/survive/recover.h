/*
 * VOCL_RECOVER, failover: a lost worker is replaced, and the program continues. The node's journal (journal.h) holds
 * what was sent since the last snapshot; another worker takes the lost one's place, and the journal is replayed to it
 * (replay.c).
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
/* Creates the journals of a new session's nodes, if the settings say so. Called before anything is sent to a node, or a
 * node's loss is seen. */
void recover_open(struct session *session);
/* Called when all nodes of the session have described their devices. */
void recover_start(struct session *session);
/* Called with the lock held when the session ends. */
void recover_stop(void);
/* Begins the failover of a node whose worker is lost: calls wait. Returns false if it cannot be replaced. Called with
 * the lock held, as are the following functions unless they say otherwise. */
bool recover_begin(struct node *node);
/* Whether what fails because the node's worker is lost will be replayed. */
bool recover_will(const struct node *node);
/* Whether lost workers are replaced. Their successors repeat what they had sent, in part while they are still spare. */
bool recover_is_on(void);
/* Whether any worker of the session is being replaced. */
bool recover_any_failover(struct session *session);
/* Moves the node to a spare worker without objects by dismissing its own worker and replaying everything to the spare
 * one. Calls continue, or wait. Returns 0, or a negative errno; with -ENOTSUP, *why says why and nothing has changed.
 * Called without the lock. */
int recover_move(struct node *node, struct node *target, struct move_watch *watch, const char **why);
/* Called when a journal has reached its limit. */
void recover_snapshot_soon(void);
/* Called with what a node sends: an event's status; a reply. */
void recover_note_event(struct node *node, uint32_t event, cl_int status);
void recover_note_reply(struct node *node, uint32_t call);
/* Called when a node has refused an SVM allocation. */
void recover_note_refused(struct node *node, uint32_t call);
/* recover_note_lost(): the node reports that it has lost another worker, which may be replaced. recover_tell_lost():
 * reports to all nodes that one is lost and will not be replaced. */
void recover_note_lost(struct node *node, unsigned peer);
void recover_tell_lost(struct node *lost);
/* Returns how many of the length bytes that a node prints were printed before the failover, and are to be dropped.
 * stream: 1 or 2. */
uint32_t recover_printed(struct node *node, unsigned stream, uint32_t length);

/* Gives up the node's journal. */
void recover_give_up(struct node *node, const char *why);

/* ---- failover.c: with the lock held ---- */
/* Replaces the node's worker, which is lost or dismissed: another one takes its place and calls continue, or the node
 * is lost. */
void failover(struct node *node);
/* Stops sending to the node until failover() is done. */
void failover_hold(struct node *node);
/* Dismisses the node's worker. Releases the lock meanwhile. */
void failover_dismiss(struct node *node);
/* Whether a node's failover is over. A predicate for session_wait(). */
bool failover_is_over(void *node);
/* Notes the place, the PID and the number of the node's worker. */
void failover_note_place(struct node *node);

/* ---- epoch.c: memory shared with the program; the functions of struct observer ---- */
void epoch_enter(struct enqueue *e);
void epoch_leave(struct enqueue *e);
int epoch_use(struct enqueue *e, cl_mem memory, unsigned use, bool launch);
bool epoch_is_settled(const struct enqueue *e, cl_mem memory, unsigned use);
bool epoch_open(cl_mem memory, bool writes, size_t size);
void epoch_close(cl_mem memory);
void epoch_count(struct node *node, bool more);
void epoch_add(cl_mem memory);
void epoch_forget(cl_mem memory);
/* The buffer has left shared memory. Lock held. */
void epoch_apart(cl_mem memory);

/* ---- snapshot.c ---- */
/* Saves the contents of a node and begins its journal anew. Returns 0 or a negative errno. Called without the lock; the
 * program's calls wait. */
int snapshot(struct node *node, char *why, size_t size);
/* The same for a caller that holds pause_lock(). */
int snapshot_again(struct node *node, char *why, size_t size);
/* Prepares a snapshot that is taken in the pause of a move or a suspension: its contents are read while the program
 * runs (copy_ahead()), for the node and those that it has interacted with, if they have journals. Returns `all` with
 * the node added, or NULL. The caller holds pause_lock() throughout. here: contents come to this host whatever
 * VOCL_RECOVER_TO says. */
struct savings *snapshot_ahead(struct savings *all, struct node *node, bool away, bool here);
struct ahead savings_ahead(struct savings *all);
void savings_free(struct savings *all);
/* Drops what was read ahead: there will be no such pause. */
void snapshot_drop_early(struct node *node);
/* Takes a snapshot in a pause that began at halted; nothing is under way. away: also saves memory that the program
 * shares with its worker, for a node that is about to leave it (journal_unshare()). */
int snapshot_quiet(struct node *node, bool away, long halted, bool here);

/* ---- replay.c ---- */
/* Replays the journals to the new workers of the nodes. Returns -ECONNRESET if one of these is lost, too. Lock held. */
int replay(const struct group *group);
void replay_event(struct journal *j, uint32_t event);
void replay_reply(struct journal *j, uint32_t call);
void replay_refused(struct journal *j);

/* ---- compact.c ---- */
/* Compacts two parts of a journal into the commands that create the objects that exist after them. Returns 0 or
 * -ENOMEM. */
int compact_log(const struct wire_buffer *base, const struct wire_buffer *log, struct wire_buffer *out);

#endif
