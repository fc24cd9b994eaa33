/* A pool's session has lost a worker: see losses.h. */
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "proxy/launch/losses.h"
#include "proxy/launch/wanted.h"

#define LEAST_WAIT 60 /* seconds for a place: until the pool has noticed that a node is gone */

static struct pool_session session;

/* Places of workers that have ended, by their numbers, the last ones. */
static struct {
    unsigned member;
    json_t *wish;
    char address[128];
} ended[ATTEND_MOST];
static unsigned ended_count;

static char lost_address[128];
static unsigned next; /* daemon to be asked */

void losses_open(const struct pool_session *given)
{
    session = *given;
}

void losses_keep(const struct attended *node)
{
    const unsigned at = ended_count++ % ATTEND_MOST;

    json_decref(ended[at].wish);
    ended[at].member = node->member;
    ended[at].wish = json_incref(node->wish);
    snprintf(ended[at].address, sizeof(ended[at].address), "%s", node->address);
}

/* The last one that had the number. */
static json_t *find_ended(unsigned member)
{
    for (unsigned i = ended_count; i-- > 0 && i + ATTEND_MOST >= ended_count;) {
        const unsigned at = i % ATTEND_MOST;

        if (ended[at].member != member)
            continue;
        snprintf(lost_address, sizeof(lost_address), "%s", ended[at].address);
        return ended[at].wish;
    }
    return NULL;
}

/* Its daemon may not have noticed yet, or cannot say so. */
static json_t *find_wish(unsigned member)
{
    struct attended *node = newcomers_find(&session, member);

    if (!node)
        return find_ended(member);
    if (!node->leaving)
        attend_leave(node, true, "lost");
    snprintf(lost_address, sizeof(lost_address), "%s", node->address);
    return node->wish;
}

/* One after the other, those first that are not on the lost one's host, which may be gone. */
static const char *daemon_to_ask(bool lost)
{
    const unsigned count = session.pool->count;

    next += lost;
    if (count > 1 && !strcmp(session.pool->nodes[next % count].address, lost_address))
        next++;
    return session.pool->nodes[next % count].address;
}

bool losses_hear_program(const struct channel_message *message)
{
    const long wait = settings_number(SETTING_POOL_WAIT);
    json_t *request;
    unsigned lost;

    if (!wanted_read(message, &lost))
        return false;
    request = json_copy(find_wish(lost));
    if (!request) {
        wanted_refuse(message, "the session had no such worker");
        return true;
    }
    json_object_set_new(request, "instead", json_string(session.id));
    json_object_set_new(request, "wait", json_integer(wait > LEAST_WAIT ? wait : LEAST_WAIT));
    next = 0;
    wanted_begin(message, request, daemon_to_ask);
    return true;
}
