/* `vocl topo`: PCIe trees, and the congestion model's predictions for transfers in them. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "tools/topo/calibrate.h"
#include "tools/topo/halo.h"
#include "tools/tools.h"

#define MEGA 1048576
#define MOST_SECONDS 60   /* for hwloc */
#define MOST_ORDERS 50000 /* orders up to which all are tried: about a second */

static const char help[] =
    "usage: vocl topo [show] [--topology FILE] [--svg | --json]\n"
    "       vocl topo predict [options] [--size BYTES] [--svg | --json] 'SOURCE>TARGET[:BYTES][@MS],...'\n"
    "       vocl topo order [options] [--size BYTES] [--json] 'SOURCE>TARGET[:BYTES],...'\n"
    "       vocl topo halo [options] [--json] --dims 2|3\n"
    "       vocl topo calibrate [--topology FILE] [--size BYTES]\n"
    "       vocl topo route [--ring N] [--rings N] [--channels 1|2] [--buffers PACKETS] [--latency NS] [--bandwidth "
    "GB/s]\n"
    "                       [--payload BYTES] [--size BYTES] [--json] ['SOURCE>TARGET[:BYTES][@US],...' | PATTERN]\n"
    "\n"
    "SOURCE and TARGET are numbers of devices, or host: the memory; @MS: the transfer begins so many milliseconds "
    "later\n"
    "\n"
    "  --topology FILE   a tree as text or hwloc's XML; T1; T2; or machine: this one (the default)\n"
    "  --tau FRACTION    what a transfer across a root complex loses (0.2, if the tree does not say)\n"
    "  --bandwidth GB/s  of an idle link (11.6, if the tree does not say)\n"
    "  --size BYTES      of each transfer, with K, M or G behind it (300M); as in the paper these, and the GB\n"
    "                    of the bandwidth, are powers of 1024\n"
    "  --svg             a picture; of predict with the transfers, their factors at first, and when they end\n"
    "  --json            for programs\n"
    "\n"
    "route simulates PEACH2's routing by addresses over a ring of nodes (8), or several, with real data. PATTERN is\n"
    "neighbours, opposite, all or random; without one the routers' registers are shown. Bandwidths are powers of 10.\n";

struct wishes {
    const char *topology;
    double tau, bandwidth, bytes;
    unsigned dimensions;
    bool svg, json;
};

#define MOST 1e18

