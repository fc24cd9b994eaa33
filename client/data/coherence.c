/*
 * Which nodes have the newest contents of a memory object, in a context of several nodes: each range (piece) of it has
 * a list of owners (holders), kept in the order in which the application enqueues. A command that reads what its node
 * does not have is preceded by a migration, which goes from worker to worker when the command's turn has come. OpenCL
 * makes the application order commands that use the same contents, so nothing else has to be waited for, except a
 * migration for another queue's command that is still under way (the holder's ready event).
 */
#include <errno.h>
#include <string.h>

#include "client/core/observer.h"
#include "client/core/per_process.h"
#include "client/core/stream.h"
#include "client/data/coherence.h"
#include "client/memory/memory.h"
#include "client/memory/svm.h"

struct holder {
    struct node *node;
    cl_event ready; /* the contents are there after this event; NULL: they are there */
    bool migrated;
};

struct piece {
    size_t start, end;
    struct holder *holders;
    unsigned holder_count;
    bool anything; /* never written: any node's contents will do */
};

struct coherence {
    struct piece *pieces; /* in order, without gaps */
    unsigned count;
    size_t end;
};

/* ---- pieces: under the root's lock ---- */

static void holders_free(struct piece *piece)
{
    for (unsigned i = 0; i < piece->holder_count; i++) {
        if (piece->holders[i].ready)
            handle_drop(piece->holders[i].ready);
    }
    free(piece->holders);
    piece->holders = NULL;
    piece->holder_count = 0;
}

static bool add_holder(struct piece *piece, struct node *node, cl_event ready, bool migrated)
{
    struct holder *more = realloc(piece->holders, (piece->holder_count + 1) * sizeof(*more));

    if (!more)
        return false;
    piece->holders = more;
    more[piece->holder_count++] = (struct holder){node, ready, migrated};
    if (ready)
        handle_use(ready);
    return true;
}

static struct holder *find_holder(const struct piece *piece, const struct node *node)
{
    for (unsigned i = 0; i < piece->holder_count; i++) {
        if (piece->holders[i].node == node)
            return &piece->holders[i];
    }
    return NULL;
}

/* Splits the piece that contains `at`, so that a piece begins there. */
static bool split(struct coherence *c, size_t at)
{
    struct piece *more, *piece, *rest;
    unsigned i = 0;

    if (!at || at >= c->end)
        return true;
    while (c->pieces[i].end <= at)
        i++;
    if (c->pieces[i].start == at)
        return true;
    more = realloc(c->pieces, (c->count + 1) * sizeof(*more));
    if (!more)
        return false;
    c->pieces = more;
    memmove(more + i + 1, more + i, (c->count - i) * sizeof(*more));
    c->count++;
    piece = &more[i];
    rest = &more[i + 1];
    rest->holders = NULL;
    rest->holder_count = 0;
    for (unsigned h = 0; h < piece->holder_count; h++) {
        if (!add_holder(rest, piece->holders[h].node, piece->holders[h].ready, piece->holders[h].migrated))
            return false;
    }
    piece->end = rest->start = at;
    return true;
}

/* Joins neighbouring pieces that one command wrote. */
static void join(struct coherence *c)
{
    unsigned to = 0;

    for (unsigned i = 1; i < c->count; i++) {
        struct piece *last = &c->pieces[to], *next = &c->pieces[i];

        if (last->holder_count == 1 && next->holder_count == 1 && last->anything == next->anything &&
            last->holders[0].node == next->holders[0].node && last->holders[0].ready == next->holders[0].ready) {
            last->end = next->end;
            holders_free(next);
        } else {
            c->pieces[++to] = *next;
        }
    }
    c->count = to + 1;
}

/* ---- memory objects ---- */

/* An image is one piece; its size does not matter. */
static size_t extent(cl_mem root)
{
    return root->type == CL_MEM_OBJECT_BUFFER ? root->size : 1;
}

