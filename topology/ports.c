/* The congestion model's equations. See ports.h. */
#include "topology/ports.h"

/* ---- arbitration ---- */

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

void port_collect(struct port *port, struct route *routes, unsigned count, unsigned node, unsigned to)
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

/* Equation 4: a port is in conflict only if it would have to carry more than it can. */
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
        port->members[i].hop->shared =
            port->group_count > 1 || port->members[i].hop->from == port->members[i].hop->node;
    }
}

/* Equations 5 and 6: all factors are reduced alike. */
void port_arbitrate_upstream(struct port *port)
{
    for (unsigned i = 0; i < port->member_count && port->sum > 1 + LITTLE; i++)
        port->members[i].route->factor /= port->sum;
    port_leave(port);
}

/* Returns what a super communication may have of a port in conflict (before equation 7): the others gain what those
 * that cross the root complex lose. For two this is the paper's rule, which for more would give away more than there
 * is. */
static double fair_share(const struct port *port, const struct group *group, double tau)
{
    double fair = 1.0 / port->group_count, lost = tau < fair ? tau : fair;
    unsigned crossing = 0;

    for (unsigned i = 0; i < port->group_count; i++)
        crossing += port->groups[i].crosses_root;
    if (crossing == port->group_count) /* no other gains */
        return fair * (1 - tau);
    return group->crosses_root ? fair - lost : fair + lost * crossing / (port->group_count - crossing);
}

/* Equation 7. root: it is a port of the root complex, where communications that cross that lose tau. */
void port_arbitrate_downstream(struct port *port, double tau, bool root)
{
    bool conflict = port_conflict(port);

    for (unsigned i = 0; i < port->group_count; i++) {
        struct group *group = &port->groups[i];

        group->most = conflict ? fair_share(port, group, tau) : 1;
        if (root && group->crosses_root && group->most > 1 - tau)
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

/* ---- head-of-line blocking ---- */

/* Equation 8: flows that enter by one port are scheduled alike, so all wait for the one that gets the least further
 * on. */
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

bool route_is_blocked(const struct route *route)
{
    return route->blocked < route->factor - LITTLE;
}

void routes_find_blocked(struct route *routes, unsigned count)
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

/* Returns what blocked communications leave unused of a port. */
static double freed(const struct port *port, unsigned *others)
{
    double sum = 0;

    *others = 0;
    for (unsigned i = 0; i < port->member_count; i++) {
        const struct member *member = &port->members[i];

        if (!route_is_blocked(member->route))
            ++*others;
        else if (member->hop->factor > member->route->blocked)
            sum += member->hop->factor - member->route->blocked;
    }
    return sum;
}

/* Equation 9: communications that share a port with blocked ones get what these leave unused; the port that gives
 * the least decides. */
double route_raised(struct route *routes, unsigned count, const struct route *route, double tau, struct port *port)
{
    double least = 2;
    bool any = false;

    for (unsigned k = 0; k < route->hop_count; k++) {
        const struct hop *hop = &route->hops[k];
        unsigned others;
        double more, there;

        if (!hop->shared)
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
