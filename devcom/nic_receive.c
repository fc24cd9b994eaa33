/* What is done with messages that come. All of it is checked first. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "devcom/nic.h"

/* segment: NULL if at is from malloc(), and after -ECONNRESET the NIC's. */
static int receive(struct nic *nic, int rank, int tag, struct segment *segment, void *at, int count, MPI_Datatype type)
{
    MPI_Message *matched = nic->matched;
    MPI_Request request;
    int done = 0;

    nic->matched = NULL;
    if (matched ? PMPI_Imrecv(at, count, type, matched, &request)
                : PMPI_Irecv(at, count, type, rank, tag, nic->bulk, &request))
        return -EIO;
    for (unsigned spins = 1; !done; spins++) {
        if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE))
            return -EIO;
        if (!done && spins % YIELD_EVERY == 0) {
            nic_poll_partings(nic);
            nic_beat(nic);
            sched_yield();
            if (board_lost(nic->d, rank)) {
                if (!matched)
                    PMPI_Cancel(&request);
                nic_leave_behind(nic, request, segment, segment ? NULL : at);
                return -ECONNRESET;
            }
        }
    }
    return 0;
}

void *nic_receive_packed(struct nic *nic, int rank, int tag, size_t bytes, int *error)
{
    void *memory = malloc(bytes + 1);

    *error = memory ? receive(nic, rank, tag, NULL, memory, (int)bytes, MPI_BYTE) : -EPROTO;
    if (!*error)
        return memory;
    if (*error != -ECONNRESET)
        free(memory);
    return NULL;
}

int nic_receive_in_place(struct nic *nic, int rank, int tag, struct segment *segment, size_t offset,
                         const struct layout *layout)
{
    MPI_Datatype type;
    int error;

    if (layout_contiguous(layout))
        return receive(nic, rank, tag, segment, segment->host + offset, (int)layout_total(layout), MPI_BYTE);
    type = nic_type(layout);
    error = receive(nic, rank, tag, segment, segment->host + offset, 1, type);
    PMPI_Type_free(&type);
    return error;
}

/* Into the segment, or through packed memory where that is on a device, or nowhere. */
static int take_bulk(struct nic *nic, int rank, int tag, struct segment *segment, size_t offset,
                     const struct layout *layout, int error)
{
    size_t total = layout_total(layout);
    uint8_t *packed;
    int failed;

    if (!error && segment->host)
        return nic_receive_in_place(nic, rank, tag, segment, offset, layout);
    packed = nic_receive_packed(nic, rank, tag, total, &failed);
    if (!packed)
        return error && failed == -EIO ? error : failed;
    if (!error)
        error = stage_write(segment, offset, layout, packed);
    free(packed);
    return error;
}

