/* A session of a pool: see session.h. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "proxy/launch/session.h"

struct pool_session session;

/* ---- a place ---- */

void place_free(struct place *place)
{
    json_decref(place->wish);
    json_decref(place->devices);
    place->wish = place->devices = NULL;
}

void place_read(struct place *place, const json_t *node)
{
    place_free(place);
    snprintf(place->part, sizeof(place->part), "%s", text_of(node, "part"));
    snprintf(place->name, sizeof(place->name), "%s", text_of(node, "name"));
    snprintf(place->address, sizeof(place->address), "%s", text_of(node, "address"));
    place->wish = json_incref(json_object_get(node, "wish"));
    place->devices = json_incref(json_object_get(node, "indices"));
}

bool place_read_only(struct place *place, const json_t *message)
{
    const json_t *nodes = json_object_get(message, "nodes");

    place_read(place, json_array_get(nodes, 0));
    return json_array_size(nodes) == 1;
}

static bool has(const json_t *of_node, json_int_t device)
{
    for (size_t i = 0; i < json_array_size(of_node); i++) {
        if (json_integer_value(json_array_get(of_node, i)) == device)
            return true;
    }
    return false;
}

/* A worker numbers its devices in the same order as its node. */
static unsigned number_of(const json_t *devices, json_int_t device)
{
    unsigned number = 1;

    for (size_t i = 0; i < json_array_size(devices); i++)
        number += json_integer_value(json_array_get(devices, i)) < device;
    return number;
}

bool place_unfit(json_t **list, const struct place *place, unsigned device)
{
    json_t *of_node;
    bool added = false;

    if (!*list)
        *list = json_object();
    of_node = json_object_get(*list, place->name);
    if (!of_node) {
        of_node = json_array();
        if (json_object_set_new(*list, place->name, of_node))
            return false;
    }
    for (size_t i = 0; i < json_array_size(place->devices); i++) {
        const json_int_t one = json_integer_value(json_array_get(place->devices, i));

        if ((!device || number_of(place->devices, one) == device) && !has(of_node, one))
            added |= !json_array_append_new(of_node, json_integer(one));
    }
    return added;
}

/* ---- the session's nodes ---- */

/* Connects and asks first; then the node's inquiry continues with question. */
static int begin_at(struct attended *node, json_t *first, json_t *question, char *why, size_t why_size)
{
    int error =
        client_connect_within(&node->inquiry.client, &session.pool, node->place.address, REACH_MS, why, why_size);

    return error ? error
                 : inquiry_begin_with(&node->inquiry, json_incref(first), node->place.address, json_incref(question),
                                      why, why_size);
}

int session_begin(struct attended *node, json_t *first, json_t *question, char *why, size_t why_size)
{
    const long until = clock_ms() + CLIENT_MS;
    char refusal[256] = "";
    int error = begin_at(node, first, question, why, why_size);

    while (error && error != -EPROTO && error != -ENOMEM && clock_ms() < until) {
        attend_beat();
        client_nap();
        error = begin_at(node, first, question, why, why_size);
        if (error != -EPROTO)
            continue;
        text_print(refusal, sizeof(refusal), "%s", why);
        if ((error = begin_at(node, question, question, why, why_size)))
            text_print(why, why_size, "%s", refusal);
    }
    json_decref(first);
    json_decref(question);
    return error;
}

struct attended *session_find(unsigned number)
{
    for (unsigned i = 0; number && i < session.count; i++) {
        if (session.nodes[i].member == number)
            return &session.nodes[i];
    }
    return NULL;
}

/* Returns an entry for one more node, if possible that of one that is over. */
static struct attended *free_entry(const struct attended *keep)
{
    for (unsigned i = 0; i < session.count; i++) {
        struct attended *node = &session.nodes[i];

        if (node->over && !node->member && node != keep)
            return node;
    }
    if (session.count == SESSION_MOST)
        return NULL;
    session.nodes[session.count].inquiry.client.fd = -1;
    return &session.nodes[session.count++];
}

static void reuse(struct attended *node, const struct place *place)
{
    inquiry_end(&node->inquiry);
    place_free(&node->place);
    json_decref(node->unfit);
    *node = (struct attended){.over = true, .place = *place};
    json_incref(place->wish);
    json_incref(place->devices);
    attend_open(node);
}

struct attended *session_add(const struct place *place, unsigned number, const char *endpoint,
                             const struct attended *keep, char *why, size_t why_size)
{
    struct attended *node = free_entry(keep);

    if (!node) {
        snprintf(why, why_size, "the session has too many nodes");
        return NULL;
    }
    reuse(node, place);
    if (session_begin(node, start_newcomer(place->part, endpoint, number), attend_question(node), why, why_size))
        return NULL;
    node->over = false;
    node->member = number;
    return node;
}

void session_leave(struct attended *node, bool now, const char *why)
{
    node->leaving = true;
    node->now |= now;
    if (why)
        text_print(node->why, sizeof(node->why), "%s", why);
    inquiry_say(&node->inquiry, json_pack("{s:s, s:s, s:b}", "do", node->now ? "end" : "leave", "why", node->why,
                                          "suspended", node->suspended));
}

void session_tell(struct attended *node, json_t *message)
{
    if (node && !node->over)
        inquiry_say(&node->inquiry, message);
    else
        json_decref(message);
}
