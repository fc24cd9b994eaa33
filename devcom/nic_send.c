/* Puts and gets as messages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devcom/nic.h"

MPI_Datatype nic_type(const struct layout *layout)
{
    MPI_Datatype block, row, type;

    PMPI_Type_contiguous((int)layout->bytes, MPI_BYTE, &block);
    PMPI_Type_create_hvector((int)layout->count[0], 1, (MPI_Aint)layout->stride[0], block, &row);
    PMPI_Type_create_hvector((int)layout->count[1], 1, (MPI_Aint)layout->stride[1], row, &type);
    PMPI_Type_commit(&type);
    PMPI_Type_free(&block);
    PMPI_Type_free(&row);
    return type;
}

static void has_left(struct pending_send *pending_send)
{
    struct leaving *leaving = (struct leaving *)pending_send;

    segment_release(leaving->segment);
    if (leaving->lane)
        atomic_fetch_sub(&leaving->lane->leaving, 1);
    free(leaving->packed);
    free(leaving);
}

/* Sends a message, which is kept until it has been sent; on an error it is freed. */
static int send_off(struct nic *nic, MPI_Comm comm, int rank, int tag, const void *at, int count, MPI_Datatype type,
                    struct leaving *leaving)
{
    int error;

    if (leaving->lane)
        atomic_fetch_add(&leaving->lane->leaving, 1);
    error = adapter_send(&nic->adapter, comm, rank, tag, at, count, type, &leaving->pending_send, has_left);
    if (error)
        has_left(&leaving->pending_send);
    return error;
}

void nic_leave_behind(struct nic *nic, MPI_Request request, struct segment *segment, void *memory)
{
    struct leaving *leaving = malloc(sizeof(*leaving));

    if (segment)
        atomic_fetch_add(segment->users, 1);
    if (!leaving) { /* then neither is ever released */
        PMPI_Request_free(&request);
        return;
    }
    *leaving = (struct leaving){.pending_send = {.request = request}, .segment = segment, .packed = memory};
    adapter_keep(&nic->adapter, &leaving->pending_send, has_left);
}

/* Allocates a message with a descriptor, and room for more_bytes after it. */
static struct leaving *leaving_new(struct lane *lane, const struct wire *wire, size_t more_bytes)
{
    struct leaving *leaving = malloc(sizeof(*leaving) + sizeof(*wire) + more_bytes);

    if (leaving) {
        *leaving = (struct leaving){.lane = lane};
        memcpy(leaving->copy, wire, sizeof(*wire));
    }
    return leaving;
}

static int send_copy(struct nic *nic, int rank, int tag, struct leaving *leaving, size_t bytes)
{
    return send_off(nic, nic->wire, rank, tag, leaving->copy, (int)bytes, MPI_BYTE, leaving);
}

int nic_send_message(struct nic *nic, int rank, int tag, struct lane *lane, const struct wire *wire, const void *more,
                     size_t more_bytes)
{
    struct leaving *leaving = leaving_new(lane, wire, more_bytes);

    if (!leaving)
        return -ENOMEM;
    if (more_bytes)
        memcpy(leaving->copy + sizeof(*wire), more, more_bytes);
    return send_copy(nic, rank, tag, leaving, sizeof(*wire) + more_bytes);
}

int nic_send_bulk(struct nic *nic, MPI_Comm comm, int rank, int tag, struct lane *lane, struct segment *segment,
                  size_t offset, const struct layout *layout, uint8_t *packed)
{
    struct leaving *leaving = malloc(sizeof(*leaving));
    MPI_Datatype type = MPI_BYTE;
    int count = 1, error;

    if (!leaving) {
        free(packed);
        return -ENOMEM;
    }
    *leaving = (struct leaving){.lane = lane, .segment = packed ? NULL : segment, .packed = packed};
    if (packed || layout_contiguous(layout))
        count = (int)layout_total(layout);
    else
        type = nic_type(layout);
    if (leaving->segment)
        atomic_fetch_add(segment->users, 1);
    error = send_off(nic, comm, rank, tag, packed ? packed : segment->host + offset, count, type, leaving);
    if (type != MPI_BYTE)
        PMPI_Type_free(&type);
    return error;
}

