/*
 * What a request can have now, by the last state of the nodes: devices that its user may have (placement.c), without
 * those that requests which have waited longer could have (queue.c).
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "proxy/daemon/schedule/internal.h"

#define YIELD_MS 3000 /* how long devices are left to an older request elsewhere */

#define MOST_MOVING 600 /* seconds: a longer move counts as another session */

struct candidates {
    struct placement_device *devices;
    const char **names, **addresses; /* by node */
    unsigned count;
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

/* Whether the part that moves already has the device, or is not to have it. */
static bool is_own(const struct request *r, const char *node, unsigned index)
{
    for (unsigned i = 0; i < r->move.count && !strcmp(node, r->move.node); i++) {
        if (r->move.devices[i] == index)
            return true;
    }
    return r->move.device >= 0 && index != r->move.device;
}

/* Removes the devices that this user will never get, or that cannot replace others. */
static void leave_out(const struct request *r, struct candidates *list)
{
    unsigned left = 0;

    for (unsigned i = 0; i < list->count; i++) {
        const struct placement_device *device = &list->devices[i];
        const char *node = list->names[device->node];

        if (!is_out_of_question(r->barred, r->unfit, node, device->index) &&
            !(*r->move.part && is_own(r, node, device->index)))
            list->devices[left++] = *device;
    }
    list->count = left;
}

/* All devices have to be on one node: the one that has the policy's first choice, or the next. */
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
        if (!some) /* a device that is taken may become free */
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

static void take_node(const struct request *r, struct candidates *list, unsigned number, const struct told_node *node)
{
    const struct topology *tree = peer_tree(r->daemon, node->name);
    const int leaves = tree ? (int)tree->device_count : 0;

    list->names[number] = node->name;
    list->addresses[number] = node->address;
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct told_device *device = &node->devices[i];

        list->devices[list->count++] = (struct placement_device){.node = number,
                                                                 .index = device->index,
                                                                 .name = device->name,
                                                                 .type = device->type,
                                                                 .memory = device->free,
                                                                 .whole = device->limit,
                                                                 .sessions = device->sessions,
                                                                 .most = device->most,
                                                                 .load = device->load,
                                                                 .node_sessions = node->session_count,
                                                                 .taken = device->taken,
                                                                 .usable = !strcmp(node->state, "up"),
                                                                 .tree = tree,
                                                                 .leaf = device->leaf < leaves ? device->leaf : -1};
    }
}

/* Lists all devices of the nodes, or returns NULL. */
static struct candidates *candidates_new(const struct request *r, const struct pool_view *view)
{
    struct candidates *list = calloc(1, sizeof(*list));
    size_t devices = 0;

    if (!list)
        return NULL;
    for (unsigned i = 0; i < view->count; i++)
        devices += view->nodes[i]->device_count;
    list->devices = calloc(devices + 1, sizeof(*list->devices));
    list->names = calloc(view->count + 1, sizeof(*list->names));
    list->addresses = calloc(view->count + 1, sizeof(*list->addresses));
    if (!list->devices || !list->names || !list->addresses) {
        candidates_free(list);
        return NULL;
    }
    for (unsigned i = 0; i < view->count; i++)
        take_node(r, list, i, view->nodes[i]);
    return list;
}

/* Returns the first part of a session that has this value in this member, and its node; or NULL. */
static const struct told_session *find_by(const struct pool_view *view, size_t member, const char *value,
                                          const struct told_node **where)
{
    for (unsigned i = 0; i < view->count; i++) {
        *where = view->nodes[i];
        for (unsigned k = 0; k < (*where)->session_count; k++) {
            const struct told_session *session = &(*where)->sessions[k];

            if (!strcmp(*(const char *const *)((const char *)session + member), value))
                return session;
        }
    }
    return NULL;
}

const struct told_session *request_find_part(const struct pool_view *view, const char *part,
                                             const struct told_node **where)
{
    return find_by(view, offsetof(struct told_session, part), part, where);
}

/* Whether the part is to replace one that still exists: until then its devices do not count. */
static bool is_arriving(const struct pool_view *view, const struct told_node *node, const struct told_session *session)
{
    return *session->replaces && node->time - session->began < MOST_MOVING &&
           request_find_part(view, session->replaces, &node);
}

/* Whether this is the hold of that name: its session's, or "@JOB" of this user. */
static bool is_hold(const struct told_session *session, const char *name, const char *user)
{
    if (*name != '@')
        return !strcmp(session->id, name);
    return !*session->within && !strcmp(session->job, name + 1) && !strcmp(session->user, user);
}

