/*
 * What goes by messages: to ranks of other hosts, and into memory that a process cannot write by itself. A thread of
 * each rank stands for its NIC: it receives straight into the segment, gives the signal, and acknowledges. Threads that
 * wait do its work meanwhile. Why messages and not MPI_Put: doc/xtq.md.
 *
 * A queue to a rank is a stream of descriptors (struct wire, with a tag of its own), each followed by its data: in the
 * same message if it is small, else in one of its own on a second communicator, where data of a stream keep the order
 * of their descriptors. What comes back (acknowledgements, and the data of gets) is one more stream, so that the
 * acknowledgement of a get comes after its data.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/thread.h"
#include "devcom/internal.h"

#define BACK_TAG 0 /* queue q's descriptors have tag 1 + q */
#define BUSY_US 200
#define FIRST_NAP_US 20
#define LONGEST_NAP_US 200
#define HEART_US 1000000
#define LOST_US 30000000

enum wire_kind {
    WIRE_PUT = 1,
    WIRE_GET,
    WIRE_ASK,
    WIRE_LETTER,
    WIRE_ACK,
    WIRE_REPLY,
    WIRE_ANSWER,
    WIRE_READ,
    WIRE_HEART
};
enum { WIRE_LAST = 1, WIRE_BULK = 2 };

/* A descriptor, 64 bytes. Of an acknowledgement: count[0]: the queue; offset: how many operations; bytes: refusals;
 * value: the last one's error. Of questions and answers: bytes: the question's number. */
struct wire {
    uint8_t kind, flags, op, queue;
    uint16_t segment, unused;
    uint64_t offset, bytes;
    uint32_t count[2];
    uint64_t stride[2];
    uint32_t signal, question;
    int64_t value;
};
_Static_assert(sizeof(struct wire) == 64, "a descriptor is 64 bytes");

/* A message that has yet to leave. */
struct parting {
    struct parting *next;
    MPI_Request request;
    struct segment *segment; /* the data are there */
    struct lane *lane;
    uint8_t *packed;
    uint8_t copy[];
};

/* This rank's end of a stream to another. */
struct lane {
    pthread_mutex_t lock;
    _Atomic uint64_t sent, arrived, refused;
    uint64_t refusals_told;
    _Atomic int last_refusal;
    _Atomic uint32_t leaving;
};

/* The other end of another's. */
struct arrival {
    uint64_t done, told, refused;
    int last_refusal;
    bool failed, broken; /* failed: a piece of this operation was refused */
};

struct asking {
    struct asking *next;
    uint64_t number;
    int64_t answer[2];
    int error;
    _Atomic bool done;
};

struct nic {
    struct devcom *d;
    MPI_Comm wire, bulk;
    pthread_t thread;
    _Atomic bool stop;
    pthread_mutex_t serving; /* of what is received */
    pthread_mutex_t lock;    /* of partings and askings */
    struct parting *partings;
    struct asking *askings;
    uint64_t questions;
    unsigned streams;
    struct lane *lanes;       /* by rank and queue */
    struct arrival *arrivals; /* likewise */
    _Atomic bool *letters;    /* by rank: one has not been read yet */
    _Atomic long *heard_us;   /* by rank */
    long beat_us;
    uint8_t *buffer;
    size_t buffer_bytes;
};

static struct lane *lane_of(const struct nic *nic, int rank, unsigned queue)
{
    return &nic->lanes[(size_t)rank * nic->streams + queue];
}

static struct arrival *arrival_of(const struct nic *nic, int rank, unsigned queue)
{
    return &nic->arrivals[(size_t)rank * nic->streams + queue];
}

/* ---- sending ---- */

static MPI_Datatype type_of(const struct layout *layout)
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

static void part(struct nic *nic, struct parting *parting)
{
    if (parting->lane)
        atomic_fetch_add(&parting->lane->leaving, 1);
    pthread_mutex_lock(&nic->lock);
    parting->next = nic->partings;
    nic->partings = parting;
    pthread_mutex_unlock(&nic->lock);
}

