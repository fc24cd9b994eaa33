/* Standing for a program with its nodes' daemons: see attend.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/settings.h"
#include "proxy/attend.h"

#define AGAIN_MS 1000 /* between tries to reach a daemon that was lost, */
#define TRY_MS 400    /* and how long others wait for one */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static void hear(struct attended *node, void (*ended)(const char *, const char *))
{
    json_t *message = NULL;
    int error = client_receive(&node->client, &message, 100);

    if (error == -ETIMEDOUT)
        return;
    if (!error && json_object_get(message, "ended")) {
        node->over = true;
        if (*text_of(message, "why") && !node->told)
            ended(node->name, text_of(message, "why"));
        node->told |= *text_of(message, "why");
    }
    json_decref(message);
    if (error) /* the daemon's end is not the worker's */
        client_close(&node->client);
}

void attend_beat(struct attended *nodes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (nodes[i].client.fd >= 0 && client_beat(&nodes[i].client))
            client_close(&nodes[i].client);
    }
}

static void attach(struct attended *node, const struct poolfile *pool, const char *session)
{
    json_t *question = json_pack("{s:s, s:s}", "do", "attach", "session", session), *answer = NULL;
    char why[256];
    int error = client_connect_within(&node->client, pool, node->address, TRY_MS, why, sizeof(why));

    if (!error)
        error = client_send(&node->client, question);
    if (!error)
        error = client_receive(&node->client, &answer, TRY_MS);
    node->over |= !error && json_object_get(answer, "error");
    if (error || node->over)
        client_close(&node->client);
    json_decref(question);
    json_decref(answer);
}

/* One of those that are lost, the next time another. */
static void attach_next(struct attended *nodes, unsigned count, const struct poolfile *pool, const char *session)
{
    static long tried_ms;
    static unsigned next;

    if (clock_ms() - tried_ms < AGAIN_MS)
        return;
    for (unsigned i = 0; i < count; i++) {
        struct attended *node = &nodes[next++ % count];

        if (node->client.fd >= 0 || node->over)
            continue;
        attach(node, pool, session);
        tried_ms = clock_ms();
        return;
    }
}

void attend(struct attended *nodes, unsigned count, const struct poolfile *pool, const char *session, int lifeline,
            void (*ended)(const char *node, const char *why))
{
    struct pollfd *ready = calloc(count + 1, sizeof(*ready));
    char byte;

    while (ready) {
        bool all = true;

        ready[0] = (struct pollfd){lifeline, POLLIN | POLLRDHUP, 0};
        for (unsigned i = 0; i < count; i++) {
            ready[i + 1] = (struct pollfd){nodes[i].client.fd, POLLIN, 0};
            all &= nodes[i].client.fd >= 0 || nodes[i].over;
        }
        if (poll(ready, count + 1, all && !settings_peer_ms() ? -1 : (int)settings_tick_ms()) < 0)
            continue;
        if (ready[0].revents && recv(lifeline, &byte, 1, 0) <= 0)
            break;
        for (unsigned i = 0; i < count; i++) {
            if (ready[i + 1].revents)
                hear(&nodes[i], ended);
        }
        attend_beat(nodes, count);
        attach_next(nodes, count, pool, session);
    }
    for (unsigned i = 0; i < count; i++) {
        json_t *leave = json_pack("{s:s}", "do", "leave");

        if (nodes[i].client.fd >= 0)
            client_send(&nodes[i].client, leave);
        json_decref(leave);
    }
    free(ready);
}
