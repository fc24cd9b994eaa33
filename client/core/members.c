/* Which node each member of the session's job is: the program's nodes, spares, and members that join and leave. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "client/core/members.h"
#include "client/trace/timeline.h"

unsigned session_node_count(const struct session *session)
{
    return session->node_count;
}

struct node *session_node(struct session *session, unsigned index)
{
    return &session->nodes[index];
}

unsigned session_spare_count(const struct session *session)
{
    return session->spare_count;
}

struct node *session_spare(struct session *session, unsigned index)
{
    return &session->nodes[session->node_count + index];
}

void session_swap(struct node *one, struct node *other, bool anew)
{
    const struct node was = *one;
    struct session *session = one->session;

    one->peer = other->peer;
    memcpy(one->host, other->host, sizeof(one->host));
    one->alive = other->alive;
    if (one->memory != NODE_MEMORY_APART || anew) /* else the program may know that it shares no memory */
        one->memory = other->memory;
    one->counts = other->counts;
    one->batch = other->batch;
    one->timeline = other->timeline;
    other->peer = was.peer;
    memcpy(other->host, was.host, sizeof(other->host));
    other->alive = was.alive;
    other->memory = was.memory;
    other->counts = was.counts;
    other->batch = was.batch;
    other->timeline = was.timeline;
    one->last_length = other->last_length = 0;
    one->digest = other->digest = 0;
    one->repeats = other->repeats = 0;
    one->suspended = false;
    session->members[one->peer] = one;
    if (other->peer)
        session->members[other->peer] = other;
}

void session_dismiss(struct node *node)
{
    struct session *session = node->session;
    const unsigned peer = node->peer;

    while (node->alive && session->members[peer] == node) {
        session->members[peer] = NULL; /* what the member sends from now on is ignored */
        if (transport_drop_member(session->transport, peer) != -EBUSY || session->stop)
            return;
        /* the other members are connecting with a new worker, and all of them must stay */
        session->members[peer] = node;
        session_need_progress(session);
        session_unlock(session);
        session_look_later();
        session_lock(session);
    }
}

void session_suspend(struct node *node)
{
    struct session *session = node->session;

    session_dismiss(node);
    node->suspended = true;
    node->alive = false;
    node->last_length = 0;
    node->repeats = 0;
    wire_buffer_free(&node->batch);
    session->members[node->peer] = NULL;
    node->peer = 0;
}

unsigned members_nodes(const struct session *session)
{
    return session->node_count + session->spare_count;
}

static void node_open(struct node *node, struct session *session, unsigned peer)
{
    *node = (struct node){.session = session, .peer = peer, .index = (unsigned)(node - session->nodes), .alive = true};
    snprintf(node->host, sizeof(node->host), "%s", transport_peer_host(session->transport, peer));
}

struct node *session_add_spare(struct session *session, unsigned peer)
{
    struct node *spare = NULL;

    for (unsigned i = 0; i < session->spare_count && !spare; i++) {
        if (!session_spare(session, i)->peer)
            spare = session_spare(session, i);
    }
    if (peer >= session->member_count || (!spare && members_nodes(session) + 1 >= session->member_count))
        return NULL;
    if (!spare)
        spare = session_spare(session, session->spare_count++);
    node_open(spare, session, peer);
    session->members[peer] = spare;
    timeline_open_node(spare);
    return spare;
}

void session_drop_spare(struct session *session, struct node *spare)
{
    const unsigned peer = spare->peer;

    spare->promised = true; /* so that no other thread takes it meanwhile */
    session_dismiss(spare);
    if (session->members[peer] == spare)
        session->members[peer] = NULL;
    spare->alive = false;
    spare->peer = 0;
    wire_buffer_free(&spare->batch);
    free(spare->last);
    spare->last = NULL;
}

bool session_refuse_spare(struct session *session, struct node *spare, const char *place)
{
    const bool others = spare->alive && transport_refuse_member(session->transport, spare->peer, place, spare->unfit);

    session_drop_spare(session, spare);
    return others;
}

void session_replace(struct node *node, struct node *spare)
{
    struct session *session = node->session;

    if (session->members[node->peer] == node) /* else the number is another node's by now */
        session->members[node->peer] = NULL;
    session->members[spare->peer] = node;
    node->peer = spare->peer;
    memcpy(node->host, spare->host, sizeof(node->host));
    node->digest = 0;
    spare->alive = false;
    spare->peer = 0;
    wire_buffer_free(&spare->batch);
    free(spare->last);
    spare->last = NULL;
}

struct node *members_node(const struct session *session, unsigned peer)
{
    return peer < session->member_count ? session->members[peer] : NULL;
}

bool members_find(struct session *session, bool has_local)
{
    const unsigned members = transport_peers(session->transport), workers = members - 1 - has_local;
    const long wanted = settings_number(SETTING_SPARE);

    session->spare_count = wanted < (long)workers ? (unsigned)wanted : workers ? workers - 1 : 0;
    session->node_count = members - 1 - session->spare_count;
    session->member_count = transport_most_peers(session->transport) + 1;
    session->nodes = calloc(session->member_count, sizeof(*session->nodes));
    session->members = calloc(session->member_count, sizeof(struct node *));
    if (!session->nodes || !session->members)
        return false;
    for (unsigned peer = 1; peer < members; peer++) {
        const bool local = has_local && peer == members - 1, spare = !local && peer > workers - session->spare_count;
        const unsigned at = local ? session->node_count - 1 : spare ? peer - 1 + has_local : peer - 1;

        node_open(&session->nodes[at], session, peer);
        session->nodes[at].in_process = local;
        session->members[peer] = &session->nodes[at];
    }
    return true;
}
