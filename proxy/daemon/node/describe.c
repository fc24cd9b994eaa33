/* What is told of this node: its devices, and the sessions on them. */
#include <stdio.h>

#include "base/clock.h"
#include "proxy/daemon/node/internal.h"

static json_t *describe_device(const struct daemon *d, unsigned index)
{
    struct device *device = (struct device *)(uintptr_t)&d->devices[index];
    const struct device_rule *rule = config_rule(d->config, device->name);
    uint64_t taken, all = rule->memory && rule->memory < device->memory ? rule->memory : device->memory, left;
    bool alone;
    unsigned users = hold_users(d, index, &taken, &alone);
    const double load = device_load(device);

    left = device->memory > taken ? device->memory - taken : 0;
    return message_pack("{s:i, s:i, s:s, s:s, s:I, s:I, s:I, s:i, s:s, s:i, s:i, s:b, s:f, s:f}", "index", (int)index,
                        "leaf", device->leaf, "name", device->name, "type", device->type, "memory",
                        (json_int_t)device->memory, "limit", (json_int_t)all, "free", (json_int_t)left, "units",
                        (int)device->units, "mode", rule->exclusive ? "exclusive" : "shared", "most",
                        (int)rule->sessions, "sessions", (int)users, "taken", alone, "load", load < 1 ? load : 1,
                        "busy", (double)device->busy_us / 1e6); /* workers tell of their time once a second */
}

static json_t *describe_session(const struct session *s)
{
    static const char *const states[] = {"reserved", "running", "ending", "held"};
    json_t *told =
        message_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:i, s:i, s:f, s:f, s:f, s:I, s:I, s:I, s:I}", "id", s->of,
                     "user", s->user, "program", s->program, "job", s->job, "from", s->from, "state",
                     states[s->held      ? 3
                            : s->leaving ? SESSION_ENDING
                                         : s->state],
                     "devices", message_list(s->devices, s->device_count), "share", (int)s->share, "slot", (int)s->slot,
                     "began", s->began, "device_seconds", measure_device_seconds(s), "cpu_seconds", s->cpu_seconds,
                     "launches", (json_int_t)s->usage.launches, "bytes_in", (json_int_t)s->usage.bytes_in, "bytes_out",
                     (json_int_t)s->usage.bytes_out, "memory", (json_int_t)s->usage.memory);

    json_object_set_new(told, "part", json_string(s->id));
    json_object_set_new(told, "replaces", json_string(s->replaces));
    json_object_set_new(told, "within", json_string(s->within));
    json_object_set_new(told, "limit", json_integer((json_int_t)s->memory));
    json_object_set_new(told, "exclusive", json_boolean(s->exclusive));
    if (s->active_ms)
        json_object_set_new(told, "idle", json_real((double)(clock_ms() - s->active_ms) / 1000));
    json_object_set_new(told, "may rest", json_boolean(idle_may_rest(s)));
    json_object_set_new(told, "patience", json_real((double)idle_patience(s) / 1000));
    json_object_set_new(told, "asked", json_boolean(idle_asked(s)));
    if (s->move)
        json_object_set(told, "move", s->move);
    return told;
}

json_t *node_describe(const struct daemon *d)
{
    json_t *devices = json_array(), *sessions = json_array();
    char drains[512];
    json_t *told;

    drain_describe(d, drains, sizeof(drains));
    for (unsigned i = 0; i < d->device_count; i++) {
        if (!config_rule(d->config, d->devices[i].name)->hidden)
            json_array_append_new(devices, describe_device(d, i));
    }
    for (struct session *s = d->sessions; s; s = s->next) {
        measure_lately(s);
        json_array_append_new(sessions, describe_session(s));
    }
    told = message_pack("{s:s, s:s, s:s, s:s, s:O, s:f, s:o, s:o, s:o}", "name", d->config->name, "address", d->address,
                        "state",
                        *d->trouble      ? "failing"
                        : is_draining(d) ? "draining"
                                         : "up",
                        "why", *d->trouble ? d->trouble : drains, "drains", d->drains, "time", wall_seconds(),
                        "devices", devices, "sessions", sessions, "queue", d->scheduler->queue(d));
    json_object_set_new(told, "resting", rests_describe(d));
    json_object_set_new(told, "policy", json_string(policy_name(d->config->policy)));
    return told;
}
