/*
 * Handles. Objects live in slabs, aligned blocks that are never given back; a handle is valid if it points to a live
 * slot of a known slab. So garbage and released handles are refused without following them.
 */
#include <sys/mman.h>

#include "libvocl/internal.h"

#define SLAB_SIZE ((size_t)64 << 10)
#define SLAB_FIRST 64 /* the header's size */
#define MAX_SLABS 65536

struct slab {
    unsigned kind;
    uint32_t first; /* number of its first slot */
    size_t slot, count;
    uint64_t inverse; /* 2^32 / slot, rounded up: a division would be most of a check's time */
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

static struct pool pools[] = {
    [WIRE_DEVICE] = {.slot = sizeof(struct _cl_device_id)},
    [WIRE_CONTEXT] = {.slot = sizeof(struct _cl_context)},
    [WIRE_QUEUE] = {.slot = sizeof(struct _cl_command_queue)},
    [WIRE_MEMORY] = {.slot = sizeof(struct _cl_mem)},
    [WIRE_SAMPLER] = {.slot = sizeof(struct _cl_sampler)},
    [WIRE_PROGRAM] = {.slot = sizeof(struct _cl_program)},
    [WIRE_KERNEL] = {.slot = sizeof(struct _cl_kernel)},
    [WIRE_EVENT] = {.slot = sizeof(struct _cl_event)},
    [WIRE_COMMAND_BUFFER] = {.slot = sizeof(struct _cl_command_buffer_khr)},
    [KIND_PLATFORM] = {.slot = sizeof(struct _cl_platform_id)},
};
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

/* Open addressing; entries are only ever added. */
static _Atomic(uintptr_t) slabs[MAX_SLABS];
static size_t slab_total;

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

    pthread_mutex_lock(&pools_lock);
    if (pool->per_slab && number / pool->per_slab < pool->slab_count) {
        struct slab *slab = pool->slabs[number / pool->per_slab];

        object = (struct object *)((uint8_t *)slab + SLAB_FIRST + number % pool->per_slab * slab->slot);
        if (object->id != id || atomic_load(&object->kind) != kind)
            object = NULL;
    }
    pthread_mutex_unlock(&pools_lock);
    return object;
}

void handle_each(unsigned kind, void (*visit)(struct object *object, void *argument), void *argument)
{
    struct pool *pool = &pools[kind];

    pthread_mutex_lock(&pools_lock);
    for (uint32_t number = 0; number < pool->next; number++) {
        struct slab *slab = pool->slabs[number / pool->per_slab];
        struct object *object = (struct object *)((uint8_t *)slab + SLAB_FIRST + number % pool->per_slab * slab->slot);

        if (atomic_load(&object->kind) == kind)
            visit(object, argument);
    }
    pthread_mutex_unlock(&pools_lock);
}

void handle_after_fork(void)
{
    pthread_mutex_init(&pools_lock, NULL);
    info_after_fork();
}

/* The free list runs through the dispatch word, which nobody may look at in a free slot. */
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

void *handle_new(unsigned kind)
{
    struct pool *pool = &pools[kind];
    struct object *object;
    uint32_t id;

    pthread_mutex_lock(&pools_lock);
    object = pool_take(pool, kind);
    if (object) {
        id = object->id + (1u << 24);
        memset((uint8_t *)object + offsetof(struct object, uses), 0, pool->slot - offsetof(struct object, uses));
        object->id = id;
        object->dispatch = &vocl_dispatch;
        object->disp_data = NULL;
        atomic_store(&object->references, 1);
        atomic_store_explicit(&object->kind, kind, memory_order_release);
    }
    pthread_mutex_unlock(&pools_lock);
    return object;
}

void handle_free(struct object *object)
{
    unsigned kind = atomic_load(&object->kind);
    struct pool *pool = &pools[kind];

    if (object->answers)
        info_forget(&object->answers);
    pthread_mutex_lock(&pools_lock);
    atomic_store(&object->kind, 0);
    object->disp_data = NULL;
    if (pool->free_last)
        pool->free_last->disp_data = object;
    else
        pool->free_first = object;
    pool->free_last = object;
    pthread_mutex_unlock(&pools_lock);
}

/* offset is less than 2^16, so the product's upper half is the quotient. */
static bool is_slot(const struct slab *slab, size_t offset)
{
    return (offset * slab->inverse >> 32) * slab->slot == offset;
}

void *handle_check(const void *handle, unsigned kind)
{
    uintptr_t address = (uintptr_t)handle, base = address & ~(SLAB_SIZE - 1);
    const struct slab *slab = (const struct slab *)base;
    struct object *object = (struct object *)address;

    if (!base || !slab_known(base))
        return NULL;
    if (slab->kind != kind || address - base < SLAB_FIRST || !is_slot(slab, address - base - SLAB_FIRST))
        return NULL;
    return atomic_load_explicit(&object->kind, memory_order_acquire) == kind ? object : NULL;
}

static struct node *object_node(struct object *object)
{
    switch (atomic_load(&object->kind)) {
    case WIRE_DEVICE:
        return ((cl_device_id)object)->parent ? ((cl_device_id)object)->node : NULL;
    case WIRE_CONTEXT:
        return ((cl_context)object)->node;
    case WIRE_QUEUE:
        return ((cl_command_queue)object)->node;
    case WIRE_MEMORY:
        return ((cl_mem)object)->context->node;
    case WIRE_SAMPLER:
        return ((cl_sampler)object)->context->node;
    case WIRE_PROGRAM:
        return ((cl_program)object)->context->node;
    case WIRE_KERNEL:
        return ((cl_kernel)object)->program->context->node;
    case WIRE_EVENT:
        return ((cl_event)object)->node;
    case WIRE_COMMAND_BUFFER:
        return ((cl_command_buffer_khr)object)->queue->node;
    }
    return NULL;
}

