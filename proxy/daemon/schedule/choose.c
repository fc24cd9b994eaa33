/*
 * What a request can have now, by what the nodes told last: of the devices that its user may have (placement.c),
 * without what those could have who have waited longer (queue.c).
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "proxy/daemon/schedule/internal.h"

#define YIELD_MS 3000 /* for so long what an older one elsewhere could have is left to it */

#define MOST_MOVING 600 /* seconds: a move that takes longer counts as a session more */

struct candidates {
    struct placement_device *devices;
    const char **names, **addresses; /* by node */
    unsigned count, most;
};

static void candidates_free(struct candidates *list)
{
    if (!list)
        return;
    free(list->devices);
    free(list->names);
    free(list->addresses);
    free(list);
}

/* Without those that this user will never get, or not in the place of others. */
static void leave_out_barred(const struct request *r, struct candidates *list)
{
    unsigned left = 0;

    for (unsigned i = 0; i < list->count; i++) {
        const char *node = list->names[list->devices[i].node];

        if (!json_object_get(r->barred, node) && !request_is_unfit(r->unfit, node, list->devices[i].index))
            list->devices[left++] = list->devices[i];
    }
    list->count = left;
}

/* Without what the part that moves has already, and what it is not to have. */
static void leave_out_own(const struct request *r, struct candidates *list)
{
    unsigned left = 0;

    for (unsigned i = 0; *r->move.part && i < list->count; i++) {
        const struct placement_device *device = &list->devices[i];
        bool own = false;

        for (unsigned k = 0; k < r->move.count && !strcmp(list->names[device->node], r->move.node); k++)
            own |= r->move.devices[k] == device->index;
        if (!own && (r->move.device < 0 || device->index == r->move.device))
            list->devices[left++] = *device;
    }
    if (*r->move.part)
        list->count = left;
}

/* What moves goes to one node: the one where the policy has the first of its devices, or the next such. */
static bool choose_of_one_node(const struct placement_device *devices, unsigned count,
                               const struct placement_wish *wish, enum policy policy, unsigned *chosen, bool *ever)
{
    struct placement_device *left = calloc(count + 1, sizeof(*left)), *of_one = calloc(count + 1, sizeof(*left));
    unsigned *places = calloc(count + 1, sizeof(*places)), first, there, number = count;
    struct placement_wish one = *wish;
    bool found = false, some;

    *ever = false;
    one.count = 1;
    if (left && of_one && places)
        memcpy(left, devices, count * sizeof(*left));
    else
        number = 0;
    while (number && !found) {
        bool other = false;

        some = placement_choose(left, number, &one, policy, &first, &other);
        if (!some) /* what is taken could be had once */
            first = 0;
        there = 0;
        for (unsigned i = 0; i < count; i++) {
            if (devices[i].node == left[first].node) {
                places[there] = i;
                of_one[there++] = devices[i];
            }
        }
        found = placement_choose(of_one, there, wish, policy, chosen, &other);
        *ever |= other;
        for (unsigned i = 0; found && i < wish->count; i++)
            chosen[i] = places[chosen[i]];
        there = number;
        number = 0;
        for (unsigned i = 0, node = left[first].node; i < there; i++) {
            if (left[i].node != node)
                left[number++] = left[i];
        }
    }
    free(left);
    free(of_one);
    free(places);
    return found;
}

static bool choose(const struct request *r, const struct placement_device *devices, unsigned count, unsigned *chosen,
                   bool *ever)
{
    return *r->move.part || r->one_node ? choose_of_one_node(devices, count, &r->wish, r->policy, chosen, ever)
                                        : placement_choose(devices, count, &r->wish, r->policy, chosen, ever);
}

static void take_node(const struct request *r, struct candidates *list, unsigned number, const json_t *node)
{
    struct placement_device *own = NULL;
    const struct placement_device *told;
    unsigned count = 0;

    list->names[number] = message_text(node, "name", "");
    list->addresses[number] = message_text(node, "address", "");
    told = peer_devices(r->daemon, node, &count);
    if (!told)
        told = own = placement_devices_of(node, peer_tree(r->daemon, list->names[number]), &count);
    for (unsigned i = 0; told && i < count && list->count < list->most; i++) {
        list->devices[list->count] = told[i];
        list->devices[list->count++].node = number;
    }
    free(own);
}

