/* `vocl topo route`: simulates PEACH2's routing, tools/topo/route.h. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tools.h"
#include "tools/topo/route.h"

#define MOST_MESSAGES 65536
#define MOST_MEMORY ((size_t)1 << 30) /* bytes of all nodes */

static const char *const ports[] = {"N", "E", "W", "S", "U", "host"};

struct wishes {
    unsigned positions, rings, channels;
    struct route_model model;
    size_t bytes;
    bool json;
};

/* The messages, and for each node where unused memory for the next message begins. */
struct plan {
    struct route_net net;
    struct route_message messages[MOST_MESSAGES];
    unsigned count;
    uint64_t used[ROUTE_MOST_NODES];
    uint8_t *memories[ROUTE_MOST_NODES];
    struct route_load loads[ROUTE_MOST_NODES * (ROUTE_PORTS + 1)];
};

/* ---- options ---- */

static struct wishes parse(int count, char **words)
{
    static const struct option options[] = {
        {"ring", required_argument, NULL, 'r'},     {"rings", required_argument, NULL, 'm'},
        {"channels", required_argument, NULL, 'c'}, {"buffers", required_argument, NULL, 'b'},
        {"latency", required_argument, NULL, 'l'},  {"bandwidth", required_argument, NULL, 'w'},
        {"payload", required_argument, NULL, 'p'},  {"size", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},           {0}};
    struct wishes w = {.positions = 8, .rings = 1, .channels = 2, .model = route_peach2, .bytes = 65536};
    int option;

    help_is_of("vocl topo");
    while ((option = getopt_long(count, words, "+", options, NULL)) != -1) {
        check_value(words);
        switch (option) {
        case 'r':
            w.positions = (unsigned)topo_number(optarg, "ring", 1, ROUTE_MOST_NODES);
            break;
        case 'm':
            w.rings = (unsigned)topo_number(optarg, "number of rings", 1, ROUTE_MOST_NODES);
            break;
        case 'c':
            w.channels = (unsigned)topo_number(optarg, "number of channels", 1, ROUTE_MOST_CHANNELS);
            break;
        case 'b':
            w.model.buffers = (unsigned)topo_number(optarg, "number of packets", 1, 1e6);
            break;
        case 'l':
            w.model.latency = topo_number(optarg, "latency", 0, 1e9) * 1e-9;
            break;
        case 'w':
            w.model.bandwidth = topo_number(optarg, "bandwidth", 1e-6, 1e6) * 1e9;
            break;
        case 'p':
            w.model.payload = (size_t)topo_number(optarg, "payload", 1, 1 << 20);
            break;
        case 's':
            w.bytes = (size_t)topo_size(optarg, 1, MOST_MEMORY);
            break;
        case 'j':
            w.json = true;
            break;
        default:
            exit(EXIT_USAGE);
        }
    }
    return w;
}

/* ---- messages ---- */

static void message_add(struct plan *p, unsigned source, unsigned target, size_t bytes, double start)
{
    if (source >= p->net.nodes || target >= p->net.nodes)
        misuse("nodes are 0 to %u", p->net.nodes - 1);
    if (p->count == MOST_MESSAGES)
        misuse("at most %d messages", MOST_MESSAGES);
    p->messages[p->count] = (struct route_message){.source = source, .bytes = bytes, .start = start};
    p->messages[p->count].from = p->used[source];
    p->used[source] += bytes;
    p->messages[p->count++].to = route_address(&p->net, target, 0) + p->used[target];
    p->used[target] += bytes;
}

/* SOURCE>TARGET[:BYTES][@US],... */
static void parse_messages(struct plan *p, const struct wishes *w, const char *text)
{
    for (;;) {
        char word[64], *end, *at = word;
        size_t length = strcspn(text, ","), bytes = w->bytes;
        double start = 0;
        unsigned long source, target;
        char *late, *size;

        if (length >= sizeof(word))
            misuse("\"%s\" is no message", text);
        memcpy(word, text, length);
        word[length] = 0;
        if ((late = strchr(word, '@'))) {
            *late = 0;
            start = topo_number(late + 1, "time", 0, 1e9) * 1e-6;
        }
        if ((size = strchr(word, ':'))) {
            *size = 0;
            bytes = (size_t)topo_size(size + 1, 1, MOST_MEMORY);
        }
        source = strtoul(at, &end, 10);
        if (end == at || *end != '>' || *at < '0' || *at > '9')
            misuse("\"%s\" is not SOURCE>TARGET", word);
        at = end + 1;
        target = strtoul(at, &end, 10);
        if (end == at || *end || *at < '0' || *at > '9' || source > UINT16_MAX || target > UINT16_MAX)
            misuse("\"%s\" is not SOURCE>TARGET", word);
        message_add(p, (unsigned)source, (unsigned)target, bytes, start);
        if (!text[length])
            return;
        text += length + 1;
    }
}

