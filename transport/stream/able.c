/* What the streams of a pair can do for bulk data besides carrying them: measure the link's rate, pack, and keep
 * pieces. */
#include <string.h>

#include "base/log.h"
#include "transport/plugin/loader.h"
#include "transport/stream/distance.h"
#include "transport/stream/stream.h"

/* Only over TCP, which reports the rate, or where the user has set it; and only with OpenSSL, which hashes. */
bool able_open(struct streams *streams, long us, bool keeps)
{
    pace_open(&streams->pace, us);
    streams->measures = us > 0 || streams->pace.fixed;
    streams->looks = streams->measures && streams->frames.by == tls_plugin;
    streams->packing = streams->measures && strcmp(settings_string(SETTING_COMPRESS), "off") && loader_has_pack();
    streams->able.unpacks = streams->packing;
    if (streams->looks && keeps)
        streams->able.room = settings_bytes(SETTING_KNOWN_BYTES);
    return streams->able.unpacks || streams->able.room;
}

const char *able_take(struct streams *streams, const uint8_t *bytes)
{
    if (streams->known)
        return "it sent its abilities twice";
    memcpy(&streams->other, bytes, sizeof(streams->other));
    if (streams->other.room && streams->looks)
        streams->known = dedup_index_open(streams->other.room, streams->pipe_count);
    return NULL;
}

const struct pack_plugin *able_packing(struct streams *streams)
{
    static const struct pack_plugin *plugin;
    static bool tried;

    if (!plugin && !tried)
        plugin = loader_open_pack();
    tried = true;
    if (plugin && !streams->packer)
        streams->packer = plugin->open();
    streams->packs = plugin;
    return streams->packer ? plugin : NULL;
}

/* Many connections on a slow link only compete, and data of one delay the others'. But with many lost packets they may
 * be needed: then they carried more. */
static void choose_used(struct streams *streams, unsigned peer)
{
    const unsigned before = streams->used;

    if (!streams->is_far || streams->uses_all)
        return;
    streams->uses_all = before < streams->pipe_count && streams->pace.last < streams->rate_before / 4 * 3;
    streams->used = streams->uses_all ? streams->pipe_count
                                      : distance_streams_at(streams->pace.rate, streams->us, streams->pipe_count);
    if (before == streams->pipe_count)
        streams->rate_before = streams->pace.last;
    if (streams->used == before)
        return;
    streams_share(streams);
    vocl_log(LOG_INFO, "with %u: %u of %u connections for bulk data are used", peer, streams->used,
             streams->pipe_count);
}

void able_look(struct streams *streams, unsigned peer)
{
    const uint64_t before = streams->pace.rate;
    int fds[MOST_PIPES];

    for (unsigned i = 0; i < streams->pipe_count; i++)
        fds[i] = stored_fd(&streams->pipes[i].stream.socket);
    if (!streams->measures || !pace_look(&streams->pace, fds, streams->pipe_count, clock_ns()))
        return;
    choose_used(streams, peer);
    if (!before || streams->pace.rate > 2 * before || streams->pace.rate < before / 2)
        vocl_log(LOG_INFO, "with %u: the link carries %.3g MB/s", peer, (double)streams->pace.rate / 1e6);
}

void able_close(struct streams *streams)
{
    dedup_index_close(streams->known);
    dedup_store_close(streams->store);
    if (streams->packer)
        streams->packs->close(streams->packer);
}
