/* The other daemons of the pool: a connection to each, on which it tells its state whenever that changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/settings.h"
#include "proxy/daemon/daemon.h"

#define RETRY_SECONDS 1
#define REMEMBERED_MS 600000 /* who waited at a daemon that is lost */
#define MOST_RELEASES 256    /* what was reserved longer ago lapses by itself */
#define SILENT_MS 6000       /* where VOCL_PEER_TIMEOUT says nothing: each tells its state every 2 seconds at least */

struct peer {
    struct peer *next;
    struct daemon *daemon;
    char name[64], address[128];
    struct connection *connection;
    bool open;
    json_t *state;         /* what it told last, or NULL */
    json_t *left;          /* its queue when it was lost, or NULL */
    json_t *releases;      /* what it is to be told when it is there again */
    struct topology *tree; /* its PCIe tree, or NULL */
    long heard_ms, looked_ms;
    struct event *timer;
};

static void retry_later(struct peer *peer)
{
    const struct timeval time = {RETRY_SECONDS, 0};

    evtimer_add(peer->timer, &time);
}

static void lost(struct peer *peer)
{
    if (peer->state) {
        daemon_log("warning", "node %s is lost", peer->name);
        json_decref(peer->left);
        peer->left = json_incref(json_object_get(peer->state, "queue"));
        json_decref(peer->state);
    }
    peer->state = NULL;
    peer->open = false;
    broker_answer(peer->daemon, peer->name, NULL);
}

struct topology *tree_of_text(const char *text, const char *node)
{
    FILE *file = *text ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : NULL;
    struct topology *tree = NULL;
    char why[256];

    if (!file)
        return NULL;
    if (topology_parse(file, node, &tree, why, sizeof(why))) {
        daemon_log("warning", "a PCIe tree: %s", why);
        tree = NULL;
    }
    fclose(file);
    return tree;
}

static void on_message(struct connection *c, json_t *message)
{
    struct peer *peer = connection_argument(c);
    json_t *state = json_object_get(message, "state");

    if (json_is_object(state)) {
        if (!peer->state)
            daemon_log("notice", "node %s is there", peer->name);
        json_decref(peer->state);
        peer->state = json_incref(state);
        peer->heard_ms = clock_ms();
        broker_review(peer->daemon);
    } else if (json_object_get(message, "tree")) {
        free(peer->tree);
        peer->tree = tree_of_text(message_text(message, "tree", ""), peer->name);
    } else if (json_object_get(message, "reserved")) {
        broker_answer(peer->daemon, peer->name, message);
    }
}

static void on_closed(struct connection *c)
{
    struct peer *peer = connection_argument(c);

    peer->connection = NULL;
    lost(peer);
    retry_later(peer);
}

static void on_open(struct connection *c)
{
    struct peer *peer = connection_argument(c);

    peer->open = true;
    peer->heard_ms = clock_ms();
    connection_send(c, json_pack("{s:s}", "do", "watch"));
    while (json_array_size(peer->releases)) {
        connection_send(c, json_incref(json_array_get(peer->releases, 0)));
        json_array_remove(peer->releases, 0);
    }
}

static const struct connection_owner owner = {on_message, on_closed, on_open};

static void look_after(evutil_socket_t fd, short what, void *argument)
{
    struct peer *peer = argument;
    const long now = clock_ms(), patience = settings_peer_ms() ? settings_peer_ms() : SILENT_MS;

    (void)fd;
    (void)what;
    if (now - peer->looked_ms > patience / 2 + 1000 * RETRY_SECONDS) /* it is this daemon that did not listen */
        peer->heard_ms = now;
    peer->looked_ms = now;
    if (peer->connection && peer->open && now - peer->heard_ms > patience) {
        connection_close(peer->connection);
        return;
    }
    if (!peer->connection)
        peer->connection = connection_open(peer->daemon, peer->name, peer->address, &owner, peer);
    retry_later(peer);
}

static struct peer *peer_new(struct daemon *d, const struct poolfile_node *node)
{
    struct peer *peer = calloc(1, sizeof(*peer));

    if (!peer)
        return NULL;
    peer->daemon = d;
    snprintf(peer->name, sizeof(peer->name), "%s", node->name);
    snprintf(peer->address, sizeof(peer->address), "%s", node->address);
    peer->timer = evtimer_new(d->base, look_after, peer);
    return peer;
}

static void peer_free(struct peer *peer)
{
    struct connection *c = peer->connection;

    if (c) {
        connection_own(c, NULL, NULL);
        connection_close(c);
    }
    event_free(peer->timer);
    json_decref(peer->state);
    json_decref(peer->left);
    json_decref(peer->releases);
    free(peer->tree);
    free(peer);
}

