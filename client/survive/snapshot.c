/*
 * Takes a snapshot of a node: what was written since the last one is read while the program runs, and again what the
 * program writes meanwhile, until that is little. Then calls wait until all that was enqueued has ended, the rest is
 * read, and the journal begins anew with all that it needs. Nodes that have interacted (struct group) are saved as of
 * one moment: the journals of all of them begin anew, or of none.
 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/core/halt.h"
#include "client/core/handle.h"
#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/data/contents.h"
#include "client/data/transfer.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"
#include "client/memory/svm.h"
#include "client/survive/journal.h"
#include "client/survive/replicas.h"
#include "client/survive/pause.h"
#include "client/survive/recover.h"

#define LONG_LOG 2 /* times its limit: a longer log ends the reading ahead */

struct saving {
    struct node *node;
    struct held held;
    unsigned peer;         /* the node's member at the start */
    bool away;             /* the node moves away from the memory that the program shares with it */
    struct node *keeper;   /* that keeps contents, too; NULL: they come to this host */
    unsigned keeper_peer;  /* its member at the start */
    bool here;             /* contents must come here, as all workers are about to end */
    size_t bytes, before;  /* of contents, and of the log that they replace */
    struct svm_place *svm; /* found to be written, while the program runs */
    unsigned svm_count;
};

/* All nodes of a snapshot. */
struct savings {
    struct session *session;
    struct saving *each;
    unsigned count;
    bool here; /* contents come to the application's host, whatever the settings say */
};

/* Whether an object on the node has contents of its own to be saved. Those in shared memory (epoch.c) need not be
 * saved, and those over SVM are saved with that (svm_saved.c). */
static bool is_to_be_saved(const struct object *object, const struct saving *s)
{
    const struct _cl_mem *memory = (const struct _cl_mem *)object;

    return !memory->parent && (!memory->direct || s->away) && !memory->svm_remote &&
           memory->type != CL_MEM_OBJECT_PIPE && handle_is_on(object, s->node);
}

/* Whether the program may write to it without a call. */
static bool is_open(const struct _cl_mem *memory)
{
    return memory->hosted || (memory->direct && atomic_load(&memory->in_place));
}

/* Whether its saved copy, if any, lies where it should. */
static bool is_well_kept(const struct saving *s, const struct saved *saved)
{
    const struct copy *copy = copy_is_there(&saved->next) ? &saved->next : &saved->now;

    return copy->bytes || (copy->kept && !s->here && replicas_is_whole(copy->kept));
}

static bool has_changed(const struct saving *s, const struct _cl_mem *memory)
{
    const struct saved *saved = journal_find_saved(s->node->journal, memory->object.id);

    return atomic_load(&memory->written) & WRITTEN_SAVE || is_open(memory) || !saved || saved->stale ||
           !is_well_kept(s, saved);
}

static bool is_saved(const struct savings *all, const struct node *node)
{
    bool is = false;

    for (unsigned i = 0; i < all->count && !is; i++)
        is = all->each[i].node == node;
    return is;
}

/* Clears the mark. It serves all nodes that have the object: for those that are not saved now the write is noted as
 * stale. */
static void take_mark(const struct savings *all, cl_mem memory)
{
    const unsigned char was = atomic_fetch_and(&memory->written, (unsigned char)~WRITTEN_SAVE);

    for (unsigned i = 0; was & WRITTEN_SAVE && memory->coherence && i < session_node_count(all->session); i++) {
        const struct node *other = session_node(all->session, i);
        struct saved *saved =
            other->journal && !is_saved(all, other) ? journal_find_saved(other->journal, memory->object.id) : NULL;

        if (saved)
            saved->stale = true;
    }
}

static void collect(struct object *object, void *argument)
{
    struct saving *s = argument;

    if (is_to_be_saved(object, s))
        held_add(&s->held, object);
}

/* Copies shared memory. What nobody has touched has no pages, and is skipped. */
static void copy_shared(const struct _cl_mem *memory, uint8_t *bytes)
{
    const uint8_t *from = memory->arena;
    size_t at = 0, end;

    for (; at < memory->size && arena_next_data(from, memory->size, &at, &end); at = end)
        memory_copy_open(bytes + at, from + at, end - at);
}

static int save_here(const struct saving *s, cl_mem memory, const struct extent *whole, struct copy *copy)
{
    struct contents contents = {.member = s->node};

    copy->bytes = memory->direct ? calloc(1, whole->part.size) : malloc(whole->part.size);
    if (!copy->bytes)
        return -ENOMEM;
    if (memory->direct)
        copy_shared(memory, copy->bytes);
    return memory->direct ? 0 : contents_end(&contents, contents_take(&contents, whole, copy->bytes));
}

