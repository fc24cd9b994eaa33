/* A growing hash table of things with numbers, so that the time for each does not depend on how many kernels or
 * threads a program has. */
#include <stdlib.h>

#include "base/hash.h"
#include "tools/tools.h"
#include "tools/trace.h"

#define LEAST 64

static struct trace_slot *find(const struct trace_table *table, uint64_t number)
{
    size_t at = (size_t)hash_bytes(&number, sizeof(number)) % table->room;

    while (table->slots[at].used && table->slots[at].number != number)
        at = (at + 1) % table->room;
    return &table->slots[at];
}

static void grow(struct trace_table *table)
{
    const struct trace_table old = *table;

    table->room = old.room ? 2 * old.room : LEAST;
    table->slots = calloc(table->room, sizeof(*table->slots));
    if (!table->slots)
        fail(1, "out of memory");
    for (size_t i = 0; i < old.room; i++) {
        if (old.slots[i].used)
            *find(table, old.slots[i].number) = old.slots[i];
    }
    free(old.slots);
}

size_t trace_table_add(struct trace_table *table, uint64_t number, size_t place)
{
    struct trace_slot *slot;

    if (2 * table->count >= table->room)
        grow(table);
    slot = find(table, number);
    if (!slot->used) {
        *slot = (struct trace_slot){number, place, true};
        table->count++;
    }
    return slot->place;
}

size_t trace_table_find(const struct trace_table *table, uint64_t number)
{
    const struct trace_slot *slot = table->room ? find(table, number) : NULL;

    return slot && slot->used ? slot->place : TRACE_NOWHERE;
}
