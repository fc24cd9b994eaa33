#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/daemon/schedule/placement.h"

static bool is_free(const struct placement_device *device, const struct placement_wish *wish)
{
    return !device->taken && (wish->exclusive ? !device->sessions : device->sessions < device->most);
}

enum placement_lack placement_lacks(const struct placement_device *device, const struct placement_wish *wish)
{
    if ((*wish->name && fnmatch(wish->name, device->name, FNM_CASEFOLD)) ||
        (*wish->type && strcmp(wish->type, device->type) != 0))
        return PLACEMENT_OTHER;
    if (device->whole < wish->memory)
        return PLACEMENT_SMALL;
    if (!is_free(device, wish))
        return PLACEMENT_TAKEN;
    return device->memory < wish->memory ? PLACEMENT_FULL : PLACEMENT_GOOD;
}

/* What is known of each node during a choice, so that each device is looked at once for each device wished. */
struct node {
    unsigned first, end; /* its devices are in this range, perhaps with others' */
    unsigned left, own;  /* left: devices that could be had; own: those already chosen */
};

/* The cost of a place, computed for another node that is equal. */
struct known_place {
    const struct topology *tree;
    uint64_t users; /* hash of the number of users of each device; 0: unused entry */
    int leaf;
    double cost;
};

#define KNOWN_PLACES 4096 /* a power of two */

struct choice {
    const struct placement_device *devices;
    unsigned count;
    const struct placement_wish *wish;
    struct node *nodes;
    bool *fits, *taken;
    struct known_place *places; /* or NULL */
};

static void choice_end(struct choice *c)
{
    free(c->nodes);
    free(c->fits);
    free(c->taken);
    free(c->places);
}

static bool choice_begin(struct choice *c, const struct placement_device *devices, unsigned count,
                         const struct placement_wish *wish)
{
    unsigned nodes = 0;

    for (unsigned i = 0; i < count; i++)
        nodes = devices[i].node >= nodes ? devices[i].node + 1 : nodes;
    *c = (struct choice){devices,
                         count,
                         wish,
                         calloc(nodes + 1, sizeof(*c->nodes)),
                         calloc(count + 1, sizeof(*c->fits)),
                         calloc(count + 1, sizeof(*c->taken)),
                         NULL};
    if (!c->nodes || !c->fits || !c->taken)
        return false;
    for (unsigned i = 0; i < count; i++) {
        struct node *node = &c->nodes[devices[i].node];

        if (!node->end)
            node->first = i;
        node->end = i + 1;
        c->fits[i] = devices[i].usable && placement_lacks(&devices[i], wish) == PLACEMENT_GOOD;
        node->left += c->fits[i];
    }
    return true;
}

static void choice_take(struct choice *c, unsigned at)
{
    struct node *node = &c->nodes[c->devices[at].node];

    c->taken[at] = true;
    node->left--;
    node->own++;
}

#define MOST_DELAY 10 /* a transfer that waits for another counts as this many times slower */

/* Returns by how much transfers take longer than alone, summed up, if all devices of a node that are in use, chosen, or
 * at this place transfer to and from the host's memory at once. */
static double congestion(const struct choice *c, unsigned node, unsigned at)
{
    const struct placement_device *devices = c->devices;
    struct topology_transfer transfers[TOPOLOGY_MOST_TRANSFERS];
    double factors[TOPOLOGY_MOST_TRANSFERS], delay = 0;
    const struct topology *tree = NULL;
    unsigned some = 0;

    for (unsigned i = c->nodes[node].first; i < c->nodes[node].end; i++) {
        unsigned users = (devices[i].sessions > 0) + c->taken[i] + (i == at);

        if (devices[i].node != node || devices[i].leaf < 0)
            continue;
        tree = devices[i].tree;
        for (; users && some + 2 <= TOPOLOGY_MOST_TRANSFERS; users--) {
            transfers[some++] =
                (struct topology_transfer){.source = (unsigned)devices[i].leaf, .target = TOPOLOGY_HOST};
            transfers[some++] =
                (struct topology_transfer){.source = TOPOLOGY_HOST, .target = (unsigned)devices[i].leaf};
        }
    }
    if (!tree || topology_factors(tree, tree->tau, transfers, some, factors, NULL))
        return 0;
    for (unsigned i = 0; i < some; i++)
        delay += (factors[i] * MOST_DELAY > 1 ? 1 / factors[i] : MOST_DELAY) - 1;
    return delay;
}

#define FAR (2 * TOPOLOGY_MOST_DEPTH) /* nodes of a tree are at most this many links apart */

/* Returns the number of links to the nearest network interface; 0: there is none. */
static unsigned links_to_network(const struct topology *tree, unsigned device)
{
    const unsigned node = tree->devices[device];
    const int near = topology_interface_near(tree, node);

    return near < 0 ? 0 : topology_distance(tree, node, (unsigned)near);
}

