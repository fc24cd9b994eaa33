/*
 * Which nodes have the newest contents of a memory object, in a context of several nodes: each extent (range) of it has
 * a list of owners, kept in the order in which the application enqueues. A command that reads what its node
 * does not have is preceded by a migration, which goes from worker to worker when the command's turn has come. OpenCL
 * makes the application order commands that use the same contents, so nothing else has to be waited for, except a
 * migration for another queue's command that is still under way (the owner's ready event).
 */
#include <errno.h>
#include <string.h>

#include "client/core/observer.h"
#include "client/core/per_process.h"
#include "client/core/stream.h"
#include "client/data/coherence.h"
#include "client/memory/memory.h"
#include "client/memory/svm.h"

struct owner {
    struct node *node;
    cl_event ready; /* the contents are there after this event; NULL: they are there */
    bool migrated;
};

struct extent {
    size_t start, end;
    struct owner *owners;
    unsigned owner_count;
    bool anything; /* never written: any node's contents will do */
};

struct coherence {
    struct extent *extents; /* in order, without gaps */
    unsigned count;
    size_t end;
};

/* ---- extents: under the root's lock ---- */

static void owners_free(struct extent *extent)
{
    for (unsigned i = 0; i < extent->owner_count; i++) {
        if (extent->owners[i].ready)
            handle_drop(extent->owners[i].ready);
    }
    free(extent->owners);
    extent->owners = NULL;
    extent->owner_count = 0;
}

static bool add_owner(struct extent *extent, struct node *node, cl_event ready, bool migrated)
{
    struct owner *more = realloc(extent->owners, (extent->owner_count + 1) * sizeof(*more));

    if (!more)
        return false;
    extent->owners = more;
    more[extent->owner_count++] = (struct owner){node, ready, migrated};
    if (ready)
        handle_use(ready);
    return true;
}

static struct owner *find_owner(const struct extent *extent, const struct node *node)
{
    for (unsigned i = 0; i < extent->owner_count; i++) {
        if (extent->owners[i].node == node)
            return &extent->owners[i];
    }
    return NULL;
}

/* Splits the extent that contains `at`, so that an extent begins there. */
static bool split(struct coherence *c, size_t at)
{
    struct extent *more, *extent, *rest;
    unsigned i = 0;

    if (!at || at >= c->end)
        return true;
    while (c->extents[i].end <= at)
        i++;
    if (c->extents[i].start == at)
        return true;
    more = realloc(c->extents, (c->count + 1) * sizeof(*more));
    if (!more)
        return false;
    c->extents = more;
    memmove(more + i + 1, more + i, (c->count - i) * sizeof(*more));
    c->count++;
    extent = &more[i];
    rest = &more[i + 1];
    rest->owners = NULL;
    rest->owner_count = 0;
    for (unsigned h = 0; h < extent->owner_count; h++) {
        if (!add_owner(rest, extent->owners[h].node, extent->owners[h].ready, extent->owners[h].migrated))
            return false;
    }
    extent->end = rest->start = at;
    return true;
}

/* Joins neighbouring extents that one command wrote. */
static void join(struct coherence *c)
{
    unsigned to = 0;

    for (unsigned i = 1; i < c->count; i++) {
        struct extent *last = &c->extents[to], *next = &c->extents[i];

        if (last->owner_count == 1 && next->owner_count == 1 && last->anything == next->anything &&
            last->owners[0].node == next->owners[0].node && last->owners[0].ready == next->owners[0].ready) {
            last->end = next->end;
            owners_free(next);
        } else {
            c->extents[++to] = *next;
        }
    }
    c->count = to + 1;
}

/* ---- memory objects ---- */

/* An image is one extent; its size does not matter. */
static size_t root_size(cl_mem root)
{
    return root->type == CL_MEM_OBJECT_BUFFER ? root->size : 1;
}

struct node *memory_home(cl_mem memory)
{
    cl_context context = memory->context;

    for (unsigned i = 0; i < context->node_count; i++) {
        if (!node_set_has(&memory->lacks, context->nodes[i]->index))
            return context->nodes[i];
    }
    return context->node;
}

int coherence_open(cl_mem memory, bool contents)
{
    struct coherence *c;

    if (contents && !memory->parent)
        written_note(memory, 0, root_size(memory), false);
    memory->epoch.filled = contents;
    observer_made(memory);
    if (memory->context->node_count < 2 || memory->parent || memory->arena)
        return 0;
    c = calloc(1, sizeof(*c));
    if (c)
        c->extents = calloc(1, sizeof(*c->extents));
    if (!c || !c->extents) {
        free(c);
        return -ENOMEM;
    }
    c->end = root_size(memory);
    c->count = 1;
    c->extents[0] = (struct extent){.end = c->end, .anything = !contents};
    memory->coherence = c;
    return contents && !add_owner(&c->extents[0], memory_home(memory), NULL, false) ? -ENOMEM : 0;
}

