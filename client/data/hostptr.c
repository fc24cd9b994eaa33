/*
 * CL_MEM_USE_HOST_PTR where host and device natively have the same memory, and programs rely on it: the next command
 * sees what the program writes there, and the program sees what a command wrote when it learns that the command is
 * over. With a worker of this host most of the memory is shared (exchange.c) and the rest is copied. With one elsewhere
 * contents are brought to the node before a command that uses them, and taken from it when the program may look. A copy
 * of what both sides last agreed on (base) shows what has changed, and on which side.
 */
#include <errno.h>

#include "base/log.h"
#include "base/settings.h"
#include "client/core/per_process.h"
#include "client/data/hostptr.h"
#include "client/memory/arena.h"
#include "client/memory/memory.h"

static PER_PROCESS struct mutex lock = MUTEX(RANK_HOSTED);
static struct hosted *all;
static PER_PROCESS atomic_uint count;

bool hostptr_any(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}

void hostptr_after_fork(void)
{
    while (all) { /* the objects are the parent's */
        struct hosted *h = all;

        all = h->next;
        h->next = NULL;
        h->at = &h->next;
    }
}

/* ---- commands ---- */

/* Under the lock. */
static int use_add(struct hosted *h, struct enqueue *e)
{
    struct usage *use;

    h->generation++;
    for (use = h->uses; use && use->sender != e; use = use->next)
        ;
    if (use)
        return 0;
    use = malloc(sizeof(*use));
    if (!use)
        return -ENOMEM;
    *use = (struct usage){h->uses, e->queue, e, 0};
    handle_use(e->queue);
    h->uses = use;
    e->hosted = true;
    return 0;
}

int hostptr_before(struct enqueue *e, cl_mem memory, unsigned use)
{
    struct hosted *h = memory->hosted;
    int error = 0;
    bool looked, written;

    mutex_lock(&lock);
    looked = h->looked;
    written = h->written;
    h->looked = true;
    if (use & USE_WRITE || h->near) /* shared memory stays shared until no command reads it, either */
        error = use_add(h, e);
    if ((use & USE_WRITE || h->near) && !error) {
        h->written |= (use & USE_WRITE) != 0;
        if (!h->kept)
            handle_use(memory);
        h->kept = true;
    }
    mutex_unlock(&lock);
    if (error)
        return error;
    mutex_lock(&h->work); /* another thread, which came first, may still be bringing what the program wrote */
    if (!looked || !atomic_load(&h->agreed))
        error = hosted_bring(h, e->node, written);
    if (!error)
        atomic_store(&h->agreed, true);
    mutex_unlock(&h->work);
    return error;
}

static void use_free(struct usage **at)
{
    struct usage *use = *at;

    *at = use->next;
    handle_drop(use->queue);
    free(use);
}

/* Numbers the uses by e; of each queue only the last use is kept. */
static void number_uses(struct hosted *h, const struct enqueue *e, uint64_t number)
{
    bool uses = false;

    for (struct usage *use = h->uses; use; use = use->next) {
        if (use->sender != e)
            continue;
        use->sender = NULL;
        use->number = number;
        uses = true;
    }
    for (struct usage **at = &h->uses; uses && *at;) {
        struct usage *use = *at;

        if (!use->sender && use->queue == e->queue && use->number < number)
            use_free(at);
        else
            at = &use->next;
    }
}

void hostptr_sent(struct enqueue *e, uint64_t number)
{
    mutex_lock(&lock);
    for (struct hosted *h = all; h; h = h->next)
        number_uses(h, e, number);
    mutex_unlock(&lock);
}

void hostptr_not_sent(struct enqueue *e)
{
    mutex_lock(&lock);
    for (struct hosted *h = all; h; h = h->next) {
        for (struct usage **at = &h->uses; *at;) {
            if ((*at)->sender == e)
                use_free(at);
            else
                at = &(*at)->next;
        }
    }
    mutex_unlock(&lock);
}

