/*
 * Chains to a rank of another host (TCA: a table of descriptors, started by one doorbell). The table is sent once, and
 * the target keeps it. Each start sends one descriptor, and the data, gathered into pieces that both sides compute
 * alike. They are gathered here and not by a datatype of MPI, which took twice the time for 255 x 4 KiB over TCP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devcom/nic.h"

#define MOST_TABLES 4096 /* tables of one rank at another */
#define MOST_PLACES 65536
#define GATHERED ((size_t)1 << 20) /* size of a piece; a larger place is a piece by itself */

/* Another rank's table, as received. */
struct table {
    struct table *next;
    int rank;
    uint32_t number;
    unsigned count;
    size_t total;
    struct wire places[];
};

/* Returns how many places, from the first on, make a piece; *bytes: their size. */
static unsigned piece_at(size_t (*bytes_of)(const void *places, unsigned i), const void *places, unsigned first,
                         unsigned count, size_t *bytes)
{
    unsigned i = first;

    for (*bytes = 0; i < count; i++) {
        size_t more = bytes_of(places, i);

        if (i > first && more > GATHERED - *bytes)
            break;
        *bytes += more;
        if (*bytes >= GATHERED)
            return i + 1 - first;
    }
    return i - first;
}

/* ---- the initiator ---- */

bool nic_chain_fits(struct chain_size *size, const struct transfer *more)
{
    size_t bytes = layout_total(&more->local);

    if (size->count == MOST_PLACES || bytes > PIECE_BYTES - size->bytes)
        return false;
    size->bytes += bytes;
    size->count++;
    return true;
}

int nic_chain_table(struct devcom *d, const struct transfer *transfers, unsigned count, uint32_t *number)
{
    struct nic *nic = d->nic;
    struct lane *lane = nic_lane(nic, transfers->rank, transfers->queue);
    struct wire head = {.kind = WIRE_TABLE, .bytes = count}, *places = calloc(count, sizeof(*places));
    int error;

    if (!places)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        places[i] = nic_wire(&transfers[i], WIRE_PUT);
        places[i].op = (uint8_t)transfers[i].op;
        places[i].signal = transfers[i].signal;
        places[i].value = transfers[i].value;
    }
    pthread_mutex_lock(&lane->lock);
    head.question = *number = (uint32_t)atomic_fetch_add(&nic->tables_made, 1);
    error = nic_send_message(nic, transfers->rank, 1 + (int)transfers->queue, lane, &head, NULL, 0);
    if (error)
        free(places);
    else
        error = nic_send_packed(nic, transfers->rank, 1 + (int)transfers->queue, lane, (uint8_t *)places,
                                count * sizeof(*places));
    pthread_mutex_unlock(&lane->lock);
    return error;
}

void nic_chain_forget(struct devcom *d, int rank, unsigned queue, uint32_t number)
{
    struct wire wire = {.kind = WIRE_FORGET, .question = number};

    nic_send_message(d->nic, rank, 1 + (int)queue, NULL, &wire, NULL, 0);
}

static size_t bytes_of_transfer(const void *transfers, unsigned i)
{
    return layout_total(&((const struct transfer *)transfers)[i].local);
}

/* Takes all segments first, so that a chain that is started can be completed. */
static int hold(struct devcom *d, const struct transfer *transfers, unsigned count, struct segment **held)
{
    for (unsigned i = 0; i < count; i++) {
        const struct transfer *t = &transfers[i];
        int error = 0;

        if (!layout_total(&t->local))
            continue;
        if (t->local_id >= d->o.segments || t->remote_id >= d->o.segments)
            return -ENOENT;
        error = segment_take(d, t->local_id, &held[i]);
        if (!error && !inside(held[i]->bytes, t->offset, layout_extent(&t->local)))
            error = -ERANGE;
        if (error)
            return error;
    }
    return 0;
}

static int send_piece(struct nic *nic, const struct transfer *transfers, unsigned count, struct segment **held,
                      size_t bytes)
{
    struct lane *lane = nic_lane(nic, transfers->rank, transfers->queue);
    int tag = 1 + (int)transfers->queue, error = 0;
    uint8_t *packed, *to;

    if (count == 1 && held[0]->host && layout_contiguous(&transfers->local))
        return nic_send_in_place(nic, transfers->rank, tag, lane, held[0], transfers->offset, bytes);
    packed = to = malloc(bytes);
    if (!packed)
        return -ENOMEM;
    for (unsigned i = 0; i < count && !error; i++) {
        if (held[i])
            error = stage_read(held[i], transfers[i].offset, &transfers[i].local, to);
        to += layout_total(&transfers[i].local);
    }
    if (error) {
        free(packed);
        return error;
    }
    return nic_send_packed(nic, transfers->rank, tag, lane, packed, bytes);
}

