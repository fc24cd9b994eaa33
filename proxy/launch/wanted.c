/* A worker that is wanted again: see wanted.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "proxy/launch/costs.h"
#include "proxy/launch/unfit.h"
#include "proxy/launch/wanted.h"

#define AGAIN_MS 1000 /* between tries to reach a daemon, and between words to the program that waits */

static struct pool_session session;

static json_t *unfit; /* by place, "#NUMBER", what has not fitted there, or null: no others are to be had; or NULL */

static struct {
    json_t *request; /* or NULL */
    unsigned number;
    char endpoint[200], ticket[64];
    const char *(*daemon)(bool lost);
    bool lost;
    struct client broker;
    long tried_ms, told_ms;
} wanted = {.broker.fd = -1};

void wanted_open(const struct pool_session *given)
{
    session = *given;
}

bool wanted_now(void)
{
    return wanted.request;
}

static void finish(void)
{
    client_close(&wanted.broker);
    json_decref(wanted.request);
    wanted.request = NULL;
}

static void give_up(const char *why)
{
    finish();
    tell_program(CHANNEL_ENDED, wanted.number, why);
}

/* "#NUMBER<tab>ENDPOINT" */
bool wanted_read(const struct channel_message *message, unsigned *lost)
{
    return message->kind == CHANNEL_START && sscanf(message->text, "#%u", lost) == 1;
}

void wanted_refuse(const struct channel_message *message, const char *why)
{
    tell_program(CHANNEL_ENDED, message->number, why);
}

/* Should the daemon be lost that takes the request, another one gets it, with the place in the queue. */
static void ask_for_place(void)
{
    const char *address;
    char why[256];

    if (wanted.broker.fd >= 0 || clock_ms() - wanted.tried_ms < AGAIN_MS)
        return;
    address = wanted.daemon(wanted.lost);
    wanted.lost = false;
    if (!address)
        return;
    wanted.tried_ms = clock_ms();
    wanted.lost = client_connect_within(&wanted.broker, session.pool, address, REACH_MS, why, sizeof(why));
    if (wanted.lost)
        return;
    if (*wanted.ticket)
        json_object_set_new(wanted.request, "ticket", json_string(wanted.ticket));
    if (client_send(&wanted.broker, wanted.request))
        client_close(&wanted.broker);
    else
        client_beat(&wanted.broker);
}

void wanted_hear_unfit(const struct channel_message *message)
{
    struct attended *node = newcomers_find(&session, message->number);
    unsigned device;
    char place[32];
    json_t *list;

    if (!node || sscanf(message->text, "%u %31s", &device, place) != 2)
        return;
    list = json_deep_copy(node->unfit);
    if (!unfit_add(&list, node->name, node->devices, device)) {
        json_decref(list);
        list = json_null();
    }
    if (!unfit)
        unfit = json_object();
    json_object_set_new(unfit, place, list);
    attend_leave(node, false, "its devices are not like those before");
}

/* What has not fitted in the place of a message goes with the request. False: there is nothing else. */
static bool take_unfit(const struct channel_message *message, json_t *request)
{
    char place[32] = "";
    json_t *list;

    sscanf(message->text, "%31s", place);
    list = json_incref(json_object_get(unfit, place));
    json_object_del(unfit, place);
    if (json_is_object(list))
        json_object_set(request, "unfit", list);
    json_decref(list);
    return !json_is_null(list);
}

void wanted_begin(const struct channel_message *message, json_t *request, const char *(*daemon)(bool lost))
{
    const char *tab = strchr(message->text, '\t');

    finish();
    if (!take_unfit(message, request)) {
        wanted_refuse(message, "the pool knows no other devices");
        json_decref(request);
        return;
    }
    wanted.request = request;
    wanted.daemon = daemon;
    wanted.lost = false;
    wanted.number = message->number;
    snprintf(wanted.endpoint, sizeof(wanted.endpoint), "%s", tab ? tab + 1 : "");
    *wanted.ticket = '\0';
    wanted.tried_ms = wanted.told_ms = 0;
    ask_for_place();
}

bool wanted_drop(unsigned number)
{
    if (!wanted.request || wanted.number != number)
        return false;
    give_up("not needed");
    return true;
}

static void start(const struct place *place)
{
    struct attended *node;
    char why[300];

    costs_granted(clock_ms());
    attend_beat(session.nodes, *session.count);
    node = newcomer_start(&session, place, wanted.number, wanted.endpoint, NULL, why, sizeof(why));
    if (!node) {
        give_up(why);
        return;
    }
    node->unfit = json_incref(json_object_get(wanted.request, "unfit"));
    tell_program(CHANNEL_STARTED, wanted.number, "0");
    finish();
    session.changed();
}

static void hear_broker(void)
{
    struct place place = {.wish = NULL};
    json_t *message = NULL;
    int error = client_receive(&wanted.broker, &message, 100);

    if (error == -ETIMEDOUT)
        return;
    if (error) {
        client_close(&wanted.broker);
        wanted.lost = true;
        return;
    }
    if (json_object_get(message, "error"))
        give_up(text_of(message, "error"));
    else if (json_object_get(message, "queued"))
        snprintf(wanted.ticket, sizeof(wanted.ticket), "%s", text_of(message, "ticket"));
    else if (json_object_get(message, "granted") && place_read(&place, message))
        start(&place);
    else if (json_object_get(message, "granted"))
        give_up("there is no one place for it");
    place_free(&place);
    json_decref(message);
}

struct pollfd wanted_poll(void)
{
    return (struct pollfd){wanted.broker.fd, POLLIN, 0};
}

void wanted_turn(const struct pollfd *fd)
{
    if (fd->revents && fd->fd == wanted.broker.fd)
        hear_broker();
    if (wanted.broker.fd >= 0 && client_beat(&wanted.broker))
        client_close(&wanted.broker);
    if (!wanted.request)
        return;
    ask_for_place();
    if (clock_ms() - wanted.told_ms < AGAIN_MS)
        return;
    tell_program(CHANNEL_WAITS, wanted.number, ""); /* or it would not wait any longer */
    wanted.told_ms = clock_ms();
}
