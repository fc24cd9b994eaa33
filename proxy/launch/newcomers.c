/* Workers that come to a pool's session while it runs: see newcomers.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "proxy/launch/newcomers.h"

const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

void tell_node(struct attended *node, const json_t *message)
{
    if (node && node->client.fd >= 0 && !node->over)
        client_send(&node->client, message);
}

void tell_program(enum channel_kind kind, unsigned number, const char *text)
{
    struct channel_message message = {.kind = kind, .number = number};

    snprintf(message.text, sizeof(message.text), "%s", text);
    if (requests_has_program() && !requests_tell(&message, -1))
        vocl_log(LOG_DEBUG, "the program is not told of worker %u: %s", number, text);
}

/* ---- a place ---- */

void place_free(struct place *place)
{
    json_decref(place->wish);
    json_decref(place->devices);
    place->wish = place->devices = NULL;
}

bool place_read(struct place *place, const json_t *message)
{
    const json_t *nodes = json_object_get(message, "nodes"), *node = json_array_get(nodes, 0);

    place_free(place);
    snprintf(place->part, sizeof(place->part), "%s", text_of(node, "part"));
    snprintf(place->name, sizeof(place->name), "%s", text_of(node, "name"));
    snprintf(place->address, sizeof(place->address), "%s", text_of(node, "address"));
    place->wish = json_incref(json_object_get(node, "wish"));
    place->devices = json_incref(json_object_get(node, "indices"));
    return json_array_size(nodes) == 1;
}

/* ---- a worker ---- */

struct attended *newcomers_find(const struct pool_session *session, unsigned number)
{
    for (unsigned i = 0; number && i < *session->count; i++) {
        if (session->nodes[i].member == number)
            return &session->nodes[i];
    }
    return NULL;
}

/* An entry in the list for one more; that of one that is over, if there is any. */
static struct attended *free_entry(const struct pool_session *session, const struct attended *keep)
{
    for (unsigned i = 0; i < *session->count; i++) {
        struct attended *node = &session->nodes[i];

        if (node->over && !node->member && node != keep)
            return node;
    }
    if (*session->count == ATTEND_MOST)
        return NULL;
    session->nodes[*session->count].client.fd = -1;
    return &session->nodes[(*session->count)++];
}

struct attended *newcomer_start(const struct pool_session *session, const struct place *place, unsigned number,
                                const char *endpoint, const struct attended *keep, char *why, size_t why_size)
{
    struct attended *node = free_entry(session, keep);
    json_t *message, *answer = NULL;
    int error;

    if (!node) {
        snprintf(why, why_size, "the session has too many nodes");
        return NULL;
    }
    client_close(&node->client);
    json_decref(node->wish);
    json_decref(node->devices);
    json_decref(node->unfit);
    *node = (struct attended){
        .client.fd = -1, .over = true, .wish = json_incref(place->wish), .devices = json_incref(place->devices)};
    snprintf(node->name, sizeof(node->name), "%s", place->name);
    snprintf(node->address, sizeof(node->address), "%s", place->address);
    snprintf(node->part, sizeof(node->part), "%s", place->part);
    error = client_connect_within(&node->client, session->pool, node->address, REACH_MS, why, why_size);
    if (error)
        return NULL;
    client_beat(&node->client);
    message = session->start(place->part, endpoint, number);
    error = client_call(&node->client, message, &answer, why, why_size);
    json_decref(message);
    json_decref(answer);
    if (error) {
        client_close(&node->client);
        return NULL;
    }
    node->over = false;
    node->member = number;
    return node;
}
