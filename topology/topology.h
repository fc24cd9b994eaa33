/*
 * PCIe trees, and how concurrent transfers in them slow each other down: M. Martinasso et al., "A PCIe Congestion-Aware
 * Performance Model for Densely Populated Accelerator Servers", SC 2016; "section" and "equation" below are that
 * paper's. Where its text leaves more than one reading, doc/topology.md says which one this is, and why.
 *
 * Functions that return int return 0 or a negative errno.
 */
#ifndef VOCL_TOPOLOGY_TOPOLOGY_H
#define VOCL_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TOPOLOGY_MOST_NODES 1024
#define TOPOLOGY_MOST_DEPTH 16 /* levels */
#define TOPOLOGY_MOST_TRANSFERS 256

/* A root complex has the tree's top, or there is none and a switch has it. */
enum topology_kind { TOPOLOGY_ROOT, TOPOLOGY_SWITCH, TOPOLOGY_DEVICE, TOPOLOGY_INTERFACE /* of a network */ };

struct topology_node {
    enum topology_kind kind;
    char name[32];
    int parent; /* node; -1 at the top; always of a lower number */
    unsigned depth;
    int device; /* its number, or -1 */
};

struct topology {
    char name[64];
    unsigned node_count, device_count, depth; /* depth: of the deepest node */
    struct topology_node nodes[TOPOLOGY_MOST_NODES];
    unsigned devices[TOPOLOGY_MOST_NODES]; /* by number: node */
};

/* ---- tree.c ---- */

/* An empty tree; free() it. NULL: no memory. */
struct topology *topology_new(const char *name);
/* Add a node, as the last. parent: its number, or -1. What is wrong with it, or NULL. */
const char *topology_add(struct topology *t, enum topology_kind kind, const char *name, int parent);
/* The node of that name, or -1. */
int topology_find(const struct topology *t, const char *name);

/* ---- discover.c ---- */

/* The tree of this machine (xml NULL), or of the one whose hwloc XML that file is. -EINVAL, and why. */
int topology_discover(const char *xml, struct topology **out, char *why, size_t why_size);

/* ---- text.c ---- */

/*
 * A tree as text: lines `root NAME`, `switch NAME [PARENT]`, `device NAME PARENT`, `interface NAME PARENT`, each after
 * its parent; # begins a comment. Devices are numbered in order. -EINVAL: why has the line and what is wrong with it;
 * -ENOMEM.
 */
int topology_parse(FILE *file, const char *name, struct topology **out, char *why, size_t why_size);
/* A tree that comes with VOCL (T1 and T2, the paper's Figure 1), "machine" for this one, or else a file: hwloc's XML if
 * it begins with <, or text. */
int topology_open(const char *name, struct topology **out, char *why, size_t why_size);

/* ---- draw.c ---- */
void topology_draw_text(const struct topology *t, FILE *out);
void topology_draw_svg(const struct topology *t, FILE *out);

/* ---- model.c ---- */

/* A communication between two devices (section IV-A). Times in seconds, from the same moment. */
struct topology_transfer {
    unsigned source, target; /* devices */
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

/* ---- halo.c (section VIII) ---- */

/* The order in which each device sends to its neighbours that takes the least time, and how it compares. */
struct topology_halo {
    unsigned long orders;
    double fastest, median, slowest;               /* in units of one transfer alone */
    unsigned neighbours[8][3], neighbour_count[8]; /* of the fastest, in order */
};
/* All orders of a halo exchange among the 8 devices of a tree, as a grid of 2 x 4 (dimensions 2) or 2 x 2 x 2 (3), all
 * messages of one size. -EINVAL: not 8 devices, or other dimensions; -ENOMEM. */
int topology_halo(const struct topology *t, double tau, unsigned dimensions, struct topology_halo *out);

#endif