int coherence_open(cl_mem memory, bool contents)
{
    struct coherence *c;

    if (contents && !memory->parent)
        written_note(memory, 0, extent(memory));
    memory->epoch.filled = contents;
    observer_made(memory);
    if (memory->context->node_count < 2 || memory->parent || memory->arena)
        return 0;
    c = calloc(1, sizeof(*c));
    if (c)
        c->pieces = calloc(1, sizeof(*c->pieces));
    if (!c || !c->pieces) {
        free(c);
        return -ENOMEM;
    }
    c->end = extent(memory);
    c->count = 1;
    c->pieces[0] = (struct piece){.end = c->end, .anything = !contents};
    memory->coherence = c;
    return contents && !add_holder(&c->pieces[0], memory->context->node, NULL, false) ? -ENOMEM : 0;
}

void coherence_close(cl_mem memory)
{
    struct coherence *c = memory->coherence;

    for (unsigned i = 0; c && i < c->count; i++)
        holders_free(&c->pieces[i]);
    if (c)
        free(c->pieces);
    free(c);
}

/* ---- commands ---- */

static int wait_for(struct enqueue *e, cl_event event)
{
    uint32_t *longer;
    cl_event *held;

    held = realloc(e->held, (e->held_count + 1) * sizeof(cl_event));
    if (!held)
        return -ENOMEM;
    e->held = held;
    longer = malloc((e->wait_count + 1) * sizeof(*longer));
    if (!longer)
        return -ENOMEM;
    held[e->held_count++] = event;
    handle_use(event);
    memcpy(longer, e->wait, e->wait_count * sizeof(*longer));
    longer[e->wait_count++] = event->object.id;
    if (e->wait != e->small_wait)
        free(e->wait);
    e->wait = longer;
    return 0;
}

/* Returns a holder that is not lost, preferably the one that wrote the piece. */
static const struct holder *choose(const struct piece *piece)
{
    for (unsigned i = 0; i < piece->holder_count; i++) {
        if (piece->holders[i].node->alive)
            return &piece->holders[i];
    }
    return NULL;
}

struct wire_region part_region(const struct part *part)
{
    static const enum wire_region_kind kinds[] = {
        [PART_PIECE] = WIRE_PIECE, [PART_RECT] = WIRE_RECT, [PART_IMAGE] = WIRE_IMAGE};
    struct wire_region region = {.kind = kinds[part->kind], .size = part->bytes};

    memcpy(region.origin, part->origin, sizeof(region.origin));
    memcpy(region.region, part->region, sizeof(region.region));
    memcpy(region.pitch, part->pitch, sizeof(region.pitch));
    return region;
}

/* Sends a part from another node to the command's, as the command of that event. Under the lock of the source's
 * root. */
static int transfer_between(struct enqueue *e, const struct part *from, struct node *holder, const uint32_t *after,
                            uint32_t after_count, const struct part *to, cl_event event)
{
    struct wire_migrate_out migrate_out = {.memory = from->memory->object.id,
                                           .peer = e->node->peer,
                                           .event = event->object.id,
                                           .part = part_region(from),
                                           .after = after,
                                           .after_count = after_count};
    struct wire_migrate_in in = {.queue = e->queue->object.id,
                                 .memory = to->memory->object.id,
                                 .event = event->object.id,
                                 .peer = holder->peer,
                                 .part = part_region(to),
                                 .wait = e->wait,
                                 .wait_count = e->wait_count};

    if (coherence_watched())
        atomic_store(&memory_root(to->memory)->written, WRITTEN_ALL); /* the node's own memory */
    wire_put_migrate_in(stream_begin(e->node), &in);
    if (!e->node->batch.failed) { /* else contents would wait there for no command */
        wire_put_migrate_out(&holder->batch, &migrate_out);
        observer_met(holder, e->node);
        stream_finish(holder, STREAM_SOON); /* if the holder is lost, the other node notices */
    }
    return stream_end(e->node, STREAM_SOON);
}

struct part part_of(cl_mem root, size_t start, size_t end)
{
    const size_t zero[3] = {0};
    size_t region[3];

    if (root->type == CL_MEM_OBJECT_BUFFER)
        return part_piece(root, start, end - start);
    image_extent(&root->desc, region);
    return part_image(root, zero, region);
}

/* Sets what the holder has to wait for, and returns how many events that are. Events that were over when its node moved
 * may be unknown there, so they are left out. */
