/* `vocl topo`: PCIe trees, and what the congestion model says of transfers in them. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "tools/tools.h"
#include "topology/topology.h"

#define MEGA 1048576

static const char help[] =
    "usage: vocl topo show [--topology FILE] [--svg]\n"
    "       vocl topo predict [options] [--size BYTES] 'SOURCE>TARGET,...'\n"
    "       vocl topo halo [options] --dims 2|3\n"
    "\n"
    "  --topology FILE   a tree as text or hwloc's XML; T1; T2 (the default); or machine: this one\n"
    "  --tau FRACTION    what a transfer across a root complex loses (0.2)\n"
    "  --bandwidth GB/s  of an idle link (11.6)\n"
    "  --size BYTES      of each transfer, with K, M or G behind it (300M); as in the paper these, and the GB\n"
    "                    of the bandwidth, are powers of 1024\n";

struct wishes {
    const char *topology;
    double tau, bandwidth, bytes;
    unsigned dimensions;
    bool svg;
};

#define misuse(format, ...) fail(EXIT_USAGE, format "; try `vocl topo --help`" __VA_OPT__(, ) __VA_ARGS__)

/* A number, with a unit behind it if units are given. */
static double number(const char *text, const char *what, bool units)
{
    static const char names[] = "KMG";
    char *end;
    double value = strtod(text, &end);
    const char *unit = units && *end ? strchr(names, *end) : NULL;

    for (const char *at = names; unit && at <= unit; at++)
        value *= 1024;
    if (end == text || *(unit ? end + 1 : end) || !(value >= 0 && value < 1e18))
        misuse("%s is no %s", text, what);
    return value;
}

