/*
 * Buffers over the program's own memory (CL_MEM_USE_HOST_PTR) that a worker of this host has, too: the program's pages
 * are replaced by pages of the arena with the same contents, so that both sides have the same memory. This is done only
 * for whole pages of the buffer, as no thread may write these meanwhile; what shares a page with something else is
 * copied (hostptr.c).
 *
 * Afterwards the pages are made the program's own again, without a moment in which a write could be lost: a private
 * mapping of the same pages, each of which is then copied by the kernel, and the arena's pages behind them are removed.
 * When the program gives such memory back to the system (MADV_DONTNEED) it reads as zeros later, as anonymous memory
 * does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "client/memory/arena.h"

#define PAGE ((size_t)4096)
#define LEAST (16 * PAGE)       /* copying less is faster */
#define PIECE ((size_t)4 << 20) /* bytes that exist twice at a time */

enum state { SHARED, PRIVATE, ALONE }; /* ALONE: it has no pages of the arena any more, or never had any */

struct region {
    struct region *next;
    uint8_t *pages; /* the program's */
    size_t size;    /* of pages, bytes; may be 0 */
    uint8_t *block; /* in the arena: the same pages, with one page before and one behind them */
    size_t copied;  /* size if block is from block.c, and no page is the program's */
    enum state state;
    unsigned buffers, uses; /* uses: nodes that have the buffers; each buffer counts its own */
    bool gone;              /* neither the program nor a node uses the buffers any more */
    size_t left;            /* set by left_of() */
};

static struct mutex lock = MUTEX(RANK_EXCHANGE);
static struct region *regions;

/* ---- the program's mappings ---- */

struct mapped {
    uint8_t *start, *end;
    char access[5];
    uint64_t offset;
    dev_t device;
    uint64_t inode;
    bool stack;
};

static bool next_mapped(FILE *maps, struct mapped *m)
{
    uintptr_t start, end;
    unsigned major, minor;
    char line[512], name[64] = "";

    do {
        if (!fgets(line, sizeof(line), maps))
            return false;
    } while (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64 " %63s", &start, &end, m->access,
                    &m->offset, &major, &minor, &m->inode, name) < 7);
    while (!strchr(line, '\n') && fgets(line, sizeof(line), maps))
        ;
    m->start = (uint8_t *)start;
    m->end = (uint8_t *)end;
    m->device = makedev(major, minor);
    m->stack = !strcmp(name, "[stack]");
    return true;
}

static bool is_of(const struct mapped *m, const struct file_mark *file)
{
    return m->inode == file->inode && m->device == file->device;
}

/* Whether it is writable anonymous memory, or memory that was exchanged before. */
static bool can_exchange(const struct mapped *m, const struct file_mark *file)
{
    return !strcmp(m->access, "rw-p") && !m->stack && (!m->inode || is_of(m, file));
}

/* Whether the process has locked memory, which must stay as it is. */
static bool is_locked(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long locked = 0;

    while (status && fgets(line, sizeof(line), status) && sscanf(line, "VmLck: %lu", &locked) != 1)
        ;
    if (status)
        fclose(status);
    return locked;
}

enum pages { OTHER, CONSTANT, EXCHANGEABLE };

static enum pages kind_of(uint8_t *start, uint8_t *end)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    struct file_mark file;
    struct mapped m;
    bool all = maps && arena_identify(&file), constant = all;

    while (all && start < end && next_mapped(maps, &m)) {
        if (m.end <= start)
            continue;
        constant &= m.start <= start && m.access[1] != 'w';
        all = m.start <= start && (constant || can_exchange(&m, &file));
        start = m.end;
    }
    if (maps)
        fclose(maps);
    if (!all || start < end)
        return OTHER;
    if (constant)
        return CONSTANT;
    return is_locked() ? OTHER : EXCHANGEABLE;
}

/* Visits every part of the region that the program still has mapped, whatever its protection: it may have unmapped
 * some, or mapped something else there. */
static bool each_left(struct region *r, bool (*visit)(struct region *r, uint8_t *start, uint8_t *end, int protection))
{
    FILE *maps = fopen("/proc/self/maps", "re");
    const uint64_t first = arena_offset(r->block + PAGE);
    struct file_mark file;
    struct mapped m;
    bool good = maps && arena_identify(&file);

    while (good && next_mapped(maps, &m)) {
        uint8_t *start = m.start > r->pages ? m.start : r->pages;
        uint8_t *end = m.end < r->pages + r->size ? m.end : r->pages + r->size;
        const int protection = (m.access[0] == 'r' ? PROT_READ : 0) | (m.access[1] == 'w' ? PROT_WRITE : 0) |
                               (m.access[2] == 'x' ? PROT_EXEC : 0);

        if (start < end && is_of(&m, &file) &&
            m.offset + (uint64_t)(start - m.start) == first + (uint64_t)(start - r->pages))
            good = visit(r, start, end, protection);
    }
    if (maps)
        fclose(maps);
    return good;
}

