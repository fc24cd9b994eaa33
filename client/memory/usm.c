/*
 * Unified shared memory (cl_intel_unified_shared_memory): the table of allocations. Device memory is allocated natively
 * on its node; the program has only the addresses, with nothing of its own there. Host and shared memory lie in the
 * arena, which every worker of the host has at the same address, for devices that take any address; native host or
 * shared allocations are of use to the program only if the device is in its own process. Elsewhere such allocations
 * fail.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "client/core/handle.h"
#include "client/core/per_process.h"
#include "client/core/stream.h"
#include "client/memory/arena.h"
#include "client/memory/svm.h"

#define TRIES 8

static PER_PROCESS struct mutex lock = MUTEX(RANK_USM);
static PER_PROCESS struct usm *all; /* by address */
static PER_PROCESS size_t count, room;

/* ---- the table; under the lock ---- */

/* Returns how many allocations begin at or before the address. */
static size_t count_up_to(uintptr_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((uintptr_t)all[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct usm *find(const void *pointer)
{
    size_t before = count_up_to((uintptr_t)pointer);
    const struct usm *u = before ? &all[before - 1] : NULL;

    return u && (uintptr_t)pointer - (uintptr_t)u->base < u->size ? u : NULL;
}

static uintptr_t page_of(uintptr_t address)
{
    return address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Whether a reserved allocation lies on a part of the page: then the page is reserved. */
static bool is_reserved(uintptr_t page)
{
    const uintptr_t last = page + (uintptr_t)sysconf(_SC_PAGESIZE) - 1;

    for (size_t at = count_up_to(last); at--;) {
        if ((uintptr_t)all[at].base + all[at].size <= page)
            return false;
        if (all[at].reserved)
            return true;
    }
    return false;
}

/* Finds the pages that only this range is on. Native allocations may share their first and last pages with others. */
static void own_pages(uintptr_t base, size_t size, uintptr_t *first, uintptr_t *end)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    *first = page_of(base);
    *end = page_of(base + size - 1) + page;
    if (is_reserved(*first))
        *first += page;
    if (*end > *first && is_reserved(*end - page))
        *end -= page;
}

static bool add(const struct usm *fresh)
{
    const size_t at = count_up_to((uintptr_t)fresh->base);
    uintptr_t first, end;

    if ((at && (uintptr_t)all[at - 1].base + all[at - 1].size > (uintptr_t)fresh->base) ||
        (at < count && (uintptr_t)fresh->base + fresh->size > (uintptr_t)all[at].base))
        return false; /* it overlaps another node's allocation */
    if (count == room) {
        struct usm *more = realloc(all, (room * 2 + 64) * sizeof(*all));

        if (!more)
            return false;
        all = more;
        room = room * 2 + 64;
    }
    if (fresh->reserved && !fresh->chosen) {
        own_pages((uintptr_t)fresh->base, fresh->size, &first, &end);
        if (first < end && !memory_map_at(first, end - first, PROT_NONE))
            return false;
    }
    memmove(&all[at + 1], &all[at], (count - at) * sizeof(*all));
    all[at] = *fresh;
    count++;
    return true;
}

static void take(const struct usm *u)
{
    const size_t at = (size_t)(u - all);
    const struct usm gone = *u;
    uintptr_t first, end;

    count--;
    memmove(&all[at], &all[at + 1], (count - at) * sizeof(*all));
    if (!gone.reserved)
        return;
    own_pages((uintptr_t)gone.base, gone.size, &first, &end);
    if (first < end)
        munmap((void *)first, end - first);
}

static bool add_locked(const struct usm *fresh)
{
    bool good;

    mutex_lock(&lock);
    good = add(fresh);
    mutex_unlock(&lock);
    return good;
}

bool usm_find(const void *pointer, struct usm *out)
{
    const struct usm *u;

    mutex_lock(&lock);
    u = find(pointer);
    if (u)
        *out = *u;
    mutex_unlock(&lock);
    return u != NULL;
}

bool usm_any(const struct node *node)
{
    bool any = false;

    mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        any |= all[i].node == node;
    mutex_unlock(&lock);
    return any;
}

/* ---- allocation ---- */

static uint32_t wire_type(cl_unified_shared_memory_type_intel type)
{
    return type == CL_MEM_TYPE_HOST_INTEL     ? WIRE_USM_HOST
           : type == CL_MEM_TYPE_DEVICE_INTEL ? WIRE_USM_DEVICE
                                              : WIRE_USM_SHARED;
}

static int ask(const struct usm_wish *wish, uint64_t *address)
{
    struct wire_usm_alloc m = {.context = wish->usm.context->object.id,
                               .device = wish->usm.device ? wish->usm.device->object.id : 0,
                               .type = wire_type(wish->usm.type),
                               .size = wish->usm.size,
                               .alignment = wish->alignment,
                               .properties = wish->properties,
                               .properties_length = wish->properties_length};
    struct wire_usm_alloc_reply reply;
    struct call call;
    int error = call_usm_alloc(wish->usm.node, &m, &reply, &call);

    if (error)
        return error;
    error = call_verdict(reply.error);
    if (!error)
        *address = reply.address;
    call_free(&call);
    return error;
}

/* Allocates at an address that the program chooses, if the device takes any: two processes with the same memory layout
 * (without ASLR, or with a sanitizer) would find the same addresses taken for ever. */
static int alloc_chosen(struct usm_wish *wish)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (wish->usm.size + page - 1) & ~(page - 1);
    uint64_t address = svm_remote_choose(wish->usm.context, wish->usm.node, CL_MEM_READ_WRITE, wish->usm.size, whole);

    if (!address)
        return -ENOSPC;
    wish->usm.chosen = true;
    wish->usm.base = (uint8_t *)(uintptr_t)address;
    mprotect(wish->usm.base, whole, PROT_NONE);
    if (add_locked(&wish->usm))
        return 0;
    munmap(wish->usm.base, whole);
    address_free(wish->usm.node, address);
    return -ENOMEM;
}

/* Allocates natively. Addresses where the program has something stay allocated on the node until a free one has been
 * found. */
static int alloc_native(struct usm_wish *wish)
{
    uint64_t refused[TRIES], address;
    unsigned tries = 0;
    int error = -ENOSPC;

    wish->usm.reserved = !wish->usm.node->in_process;
    while (tries < TRIES && !(error = ask(wish, &address))) {
        wish->usm.base = (uint8_t *)(uintptr_t)address;
        if (add_locked(&wish->usm))
            break;
        refused[tries++] = address;
        error = -ENOSPC;
    }
    if (tries == TRIES && wish->usm.device && wish->usm.device->any_pointer)
        error = alloc_chosen(wish);
    if (tries)
        vocl_log(LOG_INFO, "unified shared memory: %u addresses were already in use in the program", tries);
    while (tries--)
        address_free(wish->usm.node, refused[tries]);
    return error;
}

static int alloc_placed(struct usm_wish *wish)
{
    void *memory;
    int error = svm_placed_alloc(wish->usm.context, wish->usm.size, wish->alignment, &memory);

    if (error)
        return error;
    wish->usm.placed = true;
    wish->usm.base = memory;
    if (add_locked(&wish->usm))
        return 0;
    svm_placed_free(memory);
    return -ENOMEM;
}

static bool is_placeable(cl_context context)
{
    bool good = true;

    for (unsigned i = 0; i < context->node_count; i++)
        good &= arena_given_to(context->nodes[i]);
    for (cl_uint i = 0; i < context->device_count; i++)
        good &= context->devices[i]->any_pointer;
    return good;
}

static int alloc(struct usm_wish *wish)
{
    cl_context context = wish->usm.context;

    if (wish->usm.type == CL_MEM_TYPE_DEVICE_INTEL)
        return alloc_native(wish);
    if (is_placeable(context))
        return alloc_placed(wish);
    return context->node_count == 1 && context->node->in_process ? alloc_native(wish) : -ENOSPC;
}

int usm_allocate(struct usm_wish *wish)
{
    int error;

    wish->usm.node = wish->usm.device ? wish->usm.device->node : wish->usm.context->node;
    handle_use(wish->usm.context); /* native memory retains its context, too */
    error = alloc(wish);
    if (error)
        handle_drop(wish->usm.context);
    return error;
}

bool usm_release(cl_context context, void *memory)
{
    const struct usm *found;
    struct usm gone;

    mutex_lock(&lock);
    found = find(memory);
    if (found && (found->base != memory || found->context != context))
        found = NULL;
    if (found) {
        gone = *found;
        take(found);
    }
    mutex_unlock(&lock);
    if (!found)
        return false;
    if (gone.placed)
        svm_placed_free(gone.base);
    else
        address_free(gone.node, (uintptr_t)gone.base);
    handle_drop(context);
    return true;
}
