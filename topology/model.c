/* The congestion model: Algorithm 1, and the evolution of a dynamic congestion graph. See topology.h; ports.c has the
 * equations. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/ports.h"

/* ---- routes ---- */

static void add_hop(struct route *route, const struct topology *t, unsigned from, unsigned node, unsigned to)
{
    route->hops[route->hop_count++] =
        (struct hop){.node = node, .from = from, .to = to, .up = t->nodes[node].parent == (int)to};
    route->crosses_root |= t->nodes[node].kind == TOPOLOGY_ROOT && from != node;
}

static unsigned end_of(const struct topology *t, unsigned device)
{
    return device == TOPOLOGY_HOST ? 0 : t->devices[device];
}

static void make_route(const struct topology *t, const struct topology_transfer *transfer, struct route *route)
{
    unsigned up[2 * TOPOLOGY_MOST_DEPTH], down[TOPOLOGY_MOST_DEPTH], ups = 0, downs = 0;
    unsigned a = end_of(t, transfer->source), b = end_of(t, transfer->target);

    route->hop_count = 0;
    route->crosses_root = false;
    while (a != b) {
        if (t->nodes[a].depth >= t->nodes[b].depth) {
            up[ups++] = a;
            a = (unsigned)t->nodes[a].parent;
        } else {
            down[downs++] = b;
            b = (unsigned)t->nodes[b].parent;
        }
    }
    up[ups++] = a;
    while (downs)
        up[ups++] = down[--downs];
    if (transfer->source == TOPOLOGY_HOST && ups > 1) /* from memory it enters the top by a port that no other uses */
        add_hop(route, t, up[0], up[0], up[1]);
    for (unsigned i = 1; i + 1 < ups; i++)
        add_hop(route, t, up[i - 1], up[i], up[i + 1]);
}

/* ---- Algorithm 1 ---- */

/* Steps B and C: upwards from the leaves, or downwards from the top. */
static void arbitrate(const struct topology *t, double tau, struct route *routes, unsigned count, bool up,
                      struct port *port)
{
    for (unsigned level = 0; level <= t->depth; level++) {
        unsigned depth = up ? t->depth - level : level;

        for (unsigned to = 0; to < t->node_count; to++) {
            unsigned from; /* for upstream ports `to` is the switch itself, and the port is its link upwards */

            if (t->nodes[to].parent < 0)
                continue;
            from = (unsigned)t->nodes[to].parent;
            if (t->nodes[up ? to : from].depth != depth)
                continue;
            port_collect(port, routes, count, up ? to : from, up ? from : to);
            if (!port->member_count)
                continue;
            if (up)
                port_arbitrate_upstream(port);
            else
                port_arbitrate_downstream(port, tau, t->nodes[from].kind == TOPOLOGY_ROOT);
        }
    }
}

static void keep_step(double *const *steps, enum topology_step step, const struct route *routes, unsigned count)
{
    for (unsigned i = 0; steps && i < count; i++)
        steps[step][routes[i].index] = routes[i].factor;
}

static void compute(const struct topology *t, double tau, struct route *routes, unsigned count, double *factors,
                    double *const *steps, struct port *port)
{
    for (unsigned i = 0; i < count; i++)
        routes[i].factor = 1;
    keep_step(steps, TOPOLOGY_SOURCES, routes, count);
    arbitrate(t, tau, routes, count, true, port);
    keep_step(steps, TOPOLOGY_UPSTREAM, routes, count);
    arbitrate(t, tau, routes, count, false, port);
    keep_step(steps, TOPOLOGY_DOWNSTREAM, routes, count);
    routes_find_blocked(routes, count);
    for (unsigned i = 0; i < count; i++) {
        const struct route *route = &routes[i];

        factors[route->index] =
            route_is_blocked(route) ? route->blocked : route_raised(routes, count, route, tau, port);
        if (steps) {
            steps[TOPOLOGY_BLOCKED][route->index] = route_is_blocked(route) ? route->blocked : route->factor;
            steps[TOPOLOGY_RAISED][route->index] = factors[route->index];
        }
    }
}

static bool valid(const struct topology *t, double tau, const struct topology_transfer *transfers, unsigned count)
{
    if (!(tau >= 0 && tau < 1) || count > TOPOLOGY_MOST_TRANSFERS)
        return false;
    for (unsigned i = 0; i < count; i++) {
        unsigned source = transfers[i].source, target = transfers[i].target;

        if ((source >= t->device_count && source != TOPOLOGY_HOST) ||
            (target >= t->device_count && target != TOPOLOGY_HOST) || source == target)
            return false;
    }
    return true;
}

struct workspace {
    struct route routes[TOPOLOGY_MOST_TRANSFERS];
    struct port port;
};

