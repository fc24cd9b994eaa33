/*
 * `vocl pool events`: what has happened in the pool, a line of JSON for each event. Each daemon has its own last events
 * (proxy/daemon/node/events.c), so all are asked. A lost node is reported by every other daemon; it is printed once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "base/socket.h"
#include "base/text.h"
#include "pool/inquiry.h"
#include "tools/pool.h"

#define REACH_MS 500 /* to connect to a daemon, while the others wait */
#define AGAIN_MS 1000

/* A daemon that is followed. */
struct followed {
    struct inquiry inquiry; /* the first member */
    char name[64];
    bool missing; /* the user was told */
};

static struct {
    const struct poolfile *pool;
    const struct history_choices *choices;
    json_t *nodes; /* the last event of each node: its kind */
    struct followed **list;
    unsigned count;
    int status;
} events;

/* ---- output ---- */

/* Whether the event is another daemon's word of what is printed already. */
static bool is_known(const json_t *event)
{
    const char *kind = text_of(event, "event"), *node = text_of(event, "node");

    if (!strcmp(node, text_of(event, "daemon")) || strncmp(kind, "node-", 5))
        return false;
    if (!strcmp(text_of(events.nodes, node), kind))
        return true;
    json_object_set_new(events.nodes, node, json_string(kind));
    return false;
}

static void print(const json_t *event)
{
    const struct history_choices *choices = events.choices;

    if (number_of(event, "time") < choices->since || is_known(event) ||
        (choices->user && strcmp(text_of(event, "user"), choices->user) != 0) ||
        (choices->jobs && !job_is_of(text_of(event, "job"), choices->jobs)))
        return;
    json_dumpf(event, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
    putchar('\n');
    fflush(stdout);
}

static void complain(const char *node, const char *why)
{
    char visible[600];

    events.status = 1;
    fprintf(stderr, "vocl pool: the events of %s are missing: %s\n", node, text_visible(why, visible, sizeof(visible)));
}

/* ---- the last events ---- */

/* Adds a node's events to the list. Returns false, with why. */
static bool read_node(const char *address, json_t *list, char *why, size_t why_size)
{
    json_t *question = json_pack("{s:s, s:i}", "do", "events", "after", 0), *answer;
    struct client client;
    bool more = true;

    if (client_connect(&client, events.pool, address, why, why_size)) {
        json_decref(question);
        return false;
    }
    while (more && !client_call(&client, question, &answer, why, why_size)) {
        json_array_extend(list, json_object_get(answer, "events"));
        json_object_set(question, "after", json_object_get(answer, "last"));
        more = json_is_true(json_object_get(answer, "more"));
        json_decref(answer);
    }
    json_decref(question);
    client_close(&client);
    return !more;
}

static int by_time(const void *left, const void *right)
{
    const double difference = number_of(*(json_t *const *)left, "time") - number_of(*(json_t *const *)right, "time");

    return difference < 0 ? -1 : difference > 0;
}

static void print_sorted(const json_t *list)
{
    const size_t count = json_array_size(list);
    const json_t **all = calloc(count + 1, sizeof(*all));

    for (size_t i = 0; all && i < count; i++)
        all[i] = json_array_get(list, i);
    if (all)
        qsort(all, count, sizeof(*all), by_time);
    for (size_t i = 0; all && i < count; i++)
        print(all[i]);
    free(all);
}

static void print_last(const json_t *status)
{
    json_t *list = json_array(), *node;
    char why[512];
    size_t i;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (pool_is_lost(node, why, sizeof(why)) || !read_node(text_of(node, "address"), list, why, sizeof(why)))
            complain(shown(node, "name"), why);
    }
    print_sorted(list);
    json_decref(list);
}

/* ---- following ---- */

static void follow(const char *name, const char *address, bool from_now);

static void hear(struct inquiry *inquiry, const json_t *message)
{
    struct followed *node = (struct followed *)inquiry;
    const json_t *event;
    size_t i;

    if (json_object_get(message, "error")) { /* it may not be asked, or its version knows no events */
        complain(node->name, text_of(message, "error"));
        inquiry_end(inquiry);
        return;
    }
    if (json_is_true(json_object_get(message, "missed")))
        complain(node->name, "there were too many at once");
    node->missing = false;
    json_object_set(inquiry->question, "after", json_object_get(message, "last"));
    inquiry_say(inquiry, json_incref(inquiry->question));
    json_array_foreach(json_object_get(message, "events"), i, event)
    {
        print(event);
        if (!strcmp(text_of(event, "event"), "node-up"))
            follow(text_of(event, "node"), text_of(event, "address"), false);
    }
}

static void lost(struct inquiry *inquiry, bool reached, const char *why)
{
    struct followed *node = (struct followed *)inquiry;

    (void)reached;
    if (!node->missing)
        complain(node->name, why);
    node->missing = true;
}

/* from_now: without the events until now. */
static void follow(const char *name, const char *address, bool from_now)
{
    static struct inquiry_kind kind = {.reach_ms = REACH_MS, .again_ms = AGAIN_MS, .hear = hear, .lost = lost};
    struct followed *node;

    for (unsigned i = 0; i < events.count; i++) {
        if (!strcmp(events.list[i]->name, name))
            return;
    }
    node = events.count < POOLFILE_NODES ? calloc(1, sizeof(*node)) : NULL;
    if (!node)
        return;
    snprintf(node->name, sizeof(node->name), "%s", name);
    events.list[events.count++] = node;
    inquiry_open(&node->inquiry, &kind, events.pool);
    inquiry_begin(&node->inquiry, address,
                  json_pack("{s:s, s:i, s:b}", "do", "events", "after", from_now ? -1 : 0, "follow", 1));
}

static bool any_left(struct inquiry **list)
{
    bool any = false;

    for (unsigned i = 0; i < events.count; i++) {
        list[i] = &events.list[i]->inquiry;
        any |= list[i]->question != NULL;
    }
    return any;
}

/* Runs until it is interrupted, or no daemon answers such questions. */
static void follow_all(const json_t *status)
{
    static struct inquiry *list[POOLFILE_NODES];
    static struct pollfd fds[POOLFILE_NODES];
    const json_t *node;
    size_t i;

    events.list = calloc(POOLFILE_NODES, sizeof(*events.list));
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (events.list)
            follow(text_of(node, "name"), text_of(node, "address"), !(events.choices->since > 0));
    }
    while (any_left(list)) {
        const unsigned count = events.count;
        const bool busy = inquiries_poll(list, count, fds);

        if (socket_poll(fds, count, busy ? (int)settings_tick_ms() : -1) >= 0)
            inquiries_turn(list, count, fds);
    }
}

int pool_events(const struct poolfile *pool, const struct history_choices *choices, bool follows)
{
    json_t *status = pool_status(pool);

    events.pool = pool;
    events.choices = choices;
    events.nodes = json_object();
    if (follows)
        follow_all(status);
    else
        print_last(status);
    json_decref(status);
    json_decref(events.nodes);
    return events.status;
}