void coherence_close(cl_mem memory)
{
    struct coherence *c = memory->coherence;

    for (unsigned i = 0; c && i < c->count; i++)
        owners_free(&c->extents[i]);
    if (c)
        free(c->extents);
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

/* Returns an owner that is not lost, preferably the one that wrote the extent. */
static const struct owner *choose(const struct extent *extent)
{
    for (unsigned i = 0; i < extent->owner_count; i++) {
        if (extent->owners[i].node->alive)
            return &extent->owners[i];
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
static int transfer_between(struct enqueue *e, const struct part *from, struct node *owner, const uint32_t *after,
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
                                 .peer = owner->peer,
                                 .part = part_region(to),
                                 .wait = e->wait,
                                 .wait_count = e->wait_count};

    if (coherence_watched())
        atomic_store(&memory_root(to->memory)->written, WRITTEN_ALL); /* the node's own memory */
    wire_put_migrate_in(stream_begin(e->node), &in);
    if (!e->node->batch.failed) { /* else contents would wait there for no command */
        wire_put_migrate_out(&owner->batch, &migrate_out);
        observer_met(owner, e->node);
        stream_finish(owner, STREAM_SOON); /* if the owner is lost, the other node notices */
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

/* Sets what the owner has to wait for, and returns how many events that are. Events that were over when its node moved
 * may be unknown there, so they are left out. */
static uint32_t ready_after(const struct owner *owner, uint32_t *after)
{
    if (!owner->ready || atomic_load(&owner->ready->status) == CL_COMPLETE)
        return 0;
    *after = event_id(owner->node, owner->ready);
    return 1;
}

static int migrate(struct enqueue *e, cl_mem root, struct extent *extent)
{
    const struct owner *from = choose(extent);
    const struct part part = part_of(root, extent->start, extent->end);
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
    if (!error && !add_owner(extent, e->node, event, true))
        error = -ENOMEM;
    handle_release(event, WIRE_EVENT, 0);
    return error;
}

static int extent_before(struct enqueue *e, cl_mem root, struct extent *extent)
{
    const struct owner *own = find_owner(extent, e->node);

    if (extent->anything)
        return 0;
    if (!own)
        return migrate(e, root, extent);
    if (own->migrated && own->ready && atomic_load(&own->ready->status) > CL_COMPLETE)
        return wait_for(e, own->ready);
    return 0;
}

static bool touches(const struct extent *extent, size_t offset, size_t size)
{
    return extent->start < offset + size && offset < extent->end;
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
        struct extent *extent = &root->coherence->extents[i];

        if (touches(extent, offset, size))
            error = extent_before(e, root, extent);
    }
    mutex_unlock(&root->lock);
    return error;
}

static void wrote(struct enqueue *e, cl_mem root, size_t offset, size_t size)
{
    mutex_lock(&root->lock);
    if (split(root->coherence, offset) && split(root->coherence, offset + size)) {
        for (unsigned i = 0; i < root->coherence->count; i++) {
            struct extent *extent = &root->coherence->extents[i];

            if (!touches(extent, offset, size))
                continue;
            owners_free(extent);
            extent->anything = false;
            add_owner(extent, e->node, e->event, false);
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
    written_note(root, offset, size, false);
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
    written_note(root, offset, size, e->unmaps);
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
    size_t end = root_size(root);

    *node = memory_home(root);
    if (!c)
        return end;
    mutex_lock(&root->lock);
    for (unsigned i = 0; i < c->count; i++) {
        const struct owner *owner = choose(&c->extents[i]);

        if (c->extents[i].start > start || start >= c->extents[i].end)
            continue;
        end = c->extents[i].end;
        if (owner)
            *node = owner->node;
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
        if (!c->extents[i].anything && find_owner(&c->extents[i], node))
            error = visit(argument, root, c->extents[i].start, c->extents[i].end);
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
static struct node *only_owner(const struct enqueue *e, cl_mem root, const struct part *part, uint32_t *after,
                               uint32_t *after_count)
{
    const struct coherence *c = root->coherence;
    struct node *node = NULL;
    size_t offset = part->offset, size = part->size;

    locate(root, part->memory, &offset, &size);
    for (unsigned i = 0; i < c->count; i++) {
        const struct extent *extent = &c->extents[i];
        const struct owner *owner;

        if (!touches(extent, offset, size))
            continue;
        if (extent->anything || find_owner(extent, e->node))
            return NULL;
        owner = node ? find_owner(extent, node) : choose(extent);
        if (!owner || *after_count == MOST_AFTER)
            return NULL;
        node = owner->node;
        *after_count += ready_after(owner, &after[*after_count]);
    }
    return node;
}

#define SHARE ((size_t)1 << 20)

/* Returns some of the rows or slices of a part; of an extent, as large a fraction of its bytes. */
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
static int copy_between(struct enqueue *e, const struct part *from, struct node *owner, const uint32_t *after,
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
        error = transfer_between(e, &source_share, owner, after, after_count, &target_share, event);
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
    struct node *owner;

    *sent = false;
    if (!error && root->coherence && !e->record_use) {
        mutex_lock(&root->lock);
        owner = only_owner(e, root, from, after, &after_count);
        if (owner)
            error = copy_between(e, from, owner, after, after_count, to);
        mutex_unlock(&root->lock);
        *sent = owner && !error;
    }
    if (!error && !*sent)
        error = part_before(e, from, USE_READ);
    if (!error)
        part_after(e, to);
    return error;
}
