/*
 * The other daemons of the pool. In a small pool there is a connection to each, on which it sends its state when that
 * changes. In a large one there are connections to some, which pass on the state of the others (gossip.c), and to any
 * other while there are messages for it.
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/text.h"
#include "proxy/daemon/pool/internal.h"

#define RETRY_MS 1000
#define DIFFERS_MS 5000      /* before another attempt at a daemon that speaks another version */
#define REMEMBERED_MS 600000 /* how long the queue of a lost daemon is remembered */
#define SILENT_MS 6000       /* without VOCL_PEER_TIMEOUT; each sends its state at least every 2 seconds */

#define IDLE_MS 30000 /* until an unused connection is closed */
/* A review of the waiting requests is followed by a pause of this many times its length. */
#define PATIENCE_PASSES 4
#define MOST_LATER 256 /* older reservations expire by themselves */

/* Returns the kind of the reason: there are few kinds, for alerts. */
static const char *kind_of(const char *why)
{
    static const char *const of_clocks[] = {"clock", "Expired credential", "Rewound credential"};

    if (strstr(why, "another VOCL"))
        return "version";
    for (size_t i = 0; i < sizeof(of_clocks) / sizeof(*of_clocks); i++) {
        if (strstr(why, of_clocks[i]))
            return "clock";
    }
    return strstr(why, "refuses") || strstr(why, "munge") || strstr(why, "key files") ? "refused" : "unreachable";
}

/* Returns the state of a node that is not told. */
static const char *state_of(const struct peer *peer)
{
    return !strcmp(kind_of(peer->why), "version") ? "other-version" : "lost";
}

static bool differs(const struct peer *peer)
{
    return !peer->told && strcmp(state_of(peer), "lost") != 0;
}

/* Connecting is tried again and again, so only the first reason of each kind is logged. */
void peer_note_why(struct peer *peer, const char *why)
{
    const bool is_new = !*peer->why || strcmp(kind_of(why), kind_of(peer->why)) != 0;

    text_print(peer->why, sizeof(peer->why), "%s", why);
    if (is_new && differs(peer))
        event_note(peer->daemon, "node-other-version", peer->name,
                   message_pack("{s:s, s:s}", "address", peer->address, "why", peer->why));
    if (is_new && *why && !peer->told)
        daemon_log("warning", "node %s is %s: %s", peer->name, state_of(peer), why);
}

void peer_lose(struct peer *peer, const char *why)
{
    if (peer->told) {
        daemon_log("warning", "node %s is lost", peer->name);
        event_note(peer->daemon, "node-lost", peer->name,
                   message_pack("{s:s, s:s}", "address", peer->address, "why", why));
        told_free(peer->left);
        peer->left = peer->told;
        peer->lost_ms = clock_ms();
        peer->told = NULL;
    }
    peer->daemon->scheduler->answer(peer->daemon, peer->name, NULL);
}

static void lost(struct peer *peer, const char *why)
{
    const bool was_there = peer->told != NULL, was_used = peer->open || peer->unsent,
               gossips = gossip_is_on(peer->daemon);

    peer->open = peer->watched = false;
    json_decref(peer->unsent);
    peer->unsent = NULL;
    if (gossips && !was_used) /* others may still have a connection to it */
        return;
    peer_lose(peer, why);
    if (was_there && gossips) {
        peer->version++;
        gossip_note(peer->daemon, peer->name);
    }
}

static void look_after(void *argument);

/* ---- the state of peers ---- */

static void review(void *argument)
{
    struct daemon *d = argument;
    const long began = clock_us();

    d->scheduler->review(d);
    d->review_us = clock_us() - began;
}

/* Delayed, so that not each state of a thousand nodes causes a review. */
void peers_review(struct daemon *d)
{
    if (timer_left_ms(&d->review) < 0)
        timer_set(&d->review, d, review, d, 1 + PATIENCE_PASSES * d->review_us / 1000);
}

void peer_take_state(struct peer *peer, json_t *state, long age_ms)
{
    struct told_node *told = told_read(state);

    if (!told)
        return;
    if (!peer->told) {
        daemon_log("notice", "node %s is connected", peer->name);
        event_note(peer->daemon, "node-up", peer->name, message_pack("{s:s}", "address", peer->address));
    }
    *peer->why = '\0';
    told_free(peer->told);
    peer->told = told;
    peer->told_ms = clock_ms() - age_ms;
    peers_review(peer->daemon);
}

