/*
 * The memory behind SVM: one sparse file in memory for each session, mapped at the same address by the application and
 * by every worker on its host, so that pointers in it mean the same on both sides.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "libvocl/internal.h"

#define SIZE ((size_t)64 << 30) /* of addresses; memory is taken when it is touched */
#define LARGEST 128             /* alignment of the largest type: long16 */

struct block {
    struct block *next; /* by address */
    size_t offset, size;
    bool used;
};

static struct {
    pthread_mutex_t sharing; /* for arena_shared_with(), which asks the node */
    pthread_mutex_t lock;    /* blocks */
    struct session *session;
    uint8_t *base;
    int fd;
    uint8_t nonce[16];
    struct block *blocks;
} arena = {.sharing = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* Where no program and no library is on any machine seen so far; the kernel chooses when all are taken. */
static void *const places[] = {
#if !defined(__SANITIZE_THREAD__) /* which has plans of its own for these */
    (void *)0x200000000000,
    (void *)0x280000000000,
    (void *)0x300000000000,
#endif
    NULL,
    NULL,
    NULL};

static bool create_at(void *place)
{
    int flags = MAP_SHARED | MAP_NORESERVE | (place ? MAP_FIXED_NOREPLACE : 0);
    void *base = mmap(place, SIZE, PROT_READ | PROT_WRITE, flags, arena.fd, 0);

    if (base == MAP_FAILED)
        return false;
    if (place && base != place) { /* an old kernel, for which the place is a wish */
        munmap(base, SIZE);
        return false;
    }
    madvise(base, SIZE, MADV_DONTDUMP);
    arena.base = base;
    memcpy(arena.base, arena.nonce, sizeof(arena.nonce));
    return true;
}

static bool share(struct node *node)
{
    struct wire_share_memory m = {.address = (uintptr_t)arena.base,
                                  .size = SIZE,
                                  .process = (uint32_t)getpid(),
                                  .descriptor = (uint32_t)arena.fd,
                                  .nonce = arena.nonce,
                                  .nonce_length = sizeof(arena.nonce)};
    struct wire_share_memory_reply reply;
    struct call call;
    struct wire_buffer *out = call_begin(node, WIRE_share_memory, &call);
    bool good;

    m.call = call.id;
    wire_put_share_memory(out, &m);
    if (call_end(&call))
        return false;
    good = wire_get_share_memory_reply(&call.fields, &reply) && !reply.error;
    call_free(&call);
    return good;
}

/* For the first worker a place is looked for that both have free; the others have to take it as it is. */
static bool create_with(struct node *node)
{
    arena.fd = memfd_create("vocl-svm", MFD_CLOEXEC);
    if (arena.fd < 0 || ftruncate(arena.fd, SIZE) ||
        getrandom(arena.nonce, sizeof(arena.nonce), 0) != sizeof(arena.nonce))
        return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        if (!create_at(places[i]))
            continue;
        if (share(node))
            return true;
        munmap(arena.base, SIZE);
        arena.base = NULL;
    }
    return false;
}

/* The beginning is the nonce's. */
static bool first_blocks(void)
{
    struct block *rest = calloc(1, sizeof(*rest));

    if (!rest)
        return false;
    *rest = (struct block){.offset = 4096, .size = SIZE - 4096};
    pthread_mutex_lock(&arena.lock);
    arena.blocks = rest;
    pthread_mutex_unlock(&arena.lock);
    return true;
}

bool arena_shared_with(struct node *node)
{
    bool good;

    pthread_mutex_lock(&arena.sharing);
    if (node->memory == NODE_MEMORY_UNKNOWN && !settings_share_memory())
        node->memory = NODE_MEMORY_APART;
    if (node->memory == NODE_MEMORY_UNKNOWN) {
        if (arena.session == node->session) {
            good = arena.base && share(node);
        } else { /* the session before a fork had another */
            arena.session = node->session;
            arena.base = NULL;
            good = create_with(node) && first_blocks();
        }
        node->memory = good ? NODE_MEMORY_SHARED : NODE_MEMORY_APART;
    }
    good = node->memory == NODE_MEMORY_SHARED && node->alive;
    pthread_mutex_unlock(&arena.sharing);
    return good;
}

void arena_after_fork(void)
{
    pthread_mutex_init(&arena.sharing, NULL);
    pthread_mutex_init(&arena.lock, NULL);
    mirror_after_fork();
    usm_after_fork();
    device_address_after_fork();
    block_after_fork();
}

bool arena_has(const void *pointer)
{
    return arena.base && (uintptr_t)pointer - (uintptr_t)arena.base < SIZE;
}

bool arena_has_all(const void *pointer, size_t size)
{
    return arena_has(pointer) && size <= SIZE - (size_t)((uintptr_t)pointer - (uintptr_t)arena.base);
}

/* Cut a used block of that size out of a free one, at an aligned offset. */
static void *cut(struct block *block, size_t offset, size_t size)
{
    struct block *before = NULL, *after = NULL;

    if (offset > block->offset)
        before = malloc(sizeof(*before));
    if (offset + size < block->offset + block->size)
        after = malloc(sizeof(*after));
    if ((offset > block->offset && !before) || (offset + size < block->offset + block->size && !after)) {
        free(before);
        free(after);
        return NULL;
    }
    if (after) {
        *after = (struct block){block->next, offset + size, block->offset + block->size - offset - size, false};
        block->next = after;
    }
    if (before) { /* the block itself stays in front, free; the new one is used */
        *before = (struct block){block->next, offset, size, true};
        block->size = offset - block->offset;
        block->next = before;
    } else {
        block->size = size;
        block->used = true;
    }
    return arena.base + offset;
}

void *arena_alloc(size_t size, size_t alignment)
{
    void *memory = NULL;

    if (!alignment)
        alignment = LARGEST;
    if (size > SIZE)
        return NULL;
    pthread_mutex_lock(&arena.lock);
    for (struct block *block = arena.blocks; block && !memory; block = block->next) {
        size_t offset = (block->offset + alignment - 1) & ~(alignment - 1);

        if (!block->used && offset - block->offset < block->size && size <= block->size - (offset - block->offset))
            memory = cut(block, offset, size);
    }
    pthread_mutex_unlock(&arena.lock);
    return memory;
}

static void join_next(struct block *block)
{
    struct block *next = block->next;

    if (!next || block->used || next->used)
        return;
    block->size += next->size;
    block->next = next->next;
    free(next);
}

void arena_forget(void *memory, size_t size)
{
    size_t offset = (size_t)((uint8_t *)memory - arena.base), page = (size_t)sysconf(_SC_PAGESIZE);
    size_t start = (offset + page - 1) & ~(page - 1), end = (offset + size) & ~(page - 1);

    if (end > start && madvise(arena.base + start, end - start, MADV_REMOVE))
        vocl_log(LOG_DEBUG, "memory of a freed allocation stays: %s", strerror(errno));
}

void arena_free(void *memory)
{
    size_t offset = (size_t)((uint8_t *)memory - arena.base);
    struct block *before = NULL, *block;

    if (!arena_has(memory))
        return;
    pthread_mutex_lock(&arena.lock);
    for (block = arena.blocks; block && block->offset != offset; block = block->next)
        before = block;
    if (block && block->used) {
        arena_forget(memory, block->size);
        block->used = false;
        join_next(block);
        if (before)
            join_next(before);
    }
    pthread_mutex_unlock(&arena.lock);
}
