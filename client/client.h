/*
 * The client: a session of nodes, and objects on them, without an API. Errors are negative errno values; a number above
 * 0 is what native OpenCL said (call_verdict()). It uses OpenCL's types and numbers, as the protocol does, and none of
 * its functions: what stands on it hands session_get() a struct front_end. A room uses those named before it,
 * and all are traced:
 *
 *   core/      objects.h: what all work with; session.h: the lock, who listens, which members of the job are its nodes
 *              (members.h: the session itself); stream.h: commands to a node and round trips (call.c); handle.h: the
 *              registry of objects, and those whose end is waited for (destructor.c); event.h: events, waiting for them
 *              (event_wait.c), by which clock (times.c), when nodes move (event_move.c), data that have to be there
 *              (arrival.c); deliver.h: functions of the application; halt.h: no call is half-way meanwhile; info.h:
 * what nodes answer to queries; cache.h: what is kept from one session to the next; layout.h: rows of data in memory;
 * transfers.h: transfers that are under way; local.c: a node in this process; observer.h: who wants to know what goes
 * on at a node memory/    arena.h: memory of both sides (arena.c), of buffers (block.c), pages of the program's in it
 * (exchange.c); memory.h: memory objects, and what of them has been written (written.c); svm.h: shared virtual memory
 * in the arena (svm_placed.c) and without it (svm_remote.c), unified shared memory (usm.c) data/      enqueue.h: what
 * commands have in common, waiting for queues (queue.c), commands of the program's own (host.c), and those that need
 * not be sent (direct.c); transfer.h: data to and from nodes; data_command.h: the way of all commands that move data;
 * coherence.h: which node has what, and migrates it from another, data that both see (shared.c), the program's memory
 * as a buffer's (hostptr.h: hostptr.c, hostptr_copy.c); address_command.h: commands on addresses, and buffers that have
 * one on their device (addressed.c) survive/   move.h: a node goes to another process (moving.h: quiesce.c, all that
 * was enqueued ends; make_again.c, objects; copy_over.c, carriers.c, svm_move.c, contents; unshare.c, memory that is
 * left behind; summon.c, what users ask; rest.c, workers go; resting.h: wake.c, they come again); save.h: they go to a
 * checkpoint in files; store.h: contents of memory objects, kept at the application's host (store_early.c: read ahead;
 *              room.h: where they lie); recover.h: a worker that is lost is replaced (journal.h: what it was told;
 *              shorten.c, what of it is left; checkpoint.c, svm_saved.c, contents; window.c, of memory that is shared;
 *              mend.c, another one comes; replaying.h: and is told it; keep.h: contents that workers keep; group.h:
 * with those that it had to do with) trace/     timeline.h: what the program does is written down; sites.c: and who
 * called
 *
 *   start.h    start.c: a session begins and ends, and what arrives is given to who it is for (note.h: note.c, what
 * nodes tell)
 */
#ifndef VOCL_CLIENT_CLIENT_H
#define VOCL_CLIENT_CLIENT_H

#include "client/core/deliver.h"
#include "client/core/event.h"
#include "client/core/halt.h"
#include "client/core/handle.h"
#include "client/core/info.h"
#include "client/core/layout.h"
#include "client/core/objects.h"
#include "client/core/observer.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/data/address_command.h"
#include "client/data/coherence.h"
#include "client/data/data_command.h"
#include "client/data/enqueue.h"
#include "client/data/transfer.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"
#include "client/memory/svm.h"
#include "client/start.h"
#include "client/survive/move.h"
#include "client/survive/recover.h"
#include "client/survive/save.h"
#include "client/survive/store.h"
#include "client/trace/timeline.h"

#endif