/* Room for all nodes of a directory, or NULL. */
static struct candidates *candidates_new(const json_t *directory)
{
    const size_t nodes = json_array_size(directory);
    struct candidates *list = calloc(1, sizeof(*list));
    const json_t *node;
    size_t i;

    if (!list)
        return NULL;
    json_array_foreach(directory, i, node)
    {
        list->most += (unsigned)json_array_size(json_object_get(node, "devices"));
    }
    list->devices = calloc(list->most + 1, sizeof(*list->devices));
    list->names = calloc(nodes + 1, sizeof(*list->names));
    list->addresses = calloc(nodes + 1, sizeof(*list->addresses));
    if (list->devices && list->names && list->addresses)
        return list;
    candidates_free(list);
    return NULL;
}

/* The first part of a session that has this in a member of that name, and the node where it is; or NULL. */
static const json_t *find_by(const json_t *directory, const char *member, const char *value, const json_t **where)
{
    const json_t *node, *session;
    size_t i, j;

    json_array_foreach(directory, i, node)
    {
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            *where = node;
            if (!strcmp(message_text(session, member, ""), value))
                return session;
        }
    }
    return NULL;
}

const json_t *request_find_part(const json_t *directory, const char *part, const json_t **where)
{
    return find_by(directory, "part", part, where);
}

/* It is to take the place of one that is there still: for so long its devices do not count. */
static bool is_arriving(const json_t *directory, const json_t *node, const json_t *session)
{
    const char *replaces = message_text(session, "replaces", "");
    const double age =
        json_number_value(json_object_get(node, "time")) - json_number_value(json_object_get(session, "began"));

    return *replaces && age < MOST_MOVING && request_find_part(directory, replaces, &node);
}

/* Its devices count as those of its hold. */
static bool is_within(const json_t *directory, const json_t *session)
{
    const char *within = message_text(session, "within", "");
    const json_t *node;

    return *within && find_by(directory, "id", within, &node);
}

/* The parts of a session of a user's: one that is to take another's place is none yet. */
static unsigned count_parts(const json_t *directory, const char *user, const char *id)
{
    const json_t *node, *session;
    unsigned count = 0;
    size_t i, j;

    json_array_foreach(directory, i, node)
    {
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            count += !strcmp(message_text(session, "id", ""), id) && !strcmp(message_text(session, "user", ""), user) &&
                     !is_arriving(directory, node, session);
        }
    }
    return count;
}

/* A session of several nodes counts once. It has no more parts than the pool has nodes: others that are said to be its
 * own, in the place of a lost one or of one that rests, count as sessions. */
static unsigned weight_of(const json_t *directory, unsigned parts)
{
    const unsigned nodes = (unsigned)json_array_size(directory);

    return parts > nodes ? parts - nodes + 1 : 1;
}

/* What a user has in the whole pool, but for the session that is to have more. */
static void count_of_user(const json_t *directory, const char *user, const char *own, unsigned *sessions,
                          unsigned *devices)
{
    const char *seen[1024];
    const json_t *node, *session;
    unsigned ids = 0;
    size_t i, j;

    *sessions = *devices = 0;
    json_array_foreach(directory, i, node)
    {
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            const char *id = message_text(session, "id", "");
            bool known = ids == 1024 || !strcmp(id, own);

            if (strcmp(message_text(session, "user", ""), user))
                continue;
            if (is_within(directory, session))
                continue;
            if (!is_arriving(directory, node, session))
                *devices += (unsigned)json_array_size(json_object_get(session, "devices"));
            for (unsigned k = 0; k < ids && !known; k++)
                known = !strcmp(seen[k], id);
            if (known)
                continue;
            seen[ids++] = id;
            *sessions += weight_of(directory, count_parts(directory, user, id));
        }
    }
}

