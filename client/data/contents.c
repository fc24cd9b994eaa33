/* See contents.h. */
#include "client/data/contents.h"

#include "client/core/stream.h"
#include "client/data/coherence.h"
#include "client/data/transfer.h"

struct extent extent_of(cl_mem whole, size_t start, size_t end)
{
    const struct part part = part_of(whole, start, end);

    return (struct extent){.memory = whole->object.id, .part = part_region(&part)};
}

struct extent extent_whole(cl_mem whole)
{
    return extent_of(whole, 0, whole->type == CL_MEM_OBJECT_BUFFER ? whole->size : 1);
}

struct extent extent_at(uint64_t address, size_t size)
{
    return (struct extent){.address = address, .part = {.kind = WIRE_PIECE, .size = size}};
}

struct wire_region region_piece(const struct wire_region *whole, size_t at)
{
    struct wire_region piece = *whole;

    if (piece.kind == WIRE_PIECE) {
        piece.origin[0] += at;
        piece.size = whole->size - at < CONTENTS_PIECE ? whole->size - at : CONTENTS_PIECE;
    }
    return piece;
}

static void tell(const struct contents *c, size_t bytes)
{
    if (c->moved)
        c->moved(c->argument, bytes);
}

int contents_wait(struct contents *c)
{
    const unsigned slot = c->next % CONTENTS_UNDER_WAY;
    struct transfer *before = c->under_way[slot];
    int error;

    c->under_way[slot] = NULL;
    if (!before)
        return 0;
    error = transfer_wait(before);
    if (!error)
        tell(c, c->sizes[slot]);
    return error;
}

int contents_end(struct contents *c, int error)
{
    for (unsigned i = 0; i < CONTENTS_UNDER_WAY; i++, c->next++) {
        const int one = contents_wait(c);

        error = error ? error : one;
    }
    return error;
}

static int take(struct node *member, const struct extent *piece, const struct layout *layout, struct transfer **out)
{
    struct transfer *transfer;
    struct wire_buffer *commands;
    uint32_t tag;
    int error = transfer_take(member, layout, &transfer, &tag);

    if (error)
        return error;
    commands = stream_begin(member);
    if (piece->memory)
        wire_put_take(commands, &(struct wire_take){.memory = piece->memory, .part = piece->part, .tag = tag});
    else
        wire_put_take_svm(commands,
                          &(struct wire_take_svm){piece->address + piece->part.origin[0], piece->part.size, tag});
    error = stream_end(member, STREAM_NOW);
    if (error)
        transfer_cancel(transfer);
    else
        *out = transfer;
    return error;
}

static void put_bring(struct wire_buffer *out, const void *argument, const struct transfer_data *data)
{
    const struct extent *piece = argument;

    if (piece->memory)
        wire_put_bring(out, &(struct wire_bring){.memory = piece->memory,
                                                 .part = piece->part,
                                                 .tag = data->tag,
                                                 .data = data->bytes,
                                                 .data_length = data->length});
    else
        wire_put_bring_svm(out, &(struct wire_bring_svm){.address = piece->address + piece->part.origin[0],
                                                         .size = piece->part.size,
                                                         .tag = data->tag,
                                                         .data = data->bytes,
                                                         .data_length = data->length});
}

static int bring(struct node *member, const struct extent *piece, const struct layout *layout, struct transfer **out)
{
    return transfer_bring(member, layout, put_bring, piece, out);
}

static int go(struct contents *c, const struct extent *extent, uint8_t *bytes,
              int (*begin)(struct node *, const struct extent *, const struct layout *, struct transfer **))
{
    struct extent piece = *extent;
    int error = 0;

    for (size_t at = 0; !error && at < extent->part.size; at += piece.part.size) {
        const unsigned slot = c->next % CONTENTS_UNDER_WAY;
        struct layout layout;

        piece.part = region_piece(&extent->part, at);
        layout = layout_linear(bytes + at, piece.part.size);
        error = contents_wait(c);
        if (error)
            break;
        c->next++;
        c->sizes[slot] = piece.part.size;
        error = begin(c->member, &piece, &layout, &c->under_way[slot]);
        if (!error && !c->under_way[slot]) /* little data go with the command */
            tell(c, piece.part.size);
    }
    return error;
}

int contents_take(struct contents *c, const struct extent *extent, uint8_t *bytes)
{
    return go(c, extent, bytes, take);
}

int contents_bring(struct contents *c, const struct extent *extent, const uint8_t *bytes)
{
    return go(c, extent, (uint8_t *)bytes, bring);
}
