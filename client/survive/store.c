/*
 * Contents of memory objects at the application's host. First it is planned what is to be taken, so that there is room
 * for all of it before anything is moved: a file gets its blocks at once, and a full disk is an error here, not a
 * signal later.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/core/session.h"
#include "client/data/coherence.h"
#include "client/data/contents.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"
#include "client/memory/svm.h"
#include "client/survive/moving.h"
#include "client/survive/room.h"
#include "client/survive/store.h"

struct list {
    struct stored *pieces;
    unsigned count, room;
};

struct store {
    struct room room;
    struct list list;  /* what is to be taken, or was */
    size_t list_bytes; /* of these */
    struct list ahead; /* what was read ahead, by memory object and place; at is for the list's, too */
    unsigned sorted;   /* so many of them are in that order */
    bool is_ahead;     /* what is planned goes there */
};

struct store *store_new(const char *directory)
{
    struct store *store = calloc(1, sizeof(*store));

    if (store && room_begin(&store->room, directory))
        return store;
    free(store);
    return NULL;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    room_end(&store->room);
    free(store->list.pieces);
    free(store->ahead.pieces);
    free(store);
}

uint8_t *store_open(struct store *store)
{
    return room_map(&store->room);
}

/* Memory that is not a file's stays. */
void store_close(struct store *store)
{
    if (store->room.fd >= 0)
        room_unmap(&store->room);
}

size_t store_bytes(const struct store *store)
{
    return store->list_bytes;
}

const struct stored *store_piece(const struct store *store, unsigned index)
{
    return index < store->list.count ? &store->list.pieces[index] : NULL;
}

/* ---- what is to be taken ---- */

struct planning {
    struct store *store;
    const struct node *node;
};

static bool is_same(const struct stored *piece, cl_mem root, size_t start, size_t end)
{
    return piece->memory == root && piece->number == root->object.id && piece->start == start && piece->end == end;
}

static bool is_planned(const struct list *list, unsigned from, cl_mem root, size_t start, size_t end)
{
    for (unsigned i = list->count; i-- > from;) {
        if (is_same(&list->pieces[i], root, start, end))
            return true;
    }
    return false;
}

