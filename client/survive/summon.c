/*
 * Requests of users to the running session: "suspend", "resume" (suspend.c), "checkpoint PID FD" (checkpoint.c), "trace
 * WHAT" (client/trace), "move to WHERE", "move to WHERE from HOST", and in a pool "move member NUMBER to WHERE". "move
 * any ...": another kind of device will do. WHERE is a host, "here" for this one, or "spare" for any spare worker. If
 * there is no spare worker there, one is started for the move, and the one that was left ends after it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/requests.h"
#include "base/settings.h"
#include "client/core/per_process.h"
#include "client/survive/checkpoint.h"
#include "client/survive/moving.h"
#include "client/survive/recover.h"
#include "client/trace/timeline.h"

static PER_PROCESS struct mutex members = MUTEX(RANK_MEMBERS);

#define RECORD_MS 1000 /* for the one that asked to take note of a result */

struct arriving {
    bool over;
    int error;
    char why[256];
};

static void joined(void *argument, unsigned member, int error, const char *why)
{
    struct arriving *arriving = argument;

    (void)member;
    arriving->over = true;
    arriving->error = error;
    snprintf(arriving->why, sizeof(arriving->why), "%s", why ? why : "");
}

/* Whether the node's worker is at that place. Lock held. */
static bool is_at(struct session *session, const struct node *node, const char *where)
{
    return !strcmp(where, "spare") || !strcasecmp(where, transport_peer_host(session_transport(session), node->peer));
}

static struct node *find_at(struct session *session, const char *where)
{
    struct node *found = NULL;

    session_lock(session);
    for (unsigned i = 0; i < session_spare_count(session) && !found; i++) {
        struct node *spare = session_spare(session, i);

        if (spare->peer && spare->alive && !spare->promised && is_at(session, spare, where))
            found = spare;
    }
    session_unlock(session);
    return found;
}

int summon_worker(struct session *session, const char *where, struct node **out, char *why, size_t size)
{
    struct arriving *arriving = calloc(1, sizeof(*arriving));
    int member = -ENOMEM;

    if (!arriving)
        return member;
    session_lock(session);
    member = transport_add_member(session_transport(session), strcmp(where, "here") ? where : NULL, joined, arriving,
                                  why, size);
    while (member > 0 && !arriving->over && !session_stops(session)) {
        session_need_progress(session);
        session_unlock(session);
        session_look_later();
        session_lock(session);
    }
    if (member > 0 && arriving->error) {
        snprintf(why, size, "%s", *arriving->why ? arriving->why : strerror(-arriving->error));
        member = arriving->error;
    }
    if (member < 0 || arriving->over)
        free(arriving);
    else
        member = -ECONNRESET; /* the session ends */
    if (member > 0 && !transport_peer_alive(session_transport(session), (unsigned)member)) {
        snprintf(why, size, "the worker was lost while it started");
        member = -ECONNRESET;
    }
    *out = member > 0 ? session_add_spare(session, (unsigned)member) : NULL;
    session_unlock(session);
    if (member > 0 && !*out) {
        snprintf(why, size, "there is no room for another worker");
        return -ENOSPC;
    }
    return member > 0 ? 0 : member;
}

int summon_spare(struct session *session, const char *where, struct node **spare, bool *came, char *why, size_t size)
{
    *spare = find_at(session, where);
    *came = !*spare;
    if (*came && !strcmp(where, "spare")) {
        snprintf(why, size, "there is no spare worker");
        return -ENODEV;
    }
    return *came ? summon_worker(session, where, spare, why, size) : 0;
}

void summon_drop(struct session *session, struct node *spare)
{
    session_lock(session);
    if (spare->peer)
        session_drop_spare(session, spare);
    session_unlock(session);
}

/* Moves a node to a spare worker. any: also one of another kind of device. */
static int move_node(struct node *node, const struct node *spare, bool any, struct move_watch *watch, char *why,
                     size_t size)
{
    const bool was = node->any;
    int error;

    node->any |= any;
    error = session_move(node, spare->peer, watch, why, size);
    if (error)
        node->any = was;
    return error;
}

int summon_move(struct node *node, const char *where, bool any, struct move_watch *watch, char *why, size_t size)
{
    struct node *spare;
    bool came;
    int error = summon_spare(node->session, where, &spare, &came, why, size);

    if (error)
        return error;
    error = move_node(node, spare, any, watch, why, size);
    if (came)
        summon_drop(node->session, spare);
    return error;
}

void summon_lock(void)
{
    mutex_lock(&members);
}

void summon_unlock(void)
{
    mutex_unlock(&members);
}

static void tell_phase(void *argument, const char *phase, uint64_t bytes, uint64_t total)
{
    answer_progress(argument, REQUEST_PHASE "%s %llu %llu", phase, (unsigned long long)bytes,
                    (unsigned long long)total);
}