/* Data of a put, or of a get's reply. -EPROTO: nothing that follows in this stream makes sense. */
static int take_data(struct nic *nic, int rank, int tag, const struct wire *wire, const uint8_t *more,
                     size_t more_bytes)
{
    struct layout layout = layout_of_wire(wire);
    struct segment *segment = NULL;
    size_t total;
    int error;

    if (!layout_valid(&layout))
        return -EPROTO;
    total = layout_total(&layout);
    if (wire->flags & WIRE_BULK ? total > PIECE_BYTES || more_bytes : total != more_bytes)
        return -EPROTO;
    if (!total)
        return 0;
    error = segment_take(nic->d, wire->segment, &segment);
    if (!error && !inside(segment->bytes, wire->offset, layout_extent(&layout)))
        error = -ERANGE;
    if (wire->flags & WIRE_BULK)
        error = take_bulk(nic, rank, tag, segment, wire->offset, &layout, error);
    else if (!error)
        error = stage_write(segment, wire->offset, &layout, more);
    segment_release(segment);
    return error;
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

static void take_operation(struct nic *nic, int rank, unsigned queue, const struct wire *wire, const uint8_t *more,
                           size_t more_bytes)
{
    struct arrival *arrival = nic_arrival(nic, rank, queue);
    struct devcom *d = nic->d;
    unsigned signals = queue == own_stream(d) ? d->words : d->o.signals;
    int error;

    if (arrival->broken)
        error = -EPROTO;
    else if (wire->kind == WIRE_PUT)
        error = take_data(nic, rank, 1 + (int)queue, wire, more, more_bytes);
    else if (wire->kind == WIRE_GET)
        error = take_get(nic, rank, wire, more, more_bytes);
    else
        error = more_bytes ? -EPROTO : nic_take_chain(nic, rank, 1 + (int)queue, wire);
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

static void take_back(struct nic *nic, int rank, const struct wire *wire, const uint8_t *more, size_t more_bytes)
{
    switch (wire->kind) {
    case WIRE_ACK:
        take_ack(nic, rank, wire);
        break;
    case WIRE_REPLY:
        if (take_data(nic, rank, BACK_TAG, wire, more, more_bytes))
            vocl_log(LOG_WARN, "devcom: what rank %d was to get from rank %d has no place any more", nic->d->rank,
                     rank);
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

static void take_message(struct nic *nic, int rank, int tag, size_t length)
{
    const uint8_t *more = nic->buffer + sizeof(struct wire);
    unsigned queue = (unsigned)tag - 1;
    struct wire wire;

    nic_heard(nic, rank);
    if (length < sizeof(wire))
        return;
    memcpy(&wire, nic->buffer, sizeof(wire));
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
        nic_arrival(nic, rank, queue)->broken = nic_take_table(nic, rank, tag, &wire) == -EPROTO;
    else if (queue == own_stream(nic->d) && wire.kind == WIRE_PROBE)
        nic_take_probe(nic, rank, tag, &wire);
    else if (wire.kind == WIRE_FORGET)
        nic_take_forget(nic, rank, &wire);
    else if (wire.kind == WIRE_ASK)
        nic_take_question(nic, rank, &wire);
    else if (wire.kind == WIRE_LETTER)
        nic_take_letter(nic, rank, more, length);
}

/* A put without a descriptor. If it makes no sense its data are received all the same, as they would be in MPI's way.
 */
static void take_named(struct nic *nic, int rank, int tag, MPI_Message *message, size_t length)
{
    struct wire wire;
    unsigned queue;
    int error;

    nic_heard(nic, rank);
    nic->matched = message;
    if (nic_place_take(nic, rank, tag, length, &queue, &wire))
        take_operation(nic, rank, queue, &wire, NULL, 0);
    if (nic->matched)
        free(nic_receive_packed(nic, rank, tag, length, &error));
    nic->matched = NULL;
}

int nic_receive(struct nic *nic)
{
    int count = 0, found = 1;

    while (count < MOST_RECEIVED) {
        MPI_Message message;
        MPI_Status status;
        int length, error;

        if (!nic->buffer)
            nic->buffer = malloc(nic->buffer_bytes);
        if (!nic->buffer)
            break;
        if (PMPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, nic->wire, &found, &message, &status) || !found)
            break;
        PMPI_Get_count(&status, MPI_BYTE, &length);
        count++;
        if (status.MPI_TAG >= PLACE_TAG) {
            take_named(nic, status.MPI_SOURCE, status.MPI_TAG, &message, (size_t)length);
            continue;
        }
        if ((size_t)length > nic->buffer_bytes) {
            message_drop(&message, length);
            continue;
        }
        nic->matched = &message; /* of which perhaps only the beginning has come */
        error = receive(nic, status.MPI_SOURCE, 0, NULL, nic->buffer, length, MPI_BYTE);
        if (error == -ECONNRESET)
            nic->buffer = NULL;
        if (!error)
            take_message(nic, status.MPI_SOURCE, status.MPI_TAG, (size_t)length);
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
