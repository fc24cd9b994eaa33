/* Rows of data in memory. */
#ifndef VOCL_CLIENT_CORE_LAYOUT_H
#define VOCL_CLIENT_CORE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of row_bytes bytes, row_pitch bytes apart, in slices that are slice_pitch bytes apart. */
struct layout {
    uint8_t *memory;
    size_t row_bytes, rows, slices, row_pitch, slice_pitch;
};
struct layout layout_linear(const void *memory, size_t size);
/* A region of the rows and slices that begin at memory. */
struct layout layout_rect(const void *memory, const size_t *origin, const size_t *region, size_t row_pitch,
                          size_t slice_pitch);
/* The same rows without gaps. */
struct layout layout_tight(const struct layout *layout, uint8_t *memory);
size_t layout_bytes(const struct layout *layout);
size_t layout_extent(const struct layout *layout); /* bytes from the first to the end of the last row */
bool layout_is_contiguous(const struct layout *layout);
/* Copies between two layouts of the same rows. */
void layout_copy(const struct layout *to, const struct layout *from);

#endif