/* ---- when the program may look at its memory ---- */

/* Under the lock. */
static bool all_over(struct hosted *h)
{
    bool over = true;

    for (struct usage **at = &h->uses; *at;) {
        struct usage *use = *at;

        if (!use->sender && (use->number <= atomic_load(&use->queue->finished) || !use->queue->node->alive)) {
            use_free(at);
        } else {
            over = false;
            at = &use->next;
        }
    }
    return over;
}

static void look_at(cl_mem memory)
{
    struct hosted *h = memory->hosted;
    unsigned generation;
    bool over;

    mutex_lock(&lock);
    generation = h->generation;
    over = all_over(h);
    mutex_unlock(&lock);
    mutex_lock(&h->work);
    if (hosted_take(h))
        vocl_log(LOG_DEBUG, "cannot copy a buffer's contents from its worker");
    mutex_unlock(&h->work);
    mutex_lock(&lock);
    over &= generation == h->generation && h->kept;
    if (over)
        h->written = h->kept = false;
    mutex_unlock(&lock);
    if (over)
        handle_drop(memory);
    handle_drop(memory);
}

static void look(void)
{
    cl_mem *written = NULL;
    unsigned found = 0;

    if (!hostptr_any())
        return;
    mutex_lock(&lock);
    for (struct hosted *h = all; h; h = h->next) {
        cl_mem *more = h->kept ? realloc(written, (found + 1) * sizeof(cl_mem)) : NULL;

        h->looked = false;
        if (!more)
            continue;
        written = more;
        written[found++] = h->memory;
        handle_use(h->memory);
    }
    mutex_unlock(&lock);
    for (unsigned i = 0; i < found; i++)
        look_at(written[i]);
    free(written);
}

/* Ends the hold of an object with destructor callbacks: natively these are called without the program asking for
 * anything. */
void hostptr_release(cl_mem memory)
{
    struct hosted *h = memory->hosted;
    bool kept;

    if (!h || !memory->destructors || atomic_load(&memory->object.references) != 1)
        return;
    mutex_lock(&lock);
    kept = h->kept;
    h->kept = false;
    mutex_unlock(&lock);
    if (kept)
        handle_drop(memory);
}

/* ---- objects ---- */

enum way { NONE, NEAR, FAR };

/* How the object's memory reaches the nodes. Where host and device natively have separate memory programs have to map,
 * and maps are brought and taken: NONE. */
static enum way way_for(cl_mem memory)
{
    const cl_context context = memory->context;
    bool near = memory->type == CL_MEM_OBJECT_BUFFER, unified = false;

    for (cl_uint i = 0; i < context->device_count; i++) {
        unified |= context->devices[i]->unified;
        near &= context->devices[i]->unified && context->devices[i]->any_pointer;
    }
    if (!unified)
        return NONE;
    for (unsigned i = 0; near && i < context->node_count; i++)
        near = arena_given_to(context->nodes[i]);
    return near ? NEAR : FAR;
}

/* Adds a span without a base: until the first command uses it the program's memory is the newest, and nothing is agreed
 * on. */
static void add_near(struct hosted *h, size_t start, size_t end)
{
    if (start < end)
        h->spans[h->span_count++] = (struct span){start, end, NULL};
}

static bool add_far(struct hosted *h, size_t size)
{
    struct span *span = &h->spans[0];
    struct layout layout, base;

    *span = (struct span){0, size, malloc(size)};
    if (!span->base)
        return false;
    h->span_count = 1;
    layout = hosted_layout(h, span);
    base = layout_tight(&layout, span->base);
    layout_copy(&base, &layout);
    atomic_store(&h->agreed, true);
    return true;
}

