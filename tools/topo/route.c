/* Addresses, registers, and the routes that result from them. See route.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/topo/route.h"

static unsigned bits_for(unsigned count)
{
    unsigned bits = 0;

    while (1u << bits < count)
        bits++;
    return bits;
}

/* ---- registers ---- */

/* Sets the nodes of a dimension up to `reach` after one, or before it: a segment of the circle, as one range or two. */
static void set_side(struct route_registers *r, uint64_t unit, uint64_t mask, unsigned size, unsigned first,
                     unsigned reach)
{
    const unsigned last = (first + reach - 1) % size;

    if (!reach)
        return;
    r->mask = mask;
    r->count = first <= last ? 1 : 2;
    r->bounds[0].lower = first * unit;
    r->bounds[0].upper = (first <= last ? last : size - 1) * unit;
    r->bounds[1].lower = 0;
    r->bounds[1].upper = last * unit;
}

/* Sets both sides of a node in one dimension; at equal distance the first is used. */
static void set_dimension(struct route_registers *ports, unsigned after, unsigned before, uint64_t unit, unsigned size,
                          unsigned here)
{
    const uint64_t mask = ((UINT64_C(1) << bits_for(size)) - 1) * unit;

    set_side(&ports[after], unit, mask, size, (here + 1) % size, size / 2);
    set_side(&ports[before], unit, mask, size, (here + size / 2 + 1) % size, (size - 1) / 2);
}

static unsigned position_of(const struct route_net *net, unsigned node)
{
    return node % net->positions;
}

static unsigned ring_of(const struct route_net *net, unsigned node)
{
    return node / net->positions;
}

/* Returns the bits of an address above those within a node: the ring, and below it the position. */
static uint64_t node_bits(const struct route_net *net, unsigned node)
{
    return (uint64_t)ring_of(net, node) << bits_for(net->positions) | position_of(net, node);
}

int route_net_make(struct route_net *net, unsigned positions, unsigned rings, unsigned channels)
{
    if (!positions || !rings || positions > ROUTE_MOST_NODES || rings > ROUTE_MOST_NODES ||
        positions * rings > ROUTE_MOST_NODES || !channels || channels > ROUTE_MOST_CHANNELS)
        return -EINVAL;
    *net = (struct route_net){.positions = positions, .rings = rings, .nodes = positions * rings, .channels = channels};
    net->slot = ROUTE_WINDOW >> (bits_for(positions) + bits_for(rings));
    for (unsigned node = 0; node < net->nodes; node++) {
        struct route_registers *ports = net->registers[node];

        set_dimension(ports, ROUTE_E, ROUTE_W, net->slot, positions, position_of(net, node));
        set_dimension(ports, ROUTE_S, ROUTE_U, net->slot << bits_for(positions), rings, ring_of(net, node));
        ports[ROUTE_N].mask = ROUTE_WINDOW - net->slot;
        ports[ROUTE_N].bounds[0].lower = ports[ROUTE_N].bounds[0].upper = node_bits(net, node) * net->slot;
        ports[ROUTE_N].count = 1;
    }
    return 0;
}

uint64_t route_address(const struct route_net *net, unsigned node, unsigned region)
{
    return node_bits(net, node) * net->slot + region * (net->slot / ROUTE_REGIONS);
}

/* ---- routes ---- */

/* Routes dimension by dimension: a packet that has left the ring by S or U has reached its position, and keeps it. */
int route_port(const struct route_net *net, unsigned node, uint64_t address)
{
    static const enum route_port order[] = {ROUTE_N, ROUTE_E, ROUTE_W, ROUTE_S, ROUTE_U};

    for (unsigned i = 0; i < ROUTE_PORTS; i++) {
        const struct route_registers *r = &net->registers[node][order[i]];

        for (unsigned k = 0; k < r->count; k++) {
            const uint64_t upper_bits = address & r->mask;

            if (upper_bits >= r->bounds[k].lower && upper_bits <= r->bounds[k].upper)
                return (int)order[i];
        }
    }
    return -1;
}

