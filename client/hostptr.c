/*
 * CL_MEM_USE_HOST_PTR where host and device natively have the same memory, and programs count on it: what the program
 * writes there the next command sees, and what a command wrote the program sees when it has learned that the command is
 * over. With a worker of this host most of the memory is shared (exchange.c) and the rest is copied; with one elsewhere
 * contents are brought to the node before a command that uses them and taken from it when the program may look. A copy
 * of what both last agreed on (base) tells what has changed, and who changed it.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/settings.h"
#include "client/client.h"

#define GRANULE ((size_t)WIRE_GRANULE)
#define AT_ONCE 16384 /* granules that are asked for with one call */
#define STRIDE 64
#define GAP 256 /* bytes that are sent with what has changed before and behind them */

struct span {
    size_t start, end; /* in the buffer; of an image: tightly packed */
    uint8_t *base;
};

struct usage {
    struct usage *next;
    cl_command_queue queue;
    const struct enqueue *sender; /* until it is sent */
    uint64_t number;
};

struct hosted {
    struct hosted *next, **at;
    cl_mem memory;
    bool near;     /* the other side is memory->place */
    bool constant; /* the program cannot write it */
    struct span spans[2];
    unsigned span_count;
    pthread_mutex_t work; /* base */
    /* under the lock */
    bool looked;  /* the program had no chance to write it since it was looked at last */
    bool written; /* commands may have written it that were not known to be over the last time */
    bool kept;    /* it holds the object until its uses are over */
    unsigned generation;
    struct usage *uses;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hosted *all;
static atomic_uint count;

bool hostptr_any(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}

void hostptr_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    all = NULL;
    atomic_store(&count, 0);
}

/* ---- what is the program's, and what is the same ---- */

/* The program's side of an image, or of a span. */
static struct layout layout_of(const struct hosted *h, const struct span *span)
{
    const cl_mem memory = h->memory;
    const bool array = memory->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    size_t extent[3];

    if (memory->type == CL_MEM_OBJECT_BUFFER)
        return layout_linear((uint8_t *)memory->host_pointer + span->start, span->end - span->start);
    image_extent(&memory->desc, extent);
    return (struct layout){.memory = memory->host_pointer,
                           .row_bytes = extent[0] * memory->element_size,
                           .rows = extent[1],
                           .slices = extent[2],
                           .row_pitch = array ? memory->slice_pitch : memory->row_pitch,
                           .slice_pitch = memory->slice_pitch};
}

/* The next piece of fresh from *start on that is not base's. */
static bool next_change(const uint8_t *fresh, const uint8_t *base, size_t size, size_t *start, size_t *end)
{
    size_t at = *start;

    while (at + STRIDE <= size && !memcmp(fresh + at, base + at, STRIDE))
        at += STRIDE;
    while (at < size && fresh[at] == base[at])
        at++;
    if (at == size)
        return false;
    *start = at;
    while (at < size && fresh[at] != base[at])
        at++;
    *end = at;
    return true;
}

/* What has changed goes where it is not known. */
static void carry(const uint8_t *fresh, uint8_t *base, uint8_t *to, size_t size)
{
    size_t start = 0, end;

    if (!memcmp(fresh, base, size))
        return;
    for (; next_change(fresh, base, size, &start, &end); start = end) {
        memcpy(to + start, fresh + start, end - start);
        memcpy(base + start, fresh + start, end - start);
    }
}

/* ---- to the node ---- */

static void put_place(const struct hosted *h, size_t offset, uint32_t *origin_count, uint64_t *origin,
                      uint32_t *region_count, uint64_t *region)
{
    const bool image = h->memory->type != CL_MEM_OBJECT_BUFFER;
    size_t extent[3];

    *origin_count = image ? 3 : 1;
    *region_count = image ? 3 : 0;
    memset(origin, 0, 3 * sizeof(*origin));
    origin[0] = offset;
    image_extent(&h->memory->desc, extent);
    for (int i = 0; image && i < 3; i++)
        region[i] = extent[i];
}

static int send(const struct hosted *h, struct node *node, size_t offset, const struct layout *layout)
{
    struct wire_bring m = {.memory = h->memory->object.id, .size = layout_bytes(layout)};
    struct transfer *transfer;
    int error = transfer_write(node, NULL, layout, false, NULL, &transfer, &m.tag, &m.data, &m.data_length);

    if (error)
        return error;
    put_place(h, offset, &m.origin_count, m.origin, &m.region_count, m.region);
    wire_put_bring(stream_begin(node), &m);
    error = stream_finish(node, STREAM_NOW);
    if (!error)
        transfer_start(transfer);
    session_unlock(node->session);
    if (!error)
        return transfer_wait(transfer);
    transfer_cancel(transfer);
    return error;
}

