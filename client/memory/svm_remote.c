/*
 * Shared virtual memory with a worker that shares no memory with the application: each has its own memory at the same
 * address, so that pointers into it mean the same on both sides. For devices that take any address the application
 * chooses it; for others native OpenCL does. It is coarse-grained: contents are copied when the application maps and
 * unmaps.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "client/core/observer.h"
#include "client/core/per_process.h"
#include "client/core/stream.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"
#include "client/memory/svm.h"

#define TRIES 16
#define MAX_ALIGNMENT ((size_t)1 << 16)

struct svm_remote_map {
    struct svm_remote_map *next;
    void *memory;
    size_t size;
    cl_map_flags flags;
};

struct svm_remote {
    struct svm_remote *next;
    struct node *node;
    uint32_t context;
    bool chosen; /* the address was chosen here, not by native OpenCL */
    uint8_t *memory;
    size_t size, mapped; /* mapped: whole pages */
    struct svm_remote_map *maps;
    uint64_t number;          /* unique, never used again */
    struct ever_written ever; /* ranges ever written at the node */
    unsigned char written;    /* WRITTEN_*, since each of these looked last */
    unsigned held;            /* how many threads are reading it */
    bool gone;                /* the program has freed it meanwhile */
};

static PER_PROCESS struct mutex lock = MUTEX(RANK_SVM_REMOTE);
static struct svm_remote *svm_remotes;
static uint64_t numbers;

void address_free(struct node *node, uint64_t address)
{
    const struct wire_svm_free m = {address};

    wire_put_svm_free(stream_begin(node), &m);
    stream_end(node, STREAM_LATER);
}

static void give_back(struct svm_remote *m)
{
    address_free(m->node, (uintptr_t)m->memory);
    observer_apart(m->node, false);
    munmap(m->memory, m->mapped);
    while (m->maps) {
        struct svm_remote_map *map = m->maps;

        m->maps = map->next;
        free(map);
    }
    free(m);
}

/* Under the lock. */
static struct svm_remote *find(const void *pointer)
{
    struct svm_remote *m = svm_remotes;

    while (m && (uintptr_t)pointer - (uintptr_t)m->memory >= m->size)
        m = m->next;
    return m;
}

bool svm_remote_has(const void *pointer)
{
    bool has;

    if (arena_has(pointer))
        return false;
    mutex_lock(&lock);
    has = find(pointer) != NULL;
    mutex_unlock(&lock);
    return has;
}

bool svm_remote_any(const struct node *node)
{
    const struct svm_remote *m;

    mutex_lock(&lock);
    for (m = svm_remotes; m && m->node != node; m = m->next)
        ;
    mutex_unlock(&lock);
    return m != NULL;
}

bool svm_remote_at(const struct node *node, unsigned at, struct svm_place *out)
{
    const struct svm_remote *m;

    mutex_lock(&lock);
    for (m = svm_remotes; m && (m->node != node || at); m = m->next)
        at -= m->node == node;
    if (m)
        *out = (struct svm_place){m->number, m->context, m->chosen, m->memory, m->size, NULL};
    mutex_unlock(&lock);
    return m != NULL;
}

/* ---- written ranges, for moves ---- */

void svm_remote_written(const void *pointer, size_t size)
{
    struct svm_remote *m;
    size_t offset;

    mutex_lock(&lock);
    m = find(pointer);
    if (m) {
        offset = size == SVM_WHOLE ? 0 : (size_t)((const uint8_t *)pointer - m->memory);
        ever_note(&m->ever, m->size, offset, size == SVM_WHOLE ? m->size : size);
        m->written = WRITTEN_ALL;
    }
    mutex_unlock(&lock);
}

void svm_remote_written_all(void)
{
    mutex_lock(&lock);
    for (struct svm_remote *m = svm_remotes; m; m = m->next)
        m->written = WRITTEN_ALL;
    mutex_unlock(&lock);
}

