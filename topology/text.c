/* Reads and writes trees as text. See topology.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "topology/topology.h"

__asm__(".section .rodata\n"
        "topology_t1: .incbin \"" TOPOLOGY_SOURCE_DIR "/T1\"\n"
        "topology_t1_end:\n"
        "topology_t2: .incbin \"" TOPOLOGY_SOURCE_DIR "/T2\"\n"
        "topology_t2_end:\n"
        ".previous\n");
extern const char t1[] __asm__("topology_t1"), t1_end[] __asm__("topology_t1_end");
extern const char t2[] __asm__("topology_t2"), t2_end[] __asm__("topology_t2_end");

static const char *const kinds[] = {[TOPOLOGY_ROOT] = "root",
                                    [TOPOLOGY_SWITCH] = "switch",
                                    [TOPOLOGY_DEVICE] = "device",
                                    [TOPOLOGY_INTERFACE] = "interface"};

static const char *read_number(const char *text, double most, double *value)
{
    char *end;

    if (!text)
        return "no number";
    *value = strtod(text, &end);
    return end == text || *end || !(*value >= 0 && *value < most) ? "that is not a valid number" : NULL;
}

/* Returns what is wrong with a line, or NULL. A parent comes first, so there can be no cycles. */
static const char *add(struct topology *t, const char *word, const char *name, const char *parent_name)
{
    unsigned kind = 0;
    int parent = -1;

    while (kind <= TOPOLOGY_INTERFACE && strcmp(word, kinds[kind]) != 0)
        kind++;
    if (kind > TOPOLOGY_INTERFACE)
        return "neither root, switch, device nor interface";
    if (!name)
        return "no name";
    if (parent_name) {
        parent = topology_find(t, parent_name);
        if (parent < 0)
            return "its parent has not been named before";
    }
    return topology_add(t, kind, name, parent);
}

/* numa-distance NODE NODE DISTANCE */
static const char *parse_distance(struct topology *t, const char **words, unsigned count)
{
    const char *wrong = count > 4 ? "too many words" : NULL;
    double values[3] = {0};

    for (unsigned i = 0; i < 3 && !wrong; i++)
        wrong = read_number(words[i + 1], i < 2 ? TOPOLOGY_MOST_NUMA : 256, &values[i]);
    if (!wrong)
        t->numa_distances[(int)values[0]][(int)values[1]] = (unsigned char)values[2];
    return wrong;
}

static const char *parse_words(struct topology *t, const char **words, unsigned count)
{
    unsigned more = count > 2 && !strcmp(words[count - 2], "numa") ? 2 : 0;
    const char *wrong;
    double value = 0;

    if (!strcmp(words[0], "here")) {
        t->here = true;
        return count > 1 ? "too many words" : NULL;
    }
    if (!strcmp(words[0], "numa-distance"))
        return parse_distance(t, words, count);
    if (!strcmp(words[0], "tau"))
        return count > 2 ? "too many words" : read_number(words[1], 1, &t->tau);
    if (!strcmp(words[0], "bandwidth")) {
        wrong = count > 2 ? "too many words" : read_number(words[1], 1e18, &value);
        if (!wrong && value > 0)
            t->bandwidth = value;
        return wrong ? wrong : value > 0 ? NULL : "that is not a valid number";
    }
    wrong = count - more > 3 ? "too many words" : add(t, words[0], words[1], count - more > 2 ? words[2] : NULL);
    if (wrong || !more)
        return wrong;
    wrong = read_number(words[count - 1], 65536, &value);
    t->nodes[t->node_count - 1].numa = (int)value;
    return wrong;
}

static int parse_line(struct topology *t, char *line, unsigned number, char *why, size_t why_size)
{
    const char *words[7] = {NULL}, *wrong = NULL;
    unsigned count = 0;
    char *rest = NULL;

    line[strcspn(line, "#\r\n")] = 0;
    for (char *word = strtok_r(line, " \t", &rest); word && count < 7; word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    if (!count)
        return 0;
    wrong = parse_words(t, words, count);
    if (!wrong)
        return 0;
    snprintf(why, why_size, "%s, line %u: %s", t->name, number, wrong);
    return -EINVAL;
}

static void write_distances(const struct topology *t, FILE *out)
{
    for (unsigned i = 0; i < TOPOLOGY_MOST_NUMA; i++) {
        for (unsigned k = 0; k < TOPOLOGY_MOST_NUMA; k++) {
            if (t->numa_distances[i][k])
                fprintf(out, "numa-distance %u %u %u\n", i, k, t->numa_distances[i][k]);
        }
    }
}

void topology_write(const struct topology *t, FILE *out)
{
    if (t->here)
        fputs("here\n", out);
    fprintf(out, "tau %.17g\nbandwidth %.17g\n", t->tau, t->bandwidth);
    for (unsigned i = 0; i < t->node_count; i++) {
        const struct topology_node *node = &t->nodes[i];

        fprintf(out, "%s %s", kinds[node->kind], node->name);
        if (node->parent >= 0)
            fprintf(out, " %s", t->nodes[node->parent].name);
        if (node->numa >= 0 && (node->parent < 0 || t->nodes[node->parent].numa != node->numa))
            fprintf(out, " numa %d", node->numa);
        fputc('\n', out);
    }
    write_distances(t, out);
}

int topology_parse(FILE *file, const char *name, struct topology **out, char *why, size_t why_size)
{
    struct topology *t = topology_new(name);
    char line[256];
    int error = 0;

    if (!t)
        return -ENOMEM;
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
    struct stat status;
    FILE *file;
    int error, first;

    if (!strcmp(name, "machine"))
        return topology_discover(NULL, out, why, why_size);
    if (!strcmp(name, "T1"))
        file = fmemopen((void *)(size_t)t1, (size_t)(t1_end - t1), "r");
    else if (!strcmp(name, "T2"))
        file = fmemopen((void *)(size_t)t2, (size_t)(t2_end - t2), "r");
    else
        file = fopen(name, "re");
    if (file && fileno(file) >= 0 && !fstat(fileno(file), &status) && S_ISDIR(status.st_mode)) {
        fclose(file);
        file = NULL;
        errno = EISDIR;
    }
    if (!file) {
        error = -errno;
        snprintf(why, why_size, "%s: %s", name, strerror(-error));
        return error;
    }
    first = getc(file);
    ungetc(first, file);
    error = first == '<' ? topology_discover(name, out, why, why_size) : topology_parse(file, name, out, why, why_size);
    if (error == -ENOMEM)
        snprintf(why, why_size, "%s: %s", name, strerror(ENOMEM));
    fclose(file);
    return error;
}
