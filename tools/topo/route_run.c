/*
 * Simulates the packets of messages as events ordered by time. A link carries one packet at a time, and only if the
 * channel at its other end has room; each channel is a queue, of which only the first packet can continue. See route.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/topo/route.h"

const struct route_model route_peach2 = {
    .latency = 254e-9, .bandwidth = 4e9, .payload = 256, .overhead = 24, .buffers = 8};

#define LINKS (ROUTE_PORTS + 1) /* of a node, including ROUTE_IN */

struct packet {
    struct packet *next;
    struct route_message *message;
    uint64_t address;
    size_t bytes;
    unsigned channel;
    uint8_t data[];
};

/* Packets that have arrived by a channel of a link. */
struct queue {
    struct packet *first, **end;
    unsigned held; /* arrived or on their way */
};

struct link {
    struct queue queues[ROUTE_MOST_CHANNELS]; /* at its other end */
    unsigned turn;                            /* the input that is served next */
    bool busy;
};

struct event {
    double time;
    unsigned long number; /* among equals the event that was added first comes first */
    unsigned link;
    struct packet *packet; /* the packet that arrives; NULL: the link is free again */
};

struct run {
    const struct route_net *net;
    const struct route_model *model;
    struct link *links; /* nodes x LINKS, each at the node that it leaves; ROUTE_IN leaves the host */
    struct route_load *loads;
    struct route_message ***waiting; /* for each node its messages in order */
    unsigned *waiting_count, *waiting_next;
    size_t *sent; /* bytes of each node's current message that were sent */
    uint8_t *const *memories;
    struct event *events; /* a heap */
    size_t event_count, event_room;
    unsigned long numbers;
    uint64_t left; /* bytes to be delivered */
    double now;
};

/* ---- events ---- */

static bool sooner(const struct event *a, const struct event *b)
{
    return a->time < b->time || (a->time == b->time && a->number < b->number);
}

static int event_add(struct run *r, double time, unsigned link, struct packet *packet)
{
    size_t at;

    if (r->event_count == r->event_room) {
        size_t room = r->event_room ? 2 * r->event_room : 256;
        struct event *more = realloc(r->events, room * sizeof(*more));

        if (!more)
            return -ENOMEM;
        r->events = more;
        r->event_room = room;
    }
    at = r->event_count++;
    r->events[at] = (struct event){.time = time, .number = r->numbers++, .link = link, .packet = packet};
    for (; at && sooner(&r->events[at], &r->events[(at - 1) / 2]); at = (at - 1) / 2) {
        struct event swap = r->events[at];

        r->events[at] = r->events[(at - 1) / 2];
        r->events[(at - 1) / 2] = swap;
    }
    return 0;
}

static struct event event_take(struct run *r)
{
    struct event first = r->events[0];
    size_t at = 0, child;

    r->events[0] = r->events[--r->event_count];
    while ((child = 2 * at + 1) < r->event_count) {
        struct event swap = r->events[at];

        if (child + 1 < r->event_count && sooner(&r->events[child + 1], &r->events[child]))
            child++;
        if (!sooner(&r->events[child], &swap))
            break;
        r->events[at] = r->events[child];
        r->events[child] = swap;
        at = child;
    }
    return first;
}

/* ---- links ---- */

static unsigned node_of(unsigned link)
{
    return link / LINKS;
}

static unsigned port_of(unsigned link)
{
    return link % LINKS;
}

/* Returns the link by whose channels packets that travel along a port's direction enter a node; from the host:
 * ROUTE_IN. -1: there is none. */
static int link_into(const struct run *r, unsigned node, unsigned along)
{
    static const enum route_port back[] = {ROUTE_N, ROUTE_W, ROUTE_E, ROUTE_U, ROUTE_S};
    const unsigned n = r->net->positions, m = r->net->rings, position = node % n, ring = node / n;
    unsigned from;

    if (along == ROUTE_IN)
        return (int)(node * LINKS + ROUTE_IN);
    switch (back[along]) {
    case ROUTE_E:
        from = ring * n + (position + 1) % n;
        break;
    case ROUTE_W:
        from = ring * n + (position + n - 1) % n;
        break;
    case ROUTE_S:
        from = (ring + 1) % m * n + position;
        break;
    case ROUTE_U:
        from = (ring + m - 1) % m * n + position;
        break;
    default:
        return -1;
    }
    return route_neighbour(r->net, from, along) == (int)node && from != node ? (int)(from * LINKS + along) : -1;
}

