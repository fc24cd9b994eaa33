/*
 * Handles. Objects live in slabs, aligned blocks that are never freed; a handle is valid if it points to a live slot of
 * a known slab. So garbage and released handles are refused without dereferencing them.
 */
#include <errno.h>
#include <sys/mman.h>

#include "client/core/handle.h"
#include "client/core/info.h"
#include "client/core/observer.h"
#include "client/core/per_process.h"
#include "client/core/session.h"
#include "client/core/stream.h"

#define SLAB_SIZE ((size_t)64 << 10)
#define SLAB_FIRST 64 /* the header's size */
#define MAX_SLABS 65536

struct slab {
    unsigned kind;
    uint32_t first; /* number of its first slot */
    size_t slot, count;
    uint64_t inverse; /* 2^32 / slot, rounded up: a division would take most of the time of a check */
};

struct pool {
    size_t slot, per_slab;
    struct slab **slabs; /* in the order of their numbers */
    size_t slab_count;
    uint32_t next;                         /* number of the next slot never used */
    struct object *free_first, *free_last; /* oldest first, so that a stale handle stays invalid for long */
    struct slab *slab;
    size_t used;
};

static struct pool pools[KIND_COUNT];
static const struct kind *const *kinds;
static const void *dispatch;
static PER_PROCESS struct mutex pools_lock = MUTEX(RANK_HANDLES);

/* Open addressing; entries are only ever added. */
static _Atomic(uintptr_t) slabs[MAX_SLABS];
static size_t slab_total;

void handle_kinds(const struct kind *const *table, const void *first_word)
{
    mutex_lock(&pools_lock);
    for (unsigned kind = 1; kind < KIND_COUNT && !kinds; kind++)
        pools[kind].slot = table[kind]->size;
    dispatch = first_word;
    kinds = table;
    mutex_unlock(&pools_lock);
}

const struct kind *handle_kind(const struct object *object)
{
    return kinds[atomic_load(&object->kind)];
}

static size_t slab_hash(uintptr_t base)
{
    return (base / SLAB_SIZE * 0x9e3779b97f4a7c15u) >> 48;
}

static bool slab_known(uintptr_t base)
{
    for (size_t at = slab_hash(base);; at = (at + 1) % MAX_SLABS) {
        uintptr_t entry = atomic_load_explicit(&slabs[at], memory_order_acquire);

        if (entry == base)
            return true;
        if (!entry)
            return false;
    }
}

static struct slab *slab_new(struct pool *pool, unsigned kind)
{
    uint8_t *area;
    struct slab *slab;
    size_t at;