/* exactly: the node may have something newer in between. */
static int bring_span(struct hosted *h, struct node *node, const struct span *span, bool exactly)
{
    const size_t size = span->end - span->start;
    uint8_t *memory = (uint8_t *)h->memory->host_pointer + span->start;
    size_t start = 0, end, next, next_end;
    int error = 0;

    if (!memcmp(memory, span->base, size))
        return 0;
    while (!error && next_change(memory, span->base, size, &start, &end)) {
        struct layout layout;

        for (next = end; !exactly && next_change(memory, span->base, size, &next, &next_end) && next - end < GAP;
             next = end)
            end = next_end;
        memcpy(span->base + start, memory + start, end - start); /* it is sent as it is now */
        layout = layout_linear(span->base + start, end - start);
        error = send(h, node, span->start + start, &layout);
        if (!error)
            coherence_written(h->memory, span->start + start, end - start, node);
        start = end;
    }
    return error;
}

/* All of it: for what the node has written meanwhile there is no telling. */
static int bring_image(struct hosted *h, struct node *node, bool exactly)
{
    const struct span *span = &h->spans[0];
    const struct layout layout = layout_of(h, span), base = layout_tight(&layout, span->base);
    bool same = true;
    int error;

    for (size_t slice = 0; slice < layout.slices; slice++) {
        for (size_t row = 0; same && row < layout.rows; row++)
            same = !memcmp(layout.memory + slice * layout.slice_pitch + row * layout.row_pitch,
                           base.memory + slice * base.slice_pitch + row * base.row_pitch, layout.row_bytes);
    }
    if (same || exactly)
        return 0;
    layout_copy(&base, &layout);
    error = send(h, node, 0, &base);
    if (!error)
        coherence_written(h->memory, 0, 1, node);
    return error;
}

static int bring(struct hosted *h, struct node *node, bool exactly)
{
    int error = 0;

    if (h->constant)
        return 0;
    if (!h->near && h->memory->type != CL_MEM_OBJECT_BUFFER)
        return bring_image(h, node, exactly);
    for (unsigned i = 0; !error && i < h->span_count; i++) {
        const struct span *span = &h->spans[i];

        if (h->near)
            carry((uint8_t *)h->memory->host_pointer + span->start, span->base, h->memory->place + span->start,
                  span->end - span->start);
        else
            error = bring_span(h, node, span, exactly);
    }
    return error;
}

/* ---- from the node ---- */

/* Into memory; started only. */
static int fetch(const struct hosted *h, struct node *node, size_t offset, size_t size, void *memory,
                 struct transfer **out)
{
    const struct layout layout = layout_linear(memory, size);
    struct wire_take m = {.memory = h->memory->object.id, .size = size};
    struct transfer *transfer;
    int error = transfer_take(node, &layout, &transfer, &m.tag);

    if (error)
        return error;
    put_place(h, offset, &m.origin_count, m.origin, &m.region_count, m.region);
    wire_put_take(stream_begin(node), &m);
    error = stream_finish(node, STREAM_NOW);
    if (!error)
        transfer_start(transfer);
    session_unlock(node->session);
    if (error)
        transfer_cancel(transfer);
    else
        *out = transfer;
    return error;
}

static int fetch_whole(const struct hosted *h, struct node *node, size_t offset, size_t size, void *memory)
{
    struct transfer *transfer;
    int error = fetch(h, node, offset, size, memory, &transfer);

    return error ? error : transfer_wait(transfer);
}

/* Which of the granules from offset on are not as in base: a byte for each. */
static int ask(const struct hosted *h, struct node *node, size_t offset, size_t size, uint8_t *changed,
               uint64_t *hashes)
{
    const uint32_t granules = (uint32_t)((size + GRANULE - 1) / GRANULE);
    struct wire_changes m = {.memory = h->memory->object.id, .offset = offset, .size = size, .hashes = hashes};
    struct wire_changes_reply reply;
    struct wire_buffer *out;
    struct call call;
    int error;

    for (uint32_t i = 0; i < granules; i++) {
        const size_t at = i * GRANULE, length = size - at < GRANULE ? size - at : GRANULE;

        hashes[i] = hash_bytes(h->spans[0].base + offset + at, length);
    }
    m.hashes_length = granules * (uint32_t)sizeof(*hashes);
    out = call_begin(node, WIRE_changes, &call);
    m.call = call.id;
    wire_put_changes(out, &m);
    error = call_end(&call);
    if (error)
        return error;
    if (!wire_get_changes_reply(&call.fields, &reply) || (!reply.error && reply.changed_length != granules))
        error = -EBADMSG;
    else
        error = call_verdict(reply.error);
    if (!error)
        memcpy(changed, reply.changed, granules);
    call_free(&call);
    return error;
}

