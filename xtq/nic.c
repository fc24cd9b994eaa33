/*
 * Messages to targets on other hosts. The thread of the network adapter (ground/adapter.h) receives each message
 * directly into its lane, at the position that both sides know from the earlier messages, rings the bell there, and
 * tells initiators what has completed. doc/xtq.md has measurements that show why messages are sent and not put
 * (MPI_Put, flush, MPI_Put of the bell).
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ground/adapter.h"
#include "xtq/internal.h"

#define CREDIT_TAG 0 /* queue q's messages have tag 1 + q */
#define GATHER 4096  /* messages up to this size are copied into one block; larger ones are sent by a datatype */
#define LONGEST_NAP_US 1000

struct credit_note {
    uint64_t tail, errors;
    int32_t last_error, broken;
    uint32_t queue, unused;
};

/* The target's end of a lane from a rank of another host. */
struct wire_lane {
    uint64_t head;
    struct credit_note told; /* for queue 0 */
};

struct wire_peer {
    struct pending_send telling; /* of note, while told is set */
    _Atomic bool told;
    struct credit_note note;
    /* the message that is being received: */
    struct credit_note received;
    int length;
    unsigned queue;
};

/* A message that MPI has not read completely: the initiator must not change its memory yet. */
struct leaving {
    struct pending_send pending_send;
    struct xtq_signal *completed;
    _Atomic bool *gone;
    uint8_t copy[];
};

struct nic {
    struct xtq *x;
    struct adapter adapter;
    _Atomic bool ending; /* silence of other ranks is no loss any more */
    struct wire_peer *peers;
    struct wire_lane *lanes; /* by rank and queue */
};

static struct wire_lane *wire_lane(const struct nic *nic, int rank, unsigned queue)
{
    return &nic->lanes[(size_t)rank * nic->x->queues + queue];
}

/* ---- the initiator ---- */

/* Called when a message has been sent, under the adapter's lock of sends. */
static void has_left(struct pending_send *pending_send)
{
    struct leaving *leaving = (struct leaving *)pending_send;

    if (leaving->completed)
        xtq_signal_add(leaving->completed, -1);
    if (leaving->gone)
        atomic_store(leaving->gone, true);
    free(leaving);
}

static int send_off(struct nic *nic, int target, unsigned queue, const void *at, int count, MPI_Datatype type,
                    struct leaving *leaving)
{
    return adapter_send(&nic->adapter, nic->x->comm, target, 1 + (int)queue, at, count, type, &leaving->pending_send,
                        has_left);
}

static const uint8_t padding[RING_LINE];

/* Sends packet, arguments and payload from their places, with the gaps of a lane between them (section III-A: gather).
 */
static int send_gathered(struct nic *nic, int target, unsigned queue, const struct ring_parts *m,
                         struct leaving *leaving)
{
    const void *parts[] = {leaving->copy, m->arguments, padding, m->payload, padding};
    int lengths[] = {RING_LINE, (int)m->argument_bytes, (int)(ring_lines(m->argument_bytes) - m->argument_bytes),
                     (int)m->payload_bytes, (int)(ring_lines(m->payload_bytes) - m->payload_bytes)};
    MPI_Aint places[5];
    MPI_Datatype type;
    int error;

    memcpy(leaving->copy, &m->packet, RING_LINE);
    for (unsigned i = 0; i < 5; i++)
        PMPI_Get_address(lengths[i] ? parts[i] : padding, &places[i]);
    if (PMPI_Type_create_hindexed(5, lengths, places, MPI_BYTE, &type) || PMPI_Type_commit(&type))
        return -EIO;
    error = send_off(nic, target, queue, MPI_BOTTOM, 1, type, leaving);
    PMPI_Type_free(&type);
    return error;
}

static int send_copied(struct nic *nic, int target, unsigned queue, const struct ring_parts *parts,
                       struct leaving *leaving)
{
    int bytes = (int)ring_message_bytes(parts->argument_bytes, parts->payload_bytes);

    memset(leaving->copy, 0, (size_t)bytes);
    ring_write(leaving->copy, parts);
    return send_off(nic, target, queue, leaving->copy, bytes, MPI_BYTE, leaving);
}

/* Waits until MPI has read all of a message. Returns -ECONNRESET if the target is lost; MPI may then read it later. */
static int wait_until_gone(struct nic *nic, int target, struct leaving *leaving, _Atomic bool *gone)
{
    while (!atomic_load(gone)) {
        sched_yield();
        if (!neighbours_lost(nic->adapter.neighbours, target))
            continue;
        pthread_mutex_lock(&nic->adapter.leaving);
        if (!atomic_load(gone))
            leaving->gone = NULL;
        pthread_mutex_unlock(&nic->adapter.leaving);
        return atomic_load(gone) ? 0 : -ECONNRESET;
    }
    return 0;
}