static uint8_t *in_arena(const struct region *r, const uint8_t *at)
{
    return r->block + PAGE + (at - r->pages);
}

/* ---- making the pages the program's own again ---- */

static bool make_private(struct region *r, uint8_t *start, uint8_t *end, int protection)
{
    return arena_show(start, in_arena(r, start), (size_t)(end - start), protection, false);
}

/* Writes to each page without changing it; other threads may write there, too. */
static void touch(uint8_t *start, uint8_t *end)
{
    for (uint8_t *at = start; at < end; at += PAGE)
        __atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
}

/* Makes each page that has contents the program's own. */
static bool copy_pages(struct region *r, uint8_t *start, uint8_t *end, int protection)
{
    size_t at = (size_t)(start - r->pages), until;
    const size_t last = (size_t)(end - r->pages);

    while (at < last && arena_next_data(r->block + PAGE, last, &at, &until)) {
        for (size_t next; at < until; at = next) {
            next = until - at < PIECE ? until : at + PIECE;
            if (!(protection & PROT_WRITE))
                return false;
            if (madvise(r->pages + at, next - at, POPULATE_WRITE)) {
                if (errno != EINVAL)
                    return false;
                touch(r->pages + at, r->pages + next);
            }
            if (!arena_forget(in_arena(r, r->pages + at), next - at))
                return false;
        }
    }
    return true;
}

static bool is_left(struct region *r, uint8_t *start, uint8_t *end, int protection)
{
    (void)r;
    (void)start;
    (void)end;
    (void)protection;
    return false;
}