static uint32_t ready_after(const struct holder *holder, uint32_t *after)
{
    if (!holder->ready || atomic_load(&holder->ready->status) == CL_COMPLETE)
        return 0;
    *after = event_id(holder->node, holder->ready);
    return 1;
}

static int migrate(struct enqueue *e, cl_mem root, struct piece *piece)
{
    const struct holder *from = choose(piece);
    const struct part part = part_of(root, piece->start, piece->end);
    uint32_t after, after_count;
    cl_event event;
    int error;

    if (!from)
        return -ECONNRESET;
    after_count = ready_after(from, &after);
    event = event_new(root->context, e->queue, CL_COMMAND_MIGRATE_MEM_OBJECTS);
    if (!event)
        return -ENOMEM;
    error = transfer_between(e, &part, from->node, &after, after_count, &part, event);
    if (error)
        event_unsent(event);
    else
        error = wait_for(e, event);
    if (!error && !add_holder(piece, e->node, event, true))
        error = -ENOMEM;
    handle_release(event, WIRE_EVENT, 0);
    return error;
}

static int piece_before(struct enqueue *e, cl_mem root, struct piece *piece)
{
    const struct holder *own = find_holder(piece, e->node);

    if (piece->anything)
        return 0;
    if (!own)
        return migrate(e, root, piece);
    if (own->migrated && own->ready && atomic_load(&own->ready->status) > CL_COMPLETE)
        return wait_for(e, own->ready);
    return 0;
}

static bool touches(const struct piece *piece, size_t offset, size_t size)
{
    return piece->start < offset + size && offset < piece->end;
}

/* Converts a range of a memory object to its root's. */
static void locate(cl_mem root, cl_mem memory, size_t *offset, size_t *size)
{
    if (root->type != CL_MEM_OBJECT_BUFFER) {
        *offset = 0;
        *size = 1;
    } else if (memory->type != CL_MEM_OBJECT_BUFFER) { /* an image made from a buffer */
        *offset = 0;
        *size = root->size;
    } else {
        *offset += memory->origin;
    }
}

int coherence_before(struct enqueue *e, cl_mem memory, size_t offset, size_t size, unsigned use)
{
    cl_mem root = memory_root(memory);
    int error = 0;

    if (e->record_use)
        return e->record_use(e, memory, use);
    if (root->hosted)
        error = hostptr_before(e, root, use);
    if (!error && e->counted && !e->used)
        error = e->node->observer->uses(e, root, use, false);
    if (error || !root->coherence || e->queue->settled)
        return error;
    if (use & USE_WRITE)
        error = enqueue_need_event(e, CL_COMMAND_MARKER);
    if (error || !(use & USE_READ))
        return error;
    locate(root, memory, &offset, &size);
    mutex_lock(&root->lock);
    if (!split(root->coherence, offset) || !split(root->coherence, offset + size))
        error = -ENOMEM;
    for (unsigned i = 0; !error && i < root->coherence->count; i++) {
        struct piece *piece = &root->coherence->pieces[i];

        if (touches(piece, offset, size))
            error = piece_before(e, root, piece);
    }
    mutex_unlock(&root->lock);
    return error;
}

static void wrote(struct enqueue *e, cl_mem root, size_t offset, size_t size)
{
    mutex_lock(&root->lock);
    if (split(root->coherence, offset) && split(root->coherence, offset + size)) {
        for (unsigned i = 0; i < root->coherence->count; i++) {
            struct piece *piece = &root->coherence->pieces[i];

            if (!touches(piece, offset, size))
                continue;
            holders_free(piece);
            piece->anything = false;
            add_holder(piece, e->node, e->event, false);
        }
        join(root->coherence);
    }
    mutex_unlock(&root->lock);
}

PER_PROCESS atomic_int coherence_watching;

void coherence_watch(bool on)
{
    atomic_fetch_add(&coherence_watching, on ? 1 : -1);
}

void coherence_note_all(cl_mem memory)
{
    cl_mem root = memory_root(memory);
    size_t offset = 0, size = memory->size;

    locate(root, memory, &offset, &size);
    written_note(root, offset, size);
    atomic_store(&memory->ever.all, true);
    if (root->svm_remote)
        svm_remote_written((uint8_t *)root->host_pointer + offset, size);
}

