/*
 * One order for the whole pool. A request waits in the queue of the daemon that was asked; each daemon sends the others
 * its queue, with the waiting times. A request is placed on what remains when all requests which have waited longer, at
 * whichever daemon, have got what they could have now; one that has waited very long is not passed any more. By its
 * user's priority, and by what the user has already, a request counts as having waited longer or less (ahead). A client
 * that lost its daemon shows the ticket that it got from it, which the others know, and keeps its position.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "proxy/daemon/schedule/internal.h"

#define PATIENCE_SECONDS 60 /* for which other requests may pass if this one does not fit */
#define MOST_WAITING 1000
#define MOST_REFUSED 32

static int by_age(const void *one, const void *other)
{
    const struct told_wait *a = one, *b = other;

    if (a->waited + a->ahead != b->waited + b->ahead)
        return a->waited + a->ahead > b->waited + b->ahead ? -1 : 1;
    return strcmp(a->ticket, b->ticket);
}

struct told_wait *queue_of_pool(const struct daemon *d, unsigned *count)
{
    unsigned own_count;
    struct told_wait *own = d->scheduler->queue(d, &own_count);
    struct told_wait *list = own ? realloc(own, (own_count + peers_waits(d, false, NULL) + 1) * sizeof(*list)) : NULL;

    *count = 0;
    if (!list) {
        free(own);
        return NULL;
    }
    *count = own_count + peers_waits(d, false, list + own_count);
    qsort(list, *count, sizeof(*list), by_age);
    return list;
}

json_t *queue_print(const struct daemon *d)
{
    unsigned count;
    struct told_wait *list = queue_of_pool(d, &count);
    json_t *told = told_print_waits(list, count);

    free(list);
    return told;
}

static bool read_wish(const struct told_wait *wait, struct placement_wish *wish, enum policy *policy)
{
    if (wait->count < 1 || wait->count > MOST_WISHED || wait->memory > INT64_MAX)
        return false;
    *wish = (struct placement_wish){.count = wait->count, .memory = wait->memory, .exclusive = wait->exclusive};
    text_print(wish->name, sizeof(wish->name), "%s", wait->name);
    text_print(wish->type, sizeof(wish->type), "%s", wait->type);
    return policy_read(wait->policy, policy);
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

/* Wishes that could not be met. Since the devices that remain only become fewer, equal wishes need not be tried. */
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

static bool may_be_passed(const struct told_wait *wait)
{
    return wait->waited < PATIENCE_SECONDS;
}

/* Serves a request that has waited longer. Returns false if it must not be passed. */
static bool try(const struct told_wait *wait, const struct placement_wish *wish, enum policy policy,
                const char *const *names, struct placement_device *devices, unsigned count, struct refused *refused)
{
    unsigned chosen[MOST_WISHED], *positions = calloc(count + 1, sizeof(*positions)), left = 0;
    struct placement_device *theirs = calloc(count + 1, sizeof(*theirs));
    bool ever = false, good = true;

    if (positions && theirs) {
        for (unsigned i = 0; i < count; i++) {
            if (is_out_of_question(wait->barred, wait->unfit, names[devices[i].node], devices[i].index))
                continue;
            positions[left] = i;
            theirs[left++] = devices[i];
        }
        if (placement_choose(theirs, left, wish, policy, chosen, &ever)) {
            for (unsigned i = 0; i < wish->count; i++)
                chosen[i] = positions[chosen[i]];
            give(devices, count, wish, chosen);
        } else if (ever) {
            good = may_be_passed(wait);
            if (left == count && refused->count < MOST_REFUSED)
                refused->wishes[refused->count++] = *wish;
        }
    }
    free(positions);
    free(theirs);
    return good;
}

static bool serve(const struct told_wait *wait, const char *const *names, struct placement_device *devices,
                  unsigned count, struct refused *refused)
{
    struct placement_wish wish;
    enum policy policy;

    if (!read_wish(wait, &wish, &policy))
        return true;
    if (!json_object_size(wait->barred) && !wait->unfit && is_refused(refused, &wish))
        return may_be_passed(wait);
    return try(wait, &wish, policy, names, devices, count, refused);
}

bool queue_serve_older(const struct daemon *d, const char *ticket, long age_ms, const char *const *names,
                       struct placement_device *devices, unsigned count)
{
    unsigned length;
    struct told_wait *queue = queue_of_pool(d, &length);
    struct refused refused = {.count = 0};
    bool good = true;

    for (unsigned i = 0; good && i < length && i < MOST_WAITING; i++) {
        if (!strcmp(queue[i].ticket, ticket) || (queue[i].waited + queue[i].ahead) * 1000 < (double)age_ms)
            break;
        if (!queue[i].limited)
            good = serve(&queue[i], names, devices, count, &refused);
    }
    free(queue);
    return good;
}

unsigned queue_position(const struct daemon *d, const char *ticket)
{
    unsigned count, i = 0;
    struct told_wait *queue = queue_of_pool(d, &count);

    while (i < count && strcmp(queue[i].ticket, ticket) != 0)
        i++;
    free(queue);
    return i + 1;
}

long queue_age(const struct daemon *d, const char *ticket, const char *user)
{
    struct told_wait *list = calloc(peers_waits(d, true, NULL) + 1, sizeof(*list));
    const unsigned count = list ? peers_waits(d, true, list) : 0;
    double age_ms = 0;

    for (unsigned i = 0; i < count; i++) {
        if (*ticket && !strcmp(list[i].ticket, ticket) && !strcmp(list[i].user, user))
            age_ms = list[i].waited * 1000;
    }
    free(list);
    return age_ms > 0 && age_ms < 1e12 ? (long)age_ms : 0;
}