/* The descriptor and what else there is, as one message. */
static int send_message(struct nic *nic, int rank, int tag, struct lane *lane, const struct wire *wire,
                        const void *more, size_t more_bytes)
{
    struct parting *parting = malloc(sizeof(*parting) + sizeof(*wire) + more_bytes);

    if (!parting)
        return -ENOMEM;
    *parting = (struct parting){.lane = lane};
    memcpy(parting->copy, wire, sizeof(*wire));
    if (more_bytes)
        memcpy(parting->copy + sizeof(*wire), more, more_bytes);
    if (PMPI_Isend(parting->copy, (int)(sizeof(*wire) + more_bytes), MPI_BYTE, rank, tag, nic->wire,
                   &parting->request)) {
        free(parting);
        return -EIO;
    }
    part(nic, parting);
    return 0;
}

/* Data of a descriptor that has been sent; packed (freed when it has left), or where the segment has them. */
static int send_bulk(struct nic *nic, int rank, int tag, struct lane *lane, struct segment *segment, size_t offset,
                     const struct layout *layout, uint8_t *packed)
{
    struct parting *parting = malloc(sizeof(*parting));
    MPI_Datatype type = MPI_BYTE;
    int count = 1, failed;

    if (!parting) {
        free(packed);
        return -ENOMEM;
    }
    *parting = (struct parting){.lane = lane, .segment = packed ? NULL : segment, .packed = packed};
    if (packed || layout_contiguous(layout))
        count = (int)layout_total(layout);
    else
        type = type_of(layout);
    if (parting->segment)
        atomic_fetch_add(segment->users, 1);
    failed = PMPI_Isend(packed ? packed : segment->host + offset, count, type, rank, tag, nic->bulk, &parting->request);
    if (type != MPI_BYTE)
        PMPI_Type_free(&type);
    if (failed) {
        segment_release(parting->segment);
        free(packed);
        free(parting);
        return -EIO;
    }
    part(nic, parting);
    return 0;
}

/* A descriptor with data of a segment of this rank. */
static int send_data(struct nic *nic, int rank, int tag, struct lane *lane, struct wire *wire, struct segment *segment,
                     size_t offset, const struct layout *layout)
{
    size_t total = layout_total(layout);
    bool small = total <= nic->d->o.eager_bytes, pack = small || !segment->host;
    uint8_t *packed = pack ? malloc(total) : NULL;
    int error = 0;

    if (pack)
        error = packed ? stage_read(segment, offset, layout, packed) : -ENOMEM;
    wire->flags |= small ? 0 : WIRE_BULK;
    if (!error)
        error = send_message(nic, rank, tag, lane, wire, packed, small ? total : 0);
    if (error || small) {
        free(packed);
        return error;
    }
    return send_bulk(nic, rank, tag, lane, segment, offset, layout, packed);
}

static struct wire wire_of(const struct transfer *t, enum wire_kind kind)
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

static struct layout layout_of_wire(const struct wire *wire)
{
    return (struct layout){
        .bytes = wire->bytes, .count = {wire->count[0], wire->count[1]}, .stride = {wire->stride[0], wire->stride[1]}};
}

/* Under the lane's lock; of a size that one message carries. */
static int send_piece(struct nic *nic, const struct transfer *t, bool get, bool last)
{
    struct lane *lane = lane_of(nic, t->rank, t->queue);
    struct wire wire = wire_of(t, get ? WIRE_GET : WIRE_PUT), home;
    int tag = 1 + (int)t->queue;

    wire.flags = last ? WIRE_LAST : 0;
    if (get) { /* then where the owner is to put it */
        struct transfer back = {.remote_id = t->local_id, .remote_offset = t->offset, .remote = t->local};

        home = wire_of(&back, WIRE_REPLY);
        return send_message(nic, t->rank, tag, lane, &wire, &home, sizeof(home));
    }
    if (last) {
        wire.op = (uint8_t)t->op;
        wire.signal = t->signal;
        wire.value = t->value;
    }
    if (t->data)
        return send_message(nic, t->rank, tag, lane, &wire, t->data, layout_total(&t->local));
    if (!t->segment || !layout_total(&t->local))
        return send_message(nic, t->rank, tag, lane, &wire, NULL, 0);
    return send_data(nic, t->rank, tag, lane, &wire, t->segment, t->offset, &t->local);
}

