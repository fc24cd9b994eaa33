/* The congestion model: the paper's tables and halo exchanges, properties that hold in any tree, and texts that are no
 * trees. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#undef NDEBUG
#include <assert.h>

#include "tests/draw.h"
#include "tools/topo/halo.h"
#include "topology/ports.h"

#define TAU 0.2
#define NEAR(left, right) (fabs((left) - (right)) < 1e-9)

static uint64_t state = 1;

static unsigned below(unsigned limit)
{
    return draw_below(&state, limit);
}

static struct topology *tree(const char *name)
{
    struct topology *t;
    char why[256];

    assert(!topology_open(name, &t, why, sizeof(why)));
    return t;
}

/* ---- the paper's numbers ---- */

/* Makes a route of one hop, through a port of switch 100 to neighbour `to`, with its factor so far. */
static void come(struct route *route, unsigned from, unsigned to, double factor, bool crosses_root)
{
    *route = (struct route){.hop_count = 1, .factor = factor, .crosses_root = crosses_root};
    route->hops[0] = (struct hop){.node = 100, .from = from, .to = to};
}

static void example_1(void)
{
    static struct port port;
    struct route routes[4];

    come(&routes[0], 4, 6, 0.6, false);
    come(&routes[1], 4, 6, 0.4, false);
    come(&routes[2], 5, 6, 0.3, false);
    come(&routes[3], 5, 6, 0.5, false);
    port_collect(&port, routes, 4, 100, 6);
    assert(port.group_count == 2 && NEAR(port.groups[0].sum, 1) && NEAR(port.groups[1].sum, 0.8));
    port_arbitrate_upstream(&port);
    assert(NEAR(routes[0].factor + routes[1].factor, 5.0 / 9) && NEAR(routes[2].factor + routes[3].factor, 4.0 / 9));
    assert(NEAR(routes[0].factor, 0.6 / 1.8) && NEAR(routes[1].factor, 0.4 / 1.8)); /* 0.33, 0.22 */
    assert(NEAR(routes[2].factor, 0.3 / 1.8) && NEAR(routes[3].factor, 0.5 / 1.8)); /* 0.17, 0.28 */
}

static void example_2(void)
{
    static struct port port;
    struct route routes[2];

    come(&routes[0], 18, 17, 0.7, true);
    come(&routes[1], 20, 17, 0.9, false);
    port_collect(&port, routes, 2, 100, 17);
    port_arbitrate_downstream(&port, TAU, false);
    assert(NEAR(routes[0].factor, 0.3) && NEAR(routes[1].factor, 0.7));
}

/* a, b and c enter a switch by one port; a is lowered at a later port, and b and c with it; d, from elsewhere, is
 * not. */
static void example_3(void)
{
    struct route routes[4];

    for (unsigned i = 0; i < 3; i++)
        come(&routes[i], 12, 13 + i, 1.0 / 3, false);
    come(&routes[3], 20, 14, 0.6, false);
    routes[0].hops[routes[0].hop_count++] =
        (struct hop){.node = 101, .from = 100, .to = 17, .factor = 0.1, .conflict = true};
    routes[0].factor = 0.1;
    routes_find_blocked(routes, 4);
    assert(NEAR(routes[1].blocked, 0.1) && NEAR(routes[2].blocked, 0.1));
    assert(route_is_blocked(&routes[1]) && route_is_blocked(&routes[2]));
    assert(!route_is_blocked(&routes[0]) && !route_is_blocked(&routes[3]));
}

static void check_column(const double *values, double a, double b, double c, double d)
{
    assert(NEAR(values[0], a) && NEAR(values[1], b) && NEAR(values[2], c) && NEAR(values[3], d));
}

static const struct topology_transfer example[] = {
    {0, 2, 300 * 1048576.0, 0}, {1, 4, 300 * 1048576.0, 0}, {3, 2, 300 * 1048576.0, 0}, {6, 4, 300 * 1048576.0, 0}};

