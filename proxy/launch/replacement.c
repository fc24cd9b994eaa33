/* A worker in place of one that has gone: see replacement.h. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "proxy/launch/costs.h"
#include "proxy/launch/suspend.h"
#include "proxy/launch/replacement.h"

#define LEAST_WAIT 60     /* seconds to wait for a place: until the pool has noticed that a node is lost */
#define MOST_WAIT 1000000 /* for a suspended session: as long as the program waits */

/* The places of the last workers that ended, with their numbers. */
static struct {
    unsigned member;
    json_t *wish;
    char address[128];
} ended[SESSION_MOST];
static unsigned ended_count;

/* By "#NUMBER": the devices that did not fit in that worker's place; null: there are no others. Or NULL. */
static json_t *unfit;

static struct {
    unsigned number;
    char endpoint[200];
    char lost_address[128]; /* the daemon that had the place before */
    unsigned next;          /* index of the daemon to ask */
    long told_ms;
} replacement;

struct inquiry replacement_inquiry = {.client.fd = -1};

bool replacement_is_wanted(void)
{
    return replacement_inquiry.question;
}

static void give_up(const char *why)
{
    inquiry_end(&replacement_inquiry);
    tell_program(STARTER_ENDED, replacement.number, why);
}

/* ---- the daemon ---- */

/* Returns the daemon to ask. If the one that has the request is lost, another gets it, with the place in the queue. For
 * a suspended session that is the daemon that knows of it; otherwise the daemons in turn, except the one that had the
 * lost place, whose host may be gone. Returns NULL if there is none at present. */
static const char *daemon_to_ask(bool lost)
{
    const struct poolfile *pool = &session.pool;

    if (suspend_is_on())
        return suspend_daemon(lost);
    replacement.next += lost;
    if (pool->count > 1 && !strcmp(pool->nodes[replacement.next % pool->count].address, replacement.lost_address))
        replacement.next++;
    return pool->nodes[replacement.next % pool->count].address;
}

static bool change_daemon(struct inquiry *inquiry)
{
    const char *address = daemon_to_ask(*inquiry->address);

    snprintf(inquiry->address, sizeof(inquiry->address), "%s", address ? address : "");
    return address;
}

static void start(const struct place *place)
{
    struct attended *node;
    char why[300];

    costs_granted(clock_ms());
    attend_beat();
    node = session_add(place, replacement.number, replacement.endpoint, NULL, why, sizeof(why));
    if (!node) {
        give_up(why);
        return;
    }
    node->unfit = json_incref(json_object_get(replacement_inquiry.question, "unfit"));
    tell_program(STARTER_STARTED, replacement.number, "0");
    inquiry_end(&replacement_inquiry);
    describe();
}

static void hear_daemon(struct inquiry *inquiry, const json_t *message)
{
    struct place place = {.wish = NULL};

    (void)inquiry;
    if (json_object_get(message, "error"))
        give_up(text_of(message, "error"));
    else if (json_object_get(message, "granted") && place_read_only(&place, message))
        start(&place);
    else if (json_object_get(message, "granted"))
        give_up("the grant does not consist of one place");
    place_free(&place);
}

/* ---- the request ---- */

void replacement_keep(const struct attended *node)
{
    const unsigned at = ended_count++ % SESSION_MOST;

    json_decref(ended[at].wish);
    ended[at].member = node->member;
    ended[at].wish = json_incref(node->place.wish);
    snprintf(ended[at].address, sizeof(ended[at].address), "%s", node->place.address);
}

static json_t *take_wish(json_t *wish, const char *address)
{
    snprintf(replacement.lost_address, sizeof(replacement.lost_address), "%s", address);
    return json_copy(wish);
}

/* Returns a copy of the wish of the last worker that had this number. Its daemon may not have noticed yet that it is
 * lost, or be unable to report it. */
static json_t *find_wish(unsigned member)
{
    struct attended *node = session_find(member);

    if (node && !node->leaving)
        session_leave(node, true, "lost");
    if (node)
        return take_wish(node->place.wish, node->place.address);
    for (unsigned i = ended_count; i-- > 0 && i + SESSION_MOST >= ended_count;) {
        const unsigned at = i % SESSION_MOST;

        if (ended[at].member == member)
            return take_wish(ended[at].wish, ended[at].address);
    }
    return NULL;
}