int nic_send(struct xtq *x, int target, unsigned queue, const struct ring_parts *parts, struct xtq_signal *completed)
{
    size_t bytes = ring_message_bytes(parts->argument_bytes, parts->payload_bytes);
    bool copied = bytes <= GATHER;
    struct leaving *leaving;
    _Atomic bool gone = false;
    int error;

    if (neighbours_lost(&x->region.neighbours, target))
        return -ECONNRESET;
    leaving = malloc(sizeof(*leaving) + (copied ? bytes : RING_LINE));
    if (!leaving)
        return -ENOMEM;
    *leaving = (struct leaving){.completed = copied ? NULL : completed, .gone = copied || completed ? NULL : &gone};
    error = copied ? send_copied(x->nic, target, queue, parts, leaving)
                   : send_gathered(x->nic, target, queue, parts, leaving);
    if (error) {
        free(leaving);
        return error;
    }
    if (copied && completed)
        xtq_signal_add(completed, -1);
    return copied || completed ? 0 : wait_until_gone(x->nic, target, leaving, &gone);
}

/* ---- the target ---- */

/* Returns the bytes that a received message of that length occupies, with what padding skips; 0: its packet does not
 * agree with its length, or with the lane. */
static uint64_t bytes_of(const struct ring *ring, uint64_t head, int length)
{
    const uint64_t rest = ring_rest(ring, head);
    struct ring_message message;
    uint64_t bytes;

    memcpy(&message.packet, ring_at(ring, head), sizeof(message.packet));
    bytes = ring_sizes(&message, rest);
    if ((message.packet.header & 0xff) == XTQ_PAD)
        return bytes == rest && ring_has_room(ring, head, bytes) ? bytes : 0;
    return bytes == (uint64_t)length ? bytes : 0;
}

static void refuse_message(struct nic *nic, const struct ring *ring)
{
    context_refuse(nic->x, ring, -EPROTO);
    ring_break(ring);
}

/* Called when a message has been received completely. A message of a lost rank, which was given up, is not refused. */
static void take_message(void *owner, int initiator, int error)
{
    struct nic *nic = owner;
    struct xtq *x = nic->x;
    struct wire_peer *peer = &nic->peers[initiator];
    struct ring ring = region_lane(&x->region, (unsigned)x->rank, peer->queue, (unsigned)initiator);
    struct wire_lane *lane = wire_lane(nic, initiator, peer->queue);
    uint64_t bytes;

    if (error == -ECONNRESET)
        return;
    bytes = error ? 0 : bytes_of(&ring, lane->head, peer->length);
    if (!bytes) {
        refuse_message(nic, &ring);
        return;
    }
    lane->head += bytes;
    ring_publish(&ring, lane->head);
    region_wake(&x->region, (unsigned)x->rank, peer->queue, false);
}

static void take_credit(void *owner, int target, int error)
{
    struct nic *nic = owner;
    const struct credit_note note = nic->peers[target].received;
    struct ring_credit *credit;

    if (error || note.queue >= nic->x->queues)
        return;
    credit = region_mirror(&nic->x->region, (unsigned)target, note.queue);
    atomic_store(&credit->last_error, note.last_error);
    atomic_store(&credit->errors, note.errors);
    atomic_store(&credit->broken, note.broken);
    atomic_store_explicit(&credit->tail, note.tail, memory_order_release);
}

/* Receives a message into its place in the lane, or refuses it. */
static void receive_message(struct nic *nic, int initiator, unsigned queue, MPI_Message *message, int length)
{
    struct wire_peer *peer = &nic->peers[initiator];
    struct ring ring = region_lane(&nic->x->region, (unsigned)nic->x->rank, queue, (unsigned)initiator);
    uint64_t bytes = (uint64_t)length, head = wire_lane(nic, initiator, queue)->head;

    if (ring_broken(&ring) || bytes < RING_LINE || bytes % RING_LINE || bytes > ring.size ||
        ring_pad(&ring, head, bytes) || !ring_has_room(&ring, head, bytes)) {
        refuse_message(nic, &ring);
        adapter_drop(&nic->adapter, initiator, message, length);
        return;
    }
    peer->length = length;
    peer->queue = queue;
    adapter_receive(&nic->adapter, initiator, message, MPI_COMM_NULL, 0, ring_at(&ring, head), length, MPI_BYTE,
                    take_message);
}