int nic_send_packed(struct nic *nic, int rank, int tag, struct lane *lane, uint8_t *packed, size_t bytes)
{
    struct layout layout = {.bytes = bytes, .count = {1, 1}};

    return nic_send_bulk(nic, nic->bulk, rank, tag, lane, NULL, 0, &layout, packed);
}

int nic_send_in_place(struct nic *nic, int rank, int tag, struct lane *lane, struct segment *segment, size_t offset,
                      size_t bytes)
{
    struct layout layout = {.bytes = bytes, .count = {1, 1}};

    return nic_send_bulk(nic, nic->bulk, rank, tag, lane, segment, offset, &layout, NULL);
}

/* Sends a descriptor and small data in one message. */
static int send_eager(struct nic *nic, int rank, int tag, struct lane *lane, const struct wire *wire,
                      const struct segment *segment, size_t offset, const struct layout *layout)
{
    size_t total = layout_total(layout);
    struct leaving *leaving = leaving_new(lane, wire, total);
    int error = leaving ? stage_read(segment, offset, layout, leaving->copy + sizeof(*wire)) : -ENOMEM;

    if (error) {
        free(leaving);
        return error;
    }
    return send_copy(nic, rank, tag, leaving, sizeof(*wire) + total);
}

int nic_send_data(struct nic *nic, int rank, int tag, struct lane *lane, struct wire *wire, struct segment *segment,
                  size_t offset, const struct layout *layout)
{
    size_t total = layout_total(layout);
    uint8_t *packed = NULL;
    int error = 0;

    if (total <= nic_eager_bytes(nic))
        return send_eager(nic, rank, tag, lane, wire, segment, offset, layout);
    if (!segment->host) {
        packed = malloc(total);
        error = packed ? stage_read(segment, offset, layout, packed) : -ENOMEM;
    }
    wire->flags |= WIRE_BULK;
    if (!error)
        error = nic_send_message(nic, rank, tag, lane, wire, NULL, 0);
    if (error) {
        free(packed);
        return error;
    }
    return nic_send_bulk(nic, nic->bulk, rank, tag, lane, segment, offset, layout, packed);
}

struct wire nic_wire(const struct transfer *t, enum wire_kind kind)
{
    return (struct wire){
        .kind = (uint8_t)kind,
        .segment = (uint16_t)t->remote_id,
        .offset = t->remote_offset,
        .bytes = t->remote.bytes,
        .count = {t->remote.count[0], t->remote.count[1]},
        .stride = {t->remote.stride[0], t->remote.stride[1]},
    };
}

/* Sends a put with its descriptor. */
static int send_put(struct nic *nic, const struct transfer *t, struct wire *wire, bool last)
{
    struct lane *lane = nic_lane(nic, t->rank, t->queue);
    int tag = 1 + (int)t->queue;

    if (last)
        nic_carry_ack(nic, t->rank, t->queue, wire);
    if (t->data)
        return nic_send_message(nic, t->rank, tag, lane, wire, t->data, layout_total(&t->local));
    if (!t->segment || !layout_total(&t->local))
        return nic_send_message(nic, t->rank, tag, lane, wire, NULL, 0);
    return nic_send_data(nic, t->rank, tag, lane, wire, t->segment, t->offset, &t->local);
}

/* Sends a put or get whose data fit in one message. Called under the lane's lock. */
static int send_piece(struct nic *nic, const struct transfer *t, bool get, bool last)
{
    struct lane *lane = nic_lane(nic, t->rank, t->queue);
    struct wire wire = nic_wire(t, get ? WIRE_GET : WIRE_PUT), home;
    int sent = 0;

    wire.flags = last ? WIRE_LAST : 0;
    if (get) { /* followed by the place where the owner must put the data */
        struct transfer back = {.remote_id = t->local_id, .remote_offset = t->offset, .remote = t->local};

        home = nic_wire(&back, WIRE_REPLY);
        return nic_send_message(nic, t->rank, 1 + (int)t->queue, lane, &wire, &home, sizeof(home));
    }
    if (last) {
        wire.op = (uint8_t)t->op;
        wire.signal = t->op ? t->signal : 0;
        wire.value = t->op ? t->value : 0;
    }
    if (last && t->segment && layout_total(&t->local))
        sent = nic_place_send(nic, t, &wire);
    if (!sent)
        sent = send_put(nic, t, &wire, last);
    if (sent < 0)
        nic_place_forget(lane);
    return sent < 0 ? sent : 0;
}