static void table_1(void)
{
    struct topology *t2 = tree("T2");
    double factors[4], values[TOPOLOGY_STEPS][4], *steps[TOPOLOGY_STEPS];

    for (unsigned i = 0; i < TOPOLOGY_STEPS; i++)
        steps[i] = values[i];
    assert(!topology_factors(t2, TAU, example, 4, factors, steps));
    check_column(steps[TOPOLOGY_SOURCES], 1, 1, 1, 1);
    check_column(steps[TOPOLOGY_UPSTREAM], 0.5, 0.5, 1, 1);
    check_column(steps[TOPOLOGY_DOWNSTREAM], 0.5, 0.3, 0.5, 0.7);
    check_column(steps[TOPOLOGY_BLOCKED], 0.3, 0.3, 0.5, 0.7);
    check_column(steps[TOPOLOGY_RAISED], 0.3, 0.3, 0.7, 0.7);
    check_column(factors, 0.3, 0.3, 0.7, 0.7);
    free(t2);
}

struct seen {
    unsigned count;
    double times[2], factors[2][4], left[2][4];
};

static void see(void *argument, double time, const double *factors, const double *left)
{
    struct seen *seen = argument;

    assert(seen->count < 2);
    seen->times[seen->count] = time;
    memcpy(seen->factors[seen->count], factors, sizeof(seen->factors[0]));
    memcpy(seen->left[seen->count++], left, sizeof(seen->left[0]));
}

/* "36 ms", "65 ms", and 128 MB sent (the table says "remaining"; the text has 172 MB remaining). */
static void table_2(void)
{
    struct topology *t2 = tree("T2");
    struct seen seen = {0};
    double ends[4];

    assert(!topology_predict(t2, TAU, 11.6 * 1073741824, example, 4, ends, see, &seen));
    assert(seen.count == 2);
    assert(floor(seen.times[0] * 1e3) == 36 && round(seen.times[1] * 1e3) == 65);
    assert(floor(300 - seen.left[0][0] / 1048576) == 128 && seen.left[0][2] == 0 && seen.left[1][1] == 0);
    check_column(seen.factors[1], 0.5, 0.5, 0, 0);
    assert(ends[0] == seen.times[1] && ends[1] == seen.times[1] && ends[2] == seen.times[0] &&
           ends[3] == seen.times[0]);
    free(t2);
}

/* Section III-B: transfers across the root complex, alone and against transfers that do not cross it. */
static void root_complex(void)
{
    struct topology *t2 = tree("T2"), *t1 = tree("T1");
    struct topology_transfer both[] = {{0, 1, 1, 0}, {4, 1, 1, 0}};
    double factors[2];

    assert(!topology_factors(t2, TAU, both, 2, factors, NULL));
    assert(NEAR(factors[0], 0.7) && NEAR(factors[1], 0.3));
    assert(!topology_factors(t2, TAU, both + 1, 1, factors, NULL) && NEAR(factors[0], 1 - TAU));
    assert(!topology_factors(t1, TAU, both + 1, 1, factors, NULL) && NEAR(factors[0], 1)); /* T1 has no root complex */
    free(t1);
    free(t2);
}

/* The paper's ratios: 1.9; 2.57 and 1.44, rounded down as the 128 MB of its Table II. doc/topology.md says how close
 * other readings come. */
static void halos(void)
{
    struct topology *t2 = tree("T2");
    struct topology_halo h;

    assert(!topology_halo(t2, TAU, 2, &h));
    assert(h.orders == 20736 && NEAR(floor(h.slowest / h.fastest * 10) / 10, 1.9));
    assert(!topology_halo(t2, TAU, 3, &h));
    assert(h.orders == 1679616);
    assert(NEAR(floor(h.slowest / h.fastest * 100) / 100, 2.57) && NEAR(floor(h.slowest / h.median * 100) / 100, 1.44));
    assert(topology_halo(t2, TAU, 4, &h) && topology_halo(t2, 1, 2, &h));
    free(t2);
}

/* ---- properties that hold in any tree ---- */