static int by_place(const void *one, const void *other)
{
    const struct stored *a = one, *b = other;

    if (a->memory != b->memory)
        return (uintptr_t)a->memory < (uintptr_t)b->memory ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static struct stored *find_ahead(const struct store *store, cl_mem root, size_t start, size_t end)
{
    const struct stored wanted = {.memory = root, .number = root->object.id, .start = start, .end = end};

    return store->sorted ? bsearch(&wanted, store->ahead.pieces, store->sorted, sizeof(wanted), by_place) : NULL;
}

static struct stored *list_add(struct list *list)
{
    struct stored *more;

    if (list->count == list->room) {
        more = realloc(list->pieces, (list->room * 2 + 16) * sizeof(*more));
        if (!more)
            return NULL;
        list->pieces = more;
        list->room = list->room * 2 + 16;
    }
    return &list->pieces[list->count++];
}

static size_t room_for(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static int plan_piece(void *argument, cl_mem root, size_t start, size_t end)
{
    const struct planning *planning = argument;
    struct store *store = planning->store;
    struct list *list = store->is_ahead ? &store->ahead : &store->list;
    struct stored *ahead = find_ahead(store, root, start, end), *piece;

    if (root->coherence && is_planned(list, store->is_ahead ? store->sorted : 0, root, start, end))
        return 0;
    if (store->is_ahead && ahead) { /* once more */
        ahead->here = false;
        ahead->node = (struct node *)planning->node;
        return 0;
    }
    piece = list_add(list);
    if (!piece)
        return -ENOMEM;
    *piece = (struct stored){.memory = root,
                             .number = root->object.id,
                             .start = start,
                             .end = end,
                             .at = ahead ? ahead->at : store->room.size,
                             .bytes = part_of(root, start, end).bytes,
                             .here = ahead && ahead->here && !(atomic_load(&root->written) & WRITTEN_STORE),
                             .node = (struct node *)planning->node};
    if (!ahead)
        store->room.size += room_for(piece->bytes);
    if (!store->is_ahead)
        store->list_bytes += room_for(piece->bytes);
    return 0;
}

int store_plan(struct store *store, const struct node *node, struct object *const *objects, unsigned count)
{
    struct planning planning = {store, node};
    int error = 0;

    for (unsigned i = 0; !error && i < count; i++) {
        if (has_contents(objects[i]))
            error = coherence_each((cl_mem)objects[i], node, plan_piece, &planning);
    }
    return error;
}

/* Pages that nobody has touched are not there. */
int store_plan_shared(struct store *store, cl_mem memory)
{
    struct planning planning = {.store = store};
    size_t at = 0, end;
    int error = 0;

    if (!arena_has_all(memory->arena, memory->size))
        return plan_piece(&planning, memory, 0, memory->size);
    for (; !error && at < memory->size && arena_next_data(memory->arena, memory->size, &at, &end); at = end)
        error = plan_piece(&planning, memory, at, end);
    return error;
}

static int plan_place(struct store *store, const struct node *node, const struct svm_place *place)
{
    size_t from, to;

    for (unsigned at = 0; svm_remote_next(place, &at, &from, &to);) {
        struct stored *piece = list_add(&store->list);

        if (!piece)
            return -ENOMEM;
        *piece = (struct stored){.address = place->memory + from,
                                 .number = place->context,
                                 .at = store->room.size,
                                 .bytes = to - from,
                                 .node = (struct node *)node};
        store->room.size += room_for(piece->bytes);
        store->list_bytes += room_for(piece->bytes);
    }
    return 0;
}

int store_plan_svm(struct store *store, const struct node *node)
{
    struct svm_place place;
    int error = 0;

    for (unsigned i = 0; !error && svm_remote_at(node, i, &place); i++) {
        const struct object *context = handle_find(WIRE_CONTEXT, place.context);

        if (!place.chosen || !context || atomic_load(&context->uses) < 0)
            return -ENOTSUP;
        if (!svm_remote_hold(&place))
            continue;
        error = plan_place(store, node, &place);
        svm_remote_unhold(&place);
    }
    return error;
}

/* ---- moving it ---- */

struct moving {
    struct store *store;
    struct contents contents;
    bool writes;
    char *reason;
    size_t reason_size;
};

static int explain(struct moving *m, int error)
{
    const bool alive = m->contents.member->alive;

    if (alive)
        snprintf(m->reason, m->reason_size, "contents cannot be %s: error %d", m->writes ? "given back" : "taken",
                 error);
    else
        snprintf(m->reason, m->reason_size, "a worker was lost while contents were on their way");
    if (!alive)
        return -ECONNRESET;
    return error > 0 ? -EIO : error;
}

/* What is under way uses the store's memory. */
static int moving_end(struct moving *m, int error)
{
    const int end = contents_end(&m->contents, 0);

    return !error && end ? explain(m, end) : error;
}

static int move_extent(struct moving *m, const struct extent *extent, uint8_t *bytes)
{
    const int error =
        m->writes ? contents_bring(&m->contents, extent, bytes) : contents_take(&m->contents, extent, bytes);

    return error ? explain(m, error) : 0;
}

static struct extent extent_stored(const struct stored *piece)
{
    return piece->address ? extent_at((uintptr_t)piece->address, piece->bytes)
                          : extent_of(piece->memory, piece->start, piece->end);
}

static int take_list(struct store *store, struct list *list, char *reason, size_t size)
{
    struct moving m = {.store = store, .reason = reason, .reason_size = size};
    int error = room_take(&store->room, reason, size);

    for (unsigned i = 0; !error && i < list->count; i++) {
        struct stored *piece = &list->pieces[i];
        const struct extent extent = extent_stored(piece);

        if (piece->here)
            continue;
        if (!piece->node) {
            memory_copy_open(store->room.bytes + piece->at, piece->memory->arena + piece->start, piece->bytes);
            continue;
        }
        if (m.contents.member != piece->node)
            error = moving_end(&m, 0);
        m.contents.member = piece->node;
        if (!error)
            error = move_extent(&m, &extent, store->room.bytes + piece->at);
    }
    return moving_end(&m, error);
}

int store_take(struct store *store, char *reason, size_t size)
{
    const int error = take_list(store, &store->list, reason, size);

    if (error)
        room_drop(&store->room);
    return error;
}

size_t store_missing(const struct store *store)
{
    const struct list *list = store->is_ahead ? &store->ahead : &store->list;
    size_t bytes = 0;

    for (unsigned i = 0; i < list->count; i++)
        bytes += list->pieces[i].here ? 0 : list->pieces[i].bytes;
    return bytes;
}

/* ---- ahead ---- */

void store_plan_ahead(struct store *store, bool on)
{
    store->is_ahead = on;
    if (on || !store->ahead.count)
        return;
    qsort(store->ahead.pieces, store->ahead.count, sizeof(*store->ahead.pieces), by_place);
    store->sorted = store->ahead.count;
}

bool store_has_ahead(const struct store *store, const struct _cl_mem *memory)
{
    unsigned low = 0, high = store->sorted;

    while (low < high) {
        const unsigned middle = (low + high) / 2;

        if ((uintptr_t)store->ahead.pieces[middle].memory < (uintptr_t)memory)
            low = middle + 1;
        else
            high = middle;
    }
    return low < store->sorted && store->ahead.pieces[low].memory == memory;
}

int store_take_ahead(struct store *store, char *reason, size_t size)
{
    int error = take_list(store, &store->ahead, reason, size);

    for (unsigned i = 0; !error && i < store->ahead.count; i++)
        store->ahead.pieces[i].here = true;
    return error;
}

void store_drop_ahead(struct store *store)
{
    room_drop(&store->room);
    store->ahead.count = store->sorted = 0;
    store->room.size = 0;
}

/* ---- back ---- */

static int give_piece(void *argument, cl_mem root, size_t start, size_t end)
{
    struct moving *m = argument;
    int error = 0;

    for (unsigned i = 0; !error && i < m->store->list.count; i++) {
        const struct stored *piece = &m->store->list.pieces[i];
        const size_t first = start > piece->start ? start : piece->start, last = end < piece->end ? end : piece->end;
        struct extent extent;

        if (piece->memory != root || piece->number != root->object.id || first >= last)
            continue;
        extent = extent_of(root, first, last);
        error = move_extent(m, &extent, m->store->room.bytes + piece->at + (first - piece->start));
    }
    return error;
}

int store_give(struct store *store, const struct node *node, struct node *member, struct object *const *objects,
               unsigned count, char *reason, size_t size)
{
    struct moving m = {
        .store = store, .contents = {.member = member}, .writes = true, .reason = reason, .reason_size = size};
    int error = 0;

    if (store->room.size && !store_open(store))
        return snprintf(reason, size, "what was stored cannot be read: %s", strerror(errno)), -EIO;
    for (unsigned i = 0; !error && i < count; i++) {
        if (has_contents(objects[i]))
            error = coherence_each((cl_mem)objects[i], node, give_piece, &m);
    }
    for (unsigned i = 0; !error && i < store->list.count; i++) {
        const struct stored *piece = &store->list.pieces[i];
        const struct extent extent = extent_stored(piece);

        if (piece->address && piece->node == node)
            error = move_extent(&m, &extent, store->room.bytes + piece->at);
    }
    error = moving_end(&m, error);
    store_close(store);
    return error;
}
