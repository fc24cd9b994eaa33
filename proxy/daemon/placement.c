#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/daemon/placement.h"

static bool is_wished(const struct placement_device *device, const struct placement_wish *wish)
{
    return (!*wish->name || !fnmatch(wish->name, device->name, FNM_CASEFOLD)) &&
           (!*wish->type || !strcmp(wish->type, device->type)) && device->whole >= wish->memory;
}

static bool suits(const struct placement_device *device, const struct placement_wish *wish)
{
    return device->usable && device->memory >= wish->memory && is_wished(device, wish);
}

static bool is_free(const struct placement_device *device, const struct placement_wish *wish)
{
    return !device->taken && (wish->exclusive ? !device->sessions : device->sessions < device->most);
}

/* How many of the devices of a node could be had, and how many are chosen already. */
static void count_node(const struct placement_device *devices, unsigned count, const struct placement_wish *wish,
                       const bool *taken, unsigned node, unsigned *left, unsigned *own)
{
    *left = *own = 0;
    for (unsigned i = 0; i < count; i++) {
        if (devices[i].node != node)
            continue;
        *own += taken[i];
        *left += !taken[i] && suits(&devices[i], wish) && is_free(&devices[i], wish);
    }
}

#define MOST_DELAY 10 /* what waits for another counts as so many times slower */

/* What the devices of a node that are in use, chosen, or at this place get of their links when all send to the host's
 * memory and from there: how much longer it takes than alone, summed up. */
static double congestion(const struct placement_device *devices, unsigned count, const bool *taken, unsigned node,
                         unsigned at)
{
    struct topology_transfer transfers[TOPOLOGY_MOST_TRANSFERS];
    double factors[TOPOLOGY_MOST_TRANSFERS], delay = 0;
    const struct topology *tree = NULL;
    unsigned some = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned users = (devices[i].sessions > 0) + taken[i] + (i == at);

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

#define FAR (2 * TOPOLOGY_MOST_DEPTH) /* more links than this there are not between two nodes of a tree */

/* Links to the nearest network interface; 0 if there is none. */
static unsigned links_to_network(const struct topology *tree, unsigned device)
{
    const unsigned node = tree->devices[device];
    const int near = topology_interface_near(tree, node);

    return near < 0 ? 0 : topology_distance(tree, node, (unsigned)near);
}

/* How many of them the device has more than the one that has least. */
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

/* Where the device is in its node, as a cost from 0 to below 1: mostly, by how much it and the others would be in each
 * other's way. */
static double cost_of_place(const struct placement_device *devices, unsigned count, const bool *taken, unsigned at)
{
    const struct placement_device *device = &devices[at];
    double more;

    if (!device->tree || device->leaf < 0)
        return 0;
    more = congestion(devices, count, taken, device->node, at) - congestion(devices, count, taken, device->node, count);
    return 0.9 * more / (1 + more) + 0.09 * detour(device->tree, (unsigned)device->leaf) / FAR;
}

/* The lower the better; equals in the order of the list. */
static double cost(const struct placement_device *devices, unsigned count, const struct placement_wish *wish,
                   const bool *taken, unsigned at, unsigned needed, enum policy policy)
{
    const struct placement_device *device = &devices[at];
    unsigned left, own;

    switch (policy) {
    case POLICY_PACK: /* a node that it is on already; one that has all that is needed; one that is in use; the fullest
                       */
        count_node(devices, count, wish, taken, device->node, &left, &own);
        return (own ? 0 : 1e9) + (left >= needed ? 0 : 1e6) + (device->node_sessions ? 0 : 1e3) + left +
               cost_of_place(devices, count, taken, at);
    case POLICY_SPREAD:
        count_node(devices, count, wish, taken, device->node, &left, &own);
        return 1e6 * (own + device->node_sessions) + 1e3 * device->sessions + cost_of_place(devices, count, taken, at);
    case POLICY_LEAST_LOADED:
        return 1e3 * device->sessions + device->load + cost_of_place(devices, count, taken, at);
    case POLICY_ORDER:
        break;
    }
    return 0;
}

static bool choose(const struct placement_device *devices, unsigned count, const struct placement_wish *wish,
                   enum policy policy, unsigned *chosen)
{
    bool *taken = calloc(count + 1, sizeof(*taken));

    for (unsigned got = 0; taken && got < wish->count; got++) {
        double least = 0;
        unsigned best = count;

        for (unsigned i = 0; i < count; i++) {
            double price;

            if (taken[i] || !suits(&devices[i], wish) || !is_free(&devices[i], wish))
                continue;
            price = cost(devices, count, wish, taken, i, wish->count - got, policy);
            if (best < count && price >= least)
                continue;
            least = price;
            best = i;
        }
        if (best == count) {
            free(taken);
            return false;
        }
        taken[best] = true;
        chosen[got] = best;
    }
    if (!taken)
        return false;
    free(taken);
    return true;
}

bool placement_choose(const struct placement_device *devices, unsigned count, const struct placement_wish *wish,
                      enum policy policy, unsigned *chosen, bool *ever)
{
    unsigned suitable = 0;

    for (unsigned i = 0; i < count; i++)
        suitable += is_wished(&devices[i], wish);
    *ever = wish->count && suitable >= wish->count;
    return *ever && choose(devices, count, wish, policy, chosen);
}