static struct transfer part_of(const struct transfer *t, size_t local, size_t remote)
{
    struct transfer piece = *t;

    piece.offset += local;
    piece.remote_offset += remote;
    return piece;
}

/* Planes, then rows, then parts of blocks, until a piece is small enough. */
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
    struct lane *lane = lane_of(nic, t->rank, t->queue);
    struct transfer whole = *t;
    size_t most = t->segment && !t->segment->host ? d->o.chunk_bytes : PIECE_BYTES;
    int error = 0;

    if (board_lost(d, t->rank))
        return -ECONNRESET;
    if (layout_contiguous(&t->local) && layout_contiguous(&t->remote)) {
        flatten(&whole.local);
        flatten(&whole.remote);
    }
    pthread_mutex_lock(&lane->lock);
    if (atomic_load(&lane->sent) - atomic_load(&lane->arrived) >= d->o.queue_depth)
        error = -EAGAIN;
    if (!error)
        error = send_pieces(nic, &whole, most, get, true);
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

/* The number of messages that have left. */
static int poll_partings(struct nic *nic)
{
    int count = 0;

    pthread_mutex_lock(&nic->lock);
    for (struct parting **at = &nic->partings; *at;) {
        struct parting *parting = *at;
        int done = 0;

        PMPI_Test(&parting->request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            at = &parting->next;
            continue;
        }
        *at = parting->next;
        count++;
        segment_release(parting->segment);
        if (parting->lane)
            atomic_fetch_sub(&parting->lane->leaving, 1);
        free(parting->packed);
        free(parting);
    }
    pthread_mutex_unlock(&nic->lock);
    return count;
}

/* ---- receiving ---- */

/* Until it is there; messages of others wait meanwhile, which the sender's loss must not make them do for ever. */
static int receive_bulk(struct nic *nic, int rank, int tag, void *at, int count, MPI_Datatype type)
{
    MPI_Request request;
    int done = 0;

    if (PMPI_Irecv(at, count, type, rank, tag, nic->bulk, &request))
        return -EIO;
    for (unsigned spins = 1; !done; spins++) {
        if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE))
            return -EIO;
        if (!done && spins % YIELD_EVERY == 0) {
            poll_partings(nic);
            sched_yield();
            if (spins % (1024 * YIELD_EVERY) == 0 && board_lost(nic->d, rank)) {
                PMPI_Cancel(&request);
                PMPI_Request_free(&request);
                return -ECONNRESET;
            }
        }
    }
    return 0;
}

/* Into the segment, or through packed memory where that is on a device, or nowhere. */
static int take_bulk(struct nic *nic, int rank, int tag, struct segment *segment, size_t offset,
                     const struct layout *layout, int error)
{
    size_t total = layout_total(layout);
    MPI_Datatype type;
    uint8_t *packed;
    int failed;

    if (!error && segment->host) {
        if (layout_contiguous(layout))
            return receive_bulk(nic, rank, tag, segment->host + offset, (int)total, MPI_BYTE);
        type = type_of(layout);
        error = receive_bulk(nic, rank, tag, segment->host + offset, 1, type);
        PMPI_Type_free(&type);
        return error;
    }
    packed = malloc(total);
    if (!packed)
        return -EPROTO;
    failed = receive_bulk(nic, rank, tag, packed, (int)total, MPI_BYTE);
    if (!error)
        error = failed ? failed : stage_write(segment, offset, layout, packed);
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
        error = send_data(nic, rank, BACK_TAG, NULL, &home, segment, wire->offset, &layout);
    segment_release(segment);
    return error;
}

