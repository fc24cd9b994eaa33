/*
 * The arena, the memory behind SVM: for each session one sparse file in memory, mapped at the same address by the
 * application and by every worker on its host, so that pointers into it mean the same on both sides. The application
 * maps no more of it than was ever used: valgrind keeps books of mapped memory, mlockall() locks it and ulimit -v
 * counts it.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/settings.h"
#include "client/core/stream.h"
#include "client/memory/arena.h"

#define MOST ((size_t)64 << 30) /* of addresses; memory is taken when it is touched */
#define STEP ((size_t)1 << 20)
#define LARGEST 128 /* alignment of the largest type: long16 */

struct block {
    struct block *next; /* by address */
    size_t offset, size;
    bool used;
};

static struct {
    struct mutex sharing; /* for arena_shared_with(), which asks the node */
    pthread_cond_t told;  /* signalled when a node has been asked */
    struct mutex lock;    /* guards blocks */
    struct session *session;
    uint8_t *base;
    size_t size;
    atomic_size_t mapped; /* bytes mapped; grows only, by whole pages */
    bool reserved;        /* the addresses of the unmapped rest are reserved */
    int fd;
    struct file_mark file;
    uint8_t nonce[16];
    struct block *blocks;
} arena = {.sharing = MUTEX(RANK_SHARING), .told = PTHREAD_COND_INITIALIZER, .lock = MUTEX(RANK_ARENA), .fd = -1};

/* Addresses where no program and no library is mapped on any machine seen so far. When all are taken the kernel chooses
 * one, and then a later worker may have something else there. */
static void *const addresses[] = {
#if defined(__SANITIZE_THREAD__) /* the sanitizer uses most other addresses */
    (void *)0x2000000000, (void *)0x4000000000,
#else
    (void *)0x200000000000,
    (void *)0x280000000000,
    (void *)0x300000000000,
#endif
    NULL, NULL, NULL};

/* Returns the arena's file, or -1: the program may have closed it, and have a file of its own with that descriptor. */
static int own_file(void)
{
    return file_mark_fits(arena.fd, &arena.file) ? arena.fd : -1;
}

/* Maps more of the file. Under the lock, or before any other thread knows of the arena. */
static bool grow(size_t size)
{
    const size_t mapped = atomic_load(&arena.mapped), more = size - mapped;
    const int fixed = arena.reserved ? MAP_FIXED : MEMORY_AT;
    void *wanted = arena.base + mapped, *address;

    address = mmap(wanted, more, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | fixed, own_file(), (off_t)mapped);
    if (address == MAP_FAILED)
        return false;
    if (address != wanted) {
        munmap(address, more);
        return false;
    }
    madvise(address, more, MADV_DONTDUMP);
    atomic_store(&arena.mapped, size);
    return true;
}

static void unmap(void)
{
    munmap(arena.base, arena.reserved ? arena.size : atomic_load(&arena.mapped));
    atomic_store(&arena.mapped, 0);
    arena.base = NULL;
}

