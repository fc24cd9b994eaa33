#include <stdlib.h>

#include "proxy/daemon/net/message.h"
#include "proxy/daemon/node/told.h"

static const struct field of_devices[] = {FIELD(struct told_device, index, "index"),
                                          FIELD(struct told_device, leaf, "leaf"),
                                          FIELD(struct told_device, name, "name"),
                                          FIELD(struct told_device, type, "type"),
                                          FIELD(struct told_device, memory, "memory"),
                                          FIELD(struct told_device, limit, "limit"),
                                          FIELD(struct told_device, free, "free"),
                                          FIELD(struct told_device, units, "units"),
                                          FIELD(struct told_device, mode, "mode"),
                                          FIELD(struct told_device, most, "most"),
                                          FIELD(struct told_device, sessions, "sessions"),
                                          FIELD(struct told_device, taken, "taken"),
                                          FIELD(struct told_device, load, "load"),
                                          FIELD(struct told_device, busy, "busy"),
                                          {.name = NULL}};

static const struct field of_sessions[] = {FIELD(struct told_session, id, "id"),
                                           FIELD(struct told_session, user, "user"),
                                           FIELD(struct told_session, program, "program"),
                                           FIELD(struct told_session, job, "job"),
                                           FIELD(struct told_session, from, "from"),
                                           FIELD(struct told_session, state, "state"),
                                           FIELD(struct told_session, devices, "devices"),
                                           FIELD(struct told_session, share, "share"),
                                           FIELD(struct told_session, slot, "slot"),
                                           FIELD(struct told_session, began, "began"),
                                           FIELD(struct told_session, device_seconds, "device_seconds"),
                                           FIELD(struct told_session, cpu_seconds, "cpu_seconds"),
                                           FIELD(struct told_session, launches, "launches"),
                                           FIELD(struct told_session, bytes_in, "bytes_in"),
                                           FIELD(struct told_session, bytes_out, "bytes_out"),
                                           FIELD(struct told_session, memory, "memory"),
                                           FIELD(struct told_session, part, "part"),
                                           FIELD(struct told_session, replaces, "replaces"),
                                           FIELD(struct told_session, within, "within"),
                                           FIELD(struct told_session, limit, "limit"),
                                           FIELD(struct told_session, exclusive, "exclusive"),
                                           FIELD_IF_SET(struct told_session, idle, "idle"),
                                           FIELD(struct told_session, may_rest, "may rest"),
                                           FIELD(struct told_session, patience, "patience"),
                                           FIELD(struct told_session, asked, "asked"),
                                           FIELD(struct told_session, move, "move"),
                                           {.name = NULL}};

/* They have no devices, but had so many. */
static const struct field of_resting[] = {FIELD(struct told_session, id, "id"),
                                          FIELD(struct told_session, user, "user"),
                                          FIELD(struct told_session, program, "program"),
                                          FIELD(struct told_session, job, "job"),
                                          FIELD(struct told_session, from, "from"),
                                          FIELD(struct told_session, state, "state"),
                                          FIELD(struct told_session, began, "began"),
                                          FIELD(struct told_session, device_count, "devices"),
                                          {.name = NULL}};

static const struct field of_waits[] = {FIELD(struct told_wait, user, "user"),
                                        FIELD(struct told_wait, count, "devices"),
                                        FIELD(struct told_wait, waited, "waited"),
                                        FIELD(struct told_wait, why, "why"),
                                        FIELD(struct told_wait, broker, "broker"),
                                        FIELD(struct told_wait, ticket, "ticket"),
                                        FIELD(struct told_wait, memory, "memory"),
                                        FIELD(struct told_wait, exclusive, "exclusive"),
                                        FIELD(struct told_wait, name, "name"),
                                        FIELD(struct told_wait, type, "type"),
                                        FIELD(struct told_wait, policy, "policy"),
                                        FIELD(struct told_wait, held, "held"),
                                        FIELD(struct told_wait, barred, "barred"),
                                        FIELD(struct told_wait, unfit, "unfit"),
                                        {.name = NULL}};

static const struct field of_nodes[] = {
    FIELD(struct told_node, name, "name"),     FIELD(struct told_node, address, "address"),
    FIELD(struct told_node, state, "state"),   FIELD(struct told_node, why, "why"),
    FIELD(struct told_node, drains, "drains"), FIELD(struct told_node, time, "time"),
    FIELD(struct told_node, policy, "policy"), {.name = NULL}};

/* The lists of a node. */
static const struct {
    const char *name;
    const struct field *fields;
    size_t list, count, size;
} lists[] = {
#define LIST(member, number, name, fields, type)                                                                       \
    {                                                                                                                  \
        name, fields, offsetof(struct told_node, member), offsetof(struct told_node, number), sizeof(type)             \
    }
    LIST(devices, device_count, "devices", of_devices, struct told_device),
    LIST(sessions, session_count, "sessions", of_sessions, struct told_session),
    LIST(queue, queue_count, "queue", of_waits, struct told_wait),
    LIST(resting, resting_count, "resting", of_resting, struct told_session)};

#define LISTS (sizeof(lists) / sizeof(*lists))

static void **list_of(const struct told_node *node, size_t i)
{
    return (void **)((char *)(uintptr_t)node + lists[i].list);
}

static unsigned *count_of(const struct told_node *node, size_t i)
{
    return (unsigned *)((char *)(uintptr_t)node + lists[i].count);
}

bool told_uses(const struct told_session *session, unsigned device)
{
    unsigned i = 0;

    while (i < session->device_count && session->devices[i] != device)
        i++;
    return i < session->device_count;
}

json_t *told_print(const struct told_node *node)
{
    json_t *told = fields_print(of_nodes, node);

    for (size_t i = 0; told && i < LISTS; i++)
        json_object_set_new(told, lists[i].name,
                            fields_print_all(lists[i].fields, *list_of(node, i), *count_of(node, i), lists[i].size));
    return told;
}

json_t *told_print_waits(const struct told_wait *waits, unsigned count)
{
    return fields_print_all(of_waits, waits, count, sizeof(*waits));
}

struct told_node *told_read(json_t *json)
{
    struct told_node *node = calloc(1, sizeof(*node));

    if (!node)
        return NULL;
    node->json = json_incref(json);
    fields_read(of_nodes, json, node);
    for (size_t i = 0; i < LISTS; i++)
        *list_of(node, i) =
            fields_read_all(lists[i].fields, json_object_get(json, lists[i].name), lists[i].size, count_of(node, i));
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
