/* Requests for existing sessions: a part that moves, a suspended session that resumes, a worker that replaces a lost
 * one. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "proxy/daemon/schedule/internal.h"

/* ---- devices that did not fit ---- */

bool is_out_of_question(const json_t *barred, const json_t *unfit, const char *node, unsigned device)
{
    const json_t *list = json_object_get(unfit, node);

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_integer_value(json_array_get(list, i)) == device)
            return true;
    }
    return json_object_get(barred, node) != NULL;
}

json_t *request_take_unfit(const json_t *message)
{
    json_t *told = json_object_get(message, "unfit"), *list, *taken = json_object();
    const char *node;

    json_object_foreach(told, node, list)
    {
        if (json_is_array(list) && json_array_size(list) <= MOST_DEVICES && json_object_size(taken) < POOLFILE_NODES)
            json_object_set(taken, node, list);
    }
    if (json_object_size(taken))
        return taken;
    json_decref(taken);
    return NULL;
}

/* ---- moves ---- */

/* Sets the wish from the part's devices: how many, and name and type, if these are all the same and no others are
 * accepted. */
static bool take_devices(struct request *r, const struct told_node *node, const struct told_session *part, bool any)
{
    const char *name = NULL, *type = "";

    r->move.count = part->device_count;
    memcpy(r->move.devices, part->devices, sizeof(r->move.devices));
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct told_device *device = &node->devices[i];

        if (!told_uses(part, device->index))
            continue;
        name = name && strcmp(name, device->name) != 0 ? "" : device->name;
        type = device->type;
    }
    if (!name)
        return false;
    name = any ? "" : name;
    request_make_pattern(name, r->wish.name, sizeof(r->wish.name));
    text_print(r->wish.type, sizeof(r->wish.type), "%s", *name ? type : "");
    r->wish.count = r->move.count;
    return r->move.count != 0;
}

/* Bars the nodes that it cannot move to. Returns false if the one that it is to move to is among them. */
static bool bar_places(struct request *r, const struct pool_view *view, const char *to)
{
    bool found = false;

    for (unsigned i = 0; i < view->count; i++) {
        const char *name = view->nodes[i]->name, *state = view->nodes[i]->state;

        if (*to ? strcmp(name, to) != 0 : !strcmp(name, r->move.node)) {
            request_bar(r, name, "");
            continue;
        }
        found = true;
        if (*to && strcmp(state, "up") && strcmp(state, "outdated")) {
            text_print(r->why, sizeof(r->why), "%s takes no sessions: it is %s", name, state);
            return false;
        }
    }
    if (!found && *to)
        text_print(r->why, sizeof(r->why), "there is no node %s", to);
    else if (!found)
        text_print(r->why, sizeof(r->why), "the pool has no other node");
    return found;
}

/* Sets the request from the part. */
static bool take_part(struct request *r, const struct told_session *part, const struct told_node *node,
                      const struct pool_view *view, const json_t *message)
{
    if (part && *part->within) {
        text_print(r->why, sizeof(r->why), "its devices are held for it, and others are not");
        return false;
    }
    if (!part || strcmp(part->user, r->client->peer.name)) {
        text_print(r->why, sizeof(r->why), "there is no such session of yours");
        return false;
    }
    text_print(r->of, sizeof(r->of), "%s", part->id);
    text_print(r->move.part, sizeof(r->move.part), "%s", part->part);
    text_print(r->move.from, sizeof(r->move.from), "%s", part->from);
    text_print(r->move.node, sizeof(r->move.node), "%s", node->name);
    text_print(r->program, sizeof(r->program), "%s", part->program);
    r->share = part->share;
    r->wish.memory = part->limit;
    r->wish.exclusive = part->exclusive;
    r->move.device = message_number(message, "device", -1);
    *r->why = '\0';
    if (!take_devices(r, node, part, json_is_true(json_object_get(message, "any"))) ||
        !bar_places(r, view, message_text(message, "node", ""))) {
        if (!*r->why)
            text_print(r->why, sizeof(r->why), "its devices are not known");
        return false;
    }
    if (r->move.device < 0 || r->move.count == 1)
        return true;
    text_print(r->why, sizeof(r->why), "it has %u devices there: one alone is not enough", r->move.count);
    return false;
}

bool request_take_move(struct request *r, const json_t *message)
{
    struct pool_view *view = peers_view(r->daemon);
    const struct told_node *node = NULL;
    const struct told_session *part = view ? request_find_part(view, message_text(message, "move", ""), &node) : NULL;
    const bool good = take_part(r, part, node, view, message);

    view_free(view);
    return good;
}

/* ---- suspended sessions ---- */

bool request_take_suspended(struct request *r, const json_t *message)
{
    const char *id = message_text(message, "suspended", "");

    if (!suspend_is_of(r->daemon, id, &r->client->peer) || json_object_get(message, "move")) {
        text_print(r->why, sizeof(r->why), "no suspended session of yours is here");
        return false;
    }
    text_print(r->of, sizeof(r->of), "%s", id);
    r->one_node = true;
    return true;
}

/* ---- lost workers ---- */

/* The node that had the part may be lost. No other user may have a session of that name. */
bool request_take_loss(struct request *r, const json_t *message)
{
    const char *id = message_text(message, "instead", "");

    if (!message_is_id(id) || peers_have_anothers(r->daemon, id, r->client->peer.name) ||
        json_object_get(message, "move") || json_object_get(message, "suspended")) {
        text_print(r->why, sizeof(r->why), "no such session of yours has lost a worker");
        return false;
    }
    text_print(r->of, sizeof(r->of), "%s", id);
    r->one_node = true;
    return true;
}
