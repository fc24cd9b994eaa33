/* Explains why a request has no devices: the reason of each node of the pool, with nodes of the same reason
 * together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "proxy/daemon/schedule/internal.h"

#define MOST_REASONS 16
#define MOST_NAMED 8 /* further nodes are only counted */

struct reason {
    char text[200], names[200];
    unsigned count;
    bool sentence; /* it contains the node's name */
};

struct reasons {
    struct reason list[MOST_REASONS];
    /* Numbers of nodes. taken: all suitable devices are taken; other: without suitable devices; lost: lost nodes. */
    unsigned count, taken, other;
    unsigned lost;
};

static void reasons_add(struct reasons *all, const char *name, const char *text, bool sentence)
{
    struct reason *at = all->list, *end = all->list + all->count;

    while (at < end && (at->sentence || strcmp(at->text, text) != 0))
        at++;
    if (at == end) {
        if (all->count == MOST_REASONS)
            return;
        all->count++;
        *at = (struct reason){.sentence = sentence};
        text_print(at->text, sizeof(at->text), "%s", text);
    }
    if (at->count < MOST_NAMED) {
        const size_t length = strlen(at->names);

        text_print(at->names + length, sizeof(at->names) - length, "%s%s", at->count ? ", " : "", name);
    }
    at->count++;
}

/* "a, b: taken; c: drained (root: a new fan); d knows no user 1001" */
static void reasons_print(const struct reasons *all, char *text, size_t size)
{
    *text = '\0';
    for (unsigned i = 0; i < all->count; i++) {
        const struct reason *one = &all->list[i];
        const size_t length = strlen(text);
        char more[32] = "";

        if (one->count > MOST_NAMED)
            snprintf(more, sizeof(more), " and %u others", one->count - MOST_NAMED);
        if (one->sentence)
            text_print(text + length, size - length, "%s%s", i ? "; " : "", one->text);
        else
            text_print(text + length, size - length, "%s%s%s: %s", i ? "; " : "", one->names, more, one->text);
    }
}

/* Explains a node that takes sessions. */
static void explain_devices(const struct request *r, const char *name, const struct placement_device *devices,
                            unsigned count, unsigned node, struct reasons *all)
{
    static const char *const texts[] = {"", "taken", "too little free memory", "too little memory", "no such device"};
    enum placement_lack least = PLACEMENT_OTHER;
    unsigned fit = 0;
    char text[64];

    for (unsigned i = 0; i < count; i++) {
        const enum placement_lack lack = placement_lacks(&devices[i], &r->wish);

        if (devices[i].node != node)
            continue;
        least = lack < least ? lack : least;
        fit += lack == PLACEMENT_GOOD;
    }
    all->taken += least == PLACEMENT_TAKEN;
    all->other += least == PLACEMENT_OTHER;
    if (least == PLACEMENT_GOOD)
        snprintf(text, sizeof(text), "%u free", fit);
    else if (least == PLACEMENT_OTHER && json_array_size(json_object_get(r->unfit, name)))
        snprintf(text, sizeof(text), "its devices differ from the session's");
    else
        snprintf(text, sizeof(text), "%s", texts[least]);
    reasons_add(all, name, text, false);
}

/* Explains a node that takes no sessions. Returns false if it takes some. */
static bool explain_state(const struct told_node *node, struct reasons *all)
{
    const char *state = node->state, *why = node->why;
    const bool drained = !strcmp(state, "draining");
    char text[200];

    if (!strcmp(state, "up"))
        return false;
    all->lost += !strcmp(state, "lost");
    if (!strcmp(state, "failing"))
        text_print(text, sizeof(text), "%s", *why ? why : state);
    else if (!strcmp(state, "outdated"))
        text_print(text, sizeof(text), "its state has just changed");
    else
        text_print(text, sizeof(text), "%s%s%s%s", drained ? "drained" : state, *why ? " (" : "", why, *why ? ")" : "");
    reasons_add(all, node->name, text, false);
    return true;
}

/* Nodes that are lost or refuse this user are named even if the other nodes' devices do not matter. */
static void explain_nodes(const struct request *r, const struct pool_view *view, const struct placement_device *devices,
                          unsigned count, bool ever, struct reasons *all)
{
    for (unsigned i = 0; i < view->count; i++) {
        const struct told_node *node = view->nodes[i];
        const char *bar = message_text(r->barred, node->name, NULL);

        if (bar && *bar)
            reasons_add(all, node->name, bar, strstr(bar, node->name) != NULL);
        if (bar || (!ever && strcmp(node->state, "lost") != 0 && *r->move.part))
            continue;
        if (!explain_state(node, all))
            explain_devices(r, node->name, devices, count, i, all);
    }
}

/* Prints which devices this user may have: "2 gpu, 1 cpu". */
static void tell_devices(const struct placement_device *devices, unsigned device_count, char *text, size_t size)
{
    static const char *const types[] = {"cpu", "gpu", "accelerator", "custom"};
    size_t length = 0;

    text_print(text, size, "no devices");
    for (size_t type = 0; type < sizeof(types) / sizeof(*types); type++) {
        unsigned count = 0;

        for (unsigned i = 0; i < device_count; i++)
            count += devices[i].usable && !strcmp(devices[i].type, types[type]);
        if (count && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s%u %s", length ? ", " : "", count, types[type]);
    }
}

static bool any_barred(const struct request *r)
{
    return json_object_size(r->barred) || r->unfit;
}

void request_explain(struct request *r, const struct pool_view *view, const struct placement_device *devices,
                     unsigned count, bool ever)
{
    struct reasons *all = calloc(1, sizeof(*all));
    char text[sizeof(r->why)] = "", there[96];

    if (!all)
        return;
    explain_nodes(r, view, devices, count, ever, all);
    reasons_print(all, text, sizeof(text));
    tell_devices(devices, count, there, sizeof(there));
    if (*r->move.part && !ever)
        text_print(r->why, sizeof(r->why), "there is no other suitable place%s%s", *text ? "; " : "", text);
    else if (ever && all->taken && all->count == 1u + (all->other != 0) && !r->unfit)
        text_print(r->why, sizeof(r->why), "all such devices are taken%s",
                   r->yields_ms ? ", or another request has waited longer" : "");
    else if (ever || any_barred(r))
        text_print(r->why, sizeof(r->why), "no devices: %s%s", text,
                   r->yields_ms ? "; or another request has waited longer" : "");
    else
        text_print(r->why, sizeof(r->why), "%s too few such devices (%s in all)%s%s",
                   all->lost ? "the nodes that are not lost have" : "the pool has", there, all->lost ? "; " : "",
                   all->lost ? text : "");
    free(all);
}