void coherence_after(struct enqueue *e, cl_mem memory, size_t offset, size_t size)
{
    cl_mem root = memory_root(memory);
    struct written *more;

    if (coherence_watched() && !e->record_use)
        atomic_store(&root->written, WRITTEN_ALL);
    if (e->record_use)
        return;
    locate(root, memory, &offset, &size);
    written_note(root, offset, size);
    if (root->svm_remote)
        svm_remote_written((uint8_t *)root->host_pointer + offset, size);
    if (!root->coherence || e->queue->settled)
        return;
    more = realloc(e->written, (e->written_count + 1) * sizeof(*more));
    if (!more) {
        wrote(e, root, offset, size);
        return;
    }
    e->written = more;
    more[e->written_count++] = (struct written){root, offset, size};
}

size_t coherence_part(cl_mem root, size_t start, struct node **node)
{
    const struct coherence *c = root->coherence;
    size_t end = extent(root);

    *node = root->context->node;
    if (!c)
        return end;
    mutex_lock(&root->lock);
    for (unsigned i = 0; i < c->count; i++) {
        const struct holder *holder = choose(&c->pieces[i]);

        if (c->pieces[i].start > start || start >= c->pieces[i].end)
            continue;
        end = c->pieces[i].end;
        if (holder)
            *node = holder->node;
    }
    mutex_unlock(&root->lock);
    return end;
}

int coherence_each(cl_mem root, const struct node *node, int (*visit)(void *, cl_mem, size_t, size_t), void *argument)
{
    const struct coherence *c = root->coherence;
    int error = 0;

    if (!c)
        return written_each(root, visit, argument);
    for (unsigned i = 0; i < c->count && !error; i++) {
        if (!c->pieces[i].anything && find_holder(&c->pieces[i], node))
            error = visit(argument, root, c->pieces[i].start, c->pieces[i].end);
    }
    return error;
}

void coherence_written(cl_mem root, size_t offset, size_t size, struct node *node)
{
    struct enqueue e = {.node = node};

    if (root->coherence)
        wrote(&e, root, offset, size);
}

void coherence_sent(struct enqueue *e)
{
    for (unsigned i = 0; i < e->written_count; i++)
        wrote(e, e->written[i].root, e->written[i].offset, e->written[i].size);
    e->written_count = 0;
}

/* ---- parts, and copies between parts ---- */

struct part part_piece(cl_mem buffer, size_t offset, size_t size)
{
    return (struct part){
        .kind = PART_PIECE, .memory = buffer, .bytes = size, .offset = offset, .size = size, .origin = {offset}};
}

struct part part_rect(cl_mem buffer, const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch)
{
    return (struct part){.kind = PART_RECT,
                         .memory = buffer,
                         .bytes = region[0] * region[1] * region[2],
                         .offset = origin[2] * slice_pitch + origin[1] * row_pitch + origin[0],
                         .size = (region[2] - 1) * slice_pitch + (region[1] - 1) * row_pitch + region[0],
                         .origin = {origin[0], origin[1], origin[2]},
                         .region = {region[0], region[1], region[2]},
                         .pitch = {row_pitch, slice_pitch}};
}

struct part part_image(cl_mem image, const size_t *origin, const size_t *region)
{
    return (struct part){.kind = PART_IMAGE,
                         .memory = image,
                         .bytes = region[0] * region[1] * region[2] * image->element_size,
                         .size = image->size,
                         .origin = {origin[0], origin[1], origin[2]},
                         .region = {region[0], region[1], region[2]}};
}

struct part part_address(const void *address, size_t size)
{
    return (struct part){.kind = PART_ADDRESS, .address = (uintptr_t)address, .bytes = size};
}

int part_before(struct enqueue *e, const struct part *part, unsigned use)
{
    /* the bytes between the rows, or around the region, are kept */
    if (use & USE_WRITE && part->kind != PART_PIECE)
        use |= USE_READ;
    return coherence_before(e, part->memory, part->offset, part->size, use);
}

