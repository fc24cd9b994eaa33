/*
 * What users ask of the running session: "move to WHERE". WHERE is a host, "here" for this one, or "spare" for any
 * spare worker. If none of the spare workers is there, one comes for the move, and the one that was left goes when it
 * is over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "client/moving.h"

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

/* Under the lock. */
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

        if (spare->peer && spare->alive && is_at(session, spare, where))
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
        move_look_later();
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
    *out = member > 0 ? session_add_spare(session, (unsigned)member) : NULL;
    session_unlock(session);
    if (member > 0 && !*out) {
        snprintf(why, size, "there is no room for another worker");
        return -ENOSPC;
    }
    return member > 0 ? 0 : member;
}

static int move_one(struct node *node, const char *where, char *why, size_t size)
{
    struct session *session = node->session;
    struct node *spare = find_at(session, where);
    const bool came = !spare;
    int error = 0;

    if (came && !strcmp(where, "spare")) {
        snprintf(why, size, "there is no spare worker");
        return -ENODEV;
    }
    if (came)
        error = summon_worker(session, where, &spare, why, size);
    if (error)
        return error;
    error = session_move(node, spare->peer, why, size);
    if (came) {
        session_lock(session);
        session_drop_spare(session, spare);
        session_unlock(session);
    }
    return error;
}

/* from: only what is on that host; or NULL. */
static void move_to(struct session *session, const char *where, const char *from, struct answer *answer)
{
    char why[300] = "";
    unsigned moved = 0;
    int error = 0;

    for (unsigned i = 0; !error && i < session_node_count(session); i++) {
        struct node *node = session_node(session, i);

        if (node->in_process || (from && strcasecmp(from, transport_peer_host(session_transport(session), node->peer))))
            continue;
        error = move_one(node, where, why, sizeof(why));
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

static void on_request(void *context, const char *request, struct answer *answer)
{
    char where[256] = "", from[256] = "";
    const int words = sscanf(request, "move to %255s from %255s", where, from);

    if (words >= 1 && (words == 2 || !strchr(request + strlen("move to "), ' ')))
        move_to(context, where, words == 2 ? from : NULL, answer);
    else
        answer_end(answer, false, "this session does not know what that is");
}

void summon_start(struct session *session)
{
    session_lock(session);
    transport_on_request(session_transport(session), on_request, session);
    session_unlock(session);
}
