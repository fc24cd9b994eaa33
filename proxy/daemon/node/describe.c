/* The current state of this node: its devices, and the sessions on them. */
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "base/clock.h"
#include "proxy/daemon/node/internal.h"

static void describe_device(const struct daemon *d, struct device *device, struct told_device *told)
{
    const struct device_rule *rule = config_rule(d->config, device->name);
    const double load = device_load(device);
    uint64_t taken;

    *told = (struct told_device){.index = device->index,
                                 .leaf = device->leaf,
                                 .name = device->name,
                                 .type = device->type,
                                 .memory = device->memory,
                                 .limit = rule->memory && rule->memory < device->memory ? rule->memory : device->memory,
                                 .units = device->units,
                                 .mode = rule->exclusive ? "exclusive" : "shared",
                                 .most = rule->sessions,
                                 .load = load < 1 ? load : 1,
                                 .busy = (double)device->busy_us / 1e6}; /* workers report their time once a second */
    told->sessions = hold_users(d, device->index, &taken, &told->taken);
    told->free = device->memory > taken ? device->memory - taken : 0;
}

static void describe_session(const struct session *s, struct told_session *told)
{
    static const char *const states[] = {"reserved", "running", "ending"};
    const unsigned limit = s->started || s->held ? s->daemon->config->session_seconds : 0;

    *told = (struct told_session){.id = s->of,
                                  .part = s->id,
                                  .replaces = s->replaces,
                                  .within = s->within,
                                  .user = s->user,
                                  .account = *s->account ? s->account : NULL,
                                  .program = s->program,
                                  .job = s->job,
                                  .from = s->from,
                                  .state = s->held ? "held" : states[s->leaving ? SESSION_ENDING : s->state],
                                  .device_count = s->device_count,
                                  .share = s->share,
                                  .slot = s->slot,
                                  .began = s->began,
                                  .until = limit ? s->began + limit : 0,
                                  .device_seconds = measure_device_seconds(s),
                                  .cpu_seconds = s->cpu_seconds,
                                  .idle = s->active_ms ? (double)(clock_ms() - s->active_ms) / 1000 : 0,
                                  .patience = (double)idle_patience(s) / 1000,
                                  .launches = s->usage.launches,
                                  .bytes_in = s->usage.bytes_in,
                                  .bytes_out = s->usage.bytes_out,
                                  .memory = s->usage.memory,
                                  .limit = s->memory,
                                  .exclusive = s->exclusive,
                                  .may_be_suspended = idle_may_be_suspended(s),
                                  .asked = idle_asked(s),
                                  .move = s->move};
    memcpy(told->devices, s->devices, sizeof(told->devices));
}

/* Returns where others reach this daemon. Where it listens at all addresses, that is no address to connect to, and the
 * pool file says which is. */
static const char *address_of(const struct daemon *d)
{
    const bool everywhere = !strncmp(d->address, "0.0.0.0:", 8) || !strncmp(d->address, "[::]:", 5);

    return everywhere && d->own_position < d->pool.count ? d->pool.nodes[d->own_position].address : d->address;
}

struct told_node *node_describe(const struct daemon *d)
{
    struct told_node *node = calloc(1, sizeof(*node));
    unsigned sessions = 0;

    if (!node)
        return NULL;
    for (const struct session *s = d->sessions; s; s = s->next)
        sessions++;
    node->name = d->config->name;
    node->address = address_of(d);
    node->state = *d->trouble ? "failing" : is_draining(d) ? "draining" : "up";
    node->why = *d->trouble ? d->trouble : drain_describe(d);
    node->policy = policy_name(d->config->policy);
    node->version = PACKAGE_VERSION;
    node->http = *d->config->http ? d->config->http : NULL;
    node->time = wall_seconds();
    node->drains = d->drains;
    node->devices = calloc(d->device_count + 1, sizeof(*node->devices));
    node->sessions = calloc(sessions + 1, sizeof(*node->sessions));
    for (unsigned i = 0; node->devices && i < d->device_count; i++) {
        if (!config_rule(d->config, d->devices[i].name)->hidden)
            describe_device(d, &d->devices[i], &node->devices[node->device_count++]);
    }
    for (struct session *s = d->sessions; node->sessions && s; s = s->next) {
        measure_lately(s);
        describe_session(s, &node->sessions[node->session_count++]);
    }
    node->suspended = suspended_describe(d, &node->suspended_count);
    node->queue = d->scheduler->queue(d, &node->queue_count);
    return node;
}