static void take_operation(struct nic *nic, int rank, unsigned queue, const struct wire *wire, const uint8_t *more,
                           size_t more_bytes)
{
    struct arrival *arrival = arrival_of(nic, rank, queue);
    struct devcom *d = nic->d;
    unsigned signals = queue < d->o.queues ? d->o.signals : d->words;
    int error;

    if (arrival->broken)
        error = -EPROTO;
    else if (wire->kind == WIRE_PUT)
        error = take_data(nic, rank, 1 + (int)queue, wire, more, more_bytes);
    else
        error = take_get(nic, rank, wire, more, more_bytes);
    if (!error && (wire->op > DEVCOM_ADD || (wire->op && wire->signal >= signals)))
        error = -EINVAL;
    if (error) {
        vocl_log(LOG_WARN, "devcom: rank %d refused an operation of rank %d: %s", d->rank, rank, strerror(-error));
        arrival->refused++;
        arrival->last_refusal = error;
        arrival->failed = true;
        arrival->broken = error == -EPROTO;
    }
    if (!(wire->flags & WIRE_LAST) && !arrival->broken)
        return;
    if (!arrival->failed)
        signal_apply(d, d->rank, wire->signal, wire->op, wire->value);
    arrival->failed = false;
    arrival->done++;
}

static void take_question(struct nic *nic, int rank, const struct wire *wire)
{
    struct wire answer = {.kind = WIRE_ANSWER, .bytes = wire->stride[0]};
    struct segment *segment = NULL;
    int error = segment_take(nic->d, wire->segment, &segment);

    if (!error && wire->question == ASK_SEGMENT) {
        answer.offset = segment->bytes;
        answer.stride[0] = segment->host != NULL;
    } else if (!error && wire->question > ASK_SEGMENT) {
        error = -EINVAL;
    } else if (!error && (wire->offset % sizeof(int64_t) || !inside(segment->bytes, wire->offset, sizeof(int64_t)))) {
        error = -ERANGE;
    } else if (!error && !segment->host) {
        error = -ENOTSUP;
    } else if (!error) {
        answer.offset =
            (uint64_t)atomic_run(segment->host + wire->offset, wire->question, (int64_t)wire->bytes, wire->value);
    }
    segment_release(segment);
    answer.value = error;
    send_message(nic, rank, BACK_TAG, NULL, &answer, NULL, 0);
}

static void take_letter(struct nic *nic, int rank, const uint8_t *more, size_t more_bytes)
{
    struct devcom *d = nic->d;
    struct letter *letter = board_letter(d, d->rank, rank);

    if (more_bytes > d->o.passive_bytes || atomic_load(&letter->full) != LETTER_EMPTY)
        return;
    memcpy(letter->data, more, more_bytes);
    letter->bytes = (uint32_t)more_bytes;
    atomic_store(&letter->full, LETTER_FULL);
    board_ring(d->boards[d->rank]);
}

static void take_ack(struct nic *nic, int rank, const struct wire *wire)
{
    struct lane *lane;

    if (wire->queue >= nic->streams)
        return;
    lane = lane_of(nic, rank, wire->queue);
    atomic_store(&lane->last_refusal, (int)wire->value);
    atomic_store(&lane->refused, wire->bytes);
    atomic_store(&lane->arrived, wire->offset);
}

