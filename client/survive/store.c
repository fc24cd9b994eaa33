/*
 * Contents of memory objects at the application's host: what nodes have is read by commands as the program's own reads
 * are, and written by such. First it is planned what is to be taken, so that there is room for all of it before
 * anything is moved: a file gets its blocks at once, and a full disk is an error here, not a signal later.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/core/session.h"
#include "client/core/stream.h"
#include "client/data/address_command.h"
#include "client/data/coherence.h"
#include "client/data/transfer.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"
#include "client/memory/svm.h"
#include "client/survive/moving.h"
#include "client/survive/room.h"
#include "client/survive/store.h"

#define SHARE ((size_t)16 << 20) /* goes at a time */

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

        if (!context || atomic_load(&context->uses) < 0)
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
    struct carriers carriers;
    bool writes;
    char *reason;
    size_t reason_size;
};

static int explain(struct moving *m, int error, const char *why, int status)
{
    const bool alive = m->carriers.member->alive;

    if (alive)
        snprintf(m->reason, m->reason_size, "%s: error %d", why, status);
    else
        snprintf(m->reason, m->reason_size, "a worker was lost while contents were on their way");
    return alive ? error : -ECONNRESET;
}

static int explain_carriers(struct moving *m, int error)
{
    return error == -ENOMEM
               ? explain(m, error, "no queue for contents", 0)
               : explain(m, error, m->writes ? "contents cannot be given back" : "contents cannot be taken",
                         m->carriers.status);
}

/* What is under way uses the store's memory. */
static int moving_end(struct moving *m, int error)
{
    const int end = carriers_end(&m->carriers, 0);

    return !error && end ? explain_carriers(m, end) : error;
}

/* A piece's command, without what goes with the program's own: nobody knows of it, and who has what stays as it is. */
static void put(const struct enqueue *e, const struct part *part, bool writes, const struct transfer_data *data)
{
    struct wire_buffer *out = &e->node->batch;
    const uint32_t queue = e->queue->object.id, memory = part->memory->object.id, subscribe = SUBSCRIBE_COMPLETE;

    if (part->kind == PART_IMAGE && writes)
        wire_put_write_image(out, &(struct wire_write_image){.queue = queue,
                                                             .image = memory,
                                                             .event = e->event_id,
                                                             .subscribe = subscribe,
                                                             .part = part_region(part),
                                                             .tag = data->tag,
                                                             .data = data->bytes,
                                                             .data_length = data->length});
    else if (part->kind == PART_IMAGE)
        wire_put_read_image(out, &(struct wire_read_image){.queue = queue,
                                                           .image = memory,
                                                           .event = e->event_id,
                                                           .subscribe = subscribe,
                                                           .part = part_region(part),
                                                           .tag = data->tag});
    else if (writes)
        wire_put_write_buffer(out, &(struct wire_write_buffer){.queue = queue,
                                                               .buffer = memory,
                                                               .event = e->event_id,
                                                               .subscribe = subscribe,
                                                               .offset = part->offset,
                                                               .size = part->size,
                                                               .tag = data->tag,
                                                               .data = data->bytes,
                                                               .data_length = data->length});
    else
        wire_put_read_buffer(out, &(struct wire_read_buffer){.queue = queue,
                                                             .buffer = memory,
                                                             .event = e->event_id,
                                                             .subscribe = subscribe,
                                                             .offset = part->offset,
                                                             .size = part->size,
                                                             .tag = data->tag});
}

static int send_part(struct moving *m, struct enqueue *e, const struct part *part, const struct layout *layout,
                     cl_event *event)
{
    struct node *member = m->carriers.member;
    const bool chunked = part->kind == PART_PIECE && !e->queue->device->unified;
    struct transfer_data data;
    int error;

    e->event->subscribed = SUBSCRIBE_COMPLETE;
    error = m->writes ? transfer_write(e, layout, chunked, NULL, NULL, &data)
                      : transfer_read(e, layout, chunked, NULL, &data);
    if (error)
        return enqueue_fail(e, error);
    session_lock(member->session);
    transfer_pack(member, &data);
    put(e, part, m->writes, &data);
    error = stream_finish(member, STREAM_NOW);
    if (data.transfer && !error)
        transfer_start(data.transfer);
    session_unlock(member->session);
    if (data.transfer && error)
        transfer_cancel(data.transfer);
    else if (data.transfer)
        transfer_detach(data.transfer);
    return enqueue_finish(e, error, event);
}