/* What has changed of one node's part. */
static int take_part(struct hosted *h, struct node *node, size_t offset, size_t size)
{
    static const size_t most = AT_ONCE * GRANULE;
    const size_t length = size < most ? size : most;
    uint8_t *fresh = malloc(length), *changed = malloc(AT_ONCE);
    uint64_t *hashes = malloc(AT_ONCE * sizeof(*hashes));
    int error = fresh && changed && hashes ? 0 : -ENOMEM;

    for (size_t at = offset; !error && at < offset + size; at += most) {
        const size_t here = offset + size - at < most ? offset + size - at : most;
        const size_t granules = (here + GRANULE - 1) / GRANULE;

        error = ask(h, node, at, here, changed, hashes);
        for (size_t i = 0, end; !error && i < granules; i = end) {
            const size_t start = at + i * GRANULE;
            size_t bytes;

            for (end = i; end < granules && changed[end] == changed[i]; end++)
                ;
            if (!changed[i])
                continue;
            bytes = end == granules ? at + here - start : (end - i) * GRANULE;
            error = fetch_whole(h, node, start, bytes, fresh);
            if (!error)
                carry(fresh, h->spans[0].base + start, (uint8_t *)h->memory->host_pointer + start, bytes);
        }
    }
    free(fresh);
    free(changed);
    free(hashes);
    return error;
}

static int take_image(struct hosted *h, struct node *node)
{
    const struct span *span = &h->spans[0];
    const struct layout layout = layout_of(h, span), base = layout_tight(&layout, span->base);
    struct layout tight;
    uint8_t *fresh = malloc(span->end);
    int error = fresh ? fetch_whole(h, node, 0, span->end, fresh) : -ENOMEM;

    tight = layout_tight(&layout, fresh);
    for (size_t slice = 0; !error && slice < layout.slices; slice++) {
        for (size_t row = 0; row < layout.rows; row++)
            carry(tight.memory + slice * tight.slice_pitch + row * tight.row_pitch,
                  base.memory + slice * base.slice_pitch + row * base.row_pitch,
                  layout.memory + slice * layout.slice_pitch + row * layout.row_pitch, layout.row_bytes);
    }
    free(fresh);
    return error;
}

static int take(struct hosted *h)
{
    const cl_mem memory = h->memory;
    int error = 0;
    struct node *node;

    for (unsigned i = 0; h->near && i < h->span_count; i++) {
        const struct span *span = &h->spans[i];

        carry(memory->place + span->start, span->base, (uint8_t *)memory->host_pointer + span->start,
              span->end - span->start);
    }
    if (h->near)
        return 0;
    if (memory->type != CL_MEM_OBJECT_BUFFER) {
        coherence_part(memory, 0, &node);
        return take_image(h, node);
    }
    for (size_t at = 0, end; !error && at < memory->size; at = end) {
        end = coherence_part(memory, at, &node);
        error = take_part(h, node, at, end - at);
    }
    return error;
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

    pthread_mutex_lock(&lock);
    looked = h->looked;
    written = h->written;
    h->looked = true;
    if (use & USE_WRITE || h->near) /* what is shared stays so until nobody reads it, either */
        error = use_add(h, e);
    if ((use & USE_WRITE || h->near) && !error) {
        h->written |= (use & USE_WRITE) != 0;
        if (!h->kept)
            handle_use(memory);
        h->kept = true;
    }
    pthread_mutex_unlock(&lock);
    if (error || looked)
        return error;
    pthread_mutex_lock(&h->work);
    error = bring(h, e->node, written);
    pthread_mutex_unlock(&h->work);
    return error;
}

static void use_free(struct usage **at)
{
    struct usage *use = *at;

    *at = use->next;
    handle_drop(use->queue);
    free(use);
}

/* Of each queue the last one is enough. */
static void number_uses(struct hosted *h, const struct enqueue *e, uint64_t number)
{
    for (struct usage **at = &h->uses; *at;) {
        struct usage *use = *at;

        if (use->sender == e) {
            use->sender = NULL;
            use->number = number;
        }
        if (!use->sender && use->queue == e->queue && use->number < number)
            use_free(at);
        else
            at = &use->next;
    }
}

void hostptr_sent(struct enqueue *e, uint64_t number)
{
    pthread_mutex_lock(&lock);
    for (struct hosted *h = all; h; h = h->next)
        number_uses(h, e, number);
    pthread_mutex_unlock(&lock);
}

