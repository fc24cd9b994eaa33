#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/selection.h"

static bool take_range(const char *text, struct selection *item)
{
    char *end;

    if (!isdigit((unsigned char)*text) || item->first >= 0)
        return false;
    item->first = item->last = strtol(text, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1]))
        item->last = strtol(end + 1, &end, 10);
    return !*end && item->last >= item->first;
}

static bool take_text(const char *text, const char *key, char *to, size_t size)
{
    size_t length = strlen(key);

    if (strncmp(text, key, length) || !text[length] || strlen(text + length) >= size || *to)
        return false;
    strcpy(to, text + length);
    return true;
}

static bool take_type(const char *text, struct selection *item)
{
    static const char *const types[] = {"cpu", "gpu", "accelerator", "custom"};

    if (!take_text(text, "type=", item->type, sizeof(item->type)))
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (!strcmp(item->type, types[i]))
            return true;
    }
    return false;
}

int selection_next(const char **at, struct selection *item, char *why, size_t why_size)
{
    size_t length = strcspn(*at, ",");
    char text[512], *save = NULL;

    if (!**at)
        return 0;
    *item = (struct selection){.first = -1, .last = -1};
    if (!length || length >= sizeof(text) || (*at)[length - 1] == '+') {
        snprintf(why, why_size, "VOCL_DEVICES: \"%.*s\" names no devices", (int)length, *at);
        return -1;
    }
    memcpy(text, *at, length);
    text[length] = '\0';
    *at += length + ((*at)[length] == ',');
    for (char *part = strtok_r(text, "+", &save); part; part = strtok_r(NULL, "+", &save)) {
        if (!strcmp(part, "all") || take_range(part, item) ||
            take_text(part, "node=", item->node, sizeof(item->node)) ||
            take_text(part, "name=", item->name, sizeof(item->name)) || take_type(part, item))
            continue;
        snprintf(why, why_size,
                 "VOCL_DEVICES: \"%s\" is no number, range, \"all\", node=PATTERN, name=PATTERN, or type=cpu, gpu, "
                 "accelerator or custom",
                 part);
        return -1;
    }
    return 1;
}