/* Whether the user would have more than users may. */
static bool is_beyond_limits(struct request *r, const json_t *directory)
{
    const struct config *config = r->daemon->config;
    const char *user = connection_peer(r->client)->name;
    unsigned sessions, devices;

    if (*r->move.part || *r->within) /* it has no more than before, or when it is over */
        return false;
    if (!config->sessions_per_user && !config->devices_per_user)
        return false;
    count_of_user(directory, user, r->of, &sessions, &devices);
    sessions += *r->of ? weight_of(directory, count_parts(directory, user, r->of) + 1) : 1;
    if (config->sessions_per_user && sessions > config->sessions_per_user)
        text_print(r->why, sizeof(r->why), "you have as many sessions as you may: %u", config->sessions_per_user);
    else if (config->devices_per_user && devices + r->wish.count > config->devices_per_user)
        text_print(r->why, sizeof(r->why), "you may have %u devices at a time, and have %u", config->devices_per_user,
                   devices);
    else
        return false;
    return true;
}

void request_make_pattern(const char *name, char *pattern, size_t size)
{
    size_t length = 0;

    for (; *name && length + 3 < size; name++) {
        if (strchr("*?[\\", *name))
            pattern[length++] = '\\';
        pattern[length++] = *name;
    }
    pattern[length] = '\0';
}

static bool make_parts(struct request *r, const struct candidates *list, const unsigned *chosen)
{
    r->parts = calloc(MOST_WISHED, sizeof(*r->parts));
    r->part_count = 0;
    for (unsigned i = 0; r->parts && i < r->wish.count; i++) {
        const struct placement_device *device = &list->devices[chosen[i]];
        struct part *part = r->parts, *end = r->parts + r->part_count;

        while (part < end && strcmp(part->node, list->names[device->node]))
            part++;
        if (part == end) {
            if (r->part_count == MOST_WISHED)
                return false;
            r->part_count++;
            text_print(part->node, sizeof(part->node), "%s", list->names[device->node]);
            text_print(part->address, sizeof(part->address), "%s", list->addresses[device->node]);
            request_make_pattern(device->name, part->name, sizeof(part->name));
            text_print(part->type, sizeof(part->type), "%s", device->type);
        } else if (fnmatch(part->name, device->name, 0)) {
            *part->name = *part->type = '\0';
        }
        if (part->count == MOST_DEVICES) /* no node of ours has more, whatever it tells */
            return false;
        part->devices[part->count++] = device->index;
    }
    return r->parts != NULL;
}

/* What those who have waited longer could have is not for this one, unless they do not take it. */
static bool yield_to_older(struct request *r, struct candidates *list)
{
    struct placement_device *before = calloc(list->count + 1, sizeof(*before));
    unsigned chosen[MOST_WISHED];
    bool ever, may_pass;

    if (!before)
        return false;
    memcpy(before, list->devices, list->count * sizeof(*before));
    may_pass =
        queue_serve_older(r->daemon, r->ticket, clock_ms() - r->since_ms, list->names, list->devices, list->count);
    if (may_pass && choose(r, list->devices, list->count, chosen, &ever)) {
        r->yields_ms = 0;
    } else if (may_pass && choose(r, before, list->count, chosen, &ever)) {
        if (!r->yields_ms)
            r->yields_ms = clock_ms();
        if (clock_ms() - r->yields_ms > YIELD_MS)
            memcpy(list->devices, before, list->count * sizeof(*before));
    }
    free(before);
    return !may_pass;
}

/* The part is still to take another's place, or is already to be replaced. */
static bool is_moving(struct request *r, const json_t *directory)
{
    const json_t *node = NULL, *part = request_find_part(directory, r->move.part, &node);
    const bool moving =
        (part && is_arriving(directory, node, part)) || find_by(directory, "replaces", r->move.part, &node);

    if (moving)
        text_print(r->why, sizeof(r->why), "a move of it is not over yet");
    return moving;
}