/* Returns the allocation, or NULL if the program has freed it. Under the lock. */
static struct svm_remote *find_place(const struct svm_place *place)
{
    struct svm_remote *m = svm_remotes;

    if (place->held)
        return place->held;
    while (m && m->number != place->number)
        m = m->next;
    return m;
}

bool svm_remote_take_mark(const struct svm_place *place, unsigned char mark)
{
    struct svm_remote *m;
    bool written;

    mutex_lock(&lock);
    m = find_place(place);
    written = m && m->written & mark;
    if (m)
        m->written &= (unsigned char)~mark;
    mutex_unlock(&lock);
    return written;
}

void svm_remote_mark(const struct svm_place *place, unsigned char mark)
{
    struct svm_remote *m;

    mutex_lock(&lock);
    m = find_place(place);
    if (m)
        m->written |= mark;
    mutex_unlock(&lock);
}

struct svm_place *svm_remote_list(const struct node *node, bool hold, unsigned *count)
{
    struct svm_place *list;
    unsigned most = 0, at = 0;

    mutex_lock(&lock);
    for (const struct svm_remote *m = svm_remotes; m; m = m->next)
        most += m->node == node;
    list = malloc((most + 1) * sizeof(*list));
    for (struct svm_remote *m = svm_remotes; list && m; m = m->next) {
        if (m->node != node)
            continue;
        m->held += hold;
        list[at++] = (struct svm_place){m->number, m->context, m->chosen, m->memory, m->size, hold ? m : NULL};
    }
    mutex_unlock(&lock);
    *count = at;
    return list;
}

bool svm_remote_hold(struct svm_place *place)
{
    struct svm_remote *m;

    mutex_lock(&lock);
    m = find_place(place);
    if (m)
        m->held++;
    mutex_unlock(&lock);
    place->held = m;
    return m != NULL;
}

bool svm_remote_next(const struct svm_place *place, unsigned *at, size_t *from, size_t *to)
{
    return ever_next(&place->held->ever, place->size, at, from, to);
}

size_t svm_remote_bytes(const struct svm_place *place)
{
    size_t bytes = 0, from, to;

    for (unsigned at = 0; svm_remote_next(place, &at, &from, &to);)
        bytes += to - from;
    return bytes;
}

void svm_remote_unhold(struct svm_place *place)
{
    struct svm_remote *m = place->held;
    bool last;

    mutex_lock(&lock);
    last = !--m->held && m->gone;
    mutex_unlock(&lock);
    place->held = NULL;
    if (last)
        give_back(m);
}

bool svm_remote_has_all(const void *pointer, size_t size)
{
    const struct svm_remote *m;
    bool has;

    mutex_lock(&lock);
    m = find(pointer);
    has = m && size <= m->size - (size_t)((const uint8_t *)pointer - m->memory);
    mutex_unlock(&lock);
    return has;
}

size_t svm_remote_size(const void *memory)
{
    const struct svm_remote *m;
    size_t size;

    mutex_lock(&lock);
    m = find(memory);
    size = m && m->memory == memory ? m->size : 0;
    mutex_unlock(&lock);
    return size;
}

/* ---- memory ---- */

static uint64_t alloc_on_node(cl_context context, struct node *node, uint64_t wanted, cl_svm_mem_flags flags,
                              size_t size, cl_uint alignment)
{
    struct wire_svm_alloc m = {
        .context = context->object.id, .wanted = wanted, .flags = flags, .size = size, .alignment = alignment};
    struct wire_svm_alloc_reply reply;
    struct call call;

    if (call_svm_alloc(node, &m, &reply, &call))
        return 0;
    call_free(&call);
    return reply.error ? 0 : reply.address;
}

