/*
 * Memory in the arena for buffers that program and worker share: the worker gives it to the device as the buffer's own
 * (CL_MEM_USE_HOST_PTR). A block may be used again when the native buffer is gone, which the worker reports. Blocks of
 * common sizes are kept, with their pages, for later buffers.
 */
#include "client/core/session.h"
#include "client/memory/arena.h"

#define SMALLEST 1024           /* makes all sizes multiples of the largest type's, 128 */
#define SMALL ((size_t)1 << 20) /* blocks up to this size are cut out of larger pieces */
#define PER_PIECE 64
#define PAGE 4096
#define SHIFT 640
#define SHIFT_SMALL 128
#define MOST_KEPT (512u << 20)    /* bytes */
#define LARGEST ((size_t)1 << 39) /* more than the arena has */
#define CLASSES 320               /* eight for each doubling up to that */

struct spare {
    struct spare *next;
    void *memory;
    bool fresh; /* the memory has no pages yet */
};

struct leaving {
    struct leaving *next;
    struct node *node;
    uint32_t id;
    void *memory;
    size_t size;
    struct region *region; /* instead of memory and size, or NULL */
};

static struct {
    struct mutex lock;
    struct session *session;
    struct spare *spares[CLASSES];
    size_t kept;
    struct leaving *leaving, **last; /* oldest first: the order in which they end */
    struct leaving *limbo;
    size_t waiting; /* bytes in limbo */
} blocks = {.lock = MUTEX(RANK_BLOCKS), .last = &blocks.leaving};

/* Returns the size of the block for a buffer, and its class: at most an eighth is wasted. */
static size_t class_size(size_t size, unsigned *class)
{
    unsigned bits = 0;
    size_t step;

    if (size < SMALLEST)
        size = SMALLEST;
    while (size >> (bits + 1))
        bits++;
    step = (size_t)1 << (bits - 3);
    size = (size + step - 1) & ~(step - 1);
    if (size >> (bits + 1))
        bits++;
    *class = bits * 8 + (unsigned)(size >> (bits - 3) & 7);
    return size;
}

/* Keeps a free block. One that was cut out of a piece cannot be freed, except for its pages. */
static void keep(unsigned class, void *memory, size_t size, bool fresh)
{
    const bool full = blocks.kept + size > MOST_KEPT;
    struct spare *spare = full && size > SMALL ? NULL : malloc(sizeof(*spare));

    if (!spare && size > SMALL)
        arena_free(memory);
    if (!spare)
        return;
    if (full)
        arena_forget(memory, size);
    *spare = (struct spare){blocks.spares[class], memory, fresh || full};
    blocks.spares[class] = spare;
    blocks.kept += size;
}

static void *take(unsigned class, size_t size, bool *fresh)
{
    struct spare *spare = blocks.spares[class];
    void *memory;

    if (!spare)
        return NULL;
    memory = spare->memory;
    *fresh = spare->fresh;
    blocks.spares[class] = spare->next;
    blocks.kept -= size;
    free(spare);
    return memory;
}

/* Cuts a new piece into blocks. Neighbouring blocks begin at different offsets in their pages: processors that first
 * compare only the lowest 12 bits of addresses mistake a kernel's loads from one block for loads of what it stores to
 * another. */
static void *cut_piece(unsigned class, size_t size)
{
    const size_t apart = size < PAGE ? size + SHIFT_SMALL : size + (SHIFT - size % PAGE + PAGE) % PAGE;
    uint8_t *piece = arena_alloc(apart * PER_PIECE, PAGE);

    for (size_t i = 1; piece && i < PER_PIECE; i++)
        keep(class, piece + i * apart, size, true);
    return piece;
}

/* Starts with no blocks if the session is a new one: the blocks went with the old session. */
static void begin(struct session *session)
{
    if (blocks.session == session)
        return;
    blocks.session = session;
    memset(blocks.spares, 0, sizeof(blocks.spares));
    blocks.kept = 0;
    blocks.leaving = blocks.limbo = NULL;
    blocks.waiting = 0;
    blocks.last = &blocks.leaving;
}

static bool can_share(cl_context context)
{
    if (context->node_count != 1)
        return false;
    for (cl_uint i = 0; i < context->device_count; i++) {
        if (!context->devices[i]->any_pointer || !context->devices[i]->unified)
            return false;
    }
    return arena_shared_with(context->node);
}

/* Handles what nodes have sent so far if no block with pages is free: new pages are expensive, and blocks that nodes
 * have freed meanwhile have some. */
