/*
 * The places in the program that call OpenCL, for traces. Each place that an entry point returns to has a number, with
 * which calls are recorded (base/timeline.h). The binary that contains it, and where there, is recorded when the place
 * is new. Functions and lines are looked up when the trace is made of the records (tools/trace_site.c).
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/core/per_process.h"
#include "client/core/ranks.h"
#include "client/trace/timeline.h"

#define SLOT_BITS 13
#define SLOTS (1u << SLOT_BITS)
#define MOST (SLOTS / 2) /* places beyond that have no number */
#define FRAMES 16

/* Read without a lock: the address is set last, and a site is never removed. */
static struct site {
    const void *address;
    uint32_t number;
    bool of_loader;
    unsigned told; /* the round in which it was recorded, if it is not of a loader */
} sites[SLOTS];
static uint32_t count;
static unsigned current = 1;
static PER_PROCESS struct mutex lock = MUTEX(RANK_SITES);

/* Returns the slot of that address, or the free one where it belongs. */
static struct site *slot_of(const void *address)
{
    uint64_t slot = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS);
    const void *there;

    while ((there = __atomic_load_n(&sites[slot].address, __ATOMIC_ACQUIRE)) && there != address)
        slot = (slot + 1) % SLOTS;
    return &sites[slot];
}

/* Returns the place in the binary, and its file, "" if that is unknown. */
static uint64_t place_of(const void *address, char file[PATH_MAX])
{
    const void *call = (const char *)address - 1; /* the address itself may be in the next function */
    struct link_map *map = NULL;
    Dl_info info;
    ssize_t length;

    *file = '\0';
    if (!dladdr1(call, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return (uint64_t)(uintptr_t)address;
    if (*map->l_name) {
        if (!realpath(map->l_name, file))
            snprintf(file, PATH_MAX, "%s", map->l_name);
    } else {
        length = readlink("/proc/self/exe", file, PATH_MAX - 1);
        file[length > 0 ? length : 0] = '\0';
    }
    return (uint64_t)(uintptr_t)address - map->l_addr;
}

static bool is_loader(const char *file)
{
    const char *name = strrchr(file, '/');

    return !strncmp(name ? name + 1 : file, "libOpenCL.so", 12);
}

static void tell(struct site *site)
{
    struct {
        uint64_t place;
        char file[PATH_MAX];
    } more;
    const uint64_t now = (uint64_t)clock_ns();

    more.place = place_of(site->address, more.file);
    timeline_put(TIMELINE_SITE, site->number, now, now, &more, sizeof(more.place) + strlen(more.file) + 1);
}

static struct site *add(const void *address)
{
    char file[PATH_MAX];
    struct site *site;

    place_of(address, file);
    mutex_lock(&lock);
    site = slot_of(address);
    if (!site->address && count == MOST)
        site = NULL;
    if (site && !site->address) {
        site->number = ++count;
        site->of_loader = is_loader(file);
        __atomic_store_n(&site->address, address, __ATOMIC_RELEASE);
    }
    mutex_unlock(&lock);
    return site;
}

static struct site *find(const void *address)
{
    struct site *site = slot_of(address);

    return site->address ? site : add(address);
}

/* Returns the caller of an ICD loader that calls entry points instead of jumping to them. */
static struct site *beyond_loader(struct site *loader)
{
    void *frames[FRAMES];
    const int depth = backtrace(frames, FRAMES);
    struct site *site = loader;
    int i = 0;

    while (i < depth && frames[i] != loader->address)
        i++;
    while (site && site->of_loader && ++i < depth)
        site = find(frames[i]);
    return site && !site->of_loader ? site : NULL;
}

/* The slow path of site_of(): the site is new, or not recorded in this round. */
static uint32_t site_number(const void *address)
{
    struct site *site = find(address);

    if (site && site->of_loader)
        site = beyond_loader(site);
    if (!site)
        return 0;
    if (__atomic_load_n(&site->told, __ATOMIC_RELAXED) != current) {
        __atomic_store_n(&site->told, current, __ATOMIC_RELAXED);
        tell(site);
    }
    return site->number;
}

uint32_t site_of(const void *address)
{
    const struct site *site = slot_of(address);

    if (site->address == address && __atomic_load_n(&site->told, __ATOMIC_RELAXED) == current)
        return site->number;
    return site_number(address);
}

void sites_again(void)
{
    __atomic_add_fetch(&current, 1, __ATOMIC_RELAXED);
}
