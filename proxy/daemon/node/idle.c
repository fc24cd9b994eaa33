/* Idle sessions: whether one may be suspended for others that wait, and when. */
#include "base/clock.h"
#include "proxy/daemon/node/internal.h"

/* A session that was asked, and still runs after this time, is not asked again for as long. */
#define ASKED_MS 15000
#define REFUSED_MS 5000 /* the same after a refusal */
/* The cost of a suspension that was not measured: a worker's start, and a time for each MiB saved or restored. */
#define START_MS 500
#define FIRST_US 1000 /* for each MiB, if no other suspension was measured */
#define LEAST_MIB 16  /* from which on a measurement counts */
#define MOST_PATIENCE_MS (3600 * 1000)

bool idle_asked(const struct session *s)
{
    return s->asked_ms && clock_ms() - s->asked_ms < ASKED_MS && s->refused_ms < s->asked_ms;
}

/* The cost of a change, because a session that is needed again at once was suspended for nothing: see
 * proxy/launch/costs.c. For a session that was never suspended, what others took for as many MiB counts. */
long idle_patience(const struct session *s)
{
    const long least = (long)s->daemon->config->oversubscribe * 1000;
    const long of_mib = s->daemon->suspend_us_of_mib ? s->daemon->suspend_us_of_mib : FIRST_US;
    const long cost = s->patience_ms ? s->patience_ms : START_MS + 2 * (long)(s->usage.memory >> 20) * of_mib / 1000;

    return cost > MOST_PATIENCE_MS ? MOST_PATIENCE_MS : cost > least ? cost : least;
}

void idle_went(const struct session *s)
{
    const long mib = (long)(s->usage.memory >> 20), took = s->asked_ms ? clock_ms() - s->asked_ms : 0;
    struct daemon *d = s->daemon;

    if (took <= 0 || mib < LEAST_MIB)
        return;
    d->suspend_us_of_mib = d->suspend_us_of_mib ? (d->suspend_us_of_mib + took * 1000 / mib) / 2 : took * 1000 / mib;
}

void idle_hear(struct session *s, const json_t *message)
{
    const long ms = (long)message_number(message, "ms", 0);

    s->patience_ms = ms > 0 && ms < MOST_PATIENCE_MS ? ms : MOST_PATIENCE_MS;
    daemon_log("notice", "session %s may be suspended after %ld ms idle", s->of, s->patience_ms);
}

bool idle_may_be_suspended(const struct session *s)
{
    const bool on = s->daemon->config->oversubscribe;
    const long now = clock_ms();
    const char *why;

    return on && move_may_ask(s, &why) && s->active_ms && now - s->active_ms >= idle_patience(s) &&
           (!s->asked_ms || now - s->asked_ms > 2 * ASKED_MS || s->refused_ms >= s->asked_ms) &&
           (!s->refused_ms || now - s->refused_ms > REFUSED_MS);
}
