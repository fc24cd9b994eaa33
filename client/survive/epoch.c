/*
 * Epochs of the log, for memory that program and worker share. Such memory survives the worker, so it need not be saved
 * beforehand, and the program's reads and writes there need no log. But commands that were under way, or of which
 * nobody knows that they had ended, are repeated, and must find what they found the first time. So the log has a
 * current *epoch*: everything before it has ended, with its effects in shared memory, and is not repeated. A buffer
 * that a command of the epoch may read and then write is copied before that: this is its *undo copy*. A buffer that
 * commands only write needs none, as they write the same again, unless others read it in between: then the program
 * waits until everything has ended, and the buffer has an undo copy from the next epoch on. A buffer that commands only
 * read is unchanged.
 *
 * Access of the program itself to memory that the epoch's commands have used begins a new epoch. That requires that
 * everything has ended, and costs the undo copies that will be taken again; if these are more than what is to be
 * written, the data go to the log, and by a command, as they do elsewhere. Contents that only the worker has (images,
 * buffers of several nodes) are safe only with a snapshot, so while there are any only snapshots begin epochs.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/core/session.h"
#include "client/data/coherence.h"
#include "client/data/transfer.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"
#include "client/survive/journal.h"
#include "client/survive/moving.h"
#include "client/survive/recover.h"

#define FREE ((size_t)1 << 20)   /* bytes of undo copies that are not worth avoiding */
#define LIMBO ((size_t)64 << 20) /* most bytes of released memory that wait for the next epoch */

struct undo_copy {
    struct undo_copy *next;
    cl_mem root; /* NULL: it is released */
    uint64_t epoch;
    uint8_t *at, *bytes;
    size_t size;
};

/* ---- epochs ---- */

static void undo_free(struct undo_copy *undo)
{
    if (undo)
        free(undo->bytes);
    free(undo);
}

static void drop_unused(struct journal *j, bool all)
{
    struct undo_copy **at = &j->undo_copies;

    while (*at) {
        struct undo_copy *undo = *at;

        if (undo->root && !all) {
            at = &undo->next;
            continue;
        }
        if (undo->root)
            undo->root->epoch.undo = NULL;
        *at = undo->next;
        undo_free(undo);
    }
}

void epoch_begin(struct journal *j)
{
    j->over = j->log.length;
    journal_end_turn(j);
    j->epoch++;
    j->undo_bytes = 0;
    j->exposed = NULL;
    j->losses = 0;
    memset(j->printed, 0, sizeof(j->printed));
    memset(j->skip, 0, sizeof(j->skip));
    j->node->last_length = 0;
    j->node->repeats = 0;
    journal_drop_data(j);
    drop_unused(j, false);
    block_end_limbo(j->node);
}

void epoch_restore(const struct journal *j)
{
    for (const struct undo_copy *undo = j->undo_copies; undo; undo = undo->next) {
        if (undo->epoch == j->epoch)
            memcpy(undo->at, undo->bytes, undo->size);
    }
}

void epoch_free(struct journal *j)
{
    drop_unused(j, true);
}

struct quiet {
    const struct node *node;
    bool is;
};

static void look_if_quiet(struct object *object, void *argument)
{
    const cl_command_queue queue = (cl_command_queue)object;
    struct quiet *quiet = argument;

    quiet->is &= queue->node != quiet->node || atomic_load(&queue->enqueued) == atomic_load(&queue->finished);
}

/* Whether only snapshots begin epochs. */
static bool is_held(const struct journal *j)
{
    return j->off || j->apart || j->met_any;
}

/* Begins a new epoch, if all that was sent has ended. Lock held. */
static bool renew(struct node *node)
{
    struct journal *j = node->journal;
    struct quiet quiet = {node, true};

    if (is_held(j) || j->giving || node->failing_over || !node->alive || transfer_any(node))
        return false;
    /* Calls that begin to enqueue from here on do not rely on what they read without the lock. */
    atomic_store(&j->renewing, true);
    quiet.is = !atomic_load(&j->inside);
    if (quiet.is)
        handle_each(WIRE_QUEUE, look_if_quiet, &quiet);
    if (quiet.is)
        epoch_begin(j);
    atomic_store(&j->renewing, false);
    return quiet.is;
}

/* ---- commands ---- */

void epoch_enter(struct enqueue *e)
{
    atomic_fetch_add(&e->node->journal->inside, 1);
}

void epoch_leave(struct enqueue *e)
{
    atomic_fetch_sub(&e->node->journal->inside, 1);
}