/* The context of an object that all its nodes have, or NULL. */
static cl_context everywhere(struct object *object)
{
    switch (atomic_load(&object->kind)) {
    case WIRE_CONTEXT:
        return (cl_context)object;
    case WIRE_MEMORY:
        return ((cl_mem)object)->context;
    case WIRE_SAMPLER:
        return ((cl_sampler)object)->context;
    case WIRE_PROGRAM:
        return ((cl_program)object)->context;
    case WIRE_KERNEL:
        return ((cl_kernel)object)->program->context;
    case WIRE_EVENT:
        return ((cl_event)object)->context;
    }
    return NULL;
}

/* An event is known to some, or to none. */
static bool is_known(const struct object *object, const struct node *node)
{
    return atomic_load(&object->kind) != WIRE_EVENT || ((const struct _cl_event *)object)->known & node_bit(node);
}

static void release_block(cl_mem buffer, struct node *node)
{
    const struct wire_release_told m = {WIRE_MEMORY, buffer->object.id};

    wire_put_release_told(stream_begin(node), &m);
    if (node->alive) {
        block_leave(node, buffer->object.id, buffer->block, buffer->size);
        buffer->block = NULL;
    }
    stream_end(node, STREAM_LATER);
}

/* Each node tells when it has done with the memory. */
static void release_region(cl_mem buffer)
{
    const struct wire_release_told m = {WIRE_MEMORY, buffer->object.id};
    cl_context context = buffer->context;

    for (unsigned i = 0; i < context->node_count; i++) {
        struct node *node = context->nodes[i];

        wire_put_release_told(stream_begin(node), &m);
        block_leave_region(node, buffer->object.id, buffer->region);
        stream_end(node, STREAM_LATER);
    }
}

/* The nodes' own part of it. False: the rest waits for one of them. */
static bool release_on_node(struct object *object, struct node *node)
{
    struct wire_release m = {.kind = atomic_load(&object->kind), .object = object->id};
    cl_context context = everywhere(object);
    bool watched = (m.kind == WIRE_CONTEXT && ((cl_context)object)->destructors) ||
                   (m.kind == WIRE_MEMORY && ((cl_mem)object)->destructors);

    if (m.kind == WIRE_MEMORY && ((cl_mem)object)->region && !watched) {
        release_region((cl_mem)object);
        return true;
    }
    for (unsigned i = 0; context && i < context->node_count; i++) {
        struct node *other = context->nodes[i];

        if (other == node || !is_known(object, other))
            continue;
        wire_put_release(stream_begin(other), &m);
        stream_end(other, STREAM_LATER);
    }
    if (watched) {
        dying_begin(object, node);
        return false;
    }
    if (!is_known(object, node))
        return true;
    if (m.kind == WIRE_MEMORY && ((cl_mem)object)->block) {
        release_block((cl_mem)object, node);
    } else {
        wire_put_release(stream_begin(node), &m);
        stream_end(node, STREAM_LATER);
    }
    return true;
}

static void object_destroy(struct object *object)
{
    struct node *node = object_node(object);

    if (!node || !release_on_node(object, node)) /* platforms and root devices stay */
        return;
    switch (atomic_load(&object->kind)) {
    case WIRE_DEVICE:
        device_destroy((cl_device_id)object);
        break;
    case WIRE_CONTEXT:
        context_destroy((cl_context)object);
        break;
    case WIRE_QUEUE:
        queue_destroy((cl_command_queue)object);
        break;
    case WIRE_MEMORY:
        memory_destroy((cl_mem)object);
        break;
    case WIRE_SAMPLER:
        sampler_destroy((cl_sampler)object);
        break;
    case WIRE_PROGRAM:
        program_destroy((cl_program)object);
        break;
    case WIRE_KERNEL:
        kernel_destroy((cl_kernel)object);
        break;
    case WIRE_EVENT:
        event_destroy((cl_event)object);
        break;
    case WIRE_COMMAND_BUFFER:
        command_buffer_destroy((cl_command_buffer_khr)object);
        break;
    }
}

/* One count holds both, so that exactly one thread sees the end: uses has a share for references > 0. */
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

cl_int handle_retain(void *handle, unsigned kind, cl_int invalid)
{
    struct object *object = handle_check(handle, kind);
    int old;

    if (!object)
        return invalid;
    old = atomic_load(&object->references);
    do {
        if (old <= 0)
            return invalid;
    } while (!atomic_compare_exchange_weak(&object->references, &old, old + 1));
    return CL_SUCCESS;
}

cl_int handle_release(void *handle, unsigned kind, cl_int invalid)
{
    struct object *object = handle_check(handle, kind);
    int old;

    if (!object)
        return invalid;
    old = atomic_load(&object->references);
    do {
        if (old <= 0)
            return invalid;
    } while (!atomic_compare_exchange_weak(&object->references, &old, old - 1));
    if (old == 1)
        handle_drop(object);
    return CL_SUCCESS;
}