/* Makes two workers keep contents. On -ENOMEM one of them has no room, and what follows comes here, too. */
static int save_there(struct saving *s, const struct extent *whole, struct copy *copy)
{
    const int error = replicas_save(s->node, s->keeper, whole->memory, &whole->part, &copy->kept);

    if (error == -ENOMEM) {
        vocl_log(LOG_WARN, "workers %u and %u have no room for contents, which are kept at the application's host",
                 s->peer, s->keeper_peer);
        s->keeper = NULL;
    }
    return error;
}

/* Saves the contents of an object. One whose creation has failed natively has none. */
static int save_one(struct saving *s, cl_mem memory)
{
    const bool there = s->keeper && !memory->direct;
    const struct extent whole = extent_whole(memory);
    struct copy copy = {0};
    int error = there ? save_there(s, &whole, &copy) : -ENOMEM;

    if (!there || error == -ENOMEM)
        error = save_here(s, memory, &whole, &copy);
    session_lock(s->node->session);
    if (!error && !journal_save(s->node->journal, whole.memory, &whole.part, &copy, memory->direct))
        error = -ENOMEM;
    if (error)
        copy_drop(&copy);
    session_unlock(s->node->session);
    s->bytes += error ? 0 : whole.part.size;
    return error > 0 ? 0 : error;
}

/* Saves SVM that was written since it was last saved; if go is false, or on failure, marks it again. */
static bool save_svm_list(struct saving *s, struct svm_place *list, unsigned count, bool go)
{
    for (unsigned i = 0; i < count; i++) {
        go = go && !svm_saved_take(s->node, &list[i], &s->bytes);
        if (!go)
            svm_remote_mark(&list[i], WRITTEN_SAVE);
        svm_remote_unhold(&list[i]);
    }
    free(list);
    return go;
}

/* ---- the group ---- */

/* Adds the node and those that it has interacted with. Lock held. */
static int find_all(struct savings *all, struct node *node)
{
    struct group group = {0};
    int error = group_find(node, &group);

    if (!error && !all->each) {
        all->each = calloc(session_node_count(all->session), sizeof(*all->each));
        error = all->each ? 0 : -ENOMEM;
    }
    for (unsigned i = 0; i < group.count && !error; i++) {
        struct node *each = group.nodes[i];
        struct node *keeper;

        if (is_saved(all, each) || (each != node && (!each->alive || !each->journal || each->journal->off)))
            continue;
        keeper = all->here ? NULL : replicas_choose(each);
        all->each[all->count++] = (struct saving){.node = each,
                                                  .peer = each->peer,
                                                  .here = all->here,
                                                  .keeper = keeper,
                                                  .keeper_peer = keeper ? keeper->peer : 0};
    }
    group_free(&group);
    return error;
}

static int savings_add(struct savings *all, struct node *node)
{
    int error;

    session_lock(all->session);
    error = find_all(all, node);
    session_unlock(all->session);
    return error;
}

/* Whether a pipe may hold packets, which only a replay of all commands since its creation restores. */
static bool any_pipe_filled(const struct savings *all)
{
    bool filled = false;

    session_lock(all->session);
    for (unsigned i = 0; i < all->count && !filled; i++)
        filled = written_any_pipe(all->each[i].node);
    session_unlock(all->session);
    return filled;
}

/* ---- copying ahead, while the program runs ---- */

static void collect_early(struct object *object, void *argument)
{
    struct saving *s = argument;
    cl_mem memory = (cl_mem)object;

    if (is_to_be_saved(object, s) && !memory->coherence && may_go_ahead(memory) && has_changed(s, memory))
        held_add(&s->held, object);
}

static size_t find_changed(struct saving *s)
{
    size_t bytes = 0;

    session_lock(s->node->session);
    handle_each(WIRE_MEMORY, collect_early, s);
    for (unsigned i = 0; i < s->held.count; i++) {
        cl_mem memory = (cl_mem)s->held.objects[i];

        atomic_fetch_and(&memory->written, (unsigned char)~WRITTEN_SAVE);
        bytes += memory->size;
    }
    session_unlock(s->node->session);
    s->svm = svm_saved_find(s->node, &s->svm_count, &bytes);
    return bytes;
}

static size_t find_all_changed(void *argument)
{
    const struct savings *all = argument;
    size_t bytes = 0;

    for (unsigned i = 0; i < all->count; i++)
        bytes += find_changed(&all->each[i]);
    return bytes;
}

/* Whether it is still the same worker, and the log has not grown too long meanwhile. */
static bool may_go_on(const struct saving *s)
{
    const struct node *node = s->node;
    const struct journal *j = node->journal;
    bool may;

    session_lock(node->session);
    may = node->alive && !node->failing_over && node->peer == s->peer && !j->off && !session_stops(node->session) &&
          j->log.length + j->kept_bytes < LONG_LOG * j->limit;
    session_unlock(node->session);
    return may;
}

