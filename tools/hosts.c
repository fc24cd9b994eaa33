/* Parses hosts as they are typed: names separated by commas, ranges, and files with names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/tools.h"

#define MOST_HOSTS 65536 /* more are a mistake */
#define MOST_NAME 256

struct list {
    FILE *to;
    char *text;
    size_t length;
    unsigned count;
};

static void open_list(struct list *list)
{
    *list = (struct list){.to = NULL};
    list->to = open_memstream(&list->text, &list->length);
    if (!list->to)
        fail(EXIT_BROKEN, "%m");
}

static char *close_list(struct list *list)
{
    if (fclose(list->to))
        fail(EXIT_BROKEN, "%m");
    return list->text;
}

static void add(struct list *list, const char *name)
{
    if (list->count++ == MOST_HOSTS)
        misuse("more than %d hosts", MOST_HOSTS);
    fprintf(list->to, "%s%s", list->count > 1 ? "," : "", name);
}

static void expand(struct list *list, const char *name);

/* Expands one number or range in brackets; before and behind are the rest of the name. */
static void expand_part(struct list *list, const char *name, const char *before, const char *part, const char *behind)
{
    const int width = (int)strcspn(part, "-");
    char first[MOST_NAME], one[3 * MOST_NAME];
    uint64_t from, to;

    snprintf(first, sizeof(first), "%.*s", width, part);
    if (!text_read_number(first, 0, 1u << 30, &from) ||
        !text_read_number(part[width] ? part + width + 1 : first, 0, 1u << 30, &to) || to < from)
        misuse("--hosts: \"%s\" is no range of numbers in \"%s\"", part, name);
    for (uint64_t i = from; i <= to; i++) {
        snprintf(one, sizeof(one), "%s%0*llu%s", before, *first == '0' ? width : 1, (unsigned long long)i, behind);
        expand(list, one);
    }
}

/* Expands a name such as n[1-3,7]. An IPv6 address has brackets, too, but with a colon inside. */
static void expand(struct list *list, const char *name)
{
    const char *open = strchr(name, '['), *close = open ? strchr(open, ']') : NULL;
    char before[MOST_NAME], inside[MOST_NAME], *save = NULL;

    if (!open || (close && memchr(open, ':', (size_t)(close - open)))) {
        add(list, name);
        return;
    }
    if (!close || strlen(name) >= MOST_NAME || close == open + 1)
        misuse("--hosts: \"%s\" is not a host, and not a range such as n[1-3]", name);
    snprintf(before, sizeof(before), "%.*s", (int)(open - name), name);
    snprintf(inside, sizeof(inside), "%.*s", (int)(close - open - 1), open + 1);
    for (char *part = strtok_r(inside, ",", &save); part; part = strtok_r(NULL, ",", &save))
        expand_part(list, name, before, part, close + 1);
}

/* Returns the length of the next name; commas inside brackets belong to the name. */
static size_t name_length(const char *text)
{
    size_t length = 0;

    for (bool inside = false; text[length] && (inside || text[length] != ','); length++)
        inside = text[length] == '[' || (inside && text[length] != ']');
    return length;
}

char *hosts_expand(const char *text)
{
    struct list list;
    char name[MOST_NAME];

    open_list(&list);
    for (const char *at = text;; at++) {
        const size_t length = name_length(at);

        if (!length || length >= sizeof(name) || strpbrk(text, " \t\n"))
            misuse("--hosts takes names with commas between them, not \"%s\"", text);
        snprintf(name, sizeof(name), "%.*s", (int)length, at);
        expand(&list, name);
        at += length;
        if (!*at)
            return close_list(&list);
    }
}

/* Reads a line: "name", "name slots=N" as in Open MPI, or "name:N" as in MPICH. */
static void read_line(struct list *list, const char *path, char *line)
{
    char *save = NULL, *name = strtok_r(line, " \t", &save), *more = strtok_r(NULL, " \t", &save);
    char *colon = name && !strchr(name, '[') && strchr(name, ':') == strrchr(name, ':') ? strchr(name, ':') : NULL;
    const char *slots = colon ? colon + 1 : more && !strncmp(more, "slots=", 6) ? more + 6 : more ? "" : "1";
    uint64_t count;

    if (!name || *name == '#')
        return;
    if (!text_read_number(slots, 1, MOST_HOSTS, &count) || (colon && more))
        fail(EXIT_USAGE, "%s: after %s only \"slots=N\" may follow", path, name);
    if (colon)
        *colon = '\0';
    for (; count; count--)
        expand(list, name);
}

char *hosts_read(const char *path)
{
    FILE *file = fopen(path, "re");
    struct list list;
    char *line = NULL;
    size_t room = 0;

    if (!file)
        fail(EXIT_USAGE, "%s: %m", path);
    open_list(&list);
    while (getline(&line, &room, file) >= 0) {
        line[strcspn(line, "\n#")] = '\0';
        read_line(&list, path, line);
    }
    free(line);
    fclose(file);
    if (!list.count)
        fail(EXIT_USAGE, "%s names no host", path);
    return close_list(&list);
}