static void take_answer(struct nic *nic, const struct wire *wire)
{
    pthread_mutex_lock(&nic->lock);
    for (struct asking *asking = nic->askings; asking; asking = asking->next) {
        if (asking->number == wire->bytes) {
            asking->answer[0] = (int64_t)wire->offset;
            asking->answer[1] = (int64_t)wire->stride[0];
            asking->error = wire->value < 0 ? (int)wire->value : 0;
            atomic_store(&asking->done, true);
        }
    }
    pthread_mutex_unlock(&nic->lock);
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
        take_answer(nic, wire);
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

    atomic_store(&nic->heard_us[rank], clock_us());
    if (length < sizeof(wire))
        return;
    memcpy(&wire, nic->buffer, sizeof(wire));
    length -= sizeof(wire);
    if (tag == BACK_TAG)
        take_back(nic, rank, &wire, more, length);
    else if (queue < nic->streams && (wire.kind == WIRE_PUT || wire.kind == WIRE_GET))
        take_operation(nic, rank, queue, &wire, more, length);
    else if (wire.kind == WIRE_ASK)
        take_question(nic, rank, &wire);
    else if (wire.kind == WIRE_LETTER)
        take_letter(nic, rank, more, length);
}

/* What is longer than any message may be is received and forgotten. */
static void receive_nowhere(MPI_Message *message, int bytes)
{
    void *nowhere = malloc((size_t)bytes + 1);

    if (nowhere)
        PMPI_Mrecv(nowhere, bytes, MPI_BYTE, message, MPI_STATUS_IGNORE);
    free(nowhere);
}

static int receive(struct nic *nic)
{
    int count = 0, found = 1;

    while (count < 64) {
        MPI_Message message;
        MPI_Status status;
        int length;

        if (PMPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, nic->wire, &found, &message, &status) || !found)
            break;
        PMPI_Get_count(&status, MPI_BYTE, &length);
        count++;
        if ((size_t)length > nic->buffer_bytes) {
            receive_nowhere(&message, length);
            continue;
        }
        PMPI_Mrecv(nic->buffer, length, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        take_message(nic, status.MPI_SOURCE, status.MPI_TAG, (size_t)length);
    }
    return count;
}

/* Of each stream of which something more is done. */
static int acknowledge(struct nic *nic)
{
    int count = 0;

    for (int rank = 0; rank < nic->d->size; rank++) {
        for (unsigned queue = 0; queue < nic->streams; queue++) {
            struct arrival *arrival = arrival_of(nic, rank, queue);
            struct wire ack = {.kind = WIRE_ACK,
                               .queue = (uint8_t)queue,
                               .offset = arrival->done,
                               .bytes = arrival->refused,
                               .value = arrival->last_refusal};

            if (arrival->told == arrival->done || send_message(nic, rank, BACK_TAG, NULL, &ack, NULL, 0))
                continue;
            arrival->told = arrival->done;
            count++;
        }
    }
    return count;
}

static void beat(struct nic *nic)
{
    long now = clock_us();

    if (now - nic->beat_us < HEART_US)
        return;
    nic->beat_us = now;
    for (int rank = 0; rank < nic->d->size; rank++) {
        struct wire heart = {.kind = WIRE_HEART};

        if (!nic->d->boards[rank])
            send_message(nic, rank, BACK_TAG, NULL, &heart, NULL, 0);
    }
}

static int serve(struct nic *nic)
{
    int count;

    if (pthread_mutex_trylock(&nic->serving))
        return 0;
    count = receive(nic);
    if (count)
        acknowledge(nic);
    pthread_mutex_unlock(&nic->serving);
    count += poll_partings(nic);
    if (count)
        board_ring(nic->d->boards[nic->d->rank]);
    return count;
}

void nic_help(struct devcom *d)
{
    serve(d->nic);
}

static void *nic_run(void *argument)
{
    struct nic *nic = argument;
    long since = clock_us(), pause = FIRST_NAP_US;

    while (!atomic_load(&nic->stop)) {
        if (serve(nic)) {
            since = clock_us();
            pause = FIRST_NAP_US;
            continue;
        }
        beat(nic);
        if (clock_us() - since < BUSY_US) {
            sched_yield();
        } else {
            struct timespec time = {.tv_nsec = pause * 1000};

            nanosleep(&time, NULL);
            pause = pause * 2 < LONGEST_NAP_US ? pause * 2 : LONGEST_NAP_US;
        }
    }
    return NULL;
}

