#include <search.h>

#include "client/transfers.h"

/* Ranges of memory that meet are the same to a tree of such as do not. */
static int compare(const void *a, const void *b)
{
    const struct open_transfer *one = a, *other = b;

    return one->to <= other->from ? -1 : one->from >= other->to ? 1 : 0;
}

static struct open_transfer **bucket(struct transfers *all, uint32_t tag)
{
    return &all->by_tag[tag % TRANSFERS_TAGS];
}

static void add_range(struct transfers *all, struct open_transfer *transfer)
{
    void *found = tsearch(transfer, &all->coming, compare);

    if (found && *(struct open_transfer **)found == transfer)
        return;
    transfer->next_beside = all->beside; /* it meets that one; or there is no memory for the tree */
    transfer->at_beside = &all->beside;
    if (all->beside)
        all->beside->at_beside = &transfer->next_beside;
    all->beside = transfer;
}

static void remove_range(struct transfers *all, struct open_transfer *transfer)
{
    if (!transfer->at_beside) {
        tdelete(transfer, &all->coming, compare);
        return;
    }
    *transfer->at_beside = transfer->next_beside;
    if (transfer->next_beside)
        transfer->next_beside->at_beside = transfer->at_beside;
    transfer->at_beside = NULL;
}

void transfers_add(struct transfers *all, struct open_transfer *transfer)
{
    struct open_transfer **of_tag = bucket(all, transfer->tag);

    if (!all->first)
        all->last = &all->first;
    transfer->next = NULL;
    transfer->at = all->last;
    *all->last = transfer;
    all->last = &transfer->next;
    transfer->next_of_tag = *of_tag;
    transfer->at_of_tag = of_tag;
    if (*of_tag)
        (*of_tag)->at_of_tag = &transfer->next_of_tag;
    *of_tag = transfer;
    if (transfer->from < transfer->to)
        add_range(all, transfer);
}

void transfers_remove(struct transfers *all, struct open_transfer *transfer)
{
    if (!transfer->at)
        return;
    *transfer->at = transfer->next;
    if (transfer->next)
        transfer->next->at = transfer->at;
    else
        all->last = transfer->at;
    transfer->at = NULL;
    *transfer->at_of_tag = transfer->next_of_tag;
    if (transfer->next_of_tag)
        transfer->next_of_tag->at_of_tag = transfer->at_of_tag;
    if (transfer->from < transfer->to)
        remove_range(all, transfer);
}

struct open_transfer *transfers_find(const struct transfers *all, uint32_t tag)
{
    struct open_transfer *transfer = all->by_tag[tag % TRANSFERS_TAGS];

    while (transfer && transfer->tag != tag)
        transfer = transfer->next_of_tag;
    return transfer;
}

bool transfers_come_to(const struct transfers *all, const uint8_t *from, const uint8_t *to)
{
    const struct open_transfer range = {.from = from, .to = to};

    if (from < to && tfind(&range, &all->coming, compare))
        return true;
    for (const struct open_transfer *other = all->beside; other; other = other->next_beside) {
        if (other->from < to && from < other->to)
            return true;
    }
    return false;
}