/* Frees regions that are no longer mapped. Under the lock. It takes a while to find out. */
static void sweep(void)
{
    struct region **at = &regions, *r;

    while ((r = *at) != NULL) {
        if (!r->gone || r->state != ALONE || !each_left(r, is_left)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        arena_free(r->block);
        free(r);
    }
}

/* Frees a region that no buffer and no node uses any more. Under the lock. */
static void let_go(struct region *r)
{
    r->gone = !r->buffers && !r->uses;
    if (!r->gone || r->size)
        return;
    block_free(r->block, r->copied);
    free(r);
}

void exchange_end(struct region *r)
{
    mutex_lock(&lock);
    if (!--r->buffers && r->state == SHARED && each_left(r, make_private))
        r->state = PRIVATE;
    if (r->state == PRIVATE && each_left(r, copy_pages))
        r->state = ALONE;
    let_go(r);
    mutex_unlock(&lock);
}

void exchange_gone(struct region *r)
{
    mutex_lock(&lock);
    r->uses--;
    let_go(r);
    mutex_unlock(&lock);
}

/* ---- exchange ---- */

static bool is_zero(const uint8_t *page)
{
    return !page[0] && !memcmp(page, page + 1, PAGE - 1);
}

/* Replaces the program's pages by those of the block, which is new and has none yet. */
static bool share(struct region *r)
{
    for (size_t at = 0, next; at < r->size; at = next) {
        next = r->size - at < PIECE ? r->size : at + PIECE;
        for (size_t page = at; page < next; page += PAGE) {
            if (!is_zero(r->pages + page))
                memcpy(in_arena(r, r->pages + page), r->pages + page, PAGE);
        }
        if (!arena_show(r->pages + at, in_arena(r, r->pages + at), next - at, PROT_READ | PROT_WRITE, true))
            return false;
        /* drops this process' mapping of the pages there, not the pages */
        madvise(in_arena(r, r->pages + at), next - at, MADV_DONTNEED);
    }
    return true;
}

static bool add_left(struct region *r, uint8_t *start, uint8_t *end, int protection)
{
    (void)protection;
    r->left += (size_t)(end - start);
    return true;
}

/* Returns how many bytes of the region the program has not unmapped, as free() does. A released buffer may keep its
 * region until the program looks at its memory. Under the lock. */
static size_t left_of(struct region *r)
{
    r->left = 0;
    return each_left(r, add_left) ? r->left : 0;
}

/* Finds a region with all of the buffer, except what is on the pages before and behind it. Under the lock. */
static struct region *find(const uint8_t *start, const uint8_t *end)
{
    struct region *r = regions;

    while (r && (r->state != SHARED || !r->buffers || start < r->pages - PAGE || end > r->pages + r->size + PAGE ||
                 left_of(r) != r->size))
        r = r->next;
    return r;
}

static bool overlaps(const uint8_t *start, const uint8_t *end)
{
    struct region *r = regions;

    while (r && (r->state != SHARED || start >= r->pages + r->size || end <= r->pages || each_left(r, is_left)))
        r = r->next;
    return r != NULL;
}

static struct region *region_new(uint8_t *pages, size_t size, uint8_t *block)
{
    struct region *r = block ? calloc(1, sizeof(*r)) : NULL;

    if (!r)
        return NULL;
    r->pages = pages;
    r->size = size;
    r->state = size ? SHARED : ALONE;
    r->block = block;
    if (!size)
        return r;
    r->next = regions; /* a region that is only copied need not be found */
    regions = r;
    return r;
}

static struct region *copied(struct session *session, size_t size)
{
    bool fresh;
    uint8_t *block = block_take(session, size, &fresh);
    struct region *r = region_new(NULL, 0, block);

    if (r)
        r->copied = size;
    else if (block)
        block_free(block, size);
    return r;
}

static struct region *exchange(uint8_t *pages, size_t size)
{
    const size_t whole = size + 2 * PAGE;
    uint8_t *block = arena_alloc(whole, PAGE);
    struct region *r = block && arena_forget(block, whole) ? region_new(pages, size, block) : NULL;

    if (!r && block)
        arena_free(block);
    if (!r || share(r))
        return r;
    vocl_log(LOG_DEBUG, "memory cannot be shared: %s", strerror(errno));
    r->gone = true;
    r->state = each_left(r, make_private) && each_left(r, copy_pages) ? ALONE : PRIVATE;
    return NULL;
}

struct region *exchange_begin(cl_context context, void *pointer, size_t size, uint8_t **bytes_in_arena, size_t *inside,
                              size_t *inside_end, bool *constant)
{
    uint8_t *start = pointer, *end = start + size;
    uint8_t *first = (uint8_t *)(((uintptr_t)start + PAGE - 1) & ~(PAGE - 1));
    uint8_t *last = (uint8_t *)((uintptr_t)end & ~(PAGE - 1));
    enum pages kind = OTHER;
    struct region *r;

    *inside = *inside_end = 0;
    *constant = false;
    mutex_lock(&lock);
    sweep();
    r = find(start, end);
    if (!r && first < last && (size_t)(last - first) >= LEAST && sysconf(_SC_PAGESIZE) == (long)PAGE &&
        !overlaps(start, end)) {
        kind = kind_of(first, last);
        r = kind == EXCHANGEABLE ? exchange(first, (size_t)(last - first)) : NULL;
        *constant = kind == CONSTANT;
    }
    if (r) {
        *bytes_in_arena = in_arena(r, start);
        *inside = start < r->pages ? (size_t)(r->pages - start) : 0;
        *inside_end = end > r->pages + r->size ? (size_t)(r->pages + r->size - start) : size;
    } else {
        r = copied(context->node->session, size);
        *bytes_in_arena = r ? r->block : NULL;
    }
    if (r) {
        r->buffers++;
        r->uses += context->node_count;
    }
    mutex_unlock(&lock);
    return r;
}

/* ---- fork: natively the child has a copy of the memory as it was ---- */

struct copy {
    struct copy *next;
    const struct region *region;
    uint8_t *at, *memory;
    size_t size;
};

static struct copy *copies;

/* Copies a part of a region for the child of a fork. If there is no room for that, the child sees what the parent
 * writes, but not the other way round. */
static bool copy_for_child(struct region *r, uint8_t *start, uint8_t *end, int protection)
{
    const size_t size = (size_t)(end - start);
    struct copy *copy = malloc(sizeof(*copy));
    size_t at = 0, until;

    (void)protection;
    if (!copy)
        return false;
    *copy = (struct copy){copies, r, start, NULL, size};
    copies = copy;
    copy->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy->memory == MAP_FAILED)
        copy->memory = NULL;
    for (; copy->memory && at < size && arena_next_data(in_arena(r, start), size, &at, &until); at = until)
        memcpy(copy->memory + at, in_arena(r, start) + at, until - at);
    return true;
}

/* Moves memory by the system call: UCX interposes mremap() with a function that forgets the address. */
static bool move_to(uint8_t *memory, size_t size, uint8_t *to)
{
    return syscall(SYS_mremap, memory, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == (long)(uintptr_t)to;
}

static void copy_end(struct copy *copy, bool child)
{
    if (!copy->memory && child)
        arena_show(copy->at, in_arena(copy->region, copy->at), copy->size, PROT_READ | PROT_WRITE, false);
    else if (child && move_to(copy->memory, copy->size, copy->at))
        return;
    if (copy->memory)
        munmap(copy->memory, copy->size);
}

/* Finishes the copying of regions that are becoming the program's own, too: their contents must not be removed from
 * under the child. */
void exchange_before_fork(void)
{
    mutex_lock(&lock);
    for (struct region *r = regions; r; r = r->next) {
        if (r->state != ALONE)
            each_left(r, r->state == SHARED ? copy_for_child : copy_pages);
    }
}

void exchange_after_fork(bool child)
{
    while (copies) {
        struct copy *copy = copies;

        copies = copy->next;
        copy_end(copy, child);
        free(copy);
    }
    if (!child) {
        mutex_unlock(&lock);
        return;
    }
    regions = NULL; /* the regions are the parent's */
    mutex_init(&lock, RANK_EXCHANGE);
}