/* ---- what others want to know ---- */

bool nic_lost(const struct devcom *d, int rank)
{
    return d->nic && clock_us() - atomic_load(&d->nic->heard_us[rank]) > LOST_US;
}

bool nic_busy(const struct devcom *d, int rank, unsigned queue)
{
    struct lane *lane = lane_of(d->nic, rank, queue);

    return atomic_load(&lane->sent) != atomic_load(&lane->arrived);
}

bool nic_left(struct devcom *d, unsigned queue)
{
    for (int rank = 0; rank < d->size; rank++) {
        if (atomic_load(&lane_of(d->nic, rank, queue)->leaving))
            return false;
    }
    return true;
}

bool nic_arrived(struct devcom *d, unsigned queue)
{
    for (int rank = 0; rank < d->size; rank++) {
        if (nic_busy(d, rank, queue))
            return false;
    }
    return true;
}

bool nic_target_lost(const struct devcom *d, unsigned queue)
{
    for (int rank = 0; rank < d->size; rank++) {
        if (nic_busy(d, rank, queue) && board_lost(d, rank))
            return true;
    }
    return false;
}

int nic_refusal(struct devcom *d, unsigned queue)
{
    int error = 0;

    for (int rank = 0; rank < d->size; rank++) {
        struct lane *lane = lane_of(d->nic, rank, queue);
        uint64_t refused = atomic_load(&lane->refused);

        pthread_mutex_lock(&lane->lock);
        if (refused != lane->refusals_told) {
            int last = atomic_load(&lane->last_refusal);

            lane->refusals_told = refused;
            error = error ? error : last < 0 ? last : -EIO;
        }
        pthread_mutex_unlock(&lane->lock);
    }
    return error;
}

/* ---- questions and letters ---- */

static void forget(struct nic *nic, const struct asking *asking)
{
    pthread_mutex_lock(&nic->lock);
    for (struct asking **at = &nic->askings; *at; at = &(*at)->next) {
        if (*at == asking) {
            *at = asking->next;
            break;
        }
    }
    pthread_mutex_unlock(&nic->lock);
}

int nic_ask(struct devcom *d, int rank, enum question question, unsigned segment, size_t offset, int64_t first,
            int64_t second, long timeout_us, int64_t answer[2])
{
    struct nic *nic = d->nic;
    struct asking asking = {.next = NULL};
    struct wire wire = {.kind = WIRE_ASK,
                        .segment = (uint16_t)segment,
                        .offset = offset,
                        .bytes = (uint64_t)first,
                        .question = question,
                        .value = second};
    struct waiting waiting;
    int error;

    pthread_mutex_lock(&nic->lock);
    asking.number = ++nic->questions;
    asking.next = nic->askings;
    nic->askings = &asking;
    pthread_mutex_unlock(&nic->lock);
    wire.stride[0] = asking.number;
    error = send_message(nic, rank, 1 + (int)d->o.queues, NULL, &wire, NULL, 0);
    waiting_begin(d, &waiting, timeout_us);
    while (!error && !atomic_load(&asking.done))
        error = board_lost(d, rank) ? -ECONNRESET : waiting_step(d, &waiting);
    waiting_end(d, &waiting);
    forget(nic, &asking);
    if (error && !atomic_load(&asking.done))
        return error;
    memcpy(answer, asking.answer, sizeof(asking.answer));
    return asking.error;
}

int nic_letter(struct devcom *d, int rank, const void *data, size_t bytes, long timeout_us)
{
    struct wire wire = {.kind = WIRE_LETTER};
    struct waiting waiting;
    bool unread = false;
    int error = 0;

    waiting_begin(d, &waiting, timeout_us);
    while (!error && !atomic_compare_exchange_strong(&d->nic->letters[rank], &unread, true)) {
        unread = false;
        error = board_lost(d, rank) ? -ECONNRESET : waiting_step(d, &waiting);
    }
    waiting_end(d, &waiting);
    return error ? error : send_message(d->nic, rank, 1 + (int)d->o.queues, NULL, &wire, data, bytes);
}

