/* Memory objects over the program's memory: changes there, or at the node, are copied to the other side. */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "client/core/stream.h"
#include "client/data/contents.h"
#include "client/data/hostptr.h"
#include "client/memory/memory.h"

#define GRANULE ((size_t)WIRE_GRANULE)
#define AT_ONCE 16384 /* granules in one call */
#define STRIDE 64
#define GAP 256 /* unchanged bytes between two changes that are sent with them */

/* ---- the program's memory, and its changes ---- */

struct layout hosted_layout(const struct hosted *h, const struct span *span)
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

/* Finds the next range of fresh, from *start on, that differs from base. */
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

/* Copies what has changed since base to the other side, and to base. */
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

static struct extent extent_in(const struct hosted *h, size_t offset, size_t size)
{
    return h->memory->type == CL_MEM_OBJECT_BUFFER ? extent_of(h->memory, offset, offset + size)
                                                   : extent_whole(h->memory);
}

static int send(const struct hosted *h, struct node *node, size_t offset, const uint8_t *bytes, size_t size)
{
    const struct extent extent = extent_in(h, offset, size);
    struct contents contents = {.member = node};

    return contents_end(&contents, contents_bring(&contents, &extent, bytes));
}

int hosted_give(const struct hosted *h, struct node *member, const uint8_t *bytes)
{
    return send(h, member, 0, bytes, h->memory->size);
}

/* Sends the changes of a span. exactly: without the bytes in between, for which the node may have something newer. */
static int bring_span(struct hosted *h, struct node *node, const struct span *span, bool exactly)
{
    const size_t size = span->end - span->start;
    uint8_t *memory = (uint8_t *)h->memory->host_pointer + span->start;
    size_t start = 0, end, next, next_end;
    int error = 0;

    if (!memcmp(memory, span->base, size))
        return 0;
    while (!error && next_change(memory, span->base, size, &start, &end)) {
        for (next = end; !exactly && next_change(memory, span->base, size, &next, &next_end) && next - end < GAP;
             next = end)
            end = next_end;
        memcpy(span->base + start, memory + start, end - start); /* what is sent is the copy, as it is now */
        error = send(h, node, span->start + start, span->base + start, end - start);
        if (!error)
            coherence_written(h->memory, span->start + start, end - start, node);
        start = end;
    }
    return error;
}

/* Sends all of an image that has changed; nothing if exactly, as what the node has written meanwhile cannot be told
 * apart. */
static int bring_image(struct hosted *h, struct node *node, bool exactly)
{
    const struct span *span = &h->spans[0];
    const struct layout layout = hosted_layout(h, span), base = layout_tight(&layout, span->base);
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
    error = send(h, node, 0, span->base, span->end);
    if (!error)
        coherence_written(h->memory, 0, 1, node);
    return error;
}

/* Brings a span to memory->arena. */
static int bring_near(struct hosted *h, struct span *span)
{
    const uint8_t *memory = (const uint8_t *)h->memory->host_pointer + span->start;
    uint8_t *arena = h->memory->arena + span->start;
    const size_t size = span->end - span->start;

    if (span->base) {
        if (!h->constant)
            carry(memory, span->base, arena, size);
        return 0;
    }
    span->base = malloc(size);
    if (!span->base)
        return -ENOMEM;
    memcpy(span->base, memory, size);
    memcpy(arena, span->base, size);
    return 0;
}

int hosted_bring(struct hosted *h, struct node *node, bool exactly)
{
    int error = 0;

    for (unsigned i = 0; h->near && i < h->span_count && !error; i++)
        error = bring_near(h, &h->spans[i]);
    if (h->near || h->constant)
        return error;
    if (h->memory->type != CL_MEM_OBJECT_BUFFER)
        return bring_image(h, node, exactly);
    for (unsigned i = 0; !error && i < h->span_count; i++)
        error = bring_span(h, node, &h->spans[i], exactly);
    return error;
}

/* ---- from the node ---- */

static int fetch(const struct hosted *h, struct node *node, size_t offset, size_t size, uint8_t *memory)
{
    const struct extent extent = extent_in(h, offset, size);
    struct contents contents = {.member = node};

    return contents_end(&contents, contents_take(&contents, &extent, memory));
}

/* Asks the node which granules from offset on differ from base: a byte for each. */
static int ask(const struct hosted *h, struct node *node, size_t offset, size_t size, uint8_t *changed,
               uint64_t *hashes)
{
    const uint32_t granules = (uint32_t)((size + GRANULE - 1) / GRANULE);
    struct wire_changes m = {.memory = h->memory->object.id, .offset = offset, .size = size, .hashes = hashes};
    struct wire_changes_reply reply;
    struct call call;
    int error;

    for (uint32_t i = 0; i < granules; i++) {
        const size_t at = i * GRANULE, length = size - at < GRANULE ? size - at : GRANULE;

        hashes[i] = hash_bytes(h->spans[0].base + offset + at, length);
    }
    m.hashes_length = granules * (uint32_t)sizeof(*hashes);
    error = call_changes(node, &m, &reply, &call);
    if (error)
        return error;
    error = !reply.error && reply.changed_length != granules ? -EBADMSG : call_verdict(reply.error);
    if (!error)
        memcpy(changed, reply.changed, granules);
    call_free(&call);
    return error;
}

/* Takes the changes of the part of a buffer that one node has. */
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
            error = fetch(h, node, start, bytes, fresh);
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
    const struct layout layout = hosted_layout(h, span), base = layout_tight(&layout, span->base);
    struct layout tight;
    uint8_t *fresh = malloc(span->end);
    int error = fresh ? fetch(h, node, 0, span->end, fresh) : -ENOMEM;

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

int hosted_take(struct hosted *h)
{
    const cl_mem memory = h->memory;
    int error = 0;
    struct node *node;

    for (unsigned i = 0; h->near && i < h->span_count; i++) {
        const struct span *span = &h->spans[i];

        if (!span->base)
            continue;
        carry(memory->arena + span->start, span->base, (uint8_t *)memory->host_pointer + span->start,
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
