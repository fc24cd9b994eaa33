/* The connections with another member, as a whole: see over_tls.h. */
#include <stdlib.h>
#include <unistd.h>

#include "transport/over_tls.h"
#include "transport/plain.h"

struct tls_way *way_new(unsigned pipes)
{
    struct tls_way *way = calloc(1, sizeof(*way));

    if (!way || !(way->pipes = calloc(pipes + 1, sizeof(*way->pipes)))) {
        free(way);
        return NULL;
    }
    way->pipe_count = way->used = pipes;
    TAILQ_INIT(&way->giving);
    TAILQ_INIT(&way->arriving);
    TAILQ_INIT(&way->asides);
    for (unsigned i = 0; i < WAY_BUCKETS; i++) {
        TAILQ_INIT(&way->takers[i]);
        TAILQ_INIT(&way->taking[i]);
        TAILQ_INIT(&way->offers[i]);
        TAILQ_INIT(&way->offered[i]);
        TAILQ_INIT(&way->early[i]);
    }
    way->frames.socket.fd = way->beat.socket.fd = way->voucher.fd = -1;
    for (unsigned i = 0; i < pipes; i++)
        way->pipes[i].stream.socket.fd = -1;
    return way;
}

struct stream *way_stream(struct tls_way *way, unsigned index)
{
    return index == BEAT ? &way->beat : index ? &way->pipes[index - 1].stream : &way->frames;
}

bool way_is_whole(const struct tls_way *way)
{
    bool whole = way && way->frames.tls && (way->beat.tls || !way->pipe_count);

    for (unsigned i = 0; whole && i < way->pipe_count; i++)
        whole = way->pipes[i].stream.tls != NULL;
    return whole;
}

static void stream_end(struct stream *stream, bool forget)
{
    if (!forget && stream->tls)
        stream->by->close(stream->tls);
    stream->tls = NULL;
    kept_close(&stream->socket);
}

void way_free(struct tls_way *way, bool forget)
{
    if (!way)
        return;
    stream_end(&way->frames, forget);
    stream_end(&way->beat, forget);
    kept_close(&way->voucher);
    for (unsigned i = 0; i < way->pipe_count; i++) {
        struct pipe *pipe = &way->pipes[i];

        stream_end(&pipe->stream, forget);
        references_drop(pipe, NULL);
        free(pipe->piece);
        free(pipe->packed);
        free(pipe->carried);
    }
    reach_close(way);
    able_close(way);
    aside_free_all(way);
    offers_free(way);
    free(way->pipes);
    frames_free(way);
    free(way);
}

int way_take_bell(struct tls_way *way)
{
    const int fd = way->frames.socket.fd;

    way->frames.socket.fd = -1;
    way_free(way, false);
    return fd;
}

static bool settle(struct stream *stream, int fd)
{
    if (stream->tls)
        return true;
    kept_trust(&stream->socket, fd);
    stream->by = &plain_plugin;
    stream->tls = fd < 0 ? NULL : plain_plugin.open(fd, "");
    return stream->tls != NULL;
}

bool way_settle_bell(struct tls_way *way, int fd)
{
    return settle(&way->frames, fd);
}

bool pair_settle(struct tls_way *way, const int sockets[PAIR_SOCKETS])
{
    bool good = true;

    for (unsigned i = 0; i < PAIR_SOCKETS; i++) /* all of them are the way's */
        good &= settle(i == 0 ? &way->frames : i == 1 ? &way->beat : &way->pipes[0].stream, sockets[i]);
    return good;
}

struct tls_way *pair_way(const int sockets[PAIR_SOCKETS])
{
    struct tls_way *way = way_new(1);

    for (unsigned i = 0; !way && i < PAIR_SOCKETS; i++)
        close(sockets[i]);
    if (way && pair_settle(way, sockets))
        return way;
    way_free(way, false);
    return NULL;
}