/* Trees are large, and most nodes of a pool have the same one, so peers share them. */
static void drop_tree(struct peer *peer)
{
    bool shared = false;

    for (const struct peer *other = peer->daemon->peers; other; other = other->next)
        shared |= other != peer && other->tree == peer->tree;
    if (!shared)
        free(peer->tree);
    free(peer->tree_text);
    peer->tree = NULL;
    peer->tree_text = NULL;
}

void peer_take_tree(struct peer *peer, const char *text)
{
    const struct peer *other = peer->daemon->peers;

    if (peer->tree_text && !strcmp(peer->tree_text, text))
        return;
    drop_tree(peer);
    peer->tree_text = strdup(text);
    while (other && (other == peer || !other->tree_text || strcmp(other->tree_text, text)))
        other = other->next;
    peer->tree = other ? other->tree : tree_of_text(text, peer->name);
}

static void on_message(struct connection *c, json_t *message)
{
    struct peer *peer = c->argument;
    json_t *state = json_object_get(message, "state");

    peer->heard_ms = clock_ms();
    if (gossip_hear(peer, message))
        return;
    if (json_is_object(state)) {
        peer_take_state(peer, state, 0);
    } else if (json_object_get(message, "tree")) {
        peer_take_tree(peer, message_text(message, "tree", ""));
    } else if (json_object_get(message, "reserved")) {
        peer->daemon->scheduler->answer(peer->daemon, peer->name, message);
    }
}

static void explain(struct peer *peer, const char *why)
{
    char text[sizeof(peer->why)];

    snprintf(text, sizeof(text), "%s %s", peer->address, why);
    peer_note_why(peer, text);
}

static void on_closed(struct connection *c)
{
    struct peer *peer = c->argument;
    const bool at_once = !peer->told && peer->open && !strcmp(peer->daemon->config->method, "key");

    peer->connection = NULL;
    lost(peer, *c->why ? c->why : *peer->why ? peer->why : "closed the connection");
    if (*c->why)
        peer_note_why(peer, c->why);
    else if (at_once)
        explain(peer, "closes the connection at once: the key files may differ");
    else if (!*peer->why)
        explain(peer, "closed the connection");
    timer_set(&peer->timer, peer->daemon, look_after, peer, RETRY_MS);
}

static void watch(struct peer *peer)
{
    if (gossip_is_on(peer->daemon))
        connection_send(peer->connection,
                        message_pack("{s:s, s:s}", "do", "watch", "news", peer->near ? "all" : "none"));
    else
        connection_send(peer->connection, message_pack("{s:s}", "do", "watch"));
    peer->watched = peer->near;
}

static void send_all(struct connection *c, json_t **messages)
{
    json_t *message;
    size_t i;

    json_array_foreach(*messages, i, message)
    {
        connection_send(c, json_incref(message));
    }
    json_decref(*messages);
    *messages = NULL;
}

static void on_open(struct connection *c)
{
    struct peer *peer = c->argument;

    peer->open = true;
    peer->heard_ms = peer->used_ms = clock_ms();
    watch(peer);
    send_all(c, &peer->releases);
    send_all(c, &peer->unsent);
}

static const struct connection_owner owner = {.message = on_message, .closed = on_closed, .opened = on_open};

static void open_connection(struct peer *peer)
{
    if (!peer->connection)
        peer->connection = connection_open(peer->daemon, peer->name, peer->address, &owner, peer);
    peer->tried_ms = peer->used_ms = clock_ms();
}

/* Closes a connection that is not needed, without considering the peer lost. */
static void let_go(struct peer *peer)
{
    struct connection *c = peer->connection;

    peer->connection = NULL;
    peer->open = peer->watched = false;
    connection_own(c, NULL, NULL);
    connection_close(c);
}

