/*
 * Targets on other hosts: a thread of each rank stands for its NIC. It receives a message straight into the lane it is
 * for, at the place both sides know from the messages before, rings the bell there, and tells initiators what has
 * completed. It waits for no message: of one that has come in part others' messages are none the later, and the rest of
 * it never comes if its initiator is lost, which beats tell (ground/beats.h). That a message is sent rather than put
 * (MPI_Put, flush, MPI_Put of the bell) was measured: doc/xtq.md.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "ground/beats.h"
#include "ground/messages.h"
#include "ground/nap.h"
#include "xtq/internal.h"

#define CREDIT_TAG 0 /* queue q's messages have tag 1 + q */
#define BEAT_TAG (1 + MOST_QUEUES)
#define LOOKS 100   /* at a message that is being received, before others have their turn */
#define GATHER 4096 /* messages up to so many bytes are sent as one piece of memory, larger ones as a datatype */
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

/* A message that is being received. */
struct coming {
    MPI_Request request; /* MPI_REQUEST_NULL: there is none */
    int length;
    unsigned queue;
    uint8_t *dropped; /* NULL, or where it goes, as it does not fit what both sides know */
};

struct wire_peer {
    MPI_Request request; /* of note */
    struct credit_note note, received;
    struct wire_lane *lanes;       /* by queue */
    struct coming message, credit; /* one of each at a time */
    MPI_Request beat;
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
    struct beats beats;
    int coming;          /* how much is being received */
    bool busy;           /* some of it from peers that are not lost */
    _Atomic bool ending; /* others may be silent from now on */
    struct partings partings;
    struct wire_peer *peers; /* by rank; lanes is NULL where the host is shared */
};

/* ---- who is lost ---- */

static void lose(struct nic *nic, int rank, const char *why)
{
    if (!beats_lose(&nic->beats, rank))
        return;
    vocl_log(LOG_WARN, "xtq: rank %d is lost to rank %d: %s", rank, nic->x->rank, why);
    context_tick(nic->x);
}

bool nic_lost(const void *x, int rank)
{
    const struct nic *nic = ((const struct xtq *)x)->nic;

    return nic && beats_lost(&nic->beats, rank);
}

/* Tell the others of this one, and look who has been silent for too long. A program that does not know of XTQ
 * (libxtqmpi) bears as much silence as MPI does. */
static void beat(struct nic *nic)
{
    bool stood_still;

    if (!beats_due(&nic->beats, &stood_still))
        return;
    for (int rank = 0; rank < nic->x->size; rank++) {
        struct wire_peer *peer = &nic->peers[rank];
        int free_again = 1;

        if (!peer->lanes || beats_lost(&nic->beats, rank))
            continue;
        if (peer->beat != MPI_REQUEST_NULL && PMPI_Test(&peer->beat, &free_again, MPI_STATUS_IGNORE))
            lose(nic, rank, "MPI does not reach it");
        else if (free_again && PMPI_Isend(NULL, 0, MPI_BYTE, rank, BEAT_TAG, nic->x->comm, &peer->beat))
            lose(nic, rank, "MPI does not reach it");
        else if (!stood_still && !nic->x->in_mpi && !atomic_load(&nic->ending) && beats_silent(&nic->beats, rank))
            lose(nic, rank, "it has been silent for too long");
    }
}

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
    error = PMPI_Isend(MPI_BOTTOM, 1, type, target, 1 + (int)queue, nic->x->comm, request) ? -ECONNRESET : 0;
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
        return -ECONNRESET;
    return 0;
}

/* Called by partings_poll(), under its lock. */
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

/* Until MPI has read all of it, which it does not if the target is lost: -ECONNRESET; it may go on reading then. */
static int wait_until_gone(struct nic *nic, int target, struct leaving *leaving, _Atomic bool *gone)
{
    while (!atomic_load(gone)) {
        sched_yield();
        if (!beats_lost(&nic->beats, target))
            continue;
        pthread_mutex_lock(&nic->partings.lock);
        if (!atomic_load(gone))
            leaving->gone = NULL;
        pthread_mutex_unlock(&nic->partings.lock);
        return atomic_load(gone) ? 0 : -ECONNRESET;
    }
    return 0;
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
    if (nic_lost(x, target)) {
        free(leaving);
        return -ECONNRESET;
    }
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
        if (error == -ECONNRESET)
            lose(x->nic, target, "MPI does not reach it");
        return error;
    }
    if (!copied && !completed)
        leaving->gone = &gone;
    partings_add(&x->nic->partings, &leaving->parting, has_left);
    if (copied && completed)
        xtq_signal_add(completed, -1);
    return copied || completed ? 0 : wait_until_gone(x->nic, target, leaving, &gone);
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