    if (slab_total >= MAX_SLABS / 2)
        return NULL;
    area = mmap(NULL, 2 * SLAB_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return NULL;
    slab = (struct slab *)(((uintptr_t)area + SLAB_SIZE - 1) & ~(SLAB_SIZE - 1));
    if ((uint8_t *)slab != area)
        munmap(area, (size_t)((uint8_t *)slab - area));
    if ((uint8_t *)slab + SLAB_SIZE != area + 2 * SLAB_SIZE)
        munmap((uint8_t *)slab + SLAB_SIZE, (size_t)(area + SLAB_SIZE - (uint8_t *)slab));
    slab->kind = kind;
    slab->first = pool->next;
    slab->slot = (pool->slot + 15) & ~(size_t)15;
    slab->count = (SLAB_SIZE - SLAB_FIRST) / slab->slot;
    slab->inverse = ((UINT64_C(1) << 32) + slab->slot - 1) / slab->slot;
    for (at = slab_hash((uintptr_t)slab); atomic_load(&slabs[at]); at = (at + 1) % MAX_SLABS)
        ;
    atomic_store_explicit(&slabs[at], (uintptr_t)slab, memory_order_release);
    slab_total++;
    return slab;
}

static bool pool_keep(struct pool *pool, struct slab *slab)
{
    struct slab **list = realloc(pool->slabs, (pool->slab_count + 1) * sizeof(struct slab *));

    if (!list)
        return false;
    pool->slabs = list;
    list[pool->slab_count++] = slab;
    pool->per_slab = slab->count;
    return true;
}

void *handle_find(unsigned kind, uint32_t id)
{
    struct pool *pool = &pools[kind];
    uint32_t number = (id & 0xffffff) - 1;
    struct object *object = NULL;

    mutex_lock(&pools_lock);
    if (pool->per_slab && number / pool->per_slab < pool->slab_count) {
        struct slab *slab = pool->slabs[number / pool->per_slab];

        object = (struct object *)((uint8_t *)slab + SLAB_FIRST + number % pool->per_slab * slab->slot);
        if (object->id != id || atomic_load(&object->kind) != kind)
            object = NULL;
    }
    mutex_unlock(&pools_lock);
    return object;
}

uint32_t handle_highest(unsigned kind)
{
    uint32_t highest;

    mutex_lock(&pools_lock);
    highest = pools[kind].next;
    mutex_unlock(&pools_lock);
    return highest;
}

void handle_each(unsigned kind, void (*visit)(struct object *object, void *argument), void *argument)
{
    struct pool *pool = &pools[kind];

    mutex_lock(&pools_lock);
    for (uint32_t number = 0; number < pool->next; number++) {
        struct slab *slab = pool->slabs[number / pool->per_slab];
        struct object *object = (struct object *)((uint8_t *)slab + SLAB_FIRST + number % pool->per_slab * slab->slot);

        if (atomic_load(&object->kind) == kind && atomic_load_explicit(&object->shown, memory_order_acquire))
            visit(object, argument);
    }
    mutex_unlock(&pools_lock);
}

/* The free list is linked by disp_data, which nobody may read in a free slot. */
static struct object *pool_take(struct pool *pool, unsigned kind)
{
    struct object *object = pool->free_first;

