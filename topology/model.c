/* The congestion model: Algorithm 1, and the evolution of a dynamic congestion graph. See topology.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/topology.h"

#define LITTLE 1e-12 /* what sums of factors may be over 1 by rounding */

/* One switch or root complex on a communication's way. */
struct hop {
    unsigned node;
    unsigned from, to; /* its neighbours: the ports it is entered and left by */
    bool up;
    double factor; /* after this port */
    bool conflict; /* the port was arbitrated */
};

struct route {
    unsigned index; /* of the transfer */
    unsigned hop_count;
    struct hop hops[2 * TOPOLOGY_MOST_DEPTH];
    bool crosses_root;
    double factor, blocked; /* blocked: the least factor of what shares an input port, behind it */
};

/* Communications that leave a switch by one port, grouped by the port they enter by: super communications. */
struct group {
    unsigned from;
    double sum;  /* of factors, the paper's R */
    double most; /* what it may have, R' */
    bool crosses_root;
};

struct member {
    struct route *route;
    struct hop *hop;
    unsigned group;
};

struct port {
    unsigned member_count, group_count;
    struct member members[TOPOLOGY_MOST_TRANSFERS];
    struct group groups[TOPOLOGY_MOST_TRANSFERS];
    double sum;
};

/* ---- routes ---- */

static void add_hop(struct route *route, const struct topology *t, unsigned from, unsigned node, unsigned to)
{
    route->hops[route->hop_count++] =
        (struct hop){.node = node, .from = from, .to = to, .up = t->nodes[node].parent == (int)to};
    route->crosses_root |= t->nodes[node].kind == TOPOLOGY_ROOT;
}

static void make_route(const struct topology *t, const struct topology_transfer *transfer, struct route *route)
{
    unsigned up[2 * TOPOLOGY_MOST_DEPTH], down[TOPOLOGY_MOST_DEPTH], ups = 0, downs = 0;
    unsigned a = t->devices[transfer->source], b = t->devices[transfer->target];

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
    for (unsigned i = 1; i + 1 < ups; i++)
        add_hop(route, t, up[i - 1], up[i], up[i + 1]);
}

/* ---- ports ---- */

static void port_add(struct port *port, struct route *route, struct hop *hop)
{
    unsigned group = 0;

    while (group < port->group_count && port->groups[group].from != hop->from)
        group++;
    if (group == port->group_count)
        port->groups[port->group_count++] = (struct group){.from = hop->from};
    port->groups[group].sum += route->factor;
    port->groups[group].crosses_root |= route->crosses_root;
    port->sum += route->factor;
    port->members[port->member_count++] = (struct member){route, hop, group};
}

static void port_collect(struct port *port, struct route *routes, unsigned count, unsigned node, unsigned to)
{
    port->member_count = port->group_count = 0;
    port->sum = 0;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < routes[i].hop_count; k++) {
            if (routes[i].hops[k].node == node && routes[i].hops[k].to == to)
                port_add(port, &routes[i], &routes[i].hops[k]);
        }
    }
}

/* Equation 4: only a port that would have to carry more than it can is in conflict. */
static bool port_conflict(const struct port *port)
{
    return port->group_count > 1 && port->sum > 1 + LITTLE;
}

static void port_leave(struct port *port)
{
    bool conflict = port_conflict(port);

    for (unsigned i = 0; i < port->member_count; i++) {
        port->members[i].hop->factor = port->members[i].route->factor;
        port->members[i].hop->conflict = conflict;
    }
}

/* Equations 5 and 6: all factors alike. */
static void arbitrate_upstream(struct port *port)
{
    for (unsigned i = 0; i < port->member_count && port->sum > 1 + LITTLE; i++)
        port->members[i].route->factor /= port->sum;
    port_leave(port);
}

/* What a super communication may have of a port in conflict (before equation 7): what those that cross the root complex
 * lose the others gain. That is the paper's for two; of more it would give away more than there is. */
static double fair_share(const struct port *port, const struct group *group, double tau)
{
    double fair = 1.0 / port->group_count, lost = tau < fair ? tau : fair;
    unsigned crossing = 0;

    for (unsigned i = 0; i < port->group_count; i++)
        crossing += port->groups[i].crosses_root;
    if (crossing == port->group_count) /* and nobody gains */
        return fair * (1 - tau);
    return group->crosses_root ? fair - lost : fair + lost * crossing / (port->group_count - crossing);
}

/* Equation 7. root: the port is the root complex' own, where what crosses it loses tau. */
static void arbitrate_downstream(struct port *port, double tau, bool root)
{
    bool conflict = port_conflict(port);

    for (unsigned i = 0; i < port->group_count; i++) {
        struct group *group = &port->groups[i];

        group->most = conflict ? fair_share(port, group, tau) : 1;
        if (root && group->most > 1 - tau)
            group->most = 1 - tau;
        if (group->most > group->sum)
            group->most = group->sum;
    }
    for (unsigned i = 0; i < port->member_count; i++) {
        const struct group *group = &port->groups[port->members[i].group];

        if (group->sum > 0)
            port->members[i].route->factor *= group->most / group->sum;
    }
    port_leave(port);
}

/* Steps B and C: upwards from the leaves, then downwards from the top. */
static void arbitrate(const struct topology *t, double tau, struct route *routes, unsigned count, bool up,
                      struct port *port)
{
    for (unsigned level = 0; level <= t->depth; level++) {
        unsigned depth = up ? t->depth - level : level;

        for (unsigned to = 0; to < t->node_count; to++) {
            unsigned from; /* for upstream ports `to` is the switch itself, and the port its link upwards */

            if (t->nodes[to].parent < 0)
                continue;
            from = (unsigned)t->nodes[to].parent;
            if (t->nodes[up ? to : from].depth != depth)
                continue;
            port_collect(port, routes, count, up ? to : from, up ? from : to);
            if (!port->member_count)
                continue;
            if (up)
                arbitrate_upstream(port);
            else
                arbitrate_downstream(port, tau, t->nodes[from].kind == TOPOLOGY_ROOT);
        }
    }
}

