/*
 * PCIe trees, and how concurrent transfers in them slow each other down: M. Martinasso et al., "A PCIe Congestion-Aware
 * Performance Model for Densely Populated Accelerator Servers", SC 2016; "section" and "equation" below are that
 * paper's. Where its text leaves more than one reading, doc/topology.md says which one this is, and why.
 *
 * Functions that return int return 0 or a negative errno.
 *
 *     tree.c            the tree: made, checked, asked
 *     text.c            as text; T1 and T2 are the paper's
 *     discover.c        of this machine, by hwloc; discover_apart.c in a process of its own
 *     draw.c            for people to look at
 *     model.c           how transfers slow each other down; ports.c at one port (ports.h)
 *     order.c           in which order they are best sent
 *     bus.c             a worker's transfers, one after the other; simulate.c what that gains (bus.h)
 *     opencl.c          PCI addresses of OpenCL's devices (opencl.h); native.h walks and numbers these
 */
#ifndef VOCL_TOPOLOGY_TOPOLOGY_H
#define VOCL_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TOPOLOGY_MOST_NODES 1024
#define TOPOLOGY_MOST_DEPTH 16 /* levels */
#define TOPOLOGY_MOST_TRANSFERS 256
#define TOPOLOGY_MOST_NUMA 64

/* A root complex has the tree's top, or there is none and a switch has it. */
enum topology_kind { TOPOLOGY_ROOT, TOPOLOGY_SWITCH, TOPOLOGY_DEVICE, TOPOLOGY_INTERFACE /* of a network */ };

struct topology_node {
    enum topology_kind kind;
    char name[32];
    int parent; /* node; -1 at the top; always of a lower number */
    unsigned depth;
    int device; /* its number, or -1 */
    int numa;   /* the NUMA node (its number for the system) whose processors and memory are near, or -1: not known */
};

struct topology {
    char name[64];
    bool here;        /* it is this machine's own, so devices are found in it by their addresses only */
    double tau;       /* what a transfer across a root complex loses (section V-C) */
    double bandwidth; /* of an idle link, in bytes a second */
    unsigned node_count, device_count, depth; /* depth: of the deepest node */
    struct topology_node nodes[TOPOLOGY_MOST_NODES];
    unsigned devices[TOPOLOGY_MOST_NODES]; /* by number: node */
    /* How far apart NUMA nodes are, by their numbers, as the firmware says (10 is a node to itself); 0: not known */
    unsigned char numa_distances[TOPOLOGY_MOST_NUMA][TOPOLOGY_MOST_NUMA];
};

/* ---- tree.c ---- */

/* What the paper's machine had (section VI); GB are powers of 1024 there. */
#define TOPOLOGY_TAU 0.2
#define TOPOLOGY_BANDWIDTH (11.6 * (1 << 30))

/* An empty tree, with these; free() it. NULL: no memory. */
struct topology *topology_new(const char *name);
/* Add a node, as the last. parent: its number, or -1. What is wrong with it, or NULL. */
const char *topology_add(struct topology *t, enum topology_kind kind, const char *name, int parent);
/* The node of that name, or -1. */
int topology_find(const struct topology *t, const char *name);
/* Links between two nodes. */
unsigned topology_distance(const struct topology *t, unsigned a, unsigned b);
/* The same between the NUMA nodes that they hang at, as numa_distances; 0: not known. */
unsigned topology_numa_distance(const struct topology *t, unsigned a, unsigned b);
/* The network interface that is nearest to a node, by NUMA node first and then by links, the first of several; -1:
 * there is none. */
int topology_interface_near(const struct topology *t, unsigned node);
/* The child of the top that a node is, or is below: the port of the root complex that it shares with others. -1: the
 * node is the top. */
int topology_root_port(const struct topology *t, unsigned node);

/* ---- discover.c ---- */

/* The tree of this machine (xml NULL), or of the one whose hwloc XML that file is; PCI devices are named by their
 * address, as 0000:3b:00.0. hwloc may crash on a bad file. -EINVAL, and why; -ENOMEM. */
int topology_import(const char *xml, struct topology **out, char *why, size_t why_size);
/* Let this thread, and those it starts, run on a NUMA node's processors, and have its memory as far as there is some;
 * -1: anywhere again. -ENOENT: this machine has no such node; or what the system says. */
int topology_bind(int numa);

/* ---- discover_apart.c ---- */