static struct wishes parse(int count, char **words)
{
    static const struct option options[] = {{"topology", required_argument, NULL, 't'},
                                            {"tau", required_argument, NULL, 'a'},
                                            {"bandwidth", required_argument, NULL, 'b'},
                                            {"size", required_argument, NULL, 's'},
                                            {"dims", required_argument, NULL, 'd'},
                                            {"svg", no_argument, NULL, 'v'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct wishes w = {
        .topology = settings_string(SETTING_TOPOLOGY), .tau = -1, .bytes = 300.0 * MEGA, .dimensions = 2};
    int option;

    help_is_of("vocl topo");
    while ((option = getopt_long(count, words, "+h", options, NULL)) != -1) {
        check_value(words);
        switch (option) {
        case 't':
            w.topology = optarg;
            break;
        case 'a':
            w.tau = topo_number(optarg, "fraction", 0, MOST);
            break;
        case 'b':
            w.bandwidth = topo_number(optarg, "bandwidth", 0, MOST);
            if (w.bandwidth <= 0)
                misuse("%s is no bandwidth", optarg);
            break;
        case 's':
            w.bytes = topo_size(optarg, 0, MOST);
            break;
        case 'd':
            w.dimensions = (unsigned)topo_number(optarg, "number of dimensions", 0, MOST);
            break;
        case 'v':
            w.svg = true;
            break;
        case 'j':
            w.json = true;
            break;
        case 'h':
            fputs(help, stdout);
            exit(0);
        default:
            exit(EXIT_USAGE);
        }
    }
    return w;
}

static struct topology *open_tree(const struct wishes *w)
{
    struct topology *t;
    char why[256] = "";

    if (topology_open(w->topology, &t, why, sizeof(why)))
        misuse("%s%s", why, strcmp(w->topology, "machine") ? "" : "; --topology T1 is an example");
    t->tau = w->tau < 0 ? t->tau : w->tau;
    t->bandwidth = w->bandwidth > 0 ? w->bandwidth * 1024 * MEGA : t->bandwidth;
    return t;
}

/* ---- predict ---- */

/* Parses one end of a transfer. Returns the text after it. */
static const char *parse_end(const struct topology *t, const char *text, const char *all, unsigned *device)
{
    char *end;

    if (!strncmp(text, "host", 4)) {
        *device = TOPOLOGY_HOST;
        return text + 4;
    }
    *device = (unsigned)strtoul(text, &end, 10);
    if (end == text || *text < '0' || *text > '9')
        misuse("\"%s\" does not begin with SOURCE>TARGET", all);
    if (end - text > 6 || *device >= t->device_count)
        misuse("%s has devices 0 to %u, not %.*s", t->name, t->device_count - 1, (int)(end - text), text);
    return end;
}

static const char *parse_transfer(const struct wishes *w, const struct topology *t, const char *text,
                                  struct topology_transfer *out)
{
    const char *at = parse_end(t, text, text, &out->source);
    char size[32];

    if (*at != '>')
        misuse("\"%s\" does not begin with SOURCE>TARGET", text);
    at = parse_end(t, at + 1, text, &out->target);
    if (out->source == out->target)
        misuse("\"%.*s\" goes nowhere", (int)(at - text), text);
    out->bytes = w->bytes;
    if (*at == ':') {
        snprintf(size, sizeof(size), "%.*s", (int)strcspn(at + 1, ",@"), at + 1);
        out->bytes = topo_size(size, 0, MOST);
        at += 1 + strcspn(at + 1, ",@");
    }
    if (*at == '@') {
        snprintf(size, sizeof(size), "%.*s", (int)strcspn(at + 1, ","), at + 1);
        out->start = topo_number(size, "number of milliseconds", 0, MOST) / 1e3;
        at += 1 + strcspn(at + 1, ",");
    }
    return at;
}

static unsigned parse_transfers(const struct wishes *w, const struct topology *t, const char *text,
                                struct topology_transfer *transfers)
{
    unsigned count = 0;

    while (*text) {
        struct topology_transfer transfer = {0};

        text = parse_transfer(w, t, text, &transfer);
        if (count == TOPOLOGY_MOST_TRANSFERS)
            misuse("more than %d transfers", TOPOLOGY_MOST_TRANSFERS);
        transfers[count++] = transfer;
        if (*text == ',')
            text++;
        else if (*text)
            misuse("\"%s\" does not begin with a comma", text);
    }
    if (!count)
        misuse("no transfers");
    return count;
}

/* Formats a transfer as it was given. */
static const char *transfer_name(const struct topology_transfer *transfer, char name[32])
{
    char ends[2][12] = {"host", "host"};

    if (transfer->source != TOPOLOGY_HOST)
        snprintf(ends[0], sizeof(ends[0]), "%u", transfer->source);
    if (transfer->target != TOPOLOGY_HOST)
        snprintf(ends[1], sizeof(ends[1]), "%u", transfer->target);
    snprintf(name, 32, "%2s > %-3s", ends[0], ends[1]);
    return name;
}

struct watched {
    const struct topology_transfer *transfers;
    unsigned count, step;
    bool over[TOPOLOGY_MOST_TRANSFERS];
};

/* Prints the paper's Table II. */
static void print_step(void *argument, double time, const double *factors, const double *left)
{
    struct watched *watched = argument;
    char name[32];

    printf("\nstep %u\n%-8s %8s %12s %12s %10s\n", ++watched->step, "transfer", "factor", "sent", "left", "elapsed");
    for (unsigned i = 0; i < watched->count; i++) {
        if (watched->over[i])
            continue;
        printf("%s %8.4f %9.1f MB %9.1f MB %7.1f ms\n", transfer_name(&watched->transfers[i], name), factors[i],
               (watched->transfers[i].bytes - left[i]) / MEGA, left[i] / MEGA, time * 1e3);
        watched->over[i] = left[i] <= 0;
    }
}

/* Prints the paper's Table I. */
static void print_factors(const struct topology_transfer *transfers, unsigned count, double *const *steps)
{
    char name[32];

    printf("%-8s %8s %8s %8s %8s %8s\n", "transfer", "A", "B", "C", "D (8)", "D (9)");
    for (unsigned i = 0; i < count; i++) {
        printf("%s", transfer_name(&transfers[i], name));
        for (unsigned step = 0; step < TOPOLOGY_STEPS; step++)
            printf(" %8.4f", steps[step][i]);
        printf("\n");
    }
    puts("A, B, C, D: what each step of the model leaves of an idle link's bandwidth: A shared by what one source "
         "sends, B by\n"
         "what goes up the tree through one port, C by what goes down, D with what waits behind others (equation 8), "
         "and\n"
         "with what these leave to the rest (equation 9): the factor");
}

static void print_ends(const struct topology_transfer *transfers, unsigned count, const double *ends)
{
    char name[32];

    printf("%-8s %10s %10s\n", "transfer", "start", "end");
    for (unsigned i = 0; i < count; i++)
        printf("%s %7.1f ms %7.1f ms\n", transfer_name(&transfers[i], name), transfers[i].start * 1e3, ends[i] * 1e3);
}

/* ---- JSON ---- */

static void json_tree(const struct topology *t)
{
    fputs("{\"topology\": ", stdout);
    json_text(t->name);
    printf(", \"tau\": %g, \"bandwidth\": %.0f", t->tau, t->bandwidth);
}

static void json_end(unsigned device)
{
    if (device == TOPOLOGY_HOST)
        fputs("\"host\"", stdout);
    else
        printf("%u", device);
}

/* factors and ends may be NULL. */
static void json_transfers(const struct topology_transfer *transfers, const unsigned *order, unsigned count,
                           const double *factors, const double *ends)
{
    fputs(", \"transfers\": [", stdout);
    for (unsigned i = 0; i < count; i++) {
        const struct topology_transfer *one = &transfers[order ? order[i] : i];

        fputs(i ? ", {\"source\": " : "{\"source\": ", stdout);
        json_end(one->source);
        fputs(", \"target\": ", stdout);
        json_end(one->target);
        printf(", \"bytes\": %.0f, \"start_ms\": %.6g", one->bytes, one->start * 1e3);
        if (factors)
            printf(", \"factor\": %.6g", factors[i]);
        if (ends)
            printf(", \"end_ms\": %.6g", ends[i] * 1e3);
        putchar('}');
    }
    putchar(']');
}

static void json_times(const char *name, const struct topology_times *times)
{
    printf(", \"%s\": {\"last_ms\": %.6g, \"mean_ms\": %.6g}", name, times->last * 1e3, times->mean * 1e3);
}

static void json_nodes(const struct topology *t)
{
    static const char *const kinds[] = {"root", "switch", "device", "interface"};

    fputs(", \"nodes\": [", stdout);
    for (unsigned i = 0; i < t->node_count; i++) {
        const struct topology_node *n = &t->nodes[i];

        fputs(i ? ", {\"name\": " : "{\"name\": ", stdout);
        json_text(n->name);
        printf(", \"kind\": \"%s\"", kinds[n->kind]);
        if (n->parent >= 0) {
            fputs(", \"parent\": ", stdout);
            json_text(t->nodes[n->parent].name);
        }
        if (n->kind == TOPOLOGY_DEVICE)
            printf(", \"device\": %d", n->device);
        if (n->numa >= 0)
            printf(", \"numa\": %d", n->numa);
        putchar('}');
    }
    putchar(']');
}

/* Computes the factors of the first transfers: those that start later do not share links yet. */
static int first_factors(const struct topology *t, const struct topology_transfer *transfers, unsigned count,
                         double *factors, double *const *steps, bool *later)
{
    struct topology_transfer at_once[TOPOLOGY_MOST_TRANSFERS];
    double found[TOPOLOGY_MOST_TRANSFERS], start = transfers[0].start;
    unsigned number[TOPOLOGY_MOST_TRANSFERS], some = 0;
    int error;

    for (unsigned i = 1; i < count; i++)
        start = transfers[i].start < start ? transfers[i].start : start;
    for (unsigned i = 0; i < count; i++) {
        factors[i] = 0;
        if (transfers[i].start <= start) {
            number[some] = i;
            at_once[some++] = transfers[i];
        }
    }
    *later = some < count;
    error = topology_factors(t, t->tau, at_once, some, found, *later ? NULL : steps);
    for (unsigned i = 0; i < some && !error; i++)
        factors[number[i]] = found[i];
    return error;
}

static int predict(const struct wishes *w, const char *text)
{
    static double values[TOPOLOGY_STEPS][TOPOLOGY_MOST_TRANSFERS];
    double *steps[TOPOLOGY_STEPS], factors[TOPOLOGY_MOST_TRANSFERS], ends[TOPOLOGY_MOST_TRANSFERS];
    struct topology_transfer transfers[TOPOLOGY_MOST_TRANSFERS];
    struct topology *t = open_tree(w);
    struct watched watched = {.transfers = transfers, .count = parse_transfers(w, t, text, transfers)};
    const bool table = !w->svg && !w->json;
    bool later = false;
    int error;

    for (unsigned step = 0; step < TOPOLOGY_STEPS; step++)
        steps[step] = values[step];
    error = first_factors(t, transfers, watched.count, factors, steps, &later);
    if (!error && table && !later)
        print_factors(transfers, watched.count, steps);
    if (!error)
        error = topology_predict(t, t->tau, t->bandwidth, transfers, watched.count, ends, table ? print_step : NULL,
                                 &watched);
    if (!error && w->svg) {
        topology_draw_svg(t, transfers, watched.count, factors, ends, stdout);
    } else if (!error && w->json) {
        json_tree(t);
        json_transfers(transfers, NULL, watched.count, factors, ends);
        puts("}");
    } else if (!error) {
        putchar('\n');
        print_ends(transfers, watched.count, ends);
    }
    free(t);
    if (error)
        misuse("%s", error == -EINVAL ? "tau is to be from 0 to below 1" : strerror(-error));
    return 0;
}

/* ---- order ---- */

static int order(const struct wishes *w, const char *text)
{
    static struct topology_transfer transfers[TOPOLOGY_MOST_TRANSFERS];
    unsigned best_order[TOPOLOGY_MOST_TRANSFERS];
    struct topology_times first, best;
    struct topology *t = open_tree(w);
    unsigned count = parse_transfers(w, t, text, transfers);
    int error = topology_order(t, t->tau, t->bandwidth, transfers, count, 0, MOST_ORDERS, best_order, &first, &best);
    char name[32];

    for (unsigned i = 0; i < count; i++) {
        if (transfers[i].start > 0)
            misuse("an order is of transfers that all wait: without @MS");
    }
    if (!error && w->json) {
        json_tree(t);
        json_transfers(transfers, best_order, count, NULL, NULL);
        json_times("as_given", &first);
        json_times("in_this_order", &best);
        puts("}");
    }
    free(t);
    if (error)
        misuse("%s", error == -EINVAL ? "tau is to be from 0 to below 1" : strerror(-error));
    for (unsigned i = 0; i < count && !w->json; i++)
        printf("%s\n", transfer_name(&transfers[best_order[i]], name));
    if (!w->json)
        printf("as given: %.1f ms, %.1f ms on average; in this order: %.1f ms, %.1f ms\n", first.last * 1e3,
               first.mean * 1e3, best.last * 1e3, best.mean * 1e3);
    return 0;
}

/* ---- halo ---- */

static int halo(const struct wishes *w)
{
    struct topology *t = open_tree(w);
    struct topology_halo h;
    int error = topology_halo(t, t->tau, w->dimensions, &h);

    if (!error && w->json) {
        json_tree(t);
        printf(", \"dimensions\": %u, \"orders\": %lu, \"fastest\": %.6g, \"median\": %.6g, \"slowest\": %.6g, "
               "\"neighbours\": [",
               w->dimensions, h.orders, h.fastest, h.median, h.slowest);
        for (unsigned device = 0; device < 8; device++) {
            for (unsigned i = 0; i < h.neighbour_count[device]; i++)
                printf("%s%u", i ? ", " : device ? "], [" : "[", h.neighbours[device][i]);
        }
        puts("]]}");
    }
    free(t);
    if (!error && w->json)
        return 0;
    if (error == -EINVAL)
        misuse("a halo exchange is among 8 devices in 2 or 3 dimensions, tau from 0 to below 1");
    if (error)
        misuse("%s", strerror(-error));
    printf("the fastest of %lu orders:\n", h.orders);
    for (unsigned device = 0; device < 8; device++) {
        printf("%u >", device);
        for (unsigned i = 0; i < h.neighbour_count[device]; i++)
            printf(" %u", h.neighbours[device][i]);
        printf("\n");
    }
    printf("times, one transfer alone being 1: fastest %.3f, median %.3f, slowest %.3f\n", h.fastest, h.median,
           h.slowest);
    printf("slowest/fastest %.3f slowest/median %.3f\n", h.slowest / h.fastest, h.slowest / h.median);
    return 0;
}

/* Prints the tree with the measured values, as text that can be used as a tree. */
static int measure(const struct wishes *w)
{
    struct topology *t = open_tree(w);
    char why[256];

    if (w->bytes < 1 || w->bytes > (double)(1ull << 40))
        misuse("transfers of 1 byte to 1024 GB");
    printf("# %s, measured with transfers of %.0f bytes\n", t->name, w->bytes);
    if (calibrate(t, (size_t)w->bytes, stdout, why, sizeof(why)))
        fail(1, "%s", why);
    topology_write(t, stdout);
    free(t);
    return 0;
}

/* For topology_discover(): prints hwloc's tree as text, or ! and the reason why there is none. */
static int import(const struct wishes *w)
{
    struct topology *t;
    char why[512];

    alarm(MOST_SECONDS);
    if (topology_import(strcmp(w->topology, "machine") ? w->topology : NULL, &t, why, sizeof(why))) {
        printf("!%s\n", why);
        return 1;
    }
    topology_write(t, stdout);
    free(t);
    return 0;
}

static int show(const struct wishes *w)
{
    struct topology *t = open_tree(w);

    if (w->json) {
        json_tree(t);
        json_nodes(t);
        puts("}");
    } else if (w->svg)
        topology_draw_svg(t, NULL, 0, NULL, NULL, stdout);
    else
        topology_draw_text(t, stdout);
    free(t);
    return 0;
}

int main(int count, char **words)
{
    const bool bare = count < 2 || *words[1] == '-'; /* without a command the tree is shown */
    const char *what = bare ? "show" : words[1];
    bool transfers = !strcmp(what, "predict") || !strcmp(what, "order");
    struct wishes w;
    char **rest;

    if (!strcmp(what, "route"))
        return topo_route(count - 1, words + 1);
    w = parse(bare ? count : count - 1, bare ? words : words + 1);
    rest = words + !bare + optind;

    if (w.svg && w.json)
        misuse("--svg and --json exclude each other");
    if (w.svg && strcmp(what, "show") && strcmp(what, "predict"))
        misuse("%s draws nothing", what);
    if (transfers && !*rest)
        misuse("no transfers");
    if (rest[0] && rest[transfers])
        misuse("what is \"%s\"?", rest[transfers]);
    if (transfers)
        return *what == 'p' ? predict(&w, *rest) : order(&w, *rest);
    if (!strcmp(what, "halo"))
        return halo(&w);
    if (!strcmp(what, "import"))
        return import(&w);
    if (!strcmp(what, "calibrate"))
        return measure(&w);
    if (!strcmp(what, "show"))
        return show(&w);
    misuse("unknown command \"topo %s\"", what);
}
