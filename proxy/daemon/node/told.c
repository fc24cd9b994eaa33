#include <stdlib.h>
#include <string.h>

#include "proxy/daemon/net/message.h"
#include "proxy/daemon/node/told.h"

#define DEVICE(member) FIELD(struct told_device, member, #member)
#define SESSION(member) FIELD(struct told_session, member, #member)
#define WAIT(member) FIELD(struct told_wait, member, #member)
#define NODE(member) FIELD(struct told_node, member, #member)

static const struct field of_devices[] = {DEVICE(index),    DEVICE(leaf),  DEVICE(name),  DEVICE(type), DEVICE(memory),
                                          DEVICE(limit),    DEVICE(free),  DEVICE(units), DEVICE(mode), DEVICE(most),
                                          DEVICE(sessions), DEVICE(taken), FIELD_END};

static const struct field of_sessions[] = {SESSION(id),
                                           SESSION(user),
                                           SESSION(program),
                                           SESSION(job),
                                           SESSION(from),
                                           SESSION(state),
                                           SESSION(devices),
                                           SESSION(share),
                                           SESSION(slot),
                                           SESSION(began),
                                           SESSION(part),
                                           SESSION(replaces),
                                           SESSION(within),
                                           SESSION(limit),
                                           SESSION(exclusive),
                                           SESSION(patience),
                                           SESSION(asked),
                                           SESSION(move),
                                           FIELD_IF_SET(struct told_session, idle, "idle"),
                                           FIELD_IF_SET(struct told_session, until, "until"),
                                           FIELD_IF_SET(struct told_session, account, "account"),
                                           FIELD(struct told_session, may_be_suspended, "may be suspended"),
                                           FIELD_END};

/* "devices" is the number that they had. */
static const struct field of_suspended[] = {
    SESSION(id),   SESSION(user),  SESSION(program), SESSION(job),
    SESSION(from), SESSION(state), SESSION(began),   FIELD(struct told_session, device_count, "devices"),
    FIELD_END};

static const struct field of_waits[] = {WAIT(user),
                                        FIELD(struct told_wait, count, "devices"),
                                        WAIT(why),
                                        WAIT(broker),
                                        WAIT(ticket),
                                        WAIT(memory),
                                        WAIT(exclusive),
                                        WAIT(name),
                                        WAIT(type),
                                        WAIT(policy),
                                        FIELD(struct told_wait, limited, "held"),
                                        WAIT(barred),
                                        WAIT(unfit),
                                        FIELD_IF_SET(struct told_wait, ahead, "ahead"),
                                        FIELD_END};

static const struct field of_nodes[] = {
    NODE(name),   NODE(address), NODE(state),   NODE(why),
    NODE(drains), NODE(policy),  NODE(version), FIELD_IF_SET(struct told_node, http, "http"),
    FIELD_END};

/* Members that change all the time. */
static const struct field loads[] = {DEVICE(load), DEVICE(busy), FIELD_END};
static const struct field uses[] = {SESSION(device_seconds), SESSION(cpu_seconds), SESSION(launches), SESSION(bytes_in),
                                    SESSION(bytes_out),      SESSION(memory),      FIELD_END};
static const struct field ages[] = {WAIT(waited), FIELD_END};
static const struct field times[] = {NODE(time), FIELD_END};

/* The lists in a node's state. */
static const struct {
    const char *name;
    const struct field *fields, *restless;
    size_t list, count, size;
} lists[] = {
#define LIST(name, member, number, fields, restless, type)                                                             \
    {                                                                                                                  \
        name, fields, restless, offsetof(struct told_node, member), offsetof(struct told_node, number), sizeof(type)   \
    }
    LIST("devices", devices, device_count, of_devices, loads, struct told_device),
    LIST("sessions", sessions, session_count, of_sessions, uses, struct told_session),
    LIST("queue", queue, queue_count, of_waits, ages, struct told_wait),
    LIST("suspended", suspended, suspended_count, of_suspended, NULL, struct told_session)};

#define LISTS (sizeof(lists) / sizeof(*lists))

static void **list_of(const struct told_node *node, size_t i)
{
    return (void **)((char *)(uintptr_t)node + lists[i].list);
}

static unsigned *count_of(const struct told_node *node, size_t i)
{
    return (unsigned *)((char *)(uintptr_t)node + lists[i].count);
}

bool told_is_away(const struct told_node *node)
{
    return !strcmp(node->state, "lost") || !strcmp(node->state, "other-version");
}

bool told_uses(const struct told_session *session, unsigned device)
{
    unsigned i = 0;

    while (i < session->device_count && session->devices[i] != device)
        i++;
    return i < session->device_count;
}

static json_t *print(const struct told_node *node, bool matters)
{
    json_t *told = fields_print(of_nodes, matters ? NULL : times, node);

    for (size_t i = 0; i < LISTS; i++)
        message_set(&told, lists[i].name,
                    fields_print_all(lists[i].fields, matters ? NULL : lists[i].restless, *list_of(node, i),
                                     *count_of(node, i), lists[i].size));
    return told;
}

json_t *told_print(const struct told_node *node)
{
    return print(node, false);
}

char *told_matters(const struct told_node *node)
{
    json_t *told = print(node, true);
    char *text = json_dumps(told, JSON_COMPACT);

    json_decref(told);
    return text;
}

json_t *told_print_waits(const struct told_wait *waits, unsigned count)
{
    return fields_print_all(of_waits, ages, waits, count, sizeof(*waits));
}

struct told_node *told_read(json_t *json)
{
    struct told_node *node = calloc(1, sizeof(*node));

    if (!node)
        return NULL;
    node->json = json_incref(json);
    fields_read(of_nodes, times, json, node);
    for (size_t i = 0; i < LISTS; i++)
        *list_of(node, i) = fields_read_all(lists[i].fields, lists[i].restless, json_object_get(json, lists[i].name),
                                            lists[i].size, count_of(node, i));
    return node;
}

void told_free(struct told_node *node)
{
    for (size_t i = 0; node && i < LISTS; i++)
        free(*list_of(node, i));
    if (node)
        json_decref(node->json);
    free(node);
}

json_t *node_print(const struct daemon *d)
{
    struct told_node *node = node_describe(d);
    json_t *told = node ? told_print(node) : NULL;

    told_free(node);
    return told;
}