/* topology_import() by a process of its own, `vocl-topo import`: hwloc may crash, and may load and start whatever it
 * has been given to find devices with. Also -errno where the process cannot be started. */
int topology_discover(const char *xml, struct topology **out, char *why, size_t why_size);

/* ---- text.c ---- */

/*
 * A tree as text: lines `root NAME`, `switch NAME [PARENT]`, `device NAME PARENT`, `interface NAME PARENT`, each after
 * its parent and with `numa NUMBER` behind it where it is known and not its parent's; `tau FRACTION` and
 * `bandwidth BYTES/S`, if they are not the paper's; `here`; `numa-distance NODE NODE DISTANCE`. # begins a comment.
 * Devices are numbered in order. -EINVAL: why has the line and what is wrong with it; -ENOMEM.
 */
int topology_parse(FILE *file, const char *name, struct topology **out, char *why, size_t why_size);
void topology_write(const struct topology *t, FILE *out);
/* A tree that comes with VOCL (T1 and T2, the paper's Figure 1), "machine" for this one, or else a file: hwloc's XML if
 * it begins with <, or text. */
int topology_open(const char *name, struct topology **out, char *why, size_t why_size);

struct topology_transfer;

/* ---- draw.c ---- */
void topology_draw_text(const struct topology *t, FILE *out);
/* The tree, and with count transfers in it how fast each goes at first (factors) and when it ends, in seconds; names of
 * nodes may hold anything. */
void topology_draw_svg(const struct topology *t, const struct topology_transfer *transfers, unsigned count,
                       const double *factors, const double *ends, FILE *out);

/* ---- model.c ---- */

/* In the place of a device: the memory of the host, which is at the tree's top, beyond the paper. What goes there or
 * comes from there does not cross a root complex, and is sent to several devices at once. */
#define TOPOLOGY_HOST (~0u)

/* A communication between two devices (section IV-A). Times in seconds, from the same moment. */
struct topology_transfer {
    unsigned source, target; /* devices; one of them may be TOPOLOGY_HOST */
    double bytes, start;
};

/* What the steps of Algorithm 1 make of the congestion factors, one array for each. */
enum topology_step { TOPOLOGY_SOURCES, TOPOLOGY_UPSTREAM, TOPOLOGY_DOWNSTREAM, TOPOLOGY_BLOCKED, TOPOLOGY_RAISED };
#define TOPOLOGY_STEPS (TOPOLOGY_RAISED + 1)

/*
 * Congestion factors, in [0, 1], of communications that are all pending (Algorithm 1). factors: one for each; those
 * that wait for an earlier one of the same source have 0. steps: TOPOLOGY_STEPS arrays of count, or NULL. tau: section
 * V-C. -EINVAL: a device there is not, a device to itself, more than TOPOLOGY_MOST_TRANSFERS, or tau not in [0, 1).
 */
int topology_factors(const struct topology *t, double tau, const struct topology_transfer *transfers, unsigned count,
                     double *factors, double *const *steps);

/* One step of a dynamic congestion graph (equations 1 to 3): what has changed at its end. */
typedef void topology_watch(void *argument, double time, const double *factors, const double *bytes_left);

/*
 * When each of a set of communications ends, in seconds; those of one source are sent one after the other, in their
 * order of start and then of the list. bandwidth: of an idle link, in bytes a second. watch may be NULL.
 */
int topology_predict(const struct topology *t, double tau, double bandwidth, const struct topology_transfer *transfers,
                     unsigned count, double *ends, topology_watch *watch, void *argument);

/* ---- order.c ---- */

/* How long a set of transfers takes: until the last has ended, and on average, in seconds. */
struct topology_times {
    double last, mean;
};
/*
 * The order to send a set of transfers in, which are all pending, that takes the least time; of equals the one with the
 * least mean. As each source sends one after the other, that is an order for each source; the first `fixed` of the list
 * are under way and stay before the others. All orders are tried if there
 * are at most tries of them; else those that come of the list's own by exchanging two that wait at the same source, one
 * exchange after another, as long as it gets better. order: the transfers, first to last. first: of the list's order;
 * best: of this one. Both may be NULL. As topology_predict().
 */
int topology_order(const struct topology *t, double tau, double bandwidth, const struct topology_transfer *transfers,
                   unsigned count, unsigned fixed, unsigned long tries, unsigned *order, struct topology_times *first,
                   struct topology_times *best);

#endif
