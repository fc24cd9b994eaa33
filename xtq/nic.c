/*
 * Targets on other hosts: a thread of each rank stands for its NIC. It receives a message straight into the lane it is
 * for, at the place both sides know from the messages before, rings the bell there, and tells initiators what has
 * completed. That a message is sent rather than put (MPI_Put, flush, MPI_Put of the bell) was measured: doc/xtq.md.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "ground/messages.h"
#include "ground/nap.h"
#include "xtq/internal.h"

#define CREDIT_TAG 0 /* queue q's messages have tag 1 + q */
#define GATHER 4096  /* messages up to so many bytes are sent as one piece of memory, larger ones as a datatype */
#define LONGEST_NAP_US 1000

struct credit_note {
    uint64_t tail, errors;
    int32_t last_error, broken;
    uint32_t queue, unused;
};

/* What this rank receives from one other. */
struct wire_lane {
    uint64_t head;
    struct credit_note told;
};

struct wire_peer {
    MPI_Request request; /* of note */
    struct credit_note note;
    struct wire_lane *lanes; /* by queue */
};

/* A message of which the initiator may not use the memory yet. */
struct leaving {
    struct parting parting;
    struct xtq *x;
    struct xtq_signal *completed;
    _Atomic bool *gone;
    uint8_t copy[];
};

struct nic {
    struct xtq *x;
    pthread_t thread;
    _Atomic bool stop;
    struct partings partings;
    struct wire_peer *peers; /* by rank; lanes is NULL where the host is shared */
};

/* ---- the initiator ---- */

static const uint8_t padding[RING_LINE];

/* Packet, arguments and payload from where they are, with what lies between them in a lane (section III-A: gather). */
static int send_gathered(struct nic *nic, int target, unsigned queue, const union ring_packet *packet,
                         const struct ring_parts *m, MPI_Request *request)
{
    const void *parts[] = {packet, m->arguments, padding, m->payload, padding};
    int lengths[] = {RING_LINE, (int)m->argument_bytes, (int)(ring_lines(m->argument_bytes) - m->argument_bytes),
                     (int)m->payload_bytes, (int)(ring_lines(m->payload_bytes) - m->payload_bytes)};
    MPI_Aint places[5];
    MPI_Datatype type;
    int error;

    for (unsigned i = 0; i < 5; i++)
        PMPI_Get_address(lengths[i] ? parts[i] : padding, &places[i]);
    if (PMPI_Type_create_hindexed(5, lengths, places, MPI_BYTE, &type) || PMPI_Type_commit(&type))
        return -EIO;
    error = PMPI_Isend(MPI_BOTTOM, 1, type, target, 1 + (int)queue, nic->x->comm, request) ? -EIO : 0;
    PMPI_Type_free(&type);
    return error;
}

static int send_copied(struct nic *nic, int target, unsigned queue, const struct ring_parts *parts,
                       struct leaving *leaving)
{
    int bytes = (int)ring_message_bytes(parts->argument_bytes, parts->payload_bytes);

    memset(leaving->copy, 0, (size_t)bytes);
    ring_write(leaving->copy, parts);
    if (PMPI_Isend(leaving->copy, bytes, MPI_BYTE, target, 1 + (int)queue, nic->x->comm, &leaving->parting.request))
        return -EIO;
    return 0;
}

static void has_left(struct parting *parting)
{
    struct leaving *leaving = (struct leaving *)parting;

    if (leaving->completed) {
        xtq_signal_add(leaving->completed, -1);
        context_tick(leaving->x);
    }
    if (leaving->gone)
        atomic_store(leaving->gone, true);
    free(leaving);
}

