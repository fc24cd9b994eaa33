/* The connections of a pair, as a whole: see stream.h. */
#include <stdlib.h>
#include <unistd.h>

#include "transport/stream/plain.h"
#include "transport/stream/stream.h"

struct streams *streams_new(unsigned pipes)
{
    struct streams *streams = calloc(1, sizeof(*streams));

    if (!streams || !(streams->pipes = calloc(pipes + 1, sizeof(*streams->pipes)))) {
        free(streams);
        return NULL;
    }
    streams->pipe_count = streams->used = pipes;
    TAILQ_INIT(&streams->giving);
    TAILQ_INIT(&streams->arriving);
    TAILQ_INIT(&streams->asides);
    for (unsigned i = 0; i < WAY_BUCKETS; i++) {
        TAILQ_INIT(&streams->takers[i]);
        TAILQ_INIT(&streams->taking[i]);
        TAILQ_INIT(&streams->offers[i]);
        TAILQ_INIT(&streams->offered[i]);
        TAILQ_INIT(&streams->early[i]);
    }
    streams->frames.socket.fd = streams->beat.socket.fd = streams->voucher.fd = -1;
    for (unsigned i = 0; i < pipes; i++)
        streams->pipes[i].stream.socket.fd = -1;
    return streams;
}

struct stream *streams_at(struct streams *streams, unsigned index)
{
    return index == BEAT ? &streams->beat : index ? &streams->pipes[index - 1].stream : &streams->frames;
}

bool streams_is_whole(const struct streams *streams)
{
    bool whole = streams && streams->frames.tls && (streams->beat.tls || !streams->pipe_count);

    for (unsigned i = 0; whole && i < streams->pipe_count; i++)
        whole = streams->pipes[i].stream.tls != NULL;
    return whole;
}

static void stream_end(struct stream *stream, bool forget)
{
    if (!forget && stream->tls)
        stream->by->close(stream->tls);
    stream->tls = NULL;
    stored_close(&stream->socket);
}

void streams_free(struct streams *streams, bool forget)
{
    if (!streams)
        return;
    stream_end(&streams->frames, forget);
    stream_end(&streams->beat, forget);
    stored_close(&streams->voucher);
    for (unsigned i = 0; i < streams->pipe_count; i++) {
        struct pipe *pipe = &streams->pipes[i];

        stream_end(&pipe->stream, forget);
        references_drop(pipe, NULL);
        free(pipe->piece);
        free(pipe->packed);
        free(pipe->carried);
    }
    cross_memory_close(streams);
    able_close(streams);
    aside_free_all(streams);
    offers_free(streams);
    free(streams->pipes);
    frames_free(streams);
    free(streams);
}

int streams_take_bell(struct streams *streams)
{
    const int fd = streams->frames.socket.fd;

    streams->frames.socket.fd = -1;
    streams_free(streams, false);
    return fd;
}

static bool settle(struct stream *stream, int fd)
{
    if (stream->tls)
        return true;
    stored_trust(&stream->socket, fd);
    stream->by = &plain_plugin;
    stream->tls = fd < 0 ? NULL : plain_plugin.open(fd, "");
    return stream->tls != NULL;
}

bool streams_settle_bell(struct streams *streams, int fd)
{
    return settle(&streams->frames, fd);
}

bool pair_settle(struct streams *streams, const int sockets[PAIR_SOCKETS])
{
    bool good = true;

    for (unsigned i = 0; i < PAIR_SOCKETS; i++) /* the streams own all of them, even if one fails */
        good &= settle(i == 0 ? &streams->frames : i == 1 ? &streams->beat : &streams->pipes[0].stream, sockets[i]);
    return good;
}

struct streams *pair_way(const int sockets[PAIR_SOCKETS])
{
    struct streams *streams = streams_new(1);

    for (unsigned i = 0; !streams && i < PAIR_SOCKETS; i++)
        close(sockets[i]);
    if (streams && pair_settle(streams, sockets))
        return streams;
    streams_free(streams, false);
    return NULL;
}
