/*
 * What a request can have now, by what the nodes told last: of the devices that its user may have (placement.c),
 * without what those could have who have waited longer (queue.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proxy/daemon/request.h"

#define YIELD_MS 3000 /* for so long what an older one elsewhere could have is left to it */

#define MOST_NODES 256

struct candidates {
    struct placement_device devices[1024];
    const char *names[MOST_NODES], *addresses[MOST_NODES];
    unsigned count;
};

/* Without those that this user will never get. */
static void leave_out_barred(const struct request *r, struct candidates *list)
{
    unsigned left = 0;

    for (unsigned i = 0; i < list->count; i++) {
        if (!json_object_get(r->barred, list->names[list->devices[i].node]))
            list->devices[left++] = list->devices[i];
    }
    list->count = left;
}

static void take_node(const struct request *r, struct candidates *list, unsigned number, const json_t *node)
{
    const struct topology *tree;
    const json_t *device;
    const bool up = !strcmp(message_text(node, "state", ""), "up");
    long long leaf, leaves;
    size_t i;

    list->names[number] = message_text(node, "name", "");
    list->addresses[number] = message_text(node, "address", "");
    tree = peer_tree(r->daemon, list->names[number]);
    leaves = tree ? tree->device_count : 0;
    json_array_foreach(json_object_get(node, "devices"), i, device)
    {
        if (list->count == sizeof(list->devices) / sizeof(*list->devices))
            return;
        leaf = message_number(device, "leaf", -1);
        list->devices[list->count++] =
            (struct placement_device){.node = number,
                                      .index = (unsigned)message_number(device, "index", 0),
                                      .name = message_text(device, "name", ""),
                                      .type = message_text(device, "type", ""),
                                      .memory = (uint64_t)message_number(device, "free", 0),
                                      .whole = (uint64_t)message_number(device, "limit", 0),
                                      .sessions = (unsigned)message_number(device, "sessions", 0),
                                      .most = (unsigned)message_number(device, "most", 0),
                                      .load = json_number_value(json_object_get(device, "load")),
                                      .node_sessions = (unsigned)json_array_size(json_object_get(node, "sessions")),
                                      .taken = json_is_true(json_object_get(device, "taken")),
                                      .usable = up,
                                      .tree = tree,
                                      .leaf = leaf < leaves ? (int)leaf : -1};
    }
}

/* What a user has in the whole pool; a session of several nodes counts once. */
static void count_of_user(const json_t *directory, const char *user, unsigned *sessions, unsigned *devices)
{
    const char *seen[1024];
    const json_t *node, *session;
    size_t i, j;

    *sessions = *devices = 0;
    json_array_foreach(directory, i, node)
    {
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            const char *id = message_text(session, "id", "");
            bool known = *sessions == 1024;

            if (strcmp(message_text(session, "user", ""), user))
                continue;
            *devices += (unsigned)json_array_size(json_object_get(session, "devices"));
            for (unsigned k = 0; k < *sessions && !known; k++)
                known = !strcmp(seen[k], id);
            if (!known)
                seen[(*sessions)++] = id;
        }
    }
}

/* Whether the user would have more than users may. */
static bool is_beyond_limits(struct request *r, const json_t *directory)
{
    const struct config *config = r->daemon->config;
    unsigned sessions, devices;

    count_of_user(directory, connection_peer(r->client)->name, &sessions, &devices);
    if (config->sessions_per_user && sessions >= config->sessions_per_user)
        snprintf(r->why, sizeof(r->why), "you have as many sessions as you may: %u", config->sessions_per_user);
    else if (config->devices_per_user && devices + r->wish.count > config->devices_per_user)
        snprintf(r->why, sizeof(r->why), "you may have %u devices at a time, and have %u", config->devices_per_user,
                 devices);
    else
        return false;
    return true;
}

static bool make_parts(struct request *r, const struct candidates *list, const unsigned *chosen)
{
    r->parts = calloc(MOST_PARTS, sizeof(*r->parts));
    r->part_count = 0;
    for (unsigned i = 0; r->parts && i < r->wish.count; i++) {
        const struct placement_device *device = &list->devices[chosen[i]];
        struct part *part = r->parts, *end = r->parts + r->part_count;

        while (part < end && strcmp(part->node, list->names[device->node]))
            part++;
        if (part == end) {
            if (r->part_count == MOST_PARTS)
                return false;
            r->part_count++;
            snprintf(part->node, sizeof(part->node), "%s", list->names[device->node]);
            snprintf(part->address, sizeof(part->address), "%s", list->addresses[device->node]);
        }
        part->devices[part->count++] = device->index;
    }
    return r->parts != NULL;
}

