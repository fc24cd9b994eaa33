/*
 * Bulk data over streams, directly from and into the owner's memory. The giver sends at once, in chunks, by any
 * connection that has room: so several chunks travel side by side, and nothing waits for an answer. Data that arrive
 * before their take began are kept. There is a limit for them (the window), larger than what can be under way. Beyond
 * it the giver sends only what the other side asks for, when it has memory for it. The offers of a tag have turns, and
 * so are in the same order as the takes of the tag.
 */
#include <errno.h>

#include "transport/stream/stream.h"

void bulk_list(struct bulk *bulk, struct bulks *list)
{
    if (bulk->tls.in)
        TAILQ_REMOVE(bulk->tls.in, bulk, tls.entry);
    bulk->tls.in = list;
    if (list)
        TAILQ_INSERT_TAIL(list, bulk, tls.entry);
}

bool tls_bulk_wanted(struct transport *t, unsigned peer, const struct want *want)
{
    struct streams *streams = streams_of(t, peer);
    struct bulk *bulk;

    if (want->taken > streams->given || want->taken < streams->given_taken ||
        want->aside_taken > streams->aside_given || want->aside_taken < streams->aside_given_taken)
        return false;
    streams->given_taken = want->taken;
    streams->aside_given_taken = want->aside_taken;
    if (!want->id)
        return true;
    TAILQ_FOREACH (bulk, &streams->giving, tls.entry) {
        if (bulk->tls.id == want->id)
            break;
    }
    if (!bulk) /* all of it is under way already */
        return true;
    if (!bulk->tls.offered || bulk->tls.wanted)
        return false;
    bulk->tls.wanted = true;
    return true;
}

/* ---- functions of the provider ---- */

void tls_bulk_follow(struct transport *t, unsigned peer)
{
    struct streams *streams = streams_of(t, peer);

    for (unsigned i = 0; i < streams->pipe_count && !streams->broken; i++) {
        struct pipe *pipe = &streams->pipes[i];

        if (pipe->said && !pipe->stream.blocked && stream_ready(&pipe->stream))
            tls_give_nothing(t, peer, pipe);
    }
}

int tls_bulk_start(struct transport *t, struct bulk *bulk)
{
    struct streams *streams = streams_of(t, bulk->peer);

    if (streams->broken)
        return -ECONNRESET;
    bulk->complete = !bulk->length;
    if (bulk->complete) {
        bulk_over(t, bulk);
        return 0;
    }
    cross_memory_expect(t, bulk);
    if (bulk->take) {
        streams->takes++;
        bulk_list(bulk, &streams->takers[bucket(bulk->tag)]);
        take_expect(t, bulk);
    } else {
        bulk->tls.id = ++streams->last_id ? streams->last_id : ++streams->last_id;
        bulk->tls.turn = streams->turns_given[bucket(bulk->tag)]++;
        if (cross_memory_give(t, bulk))
            return 0;
        streams->gives++;
        bulk_list(bulk, &streams->giving);
    }
    streams_wake(t);
    return 0;
}

void tls_bulk_send(struct transport *t, struct bulk *bulk)
{
    struct streams *streams = streams_of(t, bulk->peer);

    bulk->tls.offered = bulk->tls.wanted = true;
    streams->gives++;
    bulk_list(bulk, &streams->giving);
    streams_wake(t);
}

void tls_bulk_drop(struct transport *t, struct bulk *bulk)
{
    struct streams *streams = streams_of(t, bulk->peer);

    cross_memory_drop(t, bulk);
    bulk_list(bulk, NULL);
    for (unsigned i = 0; i < streams->pipe_count; i++) {
        if (streams->pipes[i].taking == bulk)
            streams->pipes[i].taking = NULL;
        if (streams->pipes[i].giving == bulk) {
            streams->pipes[i].giving = NULL;
            streams->pipes[i].first_at = streams->pipes[i].first_end;
            streams->pipes[i].rest_length = 0;
        }
        references_drop(&streams->pipes[i], bulk);
    }
}

/* A connection's turn. */
static int move(struct transport *t, unsigned peer, unsigned number)
{
    struct streams *streams = streams_of(t, peer);
    struct pipe *pipe = &streams->pipes[number];
    const bool quiet = poll_set_are_quiet(t, &pipe->stream);
    const bool gives =
        streams->gives || (number < streams->used && !TAILQ_EMPTY(&streams->asides)) || pipe->stream.blocked;
    int given = 0, taken = 0;

    if (quiet && !gives)
        return 0;
    if (!stream_ready(&pipe->stream)) {
        streams_break(streams, &t->peers[peer], "the program has closed descriptors that are not its own");
        return 0;
    }
    if (gives)
        given = tls_give(t, peer, pipe);
    if (given)
        streams->next_pipe = (number + 1) % streams->pipe_count;
    if (!quiet && (streams->takes || streams->waits_aside || t->listens || t->poll_set >= 0) && !streams->broken)
        taken = tls_take(t, peer, pipe);
    streams->pipes_blocked |= pipe->stream.blocked;
    return given + taken;
}

int tls_bulk_poll(struct transport *t, unsigned peer)
{
    struct streams *streams = streams_of(t, peer);
    const unsigned first = streams->next_pipe;
    int count = 0;

    streams->pipes_blocked = false;
    for (unsigned i = 0; i < streams->pipe_count && !streams->broken; i++)
        count += move(t, peer, (first + i) % streams->pipe_count);
    if (streams->gives || streams->pace.busy)
        able_look(streams, peer);
    return count;
}
