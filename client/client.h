/*
 * The client: a session of nodes, and objects on them, without an API. Errors are negative errno values; a number above
 * 0 is what native OpenCL said (call_verdict()). It uses OpenCL's types and numbers, as the protocol does, and none of
 * its functions: what stands on it hands session_get() a struct front_end. The files:
 *
 *   objects.h    what all of them work with; node_set.h: node_set.c, sets of nodes
 *   observer.h   who wants to know what goes on at a node
 *   handle.h     handle.c: the registry of objects; destructor.c: objects whose end is waited for
 *   session.h    session.c: the lock, who listens (members.h: members.c, which members of the job are its nodes);
 *                note.c: what nodes say; local.c: a node in this process
 *   deliver.h    deliver.c: functions of the application
 *   move.h       move.c: a node goes to another process (moving.h: quiesce.c, all that was enqueued ends;
 *                make_again.c: objects; copy_over.c, carriers.c, svm_move.c: contents; unshare.c: memory that is
 *                left behind; summon.c: what users ask)
 *   recover.h    recover.c: a worker that is lost is replaced (journal.h: journal.c, what it was told; shorten.c,
 *                what of it is left; checkpoint.c, svm_saved.c, contents; window.c, of memory that is shared;
 *                mend.c, another one comes; replay.c, replay_contents.c, replay_over.c: and is told it; keep.h:
 *                keep.c, contents that workers keep; group.h: group.c, with those that it had to do with)
 *   halt.h       halt.c: no call is half-way meanwhile
 *                rest.c: workers go when users ask; resting.h: wake.c: they come again when a command needs them
 *   save.h       save.c: they go to a checkpoint in files
 *   store.h      store.c: contents of memory objects, kept at the application's host; store_early.c:
 *                read ahead; room.h: room.c, where they lie
 *   stream.h     stream.c: commands to a node; call.c: a function for each round trip
 *   cache.h      cache.c: what is kept from one session to the next
 *   info.h       info.c: what nodes answer to queries
 *   event.h      event.c: their state; event_wait.c: waiting for them; times.c: by which clock; event_move.c: when
 *                nodes move; arrival.c: data that have to be there; queue.c: waiting for queues
 *   enqueue.h    enqueue.c: what commands have in common; host.c: commands of the program's own;
 *                direct.c: commands that need not be sent
 *   layout.h     layout.c: rows of data in memory
 *   transfer.h   transfer.c: data to and from nodes; transfers.h, transfers.c: those under way
 *   data_command.h   data_command.c: the way of all commands that move data
 *   coherence.h  coherence.c: which node has what, and migrates it from another; shared.c: data that both
 *                see; written.c: what of an object has been written; hostptr.c, hostptr_copy.c: the program's memory as
 *                a buffer's; memory.c: what is common
 *   arena.h      arena.c: memory of both sides; block.c: of buffers; exchange.c: pages of the program's in it
 *   svm.h        address.c: commands on addresses; svm_placed.c: shared virtual memory in the arena;
 *                svm_remote.c: without it; usm.c: unified shared memory; addressed.c: buffers that have an
 *                address on their device
 *   timeline.h   timeline.c: what the program does is written down; sites.c: and who called
 */
#ifndef VOCL_CLIENT_CLIENT_H
#define VOCL_CLIENT_CLIENT_H

#include "client/arena.h"
#include "client/coherence.h"
#include "client/data_command.h"
#include "client/deliver.h"
#include "client/enqueue.h"
#include "client/event.h"
#include "client/halt.h"
#include "client/handle.h"
#include "client/info.h"
#include "client/layout.h"
#include "client/move.h"
#include "client/objects.h"
#include "client/observer.h"
#include "client/recover.h"
#include "client/save.h"
#include "client/session.h"
#include "client/store.h"
#include "client/stream.h"
#include "client/svm.h"
#include "client/timeline.h"
#include "client/transfer.h"

#endif