/* Whether its devices count as those of its hold. */
static bool is_within(const struct pool_view *view, const struct told_session *session)
{
    for (unsigned i = 0; *session->within && i < view->count; i++) {
        const struct told_node *node = view->nodes[i];

        for (unsigned k = 0; k < node->session_count; k++) {
            if (is_hold(&node->sessions[k], session->within, session->user))
                return true;
        }
    }
    return false;
}

/* Returns how many parts a user's session has, without those that are still to replace others. */
static unsigned count_parts(const struct pool_view *view, const char *user, const char *id)
{
    unsigned count = 0;

    for (unsigned i = 0; i < view->count; i++) {
        const struct told_node *node = view->nodes[i];

        for (unsigned k = 0; k < node->session_count; k++)
            count += !strcmp(node->sessions[k].id, id) && !strcmp(node->sessions[k].user, user) &&
                     !is_arriving(view, node, &node->sessions[k]);
    }
    return count;
}

/* Returns as how many sessions one with this many parts counts: as one, on any number of nodes. Parts in excess of the
 * nodes of the pool, which claim to replace lost or suspended ones, count as further sessions. */
static unsigned weight_of(const struct pool_view *view, unsigned parts)
{
    return parts > view->count ? parts - view->count + 1 : 1;
}

struct counted {
    const char *ids[1024];
    unsigned id_count, sessions, devices;
    unsigned together; /* devices of all users with the same limit */
};

static void count_session(const struct pool_view *view, const struct told_node *node,
                          const struct told_session *session, const char *own, struct counted *all)
{
    bool known = all->id_count == sizeof(all->ids) / sizeof(*all->ids) || !strcmp(session->id, own);

    if (is_within(view, session))
        return;
    if (!is_arriving(view, node, session))
        all->devices += session->device_count;
    for (unsigned i = 0; i < all->id_count && !known; i++)
        known = !strcmp(all->ids[i], session->id);
    if (known)
        return;
    all->ids[all->id_count++] = session->id;
    all->sessions += weight_of(view, count_parts(view, session->user, session->id));
}

/* Counts what a user has in the whole pool, without the session that the request is for. */
static void count_of_user(const struct pool_view *view, const char *user, const char *own, struct counted *all)
{
    for (unsigned i = 0; i < view->count; i++) {
        const struct told_node *node = view->nodes[i];

        for (unsigned k = 0; k < node->session_count; k++) {
            if (!strcmp(node->sessions[k].user, user))
                count_session(view, node, &node->sessions[k], own, all);
        }
    }
}

/* Counts the devices of all users with the same limit. */
static unsigned count_together(const struct pool_view *view, const char *account)
{
    unsigned count = 0;

    for (unsigned i = 0; i < view->count; i++) {
        const struct told_node *node = view->nodes[i];

        for (unsigned k = 0; k < node->session_count; k++) {
            const struct told_session *session = &node->sessions[k];

            if (session->account && !strcmp(session->account, account) && !is_within(view, session) &&
                !is_arriving(view, node, session))
                count += session->device_count;
        }
    }
    return count;
}

/* Whether the user would exceed the limits. Also sets how long the request counts as having waited. */
static bool is_beyond_limits(struct request *r, const struct pool_view *view)
{
    const char *user = r->client->peer.name;
    struct counted all = {.id_count = 0};

    count_of_user(view, user, r->of, &all);
    all.together = *r->limit.name && r->limit.together ? count_together(view, r->limit.name) : 0;
    r->ahead_ms = 1000.0 * (r->limit.priority - (double)r->daemon->config->fair_share * all.devices);
    if (*r->move.part || *r->within) /* a move adds nothing in the end, and a session within a hold nothing at all */
        return false;
    all.sessions += *r->of ? weight_of(view, count_parts(view, user, r->of) + 1) : 1;
    if (r->limit.sessions && all.sessions > r->limit.sessions)
        text_print(r->why, sizeof(r->why), "you have as many sessions as you may: %u", r->limit.sessions);
    else if (r->limit.devices && all.devices + r->wish.count > r->limit.devices)
        text_print(r->why, sizeof(r->why), "you may have %u devices at a time, and have %u", r->limit.devices,
                   all.devices);
    else if (r->limit.together && all.together + r->wish.count > r->limit.together)
        text_print(r->why, sizeof(r->why), "%s may have %u devices together at a time, and have %u", r->limit.name,
                   r->limit.together, all.together);
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
        if (part->count == MOST_DEVICES) /* no valid node has more, whatever it sends */
            return false;
        part->devices[part->count++] = device->index;
    }
    return r->parts != NULL;
}

/* Leaves to requests that have waited longer what they could have, for a limited time. Returns true if one of them must
 * not be passed. */
