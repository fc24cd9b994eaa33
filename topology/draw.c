/* Draws trees as text and as SVG. */
#include "topology/topology.h"

static const char *kind_name(enum topology_kind kind)
{
    return kind == TOPOLOGY_ROOT ? "root complex" : kind == TOPOLOGY_SWITCH ? "switch" : "interface";
}

static bool last_child(const struct topology *t, unsigned node)
{
    for (unsigned i = node + 1; i < t->node_count; i++) {
        if (t->nodes[i].parent == t->nodes[node].parent)
            return false;
    }
    return true;
}

static void draw_branches(const struct topology *t, unsigned node, FILE *out)
{
    int parent = t->nodes[node].parent;

    if (parent < 0 || t->nodes[parent].parent < 0)
        return;
    draw_branches(t, (unsigned)parent, out);
    fputs(last_child(t, (unsigned)parent) ? "   " : "|  ", out);
}

/* Prints the NUMA node, if it is not the parent's, and the nearest interface of a device. */
static void draw_surroundings(const struct topology *t, unsigned node, FILE *out)
{
    const struct topology_node *n = &t->nodes[node];
    const int near = n->kind == TOPOLOGY_DEVICE ? topology_interface_near(t, node) : -1;

    if (n->numa >= 0 && (n->parent < 0 || t->nodes[n->parent].numa != n->numa))
        fprintf(out, ", NUMA node %d", n->numa);
    if (near >= 0)
        fprintf(out, ", %u links from %s", topology_distance(t, node, (unsigned)near), t->nodes[near].name);
}

static void draw_node(const struct topology *t, unsigned node, FILE *out)
{
    const struct topology_node *n = &t->nodes[node];

    draw_branches(t, node, out);
    if (n->parent >= 0)
        fputs(last_child(t, node) ? "`- " : "|- ", out);
    if (n->kind == TOPOLOGY_DEVICE)
        fprintf(out, "%d: %s", n->device, n->name);
    else
        fprintf(out, "%s (%s)", n->name, kind_name(n->kind));
    draw_surroundings(t, node, out);
    fputc('\n', out);
    for (unsigned i = node + 1; i < t->node_count; i++) {
        if (t->nodes[i].parent == (int)node)
            draw_node(t, i, out);
    }
}

void topology_draw_text(const struct topology *t, FILE *out)
{
    draw_node(t, 0, out);
}

enum { CELL = 100, LEVEL = 60, BOX_WIDTH = 92, BOX_HEIGHT = 24 };

/* Places a node above the middle of its devices. */
static double place(const struct topology *t, unsigned node, double *places, unsigned *next)
{
    double first = 0, last = 0;
    bool any = false;

    for (unsigned i = node + 1; i < t->node_count; i++) {
        double at;

        if (t->nodes[i].parent != (int)node)
            continue;
        at = place(t, i, places, next);
        first = any ? first : at;
        last = at;
        any = true;
    }
    places[node] = any ? (first + last) / 2 : (double)((*next)++ * CELL + CELL / 2);
    return places[node];
}

/* Escapes characters that have a meaning in XML. */
static void print_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

/* Transfers are arcs below the tree, each lower than the one before. */
enum { ARC = 34, MOST_DEPTH_OF_ARCS = 24 };

static unsigned end_of(const struct topology *t, unsigned device)
{
    return device == TOPOLOGY_HOST ? 0 : t->devices[device];
}

static void draw_transfer(const struct topology *t, const struct topology_transfer *transfer, unsigned number,
                          const double *places, double factor, double end, FILE *out)
{
    const unsigned source = end_of(t, transfer->source), target = end_of(t, transfer->target);
    const unsigned bottom = (t->depth + 1) * LEVEL + ARC * (number % MOST_DEPTH_OF_ARCS) + ARC / 2;
    const unsigned from = t->nodes[source].depth * LEVEL + (LEVEL + BOX_HEIGHT) / 2;
    const unsigned to = t->nodes[target].depth * LEVEL + (LEVEL + BOX_HEIGHT) / 2;
    const double side = BOX_WIDTH / 4.0, red = 200 * (1 - factor), green = 130 * factor;
    const double control = (8.0 * bottom - from - to) / 6; /* so that the middle of the arc is at bottom */
    const double x1 = places[source] + side, x2 = places[target] - side, middle = (x1 + x2) / 2;

    fprintf(out,
            "<path d=\"M%g,%u C%g,%g %g,%g %g,%u\" fill=\"none\" stroke=\"rgb(%.0f,%.0f,60)\" stroke-width=\"1.5\" "
            "marker-end=\"url(#head)\"/>\n",
            x1, from, x1, control, x2, control, x2, to, red, green);
    fprintf(out, "<text x=\"%g\" y=\"%u\" font-size=\"10\">", middle, bottom + 11);
    if (transfer->source == TOPOLOGY_HOST)
        fprintf(out, "host &gt; %u", transfer->target);
    else if (transfer->target == TOPOLOGY_HOST)
        fprintf(out, "%u &gt; host", transfer->source);
    else
        fprintf(out, "%u &gt; %u", transfer->source, transfer->target);
    fprintf(out, ": %.2f, %.1f ms</text>\n", factor, end * 1e3);
}

void topology_draw_svg(const struct topology *t, const struct topology_transfer *transfers, unsigned count,
                       const double *factors, const double *ends, FILE *out)
{
    static const char *const colours[] = {"#d9c2f0", "#c9dcf2", "#cdeccd", "#f2e3c2"};
    const unsigned arcs = count < MOST_DEPTH_OF_ARCS ? count : MOST_DEPTH_OF_ARCS;
    double places[TOPOLOGY_MOST_NODES];
    unsigned columns = 0;

    place(t, 0, places, &columns);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" font-family=\"sans-serif\" "
            "font-size=\"12\" text-anchor=\"middle\">\n",
            columns * CELL, (t->depth + 1) * LEVEL + arcs * ARC);
    if (count)
        fputs(
            "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
            "orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n",
            out);
    for (unsigned i = 1; i < t->node_count; i++)
        fprintf(out, "<line x1=\"%g\" y1=\"%u\" x2=\"%g\" y2=\"%u\" stroke=\"black\"/>\n", places[t->nodes[i].parent],
                t->nodes[t->nodes[i].parent].depth * LEVEL + LEVEL / 2, places[i],
                t->nodes[i].depth * LEVEL + LEVEL / 2);
    for (unsigned i = 0; i < t->node_count; i++) {
        const struct topology_node *n = &t->nodes[i];

        fprintf(out, "<rect x=\"%g\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"black\"/>\n",
                places[i] - BOX_WIDTH / 2, n->depth * LEVEL + (LEVEL - BOX_HEIGHT) / 2, BOX_WIDTH, BOX_HEIGHT,
                colours[n->kind]);
        fprintf(out, "<text x=\"%g\" y=\"%u\">", places[i], n->depth * LEVEL + LEVEL / 2 + 4);
        if (n->kind == TOPOLOGY_DEVICE)
            fprintf(out, "%d: ", n->device);
        print_text(out, n->name);
        fprintf(out, "</text>\n");
    }
    for (unsigned i = 0; i < count; i++)
        draw_transfer(t, &transfers[i], i, places, factors[i], ends[i], out);
    fprintf(out, "</svg>\n");
}