/* Under the lane's lock. */
static int send_chain(struct nic *nic, const struct transfer *transfers, unsigned count, uint32_t number,
                      struct segment **held)
{
    struct wire wire = {.kind = WIRE_CHAIN, .flags = WIRE_LAST, .question = number};
    size_t bytes;
    int error;

    for (unsigned i = 0; i < count; i++)
        wire.bytes += layout_total(&transfers[i].local);
    error = nic_send_message(nic, transfers->rank, 1 + (int)transfers->queue,
                             nic_lane(nic, transfers->rank, transfers->queue), &wire, NULL, 0);
    for (unsigned first = 0, part; first < count && !error; first += part) {
        part = piece_at(bytes_of_transfer, transfers, first, count, &bytes);
        if (bytes)
            error = send_piece(nic, transfers + first, part, held + first, bytes);
    }
    return error;
}

static void let_go(struct segment **held, unsigned count)
{
    for (unsigned i = 0; held && i < count; i++)
        segment_release(held[i]);
    free(held);
}

int nic_chain_start(struct devcom *d, const struct transfer *transfers, unsigned count, uint32_t number)
{
    struct lane *lane = nic_lane(d->nic, transfers->rank, transfers->queue);
    struct segment **held;
    int error;

    if (board_lost(d, transfers->rank))
        return -ECONNRESET;
    held = calloc(count, sizeof(struct segment *));
    error = held ? hold(d, transfers, count, held) : -ENOMEM;
    if (!error) {
        pthread_mutex_lock(&lane->lock);
        if (!nic_has_room(d, transfers->rank, transfers->queue))
            error = -EAGAIN;
        else
            error = send_chain(d->nic, transfers, count, number, held);
        if (!error)
            atomic_fetch_add(&lane->sent, 1);
        pthread_mutex_unlock(&lane->lock);
    }
    let_go(held, count);
    return error;
}

/* ---- the target ---- */

static struct table **find_table(struct nic *nic, int rank, uint32_t number)
{
    struct table **at = &nic->tables;

    while (*at && ((*at)->rank != rank || (*at)->number != number))
        at = &(*at)->next;
    return at;
}

static unsigned tables_of(const struct nic *nic, int rank)
{
    unsigned count = 0;

    for (const struct table *table = nic->tables; table; table = table->next)
        count += table->rank == rank;
    return count;
}

static bool table_valid(const struct devcom *d, struct table *table)
{
    for (unsigned i = 0; i < table->count; i++) {
        const struct wire *place = &table->places[i];
        struct layout layout = layout_of_wire(place);

        if (!layout_valid(&layout) || layout_total(&layout) > PIECE_BYTES - table->total ||
            place->op > DEVCOM_SIGNAL_ADD || (place->op && place->signal >= d->o.signals) ||
            place->segment >= d->o.segments)
            return false;
        table->total += layout_total(&layout);
    }
    return true;
}

/* Stores a table. If it is refused the stream is broken, as it is then unknown how its data are divided. */
static void table_end(struct nic *nic, int rank, struct incoming *in, int error)
{
    struct arrival *arrival = nic_arrival(nic, rank, (unsigned)in->tag - 1);
    struct table *table = in->table;
    uint8_t *packed = in->memory;

    in->memory = NULL;
    if (!error)
        memcpy(table->places, packed, table->count * sizeof(struct wire));
    free(packed);
    if (!error &&
        (!table_valid(nic->d, table) || tables_of(nic, rank) >= MOST_TABLES || *find_table(nic, rank, table->number)))
        error = -EPROTO;
    if (error) {
        arrival->broken = error == -EPROTO;
        free(table);
        return;
    }
    table->next = nic->tables;
    nic->tables = table;
}

void nic_take_table(struct nic *nic, int rank, int tag, const struct wire *wire)
{
    struct incoming *in = nic_incoming(nic, rank);
    struct table *table = NULL;

    if (wire->bytes && wire->bytes <= MOST_PLACES)
        table = calloc(1, sizeof(*table) + wire->bytes * sizeof(struct wire));
    if (!table) {
        nic_arrival(nic, rank, (unsigned)tag - 1)->broken = true;
        return;
    }
    table->rank = rank;
    table->number = wire->question;
    table->count = (unsigned)wire->bytes;
    in->tag = tag;
    in->table = table;
    nic_receive_packed(nic, rank, tag, table->count * sizeof(struct wire), table_end);
}

