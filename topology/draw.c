/* Trees drawn, as text and as SVG. */
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

/* What is near, where it is not as with the parent. */
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

/* A node stands above the middle of its devices. */
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

/* Names may hold what means something in XML. */
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

void topology_draw_svg(const struct topology *t, FILE *out)
{
    static const char *const colours[] = {"#d9c2f0", "#c9dcf2", "#cdeccd", "#f2e3c2"};
    double places[TOPOLOGY_MOST_NODES];
    unsigned columns = 0;

    place(t, 0, places, &columns);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" font-family=\"sans-serif\" "
            "font-size=\"12\" text-anchor=\"middle\">\n",
            columns * CELL, (t->depth + 1) * LEVEL);
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
    fprintf(out, "</svg>\n");
}
