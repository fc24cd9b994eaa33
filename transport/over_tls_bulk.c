/*
 * Bulk data over TLS, straight from and into the owner's memory. Who gives sends it at once, in chunks, by whichever
 * connection has room, so that several go side by side and nothing waits for an answer. What comes before it is taken
 * is kept, and there is a bound for that (the window), so large that what is on its way does not come to it; beyond it
 * goes what the other side, which has somewhere to put it then, says that it wants. An offer and what it is compared
 * with, the takes of the same tag, are in order because a tag's offers have turns.
 */
#include <errno.h>

#include "transport/over_tls.h"

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
    struct tls_way *way = way_of(t, peer);
    struct bulk *bulk;

    if (want->taken > way->given || want->taken < way->given_taken || want->aside_taken > way->aside_given ||
        want->aside_taken < way->aside_given_taken)
        return false;
    way->given_taken = want->taken;
    way->aside_given_taken = want->aside_taken;
    if (!want->id)
        return true;
    TAILQ_FOREACH (bulk, &way->giving, tls.entry) {
        if (bulk->tls.id == want->id)
            break;
    }
    if (!bulk) /* all of it was on its way already */
        return true;
    if (!bulk->tls.offered || bulk->tls.wanted)
        return false;
    bulk->tls.wanted = true;
    return true;
}

/* ---- the provider's ---- */

void tls_bulk_follow(struct transport *t, unsigned peer)
{
    struct tls_way *way = way_of(t, peer);

    for (unsigned i = 0; i < way->pipe_count && !way->broken; i++) {
        struct pipe *pipe = &way->pipes[i];

        if (pipe->said && !pipe->stream.blocked && stream_ready(&pipe->stream))
            tls_give_nothing(t, peer, pipe);
    }
}

int tls_bulk_start(struct transport *t, struct bulk *bulk)
{
    struct tls_way *way = way_of(t, bulk->peer);

    if (way->broken)
        return -ECONNRESET;
    bulk->complete = !bulk->length;
    if (bulk->complete) {
        bulk_over(t, bulk);
        return 0;
    }
    reach_expect(t, bulk);
    if (bulk->take) {
        way->takes++;
        bulk_list(bulk, &way->takers[bucket(bulk->tag)]);
        take_expect(t, bulk);
    } else {
        bulk->tls.id = ++way->last_id ? way->last_id : ++way->last_id;
        bulk->tls.turn = way->turns_given[bucket(bulk->tag)]++;
        if (reach_give(t, bulk))
            return 0;
        way->gives++;
        bulk_list(bulk, &way->giving);
    }
    way_wake(t);
    return 0;
}

void tls_bulk_send(struct transport *t, struct bulk *bulk)
{
    struct tls_way *way = way_of(t, bulk->peer);

    bulk->tls.offered = bulk->tls.wanted = true;
    way->gives++;
    bulk_list(bulk, &way->giving);
    way_wake(t);
}

void tls_bulk_drop(struct transport *t, struct bulk *bulk)
{
    struct tls_way *way = way_of(t, bulk->peer);

    reach_drop(way, bulk);
    bulk_list(bulk, NULL);
    for (unsigned i = 0; i < way->pipe_count; i++) {
        if (way->pipes[i].taking == bulk)
            way->pipes[i].taking = NULL;
        if (way->pipes[i].giving == bulk) {
            way->pipes[i].giving = NULL;
            way->pipes[i].first_at = way->pipes[i].first_end;
            way->pipes[i].rest_length = 0;
        }
        references_drop(&way->pipes[i], bulk);
    }
}

/* A connection's turn. */
static int move(struct transport *t, unsigned peer, unsigned number)
{
    struct tls_way *way = way_of(t, peer);
    struct pipe *pipe = &way->pipes[number];
    const bool quiet = ears_are_quiet(t, &pipe->stream);
    const bool gives = way->gives || (number < way->used && !TAILQ_EMPTY(&way->asides)) || pipe->stream.blocked;
    int given = 0, taken = 0;

    if (quiet && !gives)
        return 0;
    if (!stream_ready(&pipe->stream)) {
        way_break(way, &t->peers[peer], "the program has closed descriptors that are not its own");
        return 0;
    }
    if (gives)
        given = tls_give(t, peer, pipe);
    if (given)
        way->next_pipe = (number + 1) % way->pipe_count;
    if (!quiet && (way->takes || way->waits_aside || t->listens || t->ears >= 0) && !way->broken)
        taken = tls_take(t, peer, pipe);
    way->pipes_blocked |= pipe->stream.blocked;
    return given + taken;
}

int tls_bulk_poll(struct transport *t, unsigned peer)
{
    struct tls_way *way = way_of(t, peer);
    const unsigned first = way->next_pipe;
    int count = 0;

    way->pipes_blocked = false;
    for (unsigned i = 0; i < way->pipe_count && !way->broken; i++)
        count += move(t, peer, (first + i) % way->pipe_count);
    if (way->gives || way->pace.busy)
        able_look(way, peer);
    return count;
}
