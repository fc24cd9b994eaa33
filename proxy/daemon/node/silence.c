/*
 * Clients that have sent heartbeats and no longer do, workers that are stopped, and sessions whose program has gone or
 * that are idle. Checked several times in VOCL_PEER_TIMEOUT.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/settings.h"
#include "proxy/daemon/node/internal.h"

#define LATE_MS 5000    /* more for a vocl-join that has to find this daemon again */
#define LEAVING_MS 2000 /* for a worker to end after its program */
#define SOME_WORK_MS 100

static void end(struct session *s, const char *why)
{
    daemon_log("notice", "session %s ends: %s", s->of, why);
    session_end(s, why);
    worker_contained(s, SIGKILL); /* it would not react to SIGTERM */
}

/* A worker that compiles sends nothing, but its processor time grows. */
static bool works(struct session *s, long now)
{
    const long worked = process_worked_ms(s->pid, false);

    if (worked - s->worked_ms < SOME_WORK_MS + (now - s->active_ms) / 100)
        return false;
    s->worked_ms = worked;
    return true;
}

static void look_at(struct session *s, long now, long patience)
{
    const struct config *config = s->daemon->config;
    const long idle = (long)config->idle_seconds * 1000;
    unsigned i = 0;
    char why[64];

    while (i < s->device_count && s->daemon->devices[s->devices[i]].runs != s)
        i++;
    if ((idle || config->oversubscribe) && (i < s->device_count || works(s, now)))
        s->active_ms = now;
    if (!patience || !process_is_stopped(s->pid))
        s->ran_ms = now;
    if (patience && s->alone_until_ms && now > s->alone_until_ms) {
        end(s, *s->why ? s->why : "its program has gone, or does not answer");
    } else if (patience && now - s->ran_ms > patience) {
        end(s, "its worker is stopped");
    } else if (idle && now - s->active_ms > idle) {
        snprintf(why, sizeof(why), "it has done nothing for %u seconds", config->idle_seconds);
        session_end(s, why);
    }
}

void silence_review(struct daemon *d)
{
    const long now = clock_ms(), patience = settings_peer_ms();
    const bool was_away = d->looked_ms && now - d->looked_ms > (patience ? patience : SILENCE_MOST_MS * 4) / 2;
    struct session *next;

    d->looked_ms = now;
    if (patience)
        connections_judge(d, now, was_away);
    for (struct session *s = d->sessions; s; s = next) {
        next = s->next;
        if (s->state != SESSION_RUNNING)
            continue;
        if (was_away) {
            s->ran_ms = now;
            s->alone_until_ms = s->alone_until_ms ? now + patience + LATE_MS : 0;
        }
        look_at(s, now, patience);
    }
}

void silence_begins(struct session *s, enum silence kind)
{
    const long now = clock_ms();

    s->active_ms = s->active_ms ? s->active_ms : now;
    s->ran_ms = now;
    s->alone_until_ms = kind == SILENCE_NONE      ? 0
                        : kind == SILENCE_LEFT    ? now + LEAVING_MS
                        : kind == SILENCE_TIMEOUT ? now
                                                  : now + settings_peer_ms() + LATE_MS;
}
