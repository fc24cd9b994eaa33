/* What is done with messages that come. All of it is checked first. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "devcom/nic.h"

#define LOOKS 64 /* at what is being received, before others have their turn */

/* ---- what is being received ---- */

static void incoming_end(struct nic *nic, int rank, struct incoming *in, int error)
{
    in->active = false;
    atomic_fetch_sub(&nic->under_way, 1);
    in->then(nic, rank, in, error);
}

static void incoming_give_up(struct nic *nic, int rank, struct incoming *in)
{
    if (!in->matched)
        PMPI_Cancel(&in->request);
    nic_leave_behind(nic, in->request, in->segment, in->memory);
    in->memory = NULL;
    incoming_end(nic, rank, in, -ECONNRESET);
}

/* Whether it is over. */
static bool incoming_look(struct nic *nic, int rank, struct incoming *in)
{
    int done = 0;

    for (int i = 0; i < LOOKS && !done; i++) {
        if (PMPI_Test(&in->request, &done, MPI_STATUS_IGNORE)) {
            incoming_end(nic, rank, in, -EIO);
            return true;
        }
    }
    if (done)
        incoming_end(nic, rank, in, 0);
    else if (++in->looks % LOOKS == 0 && board_lost(nic->d, rank))
        incoming_give_up(nic, rank, in);
    else
        return false;
    return true;
}

/* segment: NULL: it goes to in->memory. */
static void incoming_begin(struct nic *nic, int rank, int tag, struct segment *segment, void *at, int count,
                           MPI_Datatype type, nic_then *then)
{
    struct incoming *in = nic_incoming(nic, rank);
    MPI_Message *matched = nic->matched;

    nic->matched = NULL;
    in->then = then;
    in->segment = segment;
    in->matched = matched;
    in->looks = 0;
    in->active = true;
    atomic_fetch_add(&nic->under_way, 1);
    if (matched ? PMPI_Imrecv(at, count, type, matched, &in->request)
                : PMPI_Irecv(at, count, type, rank, tag, nic->bulk, &in->request))
        incoming_end(nic, rank, in, -EIO);
    else
        incoming_look(nic, rank, in);
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

/* In the segment's place already, or packed. */
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

/* Into the segment, which is held, or through packed memory where that is on a device, or nowhere: error. */
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

/* Data of a put, or of a get's reply. ended: -EPROTO: nothing that follows in this stream makes sense. */
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

/* The owner puts what another wants to get. */
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

    if (!error && (wire->op > DEVCOM_ADD || (wire->op && wire->signal >= signals)))
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
    if (wire->offset < atomic_load(&lane->arrived)) /* a put was faster with the news */
        return;
    atomic_store(&lane->last_refusal, (int)wire->value);
    atomic_store(&lane->refused, wire->bytes);
    atomic_store(&lane->arrived, wire->offset);
}

/* With a put the other way. */
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
        vocl_log(LOG_WARN, "devcom: what rank %d was to get from rank %d has no place any more", nic->d->rank, rank);
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
    case WIRE_READ:
        atomic_store(&nic->letters[rank], false);
        break;
    }
    board_ring(nic->d->boards[nic->d->rank]);
}

static void take_message(struct nic *nic, int rank, int tag, const uint8_t *message, size_t length)
{
    const uint8_t *more = message + sizeof(struct wire);
    unsigned queue = (unsigned)tag - 1;
    struct wire wire;

    nic_heard(nic, rank);
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
    else if (wire.kind == WIRE_LETTER)
        nic_take_letter(nic, rank, more, length);
}

static void dropped(struct nic *nic, int rank, struct incoming *in, int error)
{
    (void)nic;
    (void)rank;
    (void)error;
    free(in->memory);
    in->memory = NULL;
}

/* A put without a descriptor. If it makes no sense its data are received all the same, as they would be in MPI's way.
 */