static bool create_at(void *address)
{
    arena.base = address;
    arena.reserved = !address;
    atomic_store(&arena.mapped, 0);
    if (!address) { /* above an address that the kernel chooses there is only room if it is reserved */
        address = mmap(NULL, arena.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        arena.base = address == MAP_FAILED ? NULL : address;
        if (!arena.base)
            return false;
        madvise(arena.base, arena.size, MADV_DONTDUMP);
    }
    if (grow(STEP)) {
        memcpy(arena.base, arena.nonce, sizeof(arena.nonce));
        return true;
    }
    if (arena.reserved)
        unmap();
    arena.base = NULL;
    return false;
}

static bool share(struct node *node)
{
    struct wire_share_memory m = {.address = (uintptr_t)arena.base,
                                  .size = arena.size,
                                  .process = (uint32_t)getpid(),
                                  .descriptor = (uint32_t)arena.fd,
                                  .nonce = arena.nonce,
                                  .nonce_length = sizeof(arena.nonce)};
    struct wire_share_memory_reply reply;
    struct call call;

    if (call_share_memory(node, &m, &reply, &call))
        return false;
    call_free(&call);
    node->counts = !reply.error && reply.counts;
    return !reply.error;
}

/* Returns the arena's largest size. A file larger than ulimit -f allows would end the program; and the worker maps all
 * of it, but needs most of the addresses that ulimit -v leaves it for itself. */
static size_t most(void)
{
    struct rlimit file, addresses;
    size_t size = MOST;

    if (!getrlimit(RLIMIT_FSIZE, &file) && file.rlim_cur < size)
        size = (size_t)file.rlim_cur;
    if (!getrlimit(RLIMIT_AS, &addresses) && addresses.rlim_cur / 4 < size)
        size = (size_t)addresses.rlim_cur / 4;
    return size & ~(STEP - 1);
}

/* Creates the arena with the first worker, at an address that is free on both sides. Other workers have to take it as
 * it is. */
static bool create_with(struct node *node)
{
    arena.size = most();
    arena.fd = arena.size ? memfd_create("vocl-svm", MFD_CLOEXEC) : -1;
    if (arena.fd < 0 || ftruncate(arena.fd, (off_t)arena.size) ||
        getrandom(arena.nonce, sizeof(arena.nonce), 0) != sizeof(arena.nonce) || !file_mark_get(arena.fd, &arena.file))
        return false;
    for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
        if (!create_at(addresses[i]))
            continue;
        if (share(node))
            return true;
        unmap();
    }
    return false;
}

/* Makes the list of blocks. The beginning of the arena holds the nonce. */
static bool first_blocks(void)
{
    struct block *rest = calloc(1, sizeof(*rest));

    if (!rest)
        return false;
    *rest = (struct block){.offset = 4096, .size = arena.size - 4096};
    mutex_lock(&arena.lock);
    arena.blocks = rest;
    mutex_unlock(&arena.lock);
    return true;
}

/* Asks the node. Under the lock, which is released while a node is asked that comes to an existing arena: its worker
 * may be lost, and before another one replaces it a thread may have to ask a third node. */
static void find_out(struct node *node)
{
    bool good;

    if (!settings_share_memory()) {
        node->memory = NODE_MEMORY_APART;
        return;
    }
    if (arena.session != node->session) { /* the session before a fork had another arena */
        arena.session = node->session;
        arena.base = NULL;
        good = create_with(node) && first_blocks();
    } else {
        node->memory = NODE_MEMORY_ASKED;
        mutex_unlock(&arena.sharing);
        good = arena.base && share(node);
        mutex_lock(&arena.sharing);
    }
    node->memory = good ? NODE_MEMORY_SHARED : NODE_MEMORY_APART;
    pthread_cond_broadcast(&arena.told);
}

bool arena_shared_with(struct node *node)
{
    enum node_memory known = node->memory;

    if (known == NODE_MEMORY_UNKNOWN || known == NODE_MEMORY_ASKED) {
        mutex_lock(&arena.sharing);
        while (node->memory == NODE_MEMORY_ASKED)
            mutex_wait(&arena.told, &arena.sharing);
        if (node->memory == NODE_MEMORY_UNKNOWN)
            find_out(node);
        known = node->memory;
        mutex_unlock(&arena.sharing);
    }
    return known == NODE_MEMORY_SHARED && node_is_there(node);
}

bool arena_given_to(struct node *node)
{
    return !node->observer && arena_shared_with(node);
}

bool arena_can_be_shared(void)
{
    return own_file() >= 0;
}

/* Makes the child's mapping a private copy: what the child writes there is not the parent's. */
static void part(void)
{
    const size_t mapped = atomic_load(&arena.mapped);
    const int file = own_file();

    if (!arena.base)
        return;
    mmap(arena.base, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file, 0);
    madvise(arena.base, mapped, MADV_DONTDUMP);
    if (file >= 0)
        close(file);
    arena.fd = -1;
}

void arena_after_fork(void)
{
    mutex_init(&arena.sharing, RANK_SHARING);
    pthread_cond_init(&arena.told, NULL);
    mutex_init(&arena.lock, RANK_ARENA);
    part();
    block_after_fork();
}

bool arena_has(const void *pointer)
{
    return arena.base && (uintptr_t)pointer - (uintptr_t)arena.base < atomic_load(&arena.mapped);
}