void nic_letter_read(struct devcom *d, int rank)
{
    struct wire wire = {.kind = WIRE_READ};

    send_message(d->nic, rank, BACK_TAG, NULL, &wire, NULL, 0);
}

/* ---- open and close ---- */

static void nic_free(struct nic *nic)
{
    for (unsigned i = 0; nic->lanes && i < nic->streams * (unsigned)nic->d->size; i++)
        pthread_mutex_destroy(&nic->lanes[i].lock);
    pthread_mutex_destroy(&nic->serving);
    pthread_mutex_destroy(&nic->lock);
    free(nic->lanes);
    free(nic->arrivals);
    free(nic->letters);
    free(nic->heard_us);
    free(nic->buffer);
    free(nic);
}

static int nic_allocate(struct nic *nic)
{
    struct devcom *d = nic->d;
    size_t ranks = (size_t)d->size,
           more = d->o.eager_bytes > d->o.passive_bytes ? d->o.eager_bytes : d->o.passive_bytes;

    nic->streams = d->o.queues + 1;
    nic->buffer_bytes = 2 * sizeof(struct wire) + more;
    nic->lanes = calloc(ranks * nic->streams, sizeof(*nic->lanes));
    nic->arrivals = calloc(ranks * nic->streams, sizeof(*nic->arrivals));
    nic->letters = calloc(ranks, sizeof(*nic->letters));
    nic->heard_us = calloc(ranks, sizeof(*nic->heard_us));
    nic->buffer = malloc(nic->buffer_bytes);
    if (!nic->lanes || !nic->arrivals || !nic->letters || !nic->heard_us || !nic->buffer)
        return -ENOMEM;
    for (unsigned i = 0; i < nic->streams * ranks; i++)
        pthread_mutex_init(&nic->lanes[i].lock, NULL);
    for (size_t rank = 0; rank < ranks; rank++)
        atomic_store(&nic->heard_us[rank], clock_us());
    return 0;
}

/* Collective. */
int nic_open(struct devcom *d)
{
    struct nic *nic = calloc(1, sizeof(*nic));
    int level, error;

    PMPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE)
        vocl_log(LOG_ERROR, "devcom: messages between ranks need MPI_THREAD_MULTIPLE");
    error = context_agree_early(d, level < MPI_THREAD_MULTIPLE ? -ENOTSUP : nic ? 0 : -ENOMEM);
    if (error) {
        free(nic);
        return error;
    }
    nic->d = d;
    pthread_mutex_init(&nic->serving, NULL);
    pthread_mutex_init(&nic->lock, NULL);
    error = nic_allocate(nic);
    if (PMPI_Comm_dup(d->comm, &nic->wire) || PMPI_Comm_dup(d->comm, &nic->bulk))
        error = -EIO;
    if (!error) {
        PMPI_Comm_set_errhandler(nic->wire, MPI_ERRORS_RETURN);
        PMPI_Comm_set_errhandler(nic->bulk, MPI_ERRORS_RETURN);
        error = -thread_start(&nic->thread, nic_run, nic);
    }
    if (error) {
        nic_free(nic);
        return error;
    }
    d->nic = nic;
    return 0;
}

static void drain(struct nic *nic)
{
    for (long since = clock_us(); nic->partings && clock_us() - since < HEART_US;) {
        serve(nic);
        sched_yield();
    }
}

void nic_close(struct devcom *d, bool collective)
{
    struct nic *nic = d->nic;

    drain(nic);
    atomic_store(&nic->stop, true);
    pthread_join(nic->thread, NULL);
    if (collective) {
        PMPI_Barrier(d->comm);
        while (receive(nic))
            ;
        drain(nic);
        PMPI_Comm_free(&nic->wire);
        PMPI_Comm_free(&nic->bulk);
    }
    d->nic = NULL;
    nic_free(nic);
}
