/* Explains why a request has no devices: the reason of each node of the pool, with nodes of the same reason
 * together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "proxy/daemon/schedule/internal.h"

#define MOST_REASONS 16
#define MOST_NAMED 8 /* further nodes are only counted */
#define DAY_SECONDS 86400
#define EVERY_NODE (~0u)

struct reason {
    char text[200], names[200];
    unsigned count;
    bool sentence; /* it contains the node's name */
};

struct reasons {
    struct reason list[MOST_REASONS];
    /* Numbers of nodes. taken: all suitable devices are taken; other: without suitable devices; lost: lost nodes. */
    unsigned count, taken, other;
    unsigned lost, nodes; /* nodes: all that are explained */
};

static void reasons_add(struct reasons *all, const char *name, const char *text, bool sentence)
{
    struct reason *at = all->list, *end = all->list + all->count;

    all->nodes++;
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

/* Prints which devices there are: "2 gpu, 1 cpu"; of one node, or of every node those that this user may have; wish:
 * only those for which other sessions have to end; NULL: all. */
static void tell_devices(const struct placement_device *devices, unsigned device_count, unsigned node,
                         const struct placement_wish *wish, char *text, size_t size)
{
    static const char *const types[] = {"cpu", "gpu", "accelerator", "custom"};
    size_t length = 0;

    text_print(text, size, "no devices");
    for (size_t type = 0; type < sizeof(types) / sizeof(*types); type++) {
        unsigned count = 0;

        for (unsigned i = 0; i < device_count; i++) {
            if (!strcmp(devices[i].type, types[type]) && (node == EVERY_NODE || devices[i].node == node))
                count += wish ? placement_lacks(&devices[i], wish) == PLACEMENT_TAKEN
                              : devices[i].usable || node != EVERY_NODE;
        }
        if (count && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s%u %s", length ? ", " : "", count, types[type]);
    }
}

/* Returns in how many seconds the time limits of its sessions have made the device free, at the latest; below 0: there
 * are no limits. */
static double free_in(const struct told_node *node, const struct placement_device *device, bool exclusive)
{
    const bool needs_all = exclusive || device->taken;
    double when = -1;

    for (unsigned i = 0; i < node->session_count; i++) {
        const struct told_session *session = &node->sessions[i];
        const double left = session->until - node->time > 0 ? session->until - node->time : 0;

        if (!told_uses(session, device->index))
            continue;
        if (session->until <= 0 && needs_all)
            return -1;
        if (session->until > 0 && (when < 0 || (needs_all ? left > when : left < when)))
            when = left;
    }
    return when;
}

static void tell_time(double seconds, char *text, size_t size)
{
    const time_t when = time(NULL) + (time_t)seconds + 59; /* the next full minute */
    struct tm local;

    *text = '\0';
    if (seconds >= 0 && localtime_r(&when, &local))
        strftime(text, size, seconds < DAY_SECONDS ? " until %H:%M" : " until %Y-%m-%d %H:%M", &local);
}

/* "2 gpu taken until 14:30": when the first of them is free at the latest */
static void tell_taken(const struct request *r, const struct told_node *node, const struct placement_device *devices,
                       unsigned count, unsigned number, char *text, size_t size)
{
    double first = -1;
    char which[64], until[48];

    for (unsigned i = 0; i < count; i++) {
        double when;

        if (devices[i].node != number || placement_lacks(&devices[i], &r->wish) != PLACEMENT_TAKEN)
            continue;
        when = free_in(node, &devices[i], r->wish.exclusive);
        if (when >= 0 && (first < 0 || when < first))
            first = when;
    }
    tell_devices(devices, count, number, &r->wish, which, sizeof(which));
    tell_time(first, until, sizeof(until));
    text_print(text, size, "%s taken%s", which, until);
}

/* Returns the most memory that one of the node's devices offers to a session, in MiB: now, or at all. */
static unsigned long long most_memory(const struct placement_device *devices, unsigned count, unsigned node, bool now)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < count; i++) {
        const uint64_t memory = now ? devices[i].memory : devices[i].whole;

        if (devices[i].node == node && memory > most)
            most = memory;
    }
    return most >> 20;
}

/* Explains a node that takes sessions. */
static void explain_devices(const struct request *r, const struct told_node *node,
                            const struct placement_device *devices, unsigned count, unsigned number,
                            struct reasons *all)
{
    enum placement_lack least = PLACEMENT_OTHER;
    unsigned fit = 0;
    char text[160], there[64];

    for (unsigned i = 0; i < count; i++) {
        const enum placement_lack lack = placement_lacks(&devices[i], &r->wish);

        if (devices[i].node != number)
            continue;
        least = lack < least ? lack : least;
        fit += lack == PLACEMENT_GOOD;
    }
    all->taken += least == PLACEMENT_TAKEN;
    all->other += least == PLACEMENT_OTHER;
    tell_devices(devices, count, number, NULL, there, sizeof(there));
    if (least == PLACEMENT_GOOD)
        snprintf(text, sizeof(text), "%u free", fit);
    else if (least == PLACEMENT_TAKEN)
        tell_taken(r, node, devices, count, number, text, sizeof(text));
    else if (least == PLACEMENT_FULL)
        snprintf(text, sizeof(text), "too little free memory (%llu MiB)", most_memory(devices, count, number, true));
    else if (least == PLACEMENT_SMALL)
        snprintf(text, sizeof(text), "too little memory (%llu MiB)", most_memory(devices, count, number, false));
    else if (json_array_size(json_object_get(r->unfit, node->name)))
        snprintf(text, sizeof(text), "its devices differ from the session's");
    else
        snprintf(text, sizeof(text), "no such device, but %s", there);
    reasons_add(all, node->name, text, false);
}

/* Explains a node that takes no sessions. Returns false if it takes some. */
static bool explain_state(const struct told_node *node, struct reasons *all)
{
    const char *state = node->state, *why = node->why;
    const bool drained = !strcmp(state, "draining");
    char text[200];

    if (!strcmp(state, "up"))
        return false;
    all->lost += told_is_away(node);
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
        if (bar || (!ever && !told_is_away(node) && *r->move.part))
            continue;
        if (!explain_state(node, all))
            explain_devices(r, node, devices, count, i, all);
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
    tell_devices(devices, count, EVERY_NODE, NULL, there, sizeof(there));
    if (*r->move.part && !ever)
        text_print(r->why, sizeof(r->why), "there is no other suitable place%s%s", *text ? "; " : "", text);
    else if (ever && all->taken && all->taken + all->other == all->nodes && !r->unfit)
        text_print(r->why, sizeof(r->why), "all such devices are taken%s: %s",
                   r->yields_ms ? ", or another request has waited longer" : "", text);
    else if (ever || any_barred(r))
        text_print(r->why, sizeof(r->why), "no devices: %s%s", text,
                   r->yields_ms ? "; or another request has waited longer" : "");
    else
        text_print(r->why, sizeof(r->why), "%s too few such devices (%s in all)%s%s",
                   all->lost ? "the nodes that are not lost have" : "the pool has", there, *text ? "; " : "", text);
    free(all);
}
