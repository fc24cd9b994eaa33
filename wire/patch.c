/* The difference between two commands of the same length, in runs of words: position, count, and the words. */
#include "wire/wire.h"

struct run {
    uint16_t at, count; /* in words of 4 bytes */
};

uint32_t wire_diff(const void *before, const void *after, size_t length, uint8_t patch[WIRE_MAX_PATCH])
{
    const uint8_t *old = before, *new = after;
    uint32_t used = 0;

    for (size_t at = 0; at < length; at += 4) {
        size_t end;

        while (at + 16 <= length && !memcmp(old + at, new + at, 16)) /* most words are unchanged */
            at += 16;
        if (at >= length)
            break;
        end = at;
        while (end < length && memcmp(old + end, new + end, 4))
            end += 4;
        if (end == at)
            continue;
        const struct run run = {(uint16_t)(at / 4), (uint16_t)((end - at) / 4)};

        if (used + sizeof(run) + (end - at) > WIRE_MAX_PATCH)
            return WIRE_NO_PATCH;
        memcpy(patch + used, &run, sizeof(run));
        memcpy(patch + used + sizeof(run), new + at, end - at);
        used += (uint32_t)(sizeof(run) + (end - at));
        at = end;
    }
    return used;
}

bool wire_patch(void *bytes, size_t length, const void *patch, uint32_t patch_length)
{
    const uint8_t *in = patch;

    while (patch_length) {
        struct run run;
        size_t at, size;

        if (patch_length < sizeof(run))
            return false;
        memcpy(&run, in, sizeof(run));
        at = run.at * (size_t)4;
        size = run.count * (size_t)4;
        in += sizeof(run);
        patch_length -= (uint32_t)sizeof(run);
        if (at < WIRE_HEADER || size > patch_length || at > length || size > length - at)
            return false;
        memcpy((uint8_t *)bytes + at, in, size);
        in += size;
        patch_length -= (uint32_t)size;
    }
    return true;
}
