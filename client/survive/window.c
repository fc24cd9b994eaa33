/*
 * Windows: epochs of the log, for memory that program and worker share. Such memory survives the worker, so nothing of
 * it need be saved beforehand, and the program's reads and writes there need no log. But commands that were under way,
 * or of which nobody knows that they had ended, are repeated, and must find what they found the first time. So the log
 * has a *window*: everything before it has ended, with its effects in shared memory, and is not repeated. A buffer that
 * a command of the window may read and then write is copied before that: its *image* (undo copy). A buffer that
 * commands only write needs none, as they write the same again, unless others read it in between: then everything is
 * waited for, and the buffer has an image from the next window on. A buffer that commands only read is unchanged.
 *
 * Access of the program itself to memory that the window's commands have used begins a new window. That requires that
 * everything has ended, and costs the images that will be taken again; if these are more than what is to be written,
 * the data go to the log, and by a command, as they do elsewhere. Contents that only the worker has (images of OpenCL,
 * buffers of several nodes) are safe only with a snapshot, so while there are any only snapshots begin windows.
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

#define FREE ((size_t)1 << 20)   /* bytes of images that are not worth avoiding */
#define LIMBO ((size_t)64 << 20) /* most bytes of released memory that wait for the next window */

struct image {
    struct image *next;
    cl_mem root; /* NULL: it is released */
    uint64_t window;
    uint8_t *at, *bytes;
    size_t size;
};

/* ---- windows ---- */

static void image_free(struct image *image)
{
    if (image)
        free(image->bytes);
    free(image);
}

static void drop_unused(struct journal *j, bool all)
{
    struct image **at = &j->images;

    while (*at) {
        struct image *image = *at;

        if (image->root && !all) {
            at = &image->next;
            continue;
        }
        if (image->root)
            image->root->window.image = NULL;
        *at = image->next;
        image_free(image);
    }
}