static void refuse_message(struct nic *nic, const struct ring *ring)
{
    context_refuse(nic->x, ring, -EPROTO);
    ring_break(ring);
}

/* It has come whole. */
static void take_message(struct nic *nic, int initiator, struct coming *coming)
{
    struct xtq *x = nic->x;
    struct ring ring = region_lane(&x->region, (unsigned)x->rank, coming->queue, (unsigned)initiator);
    struct wire_lane *lane = &nic->peers[initiator].lanes[coming->queue];
    uint64_t bytes = (uint64_t)coming->length;

    if (coming->dropped || !sizes_agree(&ring, lane->head, &bytes)) {
        free(coming->dropped);
        coming->dropped = NULL;
        refuse_message(nic, &ring);
        return;
    }
    lane->head += bytes;
    ring_publish(&ring, lane->head);
    region_wake(&x->region, (unsigned)x->rank, coming->queue, false);
}

static void take_credit(struct nic *nic, int target)
{
    const struct credit_note note = nic->peers[target].received;
    struct ring_credit *credit;

    if (note.queue >= nic->x->queues)
        return;
    credit = region_mirror(&nic->x->region, (unsigned)target, note.queue);
    atomic_store(&credit->last_error, note.last_error);
    atomic_store(&credit->errors, note.errors);
    atomic_store(&credit->broken, note.broken);
    atomic_store_explicit(&credit->tail, note.tail, memory_order_release);
    context_tick(nic->x);
}

/* Whether it has come whole, of which little is still missing as a rule. */
static bool has_come(struct coming *coming)
{
    int done = 0;

    for (int i = 0; i < LOOKS && !done; i++) {
        if (PMPI_Test(&coming->request, &done, MPI_STATUS_IGNORE))
            return false;
    }
    return done;
}

/* What is being received, and not for the first time: the number of messages that have come. */
static int look_at_coming(struct nic *nic, int rank)
{
    struct wire_peer *peer = &nic->peers[rank];
    int count = 0;

    if (peer->credit.request != MPI_REQUEST_NULL && has_come(&peer->credit)) {
        take_credit(nic, rank);
        nic->coming--;
        count++;
    }
    if (peer->message.request != MPI_REQUEST_NULL && has_come(&peer->message)) {
        take_message(nic, rank, &peer->message);
        nic->coming--;
        count++;
    }
    return count;
}

static void receive_credit(struct nic *nic, int target, MPI_Message *message, int length)
{
    struct wire_peer *peer = &nic->peers[target];

    if (length != sizeof(peer->received)) {
        message_drop(message, length);
        return;
    }
    if (PMPI_Imrecv(&peer->received, length, MPI_BYTE, message, &peer->credit.request)) {
        peer->credit.request = MPI_REQUEST_NULL;
        return;
    }
    nic->coming++;
    look_at_coming(nic, target);
}

/* Into its place, or nowhere. */
static void receive_message(struct nic *nic, int initiator, unsigned queue, MPI_Message *message, int length)
{
    struct xtq *x = nic->x;
    struct ring ring = region_lane(&x->region, (unsigned)x->rank, queue, (unsigned)initiator);
    struct wire_lane *lane = &nic->peers[initiator].lanes[queue];
    struct coming *coming = &nic->peers[initiator].message;
    uint64_t bytes = (uint64_t)length;
    uint8_t *to = ring_at(&ring, lane->head);

    *coming = (struct coming){.length = length, .queue = queue, .request = MPI_REQUEST_NULL};
    if (ring_broken(&ring) || bytes < RING_LINE || bytes % RING_LINE || bytes > ring.size ||
        ring_pad(&ring, lane->head, bytes) || !ring_has_room(&ring, lane->head, bytes))
        to = coming->dropped = malloc((size_t)length + 1);
    if (!to || PMPI_Imrecv(to, length, MPI_BYTE, message, &coming->request)) {
        refuse_message(nic, &ring);
        free(coming->dropped);
        coming->dropped = NULL;
        coming->request = MPI_REQUEST_NULL;
        return;
    }
    nic->coming++;
    look_at_coming(nic, initiator);
}

/* False: there was nothing from there with such a tag. */
static bool receive_one(struct nic *nic, int source, int tag)
{
    MPI_Message message;
    MPI_Status status;
    int length, found = 0;

    if (PMPI_Improbe(source, tag, nic->x->comm, &found, &message, &status) || !found)
        return false;
    PMPI_Get_count(&status, MPI_BYTE, &length);
    beats_heard(&nic->beats, status.MPI_SOURCE);
    if (status.MPI_TAG == CREDIT_TAG)
        receive_credit(nic, status.MPI_SOURCE, &message, length);
    else if ((unsigned)status.MPI_TAG <= nic->x->queues && nic->peers[status.MPI_SOURCE].lanes)
        receive_message(nic, status.MPI_SOURCE, (unsigned)status.MPI_TAG - 1, &message, length);
    else
        message_drop(&message, length);
    return true;
}