static void listen_first(struct session *session, size_t size)
{
    const struct spare *spare;
    unsigned class;
    bool worth;

    if (size < PAGE || size > LARGEST)
        return;
    class_size(size, &class);
    mutex_lock(&blocks.lock);
    begin(session);
    spare = blocks.spares[class];
    worth = blocks.leaving && (!spare || spare->fresh);
    mutex_unlock(&blocks.lock);
    if (worth)
        session_listen(session);
}

void *block_take(struct session *session, size_t size, bool *fresh)
{
    unsigned class;
    void *memory;

    if (size > LARGEST)
        return NULL;
    size = class_size(size, &class);
    *fresh = true;
    mutex_lock(&blocks.lock);
    begin(session);
    memory = take(class, size, fresh);
    if (!memory)
        memory = size <= SMALL ? cut_piece(class, size) : arena_alloc(size, PAGE);
    mutex_unlock(&blocks.lock);
    return memory;
}

void *block_alloc(cl_context context, size_t size, const void *contents)
{
    struct session *session = context->node->session;
    void *memory;
    bool fresh;

    if (!can_share(context))
        return NULL;
    if (contents)
        listen_first(session, size);
    memory = block_take(session, size, &fresh);
    if (memory && contents && fresh)
        arena_populate(memory, size);
    if (memory && contents)
        memcpy(memory, contents, size);
    return memory;
}

void block_free(void *memory, size_t size)
{
    unsigned class;

    size = class_size(size, &class);
    mutex_lock(&blocks.lock);
    keep(class, memory, size, false);
    mutex_unlock(&blocks.lock);
}

static void leave(const struct leaving *what)
{
    struct leaving *leaving = malloc(sizeof(*leaving));

    if (!leaving)
        return; /* out of memory: the block is never used again */
    *leaving = *what;
    mutex_lock(&blocks.lock);
    begin(what->node->session);
    *blocks.last = leaving;
    blocks.last = &leaving->next;
    mutex_unlock(&blocks.lock);
}

void block_leave(struct node *node, uint32_t id, void *memory, size_t size)
{
    leave(&(struct leaving){.node = node, .id = id, .memory = memory, .size = size});
}

void block_leave_region(struct node *node, uint32_t id, struct region *region)
{
    if (node->alive)
        leave(&(struct leaving){.node = node, .id = id, .region = region});
    else
        exchange_gone(region);
}

/* Ends the waiting of one object of a node, or of all: their memory is free. Returns whether there was one. */
static bool let_go(struct node *node, uint32_t id, bool all)
{
    struct leaving **at, *regions = NULL;
    bool found = false;

    mutex_lock(&blocks.lock);
    at = &blocks.leaving;
    while (*at && (all || !found)) {
        struct leaving *leaving = *at;
        unsigned class;

        if (leaving->node != node || (!all && leaving->id != id)) {
            at = &leaving->next;
            continue;
        }
        found = true;
        *at = leaving->next;
        if (blocks.last == &leaving->next)
            blocks.last = at;
        if (!leaving->region && node->observer) {
            leaving->next = blocks.limbo;
            blocks.limbo = leaving;
            blocks.waiting += leaving->size;
            continue;
        }
        if (leaving->region) { /* exchange_gone() may free its block, which needs the lock */
            leaving->next = regions;
            regions = leaving;
            continue;
        }
        leaving->size = class_size(leaving->size, &class);
        keep(class, leaving->memory, leaving->size, false);
        free(leaving);
    }
    mutex_unlock(&blocks.lock);
    while (regions) {
        struct leaving *leaving = regions;

        regions = leaving->next;
        exchange_gone(leaving->region);
        free(leaving);
    }
    return found;
}

void block_end_limbo(const struct node *node)
{
    struct leaving **at;
    unsigned class;

    mutex_lock(&blocks.lock);
    at = &blocks.limbo;
    while (*at) {
        struct leaving *leaving = *at;

        if (leaving->node != node) {
            at = &leaving->next;
            continue;
        }
        *at = leaving->next;
        blocks.waiting -= leaving->size;
        leaving->size = class_size(leaving->size, &class);
        keep(class, leaving->memory, leaving->size, false);
        free(leaving);
    }
    mutex_unlock(&blocks.lock);
}

size_t block_in_limbo(void)
{
    size_t waiting;

    mutex_lock(&blocks.lock);
    waiting = blocks.waiting;
    mutex_unlock(&blocks.lock);
    return waiting;
}

bool block_any_leaving(void)
{
    bool any;

    mutex_lock(&blocks.lock);
    any = blocks.leaving != NULL;
    mutex_unlock(&blocks.lock);
    return any;
}

bool block_note(struct node *node, uint32_t id)
{
    return let_go(node, id, false);
}

void block_lose(struct node *node)
{
    let_go(node, 0, true);
}

void block_after_fork(void)
{
    mutex_init(&blocks.lock, RANK_BLOCKS);
}