/* A tree of any form, with or without a root complex. */
/* Figure 8 and its text: rings, that of all devices first, and 1 > 5 begins before 0 > 4 is over. */
static void figure_8(void)
{
    static const unsigned rings[][9] = {{0, 1, 2, 3, 7, 6, 5, 4, 0}, {0, 4, 5, 1, 0}, {2, 6, 7, 3, 2}, {1, 5, 6, 2, 1}};
    static const unsigned lengths[] = {8, 4, 4, 4};
    struct topology_transfer transfers[20];
    double ends[20];
    struct topology *t = tree("T2");
    struct topology_halo h;
    unsigned count = 0, order[20], sent[8] = {0};
    struct topology_times first, best;

    assert(!topology_halo(t, TAU, 2, &h));
    for (unsigned ring = 0; ring < 4; ring++) {
        for (unsigned i = 0; i < lengths[ring]; i++) {
            unsigned from = rings[ring][i], to = rings[ring][i + 1];

            assert(h.neighbours[from][sent[from]++] == to);
            transfers[count++] = (struct topology_transfer){.source = from, .target = to, .bytes = 1};
        }
    }
    assert(!topology_predict(t, TAU, 1, transfers, count, ends, NULL, NULL));
    assert(transfers[8].source == 0 && transfers[8].target == 4 && transfers[11].source == 1);
    assert(transfers[16].source == 1 && transfers[16].target == 5 && ends[11] < ends[8]);
    /* the search over any pattern finds this order, too, from the reverse order */
    for (unsigned i = 0; i < count / 2; i++) {
        struct topology_transfer it = transfers[i];

        transfers[i] = transfers[count - 1 - i];
        transfers[count - 1 - i] = it;
    }
    assert(!topology_order(t, TAU, 1, transfers, count, 0, 20736, order, &first, &best));
    assert(fabs(best.last - h.fastest) < 1e-3 && first.last > best.last);
    assert(!topology_order(t, TAU, 1, transfers, count, 0, 500, order, &first, &best));
    assert(best.last < first.last);
    free(t);
}

/* Beyond the paper: transfers from and to the host's memory. */
static void host_memory(void)
{
    struct topology *t = tree("T2");
    struct topology_transfer up[] = {{0, TOPOLOGY_HOST, 1, 0}, {1, TOPOLOGY_HOST, 1, 0}, {4, TOPOLOGY_HOST, 1, 0}};
    struct topology_transfer down[] = {{TOPOLOGY_HOST, 0, 1, 0}, {TOPOLOGY_HOST, 2, 1, 0}, {4, 3, 1, 0}};
    double factors[3];

    assert(!topology_factors(t, TAU, up, 3, factors, NULL));
    assert(NEAR(factors[0], 0.5) && NEAR(factors[1], 0.5) && NEAR(factors[2], 1));
    assert(!topology_factors(t, TAU, down, 2, factors, NULL));
    assert(NEAR(factors[0], 0.5) && NEAR(factors[1], 0.5));
    assert(!topology_factors(t, TAU, down, 3, factors, NULL));
    assert(factors[0] + factors[1] + factors[2] <= 1 + 1e-9 && factors[2] > 0);
    free(t);
}

/* Relations between the nodes of a tree, and writing a tree and reading it again. */
static void relations(void)
{
    static const char text[] =
        "tau 0.125\nbandwidth 1e10\nroot R\nswitch A R numa 0\nswitch B R numa 1\n"
        "device a A\ndevice b B\nswitch C B numa 3\ninterface n C\ninterface m B\n"
        "numa-distance 0 1 32\nnuma-distance 0 3 21\nnuma-distance 1 1 10\nnuma-distance 1 3 16\n";
    struct topology *t, *again;
    char why[256], *written;
    size_t size;
    FILE *file = fmemopen((void *)text, sizeof(text) - 1, "r");

    assert(!topology_parse(file, "relations", &t, why, sizeof(why)));
    fclose(file);
    assert(NEAR(t->tau, 0.125) && NEAR(t->bandwidth, 1e10));
    assert(t->nodes[t->devices[0]].numa == 0 && t->nodes[t->devices[1]].numa == 1 && t->nodes[0].numa == -1);
    assert(topology_distance(t, t->devices[0], t->devices[1]) == 4 && topology_distance(t, 0, 0) == 0);
    assert(topology_interface_near(t, t->devices[1]) == topology_find(t, "m"));
    assert(topology_interface_near(t, t->devices[0]) == topology_find(t, "n")); /* NUMA node before number of links */
    assert(topology_numa_distance(t, t->devices[0], t->devices[1]) == 32 && topology_numa_distance(t, 0, 1) == 0);
    assert(t->nodes[topology_find(t, "n")].numa == 3);
    assert(topology_root_port(t, t->devices[1]) == topology_find(t, "B") && topology_root_port(t, 0) == -1);
    file = open_memstream(&written, &size);
    topology_write(t, file);
    fclose(file);
    file = fmemopen(written, size, "r");
    assert(!topology_parse(file, "relations", &again, why, sizeof(why)));
    fclose(file);
    assert(!memcmp(t, again, sizeof(*t)));
    free(written);
    free(again);
    free(t);
}