static void save_changed(struct saving *s, bool go)
{
    const size_t before = s->bytes;

    go = go && !s->held.failed && s->svm;
    for (unsigned i = 0; i < s->held.count; i++) {
        cl_mem memory = (cl_mem)s->held.objects[i];

        go = go && may_go_on(s) && !save_one(s, memory);
        if (!go)
            atomic_fetch_or(&memory->written, WRITTEN_SAVE);
    }
    save_svm_list(s, s->svm, s->svm_count, go && may_go_on(s));
    s->node->journal->early += s->bytes - before;
    held_drop(&s->held, s->node->session); /* what is released meanwhile is destroyed before the pause */
}

/* What cannot be saved is left for the pause. */
static int save_all_changed(void *argument, bool go)
{
    struct savings *all = argument;

    for (unsigned i = 0; i < all->count; i++)
        save_changed(&all->each[i], go);
    return 0;
}

struct savings *snapshot_ahead(struct savings *all, struct node *node, bool away, bool here)
{
    if (!recover_will(node))
        return all;
    if (!all)
        all = calloc(1, sizeof(*all));
    if (!all)
        return NULL;
    all->session = node->session;
    all->here = here;
    if (savings_add(all, node))
        all->count = 0; /* everything is left for the pause */
    for (unsigned i = 0; i < all->count; i++)
        all->each[i].away |= away && all->each[i].node == node;
    return all;
}

struct ahead savings_ahead(struct savings *all)
{
    return (struct ahead){.argument = all, .find = find_all_changed, .copy = save_all_changed};
}

void savings_free(struct savings *all)
{
    if (all)
        free(all->each);
    free(all);
}

static void mark_again(struct object *object, void *argument)
{
    const struct saved *saved = journal_find_saved(argument, object->id);

    if (saved && copy_is_there(&saved->next))
        atomic_fetch_or(&((cl_mem)object)->written, WRITTEN_SAVE);
}

/* Drops what was read for a snapshot that is not taken, and marks it for the next one. */
static void drop_early(struct journal *j)
{
    handle_each(WIRE_MEMORY, mark_again, j);
    journal_drop_next(j);
    j->early = 0;
}

void snapshot_drop_early(struct node *node)
{
    struct savings all = {.session = node->session};

    if (!node->journal)
        return;
    session_lock(node->session);
    journal_drop_waiting(node->journal);
    if (find_all(&all, node))
        drop_early(node->journal);
    for (unsigned i = 0; i < all.count; i++)
        drop_early(all.each[i].node->journal);
    session_unlock(node->session);
    free(all.each);
}

/* ---- the rest, while calls are halted ---- */

/* Releases the event at the worker, which need not know any more how it ended: a node that waits for it later is sent
 * its status. */
static void forget_event(struct object *object, void *argument)
{
    struct node *node = argument;
    cl_event event = (cl_event)object;
    const struct wire_release m = {.kind = WIRE_EVENT, .object = object->id};

    if (!event->context || !node_set_has(&event->known, node->index) || atomic_load(&object->uses) == USES_RELEASED ||
        !(event->queue || event->ended))
        return;
    node_set_remove(&event->known, node->index);
    wire_put_release(&node->batch, &m);
}

/* Whether all that was put for the nodes has arrived. Calls that wait may still ask questions in the pause (hostptr.c),
 * and an unanswered question would be in no log. */
static bool settled(void *argument)
{
    const struct savings *all = argument;
    bool settled = true;

    for (unsigned i = 0; i < all->count; i++) {
        struct node *node = all->each[i].node;

        stream_push(node);
        settled &= !node->alive || (!node->failing_over && !node->batch.length && !node->journal->giving &&
                                    !call_any(node) && !transfer_any(node));
    }
    return settled;
}

static void begin_anew(struct node *node)
{
    if (journal_compact(node->journal)) {
        vocl_log(LOG_ERROR, "out of memory for a snapshot of worker %u: it cannot be replaced if it is lost",
                 node->peer);
        journal_off(node->journal);
    }
    node->last_length = 0;
    node->repeats = 0;
}

/* Begins the journals anew, when all that was put for the nodes has been sent. Lock held: nothing more is sent. */
static int begin_all_anew(struct savings *all)
{
    bool well = true;

    for (unsigned i = 0; i < all->count; i++)
        handle_each(WIRE_EVENT, forget_event, all->each[i].node);
    session_wait(all->session, settled, all);
    for (unsigned i = 0; i < all->count; i++)
        well &= all->each[i].node->alive && !all->each[i].node->journal->off;
    if (!well || session_stops(all->session))
        return -ECONNRESET;
    for (unsigned i = 0; i < all->count; i++)
        begin_anew(all->each[i].node);
    return 0;
}

