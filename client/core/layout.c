/* Rows and slices in the program's memory, or in memory that it shares with a node. */
#include <string.h>

#include "client/core/layout.h"

struct layout layout_linear(const void *memory, size_t size)
{
    return (struct layout){.memory = (uint8_t *)(uintptr_t)memory, .row_bytes = size, .rows = 1, .slices = 1};
}

struct layout layout_rect(const void *memory, const size_t *origin, const size_t *region, size_t row_pitch,
                          size_t slice_pitch)
{
    return (struct layout){
        .memory = (uint8_t *)(uintptr_t)memory + origin[0] + origin[1] * row_pitch + origin[2] * slice_pitch,
        .row_bytes = region[0],
        .rows = region[1],
        .slices = region[2],
        .row_pitch = row_pitch,
        .slice_pitch = slice_pitch,
    };
}

struct layout layout_tight(const struct layout *layout, uint8_t *memory)
{
    struct layout tight = *layout;

    tight.memory = memory;
    tight.row_pitch = layout->row_bytes;
    tight.slice_pitch = layout->row_bytes * layout->rows;
    return tight;
}

size_t layout_bytes(const struct layout *layout)
{
    return layout->row_bytes * layout->rows * layout->slices;
}

size_t layout_extent(const struct layout *layout)
{
    return (layout->slices - 1) * layout->slice_pitch + (layout->rows - 1) * layout->row_pitch + layout->row_bytes;
}

bool layout_is_contiguous(const struct layout *layout)
{
    return (layout->rows == 1 || layout->row_pitch == layout->row_bytes) &&
           (layout->slices == 1 || layout->slice_pitch == layout->row_bytes * layout->rows);
}

void layout_copy(const struct layout *to, const struct layout *from)
{
    if (layout_is_contiguous(to) && layout_is_contiguous(from)) {
        memmove(to->memory, from->memory, layout_bytes(from)); /* it may be a mapping of the same buffer */
        return;
    }
    for (size_t slice = 0; slice < from->slices; slice++) {
        for (size_t row = 0; row < from->rows; row++)
            memcpy(to->memory + slice * to->slice_pitch + row * to->row_pitch,
                   from->memory + slice * from->slice_pitch + row * from->row_pitch, from->row_bytes);
    }
}