static double time_of(const struct run *r, const struct packet *p)
{
    return (double)(p->bytes + r->model->overhead) / r->model->bandwidth;
}

static void queue_add(struct queue *q, struct packet *p)
{
    p->next = NULL;
    *q->end = p;
    q->end = &p->next;
}

static struct packet *queue_take(struct queue *q)
{
    struct packet *p = q->first;

    q->first = p->next;
    if (!q->first)
        q->end = &q->first;
    q->held--;
    return p;
}

/* Sends a packet over a link. */
static int depart(struct run *r, unsigned number, struct packet *p, unsigned channel)
{
    struct link *link = &r->links[number];
    struct route_load *load = &r->loads[number];
    const double busy = time_of(r, p);
    int error;

    p->channel = channel;
    link->busy = true;
    link->queues[channel].held++;
    load->packets++;
    load->bytes += p->bytes;
    load->busy += busy;
    error = event_add(r, r->now + busy, number, NULL);
    return error ? error : event_add(r, r->now + busy + r->model->latency, number, p);
}

/* Sends the next packet of a node's messages, if there is room for it. */
static int inject(struct run *r, unsigned node)
{
    const unsigned number = node * LINKS + ROUTE_IN;
    struct link *link = &r->links[number];
    struct route_message *m;
    struct packet *p;
    size_t bytes;

    if (r->waiting_next[node] == r->waiting_count[node] || link->busy || link->queues[0].held >= r->model->buffers)
        return 0;
    m = r->waiting[node][r->waiting_next[node]];
    if (m->start > r->now)
        return 0; /* an event comes at that time */
    bytes = m->bytes - r->sent[node] < r->model->payload ? m->bytes - r->sent[node] : r->model->payload;
    p = malloc(sizeof(*p) + bytes);
    if (!p)
        return -ENOMEM;
    *p = (struct packet){.message = m, .address = m->to + r->sent[node], .bytes = bytes};
    memcpy(p->data, r->memories[node] + m->from + r->sent[node], bytes);
    r->sent[node] += bytes;
    if (r->sent[node] == m->bytes) {
        r->sent[node] = 0;
        r->waiting_next[node]++;
    }
    return depart(r, number, p, 0);
}

static int kick(struct run *r, unsigned number);

/* The end of a link has room again. */
static int room_again(struct run *r, unsigned number)
{
    return port_of(number) == ROUTE_IN ? inject(r, node_of(number)) : kick(r, number);
}

/* Serves the first packets of the node's inputs in turn. */
static int kick(struct run *r, unsigned number)
{
    const unsigned node = node_of(number), port = port_of(number), ways = LINKS * ROUTE_MOST_CHANNELS;
    struct link *link = &r->links[number];
    unsigned waiting = 0;
    int error = 0;

    for (unsigned i = 0; i < ways; i++) {
        const unsigned way = (link->turn + i) % ways, along = way / ROUTE_MOST_CHANNELS;
        const int into = link_into(r, node, along);
        struct queue *q = into < 0 ? NULL : &r->links[into].queues[way % ROUTE_MOST_CHANNELS];
        unsigned channel;

        if (!q || !q->first || route_port(r->net, node, q->first->address) != (int)port)
            continue;
        waiting++;
        channel = route_channel(r->net, node, along == ROUTE_IN ? ROUTE_N : along, q->first->channel, port);
        if (link->busy || (port != ROUTE_N && link->queues[channel].held >= r->model->buffers))
            continue;
        link->turn = way + 1;
        error = depart(r, number, queue_take(q), channel);
        if (!error)
            error = room_again(r, (unsigned)into);
        if (error)
            return error;
        /* the next packet in the queue may want another port */
        if (q->first) {
            const int next = route_port(r->net, node, q->first->address);

            if (next >= 0 && next != (int)port)
                error = kick(r, node * LINKS + (unsigned)next);
        }
    }
    if (waiting > r->loads[number].waiting)
        r->loads[number].waiting = waiting;
    return error;
}

/* Delivers a packet to its node's host: the address becomes an offset in the memory there. */
static int deliver(struct run *r, unsigned node, struct packet *p)
{
    memcpy(r->memories[node] + p->address % r->net->slot, p->data, p->bytes);
    r->left -= p->bytes;
    p->message->end = r->now;
    free(p);
    return 0;
}

