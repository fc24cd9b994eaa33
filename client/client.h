/*
 * The client: a session of nodes, and the objects on them, independent of an API. Errors are negative errno values; a
 * positive value is native OpenCL's error (call_verdict()). The client uses OpenCL's types and constants, as the
 * protocol does, but none of its functions: the API on top of it passes session_get() a struct front_end. A folder uses
 * only those listed before it; all are traced.
 *
 *   start.h    start.c: begins and ends a session, handles forks, and dispatches what arrives (note.h: note.c, what
 *              nodes report); uses all folders
 *
 *   core/
 *     objects.h       the objects that all files work with; node_set.h, sets of nodes
 *     session.h       the lock, and which thread receives; members.h: which members of the job are its nodes
 *     stream.h        commands to a node, and round trips; local.c, a node in this process
 *     handle.h        the registry of objects; destructor.c, objects with destructor callbacks
 *     event.h         events; event_wait.c, waiting for them; times.c, their clock; arrival.c, data still to arrive
 *     transfers.h     transfers that are under way
 *     deliver.h       callbacks of the application
 *     halt.h          halts between the program's calls
 *     per_process.h   static variables that are reset in the child of a fork
 *     info.h          queries that nodes answer; cache.h, answers that are saved for the next session
 *     layout.h        rows of data in memory
 *     observer.h      callbacks for recovery: what a node was sent, and what is known of it
 *   memory/
 *     arena.h         memory that program and workers share; block.c, for buffers; exchange.c, for the program's pages
 *     memory.h        memory objects; written.c, which parts of them were written
 *     svm.h           shared virtual memory: svm_placed.c, in the arena; svm_remote.c, without it; usm.c, unified
 *   data/
 *     enqueue.h       what all commands have in common; queue.c, waiting for queues; host.c, commands that the program
 *                     carries out; direct.c, commands that need not be sent
 *     transfer.h      data to and from nodes; data_command.h, commands that move data; contents.h, contents that move
 *                     outside of queues
 *     coherence.h     which node has which contents, and migration; shared.c, data in memory that both sides see;
 *                     hostptr.h, CL_MEM_USE_HOST_PTR
 *     address_command.h   commands on addresses; addressed.c, buffers with a device address
 *   survive/
 *     pause.h         halts the program's calls, and waits until what was enqueued has ended (ends.h)
 *     ahead.h         copying contents ahead, while the program runs
 *     move.h          moves a node to another process. moving.h: for objects recreate.c; for contents copy_over.c and
 *                     svm_move.c; for shared memory that is left behind unshare.c; summon.c, users' requests;
 *                     suspend.c, workers leave; resume.c (suspension.h), others replace them
 *     store.h         contents kept at the application's host; store_ahead.c, reading them ahead
 *     checkpoint.h    contents for a checkpoint in files
 *     recover.h       replaces a worker that is lost. journal.h: what it was sent; effects.h, what commands.def says of
 *                     the effects of commands; compact.c, compacts the journal; snapshot.c, svm_saved.c, contents;
 *                     epoch.c, contents of shared memory; failover.c, the change to another worker; replay.c, what
 *                     that is sent again; replicas.h, contents saved with workers
 *   trace/
 *     timeline.h      the trace of what the program does; sites.c, the places that call OpenCL
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
