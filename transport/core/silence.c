/* Loses peers that have sent no heartbeat for long (transport/alive/heartbeat.h). */
#include <stdio.h>

#include "base/settings.h"
#include "transport/core/link.h"

/* No other process speaks for a stopped program whose bells are not sockets. The end of its connections reports its
 * end; as long as its host works, that answers TCP's probes (socket_tune()) on the connection for heartbeats, where no
 * data waits for the program. */
static bool stands_for_itself(const struct beat *beat, unsigned number)
{
    return !number && beat->carry && !beat->vouched && !atomic_load(&beat->gone);
}

void silence_judge(struct transport *t)
{
    const long now = clock_ms(), tick_ms = settings_tick_ms(), timeout_ms = settings_peer_ms();
    bool was_away;

    if (!t->job.heartbeat || now - t->judged_ms < tick_ms / 4)
        return;
    was_away = now - t->judged_ms > timeout_ms / 2;
    t->judged_ms = now;
    heartbeat_listened(t->job.heartbeat, now);
    for (unsigned i = 0; i < t->width && !t->ended; i++) {
        struct peer *peer = &t->peers[i];
        struct beat *beat = &peer->beat;
        const uint32_t heard = peer->received + peer->bell.heard + atomic_load(&beat->carried);
        const bool later =
            t->job.later && i && !heard; /* the peer may not have taken its connections yet (transport/join/later.c) */

        if (!peer->alive || i == link_local(t) || peer->provider->is_absent)
            continue;
        if (peer->provider->follow)
            peer->provider->follow(t, i);
        if (peer->bell.stopped)
            atomic_store(&beat->quiet_ms, now + 4 * tick_ms);
        if (heard != beat->heard || was_away) {
            beat->heard = heard;
            beat->heard_ms = now;
        } else if (!later && !stands_for_itself(beat, i) && now - beat->heard_ms > timeout_ms) {
            snprintf(t->silence, sizeof(t->silence), "it has not answered for %ld seconds", timeout_ms / 1000);
            link_lose(t, i, t->silence);
        }
    }
}
