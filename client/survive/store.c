/*
 * Contents of memory objects, saved at the application's host. What is to be taken is planned first, so that there is
 * room for all of it before anything is copied.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_mark.h"
#include "client/core/session.h"
#include "client/data/coherence.h"
#include "client/data/contents.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"
#include "client/memory/svm.h"
#include "client/survive/moving.h"
#include "client/survive/store.h"

/* The store's memory, which may grow. A file gets its blocks at once: a full disk is an error then, not a SIGBUS
 * later. It stays mapped until the store ends, since the program may close its descriptor. */
struct room {
    char *directory; /* NULL: in memory */
    int fd;          /* until the contents are complete */
    struct file_mark file;
    uint8_t *bytes; /* NULL: not mapped */
    size_t size, mapped;
};

struct store {
    struct room room;
    struct pause *pause;
    struct stored *pieces; /* the first `sorted` by object and start, then in the order of planning */
    unsigned count, most, sorted;
};

/* ---- memory for the contents ---- */

static bool room_begin(struct room *room, const char *directory)
{
    *room = (struct room){.fd = -1};
    if (directory && *directory)
        room->directory = strdup(directory);
    return !directory || !*directory || room->directory;
}

static void room_close(struct room *room)
{
    if (file_mark_fits(room->fd, &room->file))
        close(room->fd);
    room->fd = -1;
}

static void room_drop(struct room *room)
{
    if (room->bytes)
        munmap(room->bytes, room->mapped);
    room->bytes = NULL;
    room->mapped = 0;
    room_close(room);
}

static void room_end(struct room *room)
{
    room_drop(room);
    free(room->directory);
}

