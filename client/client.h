/*
 * The client: a session of nodes, and objects on them, without an API. Errors are negative errno values; a number above
 * 0 is what native OpenCL said (call_verdict()). It uses OpenCL's types and numbers, as the protocol does, and none of
 * its functions: what stands on it hands session_get() a struct front_end. A room uses those before it; all are traced.
 *
 *   start.h    start.c: a session begins, ends and is forked, and what arrives is given to who it is for (note.h:
 *              note.c, what nodes tell); knows all rooms
 *
 *   core/
 *     objects.h       what all of them work with; node_set.h, sets of nodes
 *     session.h       the lock, and who listens; members.h: which members of the job are its nodes
 *     stream.h        commands to a node, and round trips; local.c, a node in this process
 *     handle.h        the registry of objects; destructor.c, those whose end is waited for
 *     event.h         events; event_wait.c, waiting for them; times.c, their clock; arrival.c, data that have to come
 *     transfers.h     transfers that are under way
 *     deliver.h       functions of the application
 *     halt.h          no call is half-way meanwhile
 *     per_process.h   static variables that a fork's child has anew
 *     info.h          what nodes answer to queries; cache.h, what is kept from one session to the next
 *     layout.h        rows of data in memory
 *     observer.h      who wants to know what goes on at a node
 *   memory/
 *     arena.h         memory of both sides; block.c, of buffers; exchange.c, pages of the program's in it
 *     memory.h        memory objects; written.c, what of them has been written
 *     svm.h           shared virtual memory: svm_placed.c, in the arena; svm_remote.c, without it; usm.c, unified
 *   data/
 *     enqueue.h       what commands have in common; queue.c, waiting for queues; host.c, commands of the program's own;
 *                     direct.c, those that need not be sent
 *     transfer.h      data to and from nodes; data_command.h, the way of all commands that move data; contents.h, what
 *                     objects hold, outside of queues
 *     coherence.h     which node has what, and migrates it from another; shared.c, data that both see; hostptr.h, the
 *                     program's memory as a buffer's
 *     address_command.h   commands on addresses; addressed.c, buffers that have one on their device
 *   survive/
 *     pause.h         the program's calls wait, and what was enqueued ends (ends.h)
 *     ahead.h         what is copied while the program goes on
 *     move.h          a node goes to another process. moving.h: for objects make_again.c; for contents copy_over.c and
 *                     svm_move.c; for memory that is left behind unshare.c; summon.c, what users ask; suspend.c,
 *                     workers go; suspension.h: resume.c, and come again
 *     store.h         contents kept at the application's host; store_ahead.c, read ahead
 *     checkpoint.h    what goes to a checkpoint in files
 *     recover.h       a worker that is lost is replaced. journal.h: what it was told; effects.h, what commands.def says
 *                     of that; shorten.c, what of it is left; snapshot.c, svm_saved.c, contents; window.c, of memory
 *                     that is shared; mend.c, another one comes; replay.c, and is told it; keep.h, contents that
 *                     workers keep
 *   trace/
 *     timeline.h      what the program does is written down; sites.c, and who called
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
#include "client/data/contents.h"
#include "client/data/data_command.h"
#include "client/data/enqueue.h"
#include "client/data/transfer.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"
#include "client/memory/svm.h"
#include "client/start.h"
#include "client/survive/checkpoint.h"
#include "client/survive/move.h"
#include "client/survive/recover.h"
#include "client/survive/store.h"
#include "client/trace/timeline.h"

#endif
