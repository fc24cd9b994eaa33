/* Representing a program at its nodes' daemons: see attend.h. */
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/settings.h"
#include "base/socket.h"
#include "proxy/launch/attend.h"
#include "proxy/launch/heartbeat_proxy.h"

#define TRY_MS 400 /* for an attempt to connect to a lost daemon, during which everything else waits */
#define LAST_WORDS_MS 2000

static const struct attend_hooks *hooks;

/* ---- a node's daemon ---- */

json_t *attend_question(const struct attended *node)
{
    return json_pack("{s:s, s:s}", "do", "attach", "session", node->place.part);
}

static void hear_end(struct attended *node, const json_t *message)
{
    const char *why = text_of(message, "why");

    if (!json_object_get(message, "ended"))
        return;
    node->over = true;
    if (*why && !node->told && !node->leaving)
        hooks->ended(node->place.name, why);
    node->told |= *why;
}

static void hear(struct inquiry *inquiry, const json_t *message)
{
    struct attended *node = (struct attended *)inquiry;
    const bool asked = inquiry->asked;

    inquiry->asked = false;
    if (asked && json_object_get(message, "error")) {
        node->over = true;
        inquiry_end(inquiry);
        return;
    }
    if (asked && node->leaving)
        session_leave(node, false, NULL);
    hooks->said(node, message);
    hear_end(node, message);
}

/* The loss of the daemon is not the end of the worker. */
static void lost(struct inquiry *inquiry, bool reached, const char *why)
{
    struct attended *node = (struct attended *)inquiry;

    (void)why;
    if (reached && hooks)
        hooks->lost(node);
    if (node->over)
        inquiry_end(inquiry);
}

void attend_open(struct attended *node)
{
    static struct inquiry_kind kind = {.reach_ms = TRY_MS, .again_ms = AGAIN_MS, .hear = hear, .lost = lost};

    inquiry_open(&node->inquiry, &kind, &session.pool);
}

/* ---- all daemons ---- */

static unsigned list_inquiries(struct inquiry **list)
{
    unsigned count = 0;

    for (unsigned i = 0; i < session.count; i++)
        list[count++] = &session.nodes[i].inquiry;
    for (unsigned i = 0; hooks && i < hooks->inquiry_count; i++)
        list[count++] = hooks->inquiries[i];
    return count;
}

void attend_beat(void)
{
    struct inquiry *list[SESSION_MOST + (hooks ? hooks->inquiry_count : 0)];

    inquiries_beat(list, list_inquiries(list));
}

/* A program that has lost its worker may end before the daemon's message was read: reads why the session ended. */
static void hear_last_words(void)
{
    const long until = clock_ms() + LAST_WORDS_MS;

    for (unsigned i = 0; i < session.count; i++) {
        struct attended *node = &session.nodes[i];

        while (node->inquiry.client.fd >= 0 && !node->over) {
            json_t *message = NULL;

            if (client_receive(&node->inquiry.client, &message, until - clock_ms()))
                break;
            hear_end(node, message);
            json_decref(message);
        }
    }
}

/* Reports each node that is over once. */
static void tell_over(void)
{
    for (unsigned i = 0; i < session.count; i++) {
        struct attended *node = &session.nodes[i];

        if (node->over && node->member) {
            hooks->over(node);
            node->member = 0;
        }
    }
}

static void leave_all(void)
{
    for (unsigned i = 0; i < session.count; i++) {
        if (!session.nodes[i].leaving)
            session_leave(&session.nodes[i], false, "");
        session.nodes[i].leaving = false;
    }
}

/* Returns the shorter of two times, of which most may be -1: infinite. */
static int sooner(int most, int tick)
{
    return most >= 0 && most < tick ? most : tick;
}

void attend(int control, const struct attend_hooks *given)
{
    struct inquiry *list[SESSION_MOST + given->inquiry_count];
    struct pollfd ready[1 + given->width + REQUESTS_WIDTH + SESSION_MOST + given->inquiry_count];
    struct pollfd *const asked = ready + 1 + given->width, *const daemons = asked + REQUESTS_WIDTH;

    hooks = given;
    for (;;) {
        const int most = heartbeat_proxy_look(control);
        const unsigned count = list_inquiries(list);
        bool busy;

        ready[0] = (struct pollfd){control, POLLIN | POLLRDHUP, 0};
        busy = hooks->poll(ready + 1);
        requests_poll(asked);
        busy |= inquiries_poll(list, count, daemons);
        if (socket_poll(ready, (unsigned)(daemons - ready) + count,
                        busy ? sooner(most, (int)settings_tick_ms()) : most) < 0)
            continue;
        if (ready[0].revents && !heartbeat_proxy_hear(control))
            break;
        inquiries_turn(list, count, daemons);
        hooks->turn(ready + 1);
        requests_turn(asked, hooks->heard, NULL);
        tell_over();
    }
    leave_all();
    heartbeat_proxy_end();
    requests_close();
    hear_last_words();
}