static struct topology *random_tree(void)
{
    char text[4096] = "", why[256];
    unsigned switches = 1 + below(12);
    struct topology *t;
    FILE *file;

    strcat(text, below(2) ? "root N0\n" : "switch N0\n");
    for (unsigned i = 1; i < switches; i++)
        sprintf(text + strlen(text), "switch N%u N%u\n", i, below(i));
    for (unsigned i = 0; i < 2 + below(14); i++)
        sprintf(text + strlen(text), "device %u N%u\n", i, below(switches));
    strcat(text, "device last N0\n");
    strcat(text, "device lastbutone N0\n");
    file = fmemopen(text, strlen(text), "r");
    assert(!topology_parse(file, "random", &t, why, sizeof(why)));
    fclose(file);
    return t;
}

static bool passes(const struct topology *t, const struct topology_transfer *transfer, unsigned link, bool up)
{
    bool of_source = false, of_target = false;

    for (int at = transfer->source == TOPOLOGY_HOST ? 0 : (int)t->devices[transfer->source]; at >= 0;
         at = t->nodes[at].parent)
        of_source |= at == (int)link;
    for (int at = transfer->target == TOPOLOGY_HOST ? 0 : (int)t->devices[transfer->target]; at >= 0;
         at = t->nodes[at].parent)
        of_target |= at == (int)link;
    return up ? of_source && !of_target : of_target && !of_source;
}

static unsigned random_transfers(const struct topology *t, struct topology_transfer *transfers)
{
    unsigned count = 1 + below(20);

    for (unsigned i = 0; i < count; i++) {
        transfers[i] = (struct topology_transfer){.source = below(t->device_count), .bytes = 1 + below(1000)};
        transfers[i].target = (transfers[i].source + 1 + below(t->device_count - 1)) % t->device_count;
        if (!below(4))
            *(below(2) ? &transfers[i].source : &transfers[i].target) = TOPOLOGY_HOST;
        transfers[i].start = below(3) ? 0 : below(1000) / 1000.0;
    }
    return count;
}

static void capacities(const struct topology *t, const struct topology_transfer *transfers, unsigned count,
                       const double *factors)
{
    for (unsigned link = 1; link < t->node_count; link++) {
        for (unsigned up = 0; up < 2; up++) {
            double sum = 0;

            for (unsigned i = 0; i < count; i++)
                sum += passes(t, &transfers[i], link, up) ? factors[i] : 0;
            assert(sum <= 1 + 1e-9);
        }
    }
}

/* Makes the same tree and transfers with the devices and the list in another order. */
static void relabelled(const struct topology *t, const struct topology_transfer *transfers, unsigned count,
                       const double *factors)
{
    struct topology *other = malloc(sizeof(*other));
    struct topology_transfer moved[20];
    double again[20];
    unsigned shift = below(t->device_count);

    *other = *t;
    for (unsigned i = 0; i < t->device_count; i++)
        other->devices[(i + shift) % t->device_count] = t->devices[i];
    for (unsigned i = 0; i < count; i++) {
        moved[i] = transfers[i];
        if (moved[i].source != TOPOLOGY_HOST)
            moved[i].source = (moved[i].source + shift) % t->device_count;
        if (moved[i].target != TOPOLOGY_HOST)
            moved[i].target = (moved[i].target + shift) % t->device_count;
    }
    assert(!topology_factors(other, TAU, moved, count, again, NULL));
    for (unsigned i = 0; i < count; i++)
        assert(NEAR(factors[i], again[i]));
    free(other);
}

static void properties(void)
{
    for (int round = 0; round < 3000; round++) {
        struct topology *t = random_tree();
        struct topology_transfer transfers[20];
        unsigned count = random_transfers(t, transfers);
        double factors[20], ends[20], alone;

        assert(!topology_factors(t, TAU, transfers, count, factors, NULL));
        for (unsigned i = 0; i < count; i++) {
            assert(factors[i] >= 0 && factors[i] <= 1);
            for (unsigned k = 0; k < i; k++)
                assert(transfers[k].source != transfers[i].source || factors[i] == 0 ||
                       transfers[i].source == TOPOLOGY_HOST);
        }
        capacities(t, transfers, count, factors);
        relabelled(t, transfers, count, factors);
        assert(!topology_factors(t, TAU, transfers, 1, &alone, NULL));
        assert(NEAR(alone, 1) || NEAR(alone, 1 - TAU));
        assert(!topology_predict(t, TAU, 100, transfers, count, ends, NULL, NULL));
        for (unsigned i = 0; i < count; i++)
            assert(ends[i] >= transfers[i].start + transfers[i].bytes / 100 * (1 - 1e-6));
        free(t);
    }
}

