/* What a way over TLS can do for bulk data beside carrying them: measure how fast the link is, pack, and keep pieces.
 */
#include <string.h>

#include "base/log.h"
#include "transport/distance.h"
#include "transport/over_tls.h"

/* Only over TCP, which tells how fast it is, or where that is said; and by OpenSSL, which hashes. */
bool able_open(struct tls_way *way, long us, bool keeps)
{
    pace_open(&way->pace, us);
    way->measures = us > 0 || way->pace.fixed;
    way->looks = way->measures && way->frames.by == tls_plugin;
    way->packing = way->measures && strcmp(settings_string(SETTING_COMPRESS), "off") && loader_has_pack();
    way->able.unpacks = way->packing;
    if (way->looks && keeps)
        way->able.room = settings_bytes(SETTING_KNOWN_BYTES);
    return way->able.unpacks || way->able.room;
}

const char *able_take(struct tls_way *way, const uint8_t *bytes)
{
    if (way->known)
        return "it said twice what it can do";
    memcpy(&way->other, bytes, sizeof(way->other));
    if (way->other.room && way->looks)
        way->known = known_open(way->other.room, way->pipe_count);
    return NULL;
}

const struct pack_plugin *able_packing(struct tls_way *way)
{
    static const struct pack_plugin *plugin;
    static bool tried;

    if (!plugin && !tried)
        plugin = loader_open_pack();
    tried = true;
    if (plugin && !way->packer)
        way->packer = plugin->open();
    way->packs = plugin;
    return way->packer ? plugin : NULL;
}

/* Many connections on a slow link only take from each other, and what one of them has holds up what the others have.
 * But one that loses a lot may need them: then they carried more. */
static void choose_used(struct tls_way *way, unsigned peer)
{
    const unsigned before = way->used;

    if (!way->is_far || way->uses_all)
        return;
    way->uses_all = before < way->pipe_count && way->pace.last < way->rate_before / 4 * 3;
    way->used = way->uses_all ? way->pipe_count : distance_streams_at(way->pace.rate, way->us, way->pipe_count);
    if (before == way->pipe_count)
        way->rate_before = way->pace.last;
    if (way->used == before)
        return;
    way_share(way);
    vocl_log(LOG_INFO, "with %u: %u of %u connections for bulk data are used", peer, way->used, way->pipe_count);
}

void able_look(struct tls_way *way, unsigned peer)
{
    const uint64_t before = way->pace.rate;
    int fds[MOST_PIPES];

    for (unsigned i = 0; i < way->pipe_count; i++)
        fds[i] = kept_fd(&way->pipes[i].stream.socket);
    if (!way->measures || !pace_look(&way->pace, fds, way->pipe_count, clock_ns()))
        return;
    choose_used(way, peer);
    if (!before || way->pace.rate > 2 * before || way->pace.rate < before / 2)
        vocl_log(LOG_INFO, "with %u: the link carries %.3g MB/s", peer, (double)way->pace.rate / 1e6);
}

void able_close(struct tls_way *way)
{
    known_close(way->known);
    shelf_close(way->shelf);
    if (way->packer)
        way->packs->close(way->packer);
}