void nic_take_forget(struct nic *nic, int rank, const struct wire *wire)
{
    struct table **at = find_table(nic, rank, wire->question), *table = *at;

    if (table) {
        *at = table->next;
        free(table);
    }
}

void nic_tables_close(struct nic *nic)
{
    while (nic->tables) {
        struct table *table = nic->tables;

        nic->tables = table->next;
        free(table);
    }
}

static size_t bytes_of_place(const void *places, unsigned i)
{
    struct layout layout = layout_of_wire(&((const struct wire *)places)[i]);

    return layout_total(&layout);
}

/* Writes the packed data of one place to its segment. */
static int take_place(struct nic *nic, const struct wire *place, const uint8_t *packed)
{
    struct layout layout = layout_of_wire(place);
    struct segment *segment;
    int error;

    if (!layout_total(&layout))
        return 0;
    error = segment_take(nic->d, place->segment, &segment);
    if (error)
        return error;
    error = inside(segment->bytes, place->offset, layout_extent(&layout))
                ? stage_write(segment, place->offset, &layout, packed)
                : -ERANGE;
    segment_release(segment);
    return error;
}

/* Returns the segment that can receive the data of a place directly, taken. NULL: none can, or *refused is the error.
 */
static struct segment *straight(struct nic *nic, const struct wire *place, int *refused)
{
    struct layout layout = layout_of_wire(place);
    struct segment *segment;

    *refused = segment_take(nic->d, place->segment, &segment);
    if (*refused)
        return NULL;
    if (!inside(segment->bytes, place->offset, layout_extent(&layout)))
        *refused = -ERANGE;
    if (!*refused && segment->host && layout_contiguous(&layout))
        return segment;
    segment_release(segment);
    return NULL;
}

static void give_signal(struct devcom *d, const struct wire *place)
{
    signal_apply(d, d->rank, place->signal, place->op, place->value);
}

static void take_piece(struct nic *nic, int rank, struct incoming *in);

/* Ends a piece. After a refusal, this place and the following ones are received but not written. */
static void piece_end(struct nic *nic, int rank, struct incoming *in, int error)
{
    const struct wire *places = in->table->places + in->first, wire = in->wire;
    const bool direct = in->target;
    uint8_t *packed = in->memory, *from = packed;

    in->memory = NULL;
    segment_release(in->target);
    in->target = NULL;
    for (unsigned i = 0; i < in->part && !error && !in->refused; i++) {
        if (!direct)
            in->refused = take_place(nic, &places[i], from);
        if (!in->refused)
            give_signal(nic->d, &places[i]);
        from = from ? from + bytes_of_place(places, i) : NULL;
    }
    free(packed);
    in->first += in->part;
    if (!error && in->first < in->table->count)
        take_piece(nic, rank, in);
    else
        nic_operation_end(nic, rank, in->tag, &wire, error ? error : in->refused);
}

static void take_piece(struct nic *nic, int rank, struct incoming *in)
{
    const struct wire *places = in->table->places + in->first;
    size_t bytes;

    in->part = piece_at(bytes_of_place, in->table->places, in->first, in->table->count, &bytes);
    if (in->part == 1 && bytes && !in->refused)
        in->target = straight(nic, places, &in->refused);
    if (in->target) {
        struct layout layout = layout_of_wire(places);

        nic_receive_in_place(nic, rank, in->tag, in->target, places->offset, &layout, piece_end);
    } else if (bytes) {
        nic_receive_packed(nic, rank, in->tag, bytes, piece_end);
    } else {
        piece_end(nic, rank, in, 0);
    }
}

/* Takes the start of a chain. The places before one that is refused are written. */
void nic_take_chain(struct nic *nic, int rank, int tag, const struct wire *wire)
{
    struct incoming *in = nic_incoming(nic, rank);
    struct table *table = *find_table(nic, rank, wire->question);

    if (!table || table->total != wire->bytes) {
        nic_operation_end(nic, rank, tag, wire, -EPROTO);
        return;
    }
    in->wire = *wire;
    in->tag = tag;
    in->table = table;
    in->first = 0;
    in->refused = 0;
    take_piece(nic, rank, in);
}