/* From a peer by name: nothing that comes after what is being received of it. */
static int receive_from(struct nic *nic, int rank)
{
    struct wire_peer *peer = &nic->peers[rank];
    int count = look_at_coming(nic, rank);

    while (receive_one(nic, rank, BEAT_TAG))
        ;
    if (peer->credit.request == MPI_REQUEST_NULL)
        count += receive_one(nic, rank, peer->message.request == MPI_REQUEST_NULL ? MPI_ANY_TAG : CREDIT_TAG);
    nic->busy |= peer->credit.request != MPI_REQUEST_NULL || peer->message.request != MPI_REQUEST_NULL;
    return count;
}

static int receive(struct nic *nic)
{
    int count = 0;

    nic->busy = false;
    while (!nic->coming && count < 64 && receive_one(nic, MPI_ANY_SOURCE, MPI_ANY_TAG))
        count++;
    for (int rank = 0; rank < nic->x->size && nic->coming; rank++) {
        if (nic->peers[rank].lanes && !beats_lost(&nic->beats, rank))
            count += receive_from(nic, rank);
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

        beat(nic);
        for (int rank = 0; rank < nic->x->size; rank++) {
            if (nic->peers[rank].lanes && !beats_lost(&nic->beats, rank))
                count += tell(nic, rank);
        }
        if (count)
            nap = nap_begin(LONGEST_NAP_US);
        else if (nic->busy)
            sched_yield();
        else
            nap_take(&nap);
    }
    return NULL;
}

/* ---- open and close ---- */

/* Whether MPI may still write to this rank's lanes: half a message has come of a rank that is lost. What MPI may write
 * to, or read, otherwise is left to it. */
static bool nic_free(struct nic *nic, int ranks)
{
    bool left = false;

    for (int rank = 0; nic->peers && rank < ranks; rank++) {
        struct wire_peer *peer = &nic->peers[rank];
        MPI_Request *const requests[] = {&peer->request, &peer->beat, &peer->credit.request, &peer->message.request};

        left = left || peer->credit.request != MPI_REQUEST_NULL || peer->message.request != MPI_REQUEST_NULL ||
               (peer->request != MPI_REQUEST_NULL && beats_lost(&nic->beats, rank));
        for (unsigned i = 0; i < 4; i++) {
            if (*requests[i] != MPI_REQUEST_NULL)
                PMPI_Request_free(requests[i]);
        }
        free(peer->lanes);
    }
    if (!left)
        free(nic->peers);
    beats_close(&nic->beats);
    partings_close(&nic->partings);
    free(nic);
    return left;
}

static int nic_allocate(struct nic *nic)
{
    struct xtq *x = nic->x;

    nic->peers = calloc((size_t)x->size, sizeof(*nic->peers));
    if (!nic->peers)
        return -ENOMEM;
    for (int rank = 0; rank < x->size; rank++) {
        struct wire_peer *peer = &nic->peers[rank];

        peer->request = peer->beat = peer->message.request = peer->credit.request = MPI_REQUEST_NULL;
    }
    for (int rank = 0; rank < x->size; rank++) {
        struct wire_peer *peer = &nic->peers[rank];

        if (x->region.neighbours.memory[rank])
            continue;
        peer->lanes = calloc(x->queues, sizeof(struct wire_lane));
        if (!peer->lanes)
            return -ENOMEM;
        for (unsigned queue = 0; queue < x->queues; queue++)
            peer->lanes[queue].told.queue = queue;
    }
    return beats_open(&nic->beats, x->size);
}

int nic_open(struct xtq *x)
{
    struct nic *nic;
    int level, error;

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
    error = nic_allocate(nic);
    PMPI_Comm_set_errhandler(x->comm, MPI_ERRORS_RETURN); /* a loss is no end of the job */
    x->nic = nic;
    x->region.neighbours.far_lost = nic_lost;
    x->region.neighbours.owner = x;
    if (!error)
        error = -thread_start(&nic->thread, nic_run, nic);
    if (error) {
        x->nic = NULL;
        nic_free(nic, x->size);
    }
    return error;
}

void nic_end(struct xtq *x)
{
    atomic_store(&x->nic->ending, true);
}

void nic_stop(struct xtq *x)
{
    atomic_store(&x->nic->stop, true);
    pthread_join(x->nic->thread, NULL);
}

bool nic_close(struct xtq *x, bool collective)
{
    struct nic *nic = x->nic;

    while (collective && (receive_one(nic, MPI_ANY_SOURCE, BEAT_TAG) || partings_poll(&nic->partings)))
        ;
    x->nic = NULL;
    return nic_free(nic, x->size);
}
