#include <search.h>

#include "client/core/event.h"
#include "client/core/transfers.h"

/* Overlapping ranges of memory compare as equal, so that those in the tree do not overlap. */
static int compare(const void *a, const void *b)
{
    const struct open_transfer *one = a, *other = b;

    return one->to <= other->from ? -1 : one->from >= other->to ? 1 : 0;
}

static void add_range(struct transfers *all, struct open_transfer *transfer)
{
    void *found = tsearch(transfer, &all->coming, compare);

    /* it overlaps another, or there is no memory for the tree */
    transfer->is_beside = !found || *(struct open_transfer **)found != transfer;
    if (transfer->is_beside)
        LIST_INSERT_HEAD(&all->beside, transfer, beside);
}

static void remove_range(struct transfers *all, struct open_transfer *transfer)
{
    if (transfer->is_beside)
        LIST_REMOVE(transfer, beside);
    else
        tdelete(transfer, &all->coming, compare);
}

void transfers_init(struct transfers *all)
{
    TAILQ_INIT(&all->all);
}

void transfers_add(struct transfers *all, struct open_transfer *transfer)
{
    transfer->open = true;
    TAILQ_INSERT_TAIL(&all->all, transfer, in);
    LIST_INSERT_HEAD(&all->by_tag[transfer->tag % TRANSFERS_TAGS], transfer, of_tag);
    if (transfer->from < transfer->to)
        add_range(all, transfer);
}

void transfers_remove(struct transfers *all, struct open_transfer *transfer)
{
    if (!transfer->open)
        return;
    transfer->open = false;
    TAILQ_REMOVE(&all->all, transfer, in);
    LIST_REMOVE(transfer, of_tag);
    if (transfer->from < transfer->to)
        remove_range(all, transfer);
}

struct open_transfer *transfers_find(const struct transfers *all, uint32_t tag)
{
    struct open_transfer *transfer = LIST_FIRST(&all->by_tag[tag % TRANSFERS_TAGS]);

    while (transfer && transfer->tag != tag)
        transfer = LIST_NEXT(transfer, of_tag);
    return transfer;
}

bool transfers_come_to(const struct transfers *all, const uint8_t *from, const uint8_t *to)
{
    const struct open_transfer range = {.from = from, .to = to}, *other;

    if (from < to && tfind(&range, &all->coming, compare))
        return true;
    LIST_FOREACH (other, &all->beside, beside) {
        if (other->from < to && from < other->to)
            return true;
    }
    return false;
}

struct arrival *transfers_moving(const struct transfers *all)
{
    struct arrival *moving = NULL;
    const struct open_transfer *transfer;

    TAILQ_FOREACH (transfer, &all->all, in) {
        if (transfer->started || transfer->held)
            arrival_join(&moving, transfer->own);
    }
    return moving;
}