/* Adds the messages of a communication pattern. */
static bool pattern_add(struct plan *p, const struct wishes *w, const char *name)
{
    const unsigned nodes = p->net.nodes;
    uint32_t state = 1;

    if (strcmp(name, "neighbours") && strcmp(name, "all") && strcmp(name, "opposite") && strcmp(name, "random"))
        return false;
    for (unsigned node = 0; node < nodes; node++) {
        for (unsigned port = ROUTE_E; port < ROUTE_PORTS && *name == 'n'; port++) {
            const int there = route_neighbour(&p->net, node, port);

            if (there >= 0)
                message_add(p, node, (unsigned)there, w->bytes, 0);
        }
        for (unsigned i = 1; i < nodes && *name == 'a'; i++)
            message_add(p, node, (node + i) % nodes, w->bytes, 0);
        if (*name == 'o' && nodes > 1)
            message_add(p, node,
                        (node % w->positions + w->positions / 2) % w->positions +
                            (node / w->positions + w->rings / 2) % w->rings * w->positions,
                        w->bytes, 0);
        if (*name == 'r') {
            state = state * 1664525u + 1013904223u;
            message_add(p, node, (state >> 8) % nodes, w->bytes, 0);
        }
    }
    return true;
}

/* Returns the initial value of a byte of a node's memory. */
static uint8_t byte_of(unsigned node, uint64_t at)
{
    return (uint8_t)(node * 37 + at * 11 + at / 256);
}

static size_t memory_open(struct plan *p)
{
    uint64_t most = 1;

    for (unsigned i = 0; i < p->net.nodes; i++)
        most = p->used[i] > most ? p->used[i] : most;
    if (most > MOST_MEMORY / p->net.nodes)
        misuse("that is more than a simulation has memory for");
    for (unsigned i = 0; i < p->net.nodes; i++) {
        p->memories[i] = malloc((size_t)most);
        if (!p->memories[i])
            fail(1, "no memory");
        for (uint64_t at = 0; at < most; at++)
            p->memories[i][at] = byte_of(i, at);
    }
    return (size_t)most;
}

static unsigned target_of(const struct plan *p, const struct route_message *m)
{
    unsigned target = 0;

    while (m->to - route_address(&p->net, target, 0) >= p->net.slot)
        target++;
    return target;
}

/* Counts bytes that differ from what was sent. */
static uint64_t compare(const struct plan *p)
{
    uint64_t wrong = 0;

    for (unsigned i = 0; i < p->count; i++) {
        const struct route_message *m = &p->messages[i];
        const uint64_t offset = m->to % p->net.slot;
        const unsigned target = target_of(p, m);

        for (size_t k = 0; k < m->bytes; k++)
            wrong += p->memories[target][offset + k] != byte_of(m->source, m->from + k);
    }
    return wrong;
}

/* ---- output ---- */

static void print_registers(const struct route_net *net)
{
    printf("node port          mask         lower         upper, of addresses; slots of %#llx bytes\n",
           (unsigned long long)net->slot);
    for (unsigned node = 0; node < net->nodes; node++) {
        for (unsigned port = 0; port < ROUTE_PORTS; port++) {
            const struct route_registers *r = &net->registers[node][port];

            for (unsigned i = 0; i < r->count; i++)
                printf("%4u %-4s %#13llx %#13llx %#13llx\n", node, ports[port], (unsigned long long)r->mask,
                       (unsigned long long)r->bounds[i].lower, (unsigned long long)r->bounds[i].upper);
        }
    }
}

static void print_circle(const struct route_net *net)
{
    unsigned cycle[ROUTE_MOST_NODES * ROUTE_PORTS];
    int length = route_cycle(net, cycle, ROUTE_MOST_NODES * ROUTE_PORTS);

    if (length < 0)
        fail(1, "no memory");
    if (!length) {
        printf("no packets can wait for each other in a circle\n");
        return;
    }
    printf("packets can wait for each other in a circle, as at");
    for (int i = 0; i < length; i++)
        printf(" %u.%s", cycle[i] / ROUTE_PORTS, ports[cycle[i] % ROUTE_PORTS]);
    printf("; --channels 2\n");
}

static double last_end(const struct plan *p)
{
    double last = 0;

    for (unsigned i = 0; i < p->count; i++)
        last = p->messages[i].end > last ? p->messages[i].end : last;
    return last;
}