static struct transfer part_of(const struct transfer *t, size_t local, size_t remote)
{
    struct transfer piece = *t;

    piece.offset += local;
    piece.remote_offset += remote;
    return piece;
}

/* Sends a put or get in pieces: divided by planes, rows or parts of blocks, until each is small enough. */
static int send_pieces(struct nic *nic, const struct transfer *t, size_t most, bool get, bool last)
{
    const struct layout *l = &t->local, *r = &t->remote;
    int error = 0;

    if (layout_total(l) <= most)
        return send_piece(nic, t, get, last);
    if (l->count[1] > 1) {
        for (uint32_t i = 0; i < l->count[1] && !error; i++) {
            struct transfer piece = part_of(t, i * l->stride[1], i * r->stride[1]);

            piece.local.count[1] = piece.remote.count[1] = 1;
            error = send_pieces(nic, &piece, most, get, last && i + 1 == l->count[1]);
        }
    } else if (l->count[0] > 1) {
        uint32_t step = l->bytes < most ? (uint32_t)(most / l->bytes) : 1;

        for (uint32_t i = 0; i < l->count[0] && !error; i += step) {
            struct transfer piece = part_of(t, i * l->stride[0], i * r->stride[0]);
            uint32_t rows = l->count[0] - i < step ? l->count[0] - i : step;

            piece.local.count[0] = piece.remote.count[0] = rows;
            error = send_pieces(nic, &piece, most, get, last && i + rows == l->count[0]);
        }
    } else {
        for (size_t done = 0; done < l->bytes && !error; done += most) {
            struct transfer piece = part_of(t, done, done);

            piece.local.bytes = piece.remote.bytes = l->bytes - done < most ? l->bytes - done : most;
            error = send_piece(nic, &piece, get, last && done + most >= l->bytes);
        }
    }
    return error;
}

static void flatten(struct layout *layout)
{
    *layout = (struct layout){.bytes = layout_total(layout), .count = {1, 1}};
}

static int send_transfer(struct devcom *d, const struct transfer *t, bool get)
{
    struct nic *nic = d->nic;
    struct lane *lane = nic_lane(nic, t->rank, t->queue);
    struct transfer whole = *t;
    size_t most = t->segment && !t->segment->host ? d->o.chunk_bytes : PIECE_BYTES, car;
    int error = 0;

    if (board_lost(d, t->rank))
        return -ECONNRESET;
    if (layout_contiguous(&t->local) && layout_contiguous(&t->remote)) {
        flatten(&whole.local);
        flatten(&whole.remote);
    }
    if (!t->data)
        nic_eager_find(nic, t->rank, layout_total(&t->local));
    car = get || t->data ? 0 : nic_train_car(nic, layout_total(&whole.local));
    if (car && car < most && whole.local.count[0] == 1 && whole.local.count[1] == 1)
        most = car;
    pthread_mutex_lock(&lane->lock);
    if (!nic_has_room(d, t->rank, t->queue))
        error = -EAGAIN;
    if (!error)
        error = send_pieces(nic, &whole, most, get, true);
    if (!error && get)
        atomic_store(&lane->got, atomic_load(&lane->sent) + 1);
    if (!error)
        atomic_fetch_add(&lane->sent, 1);
    pthread_mutex_unlock(&lane->lock);
    return error;
}

int nic_put(struct devcom *d, const struct transfer *t)
{
    return send_transfer(d, t, false);
}

int nic_get(struct devcom *d, const struct transfer *t)
{
    return send_transfer(d, t, true);
}