void hostptr_not_sent(struct enqueue *e)
{
    pthread_mutex_lock(&lock);
    for (struct hosted *h = all; h; h = h->next) {
        for (struct usage **at = &h->uses; *at;) {
            if ((*at)->sender == e)
                use_free(at);
            else
                at = &(*at)->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- the program looks ---- */

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

    pthread_mutex_lock(&lock);
    generation = h->generation;
    over = all_over(h);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&h->work);
    if (take(h))
        vocl_log(LOG_DEBUG, "contents of a buffer do not come");
    pthread_mutex_unlock(&h->work);
    pthread_mutex_lock(&lock);
    over &= generation == h->generation && h->kept;
    if (over)
        h->written = h->kept = false;
    pthread_mutex_unlock(&lock);
    if (over)
        handle_drop(memory);
    handle_drop(memory);
}

void hostptr_look(void)
{
    cl_mem *written = NULL;
    unsigned found = 0;

    if (!hostptr_any())
        return;
    pthread_mutex_lock(&lock);
    for (struct hosted *h = all; h; h = h->next) {
        cl_mem *more = h->kept ? realloc(written, (found + 1) * sizeof(cl_mem)) : NULL;

        h->looked = false;
        if (!more)
            continue;
        written = more;
        written[found++] = h->memory;
        handle_use(h->memory);
    }
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < found; i++)
        look_at(written[i]);
    free(written);
}

/* One with destructor callbacks is not held: natively they are called without the program's asking for anything. */
void hostptr_release(cl_mem memory)
{
    struct hosted *h = memory->hosted;
    bool kept;

    if (!h || !memory->destructors || atomic_load(&memory->object.references) != 1)
        return;
    pthread_mutex_lock(&lock);
    kept = h->kept;
    h->kept = false;
    pthread_mutex_unlock(&lock);
    if (kept)
        handle_drop(memory);
}

/* ---- objects ---- */

enum way { NONE, NEAR, FAR };

/* Where host and device are natively apart programs have to map, and what they have mapped is brought. */
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
        near = arena_shared_with(context->nodes[i]);
    return near ? NEAR : FAR;
}

static bool add_span(struct hosted *h, size_t start, size_t end)
{
    struct span *span = &h->spans[h->span_count];
    struct layout layout, base;

    if (start >= end)
        return true;
    *span = (struct span){start, end, malloc(end - start)};
    if (!span->base)
        return false;
    h->span_count++;
    layout = layout_of(h, span);
    base = layout_tight(&layout, span->base);
    layout_copy(&base, &layout);
    if (h->near)
        memcpy(h->memory->place + start, span->base, end - start);
    return true;
}

static bool open_near(struct hosted *h)
{
    cl_mem memory = h->memory;
    size_t inside, end;

    memory->region = exchange_begin(memory->host_pointer, memory->size, memory->context->node_count, &memory->place,
                                    &inside, &end, &h->constant);
    if (!memory->region)
        return false;
    h->near = true;
    return inside < end ? add_span(h, 0, inside) && add_span(h, end, memory->size) : add_span(h, 0, memory->size);
}

static bool open_far(struct hosted *h)
{
    static atomic_bool said;
    size_t size = h->memory->size, extent[3];

    if (!atomic_exchange(&said, true))
        vocl_log(LOG_INFO, "CL_MEM_USE_HOST_PTR: the program's memory is not the worker's; changes are copied");
    if (h->memory->type != CL_MEM_OBJECT_BUFFER) {
        image_extent(&h->memory->desc, extent);
        size = extent[0] * extent[1] * extent[2] * h->memory->element_size;
    }
    return add_span(h, 0, size);
}

static void hosted_free(struct hosted *h)
{
    for (unsigned i = 0; i < h->span_count; i++)
        free(h->spans[i].base);
    while (h->uses)
        use_free(&h->uses);
    pthread_mutex_destroy(&h->work);
    free(h);
}

int hostptr_open(cl_mem memory)
{
    const enum way way = memory->host_pointer && !memory->place && !memory->mirrored ? way_for(memory) : NONE;
    struct hosted *h;
    bool good;

    if (way == NONE)
        return 0;
    h = calloc(1, sizeof(*h));
    if (!h)
        return -ENOMEM;
    h->memory = memory;
    pthread_mutex_init(&h->work, NULL);
    good = way == NEAR && open_near(h);
    if (!good && !memory->region)
        good = open_far(h);
    if (!good) {
        hosted_free(h);
        return -ENOMEM;
    }
    memory->hosted = h;
    pthread_mutex_lock(&lock);
    h->next = all;
    all = h;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&count, 1);
    return 0;
}

void hostptr_close(cl_mem memory)
{
    struct hosted *h = memory->hosted;

    if (h) {
        pthread_mutex_lock(&lock);
        for (struct hosted **at = &all; *at; at = &(*at)->next) {
            if (*at == h) {
                *at = h->next;
                break;
            }
        }
        pthread_mutex_unlock(&lock);
        atomic_fetch_sub(&count, 1);
        if (h->written && h->near)
            take(h); /* it has destructor callbacks: the program waits for them */
        hosted_free(h);
    }
    if (memory->region)
        exchange_end(memory->region);
}