/* Returns how many of these links the device has more than the best one. */
static unsigned detour(const struct topology *tree, unsigned device)
{
    const unsigned links = links_to_network(tree, device);
    unsigned least = links;

    for (unsigned i = 0; i < tree->device_count; i++) {
        const unsigned other = links_to_network(tree, i);

        least = other < least ? other : least;
    }
    return links - least;
}

static double compute_place(const struct choice *c, unsigned at)
{
    const struct placement_device *device = &c->devices[at];
    double more = congestion(c, device->node, at) - congestion(c, device->node, c->count);

    more = more > 0 ? more : 0;
    return 0.9 * more / (1 + more) + 0.09 * detour(device->tree, (unsigned)device->leaf) / FAR;
}

/* Hashes which devices of a node are in use: nodes with the same tree and the same hash are equal. */
static uint64_t hash_users(const struct choice *c, unsigned number)
{
    const struct node *node = &c->nodes[number];
    uint64_t hash = 14695981039346656037u;

    for (unsigned i = node->first; i < node->end; i++) {
        const struct placement_device *device = &c->devices[i];

        if (device->node != number || device->leaf < 0)
            continue;
        hash = (hash ^ (unsigned)device->leaf) * 1099511628211u;
        hash = (hash ^ ((device->sessions > 0) + c->taken[i])) * 1099511628211u;
    }
    return hash | 1;
}

/* Returns a cost of the device's place in its node, from 0 to below 1: mostly by congestion with other devices. */
static double cost_of_place(struct choice *c, unsigned at)
{
    const struct placement_device *device = &c->devices[at];
    struct known_place *known, wanted = {.tree = device->tree, .leaf = device->leaf};

    if (!device->tree || device->leaf < 0)
        return 0;
    if (!c->places)
        c->places = calloc(KNOWN_PLACES, sizeof(*c->places));
    if (!c->places)
        return compute_place(c, at);
    wanted.users = hash_users(c, device->node);
    known = &c->places[((wanted.users >> 20) * 31 + ((uintptr_t)device->tree >> 4) + (unsigned)device->leaf) %
                       KNOWN_PLACES];
    if (known->tree != wanted.tree || known->users != wanted.users || known->leaf != wanted.leaf) {
        wanted.cost = compute_place(c, at);
        *known = wanted;
    }
    return known->cost;
}

/* Returns the cost without the place in the node; lower is better. */
static double base_cost(const struct choice *c, unsigned at, unsigned needed, enum policy policy)
{
    const struct placement_device *device = &c->devices[at];
    const struct node *node = &c->nodes[device->node];

    switch (policy) {
    /* First a node already chosen from; then one that has all that is needed; one in use; the fullest. */
    case POLICY_PACK:
        return (node->own ? 0 : 1e9) + (node->left >= needed ? 0 : 1e6) + (device->node_sessions ? 0 : 1e3) +
               node->left;
    case POLICY_SPREAD:
        return 1e6 * (node->own + device->node_sessions) + 1e3 * device->sessions;
    case POLICY_LEAST_LOADED:
        return 1e3 * device->sessions + device->load;
    case POLICY_ORDER:
        break;
    }
    return 0;
}

/* Returns the first of those with the lowest cost, or c->count. The cost of the place is computed only if it
 * matters. */
static unsigned find_best(struct choice *c, unsigned needed, enum policy policy)
{
    const bool ordered = policy == POLICY_ORDER;
    unsigned best = c->count;
    double least = HUGE_VAL;

    for (unsigned i = 0; i < c->count; i++) {
        const double price = c->taken[i] || !c->fits[i] ? HUGE_VAL : base_cost(c, i, needed, policy);

        if (price >= least)
            continue;
        least = price;
        best = i;
        if (ordered)
            break;
    }
    if (ordered || best == c->count)
        return best;
    least += cost_of_place(c, best);
    for (unsigned i = 0; i < c->count; i++) {
        double price = c->taken[i] || !c->fits[i] ? HUGE_VAL : base_cost(c, i, needed, policy);

        if (price > least)
            continue;
        price += cost_of_place(c, i);
        if (price > least || (price == least && i >= best))
            continue;
        least = price;
        best = i;
    }
    return best;
}

static bool choose(struct choice *c, enum policy policy, unsigned *chosen)
{
    for (unsigned got = 0; got < c->wish->count; got++) {
        const unsigned best = find_best(c, c->wish->count - got, policy);

        if (best == c->count)
            return false;
        choice_take(c, best);
        chosen[got] = best;
    }
    return true;
}

bool placement_choose(const struct placement_device *devices, unsigned count, const struct placement_wish *wish,
                      enum policy policy, unsigned *chosen, bool *ever)
{
    unsigned suitable = 0;
    struct choice c;
    bool good;

    for (unsigned i = 0; i < count && suitable < wish->count; i++)
        suitable += placement_lacks(&devices[i], wish) < PLACEMENT_SMALL;
    *ever = wish->count && suitable >= wish->count;
    if (!*ever)
        return false;
    good = choice_begin(&c, devices, count, wish) && choose(&c, policy, chosen);
    choice_end(&c);
    return good;
}