bool arena_has_all(const void *pointer, size_t size)
{
    return arena_has(pointer) &&
           size <= atomic_load(&arena.mapped) - (size_t)((uintptr_t)pointer - (uintptr_t)arena.base);
}

size_t arena_size(const void *memory)
{
    const size_t offset = (size_t)((const uint8_t *)memory - arena.base);
    const struct block *block;
    size_t size = 0;

    if (!arena_has(memory))
        return 0;
    mutex_lock(&arena.lock);
    for (block = arena.blocks; block && block->offset != offset; block = block->next)
        ;
    if (block && block->used)
        size = block->size;
    mutex_unlock(&arena.lock);
    return size;
}

/* Cuts a used block of that size out of a free one, at an aligned offset. */
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

/* Makes sure that the arena is mapped up to end. */
static bool reach(size_t end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), wish = (end + STEP - 1) & ~(STEP - 1);

    if (end <= atomic_load(&arena.mapped))
        return true;
    return (wish <= arena.size && grow(wish)) || grow((end + page - 1) & ~(page - 1));
}

void *arena_alloc(size_t size, size_t alignment)
{
    void *memory = NULL;

    if (!alignment)
        alignment = LARGEST;
    mutex_lock(&arena.lock);
    for (struct block *block = arena.blocks; block && !memory; block = block->next) {
        size_t offset = (block->offset + alignment - 1) & ~(alignment - 1);

        if (block->used || offset - block->offset >= block->size || size > block->size - (offset - block->offset))
            continue;
        if (!reach(offset + size))
            break;
        memory = cut(block, offset, size);
    }
    mutex_unlock(&arena.lock);
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

bool arena_forget(void *memory, size_t size)
{
    size_t offset = (size_t)((uint8_t *)memory - arena.base), page = (size_t)sysconf(_SC_PAGESIZE);
    size_t start = (offset + page - 1) & ~(page - 1), end = (offset + size) & ~(page - 1);

    if (end <= start || !madvise(arena.base + start, end - start, MADV_REMOVE))
        return true;
    vocl_log(LOG_DEBUG, "cannot release the pages of a freed allocation: %s", strerror(errno));
    return false;
}

void arena_populate(void *memory, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), ahead = (uintptr_t)memory % page;

    madvise((uint8_t *)memory - ahead, size + ahead, POPULATE_WRITE);
}

/* ---- mapping parts at other addresses ---- */

bool arena_identify(struct file_mark *file)
{
    if (!arena.base || own_file() < 0)
        return false;
    *file = arena.file;
    return true;
}

size_t arena_offset(const void *memory)
{
    return (size_t)((const uint8_t *)memory - arena.base);
}

bool arena_show(void *at, const void *memory, size_t size, int protection, bool shared)
{
    const int flags = MAP_FIXED | (shared ? MAP_SHARED | MAP_NORESERVE : MAP_PRIVATE);

    return mmap(at, size, protection, flags, own_file(), (off_t)arena_offset(memory)) != MAP_FAILED;
}

bool arena_next_data(const void *memory, size_t size, size_t *start, size_t *end)
{
    const off_t first = (off_t)arena_offset(memory), last = first + (off_t)size;
    const int file = own_file();
    off_t data = lseek(file, first + (off_t)*start, SEEK_DATA), hole;

    if (data < 0 || data >= last)
        return false;
    hole = lseek(file, data, SEEK_HOLE);
    *start = (size_t)(data - first);
    *end = hole < 0 || hole > last ? size : (size_t)(hole - first);
    return true;
}

/* ---- freeing ---- */

void arena_free(void *memory)
{
    size_t offset = (size_t)((uint8_t *)memory - arena.base);
    struct block *before = NULL, *block;

    if (!arena_has(memory))
        return;
    mutex_lock(&arena.lock);
    for (block = arena.blocks; block && block->offset != offset; block = block->next)
        before = block;
    if (block && block->used) {
        arena_forget(memory, block->size);
        block->used = false;
        join_next(block);
        if (before)
            join_next(before);
    }
    mutex_unlock(&arena.lock);
}