/* Devices of its hold, on as many nodes as these are: the first ones, if it wants fewer. */
static void take_held(struct request *r, unsigned most, const json_t *session, const json_t *node)
{
    struct part *part = &r->parts[r->part_count++];
    const json_t *index;
    size_t i;

    text_print(part->node, sizeof(part->node), "%s", message_text(node, "name", ""));
    text_print(part->address, sizeof(part->address), "%s", message_text(node, "address", ""));
    json_array_foreach(json_object_get(session, "devices"), i, index)
    {
        if (i < MOST_DEVICES && i < most)
            part->devices[part->count++] = (unsigned)json_integer_value(index);
    }
}

static enum outcome place_within(struct request *r, const json_t *directory)
{
    const char *user = connection_peer(r->client)->name;
    const json_t *node, *session;
    unsigned count = 0;
    size_t i, j;

    r->parts = calloc(MOST_WISHED, sizeof(*r->parts));
    r->part_count = 0;
    json_array_foreach(directory, i, node)
    {
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            if (!r->parts || count == r->wish.count || r->part_count == MOST_WISHED ||
                strcmp(message_text(session, "id", ""), r->within) ||
                strcmp(message_text(session, "state", ""), "held") || strcmp(message_text(session, "user", ""), user))
                continue;
            take_held(r, r->wish.count - count, session, node);
            count += r->parts[r->part_count - 1].count;
        }
    }
    if (count == r->wish.count)
        return OUTCOME_TRYING;
    free(r->parts);
    r->parts = NULL;
    r->part_count = 0;
    r->outdated = true; /* it may have been granted a moment ago */
    if (count)
        text_print(r->why, sizeof(r->why), "only %u of these devices are held (VOCL_POOL_HOLD)", count);
    else
        text_print(r->why, sizeof(r->why), "there is no such hold of yours (VOCL_POOL_HOLD), or it is over");
    return OUTCOME_WAIT;
}

enum outcome request_place(struct request *r)
{
    const unsigned most = r->daemon->config->devices_per_user;
    json_t *directory = peers_directory(r->daemon);
    struct candidates *list = candidates_new(directory);
    unsigned chosen[MOST_WISHED];
    enum outcome outcome = OUTCOME_WAIT;
    const json_t *node;
    bool ever = false, all_there = true, outdated = false, stands_back;
    size_t i;

    json_array_foreach(directory, i, node)
    {
        if (list)
            take_node(r, list, (unsigned)i, node);
        all_there &= strcmp(message_text(node, "state", ""), "lost") != 0;
        outdated |= !strcmp(message_text(node, "state", ""), "outdated") &&
                    !json_object_get(r->barred, message_text(node, "name", ""));
    }
    r->outdated |= outdated;
    if (*r->move.part && is_moving(r, directory)) { /* the old place will be free in a moment */
        r->outdated = true;
        candidates_free(list);
        json_decref(directory);
        return OUTCOME_WAIT;
    }
    if (*r->within) {
        outcome = place_within(r, directory);
        candidates_free(list);
        json_decref(directory);
        return outcome;
    }
    r->held = list && is_beyond_limits(r, directory);
    if (list) {
        leave_out_own(r, list);
        leave_out_barred(r, list);
    }
    stands_back = list && !r->held && yield_to_older(r, list);
    if (!list || r->held) {
        outcome = most && r->wish.count > most ? OUTCOME_NEVER : OUTCOME_WAIT;
    } else if (stands_back) {
        text_print(r->why, sizeof(r->why), "another has waited very long for its devices");
    } else if (choose(r, list->devices, list->count, chosen, &ever)) {
        outcome = make_parts(r, list, chosen) ? OUTCOME_TRYING : OUTCOME_NEVER;
    } else if (ever && outdated && r->tries) { /* why the last place was none stays the reason */
        outcome = OUTCOME_WAIT;
    } else {
        request_explain(r, directory, list->devices, list->count, ever);
        outcome = ever || (!all_there && !*r->move.part) ? OUTCOME_WAIT : OUTCOME_NEVER;
    }
    candidates_free(list);
    json_decref(directory);
    return outcome;
}