static void take_named(struct nic *nic, int rank, int tag, MPI_Message *message, size_t length)
{
    struct wire wire;
    unsigned queue;

    nic_heard(nic, rank);
    nic->matched = message;
    if (nic_place_take(nic, rank, tag, length, &queue, &wire))
        take_operation(nic, rank, queue, &wire, NULL, 0);
    if (nic->matched)
        nic_receive_packed(nic, rank, tag, length, dropped);
    nic->matched = NULL;
}

/* ---- messages ---- */

/* The buffer serves the next one. */
static void message_end(struct nic *nic, int rank, struct incoming *in, int error)
{
    uint8_t *buffer = in->memory;

    in->memory = NULL;
    if (!error)
        take_message(nic, rank, in->tag, buffer, in->length);
    if (nic->buffer)
        free(buffer);
    else
        nic->buffer = buffer;
}

/* Of which perhaps only the beginning has come. False: there is none. */
static bool receive_one(struct nic *nic, int source)
{
    MPI_Message message;
    struct incoming *in;
    MPI_Status status;
    int length, found = 0;

    if (!nic->buffer)
        nic->buffer = malloc(nic->buffer_bytes);
    if (!nic->buffer || PMPI_Improbe(source, MPI_ANY_TAG, nic->wire, &found, &message, &status) || !found)
        return false;
    PMPI_Get_count(&status, MPI_BYTE, &length);
    if (status.MPI_TAG >= PLACE_TAG) {
        take_named(nic, status.MPI_SOURCE, status.MPI_TAG, &message, (size_t)length);
    } else if ((size_t)length > nic->buffer_bytes) {
        message_drop(&message, length);
    } else {
        in = nic_incoming(nic, status.MPI_SOURCE);
        in->memory = nic->buffer;
        in->tag = status.MPI_TAG;
        in->length = (size_t)length;
        nic->buffer = NULL;
        nic->matched = &message;
        incoming_begin(nic, status.MPI_SOURCE, 0, NULL, in->memory, length, MPI_BYTE, message_end);
    }
    return true;
}

/* While something of a rank is being received, the others are asked by name. */
int nic_receive(struct nic *nic)
{
    int count = 0;

    for (int rank = 0; rank < nic->d->size && atomic_load(&nic->under_way); rank++)
        count += nic_incoming(nic, rank)->active && incoming_look(nic, rank, nic_incoming(nic, rank));
    while (count < MOST_RECEIVED && !atomic_load(&nic->under_way) && receive_one(nic, MPI_ANY_SOURCE))
        count++;
    for (int rank = 0; rank < nic->d->size && atomic_load(&nic->under_way); rank++) {
        for (int i = 0; i < MOST_RECEIVED && !nic_incoming(nic, rank)->active && receive_one(nic, rank); i++)
            count++;
    }
    return count;
}

void nic_carry_ack(struct nic *nic, int rank, unsigned queue, struct wire *wire)
{
    struct arrival *arrival = nic_arrival(nic, rank, queue);
    uint64_t done;

    pthread_mutex_lock(&arrival->telling);
    done = atomic_load(&arrival->done);
    /* refusals take a message of their own */
    if (!atomic_load(&arrival->refused) && atomic_exchange(&arrival->told, done) != done) {
        arrival->acked = done;
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

    atomic_store(&arrival->told, ack.offset);
    if (nic_send_message(nic, rank, BACK_TAG, NULL, &ack, NULL, 0)) {
        atomic_store(&arrival->told, 0);
        nic->owes = true;
    } else {
        arrival->acked = ack.offset;
    }
}

int nic_acknowledge(struct nic *nic)
{
    int count = 0;

    nic->owes = false;
    for (int rank = 0; rank < nic->d->size; rank++) {
        for (unsigned queue = 0; queue < nic->streams; queue++) {
            struct arrival *arrival = nic_arrival(nic, rank, queue);

            if (atomic_load(&arrival->told) == atomic_load(&arrival->done))
                continue;
            pthread_mutex_lock(&arrival->telling);
            if (atomic_load(&arrival->told) != atomic_load(&arrival->done)) {
                acknowledge(nic, rank, queue, arrival);
                count++;
            }
            pthread_mutex_unlock(&arrival->telling);
        }
    }
    return count;
}