static int save_svm(struct saving *s)
{
    size_t changed = 0;
    unsigned count;
    struct svm_place *list = svm_saved_find(s->node, &count, &changed);

    if (!list)
        return -ENOMEM;
    return save_svm_list(s, list, count, true) ? 0 : -ECONNRESET;
}

/* Saves, in the pause, what was not saved ahead. */
static int save_rest(struct saving *s)
{
    struct session *session = s->node->session;
    struct journal *j = s->node->journal;
    int error = 0;

    session_lock(session);
    handle_each(WIRE_MEMORY, collect, s);
    s->before = j->log.length + j->kept_bytes;
    session_unlock(session);
    if (s->held.failed)
        error = -ENOMEM;
    for (unsigned i = 0; i < s->held.count && !error; i++) {
        cl_mem memory = (cl_mem)s->held.objects[i];
        bool changed;

        session_lock(session);
        changed = has_changed(s, memory);
        session_unlock(session);
        error = changed ? save_one(s, memory) : 0;
    }
    return error ? error : save_svm(s);
}

static void say_where(const struct saving *s)
{
    if (s->keeper)
        vocl_log(LOG_INFO, "contents of worker %u are kept by itself and by worker %u", s->peer, s->keeper_peer);
    else if (replicas_is_on() && s->here)
        vocl_log(LOG_INFO, "contents of worker %u are kept at the application's host, for workers go", s->peer);
    else if (replicas_is_on())
        vocl_log(LOG_INFO,
                 "contents of worker %u are kept at the application's host, for no other worker can keep them",
                 s->peer);
}

static int save_quiet(struct savings *all, long halted)
{
    int error = any_pipe_filled(all) ? -ENOTSUP : 0;

    for (unsigned i = 0; i < all->count && !error; i++) /* not under the lock, for kernels have locks of their own */
        error = save_rest(&all->each[i]) ?: handle_renew(all->each[i].node);
    session_lock(all->session);
    if (!error)
        error = begin_all_anew(all);
    for (unsigned at = 0; at < all->count && !error; at++) {
        const struct saving *s = &all->each[at];

        for (unsigned i = 0; i < s->held.count; i++)
            take_mark(all, (cl_mem)s->held.objects[i]);
    }
    session_unlock(all->session);
    for (unsigned i = 0; i < all->count && !error; i++) {
        const struct saving *s = &all->each[i];
        struct journal *j = s->node->journal;

        vocl_log(
            LOG_INFO,
            "snapshot of worker %u: %zu bytes of contents instead of %zu of commands, %zu of them in %ld us of pause",
            s->peer, j->early + s->bytes, s->before, s->bytes, (clock_ns() - halted) / 1000);
        say_where(s);
        j->early = 0;
    }
    return error;
}

int snapshot_quiet(struct node *node, bool away, long halted, bool here)
{
    struct savings all = {.session = node->session, .here = here};
    int error = savings_add(&all, node);

    for (unsigned i = 0; i < all.count; i++)
        all.each[i].away = away && all.each[i].node == node;
    if (!error)
        error = save_quiet(&all, halted);
    for (unsigned i = 0; i < all.count; i++)
        held_drop(&all.each[i].held, all.session);
    free(all.each);
    return error;
}

static int check_pipes(struct pause *p)
{
    struct savings all = {.session = p->session};
    int error = savings_add(&all, p->node);

    if (!error && any_pipe_filled(&all))
        error = pause_refuse(p, -ENOTSUP, "a pipe may hold packets, which only a full replay can restore");
    free(all.each);
    return error;
}

static void read_ahead(struct pause *p)
{
    struct savings *all = snapshot_ahead(NULL, p->node, false, false);
    const struct ahead ahead = savings_ahead(all);

    if (all)
        copy_ahead(p, &ahead, 1);
    savings_free(all);
}

int snapshot_again(struct node *node, char *why, size_t size)
{
    struct pause p = {.session = node->session, .node = node, .reason = why, .reason_size = size};
    int error = -EBUSY;

    if (!node->suspended)
        error = check_pipes(&p);
    if (!node->suspended && !error) {
        read_ahead(&p);
        error = pause_begin(&p);
        error = error ? error : snapshot_quiet(node, false, p.halted, false);
        if (error)
            snapshot_drop_early(node);
        halt_set(HALT_NONE);
    }
    ends_free(&p.ends);
    return error;
}

int snapshot(struct node *node, char *why, size_t size)
{
    int error;

    pause_lock();
    error = snapshot_again(node, why, size);
    pause_unlock();
    return error;
}
