/* Handling received messages. All their contents are checked first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "devcom/nic.h"

/* ---- receives in progress ---- */

static void incoming_end(void *owner, int rank, int error)
{
    struct nic *nic = owner;
    struct incoming *in = nic_incoming(nic, rank);

    in->then(nic, rank, in, error);
}

void nic_give_up(void *owner, int rank, MPI_Request *request)
{
    struct nic *nic = owner;
    struct incoming *in = nic_incoming(nic, rank);

    nic_leave_behind(nic, *request, in->segment, in->memory);
    in->memory = NULL;
}

/* Begins a receive. segment: the one that receives the data; NULL: in->memory receives them. */
static void incoming_begin(struct nic *nic, int rank, int tag, struct segment *segment, void *at, int count,
                           MPI_Datatype type, nic_then *then)
{
    struct incoming *in = nic_incoming(nic, rank);
    MPI_Message *matched = nic->matched;

    nic->matched = NULL;
    in->then = then;
    in->segment = segment;
    adapter_receive(&nic->adapter, rank, matched, nic->bulk, tag, at, count, type, incoming_end);
}

void nic_receive_packed(struct nic *nic, int rank, int tag, size_t bytes, nic_then *then)
{
    struct incoming *in = nic_incoming(nic, rank);

    in->memory = malloc(bytes + 1);
    if (in->memory)
        incoming_begin(nic, rank, tag, NULL, in->memory, (int)bytes, MPI_BYTE, then);
    else
        then(nic, rank, in, -EPROTO);
}

void nic_receive_in_place(struct nic *nic, int rank, int tag, struct segment *segment, size_t offset,
                          const struct layout *layout, nic_then *then)
{
    MPI_Datatype type;

    nic_incoming(nic, rank)->memory = NULL;
    if (layout_contiguous(layout)) {
        incoming_begin(nic, rank, tag, segment, segment->host + offset, (int)layout_total(layout), MPI_BYTE, then);
        return;
    }
    type = nic_type(layout);
    incoming_begin(nic, rank, tag, segment, segment->host + offset, 1, type, then);
    PMPI_Type_free(&type);
}

/* ---- data ---- */

/* Ends a receive of data: in the segment already, or packed. */
static void bulk_end(struct nic *nic, int rank, struct incoming *in, int error)
{
    const struct wire wire = in->wire;
    struct layout layout = layout_of_wire(&wire);
    struct segment *segment = in->target;
    uint8_t *packed = in->memory;

    if (!error || error == -EIO)
        error = in->refused ? in->refused : error;
    if (!error && packed)
        error = stage_write(segment, wire.offset, &layout, packed);
    in->memory = NULL;
    in->target = NULL;
    free(packed);
    segment_release(segment);
    in->ended(nic, rank, in->tag, &wire, error);
}

/* Receives data into a segment, which is taken; through packed memory if it is on a device; or, with an error, discards
 * them. */
static void take_bulk(struct nic *nic, int rank, struct segment *segment, const struct layout *layout, int error)
{
    struct incoming *in = nic_incoming(nic, rank);

    in->target = segment;
    in->refused = error;
    if (!error && segment->host)
        nic_receive_in_place(nic, rank, in->tag, segment, in->wire.offset, layout, bulk_end);
    else
        nic_receive_packed(nic, rank, in->tag, layout_total(layout), bulk_end);
}

/* Takes the data of a put, or of the reply to a get. ended() gets -EPROTO if the rest of the stream is invalid, too. */
static void take_data(struct nic *nic, int rank, int tag, const struct wire *wire, const uint8_t *more,
                      size_t more_bytes,
                      void (*ended)(struct nic *nic, int rank, int tag, const struct wire *wire, int error))
{
    struct layout layout = layout_of_wire(wire);
    struct segment *segment = NULL;
    size_t total = layout_valid(&layout) ? layout_total(&layout) : 0;
    int error;

    if (!layout_valid(&layout) || (wire->flags & WIRE_BULK ? total > PIECE_BYTES || more_bytes : total != more_bytes)) {
        ended(nic, rank, tag, wire, -EPROTO);
        return;
    }
    if (!total) {
        ended(nic, rank, tag, wire, 0);
        return;
    }
    error = segment_take(nic->d, wire->segment, &segment);
    if (!error && !inside(segment->bytes, wire->offset, layout_extent(&layout)))
        error = -ERANGE;
    if (wire->flags & WIRE_BULK) {
        struct incoming *in = nic_incoming(nic, rank);

        in->wire = *wire;
        in->tag = tag;
        in->ended = ended;
        take_bulk(nic, rank, segment, &layout, error);
        return;
    }
    if (!error)
        error = stage_write(segment, wire->offset, &layout, more);
    segment_release(segment);
    ended(nic, rank, tag, wire, error);
}

