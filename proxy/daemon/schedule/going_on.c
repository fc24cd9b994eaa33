/* Requests for sessions that there are: a part that goes to another place, one that rests and goes on. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "proxy/daemon/schedule/internal.h"

/* ---- what did not fit ---- */

bool request_is_unfit(const json_t *unfit, const char *node, unsigned device)
{
    const json_t *list = json_object_get(unfit, node);

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_integer_value(json_array_get(list, i)) == device)
            return true;
    }
    return false;
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

/* The part's devices: their numbers, and name and type, if these are all the same, and no others will do. */
static bool take_devices(struct request *r, const json_t *node, const json_t *part, bool any)
{
    const json_t *list = json_object_get(part, "devices"), *device;
    const char *name = NULL, *type = "";
    size_t i;

    for (i = 0; i < json_array_size(list) && i < MOST_DEVICES; i++)
        r->move.devices[i] = (unsigned)json_integer_value(json_array_get(list, i));
    r->move.count = (unsigned)i;
    json_array_foreach(json_object_get(node, "devices"), i, device)
    {
        bool own = false;

        for (unsigned k = 0; k < r->move.count; k++)
            own |= r->move.devices[k] == (unsigned)message_number(device, "index", -1);
        if (!own)
            continue;
        if (name && strcmp(name, message_text(device, "name", "")))
            name = "";
        else
            name = message_text(device, "name", "");
        type = message_text(device, "type", "");
    }
    if (!name)
        return false;
    name = any ? "" : name;
    request_make_pattern(name, r->wish.name, sizeof(r->wish.name));
    text_print(r->wish.type, sizeof(r->wish.type), "%s", *name ? type : "");
    r->wish.count = r->move.count;
    return r->move.count != 0;
}

/* Where it does not go. False: not where it is to go, either. */
static bool bar_places(struct request *r, const json_t *directory, const char *to)
{
    const json_t *node;
    bool found = false;
    size_t i;

    json_array_foreach(directory, i, node)
    {
        const char *name = message_text(node, "name", ""), *state = message_text(node, "state", "");

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

static bool may_move(struct request *r, const json_t *part)
{
    *r->why = '\0';
    if (part && *message_text(part, "within", "")) {
        text_print(r->why, sizeof(r->why), "its devices are held for it, and others are not");
        return false;
    }
    if (part && !strcmp(message_text(part, "user", ""), connection_peer(r->client)->name))
        return true;
    text_print(r->why, sizeof(r->why), "there is no such session of yours");
    return false;
}

bool request_take_move(struct request *r, const json_t *message)
{
    json_t *directory = peers_directory(r->daemon);
    const json_t *node = NULL, *part = request_find_part(directory, message_text(message, "move", ""), &node);
    bool good = may_move(r, part);

    r->move.device = message_number(message, "device", -1);
    if (good) {
        text_print(r->of, sizeof(r->of), "%s", message_text(part, "id", ""));
        text_print(r->move.part, sizeof(r->move.part), "%s", message_text(part, "part", ""));
        text_print(r->move.from, sizeof(r->move.from), "%s", message_text(part, "from", ""));
        text_print(r->move.node, sizeof(r->move.node), "%s", message_text(node, "name", ""));
        text_print(r->program, sizeof(r->program), "%s", message_text(part, "program", ""));
        r->share = (unsigned)message_number(part, "share", 100);
        r->wish.memory = (uint64_t)message_number(part, "limit", 0);
        r->wish.exclusive = json_is_true(json_object_get(part, "exclusive"));
        good = take_devices(r, node, part, json_is_true(json_object_get(message, "any"))) &&
               bar_places(r, directory, message_text(message, "node", ""));
    }
    if (good && r->move.device >= 0 && r->move.count > 1) {
        text_print(r->why, sizeof(r->why), "it has %u devices there: one alone is not enough", r->move.count);
        good = false;
    }
    if (!good && !*r->why)
        text_print(r->why, sizeof(r->why), "its devices are not known");
    json_decref(directory);
    return good;
}

/* ---- rests ---- */

bool request_take_rest(struct request *r, const json_t *message)
{
    const char *id = message_text(message, "rest", "");

    if (!rest_is_of(r->daemon, id, connection_peer(r->client)) || json_object_get(message, "move")) {
        text_print(r->why, sizeof(r->why), "no such session of yours rests here");
        return false;
    }
    text_print(r->of, sizeof(r->of), "%s", id);
    r->one_node = true;
    return true;
}

/* ---- what was lost ---- */

/* The node that had it may be gone, and nobody else is to have a session of that name. */
bool request_take_loss(struct request *r, const json_t *message)
{
    const char *id = message_text(message, "instead", "");

    if (!message_is_id(id) || peers_have_anothers(r->daemon, id, connection_peer(r->client)->name) ||
        json_object_get(message, "move") || json_object_get(message, "rest")) {
        text_print(r->why, sizeof(r->why), "no such session of yours has lost a worker");
        return false;
    }
    text_print(r->of, sizeof(r->of), "%s", id);
    r->one_node = true;
    return true;
}