/* Why there are not enough devices for this user. */
static void tell_bars(struct request *r)
{
    const char *node;
    json_t *why;

    json_object_foreach(r->barred, node, why)
    {
        snprintf(r->why, sizeof(r->why), "%s: %s", node, json_string_value(why));
    }
}

/* A node that would have devices, but for something that its administrator should look at. */
static bool tell_trouble(struct request *r, const json_t *directory)
{
    const json_t *node;
    size_t i;

    json_array_foreach(directory, i, node)
    {
        if (strcmp(message_text(node, "state", ""), "failing"))
            continue;
        snprintf(r->why, sizeof(r->why), "%s %s", message_text(node, "name", ""), message_text(node, "why", ""));
        return true;
    }
    return false;
}

/* "2 gpu, 1 cpu": what there is that this user may have. */
static void tell_devices(const struct candidates *list, char *text, size_t size)
{
    static const char *const types[] = {"cpu", "gpu", "accelerator", "custom"};
    size_t length = 0;

    snprintf(text, size, "no devices");
    for (size_t type = 0; type < sizeof(types) / sizeof(*types); type++) {
        unsigned count = 0;

        for (unsigned i = 0; i < list->count; i++)
            count += list->devices[i].usable && !strcmp(list->devices[i].type, types[type]);
        if (count && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s%u %s", length ? ", " : "", count, types[type]);
    }
}

/* What those who have waited longer could have is not for this one, unless they do not take it. */
static bool yield_to_older(struct request *r, struct candidates *list)
{
    struct placement_device *before = calloc(list->count + 1, sizeof(*before));
    unsigned chosen[MOST_PARTS];
    bool ever, may_pass;

    if (!before)
        return false;
    memcpy(before, list->devices, list->count * sizeof(*before));
    may_pass =
        queue_serve_older(r->daemon, r->ticket, clock_ms() - r->since_ms, list->names, list->devices, list->count);
    if (may_pass && placement_choose(list->devices, list->count, &r->wish, r->policy, chosen, &ever)) {
        r->yields_ms = 0;
    } else if (may_pass && placement_choose(before, list->count, &r->wish, r->policy, chosen, &ever)) {
        if (!r->yields_ms)
            r->yields_ms = clock_ms();
        if (clock_ms() - r->yields_ms > YIELD_MS)
            memcpy(list->devices, before, list->count * sizeof(*before));
    }
    free(before);
    return !may_pass;
}

enum outcome request_place(struct request *r)
{
    const unsigned most = r->daemon->config->devices_per_user;
    json_t *directory = peers_directory(r->daemon);
    struct candidates *list = calloc(1, sizeof(*list));
    unsigned chosen[MOST_PARTS];
    enum outcome outcome = OUTCOME_WAIT;
    char there[96];
    const json_t *node;
    bool ever = false, all_there = true, stands_back;
    size_t i;

    json_array_foreach(directory, i, node)
    {
        if (list && i < MOST_NODES)
            take_node(r, list, (unsigned)i, node);
        all_there &= strcmp(message_text(node, "state", ""), "lost") != 0;
    }
    r->held = list && is_beyond_limits(r, directory);
    stands_back = list && !r->held && yield_to_older(r, list);
    if (list)
        leave_out_barred(r, list);
    if (!list || r->held) {
        outcome = most && r->wish.count > most ? OUTCOME_NEVER : OUTCOME_WAIT;
    } else if (stands_back) {
        snprintf(r->why, sizeof(r->why), "another has waited very long for its devices");
    } else if (placement_choose(list->devices, list->count, &r->wish, r->policy, chosen, &ever)) {
        outcome = make_parts(r, list, chosen) ? OUTCOME_TRYING : OUTCOME_NEVER;
    } else if (!ever && json_object_size(r->barred)) {
        tell_bars(r);
        outcome = OUTCOME_NEVER;
    } else {
        tell_devices(list, there, sizeof(there));
        if (ever && !tell_trouble(r, directory))
            snprintf(r->why, sizeof(r->why), "all such devices are taken%s",
                     r->yields_ms ? ", or another has waited longer" : "");
        else if (!ever)
            snprintf(r->why, sizeof(r->why), "%s not that many such devices: there are %s",
                     all_there ? "the pool has" : "the nodes that are there have", there);
        outcome = ever || !all_there ? OUTCOME_WAIT : OUTCOME_NEVER;
    }
    free(list);
    json_decref(directory);
    return outcome;
}
