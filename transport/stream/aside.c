/*
 * Frames aside. Over long distances the limit of bytes under way determines a connection's rate. So a frame that would
 * wait, or a part of a large one, goes by one of the connections for bulk data, as one chunk, and the connection for
 * frames carries its place in the order. The other side reports how much of it has been taken, and the bytes that it
 * has not taken are limited.
 */
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/log.h"
#include "transport/stream/stream.h"

#define LEAST 2048          /* bytes of a frame for which a place in the order is worth it */
#define BEHIND (64u << 10)  /* bytes in the connection's socket that are not sent */
#define UNSENT (16u << 20)  /* bytes of frames aside: no more are accepted then */
#define TOLD (1u << 20)     /* bytes taken, after which a message reports it */
#define WAITING_MOST 65536u /* frames aside before their turn: each connection is in order, so they are few */

static struct aside *aside_new(uint32_t id, size_t length)
{
    struct aside *aside = malloc(sizeof(*aside) + length);

    if (aside)
        *aside = (struct aside){.id = id, .length = length};
    return aside;
}

static void asides_free(struct asides *list)
{
    struct aside *aside;

    while ((aside = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, aside, in);
        free(aside);
    }
}

void aside_free_all(struct streams *streams)
{
    for (unsigned i = 0; i < streams->pipe_count; i++)
        free(streams->pipes[i].going_aside);
    asides_free(&streams->asides);
    asides_free(&streams->arriving);
    free(streams->here);
}

/* ---- out ---- */

static bool is_behind(struct streams *streams)
{
    int unsent = 0;

    if (streams->ordinary.at < streams->ordinary.end)
        return true;
    return !ioctl(stored_fd(&streams->frames.socket), SIOCOUTQNSD, &unsent) && unsent > (int)BEHIND;
}

bool aside_is_due(struct streams *streams, size_t length)
{
    return streams->is_far && length >= LEAST && is_behind(streams);
}

bool aside_has_window(const struct streams *streams, size_t length)
{
    return streams->aside_given - streams->aside_given_taken + length <= streams->aside_window;
}

/* The other side reports every TOLD bytes: while fewer are unconfirmed no report may come to wait for. */
bool aside_has_room(const struct streams *streams, size_t length)
{
    return streams->aside_unsent < UNSENT &&
           (aside_has_window(streams, length) || streams->aside_given - streams->aside_given_taken < TOLD);
}

bool aside_send(struct streams *streams, const void *bytes, size_t length)
{
    struct aside *aside = aside_new(streams->last_aside + 1, length);

    if (!aside)
        return false;
    memcpy(aside->bytes, bytes, length);
    TAILQ_INSERT_TAIL(&streams->asides, aside, in);
    if (!streams->aside_given)
        vocl_log(LOG_INFO, "to %u: frames go by connections for bulk data, too", streams->frames.peer);
    streams->last_aside = aside->id;
    streams->aside_unsent += length;
    streams->aside_given += length;
    return true;
}

void aside_sent(struct streams *streams, struct pipe *pipe)
{
    streams->aside_unsent -= pipe->going_aside->length;
    free(pipe->going_aside);
    pipe->going_aside = NULL;
}

/* ---- in ---- */

bool aside_begins(struct streams *streams, struct pipe *pipe)
{
    const struct chunk *chunk = &pipe->chunk;
    struct aside *aside;

    if (chunk->how != CHUNK_PLAIN || chunk->slot || chunk->offset || chunk->whole != chunk->length ||
        chunk->length > TRANSPORT_MAX_FRAME || streams->aside_kept + chunk->length > ASIDE_MOST + TRANSPORT_MAX_FRAME ||
        !chunk->length || streams->arriving_count == WAITING_MOST ||
        !(aside = aside_new(chunk->id, (size_t)chunk->length)))
        return false;
    TAILQ_INSERT_TAIL(&streams->arriving, aside, in);
    streams->arriving_count++;
    streams->aside_kept += aside->length;
    pipe->arriving = aside;
    return true;
}

const char *aside_look(struct streams *streams)
{
    struct aside *aside;

    TAILQ_FOREACH (aside, &streams->arriving, in) {
        if (aside->id == streams->place.id)
            break;
    }
    if (aside && aside->length != streams->place.length)
        return "it sent another frame than it announced";
    if (!aside || aside->got < aside->length)
        return NULL;
    TAILQ_REMOVE(&streams->arriving, aside, in);
    streams->arriving_count--;
    streams->here = aside;
    streams->waits_aside = false;
    return NULL;
}

void aside_taken(struct transport *t, unsigned peer)
{
    struct streams *streams = t->peers[peer].way;

    streams->aside_kept -= streams->here->length;
    streams->aside_taken += streams->here->length;
    free(streams->here);
    streams->here = NULL;
    if (streams->aside_taken - streams->aside_confirmed >= TOLD)
        streams_want(t, peer, 0);
}
