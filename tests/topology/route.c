/* Routes over rings and tori, as PEACH2 finds them by comparing addresses: all routes, and transfers with data. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#undef NDEBUG
#include <assert.h>

#include "tools/topo/route.h"

static struct route_net net;

static unsigned around(unsigned a, unsigned b, unsigned size)
{
    unsigned apart = (b + size - a) % size;

    return apart < size - apart ? apart : size - apart;
}

/* From every node to every other, by the shortest route. */
static void ways(unsigned positions, unsigned rings)
{
    assert(!route_net_make(&net, positions, rings, 2));
    for (unsigned a = 0; a < net.nodes; a++) {
        for (unsigned b = 0; b < net.nodes; b++) {
            const unsigned hops =
                around(a % positions, b % positions, positions) + around(a / positions, b / positions, rings);

            for (unsigned region = 0; region < ROUTE_REGIONS; region++) {
                assert(route_hops(&net, a, route_address(&net, b, region)) == (int)hops);
                assert(route_hops(&net, a, route_address(&net, b, region) + net.slot / ROUTE_REGIONS - 1) == (int)hops);
            }
        }
    }
    assert(net.slot * net.nodes <= ROUTE_WINDOW);
}

/* Figure 5: a ring of four nodes, whose windows are a quarter each. */
static void ring_of_four(void)
{
    assert(!route_net_make(&net, 4, 1, 2));
    assert(net.slot == ROUTE_WINDOW / 4);
    for (unsigned node = 0; node < 4; node++) {
        assert(route_port(&net, node, route_address(&net, node, 0)) == ROUTE_N);
        assert(route_port(&net, node, route_address(&net, (node + 1) % 4, 0)) == ROUTE_E);
        assert(route_port(&net, node, route_address(&net, (node + 3) % 4, 0)) == ROUTE_W);
        assert(!net.registers[node][ROUTE_S].count && !net.registers[node][ROUTE_U].count);
    }
    assert(route_neighbour(&net, 3, ROUTE_E) == 0 && route_neighbour(&net, 0, ROUTE_W) == 3);
    /* two rings need port S only, as the chip has it */
    assert(!route_net_make(&net, 8, 2, 2));
    for (unsigned node = 0; node < 16; node++)
        assert(net.registers[node][ROUTE_S].count && !net.registers[node][ROUTE_U].count);
}

/* One channel per link suffices only where rings are so short that packets cannot wait for each other in a cycle. */
static void circles(void)
{
    unsigned cycle[ROUTE_MOST_NODES];

    for (unsigned positions = 1; positions <= 9; positions++) {
        for (unsigned rings = 1; rings <= 5; rings++) {
            const bool may = positions > 3 || rings > 3;
            int length;

            assert(!route_net_make(&net, positions, rings, 2));
            assert(!route_cycle(&net, cycle, ROUTE_MOST_NODES));
            assert(!route_net_make(&net, positions, rings, 1));
            length = route_cycle(&net, cycle, ROUTE_MOST_NODES);
            assert(may ? length >= 3 : length == 0);
            for (int i = 0; i < length; i++) { /* each link begins at the end of the one before */
                const unsigned link = cycle[i], next = cycle[(i + 1) % length];

                assert(route_neighbour(&net, link / ROUTE_PORTS, link % ROUTE_PORTS) == (int)(next / ROUTE_PORTS));
            }
        }
    }
}

/* ---- with data ---- */

enum { BYTES = 20000, MOST = 64 };
static uint8_t *memories[ROUTE_MOST_NODES], *should[ROUTE_MOST_NODES];
static struct route_load loads[ROUTE_MOST_NODES * (ROUTE_PORTS + 1)];
static struct route_message messages[MOST * MOST];

static void memory_open(void)
{
    for (unsigned i = 0; i < net.nodes; i++) {
        memories[i] = malloc(2 * BYTES * MOST);
        should[i] = malloc(2 * BYTES * MOST);
        assert(memories[i] && should[i]);
        for (size_t k = 0; k < 2 * BYTES * MOST; k++)
            memories[i][k] = should[i][k] = (uint8_t)(i * 37 + k * 11 + k / 256);
    }
}

static void memory_close(void)
{
    for (unsigned i = 0; i < net.nodes; i++) {
        assert(!memcmp(memories[i], should[i], 2 * BYTES * MOST));
        free(memories[i]);
        free(should[i]);
    }
}

static int run(const struct route_model *model, unsigned count)
{
    return route_run(&net, model, messages, count, memories, 2 * BYTES * MOST, loads);
}