static void look_after(void *argument)
{
    struct peer *peer = argument;
    const long now = clock_ms(), patience = settings_peer_ms() ? settings_peer_ms() : SILENT_MS;

    if (now - peer->looked_ms > patience / 2 + RETRY_MS) /* this daemon itself did not run */
        peer->heard_ms = now;
    peer->looked_ms = now;
    if (peer->near && peer->connection && peer->open && now - peer->heard_ms > patience) {
        explain(peer, "does not answer");
        connection_close(peer->connection);
        return;
    }
    if (peer->near && !(differs(peer) && now - peer->tried_ms < DIFFERS_MS))
        open_connection(peer);
    if (peer->near && peer->open && !peer->watched)
        watch(peer);
    else if (!peer->near && peer->connection && peer->open && now - peer->used_ms > IDLE_MS)
        let_go(peer);
    timer_set(&peer->timer, peer->daemon, look_after, peer, RETRY_MS);
}

static struct peer *peer_new(struct daemon *d, const struct poolfile_node *node)
{
    struct peer *peer = calloc(1, sizeof(*peer));

    if (!peer)
        return NULL;
    peer->daemon = d;
    snprintf(peer->name, sizeof(peer->name), "%s", node->name);
    snprintf(peer->address, sizeof(peer->address), "%s", node->address);
    return peer;
}

static void peer_free(struct peer *peer)
{
    struct connection *c = peer->connection;

    if (c) {
        connection_own(c, NULL, NULL);
        connection_close(c);
    }
    timer_stop(&peer->timer);
    json_decref(peer->unsent);
    told_free(peer->told);
    told_free(peer->left);
    json_decref(peer->releases);
    drop_tree(peer);
    free(peer);
}

/* Removes a peer from the list, if it is the same daemon. */
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

static int by_name(const void *one, const void *other)
{
    return strcmp(((const struct peer *)one)->name, ((const struct peer *)other)->name);
}

static void nothing(void *peer)
{
    (void)peer;
}

static void make_index(struct daemon *d)
{
    tdestroy(d->by_name, nothing);
    d->by_name = NULL;
    for (struct peer *peer = d->peers; peer; peer = peer->next)
        tsearch(peer, &d->by_name, by_name);
}

void peers_open(struct daemon *d)
{
    struct peer *before = d->peers, **last = &d->peers, *gone;

    d->peers = NULL;
    d->own_position = d->pool.count;
    for (unsigned i = 0; i < d->pool.count; i++) {
        const struct poolfile_node *node = &d->pool.nodes[i];
        struct peer *peer;

        if (!strcmp(node->name, d->config->name)) {
            d->own_position = i;
            continue;
        }
        peer = take_out(&before, node);
        if (!peer)
            peer = peer_new(d, node);
        if (!peer)
            break;
        peer->position = i;
        peer->next = NULL;
        *last = peer;
        last = &peer->next;
    }
    make_index(d);
    gossip_choose(d);
    for (struct peer *peer = d->peers; peer; peer = peer->next) {
        if (timer_left_ms(&peer->timer) < 0)
            look_after(peer);
    }
    while ((gone = before)) {
        before = gone->next;
        d->scheduler->answer(d, gone->name, NULL);
        peer_free(gone);
    }
}

void peers_close(struct daemon *d)
{
    for (struct peer *peer; (peer = d->peers);) {
        d->peers = peer->next;
        peer_free(peer);
    }
    gossip_close(d);
    make_index(d);
    timer_stop(&d->review);
}

struct peer *peer_find(const struct daemon *d, const char *name)
{
    struct peer wanted, **found;

    if (strlen(name) >= sizeof(wanted.name))
        return NULL;
    text_print(wanted.name, sizeof(wanted.name), "%s", name);
    found = tfind(&wanted, &d->by_name, by_name);
    return found ? *found : NULL;
}

/* Sends a message now, or keeps it in a list of the peer until it is connected. */
static bool say(struct peer *peer, json_t *message, json_t **later)
{
    peer->used_ms = clock_ms();
    if (peer->connection && peer->open) {
        connection_send(peer->connection, message);
        return true;
    }
    if (!*later)
        *later = json_array();
    if (json_array_size(*later) == MOST_LATER)
        json_array_remove(*later, 0);
    if (json_array_append_new(*later, message))
        return false;
    open_connection(peer);
    return peer->connection != NULL;
}

bool peer_send(struct daemon *d, const char *node, json_t *message)
{
    struct peer *peer = peer_find(d, node);

    if (peer && peer->told)
        return say(peer, message, &peer->unsent);
    json_decref(message);
    return false;
}

bool peer_release(struct daemon *d, const char *node, json_t *message)
{
    struct peer *peer = peer_find(d, node);

    if (peer)
        return say(peer, message, &peer->releases);
    json_decref(message);
    return false;
}