int nic_send(struct xtq *x, int target, unsigned queue, const struct ring_parts *parts, struct xtq_signal *completed)
{
    size_t bytes = ring_message_bytes(parts->argument_bytes, parts->payload_bytes);
    bool copied = bytes <= GATHER;
    struct leaving *leaving = malloc(sizeof(*leaving) + (copied ? bytes : RING_LINE));
    _Atomic bool gone = false;
    int error;

    if (!leaving)
        return -ENOMEM;
    *leaving = (struct leaving){.x = x, .completed = copied ? NULL : completed};
    if (copied) {
        error = send_copied(x->nic, target, queue, parts, leaving);
    } else {
        memcpy(leaving->copy, &parts->packet, RING_LINE);
        error =
            send_gathered(x->nic, target, queue, (union ring_packet *)leaving->copy, parts, &leaving->parting.request);
    }
    if (error) {
        free(leaving);
        return error;
    }
    if (!copied && !completed)
        leaving->gone = &gone;
    partings_add(&x->nic->partings, &leaving->parting, has_left);
    if (copied && completed)
        xtq_signal_add(completed, -1);
    while (!copied && !completed && !atomic_load(&gone))
        sched_yield();
    return 0;
}

/* ---- the target ---- */

/* Whether a message is of the length that it has; for a pad, how much it skips. */
static bool sizes_agree(const struct ring *ring, uint64_t position, uint64_t *bytes)
{
    uint64_t arguments, payload;
    union ring_packet packet;

    memcpy(&packet, ring_at(ring, position), sizeof(packet));
    if ((packet.header & 0xff) == XTQ_PAD) {
        *bytes = packet.pad.skip;
        return packet.pad.skip == ring->size - (position & (ring->size - 1)) &&
               ring_has_room(ring, position, packet.pad.skip);
    }
    return ring_sizes(&packet, &arguments, &payload) && arguments <= *bytes && payload <= *bytes &&
           ring_message_bytes(arguments, payload) == *bytes;
}

static void take_message(struct nic *nic, int initiator, unsigned queue, MPI_Message *message, int length)
{
    struct xtq *x = nic->x;
    struct ring ring = region_lane(&x->region, (unsigned)x->rank, queue, (unsigned)initiator);
    struct wire_lane *lane = &nic->peers[initiator].lanes[queue];
    uint64_t bytes = (uint64_t)length;

    if (ring_broken(&ring) || bytes < RING_LINE || bytes % RING_LINE || bytes > ring.size ||
        ring_pad(&ring, lane->head, bytes) || !ring_has_room(&ring, lane->head, bytes)) {
        message_drop(message, length);
        context_refuse(x, &ring, -EPROTO);
        ring_break(&ring);
        return;
    }
    PMPI_Mrecv(ring_at(&ring, lane->head), length, MPI_BYTE, message, MPI_STATUS_IGNORE);
    if (!sizes_agree(&ring, lane->head, &bytes)) {
        context_refuse(x, &ring, -EPROTO);
        ring_break(&ring);
        return;
    }
    lane->head += bytes;
    ring_publish(&ring, lane->head);
    region_wake(&x->region, (unsigned)x->rank, queue, false);
}

static void take_credit(struct nic *nic, int target, MPI_Message *message, int length)
{
    struct credit_note note;
    struct ring_credit *credit;

    if (length != sizeof(note)) {
        message_drop(message, length);
        return;
    }
    PMPI_Mrecv(&note, sizeof(note), MPI_BYTE, message, MPI_STATUS_IGNORE);
    if (note.queue >= nic->x->queues)
        return;
    credit = region_mirror(&nic->x->region, (unsigned)target, note.queue);
    atomic_store(&credit->last_error, note.last_error);
    atomic_store(&credit->errors, note.errors);
    atomic_store(&credit->broken, note.broken);
    atomic_store_explicit(&credit->tail, note.tail, memory_order_release);
    context_tick(nic->x);
}

static int receive(struct nic *nic)
{
    int count = 0, found = 1;

    while (found && count < 64) {
        MPI_Message message;
        MPI_Status status;
        int length;

        if (PMPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, nic->x->comm, &found, &message, &status) || !found)
            break;
        PMPI_Get_count(&status, MPI_BYTE, &length);
        if (status.MPI_TAG == CREDIT_TAG)
            take_credit(nic, status.MPI_SOURCE, &message, length);
        else if ((unsigned)status.MPI_TAG <= nic->x->queues && nic->peers[status.MPI_SOURCE].lanes)
            take_message(nic, status.MPI_SOURCE, (unsigned)status.MPI_TAG - 1, &message, length);
        else
            message_drop(&message, length);
        count++;
    }
    return count;
}