static void take(void *owner, int rank, int tag, MPI_Message *message, int length)
{
    struct nic *nic = owner;
    struct wire_peer *peer = &nic->peers[rank];

    if (tag == CREDIT_TAG && length == sizeof(peer->received))
        adapter_receive(&nic->adapter, rank, message, MPI_COMM_NULL, 0, &peer->received, length, MPI_BYTE, take_credit);
    else if (tag != CREDIT_TAG && (unsigned)tag <= nic->x->queues && !nic->adapter.neighbours->memory[rank])
        receive_message(nic, rank, (unsigned)tag - 1, message, length);
    else
        adapter_drop(&nic->adapter, rank, message, length);
}

/* Called if a receive is given up. MPI may still write to the lane, or to the peer's note, which are therefore not
 * freed: nic_close(). */
static void give_up(void *owner, int rank, MPI_Request *request)
{
    (void)owner;
    (void)rank;
    PMPI_Request_free(request);
}

static void was_told(struct pending_send *telling)
{
    ((struct wire_peer *)telling)->told = false;
}

/* Tells an initiator of the first lane whose credit has changed: one note at a time. Returns 1 if there is one. */
static int tell_one(struct nic *nic, int initiator)
{
    struct wire_peer *peer = &nic->peers[initiator];

    for (unsigned queue = 0; queue < nic->x->queues; queue++) {
        struct ring ring = region_lane(&nic->x->region, (unsigned)nic->x->rank, queue, (unsigned)initiator);
        struct wire_lane *lane = wire_lane(nic, initiator, queue);
        struct credit_note note = {0};

        note.tail = atomic_load_explicit(&ring.credit->tail, memory_order_acquire);
        note.errors = atomic_load(&ring.credit->errors);
        note.last_error = atomic_load(&ring.credit->last_error);
        note.broken = ring_broken(&ring);
        if (!memcmp(&note, &lane->told, sizeof(note)))
            continue;
        lane->told = peer->note = note;
        peer->note.queue = queue;
        peer->told = true;
        if (adapter_send(&nic->adapter, nic->x->comm, initiator, CREDIT_TAG, &peer->note, sizeof(note), MPI_BYTE,
                         &peer->telling, was_told))
            peer->told = false;
        return 1;
    }
    return 0;
}

static int tell(void *owner, int received)
{
    struct nic *nic = owner;
    int count = 0;

    (void)received;
    for (int rank = 0; rank < nic->x->size; rank++) {
        if (!nic->adapter.neighbours->memory[rank] && !nic->peers[rank].told &&
            !neighbours_lost(nic->adapter.neighbours, rank))
            count += tell_one(nic, rank);
    }
    return count;
}

/* ---- open and close ---- */

static void ring(void *owner)
{
    context_tick(((struct nic *)owner)->x);
}

/* Whether silence is no sign of a loss: so for programs that do not know of XTQ (libxtqmpi), as for MPI. */
static bool patient(const void *owner)
{
    const struct nic *nic = owner;

    return nic->x->in_mpi || atomic_load(&nic->ending);
}

static const struct adapter_kind kind = {.name = "xtq",
                                         .nap_us = LONGEST_NAP_US,
                                         .take = take,
                                         .give_up = give_up,
                                         .tell = tell,
                                         .ring = ring,
                                         .patient = patient};

/* Frees the adapter. Returns whether MPI may still write to this rank's lanes, since a lost rank has sent half a
 * message. Other memory that MPI may still read or write is not freed. */
static bool nic_free(struct nic *nic)
{
    const bool all_left = adapter_all_left(&nic->adapter), half_received = adapter_close(&nic->adapter);

    nic->x->nic = NULL;
    if (all_left && !half_received)
        free(nic->peers);
    free(nic->lanes);
    free(nic);
    return half_received;
}

int nic_open(struct xtq *x)
{
    struct nic *nic = calloc(1, sizeof(*nic));
    int error;

    if (!nic)
        return -ENOMEM;
    nic->x = x;
    nic->peers = calloc((size_t)x->size, sizeof(*nic->peers));
    nic->lanes = calloc((size_t)x->size * x->queues, sizeof(*nic->lanes));
    x->nic = nic;
    error = adapter_open(&nic->adapter, &kind, nic, &x->region.neighbours);
    if (!error)
        error = nic->peers && nic->lanes ? adapter_start(&nic->adapter, x->comm) : -ENOMEM;
    if (error)
        nic_free(nic);
    return error;
}

void nic_end(struct xtq *x)
{
    atomic_store(&x->nic->ending, true);
}

void nic_stop(struct xtq *x)
{
    adapter_stop(&x->nic->adapter);
}

bool nic_close(struct xtq *x, bool collective)
{
    struct nic *nic = x->nic;

    while (collective && (adapter_receive_all(&nic->adapter) || adapter_poll(&nic->adapter)))
        ;
    return nic_free(nic);
}
