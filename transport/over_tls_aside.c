/*
 * Frames aside: what one connection may have under way bounds what it carries far away, so a frame that would wait
 * there, or a part of a large one, goes by one of those for bulk data, as one chunk, and the connection for frames has
 * its place in the order. The other side says how much of it has been taken: so much may be there that has not.
 */
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/log.h"
#include "transport/over_tls.h"

#define LEAST 2048          /* bytes of a frame that are worth a place beside them */
#define BEHIND (64u << 10)  /* bytes that the connection has, and has not sent */
#define UNSENT (16u << 20)  /* of frames aside: no more are taken then */
#define TOLD (1u << 20)     /* so much of it taken is worth a message */
#define WAITING_MOST 65536u /* frames aside whose place has not come: each connection is in order, so they are few */

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

void aside_free_all(struct tls_way *way)
{
    for (unsigned i = 0; i < way->pipe_count; i++)
        free(way->pipes[i].going_aside);
    asides_free(&way->asides);
    asides_free(&way->arriving);
    free(way->here);
}

/* ---- out ---- */

static bool is_behind(struct tls_way *way)
{
    int unsent = 0;

    if (way->ordinary.at < way->ordinary.end)
        return true;
    return !ioctl(kept_fd(&way->frames.socket), SIOCOUTQNSD, &unsent) && unsent > (int)BEHIND;
}

bool aside_is_due(struct tls_way *way, size_t length)
{
    return way->is_far && length >= LEAST && is_behind(way);
}

bool aside_has_window(const struct tls_way *way, size_t length)
{
    return way->aside_given - way->aside_given_taken + length <= way->aside_window;
}

/* What is taken and not told of yet is less than TOLD: no more can be waited for. */
bool aside_has_room(const struct tls_way *way, size_t length)
{
    return way->aside_unsent < UNSENT &&
           (aside_has_window(way, length) || way->aside_given - way->aside_given_taken < TOLD);
}

bool aside_send(struct tls_way *way, const void *bytes, size_t length)
{
    struct aside *aside = aside_new(way->last_aside + 1, length);

    if (!aside)
        return false;
    memcpy(aside->bytes, bytes, length);
    TAILQ_INSERT_TAIL(&way->asides, aside, in);
    if (!way->aside_given)
        vocl_log(LOG_INFO, "to %u: frames go by connections for bulk data, too", way->frames.peer);
    way->last_aside = aside->id;
    way->aside_unsent += length;
    way->aside_given += length;
    return true;
}

void aside_sent(struct tls_way *way, struct pipe *pipe)
{
    way->aside_unsent -= pipe->going_aside->length;
    free(pipe->going_aside);
    pipe->going_aside = NULL;
}

/* ---- in ---- */

bool aside_begins(struct tls_way *way, struct pipe *pipe)
{
    const struct chunk *chunk = &pipe->chunk;
    struct aside *aside;

    if (chunk->how != CHUNK_PLAIN || chunk->slot || chunk->offset || chunk->whole != chunk->length ||
        chunk->length > TRANSPORT_MAX_FRAME || way->aside_kept + chunk->length > ASIDE_MOST + TRANSPORT_MAX_FRAME ||
        !chunk->length || way->arriving_count == WAITING_MOST || !(aside = aside_new(chunk->id, (size_t)chunk->length)))
        return false;
    TAILQ_INSERT_TAIL(&way->arriving, aside, in);
    way->arriving_count++;
    way->aside_kept += aside->length;
    pipe->arriving = aside;
    return true;
}

const char *aside_look(struct tls_way *way)
{
    struct aside *aside;

    TAILQ_FOREACH (aside, &way->arriving, in) {
        if (aside->id == way->place.id)
            break;
    }
    if (aside && aside->length != way->place.length)
        return "it sent another frame than it announced";
    if (!aside || aside->got < aside->length)
        return NULL;
    TAILQ_REMOVE(&way->arriving, aside, in);
    way->arriving_count--;
    way->here = aside;
    way->waits_aside = false;
    return NULL;
}

void aside_taken(struct transport *t, unsigned peer)
{
    struct tls_way *way = t->peers[peer].way;

    way->aside_kept -= way->here->length;
    way->aside_taken += way->here->length;
    free(way->here);
    way->here = NULL;
    if (way->aside_taken - way->aside_confirmed >= TOLD)
        way_want(t, peer, 0);
}
