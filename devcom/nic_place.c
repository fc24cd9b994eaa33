/*
 * Puts that repeat a place. A put whose data travel separately is announced by a descriptor. Since MPI announces long
 * messages itself, that is one message too many. So a descriptor gives its place a number, of a few for each stream. A
 * later put to the same place, with the same signal and a value that has grown as before, sends only its data, in the
 * stream of descriptors; the message's tag says queue, place, and an acknowledgement for the other direction. The
 * receiver checks the place each time, as if its descriptor had been sent again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devcom/nic.h"

#define PLACES 8
#define ACKS 256 /* the tag contains the number of completed operations of the other direction, modulo this */

struct places {
    struct wire at[PLACES]; /* stride[0]: the growth of the value; kind 0: no place */
    unsigned next;
};

static int tag_of(unsigned queue, unsigned place, uint64_t acked)
{
    return PLACE_TAG + (int)((queue * PLACES + place) * ACKS + acked % ACKS);
}

/* Finds out whether MPI has enough tags. */
void nic_place_open(struct nic *nic)
{
    int *most = NULL, found = 0;

    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    nic->places = found && *most >= tag_of(nic->streams, 0, 0);
}

void nic_place_close(struct nic *nic)
{
    for (size_t i = 0; nic->lanes && nic->arrivals && i < (size_t)nic->streams * (size_t)nic->d->size; i++) {
        free(nic->lanes[i].places);
        free(nic->arrivals[i].places);
    }
}

/* ---- the sender; under the lane's lock ---- */

static struct wire *place_of(struct places *places, const struct wire *wire)
{
    for (unsigned i = 0; i < PLACES; i++) {
        struct wire *at = &places->at[i];

        if (at->kind && at->segment == wire->segment && at->offset == wire->offset && at->bytes == wire->bytes &&
            at->op == wire->op && at->signal == wire->signal)
            return at;
    }
    return NULL;
}

static int64_t value_after(const struct wire *place)
{
    return (int64_t)((uint64_t)place->value + place->stride[0]);
}

static void announce(struct places *places, struct wire *at, struct wire *wire)
{
    wire->stride[0] = at ? (uint64_t)wire->value - (uint64_t)at->value : 0;
    if (!at)
        at = &places->at[places->next++ % PLACES];
    wire->flags |= WIRE_PLACE;
    wire->place = (uint16_t)(at - places->at);
    *at = *wire;
}

/* Returns the number of operations of the other direction that this message acknowledges. Refusals need a message of
 * their own. */
static uint64_t acknowledged(struct arrival *arrival)
{
    uint64_t done = atomic_load(&arrival->done);

    if (!atomic_load(&arrival->refused) && done - atomic_load(&arrival->told) < ACKS)
        atomic_store(&arrival->told, done);
    return atomic_load(&arrival->told);
}

static int send_named(struct nic *nic, const struct transfer *t, unsigned place)
{
    struct arrival *arrival = nic_arrival(nic, t->rank, t->queue);
    uint8_t *packed = NULL;
    int error = 0;

    if (!t->segment->host) {
        packed = malloc(layout_total(&t->local));
        error = packed ? stage_read(t->segment, t->offset, &t->local, packed) : -ENOMEM;
    }
    if (error) {
        free(packed);
        return error;
    }
    pthread_mutex_lock(&arrival->telling); /* acknowledgements are sent in the order of their values */
    error = nic_send_bulk(nic, nic->wire, t->rank, tag_of(t->queue, place, acknowledged(arrival)),
                          nic_lane(nic, t->rank, t->queue), t->segment, t->offset, &t->local, packed);
    pthread_mutex_unlock(&arrival->telling);
    return error;
}

int nic_place_send(struct nic *nic, const struct transfer *t, struct wire *wire)
{
    struct lane *lane = nic_lane(nic, t->rank, t->queue);
    struct wire *at;
    int error;

    if (!nic->places || wire->count[0] != 1 || wire->count[1] != 1 || wire->bytes <= nic_eager_bytes(nic))
        return 0;
    if (!lane->places)
        lane->places = calloc(1, sizeof(*lane->places));
    if (!lane->places)
        return 0;
    at = place_of(lane->places, wire);
    if (!at || wire->value != value_after(at)) {
        announce(lane->places, at, wire);
        return 0;
    }
    at->value = wire->value;
    error = send_named(nic, t, (unsigned)(at - lane->places->at));
    return error ? error : 1;
}

void nic_place_forget(struct lane *lane)
{
    if (lane->places)
        memset(lane->places->at, 0, sizeof(lane->places->at));
}

/* ---- the receiver ---- */

int nic_place_keep(struct nic *nic, int rank, unsigned queue, const struct wire *wire)
{
    struct arrival *arrival = nic_arrival(nic, rank, queue);

    if (wire->place >= PLACES || wire->count[0] != 1 || wire->count[1] != 1 || !(wire->flags & WIRE_LAST))
        return -EPROTO;
    if (!arrival->places)
        arrival->places = calloc(1, sizeof(*arrival->places));
    if (!arrival->places)
        return -EPROTO;
    arrival->places->at[wire->place] = *wire;
    arrival->places->at[wire->place].flags = WIRE_BULK | WIRE_LAST;
    return 0;
}

bool nic_place_take(struct nic *nic, int rank, int tag, size_t length, unsigned *queue, struct wire *wire)
{
    unsigned number = (unsigned)(tag - PLACE_TAG), place = number / ACKS % PLACES;
    struct arrival *arrival;
    struct lane *lane;
    uint64_t arrived;

    *queue = number / ACKS / PLACES;
    if (*queue >= nic->streams)
        return false;
    lane = nic_lane(nic, rank, *queue);
    arrived = atomic_load(&lane->arrived);
    atomic_store(&lane->arrived, arrived + (number - (unsigned)arrived) % ACKS);
    arrival = nic_arrival(nic, rank, *queue);
    if (!arrival->places || !arrival->places->at[place].kind || arrival->places->at[place].bytes != length) {
        arrival->broken = true;
    } else {
        arrival->places->at[place].value = value_after(&arrival->places->at[place]);
        *wire = arrival->places->at[place];
        return true;
    }
    *wire = (struct wire){.kind = WIRE_PUT, .flags = WIRE_LAST};
    return true;
}