/* Returns the devices that did not fit in the place that a message names, or NULL; null: there are no others. */
static json_t *take_unfit(const struct starter_message *message)
{
    char place[32] = "";
    json_t *list;

    sscanf(message->text, "%31s", place);
    list = json_incref(json_object_get(unfit, place));
    json_object_del(unfit, place);
    return list;
}

/* Returns the request, or NULL with the reason in *why. */
static json_t *new_request(const struct starter_message *message, unsigned lost, const char **why)
{
    const long least = suspend_is_on() ? MOST_WAIT : LEAST_WAIT, wait = settings_number(SETTING_POOL_WAIT);
    json_t *request = suspend_is_on() && *suspend_ended() ? NULL : find_wish(lost), *list;

    if (!request) {
        *why = suspend_is_on() && *suspend_ended() ? suspend_ended() : "the session had no such worker";
        return NULL;
    }
    list = take_unfit(message);
    *why = json_is_null(list) ? "the pool knows no other devices"
           : (list && json_object_set(request, "unfit", list)) ||
                   json_object_set_new(request, suspend_is_on() ? "suspended" : "instead", json_string(session.id)) ||
                   json_object_set_new(request, "wait", json_integer(wait > least ? wait : least))
               ? "out of memory"
               : NULL;
    json_decref(list);
    if (!*why)
        return request;
    json_decref(request);
    return NULL;
}

/* message->text: "#NUMBER<tab>ENDPOINT" */
static void begin(const struct starter_message *message, unsigned lost)
{
    const char *tab = strchr(message->text, '\t'), *why;
    json_t *request = new_request(message, lost, &why);

    if (!request) {
        tell_program(STARTER_ENDED, message->number, why);
        return;
    }
    if (suspend_is_on())
        costs_wanted(clock_ms());
    replacement.number = message->number;
    snprintf(replacement.endpoint, sizeof(replacement.endpoint), "%s", tab ? tab + 1 : "");
    replacement.next = 0;
    replacement.told_ms = 0;
    inquiry_begin(&replacement_inquiry, NULL, request);
}

/* A worker that was started as a replacement has devices that are not like those before. It ends, and its replacement
 * gets others. */
static void hear_unfit(const struct starter_message *message)
{
    struct attended *node = session_find(message->number);
    unsigned device;
    char place[32];
    json_t *list;

    if (!node || sscanf(message->text, "%u %31s", &device, place) != 2)
        return;
    list = json_deep_copy(node->unfit);
    if (!place_unfit(&list, &node->place, device)) {
        json_decref(list);
        list = json_null();
    }
    if (!unfit)
        unfit = json_object();
    if (json_object_set_new(unfit, place, list))
        vocl_log(LOG_ERROR, "no memory for what devices worker %u cannot use: it may get them again", message->number);
    session_leave(node, false, "its devices are not like those before");
}

bool replacement_hear_program(const struct starter_message *message)
{
    unsigned lost;

    if (message->kind == STARTER_UNFIT)
        hear_unfit(message);
    else if (message->kind == STARTER_START && sscanf(message->text, "#%u", &lost) == 1)
        begin(message, lost);
    else if (message->kind == STARTER_END && replacement_is_wanted() && replacement.number == message->number)
        give_up("not needed");
    else
        return false;
    return true;
}

/* ---- a turn ---- */

void replacement_open(void)
{
    static struct inquiry_kind kind = {
        .reach_ms = REACH_MS, .again_ms = AGAIN_MS, .hear = hear_daemon, .change = change_daemon};

    inquiry_open(&replacement_inquiry, &kind, &session.pool);
}

void replacement_turn(void)
{
    if (!replacement_is_wanted() || clock_ms() - replacement.told_ms < AGAIN_MS)
        return;
    tell_program(STARTER_WAITS, replacement.number, ""); /* otherwise the program would stop waiting */
    replacement.told_ms = clock_ms();
}