/* ---- bad input ---- */

static void refuse(const char *text, const char *expected)
{
    struct topology *t = NULL;
    char why[256] = "", *copy = strdup(text);
    FILE *file = fmemopen(copy, strlen(copy) + 1, "r");

    assert(file && topology_parse(file, "tree", &t, why, sizeof(why)) && !t);
    if (!strstr(why, expected)) {
        fprintf(stderr, "\"%s\", not \"%s\"\n", why, expected);
        abort();
    }
    fclose(file);
    free(copy);
}

static void bad_text(void)
{
    char deep[4096] = "switch N0\n", word[] = "switch root device N0 N1 # \n x numa 1 tau 0.1 bandwidth 2";

    refuse("", "no device");
    refuse("switch A\n", "no device");
    refuse("bridge A\n", "line 1: neither");
    refuse("switch\n", "line 1: no name");
    refuse("switch A\nswitch B C\nswitch C B\n", "line 2: its parent has not been named");
    refuse("switch A\nswitch A A\n", "line 2: the name is taken");
    refuse("switch A\n\n# x\nswitch B\n", "line 4: there is a root");
    refuse("switch A\nroot R A\n", "line 2: a root has no parent");
    refuse("device D\n", "line 1: a device or interface needs");
    refuse("switch A\ndevice D A\ndevice E D\n", "line 3: its parent is a device");
    refuse("switch A B C D\n", "line 1: too many words");
    refuse("switch A numa\n", "line 1: its parent");
    refuse("switch A\ndevice B A numa x\n", "line 2: that is not a valid number");
    refuse("switch A\ndevice B A numa -1\n", "line 2: that is not a valid number");
    refuse("tau 1\n", "line 1: that is not a valid number");
    refuse("bandwidth 0\n", "line 1: that is not a valid number");
    refuse("bandwidth nan\n", "line 1: that is not a valid number");
    refuse("tau\n", "line 1: no number");
    refuse("tau 0.1 0.2\n", "line 1: too many words");
    refuse("here too\n", "line 1: too many words");
    refuse("numa-distance 0 64 10\n", "line 1: that is not a valid number");
    refuse("numa-distance 0 1\n", "line 1: no number");
    refuse("switch aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", "line 1: the name is too long");
    for (unsigned i = 1; i < 30; i++)
        sprintf(deep + strlen(deep), "switch N%u N%u\n", i, i - 1);
    refuse(deep, "line 17: the tree is too deep");
    for (int round = 0; round < 20000; round++) {
        char text[200], why[256];
        struct topology *t;
        size_t length = 0;
        FILE *file;

        while (length < below(150)) {
            size_t some = 1 + below(6), at = below(sizeof(word) - 1 - 6);

            memcpy(text + length, word + at, some);
            length += some;
        }
        if (!length)
            continue;
        file = fmemopen(text, length, "r");
        if (!topology_parse(file, "any", &t, why, sizeof(why)))
            free(t);
        fclose(file);
    }
}

static void bad_transfers(void)
{
    struct topology *t = tree("T1");
    struct topology_transfer itself = {1, 1, 1, 0}, nowhere = {0, 8, 1, 0}, never = {0, 1, NAN, 0}, good = {0, 1, 1, 0};
    double value;

    assert(topology_factors(t, TAU, &itself, 1, &value, NULL));
    assert(topology_factors(t, TAU, &nowhere, 1, &value, NULL));
    assert(topology_factors(t, NAN, &good, 1, &value, NULL));
    assert(topology_factors(t, 1, &good, 1, &value, NULL));
    assert(topology_predict(t, TAU, 0, &good, 1, &value, NULL, NULL));
    assert(topology_predict(t, TAU, 1, &never, 1, &value, NULL, NULL));
    good.bytes = 3; /* the duration is less than the start's last digit */
    good.start = 0.7;
    assert(!topology_predict(t, TAU, 1e17, &good, 1, &value, NULL, NULL) && NEAR(value, 0.7));
    free(t);
}

int main(void)
{
    example_1();
    example_2();
    example_3();
    table_1();
    table_2();
    root_complex();
    halos();
    figure_8();
    host_memory();
    relations();
    properties();
    bad_text();
    bad_transfers();
    return 0;
}