/* Every node sends to every other; the data arrive in the right places, and nothing else changes. */
static int everybody(unsigned positions, unsigned rings, unsigned channels, unsigned buffers, bool check)
{
    struct route_model model = route_peach2;
    unsigned count = 0;
    uint64_t bytes = 0, hop_bytes = 0, link_bytes = 0;
    int error;

    assert(!route_net_make(&net, positions, rings, channels));
    memory_open();
    model.buffers = buffers;
    for (unsigned a = 0; a < net.nodes; a++) {
        for (unsigned b = 0; b < net.nodes; b++) {
            const size_t size = BYTES - a * 13 - b, from = b * BYTES, to = (size_t)BYTES * MOST + a * BYTES;

            messages[count] = (struct route_message){
                .source = a, .from = from, .to = route_address(&net, b, 0) + to, .bytes = size, .start = 1e-9 * a};
            memcpy(should[b] + to, should[a] + from, size);
            bytes += size;
            hop_bytes += size * (unsigned)route_hops(&net, a, messages[count++].to);
        }
    }
    error = run(&model, count);
    if (!check) {
        for (unsigned i = 0; i < net.nodes; i++)
            memcpy(should[i], memories[i], 2 * BYTES * MOST);
        memory_close();
        return error;
    }
    assert(!error);
    for (unsigned i = 0; i < net.nodes * (ROUTE_PORTS + 1); i++) {
        const unsigned port = i % (ROUTE_PORTS + 1);

        if (port == ROUTE_IN || port == ROUTE_N)
            bytes -= port == ROUTE_N ? loads[i].bytes : 0;
        else
            link_bytes += loads[i].bytes;
    }
    assert(!bytes && link_bytes == hop_bytes);
    memory_close();
    return 0;
}

/* Times that can be computed by hand. */
static void times(void)
{
    const struct route_model *m = &route_peach2;
    const double packet = (double)(m->payload + m->overhead) / m->bandwidth;

    assert(!route_net_make(&net, 8, 1, 2));
    memory_open();
    for (unsigned hops = 0; hops <= 4; hops++) { /* linear in hops; one hop is the paper's 782 ns */
        double expected = (hops + 2) * (m->latency + (4.0 + (double)m->overhead) / m->bandwidth);

        messages[0] =
            (struct route_message){.source = 1, .from = 8, .to = route_address(&net, 1 + hops, 0), .bytes = 4};
        memcpy(should[1 + hops], should[1] + 8, 4);
        assert(!run(m, 1) && messages[0].hops == (int)hops);
        assert(fabs(messages[0].end - expected) < 1e-12);
        assert(hops != 1 || fabs(messages[0].end - 782e-9) < 2e-9);
    }
    /* a long message runs at the links' speed */
    messages[0] = (struct route_message){.source = 0, .to = route_address(&net, 3, 0), .bytes = 256 * 1000};
    memcpy(should[3], should[0], 256 * 1000);
    assert(!run(m, 1));
    assert(fabs(messages[0].end - (1000 * packet + 4 * packet + 5 * m->latency)) < 2 * packet);
    /* two messages over one link take twice as long; in opposite directions, or over other links, they do not
     * interfere */
    for (unsigned way = 0; way < 2; way++) {
        messages[0] = (struct route_message){.source = 0, .to = route_address(&net, 2, 0), .bytes = 256 * 1000};
        messages[1] = (struct route_message){
            .source = way ? 3 : 1, .to = route_address(&net, way ? 1 : 3, 0), .bytes = 256 * 1000};
        for (unsigned i = 0; i < 2; i++)
            memcpy(should[i ? (way ? 1 : 3) : 2], should[messages[i].source], 256 * 1000);
        assert(!run(m, 2));
        assert(messages[0].end / (1000 * packet) > (way ? 1.0 : 1.9) &&
               messages[0].end / (1000 * packet) < (way ? 1.1 : 2.1));
    }
    memory_close();
}

static void refused(void)
{
    struct route_model model = route_peach2;

    assert(route_net_make(&net, 0, 1, 1) == -EINVAL && route_net_make(&net, 17, 16, 1) == -EINVAL);
    assert(route_net_make(&net, 4, 1, 3) == -EINVAL && !route_net_make(&net, 6, 1, 1));
    memory_open();
    messages[0] = (struct route_message){.source = 6, .to = 0, .bytes = 1};
    assert(run(&model, 1) == -EINVAL);
    messages[0] = (struct route_message){.source = 0, .to = 7 * net.slot, .bytes = 1}; /* of no node */
    assert(run(&model, 1) == -EINVAL);
    messages[0] = (struct route_message){.source = 0, .to = net.slot - 1, .bytes = 2};
    assert(run(&model, 1) == -EINVAL);
    messages[0] = (struct route_message){.source = 0, .to = UINT64_MAX, .bytes = 2};
    assert(run(&model, 1) == -EINVAL);
    model.buffers = 0;
    messages[0] = (struct route_message){.source = 0, .to = 0, .bytes = 2};
    assert(run(&model, 1) == -EINVAL);
    memory_close();
}

int main(void)
{
    for (unsigned positions = 1; positions <= 16; positions++) {
        for (unsigned rings = 1; rings <= 6; rings++)
            ways(positions, rings);
    }
    ring_of_four();
    circles();
    everybody(1, 1, 1, 1, true);
    everybody(8, 1, 2, 8, true);
    everybody(8, 1, 2, 1, true); /* this would deadlock with one channel, as the next call does: */
    assert(everybody(8, 1, 1, 1, false) == -EDEADLK);
    everybody(3, 2, 1, 1, true);
    everybody(4, 4, 2, 1, true);
    everybody(5, 3, 2, 2, true);
    times();
    refused();
    return 0;
}
