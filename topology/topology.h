/*
 * PCIe trees, and how concurrent transfers in them slow each other down: M. Martinasso et al., "A PCIe Congestion-Aware
 * Performance Model for Densely Populated Accelerator Servers", SC 2016; "section" and "equation" below are that
 * paper's. Where its text allows more than one reading, doc/topology.md says which one was chosen, and why.
 *
 * Functions that return int return 0 or a negative errno.
 *
 *     tree.c            creates, checks and queries a tree
 *     text.c            trees as text; T1 and T2 are the paper's
 *     discover.c        the tree of this machine, by hwloc; discover_apart.c in a process of its own
 *     draw.c            draws a tree for people
 *     model.c           how transfers slow each other down; ports.c at one port (ports.h)
 *     order.c           the best order to send them in
 *     bus.c             a worker's transfers, one after the other; simulate.c what that gains (bus.h)
 *     opencl.c          PCI addresses of OpenCL's devices (opencl.h); native.h enumerates these
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

/* The top of the tree is a root complex, or a switch if there is none. */
enum topology_kind { TOPOLOGY_ROOT, TOPOLOGY_SWITCH, TOPOLOGY_DEVICE, TOPOLOGY_INTERFACE /* of a network */ };

struct topology_node {
    enum topology_kind kind;
    char name[32];
    int parent; /* node; -1 at the top; always a lower number */
    unsigned depth;
    int device; /* number of the device, or -1 */
    int numa;   /* the NUMA node (by the system's number) whose processors and memory are near, or -1: not known */
};

struct topology {
    char name[64];
    bool here;        /* it is the tree of this machine, so devices are found in it by their addresses only */
    double tau;       /* what a transfer across a root complex loses, as a fraction (section V-C) */
    double bandwidth; /* of an idle link, in bytes a second */
    unsigned node_count, device_count, depth; /* depth: of the deepest node */
    struct topology_node nodes[TOPOLOGY_MOST_NODES];
    unsigned devices[TOPOLOGY_MOST_NODES]; /* node of each device, by the device's number */
    /* distances between NUMA nodes, by their numbers, as the firmware reports them (10: to itself); 0: not known */
    unsigned char numa_distances[TOPOLOGY_MOST_NUMA][TOPOLOGY_MOST_NUMA];
};

/* ---- tree.c ---- */

/* The paper's machine (section VI); there GB are powers of 1024. */
#define TOPOLOGY_TAU 0.2
#define TOPOLOGY_BANDWIDTH (11.6 * (1 << 30))

/* Creates an empty tree with these values; free() it. Returns NULL if memory is exhausted. */
struct topology *topology_new(const char *name);
/* Adds a node at the end. parent: its number, or -1. Returns what is wrong with the node, or NULL. */
const char *topology_add(struct topology *t, enum topology_kind kind, const char *name, int parent);
/* Returns the node of that name, or -1. */
int topology_find(const struct topology *t, const char *name);
/* Returns the number of links between two nodes. */
unsigned topology_distance(const struct topology *t, unsigned a, unsigned b);
/* Returns the distance of the NUMA nodes that two nodes are attached to, as in numa_distances; 0: not known. */
unsigned topology_numa_distance(const struct topology *t, unsigned a, unsigned b);
/* Returns the network interface nearest to a node, by NUMA distance first and then by links, and the first of
 * several; -1 if there is none. */
int topology_interface_near(const struct topology *t, unsigned node);
/* Returns the child of the top that a node is, or is below: its port of the root complex, which it may share with
 * others. -1: the node is the top. */
int topology_root_port(const struct topology *t, unsigned node);

/* ---- discover.c ---- */

/* The tree of this machine (xml NULL), or of the one that a file of hwloc XML describes. PCI devices are named by
 * their addresses, such as 0000:3b:00.0. hwloc may crash on a bad file. Returns -EINVAL, with why, or -ENOMEM. */
int topology_import(const char *xml, struct topology **out, char *why, size_t why_size);
/* Binds this thread, and those that it starts, to a NUMA node's processors, and to its memory as long as there is
 * some; -1: removes the binding. Returns -ENOENT if this machine has no such node, or the system's error. */
int topology_bind(int numa);

/* ---- discover_apart.c ---- */

/* topology_import() in a process of its own, `vocl-topo import`: hwloc may crash, and may load and start anything
 * that it is configured to find devices with. Also returns -errno if the process cannot be started. */
