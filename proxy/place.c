#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/place.h"

static bool is_wished(const struct place_device *device, const struct place_wish *wish)
{
    return (!*wish->name || !fnmatch(wish->name, device->name, FNM_CASEFOLD)) &&
           (!*wish->type || !strcmp(wish->type, device->type)) && device->whole >= wish->memory;
}

static bool suits(const struct place_device *device, const struct place_wish *wish)
{
    return device->usable && device->memory >= wish->memory && is_wished(device, wish);
}

static bool is_free(const struct place_device *device, const struct place_wish *wish)
{
    return wish->exclusive ? !device->sessions : device->sessions < device->most;
}

/* How many of the devices of a node could be had, and how many are chosen already. */
static void count_node(const struct place_device *devices, unsigned count, const struct place_wish *wish,
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

/* The lower the better; equals in the order of the list. */
static double cost(const struct place_device *devices, unsigned count, const struct place_wish *wish, const bool *taken,
                   unsigned at, unsigned needed, enum policy policy)
{
    const struct place_device *device = &devices[at];
    unsigned left, own;

    switch (policy) {
    case POLICY_PACK: /* a node that it is on already; one that has all that is needed; one that is in use; the fullest
                       */
        count_node(devices, count, wish, taken, device->node, &left, &own);
        return (own ? 0 : 1e9) + (left >= needed ? 0 : 1e6) + (device->node_sessions ? 0 : 1e3) + left;
    case POLICY_SPREAD:
        count_node(devices, count, wish, taken, device->node, &left, &own);
        return 1e6 * (own + device->node_sessions) + 1e3 * device->sessions;
    case POLICY_LEAST_LOADED:
        return 1e3 * device->sessions + device->load;
    case POLICY_ORDER:
        break;
    }
    return 0;
}

static bool choose(const struct place_device *devices, unsigned count, const struct place_wish *wish,
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

bool place(const struct place_device *devices, unsigned count, const struct place_wish *wish, enum policy policy,
           unsigned *chosen, bool *ever)
{
    unsigned suitable = 0;

    for (unsigned i = 0; i < count; i++)
        suitable += is_wished(&devices[i], wish);
    *ever = wish->count && suitable >= wish->count;
    return *ever && choose(devices, count, wish, policy, chosen);
}