int route_neighbour(const struct route_net *net, unsigned node, unsigned port)
{
    const unsigned position = position_of(net, node), ring = ring_of(net, node), n = net->positions, m = net->rings;

    if (!net->registers[node][port].count)
        return -1;
    switch (port) {
    case ROUTE_E:
        return (int)(ring * n + (position + 1) % n);
    case ROUTE_W:
        return (int)(ring * n + (position + n - 1) % n);
    case ROUTE_S:
        return (int)((ring + 1) % m * n + position);
    case ROUTE_U:
        return (int)((ring + m - 1) % m * n + position);
    default:
        return (int)node;
    }
}

static bool begins_again(const struct route_net *net, unsigned node, unsigned port)
{
    return (port == ROUTE_E && position_of(net, node) == net->positions - 1) ||
           (port == ROUTE_W && position_of(net, node) == 0) ||
           (port == ROUTE_S && ring_of(net, node) == net->rings - 1) || (port == ROUTE_U && ring_of(net, node) == 0);
}

unsigned route_channel(const struct route_net *net, unsigned node, unsigned came, unsigned channel, unsigned port)
{
    if (net->channels == 1 || port == ROUTE_N)
        return 0;
    return (came == port ? channel : 0) | begins_again(net, node, port); /* another dimension begins with the first
                                                                          * channel */
}

int route_hops(const struct route_net *net, unsigned from, uint64_t address)
{
    for (unsigned hops = 0; hops <= net->nodes; hops++) {
        const int port = route_port(net, from, address);

        if (port < 0)
            return -ELOOP;
        if (port == ROUTE_N)
            return (int)hops;
        from = (unsigned)route_neighbour(net, from, (unsigned)port);
    }
    return -ELOOP;
}

/* ---- circles ---- */

/* The channels of links, by number, and a bit matrix of those that a packet in each may wait for. */
struct waiting {
    unsigned count;
    uint8_t *waits; /* count x count */
    uint8_t *state; /* 0: not visited, 1: on the current path, 2: leads to no circle */
    unsigned *path, length;
};

static unsigned channel_number(const struct route_net *net, unsigned node, unsigned port, unsigned channel)
{
    return (node * ROUTE_PORTS + port) * net->channels + channel;
}

/* Follows all routes between two nodes. */
static void find_waiting(const struct route_net *net, struct waiting *w)
{
    for (unsigned from = 0; from < net->nodes; from++) {
        for (unsigned to = 0; to < net->nodes; to++) {
            const uint64_t address = route_address(net, to, 0);
            unsigned at = from, came = ROUTE_N, channel = 0, before = w->count;
            int port;

            for (unsigned hop = 0; hop <= net->nodes && (port = route_port(net, at, address)) > ROUTE_N; hop++) {
                unsigned number;

                channel = route_channel(net, at, came, channel, (unsigned)port);
                number = channel_number(net, at, (unsigned)port, channel);
                if (before < w->count)
                    w->waits[before * w->count + number] = 1;
                before = number;
                came = (unsigned)port;
                at = (unsigned)route_neighbour(net, at, came);
            }
        }
    }
}

/* Whether a circle is reachable from here; its first channel is then the last on the path. */
static bool search(struct waiting *w, unsigned at)
{
    w->state[at] = 1;
    w->path[w->length++] = at;
    for (unsigned next = 0; next < w->count; next++) {
        if (!w->waits[at * w->count + next] || w->state[next] == 2)
            continue;
        if (w->state[next] == 1) {
            w->path[w->length++] = next;
            return true;
        }
        if (search(w, next))
            return true;
    }
    w->state[at] = 2;
    w->length--;
    return false;
}

int route_cycle(const struct route_net *net, unsigned *cycle, unsigned most)
{
    struct waiting w = {.count = net->nodes * ROUTE_PORTS * net->channels};
    int length = 0;

    w.waits = calloc(w.count, w.count);
    w.state = calloc(w.count, 1);
    w.path = calloc(w.count + 1, sizeof(*w.path));
    if (!w.waits || !w.state || !w.path)
        length = -ENOMEM;
    else
        find_waiting(net, &w);
    for (unsigned i = 0; i < w.count && !length; i++) {
        unsigned first = 0;

        if (w.state[i] || !search(&w, i))
            continue;
        while (w.path[first] != w.path[w.length - 1])
            first++;
        for (length = 0; first + (unsigned)length + 1 < w.length; length++) {
            if ((unsigned)length < most)
                cycle[length] = w.path[first + (unsigned)length] / net->channels;
        }
    }
    free(w.waits);
    free(w.state);
    free(w.path);
    return length;
}