/* Sends the data that another rank gets. */
static int take_get(struct nic *nic, int rank, const struct wire *wire, const uint8_t *more, size_t more_bytes)
{
    struct layout layout = layout_of_wire(wire), home_layout;
    struct segment *segment;
    struct wire home;
    int error;

    if (more_bytes != sizeof(home) || !layout_valid(&layout))
        return -EPROTO;
    memcpy(&home, more, sizeof(home));
    home_layout = layout_of_wire(&home);
    if (!layout_valid(&home_layout) || layout_total(&home_layout) != layout_total(&layout) ||
        layout_total(&layout) > PIECE_BYTES)
        return -EPROTO;
    home.kind = WIRE_REPLY;
    home.flags = 0;
    error = segment_take(nic->d, wire->segment, &segment);
    if (error)
        return error;
    if (!inside(segment->bytes, wire->offset, layout_extent(&layout)))
        error = -ERANGE;
    else
        error = nic_send_data(nic, rank, BACK_TAG, NULL, &home, segment, wire->offset, &layout);
    segment_release(segment);
    return error;
}

void nic_operation_end(struct nic *nic, int rank, int tag, const struct wire *wire, int error)
{
    const unsigned queue = (unsigned)tag - 1;
    struct arrival *arrival = nic_arrival(nic, rank, queue);
    struct devcom *d = nic->d;
    unsigned signals = queue == own_stream(d) ? d->words : d->o.signals;

    if (!error && (wire->op > DEVCOM_SIGNAL_ADD || (wire->op && wire->signal >= signals)))
        error = -EINVAL;
    if (error) {
        vocl_log(LOG_WARN, "devcom: rank %d refused an operation of rank %d: %s", d->rank, rank, strerror(-error));
        atomic_fetch_add(&arrival->refused, 1);
        arrival->last_refusal = error;
        arrival->failed = true;
        arrival->broken = error == -EPROTO;
    }
    if (!(wire->flags & WIRE_LAST) && !arrival->broken)
        return;
    if (!arrival->failed)
        signal_apply(d, d->rank, wire->signal, wire->op, wire->value);
    arrival->failed = false;
    atomic_fetch_add(&arrival->done, 1);
    nic->owes = true;
}

static void take_operation(struct nic *nic, int rank, unsigned queue, const struct wire *wire, const uint8_t *more,
                           size_t more_bytes)
{
    const int tag = 1 + (int)queue;

    if (nic_arrival(nic, rank, queue)->broken || (wire->kind == WIRE_CHAIN && more_bytes))
        nic_operation_end(nic, rank, tag, wire, -EPROTO);
    else if (wire->kind == WIRE_PUT)
        take_data(nic, rank, tag, wire, more, more_bytes, nic_operation_end);
    else if (wire->kind == WIRE_GET)
        nic_operation_end(nic, rank, tag, wire, take_get(nic, rank, wire, more, more_bytes));
    else
        nic_take_chain(nic, rank, tag, wire);
}

static void take_ack(struct nic *nic, int rank, const struct wire *wire)
{
    struct lane *lane;

    if (wire->queue >= nic->streams)
        return;
    lane = nic_lane(nic, rank, wire->queue);
    if (wire->offset < atomic_load(&lane->arrived)) /* a put has brought a later acknowledgement */
        return;
    atomic_store(&lane->last_refusal, (int)wire->value);
    atomic_store(&lane->refused, wire->bytes);
    atomic_store(&lane->arrived, wire->offset);
}

/* Takes the acknowledgement in a put. */
static void take_carried_ack(struct nic *nic, int rank, unsigned queue, uint32_t done)
{
    struct lane *lane = nic_lane(nic, rank, queue);
    uint64_t arrived = atomic_load(&lane->arrived);
    uint32_t more = done - (uint32_t)arrived;

    if (more <= INT32_MAX)
        atomic_store(&lane->arrived, arrived + more);
}

static void reply_end(struct nic *nic, int rank, int tag, const struct wire *wire, int error)
{
    (void)tag;
    (void)wire;
    if (error)
        vocl_log(LOG_WARN, "devcom: rank %d: the destination of a get from rank %d does not exist any more",
                 nic->d->rank, rank);
    board_ring(nic->d->boards[nic->d->rank]);
}

static void take_back(struct nic *nic, int rank, const struct wire *wire, const uint8_t *more, size_t more_bytes)
{
    switch (wire->kind) {
    case WIRE_ACK:
        take_ack(nic, rank, wire);
        break;
    case WIRE_REPLY:
        take_data(nic, rank, BACK_TAG, wire, more, more_bytes, reply_end);
        break;
    case WIRE_ANSWER:
        nic_take_answer(nic, wire);
        break;
    }
    board_ring(nic->d->boards[nic->d->rank]);
}