struct move_watch summon_watch(struct answer *answer)
{
    return (struct move_watch){.told = tell_phase, .argument = answer};
}

/* Moves all nodes, or only those on the host `from`, if that is not NULL. */
static void move_to(struct session *session, const char *where, const char *from, bool any, struct answer *answer)
{
    struct move_watch watch = summon_watch(answer);
    char why[300] = "";
    unsigned moved = 0;
    int error = 0;

    if (suspend_is_on()) { /* since the request */
        answer_end(answer, false, "it is suspended");
        return;
    }
    for (unsigned i = 0; !error && i < session_node_count(session); i++) {
        struct node *node = session_node(session, i);

        if (node->in_process || (from && strcasecmp(from, transport_peer_host(session_transport(session), node->peer))))
            continue;
        error = summon_move(node, where, any, &watch, why, sizeof(why));
        moved += !error;
        if (!error)
            answer_progress(answer, "%s", why);
    }
    if (!error && !moved)
        answer_end(answer, false, "there is nothing to move");
    else if (error)
        answer_end(answer, false, "%s%s", moved ? "not all of it has moved: " : "", why);
    else
        answer_end(answer, true, "moved to %s", where);
}

static void suspend_or_resume(struct session *session, bool suspend, struct answer *answer)
{
    struct move_watch watch = summon_watch(answer);
    char why[300] = "";
    const int error = (suspend ? suspend_begin : suspend_end)(session, &watch, why, sizeof(why));

    answer_end(answer, !error, "%s", why);
}

/* Reports that the node leaves, or the end of the old worker would be taken for the end of the one that moves. */
static void tell_leaving(void *argument)
{
    answer_progress(argument, "%s", REQUEST_LEAVES);
    answer_await(argument, RECORD_MS);
}

/* Moves the node behind that member, in a pool, which has a place for it. That it has moved is on record before its old
 * worker ends. */
static void move_member(struct session *session, unsigned member, const char *where, bool any, struct answer *answer)
{
    struct move_watch watch = summon_watch(answer);
    struct node *node = NULL, *spare;
    char why[300] = "";
    int error;

    for (unsigned i = 0; i < session_node_count(session); i++) {
        if (session_node(session, i)->peer == member && !session_node(session, i)->in_process)
            node = session_node(session, i);
    }
    if (!node) {
        answer_end(answer, false, "the session has no worker %u", member);
        return;
    }
    watch.leaves = tell_leaving;
    error = summon_worker(session, where, &spare, why, sizeof(why));
    if (!error) {
        error = move_node(node, spare, any, &watch, why, sizeof(why));
        if (error == -EXDEV)
            answer_progress(answer, REQUEST_UNFIT " %u", spare->unfit);
        if (error)
            answer_end(answer, false, "%s", why);
        else
            answer_end(answer, true, "bytes %llu pause %ld us: %s", (unsigned long long)watch.bytes, watch.pause_us,
                       why);
        answer_await(answer, RECORD_MS);
        summon_drop(session, spare);
    } else {
        answer_end(answer, false, "%s", why);
    }
}

static void on_request(void *context, const char *request, struct answer *answer)
{
    char where[256] = "", from[256] = "", text[1000];
    unsigned member;
    const bool any = !strncmp(request, "move any ", strlen("move any "));
    const char *place = any                                           ? request + strlen("move any ")
                        : !strncmp(request, "move ", strlen("move ")) ? request + strlen("move ")
                                                                      : "";
    const int words = sscanf(place, "to %255s from %255s", where, from);
    const bool moves = *place;

    if (!strcmp(request, "suspend") || !strcmp(request, "resume")) {
        suspend_or_resume(context, !strcmp(request, "suspend"), answer);
        return;
    }
    if (!strncmp(request, "checkpoint ", 11)) {
        checkpoint_answer(context, request, answer);
        return;
    }
    if (moves && suspend_settle(text, sizeof(text))) {
        answer_end(answer, false, "%s", text);
        return;
    }
    summon_lock();
    if (sscanf(place, "member %u to %255s", &member, where) == 2)
        move_member(context, member, where, any, answer);
    else if (words >= 1 && (words == 2 || !strchr(place + strlen("to "), ' ')))
        move_to(context, where, words == 2 ? from : NULL, any, answer);
    else if (!strncmp(request, "trace ", 6))
        answer_end(answer, timeline_request(context, request + 6, text, sizeof(text)), "%s", text);
    else
        answer_end(answer, false, "unknown request");
    summon_unlock();
}

void summon_start(struct session *session)
{
    session_lock(session);
    transport_on_request(session_transport(session), on_request, session);
    session_unlock(session);
}
