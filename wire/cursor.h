/*
 * Cursors: the only code that touches bytes of the wire. Failures are sticky: after the first one nothing more is read
 * or written, so callers check once, at the end.
 */
#ifndef VOCL_WIRE_CURSOR_H
#define VOCL_WIRE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the wire is little-endian, and so far every machine that speaks it"
#endif

/* Bytes being read: a frame, or the fields of one command. */
struct wire_cursor {
    const uint8_t *at;
    size_t left;
    bool failed;
};

/* Bytes being written; the buffer grows as needed. */
struct wire_buffer {
    uint8_t *bytes;
    size_t length, capacity;
    bool failed;
};

static inline struct wire_cursor wire_cursor(const void *bytes, size_t length)
{
    return (struct wire_cursor){.at = bytes, .left = length};
}

static inline size_t wire_padded(size_t length)
{
    return (length + 3) & ~(size_t)3;
}

/* Takes length bytes off the cursor, with their padding; returns NULL if they are not there. */
static inline const void *wire_get_bytes(struct wire_cursor *in, size_t length)
{
    const void *bytes = in->at;

    if (in->failed || length > in->left || wire_padded(length) > in->left) {
        in->failed = true;
        return NULL;
    }
    in->at += wire_padded(length);
    in->left -= wire_padded(length);
    return bytes;
}

static inline uint32_t wire_get_u32(struct wire_cursor *in)
{
    uint32_t value = 0;
    const void *bytes = wire_get_bytes(in, sizeof(value));

    if (bytes)
        memcpy(&value, bytes, sizeof(value));
    return value;
}

static inline uint64_t wire_get_u64(struct wire_cursor *in)
{
    uint64_t value = 0;
    const void *bytes = wire_get_bytes(in, sizeof(value));

    if (bytes)
        memcpy(&value, bytes, sizeof(value));
    return value;
}

/* Makes room for `padded` more bytes, the last 4 of them zeroed; returns NULL if memory is exhausted. */
void *wire_reserve_slow(struct wire_buffer *out, size_t padded);

static inline void *wire_reserve(struct wire_buffer *out, size_t length)
{
    size_t padded = wire_padded(length);
    uint8_t *bytes;

    if (out->failed)
        return NULL;
    if (padded > out->capacity - out->length)
        return wire_reserve_slow(out, padded);
    bytes = out->bytes + out->length;
    out->length += padded;
    if (padded != length)
        memset(bytes + padded - 4, 0, 4);
    return bytes;
}

static inline void wire_put_bytes(struct wire_buffer *out, const void *from, size_t length)
{
    void *to = wire_reserve(out, length);

    if (to && length)
        memcpy(to, from, length);
}

/* Appends without padding; the sum of such pieces is one field. */
static inline void wire_append(struct wire_buffer *out, const void *from, size_t length)
{
    wire_put_bytes(out, from, length);
    if (!out->failed)
        out->length -= wire_padded(length) - length;
}

static inline void wire_put_u32(struct wire_buffer *out, uint32_t value)
{
    wire_put_bytes(out, &value, sizeof(value));
}

static inline void wire_put_u64(struct wire_buffer *out, uint64_t value)
{
    wire_put_bytes(out, &value, sizeof(value));
}

static inline void wire_buffer_free(struct wire_buffer *out)
{
    free(out->bytes);
    *out = (struct wire_buffer){0};
}

#endif
