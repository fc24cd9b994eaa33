/*
 * Devices that are held (`vocl run --hold`): a reservation without a worker that does not expire while its client is
 * connected. Sessions of the same user that name it get their devices from it, one after the other or together, before
 * all waiting requests; between them nobody else gets the devices. For others, what these sessions use counts as the
 * hold's.
 *
 * Sessions name a hold by its session's name, or as "@JOB". The second name outlasts it: another hold of the same user
 * for this job can take its place. Its client may say for how many seconds the hold remains without a client, for
 * another one to take it over.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "proxy/daemon/node/internal.h"

#define MOST_KEEP 3600 /* seconds that a hold may remain without a client */

/* A session within a hold may claim any job. */
static bool is_named(const struct session *hold, const char *name)
{
    return *name == '@' ? !*hold->within && !strcmp(hold->job, name + 1) : !strcmp(hold->of, name);
}

struct session *hold_of(const struct session *s)
{
    struct session *hold = s->daemon->sessions;

    while (*s->within && hold && !(hold->held && is_named(hold, s->within) && hold->uid == s->uid))
        hold = hold->next;
    return *s->within ? hold : NULL;
}

/* Returns the memory that a session has of each of its devices: what it requested, or what it uses, if that is more.
 * The worker reports the sum for all its devices. */
static uint64_t memory_of(const struct session *s)
{
    const uint64_t used = s->device_count ? s->usage.memory / s->device_count : 0;

    return used > s->memory ? used : s->memory;
}

/* Returns the hold's memory, or that of the sessions within it, if that is more. */
static uint64_t memory_held(const struct session *hold, unsigned device)
{
    uint64_t within = 0;

    for (const struct session *s = hold->daemon->sessions; s; s = s->next) {
        if (session_uses(s, device, NULL) && hold_of(s) == hold)
            within += memory_of(s);
    }
    return within > hold->memory ? within : hold->memory;
}

unsigned hold_users(const struct daemon *d, unsigned device, uint64_t *memory, bool *taken)
{
    unsigned count = 0;

    *memory = 0;
    *taken = false;
    for (const struct session *s = d->sessions; s; s = s->next) {
        if (!session_uses(s, device, NULL) || hold_of(s))
            continue;
        *memory += s->held ? memory_held(s, device) : memory_of(s);
        *taken |= s->exclusive;
        count++;
    }
    return count;
}

const char *hold_refuse(struct session *s, uint64_t memory, bool *never)
{
    const struct session *hold = hold_of(s);

    *never = true;
    if (!hold)
        return "there is no such hold of yours any more";
    s->memory = memory;
    for (unsigned i = 0; i < s->device_count; i++) {
        const struct device *device = &s->daemon->devices[s->devices[i]];
        const struct device_rule *rule = config_rule(s->daemon->config, device->name);
        uint64_t all;
        bool alone;

        if (!session_uses(hold, s->devices[i], NULL))
            return "that device is not held";
        hold_users(s->daemon, s->devices[i], &all, &alone);
        if (memory > (rule->memory ? rule->memory : device->memory) || all > device->memory) {
            *never = false;
            return "a device has too little free memory";
        }
    }
    *never = false;
    return NULL;
}

static void time_is_up(void *argument)
{
    session_end(argument, "its time is up");
}

/* Ends the hold if none of it was in use for idle-limit; active_ms is when it last was. */
static void look(void *argument)
{
    struct session *hold = argument;
    const struct config *config = hold->daemon->config;
    const double age = wall_seconds() - hold->began;
    char why[64];

    for (const struct session *s = hold->daemon->sessions; s; s = s->next) {
        if (hold_of(s) == hold)
            hold->active_ms = clock_ms();
    }
    if (config->idle_seconds && clock_ms() - hold->active_ms > 1000L * config->idle_seconds) {
        text_print(why, sizeof(why), "it was held for %u seconds for nothing", config->idle_seconds);
        session_end(hold, why);
    } else if (config->session_seconds && age >= config->session_seconds) {
        time_is_up(hold);
    } else if (!hold->client && clock_ms() - hold->left_ms > 1000L * hold->keep_seconds) {
        text_print(why, sizeof(why), "its client was away for %u seconds", hold->keep_seconds);
        session_end(hold, why);
    } else {
        session_set_timer(hold, look, 1);
    }
}

bool hold_begin(struct session *s, struct connection *c, long long keep_seconds)
{
    if (s->state != SESSION_RESERVED || (s->client && !s->held) || *s->within)
        return false;
    s->held = true;
    s->expires = 0;
    s->keep_seconds = keep_seconds < 0 ? 0 : keep_seconds > MOST_KEEP ? MOST_KEEP : (unsigned)keep_seconds;
    s->active_ms = clock_ms();
    if (!*s->program)
        text_print(s->program, sizeof(s->program), "(hold)");
    state_save(s);
    session_set_timer(s, look, 1);
    session_attach(s, c);
    daemon_log("info", "session %s is held: user=%s from=%s devices=%u", s->of, s->user, s->from, s->device_count);
    event_note_session(s, "hold-begin", NULL);
    daemon_changed(s->daemon);
    return true;
}

void hold_end(struct session *s)
{
    if (s->state == SESSION_RESERVED)
        session_gone(s, 0);
}

void hold_leave(struct session *s)
{
    if (s->state != SESSION_RESERVED)
        return;
    s->left_ms = clock_ms();
    if (s->keep_seconds)
        daemon_log("info", "session %s is held for %u more seconds without a client", s->of, s->keep_seconds);
    else
        hold_end(s);
}
