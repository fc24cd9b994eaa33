/*
 * Contents that come from another worker, on the side that needs them. They enter the object in the command's place in
 * its queue. Where they can be received into the object itself, they are asked for when the queue has reached the
 * command; otherwise they are received into a block, as early as possible.
 */
#include "executor/pages.h"
#include "executor/transfer.h"

static void wait_for_piece(struct transfer *t)
{
    t->next = NULL;
    *t->x->incoming_last = t;
    t->x->incoming_last = &t->next;
}

static struct transfer *take(struct executor *x, struct transfer **at)
{
    struct transfer *t = *at;

    *at = t->next;
    if (x->incoming_last == &t->next)
        x->incoming_last = at;
    return t;
}

static struct transfer *find(struct executor *x, unsigned peer, uint32_t event_id)
{
    struct transfer **at = &x->incoming;

    while (*at && ((*at)->peer != peer || (*at)->event_id != event_id))
        at = &(*at)->next;
    return *at ? take(x, at) : NULL;
}

/* The data have arrived, or never will. */
static void over(struct transfer *t, cl_int error)
{
    if (error && !t->error)
        t->error = error;
    if (!t->mapped || t->turned)
        transfer_open_gate(t);
    transfer_part_over(t);
}

/* Whether the other side is gone, but perhaps to be replaced. */
static bool may_come_again(const struct transfer *t, int error)
{
    return error == -ECONNRESET && t->x->host.may_come_again && !executor_lost(t->x, t->peer);
}

static void ask(struct transfer *t)
{
    struct wire_clear_to_send m = {t->event_id, t->error};
    struct wire_buffer out = {0};
    int error;

    wire_put_clear_to_send(&out, &m);
    error = executor_send_peer(t->x, t->peer, &out);
    if (error && !may_come_again(t, error) && find(t->x, t->peer, t->event_id))
        over(t, CL_OUT_OF_RESOURCES);
}

/* The queue has reached the command. Two parts: this, and the end of the other side's, which may come first if it
 * failed. */
static void turn_has_come(struct executor *x, struct job *job)
{
    struct transfer *t = (struct transfer *)job;

    (void)x;
    t->turned = true;
    if (!t->error)
        t->error = transfer_event_error(t->first);
    if (t->error)
        transfer_open_gate(t);
    if (t->parts == 2)
        ask(t);
    transfer_part_over(t);
}

static void taken(void *argument, int status)
{
    struct transfer *t = argument;

    if (may_come_again(t, status))
        wait_for_piece(t);
    else
        over(t, status ? CL_OUT_OF_RESOURCES : CL_SUCCESS);
}

static void take_ready(struct transfer *t, uint32_t tag)
{
    const int error = t->x->host.take(t->x->host.owner, t->peer, tag, t->bytes, t->side.part.size, taken, t);

    if (error)
        taken(t, error);
}

static bool has_room(const struct transfer *t)
{
    return t->bytes && (!t->mapped || (t->turned && !t->error));
}

/* Takes messages that came before the command. */
static void hear(struct transfer *t)
{
    struct unexpected *unexpected = unexpected_take(t->x, UNEXPECTED_PIECE, t->peer, t->event_id);
    struct exec_eager here = {.event = t->event_id};
    struct exec_rendezvous ready = {.event = t->event_id};

    if (unexpected) {
        here.status = unexpected->status;
        here.data = unexpected->data;
        here.data_length = unexpected->length;
        exec_eager(t->x, t->peer, &here);
        free(unexpected);
        return;
    }
    unexpected = unexpected_take(t->x, UNEXPECTED_READY, t->peer, t->event_id);
    if (unexpected) {
        ready.tag = unexpected->tag;
        exec_rendezvous(t->x, t->peer, &ready);
        free(unexpected);
    } else if (executor_lost(t->x, t->peer)) {
        find(t->x, t->peer, t->event_id);
        over(t, CL_OUT_OF_RESOURCES);
    }
}

static cl_int start(struct command *c, struct transfer *t)
{
    cl_int error;

    if (t->side.part.size <= WIRE_EAGER_LIMIT || !side_can_map(c->x, c->queue, &t->side))
        return transfer_into_block(c, t);
    t->parts = 2;
    error = transfer_through_map(c, t, CL_MAP_WRITE_INVALIDATE_REGION, turn_has_come);
    if (!error)
        pages_touch(c->x, t->side.memory, t->bytes, t->side.part.size);
    return error;
}

int exec_migrate_in(struct command *c, const struct exec_migrate_in *m)
{
    struct executor *x = c->x;
    struct side side;
    struct transfer *t;

    command_uses(c, m->memory);
    side = side_from(c->error ? NULL : m->memory->native, &m->part);
    if (side.memory && !side_fits(&side))
        return -EBADMSG;
    if (side.memory && !bounds_side(&side))
        c->error = CL_INVALID_VALUE;
    t = transfer_new(x, c->error ? NULL : c->queue->native, &side, 0, false);
    if (!t)
        return -ENOMEM;
    t->peer = m->peer;
    t->event_id = c->object->id;
    if (!c->error)
        c->error = start(c, t);
    if (c->error) { /* the other side has to end the transfer all the same */
        t->error = c->error;
        transfer_block_free(t);
        t->mapped = false;
        t->parts = 1;
    }
    wait_for_piece(t);
    if (!t->mapped && t->side.part.size > WIRE_EAGER_LIMIT)
        ask(t);
    else
        hear(t);
    return 0;
}

int exec_eager(struct executor *x, unsigned peer, const struct exec_eager *m)
{
    const struct unexpected unexpected = {.kind = UNEXPECTED_PIECE,
                                          .peer = peer,
                                          .id = m->event,
                                          .status = m->status,
                                          .data = m->data,
                                          .length = m->data_length};
    struct transfer *t = find(x, peer, m->event);
    cl_int error = m->status;

    if (!t)
        return unexpected_keep(x, &unexpected) ? 0 : -ENOMEM;
    if (!error && has_room(t) && m->data_length == t->side.part.size)
        memcpy(t->bytes, m->data, m->data_length);
    else if (!error)
        error = CL_OUT_OF_RESOURCES;
    over(t, error);
    return 0;
}

int exec_rendezvous(struct executor *x, unsigned peer, const struct exec_rendezvous *m)
{
    const struct unexpected unexpected = {.kind = UNEXPECTED_READY, .peer = peer, .id = m->event, .tag = m->tag};
    struct transfer *t = find(x, peer, m->event);

    if (!t)
        return unexpected_keep(x, &unexpected) ? 0 : -ENOMEM;
    if (!has_room(t)) { /* it was not asked for, or the command has failed: the data are discarded */
        bool unasked = t->mapped;

        if (!unasked && t->side.part.size <= WIRE_EAGER_LIMIT)
            t->bytes = malloc(t->side.part.size);
        if (unasked || !t->bytes) {
            over(t, CL_OUT_OF_RESOURCES);
            return -EBADMSG;
        }
    }
    take_ready(t, m->tag);
    return 0;
}

void migrate_in_lose(struct executor *x, unsigned peer)
{
    for (struct transfer **at = &x->incoming; *at;) {
        if ((*at)->peer == peer)
            over(take(x, at), CL_OUT_OF_RESOURCES);
        else
            at = &(*at)->next;
    }
}
