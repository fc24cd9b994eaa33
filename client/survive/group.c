/* Nodes that have had to do with each other: see group.h. */
#include "client/survive/group.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "client/core/session.h"
#include "client/survive/journal.h"

static void note_met(struct node *node, const struct node *other)
{
    struct journal *j = node->journal;

    if (!j || j->off)
        return;
    if (!j->met_any || !node_set_has(&j->met, other->index))
        vocl_log(LOG_DEBUG, "worker %u has met worker %u", node->peer, other->peer);
    j->met_any = true;
    if (node_set_add(&j->met, other->index))
        return;
    vocl_log(LOG_ERROR, "no memory for what worker %u has to do with others: its loss would be one", node->peer);
    journal_off(j);
}

void group_meet(struct node *one, struct node *other)
{
    note_met(one, other);
    note_met(other, one);
}

int group_find(struct node *node, struct group *out)
{
    struct session *session = node->session;
    const unsigned most = session_node_count(session);
    struct node **nodes = calloc(most, sizeof(struct node *));
    bool *has = calloc(most, sizeof(*has));
    unsigned count = 0;

    if (!nodes || !has) {
        free(nodes);
        free(has);
        return -ENOMEM;
    }
    nodes[count++] = node;
    has[node->index] = true;
    for (unsigned i = 0; i < count; i++) {
        const struct journal *j = nodes[i]->journal;

        for (unsigned other = 0; j && j->met_any && other < most; other++) {
            if (has[other] || !node_set_has(&j->met, other))
                continue;
            has[other] = true;
            nodes[count++] = session_node(session, other);
        }
    }
    free(has);
    *out = (struct group){nodes, count};
    return 0;
}

void group_free(struct group *group)
{
    free(group->nodes);
    *group = (struct group){0};
}

const char *group_bound(const struct group *group)
{
    const char *why = NULL;

    for (unsigned i = 0; i < group->count && !why; i++) {
        const struct node *node = group->nodes[i];

        if (node->in_process)
            why = "what it has told devices of the program's own process";
        else if (!node->alive && !node->mending)
            why = "what it has told a worker that is lost";
        else
            why = journal_bound(node->journal);
    }
    return why;
}

#define READDRESS(name)                                                                                                \
    case WIRE_##name: {                                                                                                \
        struct wire_##name m;                                                                                          \
                                                                                                                       \
        if (!wire_get_##name(&in, &m) || !now[m.peer])                                                                 \
            break;                                                                                                     \
        m.peer = now[m.peer];                                                                                          \
        wire_put_##name(&out, &m);                                                                                     \
        break;                                                                                                         \
    }

void group_readdress(struct wire_buffer *commands, const unsigned *now)
{
    struct wire_cursor at = wire_cursor(commands->bytes, commands->length), fields;
    struct wire_buffer out = {0};
    uint16_t number;

    while (wire_next(&at, &number, &fields) == 1) {
        const size_t length = fields.left + WIRE_HEADER, place = (size_t)(fields.at - commands->bytes) - WIRE_HEADER;
        struct wire_cursor in = fields;

        out.length = 0;
        switch (number) {
            READDRESS(export_event)
            READDRESS(migrate_out)
            READDRESS(migrate_in)
        }
        if (!out.failed && out.length == length)
            memcpy(commands->bytes + place, out.bytes, length);
        commands->failed |= out.failed;
    }
    wire_buffer_free(&out);
}
