/* Trees as text. See topology.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/topology.h"

__asm__(".section .rodata\n"
        "topology_t1: .incbin \"" TOPOLOGY_SOURCE_DIR "/T1\"\n"
        "topology_t1_end:\n"
        "topology_t2: .incbin \"" TOPOLOGY_SOURCE_DIR "/T2\"\n"
        "topology_t2_end:\n"
        ".previous\n");
extern const char t1[] __asm__("topology_t1"), t1_end[] __asm__("topology_t1_end");
extern const char t2[] __asm__("topology_t2"), t2_end[] __asm__("topology_t2_end");

static int find(const struct topology *t, const char *name)
{
    for (unsigned i = 0; i < t->node_count; i++) {
        if (!strcmp(t->nodes[i].name, name))
            return (int)i;
    }
    return -1;
}

/* What is wrong with a line, or NULL. A parent comes first, so there can be no cycles. */
static const char *add(struct topology *t, const char *kind, const char *name, const char *parent)
{
    struct topology_node *node = &t->nodes[t->node_count];

    *node = (struct topology_node){.parent = -1, .device = -1};
    if (!strcmp(kind, "root"))
        node->kind = TOPOLOGY_ROOT;
    else if (!strcmp(kind, "switch"))
        node->kind = TOPOLOGY_SWITCH;
    else if (!strcmp(kind, "device"))
        node->kind = TOPOLOGY_DEVICE;
    else
        return "neither root, switch nor device";
    if (!name)
        return "no name";
    if (strlen(name) >= sizeof(node->name))
        return "the name is too long";
    if (t->node_count == TOPOLOGY_MOST_NODES)
        return "too many lines";
    if (find(t, name) >= 0)
        return "the name is taken";
    if (!parent && node->kind == TOPOLOGY_DEVICE)
        return "a device needs a parent";
    if (parent && node->kind == TOPOLOGY_ROOT)
        return "a root has no parent";
    if (!parent && t->node_count)
        return "there is a top already, and this has no parent";
    strcpy(node->name, name);
    if (parent) {
        node->parent = find(t, parent);
        if (node->parent < 0)
            return "its parent has not been named before";
        if (t->nodes[node->parent].kind == TOPOLOGY_DEVICE)
            return "its parent is a device";
        node->depth = t->nodes[node->parent].depth + 1;
        if (node->depth >= TOPOLOGY_MOST_DEPTH)
            return "the tree is too deep";
    }
    if (node->kind == TOPOLOGY_DEVICE) {
        node->device = (int)t->device_count;
        t->devices[t->device_count++] = t->node_count;
    }
    if (node->depth > t->depth)
        t->depth = node->depth;
    t->node_count++;
    return NULL;
}

static int parse_line(struct topology *t, char *line, unsigned number, char *why, size_t why_size)
{
    const char *words[5] = {NULL}, *wrong = NULL;
    unsigned count = 0;
    char *rest = NULL;

    line[strcspn(line, "#\r\n")] = 0;
    for (char *word = strtok_r(line, " \t", &rest); word && count < 5; word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    if (!count)
        return 0;
    wrong = count > 3 ? "too many words" : add(t, words[0], words[1], words[2]);
    if (!wrong)
        return 0;
    snprintf(why, why_size, "%s, line %u: %s", t->name, number, wrong);
    return -EINVAL;
}

int topology_parse(FILE *file, const char *name, struct topology **out, char *why, size_t why_size)
{
    struct topology *t = calloc(1, sizeof(*t));
    char line[256];
    int error = 0;

    if (!t)
        return -ENOMEM;
    snprintf(t->name, sizeof(t->name), "%s", name);
    for (unsigned number = 1; !error && fgets(line, sizeof(line), file); number++) {
        if (!strchr(line, '\n') && strlen(line) == sizeof(line) - 1) {
            snprintf(why, why_size, "%s, line %u: the line is too long", t->name, number);
            error = -EINVAL;
        } else {
            error = parse_line(t, line, number, why, why_size);
        }
    }
    if (!error && !t->device_count) {
        snprintf(why, why_size, "%s: there is no device in it", t->name);
        error = -EINVAL;
    }
    if (error)
        free(t);
    else
        *out = t;
    return error;
}

int topology_open(const char *name, struct topology **out, char *why, size_t why_size)
{
    FILE *file;
    int error;

    if (!strcmp(name, "T1"))
        file = fmemopen((void *)(size_t)t1, (size_t)(t1_end - t1), "r");
    else if (!strcmp(name, "T2"))
        file = fmemopen((void *)(size_t)t2, (size_t)(t2_end - t2), "r");
    else
        file = fopen(name, "re");
    if (!file) {
        error = -errno;
        snprintf(why, why_size, "%s: %s", name, strerror(-error));
        return error;
    }
    error = topology_parse(file, name, out, why, why_size);
    if (error == -ENOMEM)
        snprintf(why, why_size, "%s: %s", name, strerror(ENOMEM));
    fclose(file);
    return error;
}