static void take_message(struct nic *nic, int rank, int tag, const uint8_t *message, size_t length)
{
    const uint8_t *more = message + sizeof(struct wire);
    unsigned queue = (unsigned)tag - 1;
    struct wire wire;

    if (length < sizeof(wire))
        return;
    memcpy(&wire, message, sizeof(wire));
    length -= sizeof(wire);
    if (wire.kind == WIRE_PUT && wire.flags & WIRE_ACKS && tag != BACK_TAG && queue < nic->streams)
        take_carried_ack(nic, rank, queue, wire.question);
    if (wire.kind == WIRE_PUT && wire.flags & WIRE_PLACE && tag != BACK_TAG && queue < nic->streams &&
        nic_place_keep(nic, rank, queue, &wire))
        nic_arrival(nic, rank, queue)->broken = true;
    if (tag == BACK_TAG)
        take_back(nic, rank, &wire, more, length);
    else if (queue < nic->streams && (wire.kind == WIRE_PUT || wire.kind == WIRE_GET || wire.kind == WIRE_CHAIN))
        take_operation(nic, rank, queue, &wire, more, length);
    else if (queue < nic->d->o.queues && wire.kind == WIRE_TABLE && !nic_arrival(nic, rank, queue)->broken)
        nic_take_table(nic, rank, tag, &wire);
    else if (queue == own_stream(nic->d) && wire.kind == WIRE_PROBE)
        nic_take_probe(nic, rank, tag, &wire);
    else if (wire.kind == WIRE_FORGET)
        nic_take_forget(nic, rank, &wire);
    else if (wire.kind == WIRE_ASK)
        nic_take_question(nic, rank, &wire);
}

/* Takes a put without a descriptor. If it is invalid its data are received nevertheless, since MPI would keep them. */
static void take_named(struct nic *nic, int rank, int tag, MPI_Message *message, size_t length)
{
    struct wire wire;
    unsigned queue;

    nic->matched = message;
    if (nic_place_take(nic, rank, tag, length, &queue, &wire))
        take_operation(nic, rank, queue, &wire, NULL, 0);
    if (nic->matched)
        adapter_drop(&nic->adapter, rank, message, (int)length);
    nic->matched = NULL;
}

/* ---- messages ---- */

static void message_end(struct nic *nic, int rank, struct incoming *in, int error)
{
    uint8_t *buffer = in->memory;

    in->memory = NULL;
    if (!error)
        take_message(nic, rank, in->tag, buffer, in->length);
    in->buffer = buffer;
}

/* Takes a message, of which perhaps only the beginning has arrived. */
void nic_take(void *owner, int rank, int tag, MPI_Message *message, int length)
{
    struct nic *nic = owner;
    struct incoming *in = nic_incoming(nic, rank);

    if (tag >= PLACE_TAG) {
        take_named(nic, rank, tag, message, (size_t)length);
        return;
    }
    if (!in->buffer) /* none yet, or MPI may still write to the one of a lost rank */
        in->buffer = malloc(nic->buffer_bytes);
    if ((size_t)length > nic->buffer_bytes || !in->buffer) {
        adapter_drop(&nic->adapter, rank, message, length);
    } else {
        in->memory = in->buffer;
        in->buffer = NULL;
        in->tag = tag;
        in->length = (size_t)length;
        nic->matched = message;
        incoming_begin(nic, rank, 0, NULL, in->memory, length, MPI_BYTE, message_end);
    }
}

void nic_carry_ack(struct nic *nic, int rank, unsigned queue, struct wire *wire)
{
    struct arrival *arrival = nic_arrival(nic, rank, queue);
    uint64_t done;

    pthread_mutex_lock(&arrival->telling);
    done = atomic_load(&arrival->done);
    /* refusals need a message of their own */
    if (!atomic_load(&arrival->refused) && atomic_exchange(&arrival->told, done) != done) {
        wire->flags |= WIRE_ACKS;
        wire->question = (uint32_t)done;
    }
    pthread_mutex_unlock(&arrival->telling);
}

static void acknowledge(struct nic *nic, int rank, unsigned queue, struct arrival *arrival)
{
    struct wire ack = {.kind = WIRE_ACK,
                       .queue = (uint8_t)queue,
                       .offset = arrival->done,
                       .bytes = arrival->refused,
                       .value = arrival->last_refusal};

    if (nic_send_message(nic, rank, BACK_TAG, NULL, &ack, NULL, 0))
        nic->owes = true;
    else
        atomic_store(&arrival->told, ack.offset);
}

int nic_tell(void *owner, int received)
{
    struct nic *nic = owner;

    if (!nic->owes || (received && received < MOST_RECEIVED))
        return 0;
    nic->owes = false;
    for (int rank = 0; rank < nic->d->size; rank++) {
        for (unsigned queue = 0; queue < nic->streams; queue++) {
            struct arrival *arrival = nic_arrival(nic, rank, queue);

            if (atomic_load(&arrival->told) == atomic_load(&arrival->done))
                continue;
            pthread_mutex_lock(&arrival->telling);
            if (atomic_load(&arrival->told) != atomic_load(&arrival->done))
                acknowledge(nic, rank, queue, arrival);
            pthread_mutex_unlock(&arrival->telling);
        }
    }
    return 0;
}