/* ---- head-of-line blocking ---- */

/* Equation 8: flows that enter by one port are scheduled alike, so all wait for the one that gets least behind it. */
static double least_behind(const struct route *routes, unsigned count, const struct hop *hop)
{
    double least = 2;

    for (unsigned i = 0; i < count; i++) {
        const struct route *other = &routes[i];
        unsigned k = 0;

        while (k < other->hop_count && (other->hops[k].node != hop->node || other->hops[k].from != hop->from))
            k++;
        for (; k < other->hop_count; k++) {
            if (other->hops[k].conflict && other->hops[k].factor < least)
                least = other->hops[k].factor;
        }
    }
    return least;
}

static bool is_blocked(const struct route *route)
{
    return route->blocked < route->factor - LITTLE;
}

static void find_blocked(struct route *routes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        routes[i].blocked = 2;
        for (unsigned k = 0; k < routes[i].hop_count; k++) {
            double least = least_behind(routes, count, &routes[i].hops[k]);

            if (least < routes[i].blocked)
                routes[i].blocked = least;
        }
    }
}

/* What blocked communications do not use of a port. */
static double freed(const struct port *port, unsigned *others)
{
    double sum = 0;

    *others = 0;
    for (unsigned i = 0; i < port->member_count; i++) {
        const struct member *member = &port->members[i];

        if (!is_blocked(member->route))
            ++*others;
        else if (member->hop->factor > member->route->blocked)
            sum += member->hop->factor - member->route->blocked;
    }
    return sum;
}

/* Equation 9: those in conflict with blocked ones get what these do not use; the port that gives least decides. */
static double raised(struct route *routes, unsigned count, const struct route *route, double tau, struct port *port)
{
    double least = 2;
    bool any = false;

    for (unsigned k = 0; k < route->hop_count; k++) {
        const struct hop *hop = &route->hops[k];
        unsigned others;
        double more, there;

        if (!hop->conflict)
            continue;
        port_collect(port, routes, count, hop->node, hop->to);
        more = freed(port, &others);
        there = hop->factor + more / others;
        any |= more > LITTLE;
        least = there < least ? there : least;
    }
    if (route->crosses_root && least > 1 - tau)
        least = 1 - tau;
    least = least < 1 ? least : 1;
    return any && least > route->factor ? least : route->factor;
}

/* ---- Algorithm 1 ---- */

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
    find_blocked(routes, count);
    for (unsigned i = 0; i < count; i++) {
        const struct route *route = &routes[i];

        factors[route->index] = is_blocked(route) ? route->blocked : raised(routes, count, route, tau, port);
        if (steps) {
            steps[TOPOLOGY_BLOCKED][route->index] = is_blocked(route) ? route->blocked : route->factor;
            steps[TOPOLOGY_RAISED][route->index] = factors[route->index];
        }
    }
}

static bool valid(const struct topology *t, double tau, const struct topology_transfer *transfers, unsigned count)
{
    if (!(tau >= 0 && tau < 1) || count > TOPOLOGY_MOST_TRANSFERS)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (transfers[i].source >= t->device_count || transfers[i].target >= t->device_count ||
            transfers[i].source == transfers[i].target)
            return false;
    }
    return true;
}

struct workspace {
    struct route routes[TOPOLOGY_MOST_TRANSFERS];
    struct port port;
};

/* pending: which are there at all; of each source the first of them is sent (step A). */
static void factors_of(const struct topology *t, double tau, const struct topology_transfer *transfers, unsigned count,
                       const bool *pending, double *factors, double *const *steps, struct workspace *w)
{
    bool busy[TOPOLOGY_MOST_NODES] = {false};
    unsigned active = 0;

    for (unsigned i = 0; i < count; i++) {
        factors[i] = 0;
        for (unsigned step = 0; steps && step < TOPOLOGY_STEPS; step++)
            steps[step][i] = 0;
        if (!pending[i] || busy[transfers[i].source])
            continue;
        busy[transfers[i].source] = true;
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

/* The next event: a start, or the end of what is being sent at these factors. Negative: none will come. */
static double next_event(const struct topology_transfer *transfers, unsigned count, double now, double bandwidth,
                         const double *factors, const double *left)
{
    double next = -1;

    for (unsigned i = 0; i < count; i++) {
        double at = -1;

        if (transfers[i].start > now)
            at = transfers[i].start;
        else if (left[i] > 0 && factors[i] > 0)
            at = now + left[i] / (factors[i] * bandwidth);
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
        double next;

        for (unsigned i = 0; i < count; i++)
            e->pending[i] = e->left[i] > 0 && e->sorted[i].start <= now;
        factors_of(t, tau, e->sorted, count, e->pending, e->factors, NULL, &e->workspace);
        next = next_event(e->sorted, count, now, bandwidth, e->factors, e->left);
        if (next < 0)
            return;
        for (unsigned i = 0; i < count; i++) {
            if (!e->pending[i])
                continue;
            e->left[i] -= (next - now) * e->factors[i] * bandwidth;
            if (e->left[i] > e->sorted[i].bytes * 1e-9)
                continue;
            e->left[i] = 0;
            ends[e->order[i]] = next;
        }
        now = next;
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
