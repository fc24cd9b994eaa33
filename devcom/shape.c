/* Blocks of up to three dimensions, in memory of the host or of a device. */
#include <errno.h>
#include <string.h>

#include "devcom/internal.h"
#include "ground/rows.h"

static uint32_t at_least_one(uint32_t count)
{
    return count ? count : 1;
}

/* Larger sizes are an error. Sums of sizes up to this do not overflow. */
#define MOST_BYTES ((size_t)1 << 56)

static bool times(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out) && *out <= MOST_BYTES;
}

bool layout_valid(const struct layout *layout)
{
    size_t row, plane, total;

    if (layout->bytes > MOST_BYTES || !layout->count[0] || !layout->count[1])
        return false;
    if (!times(layout->count[0] - 1, layout->stride[0], &row) ||
        !times(layout->count[1] - 1, layout->stride[1], &plane) || !times(layout->bytes, layout->count[0], &total) ||
        !times(total, layout->count[1], &total))
        return false;
    if (layout->count[0] > 1 && layout->stride[0] < layout->bytes)
        return false;
    return layout->count[1] == 1 || layout->stride[1] >= row + layout->bytes;
}

int shape_layouts(const struct devcom_shape *shape, struct layout *local, struct layout *remote)
{
    *local = (struct layout){.bytes = shape->bytes};
    for (int i = 0; i < 2; i++) {
        local->count[i] = at_least_one(shape->count[i]);
        local->stride[i] = local->count[i] > 1 ? shape->stride[i] : 0;
    }
    *remote = *local;
    for (int i = 0; i < 2; i++)
        remote->stride[i] = remote->count[i] > 1 ? shape->remote_stride[i] : 0;
    return layout_valid(local) && layout_valid(remote) ? 0 : -EINVAL;
}

size_t layout_total(const struct layout *layout)
{
    return layout->bytes * layout->count[0] * layout->count[1];
}

size_t layout_extent(const struct layout *layout)
{
    return (layout->count[0] - 1) * layout->stride[0] + (layout->count[1] - 1) * layout->stride[1] + layout->bytes;
}

bool layout_contiguous(const struct layout *layout)
{
    return (layout->count[0] == 1 || layout->stride[0] == layout->bytes) &&
           (layout->count[1] == 1 || layout->stride[1] == layout->bytes * layout->count[0]);
}

struct layout layout_packed(const struct layout *layout)
{
    struct layout packed = *layout;

    packed.stride[0] = packed.bytes;
    packed.stride[1] = packed.bytes * packed.count[0];
    return packed;
}

void layout_copy(uint8_t *to, const struct layout *to_layout, const uint8_t *from, const struct layout *from_layout)
{
    if (layout_contiguous(to_layout) && layout_contiguous(from_layout)) {
        memmove(to, from, layout_total(from_layout)); /* within one segment they may overlap */
        return;
    }
    for (uint32_t i = 0; i < from_layout->count[1]; i++)
        rows_copy(to + i * to_layout->stride[1], to_layout->stride[0], from + i * from_layout->stride[1],
                  from_layout->stride[0], from_layout->bytes, from_layout->count[0]);
}

/* ---- device memory ---- */

/* Copies between device memory and packed memory. */
static int move(const struct segment *segment, size_t offset, const struct layout *layout, uint8_t *packed, bool write)
{
    const struct rows rows = {layout->bytes, layout->count[0], layout->stride[0]};

    for (uint32_t i = 0; i < layout->count[1]; i++) {
        if (rows_move(segment->commands, segment->buffer, offset + i * layout->stride[1], &rows,
                      packed + i * layout->bytes * layout->count[0], layout->bytes, write, true))
            return -EIO;
    }
    return 0;
}

int stage_read(const struct segment *segment, size_t offset, const struct layout *layout, uint8_t *packed)
{
    struct layout flat = layout_packed(layout);

    if (!layout_total(layout))
        return 0;
    if (!segment->host)
        return move(segment, offset, layout, packed, false);
    layout_copy(packed, &flat, segment->host + offset, layout);
    return 0;
}

int stage_write(const struct segment *segment, size_t offset, const struct layout *layout, const uint8_t *packed)
{
    struct layout flat = layout_packed(layout);

    if (!layout_total(layout))
        return 0;
    if (!segment->host)
        return move(segment, offset, layout, (uint8_t *)packed, true);
    layout_copy(segment->host + offset, layout, packed, &flat);
    return 0;
}