static void print_text(const struct plan *p, uint64_t wrong)
{
    const double last = last_end(p);
    uint64_t bytes = 0;

    printf("message        bytes hops    start us      end us       MB/s\n");
    for (unsigned i = 0; i < p->count; i++) {
        const struct route_message *m = &p->messages[i];

        bytes += m->bytes;
        printf("%3u > %-3u %10zu %4d %11.3f %11.3f %10.1f\n", m->source, target_of(p, m), m->bytes, m->hops,
               m->start * 1e6, m->end * 1e6, (double)m->bytes / (m->end - m->start) / 1e6);
    }
    printf("\nnode link    packets        bytes  busy %%  waiting\n");
    for (unsigned i = 0; i < p->net.nodes * (ROUTE_PORTS + 1); i++) {
        const struct route_load *load = &p->loads[i];

        if (load->packets)
            printf("%4u %-5s %9llu %12llu %7.1f %8u\n", i / (ROUTE_PORTS + 1), ports[i % (ROUTE_PORTS + 1)],
                   (unsigned long long)load->packets, (unsigned long long)load->bytes, load->busy / last * 100,
                   load->waiting);
    }
    printf("\nall ended after %.3f us: %.1f MB/s together; %llu bytes compared, %llu different\n", last * 1e6,
           (double)bytes / last / 1e6, (unsigned long long)bytes, (unsigned long long)wrong);
}

static void print_json(const struct plan *p, const struct wishes *w, uint64_t wrong)
{
    const char *before = "";

    printf(
        "{\"simulated\": true, \"ring\": %u, \"rings\": %u, \"channels\": %u, \"end_us\": %.6g, \"different\": %llu, "
        "\"messages\": [",
        w->positions, w->rings, w->channels, last_end(p) * 1e6, (unsigned long long)wrong);
    for (unsigned i = 0; i < p->count; i++) {
        const struct route_message *m = &p->messages[i];

        printf("%s{\"source\": %u, \"target\": %u, \"bytes\": %zu, \"hops\": %d, \"start_us\": %.6g, \"end_us\": %.6g}",
               i ? ", " : "", m->source, target_of(p, m), m->bytes, m->hops, m->start * 1e6, m->end * 1e6);
    }
    printf("], \"links\": [");
    for (unsigned i = 0; i < p->net.nodes * (ROUTE_PORTS + 1); i++) {
        const struct route_load *load = &p->loads[i];

        if (!load->packets)
            continue;
        printf("%s{\"node\": %u, \"link\": \"%s\", \"packets\": %llu, \"bytes\": %llu, \"busy_us\": %.6g, \"waiting\": "
               "%u}",
               before, i / (ROUTE_PORTS + 1), ports[i % (ROUTE_PORTS + 1)], (unsigned long long)load->packets,
               (unsigned long long)load->bytes, load->busy * 1e6, load->waiting);
        before = ", ";
    }
    puts("]}");
}

int topo_route(int count, char **words)
{
    const struct wishes w = parse(count, words);
    struct plan *p = calloc(1, sizeof(*p));
    const char *what = words[optind];
    uint64_t wrong;
    size_t bytes;
    int error;

    if (!p)
        fail(1, "no memory");
    if (route_net_make(&p->net, w.positions, w.rings, w.channels))
        misuse("at most %d nodes", ROUTE_MOST_NODES);
    if (what && words[optind + 1])
        misuse("what is \"%s\"?", words[optind + 1]);
    if (!w.json)
        printf(
            "SIMULATED: %u ring%s of %u nodes, %u channel%s with room for %u packets, %.4g ns and %.4g GB/s a link\n",
            w.rings, w.rings > 1 ? "s" : "", w.positions, w.channels, w.channels > 1 ? "s" : "", w.model.buffers,
            w.model.latency * 1e9, w.model.bandwidth / 1e9);
    if (!w.json)
        print_circle(&p->net);
    if (!what) {
        print_registers(&p->net);
        free(p);
        return 0;
    }
    if (!pattern_add(p, &w, what))
        parse_messages(p, &w, what);
    bytes = memory_open(p);
    error = route_run(&p->net, &w.model, p->messages, p->count, p->memories, bytes, p->loads);
    if (error == -EDEADLK)
        fail(1, "all packets wait for others");
    if (error)
        fail(1, "%s", strerror(-error));
    wrong = compare(p);
    if (w.json)
        print_json(p, &w, wrong);
    else
        print_text(p, wrong);
    for (unsigned i = 0; i < p->net.nodes; i++)
        free(p->memories[i]);
    free(p);
    return wrong != 0;
}