static bool yield_to_older(struct request *r, struct candidates *list)
{
    struct placement_device *before = calloc(list->count + 1, sizeof(*before));
    unsigned chosen[MOST_WISHED];
    bool ever, may_pass;

    if (!before)
        return false;
    memcpy(before, list->devices, list->count * sizeof(*before));
    may_pass = queue_serve_older(r->daemon, r->ticket, clock_ms() - r->since_ms + (long)r->ahead_ms, list->names,
                                 list->devices, list->count);
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

/* Whether the part is still replacing another, or is being replaced: the old place will be free soon. */
static bool is_moving(struct request *r, const struct pool_view *view)
{
    const struct told_node *node = NULL;
    const struct told_session *part = request_find_part(view, r->move.part, &node);

    if (!(part && is_arriving(view, node, part)) &&
        !find_by(view, offsetof(struct told_session, replaces), r->move.part, &node))
        return false;
    text_print(r->why, sizeof(r->why), "a move of it is not over yet");
    r->outdated = true;
    return true;
}

/* Takes devices of its hold on a node: the first ones, if it wants fewer. */
static void take_held(struct request *r, unsigned most, const struct told_session *session,
                      const struct told_node *node)
{
    struct part *part = &r->parts[r->part_count++];

    text_print(part->node, sizeof(part->node), "%s", node->name);
    text_print(part->address, sizeof(part->address), "%s", node->address);
    while (part->count < session->device_count && part->count < most) {
        part->devices[part->count] = session->devices[part->count];
        part->count++;
    }
}

static enum outcome place_within(struct request *r, const struct pool_view *view)
{
    const char *user = r->client->peer.name;
    unsigned count = 0;

    r->parts = calloc(MOST_WISHED, sizeof(*r->parts));
    r->part_count = 0;
    for (unsigned i = 0; r->parts && i < view->count; i++) {
        for (unsigned k = 0; k < view->nodes[i]->session_count; k++) {
            const struct told_session *session = &view->nodes[i]->sessions[k];

            if (count == r->wish.count || r->part_count == MOST_WISHED || !is_hold(session, r->within, user) ||
                strcmp(session->state, "held") || strcmp(session->user, user))
                continue;
            take_held(r, r->wish.count - count, session, view->nodes[i]);
            count += r->parts[r->part_count - 1].count;
        }
    }
    if (count == r->wish.count)
        return OUTCOME_TRYING;
    free(r->parts);
    r->parts = NULL;
    r->part_count = 0;
    r->outdated = true; /* the hold may have been granted a moment ago */
    if (count)
        text_print(r->why, sizeof(r->why), "only %u of these devices are held (VOCL_POOL_HOLD)", count);
    else
        text_print(r->why, sizeof(r->why), "there is no such hold of yours (VOCL_POOL_HOLD), or it is over");
    return OUTCOME_WAIT;
}

static enum outcome place(struct request *r, const struct pool_view *view, struct candidates *list)
{
    const unsigned most = r->limit.devices, together = r->limit.together;
    unsigned chosen[MOST_WISHED];
    bool ever = false, all_there = true, outdated = false;

    for (unsigned i = 0; i < view->count; i++) {
        all_there &= !told_is_away(view->nodes[i]);
        outdated |= !strcmp(view->nodes[i]->state, "outdated") && !json_object_get(r->barred, view->nodes[i]->name);
    }
    r->outdated |= outdated;
    if (*r->move.part && is_moving(r, view))
        return OUTCOME_WAIT;
    if (*r->within)
        return place_within(r, view);
    r->limited = is_beyond_limits(r, view);
    if (r->limited)
        return (most && r->wish.count > most) || (together && r->wish.count > together) ? OUTCOME_NEVER : OUTCOME_WAIT;
    leave_out(r, list);
    if (yield_to_older(r, list)) {
        text_print(r->why, sizeof(r->why), "another has waited very long for its devices");
        return OUTCOME_WAIT;
    }
    if (choose(r, list->devices, list->count, chosen, &ever))
        return make_parts(r, list, chosen) ? OUTCOME_TRYING : OUTCOME_NEVER;
    if (ever && outdated && r->tries) /* keeps the reason why the last place was refused */
        return OUTCOME_WAIT;
    request_explain(r, view, list->devices, list->count, ever);
    return ever || (!all_there && !*r->move.part) ? OUTCOME_WAIT : OUTCOME_NEVER;
}

enum outcome request_place(struct request *r)
{
    struct pool_view *view = peers_view(r->daemon);
    struct candidates *list = view ? candidates_new(r, view) : NULL;
    const enum outcome outcome = list ? place(r, view, list) : OUTCOME_WAIT;

    candidates_free(list);
    view_free(view);
    return outcome;
}