void window_begin(struct journal *j)
{
    j->over = j->log.length;
    journal_end_turn(j);
    j->window++;
    j->imaged = 0;
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

void window_restore(const struct journal *j)
{
    for (const struct image *image = j->images; image; image = image->next) {
        if (image->window == j->window)
            memcpy(image->at, image->bytes, image->size);
    }
}

void window_free(struct journal *j)
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

/* Whether only snapshots begin windows. */
static bool is_held(const struct journal *j)
{
    return j->off || j->apart || j->met_any;
}

/* Begins a new window, if all that was sent has ended. Lock held. */
static bool renew(struct node *node)
{
    struct journal *j = node->journal;
    struct quiet quiet = {node, true};

    if (is_held(j) || j->giving || node->mending || !node->alive || transfer_any(node))
        return false;
    /* Calls that begin to enqueue from here on do not rely on what they read without the lock. */
    atomic_store(&j->renewing, true);
    quiet.is = !atomic_load(&j->inside);
    if (quiet.is)
        handle_each(WIRE_QUEUE, look_if_quiet, &quiet);
    if (quiet.is)
        window_begin(j);
    atomic_store(&j->renewing, false);
    return quiet.is;
}

/* ---- commands ---- */

void window_enter(struct enqueue *e)
{
    atomic_fetch_add(&e->node->journal->inside, 1);
}

void window_leave(struct enqueue *e)
{
    atomic_fetch_sub(&e->node->journal->inside, 1);
}

static bool has_image(const struct journal *j, cl_mem root)
{
    return root->window.image && root->window.image->window == j->window;
}

/* Takes the memory's image off the list and returns it, or NULL. Lock held. */
static struct image *unlink_image(struct journal *j, cl_mem root)
{
    struct image **at = &j->images, *image = root->window.image;

    if (!image)
        return NULL;
    while (*at != image)
        at = &(*at)->next;
    *at = image->next;
    root->window.image = NULL;
    return image;
}

/* Copies the memory to its image. Lock held, released meanwhile: nobody writes to the memory, but the journal may end
 * and free its list. */
static int take_image(struct journal *j, cl_mem root)
{
    struct session *session = j->node->session;
    struct image *image = unlink_image(j, root);

    session_unlock(session);
    if (!image)
        image = calloc(1, sizeof(*image));
    if (image && !image->bytes)
        image->bytes = malloc(root->size);
    if (image && image->bytes)
        memcpy(image->bytes, root->arena, root->size);
    session_lock(session);
    if (j->off || root->window.image || !image || !image->bytes) {
        const bool needed = !j->off && !root->window.image;

        image_free(image);
        return needed ? -ENOMEM : 0;
    }
    *image = (struct image){j->images, root, j->window, root->arena, image->bytes, root->size};
    j->images = image;
    root->window.image = image;
    j->imaged += root->size;
    return 0;
}

/* A use of memory by a command that is being enqueued. */
struct window_use {
    cl_mem root;
    unsigned use;
};

static bool note_use(struct enqueue *e, cl_mem root, unsigned use)
{
    struct window_use *more = realloc(e->uses, (e->use_count + 1) * sizeof(*more));

    if (!more)
        return false;
    e->uses = more;
    more[e->use_count++] = (struct window_use){root, use};
    return true;
}

static void enter_window(const struct journal *j, cl_mem root)
{
    struct in_window *w = &root->window;

    if (w->number != j->window) {
        w->filled |= w->written; /* what an earlier window wrote there is not written again */
        w->read = w->written = false;
    }
    w->number = j->window;
}

/* Whether the memory was written in this window, then read, and is to be written again, and has no image. */
static bool comes_again(const struct journal *j, cl_mem root, unsigned use)
{
    const struct in_window *w = &root->window;

    return use & USE_WRITE && w->written && w->read && w->filled && !has_image(j, root);
}

/* Whether an image is needed before the first command that writes the memory. A command that does not read it writes
 * the same again, unless others may read in between; where no new window could begin then, the image is taken at
 * once. */
static bool needs_image(const struct enqueue *e, cl_mem root, unsigned use)
{
    const struct journal *j = e->node->journal;
    const struct in_window *w = &root->window;

    return use & USE_WRITE && w->filled && !w->written && !has_image(j, root) &&
           (use & USE_READ || w->read || w->cycles || is_held(j) || queue_may_be_gated(e->queue));
}

/* Notes a use of the memory, and takes an image if needed. Lock held; may be released meanwhile. */
static int mark(struct enqueue *e, cl_mem root, unsigned use)
{
    struct journal *j = e->node->journal;
    struct in_window *w = &root->window;
    unsigned done;
    int error = 0;

    enter_window(j, root);
    if (comes_again(j, root, use)) {
        j->exposed = "a buffer without an undo copy was written, read and written again since the last snapshot";
        j->full = true;
        recover_snapshot_soon();
    }
    if (needs_image(e, root, use))
        error = take_image(j, root);
    w->read |= (use & USE_READ) != 0;
    w->written |= (use & USE_WRITE) != 0;
    if (has_image(j, root) || !w->filled)
        done = USE_READ | USE_WRITE;
    else
        done = w->read ? USE_READ : w->written ? USE_WRITE : 0;
    atomic_store(&w->settled, w->number * 4 | (error ? 0 : done));
    return error;
}

/* Waits until all that was sent has ended and a new window begins, by this thread or another one that waits. Gives up
 * if that could depend on what the program does only after this call. Lock held, released meanwhile. */
static void await_window(struct enqueue *e)
{
    struct node *node = e->node;
    struct journal *j = node->journal;
    struct ends ends = {0};
    const uint64_t window = j->window;
    const long since = clock_ns();
    bool may = true;

    atomic_fetch_sub(&j->inside, 1);
    while (j->window == window && !is_held(j) && !renew(node) && may) {
        session_unlock(node->session);
        ends_put(&ends, node->session);
        may = ends_wait(&ends, node, PATIENCE_NS) && clock_ns() - since < PATIENCE_NS;
        session_look_later(); /* for data under way, or another thread's command */
        session_lock(node->session);
    }
    atomic_fetch_add(&j->inside, 1);
    ends_free(&ends);
}

/* Like mark(). If the memory is written again after a read, it will often be: it gets an image in each window from then
 * on. */
static int use_here(struct enqueue *e, cl_mem root, unsigned use)
{
    struct journal *j = e->node->journal;
    int error = 0;

    enter_window(j, root);
    if (comes_again(j, root, use)) {
        const uint64_t window = j->window;

        root->window.cycles = true;
        await_window(e);
        for (unsigned i = 0; i < e->use_count && !error && j->window != window; i++)
            error = mark(e, e->uses[i].root, e->uses[i].use);
    }
    if (!error && !note_use(e, root, use))
        error = -ENOMEM;
    return error ? error : mark(e, root, use);
}

bool window_is_settled(const struct enqueue *e, cl_mem memory, unsigned use)
{
    const cl_mem root = memory_root(memory);
    const uint64_t settled = atomic_load_explicit(&root->window.settled, memory_order_relaxed);

    return !root->direct ||
           (!atomic_load(&e->node->journal->renewing) &&
            settled / 4 == atomic_load_explicit(&e->node->journal->window, memory_order_relaxed) && !(use & ~settled));
}

int window_use(struct enqueue *e, cl_mem memory, unsigned use, bool launch)
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

bool window_open(cl_mem memory, bool writes, size_t size)
{
    cl_mem root = memory_root(memory);
    struct node *node = root->context->node;
    struct journal *j = node->journal;
    bool good = true;

    session_lock(node->session);
    session_wait(node->session, mend_is_over, node);
    if (writes && !j->off && root->window.number == j->window)
        good = FREE + j->kept_bytes + size >= j->imaged && renew(node);
    if (good && writes)
        root->window.filled = true;
    j->looking += good;
    session_unlock(node->session);
    return good;
}

void window_close(cl_mem memory)
{
    struct node *node = memory_root(memory)->context->node;

    session_lock(node->session);
    if (!--node->journal->looking && node->mending)
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

void window_count(struct node *node, bool more)
{
    session_lock(node->session);
    count_on(node, more);
    session_unlock(node->session);
}

/* Limits the memory that waits for the next window. */
static void make_room(struct node *node)
{
    struct journal *j = node->journal;

    if (j->off || block_in_limbo() < LIMBO || renew(node))
        return;
    j->full = true;
    recover_snapshot_soon();
}

void window_add(cl_mem memory)
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

void window_apart(cl_mem memory)
{
    if (memory->apart)
        return;
    count(memory, true);
    memory->apart = true;
}

void window_forget(cl_mem memory)
{
    if (memory->apart)
        count(memory, false);
    if (memory->window.image)
        memory->window.image->root = NULL;
}