/* Out of the list, if it is the same daemon. */
static struct peer *take_out(struct peer **list, const struct poolfile_node *node)
{
    struct peer *peer;

    while (*list && (strcmp((*list)->name, node->name) || strcmp((*list)->address, node->address)))
        list = &(*list)->next;
    peer = *list;
    if (peer)
        *list = peer->next;
    return peer;
}

void peers_open(struct daemon *d)
{
    struct peer *before = d->peers, **last = &d->peers, *gone;

    d->peers = NULL;
    for (unsigned i = 0; i < d->pool.count; i++) {
        const struct poolfile_node *node = &d->pool.nodes[i];
        struct peer *peer, *fresh = NULL;

        if (!strcmp(node->name, d->config->name))
            continue;
        peer = take_out(&before, node);
        if (!peer)
            peer = fresh = peer_new(d, node);
        if (!peer)
            break;
        peer->next = NULL;
        *last = peer;
        last = &peer->next;
        if (fresh)
            look_after(-1, 0, fresh);
    }
    while ((gone = before)) {
        before = gone->next;
        broker_answer(d, gone->name, NULL);
        peer_free(gone);
    }
}

void peers_close(struct daemon *d)
{
    for (struct peer *peer; (peer = d->peers);) {
        d->peers = peer->next;
        peer_free(peer);
    }
}

static struct peer *find(const struct daemon *d, const char *name)
{
    struct peer *peer = d->peers;

    while (peer && strcmp(peer->name, name))
        peer = peer->next;
    return peer;
}

bool peer_send(struct daemon *d, const char *node, json_t *message)
{
    const struct peer *peer = find(d, node);

    if (!peer || !peer->state) {
        json_decref(message);
        return false;
    }
    connection_send(peer->connection, message);
    return true;
}

bool peer_release(struct daemon *d, const char *node, json_t *message)
{
    struct peer *peer = find(d, node);

    if (peer && peer->open) {
        connection_send(peer->connection, message);
        return true;
    }
    if (peer && !peer->releases)
        peer->releases = json_array();
    if (peer && json_array_size(peer->releases) == MOST_RELEASES)
        json_array_remove(peer->releases, 0);
    if (peer)
        json_array_append(peer->releases, message);
    json_decref(message);
    return peer != NULL;
}

/* In the order of the pool file. */
json_t *peers_directory(struct daemon *d)
{
    json_t *list = json_array();
    bool own = false;

    for (unsigned i = 0; i < d->pool.count; i++) {
        const struct poolfile_node *node = &d->pool.nodes[i];
        const struct peer *peer = find(d, node->name);

        if (!strcmp(node->name, d->config->name)) {
            json_array_append_new(list, node_describe(d));
            own = true;
        } else if (peer && peer->state) {
            json_array_append(list, peer->state);
        } else {
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:[], s:[]}", "name", node->name, "address",
                                                  node->address, "state", "lost", "devices", "sessions"));
        }
    }
    if (!own)
        json_array_append_new(list, node_describe(d));
    return list;
}

/* Those of a queue, with how long it is by now. */
static void add_waiting(const struct peer *peer, const json_t *queue, json_t *list)
{
    const double since = (double)(clock_ms() - peer->heard_ms) / 1000;
    json_t *entry, *now;
    size_t i;

    json_array_foreach(queue, i, entry)
    {
        now = json_copy(entry);
        json_object_set_new(now, "waited", json_real(json_number_value(json_object_get(entry, "waited")) + since));
        json_object_set_new(now, "broker", json_string(peer->name));
        json_array_append_new(list, now);
    }
}

void peers_waiting(const struct daemon *d, json_t *list)
{
    for (const struct peer *peer = d->peers; peer; peer = peer->next)
        add_waiting(peer, json_object_get(peer->state, "queue"), list);
}

void peers_waited(const struct daemon *d, json_t *list)
{
    for (const struct peer *peer = d->peers; peer; peer = peer->next) {
        if (!peer->state && clock_ms() - peer->heard_ms < REMEMBERED_MS)
            add_waiting(peer, peer->left, list);
    }
}

bool peer_outdate(struct daemon *d, const char *node)
{
    struct peer *peer = find(d, node);

    if (!peer || !peer->state)
        return false;
    return !json_object_set_new(peer->state, "state", json_string("outdated"));
}

const struct topology *peer_tree(const struct daemon *d, const char *node)
{
    const struct peer *peer = find(d, node);

    if (!strcmp(node, d->config->name))
        return d->known_tree;
    return peer ? peer->tree : NULL;
}