/* Tell an initiator of one lane whose credit has changed, one note at a time. */
static int tell(struct nic *nic, int initiator)
{
    struct wire_peer *peer = &nic->peers[initiator];
    int free_again = 1;

    if (peer->request != MPI_REQUEST_NULL)
        PMPI_Test(&peer->request, &free_again, MPI_STATUS_IGNORE);
    for (unsigned queue = 0; queue < nic->x->queues && free_again; queue++) {
        struct ring ring = region_lane(&nic->x->region, (unsigned)nic->x->rank, queue, (unsigned)initiator);
        struct credit_note note = {.queue = queue};

        note.tail = atomic_load_explicit(&ring.credit->tail, memory_order_acquire);
        note.errors = atomic_load(&ring.credit->errors);
        note.last_error = atomic_load(&ring.credit->last_error);
        note.broken = ring_broken(&ring);
        if (!memcmp(&note, &peer->lanes[queue].told, sizeof(note)))
            continue;
        peer->lanes[queue].told = peer->note = note;
        if (PMPI_Isend(&peer->note, sizeof(note), MPI_BYTE, initiator, CREDIT_TAG, nic->x->comm, &peer->request))
            vocl_log(LOG_WARN, "xtq: rank %d cannot be told of its credit", initiator);
        return 1;
    }
    return 0;
}

static void *nic_run(void *argument)
{
    struct nic *nic = argument;
    struct nap nap = nap_begin(LONGEST_NAP_US);

    while (!atomic_load(&nic->stop)) {
        int count = receive(nic) + partings_poll(&nic->partings);

        for (int rank = 0; rank < nic->x->size; rank++) {
            if (nic->peers[rank].lanes)
                count += tell(nic, rank);
        }
        if (count)
            nap = nap_begin(LONGEST_NAP_US);
        else
            nap_take(&nap);
    }
    return NULL;
}

/* ---- open and close ---- */

static void nic_free(struct nic *nic, int ranks)
{
    for (int rank = 0; nic->peers && rank < ranks; rank++) {
        if (nic->peers[rank].request != MPI_REQUEST_NULL)
            PMPI_Request_free(&nic->peers[rank].request);
        free(nic->peers[rank].lanes);
    }
    free(nic->peers);
    partings_close(&nic->partings);
    free(nic);
}

int nic_open(struct xtq *x)
{
    struct nic *nic;
    int level, error = 0;

    PMPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
        vocl_log(LOG_ERROR, "xtq: ranks on several hosts need MPI_THREAD_MULTIPLE");
        return -ENOTSUP;
    }
    nic = calloc(1, sizeof(*nic));
    if (!nic)
        return -ENOMEM;
    nic->x = x;
    partings_open(&nic->partings);
    nic->peers = calloc((size_t)x->size, sizeof(*nic->peers));
    for (int rank = 0; rank < x->size && nic->peers; rank++) {
        nic->peers[rank].request = MPI_REQUEST_NULL;
        if (!x->region.neighbours.memory[rank] &&
            !(nic->peers[rank].lanes = calloc(x->queues, sizeof(struct wire_lane))))
            error = -ENOMEM;
        for (unsigned queue = 0; queue < x->queues && nic->peers[rank].lanes; queue++)
            nic->peers[rank].lanes[queue].told.queue = queue;
    }
    if (!error)
        error = nic->peers ? -thread_start(&nic->thread, nic_run, nic) : -ENOMEM;
    if (error) {
        nic_free(nic, x->size);
        return error;
    }
    x->nic = nic;
    return 0;
}

void nic_close(struct xtq *x)
{
    atomic_store(&x->nic->stop, true);
    pthread_join(x->nic->thread, NULL);
    nic_free(x->nic, x->size);
    x->nic = NULL;
}