static uint8_t *room_map(struct room *room)
{
    void *bytes;

    if (room->mapped == room->size)
        return room->bytes;
    if (room->bytes)
        bytes = mremap(room->bytes, room->mapped, room->size, MREMAP_MAYMOVE);
    else
        bytes = mmap(NULL, room->size, PROT_READ | PROT_WRITE, room->fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
                     room->fd, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    room->bytes = bytes;
    room->mapped = room->size;
    madvise(bytes, room->size, MADV_DONTFORK); /* a forked child has another session */
    madvise(bytes, room->size, room->fd < 0 ? MADV_HUGEPAGE : MADV_DONTDUMP);
    return room->bytes;
}

static int open_file(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char path[PATH_MAX];

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (snprintf(path, sizeof(path), "%s/vocl-XXXXXX", directory) >= (int)sizeof(path))
        return errno = ENAMETOOLONG, -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static int refuse(char *reason, size_t size, int error, const char *what, const char *where)
{
    snprintf(reason, size, "%s%s: %s", what, where, strerror(-error));
    return error;
}

static int room_take(struct room *room, char *reason, size_t size)
{
    int error;

    if (!room->size)
        return 0;
    if (room->directory) {
        if (room->fd < 0 && !room->bytes) {
            room->fd = open_file(room->directory);
            if (!file_mark_get(room->fd, &room->file))
                return refuse(reason, size, -errno, "no file for contents in ", room->directory);
        }
        if (!file_mark_fits(room->fd, &room->file))
            return refuse(reason, size, -EBADF, "the program has closed the file for contents in ", room->directory);
        error = posix_fallocate(room->fd, 0, (off_t)room->size);
        if (error)
            return refuse(reason, size, -error, "no room for the contents in ", room->directory);
    }
    if (!room_map(room))
        return refuse(reason, size, -errno, "no room for the contents in ",
                      room->directory ? room->directory : "memory");
    return 0;
}

/* ---- the store and its pieces ---- */

struct store *store_new(const char *directory, struct pause *pause)
{
    struct store *store = calloc(1, sizeof(*store));

    if (store && room_begin(&store->room, directory)) {
        store->pause = pause;
        return store;
    }
    free(store);
    return NULL;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    room_end(&store->room);
    free(store->pieces);
    free(store);
}

uint8_t *store_open(struct store *store)
{
    return room_map(&store->room);
}

/* A file's pages are no longer this process' memory, but the file's alone. */
void store_close(struct store *store)
{
    if (store->room.fd >= 0 && store->room.bytes)
        madvise(store->room.bytes, store->room.mapped, MADV_DONTNEED);
    room_close(&store->room);
}

static size_t room_for(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

const struct stored *store_piece(const struct store *store, unsigned *at)
{
    while (*at < store->count) {
        const struct stored *piece = &store->pieces[(*at)++];

        if (piece->planned)
            return piece;
    }
    return NULL;
}

size_t store_bytes(const struct store *store)
{
    const struct stored *piece;
    size_t bytes = 0;

    for (unsigned at = 0; (piece = store_piece(store, &at));)
        bytes += room_for(piece->bytes);
    return bytes;
}

static size_t sum(const struct store *store, bool missing)
{
    const struct stored *piece;
    size_t bytes = 0;

    for (unsigned at = 0; (piece = store_piece(store, &at));)
        bytes += missing && piece->here ? 0 : piece->bytes;
    return bytes;
}

size_t store_missing(const struct store *store)
{
    return sum(store, true);
}

size_t store_contents(const struct store *store)
{
    return sum(store, false);
}

/* ---- planning ---- */

struct planning {
    struct store *store;
    const struct node *node;
};

static int by_place(const void *one, const void *other)
{
    const struct stored *a = one, *b = other;

    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

void store_plan_begin(struct store *store)
{
    if (store->count)
        qsort(store->pieces, store->count, sizeof(*store->pieces), by_place);
    store->sorted = store->count;
    for (unsigned i = 0; i < store->count; i++)
        store->pieces[i].planned = false;
}

/* Finds a piece of an earlier plan or, in a context of several nodes, one that this plan has added for another node. */
static struct stored *find(const struct store *store, cl_mem root, size_t start, size_t end)
{
    const struct stored wanted = {.number = root->object.id, .start = start, .end = end};
    struct stored *found =
        store->sorted ? bsearch(&wanted, store->pieces, store->sorted, sizeof(wanted), by_place) : NULL;

    for (unsigned i = store->sorted; root->coherence && !found && i < store->count; i++)
        found = by_place(&store->pieces[i], &wanted) ? NULL : &store->pieces[i];
    return found;
}

bool store_has(const struct store *store, const struct _cl_mem *memory)
{
    unsigned low = 0, high = store->sorted;

    while (low < high) {
        const unsigned middle = (low + high) / 2;

        if (store->pieces[middle].number < memory->object.id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < store->sorted && store->pieces[low].number == memory->object.id;
}

static int add(struct store *store, const struct stored *piece)
{
    struct stored *more;

    if (store->count == store->most) {
        more = realloc(store->pieces, (store->most * 2 + 16) * sizeof(*more));
        if (!more)
            return -ENOMEM;
        store->pieces = more;
        store->most = store->most * 2 + 16;
    }
    more = &store->pieces[store->count++];
    *more = *piece;
    more->planned = true;
    more->at = store->room.size;
    store->room.size += room_for(piece->bytes);
    return 0;
}

static int plan_piece(void *argument, cl_mem root, size_t start, size_t end)
{
    const struct planning *planning = argument;
    struct stored *piece = find(planning->store, root, start, end);

    if (!piece)
        return add(planning->store, &(struct stored){.memory = root,
                                                     .number = root->object.id,
                                                     .start = start,
                                                     .end = end,
                                                     .bytes = part_of(root, start, end).bytes,
                                                     .node = (struct node *)planning->node});
    if (piece->planned)
        return 0;
    piece->planned = true;
    piece->here &= !(atomic_load(&root->written) & WRITTEN_STORE);
    piece->node = (struct node *)planning->node;
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

/* Skips pages that nobody has touched. */
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
    int error = 0;

    for (unsigned at = 0; !error && svm_remote_next(place, &at, &from, &to);)
        error = add(store, &(struct stored){.address = place->memory + from,
                                            .number = place->context,
                                            .bytes = to - from,
                                            .node = (struct node *)node});
    return error;
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

/* ---- taking ---- */

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

/* Waits for transfers under way, which use the store's memory. */
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

/* Takes a piece that is planned and not here. */
static int take_piece(struct moving *m, const struct stored *piece)
{
    uint8_t *bytes = m->store->room.bytes + piece->at;
    struct extent extent;
    int error = 0;

    if (!piece->node) {
        memory_copy_open(bytes, piece->memory->arena + piece->start, piece->bytes);
        pause_copied(m->store->pause, piece->bytes);
        return 0;
    }
    if (m->contents.member != piece->node)
        error = moving_end(m, 0);
    m->contents.member = piece->node;
    extent = extent_stored(piece);
    return error ? error : move_extent(m, &extent, bytes);
}

static void moved(void *argument, size_t bytes)
{
    pause_copied(argument, bytes);
}

int store_take(struct store *store, char *reason, size_t size)
{
    struct moving m = {
        .store = store, .contents = {.moved = moved, .argument = store->pause}, .reason = reason, .reason_size = size};
    int error = room_take(&store->room, reason, size);

    for (unsigned i = 0; !error && i < store->count; i++) {
        if (store->pieces[i].planned && !store->pieces[i].here)
            error = take_piece(&m, &store->pieces[i]);
    }
    error = moving_end(&m, error);
    for (unsigned i = 0; !error && i < store->count; i++)
        store->pieces[i].here |= store->pieces[i].planned;
    if (error)
        store_drop(store);
    return error;
}

void store_drop(struct store *store)
{
    room_drop(&store->room);
    store->count = store->sorted = 0;
    store->room.size = 0;
}

/* ---- giving back ---- */

static int give_piece(void *argument, cl_mem root, size_t start, size_t end)
{
    struct moving *m = argument;
    const struct stored *piece;
    int error = 0;

    for (unsigned at = 0; !error && (piece = store_piece(m->store, &at));) {
        const size_t first = start > piece->start ? start : piece->start, last = end < piece->end ? end : piece->end;
        struct extent extent;

        if (piece->address || piece->number != root->object.id || first >= last)
            continue;
        extent = extent_of(root, first, last);
        error = move_extent(m, &extent, m->store->room.bytes + piece->at + (first - piece->start));
    }
    return error;
}

int store_give(struct store *store, const struct node *node, struct node *member, struct object *const *objects,
               unsigned count, char *reason, size_t size)
{
    struct moving m = {.store = store,
                       .contents = {.member = member, .moved = moved, .argument = store->pause},
                       .writes = true,
                       .reason = reason,
                       .reason_size = size};
    const struct stored *piece;
    int error = 0;

    if (store->room.size && !store_open(store))
        return snprintf(reason, size, "what was stored cannot be read: %s", strerror(errno)), -EIO;
    for (unsigned i = 0; !error && i < count; i++) {
        if (has_contents(objects[i]))
            error = coherence_each((cl_mem)objects[i], node, give_piece, &m);
    }
    for (unsigned at = 0; !error && (piece = store_piece(store, &at));) {
        struct extent extent;

        if (!piece->address || piece->node != node)
            continue;
        extent = extent_stored(piece);
        error = move_extent(&m, &extent, store->room.bytes + piece->at);
    }
    error = moving_end(&m, error);
    store_close(store);
    return error;
}