    if (object && (pool->next > 4096 || !pool->slab || pool->used >= pool->slab->count)) {
        pool->free_first = object->disp_data;
        if (!pool->free_first)
            pool->free_last = NULL;
        return object;
    }
    if (!pool->slab || pool->used >= pool->slab->count) {
        struct slab *slab = pool->next >= 0xffffff ? NULL : slab_new(pool, kind);

        if (!slab || !pool_keep(pool, slab))
            return NULL;
        pool->slab = slab;
        pool->used = 0;
    }
    object = (struct object *)((uint8_t *)pool->slab + SLAB_FIRST + pool->used++ * pool->slab->slot);
    object->id = ++pool->next;
    return object;
}

void *handle_begin(unsigned kind)
{
    struct pool *pool = &pools[kind];
    struct object *object;
    uint32_t id;

    mutex_lock(&pools_lock);
    object = pool_take(pool, kind);
    if (object) {
        id = object->id + (1u << 24);
        memset((uint8_t *)object + offsetof(struct object, uses), 0, pool->slot - offsetof(struct object, uses));
        object->id = id;
        object->dispatch = dispatch;
        object->disp_data = NULL;
        atomic_store(&object->references, 1);
        atomic_store_explicit(&object->kind, kind, memory_order_release);
    }
    mutex_unlock(&pools_lock);
    return object;
}

void handle_show(void *handle)
{
    atomic_store_explicit(&((struct object *)handle)->shown, true, memory_order_release);
}

void *handle_new(unsigned kind)
{
    void *handle = handle_begin(kind);

    if (handle)
        handle_show(handle);
    return handle;
}

void handle_free(struct object *object)
{
    unsigned kind = atomic_load(&object->kind);
    struct pool *pool = &pools[kind];

    if (object->answers)
        info_forget(&object->answers);
    mutex_lock(&pools_lock);
    atomic_store(&object->kind, 0);
    object->disp_data = NULL;
    if (pool->free_last)
        pool->free_last->disp_data = object;
    else
        pool->free_first = object;
    pool->free_last = object;
    mutex_unlock(&pools_lock);
}

/* offset is less than 2^16, so the product's upper half is the quotient. */
static bool is_slot(const struct slab *slab, size_t offset)
{
    return (offset * slab->inverse >> 32) * slab->slot == offset;
}

atomic_uintptr_t handle_slots[HANDLE_SLOTS];

void *handle_check_anew(const void *handle, unsigned kind)
{
    uintptr_t address = (uintptr_t)handle, base = address & ~(SLAB_SIZE - 1);
    const struct slab *slab = (const struct slab *)base;

    if (!base || !slab_known(base))
        return NULL;
    if (slab->kind != kind || address - base < SLAB_FIRST || !is_slot(slab, address - base - SLAB_FIRST))
        return NULL;
    atomic_store_explicit(&handle_slots[handle_hash(address)], address, memory_order_relaxed);
    return handle_is_live((void *)address, kind);
}

static bool is_on(const struct kind *kind, const struct object *object, const struct node *node)
{
    return !kind->is_on || kind->is_on(object, node);
}

static void release_on(struct object *object, struct node *node)
{
    const struct wire_release m = {.kind = atomic_load(&object->kind), .object = object->id};

    /* the next worker is not sent the object, so it need not release it */
    if (node->suspended && node->observer)
        node->observer->forgotten(node, m.kind, m.object);
    else
        wire_put_release(&node->batch, &m);
}

static void tell_released(struct object *object, struct node *node)
{
    release_on(object, node);
    node->told = true;
}

static void finish_told(struct node *node)
{
    if (node->told)
        stream_finish(node, STREAM_LATER);
    node->told = false;
}

/* A thread that looks at all objects under the lock sees this one released on all its nodes, or on none. */
static void release_on_all(const struct kind *kind, struct object *object, struct node *node)
{
    cl_context context = kind->context ? kind->context(object) : NULL;

    session_lock(node->session);
    for (unsigned i = 0; context && i < context->node_count; i++) {
        if (context->nodes[i] != node && is_on(kind, object, context->nodes[i]))
            tell_released(object, context->nodes[i]);
    }
    if (is_on(kind, object, node))
        tell_released(object, node);
    handle_released(object);
    for (unsigned i = 0; context && i < context->node_count; i++)
        finish_told(context->nodes[i]);
    finish_told(node);
    session_unlock(node->session);
}

void handle_released(struct object *object)
{
    atomic_store(&object->uses, USES_RELEASED);
}

bool handle_try_use(struct object *object)
{
    int uses = atomic_load(&object->uses);

    do {
        if (uses < 0)
            return false;
    } while (!atomic_compare_exchange_weak(&object->uses, &uses, uses + 1));
    return true;
}

/* Releases the object on its nodes. Returns false if its destruction waits for one of them. */
static bool release(const struct kind *kind, struct object *object, struct node *node)
{
    cl_context context = kind->context ? kind->context(object) : NULL;
    const bool watched = kind->is_watched && kind->is_watched(object);

    if (!watched && (!kind->release || !kind->release(object)))
        release_on_all(kind, object, node);
    for (unsigned i = 0; watched && context && i < context->node_count; i++) {
        struct node *other = context->nodes[i];

        if (other == node || !is_on(kind, object, other))
            continue;
        session_lock(node->session);
        release_on(object, other);
        stream_finish(other, STREAM_LATER);
        session_unlock(node->session);
    }
    if (watched)
        destructor_begin(object, node);
    return !watched;
}

static struct node *object_node(const struct kind *kind, const struct object *object)
{
    if (kind->node)
        return kind->node(object);
    return kind->context ? kind->context(object)->node : NULL;
}

static bool try_drop(struct object *object)
{
    int uses = atomic_load(&object->uses);

    do {
        if (uses <= 0)
            return false;
    } while (!atomic_compare_exchange_weak(&object->uses, &uses, uses - 1));
    return true;
}

bool handle_hold(struct object *object)
{
    if (!handle_try_use(object))
        return false;
    object->held++;
    return true;
}

void handle_unhold(struct session *session, struct object *object)
{
    bool last;

    session_lock(session);
    object->held--;
    last = !try_drop(object);
    session_unlock(session);
    if (last)
        handle_drop(object);
}

void held_add(struct held *held, struct object *object)
{
    struct object **more;

    if (held->count == held->room) {
        more = realloc(held->objects, (held->room * 2 + 64) * sizeof(*more));
        held->failed |= !more;
        if (!more)
            return;
        held->objects = more;
        held->room = held->room * 2 + 64;
    }
    if (handle_hold(object))
        held->objects[held->count++] = object;
}

void held_drop(struct held *held, struct session *session)
{
    while (held->count)
        handle_unhold(session, held->objects[--held->count]);
    free(held->objects);
    held->objects = NULL;
    held->room = 0;
}

struct renewal {
    const struct node *node;
    struct held held;
};

static void collect_renewed(struct object *object, void *argument)
{
    struct renewal *renewal = argument;

    if (handle_kind(object)->renew && handle_is_on(object, renewal->node))
        held_add(&renewal->held, object);
}

int handle_renew(struct node *node)
{
    struct renewal renewal = {.node = node};

    session_lock(node->session);
    for (unsigned kind = WIRE_DEVICE; kind <= WIRE_KIND_LAST; kind++)
        handle_each(kind, collect_renewed, &renewal);
    session_unlock(node->session);
    for (unsigned i = 0; i < renewal.held.count; i++)
        handle_kind(renewal.held.objects[i])->renew(renewal.held.objects[i], node);
    held_drop(&renewal.held, node->session);
    return renewal.held.failed ? -ENOMEM : 0;
}

unsigned handle_count(struct session *session, struct object *object)
{
    unsigned count;

    session_lock(session);
    count = (unsigned)(atomic_load(&object->references) + atomic_load(&object->uses)) - object->held;
    session_unlock(session);
    return count;
}

bool handle_is_on(const struct object *object, const struct node *node)
{
    const unsigned number = atomic_load(&object->kind);
    const struct kind *kind = number && number < KIND_COUNT ? kinds[number] : NULL;
    cl_context context = kind && kind->context ? kind->context(object) : NULL;

    if (!kind)
        return false;
    return context ? context_has_node(context, node) && is_on(kind, object, node) : object_node(kind, object) == node;
}

static void object_destroy(struct object *object)
{
    const unsigned number = atomic_load(&object->kind);
    const struct kind *kind;
    struct node *node;

    if (!number || number >= KIND_COUNT) /* it is being destroyed (destructor.c) */
        return;
    kind = kinds[number];
    node = object_node(kind, object);
    if (node && release(kind, object, node)) /* platforms and root devices stay */
        kind->destroy(object);
}

int handle_create_on(struct object *object, struct node *node)
{
    const struct kind *kind = handle_kind(object);

    return kind->create_on ? kind->create_on(object, node) : -ENOTSUP;
}

int handle_create(struct object *object)
{
    const struct kind *kind = handle_kind(object);
    cl_context context = kind->context ? kind->context(object) : NULL;
    int error = -ECONNRESET;

    if (!context)
        return handle_create_on(object, object_node(kind, object));
    for (unsigned i = 0; i < context->node_count; i++)
        error = stream_joined(error, handle_create_on(object, context->nodes[i]));
    return error;
}

/* One count covers both, so that exactly one thread sees the end: references > 0 count as one of uses. */
void handle_use(void *handle)
{
    struct object *object = handle;

    atomic_fetch_add(&object->uses, 1);
}

void handle_drop(void *handle)
{
    struct object *object = handle;

    if (atomic_fetch_sub(&object->uses, 1) == 0)
        object_destroy(object);
}

/* Returns how many references the program had before; 0: none, and nothing is changed. */
static int count_reference(struct object *object, int by)
{
    int old = atomic_load(&object->references);

    do {
        if (old <= 0)
            return 0;
    } while (!atomic_compare_exchange_weak(&object->references, &old, old + by));
    return old;
}

int handle_retain(void *handle, unsigned kind, int invalid)
{
    struct object *object = handle_check(handle, kind);

    return object && count_reference(object, 1) ? 0 : invalid;
}

int handle_release(void *handle, unsigned kind, int invalid)
{
    struct object *object = handle_check(handle, kind);
    int old = object ? count_reference(object, -1) : 0;

    if (!old)
        return invalid;
    if (old == 1)
        handle_drop(object);
    return 0;
}