static bool has_undo(const struct journal *j, cl_mem root)
{
    return root->epoch.undo && root->epoch.undo->epoch == j->epoch;
}

/* Takes the memory's undo copy off the list and returns it, or NULL. Lock held. */
static struct undo_copy *unlink_undo(struct journal *j, cl_mem root)
{
    struct undo_copy **at = &j->undo_copies, *undo = root->epoch.undo;

    if (!undo)
        return NULL;
    while (*at != undo)
        at = &(*at)->next;
    *at = undo->next;
    root->epoch.undo = NULL;
    return undo;
}

/* Copies the memory to its undo copy. Lock held, released meanwhile: nobody writes to the memory, but the journal may
 * end and free its list. */
static int take_undo(struct journal *j, cl_mem root)
{
    struct session *session = j->node->session;
    struct undo_copy *undo = unlink_undo(j, root);

    session_unlock(session);
    if (!undo)
        undo = calloc(1, sizeof(*undo));
    if (undo && !undo->bytes)
        undo->bytes = malloc(root->size);
    if (undo && undo->bytes)
        memcpy(undo->bytes, root->arena, root->size);
    session_lock(session);
    if (j->off || root->epoch.undo || !undo || !undo->bytes) {
        const bool needed = !j->off && !root->epoch.undo;

        undo_free(undo);
        return needed ? -ENOMEM : 0;
    }
    *undo = (struct undo_copy){j->undo_copies, root, j->epoch, root->arena, undo->bytes, root->size};
    j->undo_copies = undo;
    root->epoch.undo = undo;
    j->undo_bytes += root->size;
    return 0;
}

/* A use of memory by a command that is being enqueued. */
struct epoch_use {
    cl_mem root;
    unsigned use;
};

static bool note_use(struct enqueue *e, cl_mem root, unsigned use)
{
    struct epoch_use *more = realloc(e->uses, (e->use_count + 1) * sizeof(*more));

    if (!more)
        return false;
    e->uses = more;
    more[e->use_count++] = (struct epoch_use){root, use};
    return true;
}

static void enter_epoch(const struct journal *j, cl_mem root)
{
    struct in_epoch *w = &root->epoch;

    if (w->number != j->epoch) {
        w->filled |= w->written; /* what an earlier epoch wrote there is not written again */
        w->read = w->written = false;
    }
    w->number = j->epoch;
}

/* Whether the memory was written in this epoch, then read, and is to be written again, and has no undo copy. */
static bool comes_again(const struct journal *j, cl_mem root, unsigned use)
{
    const struct in_epoch *w = &root->epoch;

    return use & USE_WRITE && w->written && w->read && w->filled && !has_undo(j, root);
}

/* Whether an undo copy is needed before the first command that writes the memory. A command that does not read it
 * writes the same again, unless others may read in between; where no new epoch could begin then, the undo copy is taken
 * at once. */
static bool needs_undo(const struct enqueue *e, cl_mem root, unsigned use)
{
    const struct journal *j = e->node->journal;
    const struct in_epoch *w = &root->epoch;

    return use & USE_WRITE && w->filled && !w->written && !has_undo(j, root) &&
           (use & USE_READ || w->read || w->cycles || is_held(j) || queue_may_be_gated(e->queue));
}

/* Notes a use of the memory, and takes an undo copy if needed. Lock held; may be released meanwhile. */
static int mark(struct enqueue *e, cl_mem root, unsigned use)
{
    struct journal *j = e->node->journal;
    struct in_epoch *w = &root->epoch;
    unsigned done;
    int error = 0;

    enter_epoch(j, root);
    if (comes_again(j, root, use)) {
        j->exposed = "a buffer without an undo copy was written, read and written again since the last snapshot";
        j->full = true;
        recover_snapshot_soon();
    }
    if (needs_undo(e, root, use))
        error = take_undo(j, root);
    w->read |= (use & USE_READ) != 0;
    w->written |= (use & USE_WRITE) != 0;
    if (has_undo(j, root) || !w->filled)
        done = USE_READ | USE_WRITE;
    else
        done = w->read ? USE_READ : w->written ? USE_WRITE : 0;
    atomic_store(&w->settled, w->number * 4 | (error ? 0 : done));
    return error;
}

/* Waits until all that was sent has ended and a new epoch begins, by this thread or another one that waits. Gives up
 * if that could depend on what the program does only after this call. Lock held, released meanwhile. */