int topology_discover(const char *xml, struct topology **out, char *why, size_t why_size);

/* ---- text.c ---- */

/*
 * A tree as text: lines `root NAME`, `switch NAME [PARENT]`, `device NAME PARENT`, `interface NAME PARENT`, each after
 * its parent, and followed by `numa NUMBER` if that is known and differs from the parent's; `tau FRACTION` and
 * `bandwidth BYTES/S`, if they are not the paper's; `here`; `numa-distance NODE NODE DISTANCE`. # begins a comment.
 * Devices are numbered in order. Returns -EINVAL, with the line and the reason in why, or -ENOMEM.
 */
int topology_parse(FILE *file, const char *name, struct topology **out, char *why, size_t why_size);
void topology_write(const struct topology *t, FILE *out);
/* Opens a tree that comes with VOCL (T1 and T2, the paper's Figure 1), that of this machine ("machine"), or a file:
 * hwloc's XML if it begins with <, otherwise text. */
int topology_open(const char *name, struct topology **out, char *why, size_t why_size);

struct topology_transfer;

/* ---- draw.c ---- */
void topology_draw_text(const struct topology *t, FILE *out);
/* Draws the tree, and, unless count is 0, transfers in it with their first factors and their ends in seconds. Nodes'
 * names may contain any characters. */
void topology_draw_svg(const struct topology *t, const struct topology_transfer *transfers, unsigned count,
                       const double *factors, const double *ends, FILE *out);

/* ---- model.c ---- */

/* In the place of a device: the host's memory, which is at the tree's top. The paper does not have it. Transfers to
 * or from it do not cross a root complex, and it sends to several devices at once. */
#define TOPOLOGY_HOST (~0u)

/* A communication between two devices (section IV-A). Times in seconds, from the same moment. */
struct topology_transfer {
    unsigned source, target; /* devices; one of them may be TOPOLOGY_HOST */
    double bytes, start;
};

/* The congestion factors after each step of Algorithm 1, one array for each. */
enum topology_step { TOPOLOGY_SOURCES, TOPOLOGY_UPSTREAM, TOPOLOGY_DOWNSTREAM, TOPOLOGY_BLOCKED, TOPOLOGY_RAISED };
#define TOPOLOGY_STEPS (TOPOLOGY_RAISED + 1)

/*
 * Congestion factors, in [0, 1], of communications that are all pending (Algorithm 1). factors: one for each
 * communication; those that wait for an earlier one of the same source have 0. steps: TOPOLOGY_STEPS arrays of count,
 * or NULL. tau: section V-C. Returns -EINVAL for a device that does not exist, a device to itself, more than
 * TOPOLOGY_MOST_TRANSFERS, or a tau outside [0, 1).
 */
int topology_factors(const struct topology *t, double tau, const struct topology_transfer *transfers, unsigned count,
                     double *factors, double *const *steps);

/* Called at the end of each step of a dynamic congestion graph (equations 1 to 3). */
typedef void topology_watch(void *argument, double time, const double *factors, const double *bytes_left);

/*
 * When each of a set of communications ends, in seconds; those of one source are sent one after the other, ordered by
 * their starts and then as in the list. bandwidth: of an idle link, in bytes a second. watch may be NULL.
 */
int topology_predict(const struct topology *t, double tau, double bandwidth, const struct topology_transfer *transfers,
                     unsigned count, double *ends, topology_watch *watch, void *argument);

/* ---- order.c ---- */

/* The time that a set of transfers takes: until the last has ended, and on average, in seconds. */
struct topology_times {
    double last, mean;
};
/*
 * Finds the order for sending a set of pending transfers that takes the least time, and among equals the one with the
 * least mean. As each source sends one after the other, that is an order for each source; the first `fixed` of the list
 * are under way and stay before the others. All orders are tried if there are at most `tries` of them; otherwise pairs
 * that wait at the same source are exchanged in the list's order, one after another, as long as that improves it.
 * order: the transfers, first to last. first: the times of the list's order; best: those of this one. Both may be NULL.
 * Errors are those of topology_predict().
 */
int topology_order(const struct topology *t, double tau, double bandwidth, const struct topology_transfer *transfers,
                   unsigned count, unsigned fixed, unsigned long tries, unsigned *order, struct topology_times *first,
                   struct topology_times *best);

#endif
