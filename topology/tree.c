/* Builds and queries trees, node by node. See topology.h. */
#include <stdlib.h>
#include <string.h>

#include "topology/topology.h"

struct topology *topology_new(const char *name)
{
    struct topology *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    snprintf(t->name, sizeof(t->name), "%s", name);
    t->tau = TOPOLOGY_TAU;
    t->bandwidth = TOPOLOGY_BANDWIDTH;
    return t;
}

int topology_find(const struct topology *t, const char *name)
{
    for (unsigned i = 0; i < t->node_count; i++) {
        if (!strcmp(t->nodes[i].name, name))
            return (int)i;
    }
    return -1;
}

static const char *check(const struct topology *t, enum topology_kind kind, const char *name, int parent)
{
    bool leaf = kind == TOPOLOGY_DEVICE || kind == TOPOLOGY_INTERFACE;

    if (strlen(name) >= sizeof(t->nodes[0].name))
        return "the name is too long";
    if (t->node_count == TOPOLOGY_MOST_NODES)
        return "there are too many nodes";
    if (topology_find(t, name) >= 0)
        return "the name is taken";
    if (parent < 0 && leaf)
        return "a device or interface needs a parent";
    if (parent >= 0 && kind == TOPOLOGY_ROOT)
        return "a root has no parent";
    if (parent < 0 && t->node_count)
        return "there is a root already, and this one has no parent";
    if (parent >= 0 && t->nodes[parent].kind >= TOPOLOGY_DEVICE)
        return "its parent is a device or interface";
    if (parent >= 0 && t->nodes[parent].depth + 1 >= TOPOLOGY_MOST_DEPTH)
        return "the tree is too deep";
    return NULL;
}

const char *topology_add(struct topology *t, enum topology_kind kind, const char *name, int parent)
{
    struct topology_node *node = &t->nodes[t->node_count];
    const char *wrong = check(t, kind, name, parent);

    if (wrong)
        return wrong;
    *node = (struct topology_node){
        .kind = kind, .parent = parent, .device = -1, .numa = parent < 0 ? -1 : t->nodes[parent].numa};
    strcpy(node->name, name);
    node->depth = parent < 0 ? 0 : t->nodes[parent].depth + 1;
    if (kind == TOPOLOGY_DEVICE) {
        node->device = (int)t->device_count;
        t->devices[t->device_count++] = t->node_count;
    }
    if (node->depth > t->depth)
        t->depth = node->depth;
    t->node_count++;
    return NULL;
}

unsigned topology_distance(const struct topology *t, unsigned a, unsigned b)
{
    unsigned links = 0;

    for (; a != b; links++) {
        if (t->nodes[a].depth >= t->nodes[b].depth)
            a = (unsigned)t->nodes[a].parent;
        else
            b = (unsigned)t->nodes[b].parent;
    }
    return links;
}

unsigned topology_numa_distance(const struct topology *t, unsigned a, unsigned b)
{
    const int from = t->nodes[a].numa, to = t->nodes[b].numa;

    if (from < 0 || to < 0 || from >= TOPOLOGY_MOST_NUMA || to >= TOPOLOGY_MOST_NUMA)
        return 0;
    return t->numa_distances[from][to];
}

int topology_interface_near(const struct topology *t, unsigned node)
{
    unsigned least = 0, least_numa = 0;
    int near = -1;

    for (unsigned i = 0; i < t->node_count; i++) {
        unsigned links, numa;

        if (t->nodes[i].kind != TOPOLOGY_INTERFACE)
            continue;
        links = topology_distance(t, node, i);
        numa = topology_numa_distance(t, node, i);
        if (near >= 0 && (numa > least_numa || (numa == least_numa && links >= least)))
            continue;
        near = (int)i;
        least = links;
        least_numa = numa;
    }
    return near;
}

int topology_root_port(const struct topology *t, unsigned node)
{
    if (!t->nodes[node].depth)
        return -1;
    while (t->nodes[node].depth > 1)
        node = (unsigned)t->nodes[node].parent;
    return (int)node;
}