void part_after(struct enqueue *e, const struct part *part)
{
    coherence_after(e, part->memory, part->offset, part->size);
}

enum { MOST_AFTER = 16 };

/* Returns the only other node that has all of a part, and the events after which it does; NULL if the part has to be
 * put together here. */
static struct node *only_holder(const struct enqueue *e, cl_mem root, const struct part *part, uint32_t *after,
                                uint32_t *after_count)
{
    const struct coherence *c = root->coherence;
    struct node *node = NULL;
    size_t offset = part->offset, size = part->size;

    locate(root, part->memory, &offset, &size);
    for (unsigned i = 0; i < c->count; i++) {
        const struct piece *piece = &c->pieces[i];
        const struct holder *holder;

        if (!touches(piece, offset, size))
            continue;
        if (piece->anything || find_holder(piece, e->node))
            return NULL;
        holder = node ? find_holder(piece, node) : choose(piece);
        if (!holder || *after_count == MOST_AFTER)
            return NULL;
        node = holder->node;
        *after_count += ready_after(holder, &after[*after_count]);
    }
    return node;
}

#define SHARE ((size_t)1 << 20)

/* Returns some of the rows or slices of a part; of a piece, as large a fraction of its bytes. */
static struct part part_share(const struct part *part, int axis, size_t all, size_t first, size_t count)
{
    size_t origin[3], region[3];

    if (part->kind == PART_PIECE)
        return part_piece(part->memory, part->offset + part->bytes / all * first, part->bytes / all * count);
    memcpy(origin, part->origin, sizeof(origin));
    memcpy(region, part->region, sizeof(region));
    origin[axis] += first;
    region[axis] = count;
    return part->kind == PART_RECT ? part_rect(part->memory, origin, region, part->pitch[0], part->pitch[1])
                                   : part_image(part->memory, origin, region);
}

/* Sends a part that has to be packed in shares, so that one is packed while another is on its way and a third is
 * unpacked. The last one is the command, and waits for the others. */
static int copy_between(struct enqueue *e, const struct part *from, struct node *holder, const uint32_t *after,
                        uint32_t after_count, const struct part *to)
{
    const size_t *region = from->kind == PART_PIECE ? to->region : from->region;
    const int axis = region[2] > 1 ? 2 : 1;
    const size_t all = from->kind == PART_PIECE && to->kind == PART_PIECE ? 1 : region[axis];
    const size_t wanted = (from->bytes + SHARE - 1) / SHARE, shares = wanted < all ? wanted : all;
    const size_t most = (all + shares - 1) / shares;
    int error = 0;

    for (size_t at = 0; !error && at < all; at += most) {
        const size_t count = all - at < most ? all - at : most;
        const bool last = at + count == all;
        const struct part source_share = all == 1 ? *from : part_share(from, axis, all, at, count);
        const struct part target_share = all == 1 ? *to : part_share(to, axis, all, at, count);
        cl_event event = last ? e->event : event_new(e->queue->context, e->queue, CL_COMMAND_COPY_BUFFER_RECT);

        if (!event)
            return -ENOMEM;
        error = transfer_between(e, &source_share, holder, after, after_count, &target_share, event);
        if (error)
            event_unsent(event);
        else if (!last)
            error = wait_for(e, event);
        if (!last)
            handle_release(event, WIRE_EVENT, 0);
    }
    return error;
}

int part_copy(struct enqueue *e, const struct part *from, const struct part *to, bool *sent)
{
    cl_mem root = memory_root(from->memory);
    int error = part_before(e, to, USE_WRITE);
    uint32_t after[MOST_AFTER], after_count = 0;
    struct node *holder;

    *sent = false;
    if (!error && root->coherence && !e->record_use) {
        mutex_lock(&root->lock);
        holder = only_holder(e, root, from, after, &after_count);
        if (holder)
            error = copy_between(e, from, holder, after, after_count, to);
        mutex_unlock(&root->lock);
        *sent = holder && !error;
    }
    if (!error && !*sent)
        error = part_before(e, from, USE_READ);
    if (!error)
        part_after(e, to);
    return error;
}