static int move_part(struct moving *m, const struct part *part, uint8_t *bytes)
{
    const struct layout layout = layout_linear(bytes, part->bytes);
    const int slot = carriers_next(&m->carriers, part->memory->context);
    struct enqueue e;
    int error;

    if (slot < 0)
        return explain_carriers(m, slot);
    error = enqueue_open(&e, m->carriers.queue, 0, NULL, true,
                         m->writes ? CL_COMMAND_WRITE_BUFFER : CL_COMMAND_READ_BUFFER);
    if (!error)
        error = send_part(m, &e, part, &layout, &m->carriers.events[slot]);
    return error ? explain(m, error, "contents cannot be moved", error) : 0;
}

/* From start to end of a whole, of which the store has the bytes there. */
static int move_range(struct moving *m, cl_mem root, size_t start, size_t end, uint8_t *bytes)
{
    struct part part = part_of(root, start, end);
    int error = 0;

    if (root->type != CL_MEM_OBJECT_BUFFER)
        return move_part(m, &part, bytes);
    for (size_t at = start; !error && at < end; at += SHARE) {
        part = part_piece(root, at, end - at < SHARE ? end - at : SHARE);
        error = move_part(m, &part, bytes + (at - start));
    }
    return error;
}

static int move_address_part(struct moving *m, cl_context context, uint8_t *there, uint8_t *here, size_t size)
{
    const int slot = carriers_next(&m->carriers, context);
    cl_event *event = &m->carriers.events[slot < 0 ? 0 : slot];
    struct enqueue e;
    int error;

    if (slot < 0)
        return explain_carriers(m, slot);
    error = enqueue_open(&e, m->carriers.queue, 0, NULL, true, CL_COMMAND_SVM_MEMCPY);
    if (!error)
        error = m->writes ? address_write(&e, CL_COMMAND_SVM_MEMCPY, there, here, size, CL_FALSE, event)
                          : address_read(&e, here, there, size, CL_FALSE, event);
    return error ? explain(m, error, "shared virtual memory cannot be moved", error) : 0;
}

/* Calls are halted: its context stays. */
static int move_address(struct moving *m, const struct stored *piece, uint8_t *bytes)
{
    cl_context context = (cl_context)handle_find(WIRE_CONTEXT, piece->number);
    int error = context ? 0 : explain(m, -ENOTSUP, "shared virtual memory has no context", 0);

    for (size_t at = 0; !error && at < piece->bytes; at += SHARE)
        error = move_address_part(m, context, piece->address + at, bytes + at,
                                  piece->bytes - at < SHARE ? piece->bytes - at : SHARE);
    return error;
}

static int take_list(struct store *store, struct list *list, char *reason, size_t size)
{
    struct moving m = {.store = store, .reason = reason, .reason_size = size};
    int error = room_take(&store->room, reason, size);

    for (unsigned i = 0; !error && i < list->count; i++) {
        struct stored *piece = &list->pieces[i];

        if (piece->here)
            continue;
        if (!piece->node) {
            memory_copy_open(store->room.bytes + piece->at, piece->memory->arena + piece->start, piece->bytes);
            continue;
        }
        if (m.carriers.member != piece->node)
            error = moving_end(&m, 0);
        m.carriers.node = m.carriers.member = piece->node;
        if (!error && piece->address)
            error = move_address(&m, piece, store->room.bytes + piece->at);
        else if (!error)
            error = move_range(&m, piece->memory, piece->start, piece->end, store->room.bytes + piece->at);
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

        if (piece->memory == root && piece->number == root->object.id && first < last)
            error = move_range(m, root, first, last, m->store->room.bytes + piece->at + (first - piece->start));
    }
    return error;
}

int store_give(struct store *store, const struct node *node, struct node *member, struct object *const *objects,
               unsigned count, char *reason, size_t size)
{
    struct moving m = {.store = store,
                       .carriers = {.node = node, .member = member},
                       .writes = true,
                       .reason = reason,
                       .reason_size = size};
    int error = 0;

    if (store->room.size && !store_open(store))
        return snprintf(reason, size, "what was stored cannot be read: %s", strerror(errno)), -EIO;
    for (unsigned i = 0; !error && i < count; i++) {
        if (has_contents(objects[i]))
            error = coherence_each((cl_mem)objects[i], node, give_piece, &m);
    }
    for (unsigned i = 0; !error && i < store->list.count; i++) {
        const struct stored *piece = &store->list.pieces[i];

        if (piece->address && piece->node == node)
            error = move_address(&m, piece, store->room.bytes + piece->at);
    }
    error = moving_end(&m, error);
    store_close(store);
    return error;
}