uint64_t svm_remote_choose(cl_context context, struct node *node, cl_svm_mem_flags flags, size_t size, size_t whole)
{
    static _Atomic(uintptr_t) hint = 0x210000000000; /* no program has anything there, on machines seen so far */

    for (unsigned i = 0; i < TRIES; i++) {
        void *wish = (void *)atomic_fetch_add(&hint, (whole + MAX_ALIGNMENT - 1) & ~(MAX_ALIGNMENT - 1));
        void *memory = mmap(wish, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (memory == MAP_FAILED)
            return 0;
        if (alloc_on_node(context, node, (uintptr_t)memory, flags, size, 0) == (uintptr_t)memory)
            return (uintptr_t)memory;
        munmap(memory, whole);
    }
    return 0;
}

/* Allocates on the node until an address is free in the program, too. The others stay allocated on the node until
 * then. */
static uint64_t choose_there(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment, size_t whole)
{
    uint64_t refused[TRIES], address = 0;
    unsigned tries = 0;

    while (tries < TRIES && (address = alloc_on_node(context, context->node, 0, flags, size, alignment)) != 0) {
        if (memory_map_at(address, whole, PROT_READ | PROT_WRITE))
            break;
        refused[tries++] = address;
        address = 0;
    }
    if (tries)
        vocl_log(LOG_INFO, "shared virtual memory: %u addresses were already in use in the program", tries);
    while (tries--)
        address_free(context->node, refused[tries]);
    return address;
}

void *svm_remote_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) & ~(page - 1);
    struct svm_remote *m = calloc(1, sizeof(*m));
    uint64_t address = 0;
    bool any = true;

    for (cl_uint i = 0; i < context->device_count; i++)
        any &= context->devices[i]->any_pointer;
    observer_apart(context->node, true);
    if (m)
        address = any ? svm_remote_choose(context, context->node, flags, size, whole)
                      : choose_there(context, flags, size, alignment, whole);
    if (!address) {
        observer_apart(context->node, false);
        free(m);
        return NULL;
    }
    *m = (struct svm_remote){.node = context->node,
                             .context = context->object.id,
                             .chosen = any,
                             .memory = (uint8_t *)(uintptr_t)address,
                             .size = size,
                             .mapped = whole};
    mutex_lock(&lock);
    m->number = ++numbers;
    m->next = svm_remotes;
    svm_remotes = m;
    mutex_unlock(&lock);
    return m->memory;
}

bool svm_remote_free(void *memory)
{
    struct svm_remote **at, *m;
    bool found;

    mutex_lock(&lock);
    for (at = &svm_remotes; *at && (*at)->memory != memory; at = &(*at)->next)
        ;
    m = *at;
    if (m)
        *at = m->next;
    found = m != NULL;
    if (m && m->held) { /* svm_remote_unhold() frees it */
        m->gone = true;
        m = NULL;
    }
    mutex_unlock(&lock);
    if (m)
        give_back(m);
    return found;
}

/* ---- maps ---- */

int svm_remote_add_map(void *memory, size_t size, cl_map_flags flags)
{
    struct svm_remote_map *map = calloc(1, sizeof(*map));
    struct svm_remote *m;

    if (!map)
        return -ENOMEM;
    *map = (struct svm_remote_map){NULL, memory, size, flags};
    mutex_lock(&lock);
    m = find(memory);
    if (m) {
        map->next = m->maps;
        m->maps = map;
    }
    mutex_unlock(&lock);
    if (m)
        return 0;
    free(map);
    return -EINVAL;
}

size_t svm_remote_take_map(void *memory)
{
    struct svm_remote_map **at, *map = NULL;
    struct svm_remote *m;
    size_t size = 0;

    mutex_lock(&lock);
    m = find(memory);
    for (at = m ? &m->maps : NULL; at && *at && (*at)->memory != memory; at = &(*at)->next)
        ;
    if (at && *at) {
        map = *at;
        *at = map->next;
        size = map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) ? map->size : 0;
    }
    mutex_unlock(&lock);
    free(map);
    return size;
}
