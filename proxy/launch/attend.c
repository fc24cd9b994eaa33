/* Standing for a program with its nodes' daemons: see attend.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/socket.h"
#include "base/text.h"
#include "proxy/launch/attend.h"
#include "proxy/launch/requests.h"
#include "proxy/launch/surrogate.h"

#define AGAIN_MS 1000 /* between tries to reach a daemon that was lost, */
#define TRY_MS 400    /* and how long others wait for one */
#define LAST_WORDS_MS 2000

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static void hear_end(struct attended *node, const json_t *message, const struct attend_hooks *hooks)
{
    const char *why = text_of(message, "why");

    if (!json_object_get(message, "ended"))
        return;
    node->over = true;
    if (*why && !node->told && !node->leaving)
        hooks->ended(node->name, why);
    node->told |= *why;
}

static void hear(struct attended *node, const struct attend_hooks *hooks)
{
    json_t *message = NULL;
    int error = client_receive(&node->client, &message, 100);

    if (error == -ETIMEDOUT)
        return;
    if (!error)
        hooks->said(node, message);
    if (!error)
        hear_end(node, message, hooks);
    json_decref(message);
    if (!error)
        return;
    client_close(&node->client); /* the daemon's end is not the worker's */
    hooks->lost(node);
}

static void say_leave(struct attended *node)
{
    json_t *leave =
        json_pack("{s:s, s:s, s:b}", "do", node->now ? "end" : "leave", "why", node->why, "rests", node->rests);

    if (node->client.fd >= 0)
        client_send(&node->client, leave);
    json_decref(leave);
}

void attend_leave(struct attended *node, bool now, const char *why)
{
    node->leaving = true;
    node->now |= now;
    text_print(node->why, sizeof(node->why), "%s", why);
    say_leave(node);
}

void attend_beat(struct attended *nodes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (nodes[i].client.fd >= 0 && client_beat(&nodes[i].client))
            client_close(&nodes[i].client);
    }
}

static void attach(struct attended *node, const struct poolfile *pool)
{
    json_t *question = json_pack("{s:s, s:s}", "do", "attach", "session", node->part), *answer = NULL;
    char why[256];
    int error = client_connect_within(&node->client, pool, node->address, TRY_MS, why, sizeof(why));

    if (!error)
        error = client_send(&node->client, question);
    if (!error)
        error = client_receive(&node->client, &answer, TRY_MS);
    node->over |= !error && json_object_get(answer, "error");
    if (error || node->over)
        client_close(&node->client);
    else if (node->leaving)
        say_leave(node);
    json_decref(question);
    json_decref(answer);
}

/* One of those that are lost, the next time another. */
static void attach_next(struct attended *nodes, unsigned count, const struct poolfile *pool)
{
    static long tried_ms;
    static unsigned next;

    if (clock_ms() - tried_ms < AGAIN_MS)
        return;
    for (unsigned i = 0; i < count; i++) {
        struct attended *node = &nodes[next++ % count];

        if (node->client.fd >= 0 || node->over)
            continue;
        attach(node, pool);
        tried_ms = clock_ms();
        return;
    }
}

/* A program that has lost its worker may end before its daemon was heard: what that says of the session's end still
 * comes. */
static void hear_last_words(struct attended *nodes, unsigned count, const struct attend_hooks *hooks)
{
    const long until = clock_ms() + LAST_WORDS_MS;

    for (unsigned i = 0; i < count; i++) {
        while (nodes[i].client.fd >= 0 && !nodes[i].over) {
            json_t *message = NULL;

            if (client_receive(&nodes[i].client, &message, until - clock_ms()))
                break;
            hear_end(&nodes[i], message, hooks);
            json_decref(message);
        }
    }
}

/* most: or -1, any. */
static int least(int most, int tick)
{
    return most >= 0 && most < tick ? most : tick;
}

/* Who is over is told of once. */
static void tell_over(struct attended *nodes, unsigned count, const struct attend_hooks *hooks)
{
    for (unsigned i = 0; i < count; i++) {
        if (nodes[i].over && nodes[i].member) {
            hooks->over(&nodes[i]);
            nodes[i].member = 0;
        }
    }
}

void attend(struct attended *nodes, const unsigned *node_count, const struct poolfile *pool, int lifeline,
            const struct attend_hooks *hooks)
{
    const unsigned before = 1 + hooks->width + REQUESTS_WIDTH;
    struct pollfd *ready = calloc(before + ATTEND_MOST, sizeof(*ready));

    while (ready) {
        const int most = surrogate_look(lifeline);
        const unsigned count = *node_count;
        bool all = true;

        ready[0] = (struct pollfd){lifeline, POLLIN | POLLRDHUP, 0};
        hooks->poll(ready + 1);
        requests_poll(ready + 1 + hooks->width);
        for (unsigned i = 0; i < count; i++) {
            ready[before + i] = (struct pollfd){nodes[i].client.fd, POLLIN, 0};
            all &= nodes[i].client.fd >= 0 || nodes[i].over;
        }
        all &= !settings_peer_ms() && !hooks->busy();
        if (socket_poll(ready, before + count, all ? -1 : least(most, (int)settings_tick_ms())) < 0)
            continue;
        if (ready[0].revents && !surrogate_hear(lifeline))
            break;
        for (unsigned i = 0; i < count; i++) {
            if (ready[before + i].revents && nodes[i].client.fd == ready[before + i].fd)
                hear(&nodes[i], hooks);
        }
        hooks->turn(ready + 1);
        requests_turn(ready + 1 + hooks->width, hooks->heard, NULL);
        attend_beat(nodes, *node_count);
        attach_next(nodes, *node_count, pool);
        tell_over(nodes, *node_count, hooks);
    }
    for (unsigned i = 0; i < *node_count; i++) {
        if (!nodes[i].leaving)
            attend_leave(&nodes[i], false, "");
        nodes[i].leaving = false;
    }
    surrogate_end();
    requests_close();
    hear_last_words(nodes, *node_count, hooks);
    free(ready);
}
