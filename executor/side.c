/* The part of a memory object that a transfer concerns: a piece of a buffer, a rect of one, a region of an image. */
#include "executor/internal.h"

#define MOST_BYTES (UINT64_C(1) << 40)

bool side_fits(const struct side *side)
{
    const size_t *region = side->region;
    size_t element = 0;

    if (!side->is_image)
        return true;
    if (region[0] > UINT32_MAX || region[1] > UINT32_MAX || region[2] > 1u << 20)
        return false;
    if (clGetImageInfo(side->memory, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, NULL))
        return false;
    return (unsigned __int128)region[0] * region[1] * region[2] * element == side->size;
}

bool side_rect(struct side *side, const uint64_t *origin, uint32_t origin_count, const uint64_t *region,
               uint32_t region_count, uint64_t row_pitch, uint64_t slice_pitch)
{
    unsigned __int128 size = (unsigned __int128)region[0] * region[1];

    if (origin_count != 3 || region_count != 3 || size > MOST_BYTES || (size *= region[2]) > MOST_BYTES || !size)
        return false;
    *side = (struct side){.is_rect = true, .size = (size_t)size, .row_pitch = row_pitch, .slice_pitch = slice_pitch};
    memcpy(side->origin, origin, sizeof(side->origin));
    memcpy(side->region, region, sizeof(side->region));
    return true;
}

bool side_from(struct side *side, uint64_t size, const uint64_t *origin, uint32_t origin_count, const uint64_t *region,
               uint32_t region_count, const uint64_t *pitch, uint32_t pitch_count)
{
    if (!size || size > MOST_BYTES)
        return false;
    if (pitch_count == 2)
        return side_rect(side, origin, origin_count, region, region_count, pitch[0], pitch[1]) && side->size == size;
    *side = (struct side){.size = size};
    if (origin_count == 1 && !region_count && !pitch_count) {
        side->offset = origin[0];
        return true;
    }
    if (origin_count != 3 || region_count != 3 || pitch_count)
        return false;
    side->is_image = true;
    memcpy(side->origin, origin, sizeof(side->origin));
    memcpy(side->region, region, sizeof(side->region));
    return true;
}
