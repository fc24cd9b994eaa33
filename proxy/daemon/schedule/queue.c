/*
 * One order for the pool. Whoever waits is in the queue of the daemon that he asked; each daemon tells the others of
 * its queue, with how long each has waited. A request is placed on what is left when all who have waited longer,
 * wherever, have had what they could have now; who has waited very long without getting it is not passed any more. Who
 * comes back because his daemon was lost shows the ticket that it gave him, which the others know, and keeps his place.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "proxy/daemon/schedule/internal.h"

#define PATIENCE_MS 60000 /* so long others pass who fit where it does not */
#define MOST_WAITING 1000
#define MOST_REFUSED 32

struct waiting {
    const json_t *entry;
    double age_ms;
};

static int by_age(const void *one, const void *other)
{
    const struct waiting *a = one, *b = other;

    if (a->age_ms != b->age_ms)
        return a->age_ms > b->age_ms ? -1 : 1;
    return strcmp(message_text(a->entry, "ticket", ""), message_text(b->entry, "ticket", ""));
}

/* As it would be told now: "waited" at this time. */
json_t *queue_of_pool(const struct daemon *d)
{
    json_t *all = d->scheduler->queue(d), *sorted = json_array(), *entry;
    struct waiting *list;
    size_t i, count;

    peers_waiting(d, all);
    count = json_array_size(all);
    list = calloc(count + 1, sizeof(*list));
    json_array_foreach(all, i, entry)
    {
        if (list)
            list[i] = (struct waiting){entry, json_number_value(json_object_get(entry, "waited")) * 1000};
    }
    if (list)
        qsort(list, count, sizeof(*list), by_age);
    for (i = 0; list && i < count; i++)
        json_array_append(sorted, (json_t *)(uintptr_t)list[i].entry);
    free(list);
    json_decref(all);
    return sorted;
}

static bool read_wish(const json_t *entry, struct placement_wish *wish, enum policy *policy)
{
    const long long count = message_number(entry, "devices", 0), memory = message_number(entry, "memory", 0);

    if (count < 1 || count > MOST_WISHED || memory < 0)
        return false;
    *wish = (struct placement_wish){.count = (unsigned)count,
                                    .memory = (uint64_t)memory,
                                    .exclusive = json_is_true(json_object_get(entry, "exclusive"))};
    text_print(wish->name, sizeof(wish->name), "%s", message_text(entry, "name", ""));
    text_print(wish->type, sizeof(wish->type), "%s", message_text(entry, "type", ""));
    return policy_read(message_text(entry, "policy", ""), policy);
}

static void give(struct placement_device *devices, unsigned count, const struct placement_wish *wish,
                 const unsigned *chosen)
{
    for (unsigned i = 0; i < wish->count; i++) {
        struct placement_device *device = &devices[chosen[i]];

        device->sessions++;
        device->taken |= wish->exclusive;
        device->memory -= device->memory < wish->memory ? device->memory : wish->memory;
        for (unsigned k = 0; k < count; k++)
            devices[k].node_sessions += devices[k].node == device->node;
    }
}

/* Wishes that were not fulfilled: what is left gets less only, so another such need not be tried. */
struct refused {
    struct placement_wish wishes[MOST_REFUSED];
    unsigned count;
};

static bool is_refused(const struct refused *refused, const struct placement_wish *wish)
{
    for (unsigned i = 0; i < refused->count; i++) {
        const struct placement_wish *one = &refused->wishes[i];

        if (one->count == wish->count && one->memory == wish->memory && one->exclusive == wish->exclusive &&
            !strcmp(one->name, wish->name) && !strcmp(one->type, wish->type))
            return true;
    }
    return false;
}

static bool may_be_passed(const json_t *entry)
{
    return json_number_value(json_object_get(entry, "waited")) * 1000 < PATIENCE_MS;
}

/* One who has waited longer. False if it is not to be passed. */
static bool try(const json_t *entry, const struct placement_wish *wish, enum policy policy, const char *const *names,
                struct placement_device *devices, unsigned count, struct refused *refused)
{
    const json_t *barred = json_object_get(entry, "barred"), *unfit = json_object_get(entry, "unfit");
    unsigned chosen[MOST_WISHED], *positions = calloc(count + 1, sizeof(*positions)), left = 0;
    struct placement_device *theirs = calloc(count + 1, sizeof(*theirs));
    bool ever = false, good = true;

    if (positions && theirs) {
        for (unsigned i = 0; i < count; i++) {
            if (json_object_get(barred, names[devices[i].node]) ||
                request_is_unfit(unfit, names[devices[i].node], devices[i].index))
                continue;
            positions[left] = i;
            theirs[left++] = devices[i];
        }
        if (placement_choose(theirs, left, wish, policy, chosen, &ever)) {
            for (unsigned i = 0; i < wish->count; i++)
                chosen[i] = positions[chosen[i]];
            give(devices, count, wish, chosen);
        } else if (ever) {
            good = may_be_passed(entry);
            if (left == count && refused->count < MOST_REFUSED)
                refused->wishes[refused->count++] = *wish;
        }
    }
    free(positions);
    free(theirs);
    return good;
}

static bool serve(const json_t *entry, const char *const *names, struct placement_device *devices, unsigned count,
                  struct refused *refused)
{
    struct placement_wish wish;
    enum policy policy;

    if (!read_wish(entry, &wish, &policy))
        return true;
    if (!json_object_size(json_object_get(entry, "barred")) && !json_object_get(entry, "unfit") &&
        is_refused(refused, &wish))
        return may_be_passed(entry);
    return try(entry, &wish, policy, names, devices, count, refused);
}

bool queue_serve_older(const struct daemon *d, const char *ticket, long age_ms, const char *const *names,
                       struct placement_device *devices, unsigned count)
{
    json_t *queue = queue_of_pool(d), *entry;
    struct refused refused = {.count = 0};
    bool good = true;
    size_t i;

    json_array_foreach(queue, i, entry)
    {
        if (!good || i == MOST_WAITING || !strcmp(message_text(entry, "ticket", ""), ticket) ||
            json_number_value(json_object_get(entry, "waited")) * 1000 < (double)age_ms)
            break;
        if (!json_is_true(json_object_get(entry, "held")))
            good = serve(entry, names, devices, count, &refused);
    }
    json_decref(queue);
    return good;
}

unsigned queue_position(const struct daemon *d, const char *ticket)
{
    json_t *queue = queue_of_pool(d), *entry;
    unsigned position = 1;
    size_t i;

    json_array_foreach(queue, i, entry)
    {
        if (!strcmp(message_text(entry, "ticket", ""), ticket))
            break;
        position++;
    }
    json_decref(queue);
    return position;
}

long queue_age(const struct daemon *d, const char *ticket, const char *user)
{
    json_t *all = json_array(), *entry;
    double age_ms = 0;
    size_t i;

    peers_waiting(d, all);
    peers_waited(d, all);
    json_array_foreach(all, i, entry)
    {
        if (*ticket && !strcmp(message_text(entry, "ticket", ""), ticket) &&
            !strcmp(message_text(entry, "user", ""), user))
            age_ms = json_number_value(json_object_get(entry, "waited")) * 1000;
    }
    json_decref(all);
    return age_ms > 0 && age_ms < 1e12 ? (long)age_ms : 0;
}