static void await_epoch(struct enqueue *e)
{
    struct node *node = e->node;
    struct journal *j = node->journal;
    struct ends ends = {0};
    const uint64_t epoch = j->epoch;
    const long since = clock_ns();
    bool may = true;

    atomic_fetch_sub(&j->inside, 1);
    while (j->epoch == epoch && !is_held(j) && !renew(node) && may) {
        session_unlock(node->session);
        ends_put(&ends, node->session);
        may = ends_wait(&ends, node, PATIENCE_NS) && clock_ns() - since < PATIENCE_NS;
        session_look_later(); /* for data under way, or another thread's command */
        session_lock(node->session);
    }
    atomic_fetch_add(&j->inside, 1);
    ends_free(&ends);
}

/* Like mark(). If the memory is written again after a read, it will often be: it gets an undo copy in each epoch from
 * then on. */
static int use_here(struct enqueue *e, cl_mem root, unsigned use)
{
    struct journal *j = e->node->journal;
    int error = 0;

    enter_epoch(j, root);
    if (comes_again(j, root, use)) {
        const uint64_t epoch = j->epoch;

        root->epoch.cycles = true;
        await_epoch(e);
        for (unsigned i = 0; i < e->use_count && !error && j->epoch != epoch; i++)
            error = mark(e, e->uses[i].root, e->uses[i].use);
    }
    if (!error && !note_use(e, root, use))
        error = -ENOMEM;
    return error ? error : mark(e, root, use);
}

bool epoch_is_settled(const struct enqueue *e, cl_mem memory, unsigned use)
{
    const cl_mem root = memory_root(memory);
    const uint64_t settled = atomic_load_explicit(&root->epoch.settled, memory_order_relaxed);

    return !root->direct ||
           (!atomic_load(&e->node->journal->renewing) &&
            settled / 4 == atomic_load_explicit(&e->node->journal->epoch, memory_order_relaxed) && !(use & ~settled));
}

int epoch_use(struct enqueue *e, cl_mem memory, unsigned use, bool launch)
{
    cl_mem root = memory_root(memory);
    struct journal *j = e->node->journal;
    int error = 0;

    if (!root->direct)
        return 0;
    if (!launch && use & USE_WRITE) /* other commands are often part of a cycle that reads before it writes again */
        use |= USE_READ;
    session_lock(e->node->session);
    if (!j->off)
        error = use_here(e, root, use);
    session_unlock(e->node->session);
    return error;
}

/* ---- the program's own access ---- */

bool epoch_open(cl_mem memory, bool writes, size_t size)
{
    cl_mem root = memory_root(memory);
    struct node *node = root->context->node;
    struct journal *j = node->journal;
    bool good = true;

    session_lock(node->session);
    session_wait(node->session, failover_is_over, node);
    if (writes && !j->off && root->epoch.number == j->epoch)
        good = FREE + j->kept_bytes + size >= j->undo_bytes && renew(node);
    if (good && writes)
        root->epoch.filled = true;
    j->looking += good;
    session_unlock(node->session);
    return good;
}

void epoch_close(cl_mem memory)
{
    struct node *node = memory_root(memory)->context->node;

    session_lock(node->session);
    if (!--node->journal->looking && node->failing_over)
        session_news(node->session);
    session_unlock(node->session);
}

/* ---- objects ---- */

static void count_on(const struct node *node, bool more)
{
    struct journal *j = node->journal;

    if (j && more)
        j->apart++;
    else if (j)
        j->apart--;
}

static void count(cl_mem memory, bool more)
{
    for (unsigned i = 0; i < memory->context->node_count; i++)
        count_on(memory->context->nodes[i], more);
}

void epoch_count(struct node *node, bool more)
{
    session_lock(node->session);
    count_on(node, more);
    session_unlock(node->session);
}

/* Limits the memory that waits for the next epoch. */
static void make_room(struct node *node)
{
    struct journal *j = node->journal;

    if (j->off || block_in_limbo() < LIMBO || renew(node))
        return;
    j->full = true;
    recover_snapshot_soon();
}

void epoch_add(cl_mem memory)
{
    struct node *node = memory->context->node;

    if (memory->parent)
        return;
    session_lock(node->session);
    if (memory->direct) {
        make_room(node);
    } else {
        count(memory, true);
        memory->apart = true;
    }
    session_unlock(node->session);
}

void epoch_apart(cl_mem memory)
{
    if (memory->apart)
        return;
    count(memory, true);
    memory->apart = true;
}

void epoch_forget(cl_mem memory)
{
    if (memory->apart)
        count(memory, false);
    if (memory->epoch.undo)
        memory->epoch.undo->root = NULL;
}