static struct wishes parse(int count, char **words)
{
    static const struct option options[] = {{"topology", required_argument, NULL, 't'},
                                            {"tau", required_argument, NULL, 'a'},
                                            {"bandwidth", required_argument, NULL, 'b'},
                                            {"size", required_argument, NULL, 's'},
                                            {"dims", required_argument, NULL, 'd'},
                                            {"svg", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct wishes w = {.topology = settings_string(SETTING_TOPOLOGY),
                       .tau = 0.2,
                       .bandwidth = 11.6,
                       .bytes = 300.0 * MEGA,
                       .dimensions = 2};
    int option;

    while ((option = getopt_long(count, words, "+h", options, NULL)) != -1) {
        switch (option) {
        case 't':
            w.topology = optarg;
            break;
        case 'a':
            w.tau = number(optarg, "fraction", false);
            break;
        case 'b':
            w.bandwidth = number(optarg, "bandwidth", false);
            break;
        case 's':
            w.bytes = number(optarg, "size", true);
            break;
        case 'd':
            w.dimensions = (unsigned)number(optarg, "number of dimensions", false);
            break;
        case 'v':
            w.svg = true;
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
        misuse("%s", why);
    return t;
}

/* ---- predict ---- */

static unsigned parse_transfers(const struct wishes *w, const struct topology *t, const char *text,
                                struct topology_transfer *transfers)
{
    unsigned count = 0;

    while (*text) {
        unsigned source, target;
        int used = 0;

        if (sscanf(text, "%u>%u%n", &source, &target, &used) != 2 || !used)
            misuse("\"%s\" does not begin with SOURCE>TARGET", text);
        if (source >= t->device_count || target >= t->device_count)
            misuse("%s has devices 0 to %u, not \"%.*s\"", t->name, t->device_count - 1, used, text);
        if (source == target)
            misuse("\"%.*s\" goes nowhere", used, text);
        if (count == TOPOLOGY_MOST_TRANSFERS)
            misuse("more than %d transfers", TOPOLOGY_MOST_TRANSFERS);
        transfers[count++] = (struct topology_transfer){.source = source, .target = target, .bytes = w->bytes};
        text += used;
        if (*text == ',')
            text++;
        else if (*text)
            misuse("\"%s\" does not begin with a comma", text);
    }
    if (!count)
        misuse("no transfers");
    return count;
}

struct watched {
    const struct topology_transfer *transfers;
    unsigned count, step;
    bool over[TOPOLOGY_MOST_TRANSFERS];
};

/* The paper's Table II. */
static void print_step(void *argument, double time, const double *factors, const double *left)
{
    struct watched *watched = argument;

    printf("\nstep %u\n%-8s %8s %12s %12s %10s\n", ++watched->step, "transfer", "factor", "sent", "left", "elapsed");
    for (unsigned i = 0; i < watched->count; i++) {
        if (watched->over[i])
            continue;
        printf("%2u > %-3u %8.4f %9.1f MB %9.1f MB %7.1f ms\n", watched->transfers[i].source,
               watched->transfers[i].target, factors[i], (watched->transfers[i].bytes - left[i]) / MEGA, left[i] / MEGA,
               time * 1e3);
        watched->over[i] = left[i] <= 0;
    }
}

/* The paper's Table I. */
static void print_factors(const struct topology_transfer *transfers, unsigned count, double *const *steps)
{
    printf("%-8s %8s %8s %8s %8s %8s\n", "transfer", "A", "B", "C", "D (8)", "D (9)");
    for (unsigned i = 0; i < count; i++) {
        printf("%2u > %-3u", transfers[i].source, transfers[i].target);
        for (unsigned step = 0; step < TOPOLOGY_STEPS; step++)
            printf(" %8.4f", steps[step][i]);
        printf("\n");
    }
}

static int predict(const struct wishes *w, const char *text)
{
    static double values[TOPOLOGY_STEPS][TOPOLOGY_MOST_TRANSFERS];
    double *steps[TOPOLOGY_STEPS], factors[TOPOLOGY_MOST_TRANSFERS], ends[TOPOLOGY_MOST_TRANSFERS];
    struct topology_transfer transfers[TOPOLOGY_MOST_TRANSFERS];
    struct topology *t = open_tree(w);
    struct watched watched = {.transfers = transfers, .count = parse_transfers(w, t, text, transfers)};
    int error;

    for (unsigned step = 0; step < TOPOLOGY_STEPS; step++)
        steps[step] = values[step];
    error = topology_factors(t, w->tau, transfers, watched.count, factors, steps);
    if (!error) {
        print_factors(transfers, watched.count, steps);
        error = topology_predict(t, w->tau, w->bandwidth * 1024 * MEGA, transfers, watched.count, ends, print_step,
                                 &watched);
    }
    free(t);
    if (error)
        misuse("%s", error == -EINVAL ? "tau is to be from 0 to below 1, and the bandwidth above 0" : strerror(-error));
    return 0;
}

/* ---- halo ---- */

static int halo(const struct wishes *w)
{
    struct topology *t = open_tree(w);
    struct topology_halo h;
    int error = topology_halo(t, w->tau, w->dimensions, &h);

    free(t);
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

static int show(const struct wishes *w)
{
    struct topology *t = open_tree(w);

    if (w->svg)
        topology_draw_svg(t, stdout);
    else
        topology_draw_text(t, stdout);
    free(t);
    return 0;
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    struct wishes w = parse(count > 1 ? count - 1 : count, count > 1 ? words + 1 : words);
    char **rest = words + (count > 1) + optind;
    bool transfers = !strcmp(what, "predict");

    if (!strcmp(what, "--help") || !strcmp(what, "-h")) {
        fputs(help, stdout);
        return 0;
    }
    if (transfers && !*rest)
        misuse("no transfers");
    if (rest[0] && rest[transfers])
        misuse("what is \"%s\"?", rest[transfers]);
    if (transfers)
        return predict(&w, *rest);
    if (!strcmp(what, "halo"))
        return halo(&w);
    if (!strcmp(what, "show"))
        return show(&w);
    misuse("unknown command \"topo %s\"", what);
}