static int arrive(struct run *r, unsigned number, struct packet *p)
{
    const unsigned node = node_of(number), port = port_of(number);
    struct queue *q = &r->links[number].queues[p->channel];
    const int at = port == ROUTE_IN ? (int)node : route_neighbour(r->net, node, port);
    int next;

    if (port == ROUTE_N) {
        q->held--;
        return deliver(r, node, p);
    }
    queue_add(q, p);
    next = route_port(r->net, (unsigned)at, p->address);
    return kick(r, (unsigned)at * LINKS + (unsigned)next);
}

static int happen(struct run *r)
{
    const struct event e = event_take(r);

    r->now = e.time;
    if (e.packet)
        return arrive(r, e.link, e.packet);
    if (r->links[e.link].busy) /* otherwise it is the start of a message */
        r->links[e.link].busy = false;
    return room_again(r, e.link);
}

/* ---- running ---- */

static bool valid(const struct route_net *net, const struct route_message *m, size_t memory_bytes)
{
    const uint64_t last = m->to + m->bytes - 1;

    return m->source < net->nodes && m->bytes && m->bytes <= memory_bytes && m->from <= memory_bytes - m->bytes &&
           m->start >= 0 && last >= m->to && last < ROUTE_WINDOW && m->to / net->slot == last / net->slot &&
           last % net->slot < memory_bytes && route_hops(net, m->source, m->to) >= 0;
}

static int open_run(struct run *r, struct route_message *messages, unsigned count)
{
    const unsigned nodes = r->net->nodes;

    r->links = calloc((size_t)nodes * LINKS, sizeof(*r->links));
    r->waiting = calloc(nodes, sizeof(*r->waiting));
    r->waiting_count = calloc(nodes, sizeof(*r->waiting_count));
    r->waiting_next = calloc(nodes, sizeof(*r->waiting_next));
    r->sent = calloc(nodes, sizeof(*r->sent));
    if (!r->links || !r->waiting || !r->waiting_count || !r->waiting_next || !r->sent)
        return -ENOMEM;
    for (unsigned i = 0; i < nodes * LINKS; i++) {
        for (unsigned c = 0; c < ROUTE_MOST_CHANNELS; c++)
            r->links[i].queues[c].end = &r->links[i].queues[c].first;
    }
    for (unsigned node = 0; node < nodes; node++) {
        r->waiting[node] = calloc(count + 1, sizeof(**r->waiting));
        if (!r->waiting[node])
            return -ENOMEM;
    }
    for (unsigned i = 0; i < count; i++) {
        const unsigned node = messages[i].source;

        messages[i].hops = route_hops(r->net, node, messages[i].to);
        r->left += messages[i].bytes;
        r->waiting[node][r->waiting_count[node]++] = &messages[i];
        if (event_add(r, messages[i].start, node * LINKS + ROUTE_IN, NULL))
            return -ENOMEM;
    }
    return 0;
}

static void close_run(struct run *r)
{
    while (r->event_count)
        free(event_take(r).packet);
    for (unsigned i = 0; r->links && i < r->net->nodes * LINKS; i++) {
        for (unsigned c = 0; c < ROUTE_MOST_CHANNELS; c++) {
            while (r->links[i].queues[c].first)
                free(queue_take(&r->links[i].queues[c]));
        }
    }
    for (unsigned node = 0; r->waiting && node < r->net->nodes; node++)
        free(r->waiting[node]);
    free(r->waiting);
    free(r->waiting_count);
    free(r->waiting_next);
    free(r->sent);
    free(r->links);
    free(r->events);
}

int route_run(const struct route_net *net, const struct route_model *model, struct route_message *messages,
              unsigned count, uint8_t *const *memories, size_t memory_bytes, struct route_load *loads)
{
    struct run r = {.net = net, .model = model, .loads = loads, .memories = memories};
    int error = 0;

    if (!(model->latency >= 0) || !(model->bandwidth > 0) || !model->payload || !model->buffers)
        return -EINVAL;
    for (unsigned i = 0; i < count; i++) {
        if (!valid(net, &messages[i], memory_bytes))
            return -EINVAL;
    }
    memset(loads, 0, (size_t)net->nodes * LINKS * sizeof(*loads));
    error = open_run(&r, messages, count);
    while (!error && r.event_count)
        error = happen(&r);
    if (!error && r.left)
        error = -EDEADLK;
    close_run(&r);
    return error;
}