static bool open_near(struct hosted *h)
{
    cl_mem memory = h->memory;
    size_t inside, end;
    uint8_t *arena;

    memory->region =
        exchange_begin(memory->context, memory->host_pointer, memory->size, &arena, &inside, &end, &h->constant);
    memory->arena = arena;
    if (!memory->region)
        return false;
    h->near = true;
    add_near(h, 0, inside < end ? inside : memory->size);
    if (inside == end)
        return true;
    add_near(h, end, memory->size);
    /* Intel's OpenCL reads memory that is not aligned when the buffer is created, and afterwards only by maps. */
    atomic_store(&h->agreed, !hosted_bring(h, memory->context->node, false));
    return true;
}

static bool open_far(struct hosted *h)
{
    static atomic_bool said;
    size_t size = h->memory->size, extent[3];

    if (!atomic_exchange(&said, true))
        vocl_log(LOG_INFO, "CL_MEM_USE_HOST_PTR: the worker does not share the program's memory; changes are copied");
    if (h->memory->type != CL_MEM_OBJECT_BUFFER) {
        image_extent(&h->memory->desc, extent);
        size = extent[0] * extent[1] * extent[2] * h->memory->element_size;
    }
    return add_far(h, size);
}

static void hosted_free(struct hosted *h)
{
    for (unsigned i = 0; i < h->span_count; i++)
        free(h->spans[i].base);
    while (h->uses)
        use_free(&h->uses);
    mutex_destroy(&h->work);
    free(h);
}

int hostptr_open(cl_mem memory)
{
    const enum way way = memory->host_pointer && !memory->arena && !memory->svm_remote ? way_for(memory) : NONE;
    struct hosted *h;
    bool good;

    if (way == NONE)
        return 0;
    h = calloc(1, sizeof(*h));
    if (!h)
        return -ENOMEM;
    h->memory = memory;
    mutex_init(&h->work, RANK_HOSTED_WORK);
    good = way == NEAR && open_near(h);
    if (!good && !memory->region)
        good = open_far(h);
    if (!good) {
        hosted_free(h);
        return -ENOMEM;
    }
    memory->hosted = h;
    mutex_lock(&lock);
    h->next = all;
    h->at = &all;
    if (all)
        all->at = &h->next;
    all = h;
    mutex_unlock(&lock);
    atomic_fetch_add(&count, 1);
    atomic_store(&event_shows, look);
    return 0;
}

int hostptr_send_all(cl_mem memory, struct node *member, uint8_t **bytes)
{
    struct hosted *h = memory->hosted;
    uint8_t *copy = malloc(memory->size);
    int error;

    if (!copy)
        return -ENOMEM;
    mutex_lock(&h->work);
    error = hosted_take(h);
    memory_copy_open(copy, memory->host_pointer, memory->size);
    mutex_unlock(&h->work);
    if (!error)
        error = hosted_give(h, member, copy);
    if (error)
        free(copy);
    else
        *bytes = copy;
    return error;
}

struct region *hostptr_part(cl_mem memory, uint8_t *bytes)
{
    struct hosted *h = memory->hosted;
    struct region *region = memory->region;

    mutex_lock(&h->work);
    mutex_lock(&lock);
    for (unsigned i = 0; i < h->span_count; i++)
        free(h->spans[i].base);
    h->spans[0] = (struct span){0, memory->size, bytes};
    h->span_count = 1;
    h->near = h->looked = false;
    atomic_store(&h->agreed, true);
    memory->arena = NULL;
    memory->region = NULL;
    mutex_unlock(&lock);
    exchange_end(region);
    mutex_unlock(&h->work);
    return region;
}

void hostptr_close(cl_mem memory)
{
    struct hosted *h = memory->hosted;

    if (h) {
        mutex_lock(&lock);
        *h->at = h->next;
        if (h->next)
            h->next->at = h->at;
        mutex_unlock(&lock);
        atomic_fetch_sub(&count, 1);
        if (h->written && h->near)
            hosted_take(h); /* it has destructor callbacks, which the program waits for */
        hosted_free(h);
    }
    if (memory->region)
        exchange_end(memory->region);
}
