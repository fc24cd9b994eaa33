/*
 * `vocl pool rebalance`: which sessions would be elsewhere by the policy: spread and least-loaded want devices with
 * equal numbers of sessions, pack wants full nodes and empty ones, order the first nodes. Each part of a session that
 * has one device is considered once, with devices of the same name on other nodes, or of any name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/pool.h"

#define MOST 1024

struct place {
    const json_t *node, *device;
    unsigned number; /* the node's number */
    double sessions;
};

static struct place places[MOST];
static unsigned place_count;

static void find_places(const json_t *status)
{
    const json_t *node, *device;
    size_t i, j;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, "devices"), j, device)
        {
            if (place_count < MOST)
                places[place_count++] = (struct place){node, device, (unsigned)i, number_of(device, "sessions")};
        }
    }
}

static double sessions_of(unsigned node)
{
    double count = 0;

    for (unsigned i = 0; i < place_count; i++)
        count += places[i].number == node ? places[i].sessions : 0;
    return count;
}

/* Whether the part fits there. */
static bool has_room(const struct place *from, const struct place *to, const json_t *part, bool any)
{
    return to->number != from->number && !strcmp(text_of(to->node, "state"), "up") &&
           (any || !strcmp(text_of(to->device, "name"), text_of(from->device, "name"))) &&
           !json_is_true(json_object_get(to->device, "taken")) && to->sessions < number_of(to->device, "most") &&
           number_of(to->device, "free") >= number_of(part, "limit");
}

/* Whether to is better than from. from_is_own: the session is on from now. */
static bool is_better(const char *policy, const struct place *to, const struct place *from, bool from_is_own)
{
    if (!strcmp(policy, "order"))
        return to->number < from->number;
    if (!strcmp(policy, "pack")) {
        const double there = sessions_of(to->number), here = sessions_of(from->number);

        return there > here || (there == here && there > 0 && to->number < from->number);
    }
    return to->sessions + (from_is_own ? 1 : 0) < from->sessions;
}

static struct place *find_better(const char *policy, struct place *from, const json_t *part, bool any)
{
    struct place *best = NULL;

    for (unsigned i = 0; i < place_count; i++) {
        struct place *to = &places[i];

        if (has_room(from, to, part, any) && is_better(policy, to, from, true) &&
            (!best || is_better(policy, to, best, false)))
            best = to;
    }
    return best;
}

static struct place *place_of(unsigned node, const json_t *part)
{
    const json_t *devices = json_object_get(part, "devices");

    for (unsigned i = 0; i < place_count && json_array_size(devices) == 1; i++) {
        if (places[i].number == node &&
            number_of(places[i].device, "index") == json_number_value(json_array_get(devices, 0)))
            return &places[i];
    }
    return NULL;
}

/* Moves a part. Returns false, after a message, if that failed. */
static bool carry_out(const struct poolfile *pool, const json_t *part, const struct place *from, const struct place *to,
                      struct move_wish wish)
{
    char why[512], visible[600];

    wish.part = text_of(part, "part");
    wish.address = text_of(from->node, "address");
    wish.to = text_of(to->node, "name");
    wish.device = (int)number_of(to->device, "index");
    if (!pool_move(pool, &wish, why, sizeof(why)))
        return true;
    fprintf(stderr, "vocl pool: %.12s of %s stays: %s\n", shown(part, "id"), shown(part, "user"),
            text_visible(why, visible, sizeof(visible)));
    return false;
}

int pool_rebalance(const struct poolfile *pool, bool carries_out, struct move_wish wish)
{
    json_t *status = pool_status(pool);
    const json_t *nodes = json_object_get(status, "nodes"), *node, *part;
    const char *policy = "pack";
    unsigned moves = 0, stay = 0;
    size_t i, j;

    find_places(status);
    json_array_foreach(nodes, i, node)
    {
        if (!strcmp(text_of(node, "name"), text_of(status, "answered by")))
            policy = text_of(node, "policy");
    }
    json_array_foreach(nodes, i, node)
    {
        json_array_foreach(json_object_get(node, "sessions"), j, part)
        {
            struct place *from = place_of((unsigned)i, part), *to;

            if (!from || strcmp(text_of(part, "state"), "running") || !(to = find_better(policy, from, part, wish.any)))
                continue;
            printf("%.12s of %s, %s: %s > %s, device %.0f\n", shown(part, "id"), shown(part, "user"),
                   shown(part, "program"), shown(from->node, "name"), shown(to->node, "name"),
                   number_of(to->device, "index"));
            moves++;
            if (carries_out && !carry_out(pool, part, from, to, wish)) {
                stay++;
                continue;
            }
            from->sessions--;
            to->sessions++;
        }
    }
    if (!moves)
        printf("nothing to move: every session is where %s would place it\n", policy);
    else if (!carries_out)
        printf("nothing was done: --do carries it out\n");
    json_decref(status);
    return stay ? 1 : 0;
}