/* pending: which transfers are pending; the first of each source is sent (step A). */
static void factors_of(const struct topology *t, double tau, const struct topology_transfer *transfers, unsigned count,
                       const bool *pending, double *factors, double *const *steps, struct workspace *w)
{
    bool busy[TOPOLOGY_MOST_NODES] = {false};
    unsigned active = 0;

    for (unsigned i = 0; i < count; i++) {
        factors[i] = 0;
        for (unsigned step = 0; steps && step < TOPOLOGY_STEPS; step++)
            steps[step][i] = 0;
        if (!pending[i])
            continue;
        if (transfers[i].source != TOPOLOGY_HOST) {
            if (busy[transfers[i].source])
                continue;
            busy[transfers[i].source] = true;
        }
        w->routes[active].index = i;
        make_route(t, &transfers[i], &w->routes[active++]);
    }
    compute(t, tau, w->routes, active, factors, steps, &w->port);
}

int topology_factors(const struct topology *t, double tau, const struct topology_transfer *transfers, unsigned count,
                     double *factors, double *const *steps)
{
    bool pending[TOPOLOGY_MOST_TRANSFERS];
    struct workspace *w;

    if (!valid(t, tau, transfers, count))
        return -EINVAL;
    w = malloc(sizeof(*w));
    if (!w)
        return -ENOMEM;
    memset(pending, true, sizeof(pending));
    factors_of(t, tau, transfers, count, pending, factors, steps, w);
    free(w);
    return 0;
}

/* ---- evolution in time (equations 1 to 3) ---- */

/* Returns the time to the next event: a start, or the end of a transfer at these factors; negative if there is none.
 * (An absolute time could not distinguish ends that are close together.) */
static double next_event(const struct topology_transfer *transfers, unsigned count, double now, double bandwidth,
                         const double *factors, const double *left)
{
    double next = -1;

    for (unsigned i = 0; i < count; i++) {
        double at = -1;

        if (transfers[i].start > now)
            at = transfers[i].start - now;
        else if (left[i] > 0 && factors[i] > 0)
            at = left[i] / (factors[i] * bandwidth);
        if (at >= 0 && (next < 0 || at < next))
            next = at;
    }
    return next;
}

static int by_start(const void *left, const void *right, void *transfers)
{
    const struct topology_transfer *all = transfers;
    unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;

    if (all[a].start != all[b].start)
        return all[a].start < all[b].start ? -1 : 1;
    return a < b ? -1 : 1;
}

struct evolution {
    struct workspace workspace;
    struct topology_transfer sorted[TOPOLOGY_MOST_TRANSFERS];
    unsigned order[TOPOLOGY_MOST_TRANSFERS];
    double factors[TOPOLOGY_MOST_TRANSFERS], left[TOPOLOGY_MOST_TRANSFERS];
    double shown_factors[TOPOLOGY_MOST_TRANSFERS], shown_left[TOPOLOGY_MOST_TRANSFERS];
    bool pending[TOPOLOGY_MOST_TRANSFERS];
};

static void show(struct evolution *e, unsigned count, double now, topology_watch *watch, void *argument)
{
    for (unsigned i = 0; i < count; i++) {
        e->shown_factors[e->order[i]] = e->factors[i];
        e->shown_left[e->order[i]] = e->left[i];
    }
    watch(argument, now, e->shown_factors, e->shown_left);
}

static void evolve(const struct topology *t, double tau, double bandwidth, struct evolution *e, unsigned count,
                   double *ends, topology_watch *watch, void *argument)
{
    double now = 0;

    for (;;) {
        double passing;

        for (unsigned i = 0; i < count; i++)
            e->pending[i] = e->left[i] > 0 && e->sorted[i].start <= now;
        factors_of(t, tau, e->sorted, count, e->pending, e->factors, NULL, &e->workspace);
        passing = next_event(e->sorted, count, now, bandwidth, e->factors, e->left);
        if (passing < 0)
            return;
        now += passing;
        for (unsigned i = 0; i < count; i++) {
            if (!e->pending[i])
                continue;
            e->left[i] -= passing * e->factors[i] * bandwidth;
            if (e->left[i] > e->sorted[i].bytes * 1e-9)
                continue;
            e->left[i] = 0;
            ends[e->order[i]] = now;
        }
        if (watch)
            show(e, count, now, watch, argument);
    }
}

int topology_predict(const struct topology *t, double tau, double bandwidth, const struct topology_transfer *transfers,
                     unsigned count, double *ends, topology_watch *watch, void *argument)
{
    struct evolution *e;

    if (!valid(t, tau, transfers, count) || !(bandwidth > 0))
        return -EINVAL;
    for (unsigned i = 0; i < count; i++) {
        if (!(transfers[i].bytes >= 0 && transfers[i].bytes < 1e18 && transfers[i].start >= 0))
            return -EINVAL;
    }
    e = malloc(sizeof(*e));
    if (!e)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++)
        e->order[i] = i;
    qsort_r(e->order, count, sizeof(*e->order), by_start, (void *)(size_t)transfers);
    for (unsigned i = 0; i < count; i++) {
        e->sorted[i] = transfers[e->order[i]];
        e->left[i] = e->sorted[i].bytes;
        ends[e->order[i]] = e->sorted[i].start;
    }
    evolve(t, tau, bandwidth, e, count, ends, watch, argument);
    free(e);
    return 0;
}