/* Nodes are in the order of the pool file. */
struct pool_view *peers_view(struct daemon *d)
{
    struct pool_view *view = calloc(1, sizeof(*view) + (d->pool.count + 1) * sizeof(*view->nodes));
    struct peer *peer = d->peers;

    if (!view)
        return NULL;
    view->own = node_describe(d);
    for (unsigned i = 0; i <= d->pool.count; i++) {
        if (i == d->own_position && view->own)
            view->nodes[view->count++] = view->own;
        if (!peer || peer->position != i)
            continue;
        peer->lost =
            (struct told_node){.name = peer->name, .address = peer->address, .state = state_of(peer), .why = peer->why};
        peer->lost.http = peer->left ? peer->left->http : NULL;
        view->nodes[view->count++] = peer->told ? peer->told : &peer->lost;
        peer = peer->next;
    }
    return view;
}

void view_free(struct pool_view *view)
{
    if (view)
        told_free(view->own);
    free(view);
}

/* Prints a node as it has sent itself, with its state corrected if that is known to be another. */
static json_t *print(const struct told_node *node)
{
    json_t *copy;

    if (!node->json)
        return message_pack("{s:s, s:s, s:s, s:s, s:s, s:[], s:[]}", "name", node->name, "address", node->address,
                            "state", node->state, "why", node->why, "lost by", kind_of(node->why), "devices",
                            "sessions");
    if (!strcmp(node->state, message_text(node->json, "state", "")))
        return json_incref(node->json);
    copy = json_copy(node->json);
    message_set(&copy, "state", json_string(node->state));
    return copy;
}

json_t *peers_directory(struct daemon *d)
{
    struct pool_view *view = peers_view(d);
    json_t *list = json_array();

    for (unsigned i = 0; view && i < view->count; i++)
        message_append(&list, view->nodes[i] == view->own ? told_print(view->own) : print(view->nodes[i]));
    view_free(view);
    return list;
}

/* Adds the requests of a queue, with their waiting time until now. */
static void add_waits(const struct peer *peer, const struct told_node *told, struct told_wait *list, unsigned *count)
{
    const double since = (double)(clock_ms() - peer->told_ms) / 1000;

    for (unsigned i = 0; told && i < told->queue_count; i++) {
        if (list) {
            list[*count] = told->queue[i];
            list[*count].waited += since;
            list[*count].broker = peer->name;
        }
        ++*count;
    }
}

unsigned peers_waits(const struct daemon *d, bool lost, struct told_wait *list)
{
    unsigned count = 0;

    for (const struct peer *peer = d->peers; peer; peer = peer->next) {
        add_waits(peer, peer->told, list, &count);
        if (lost && !peer->told && clock_ms() - peer->lost_ms < REMEMBERED_MS)
            add_waits(peer, peer->left, list, &count);
    }
    return count;
}

bool peer_outdate(struct daemon *d, const char *node)
{
    struct peer *peer = peer_find(d, node);

    if (!peer || !peer->told)
        return false;
    peer->told->state = "outdated";
    return true;
}

const struct topology *peer_tree(const struct daemon *d, const char *node)
{
    const struct peer *peer = peer_find(d, node);

    if (!strcmp(node, d->config->name))
        return d->known_tree;
    return peer ? peer->tree : NULL;
}

static bool is_anothers(const struct told_session *list, unsigned count, const char *id, const char *user)
{
    for (unsigned i = 0; i < count; i++) {
        if (!strcmp(list[i].id, id) && strcmp(list[i].user, user) != 0)
            return true;
    }
    return false;
}

bool peers_have_anothers(struct daemon *d, const char *id, const char *user)
{
    struct pool_view *view = peers_view(d);
    bool found = false;

    for (unsigned i = 0; view && i < view->count; i++) {
        const struct told_node *node = view->nodes[i];

        found |= is_anothers(node->sessions, node->session_count, id, user) ||
                 is_anothers(node->suspended, node->suspended_count, id, user);
    }
    view_free(view);
    return found;
}

double peer_seconds(const struct daemon *d, const char *node)
{
    const struct peer *peer = peer_find(d, node);

    return peer ? (double)(clock_ms() - peer->told_ms) / 1000 : 0;
}
