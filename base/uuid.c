/* Version 5 means SHA-1 (RFC 3174). No secret depends on it. */
#include "base/uuid.h"

#include <string.h>

#define BLOCK 64
#define DIGEST_WORDS 5

const uint8_t uuid_dns[UUID_BYTES] = {0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1,
                                      0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};

struct sha1 {
    uint32_t state[DIGEST_WORDS];
    uint8_t block[BLOCK];
    uint64_t length; /* bytes so far */
};

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static uint32_t round_of(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    default:
        return (b ^ c ^ d) + 0xca62c1d6;
    }
}

static void sha1_block(struct sha1 *sha)
{
    uint32_t words[80], v[DIGEST_WORDS];

    for (unsigned i = 0; i < 16; i++)
        words[i] = (uint32_t)sha->block[4 * i] << 24 | (uint32_t)sha->block[4 * i + 1] << 16 |
                   (uint32_t)sha->block[4 * i + 2] << 8 | sha->block[4 * i + 3];
    for (unsigned i = 16; i < 80; i++)
        words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    memcpy(v, sha->state, sizeof(v));
    for (unsigned i = 0; i < 80; i++) {
        const uint32_t next = rotate(v[0], 5) + round_of(i, v[1], v[2], v[3]) + v[4] + words[i];

        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = next;
    }
    for (unsigned i = 0; i < DIGEST_WORDS; i++)
        sha->state[i] += v[i];
}

static void sha1_add(struct sha1 *sha, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;

    while (length--) {
        sha->block[sha->length++ % BLOCK] = *from++;
        if (sha->length % BLOCK == 0)
            sha1_block(sha);
    }
}

static void sha1_end(struct sha1 *sha)
{
    static const uint8_t one = 0x80, zero;
    const uint64_t bits = sha->length * 8;
    uint8_t length[8];

    for (unsigned i = 0; i < sizeof(length); i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha1_add(sha, &one, 1);
    while (sha->length % BLOCK != BLOCK - sizeof(length))
        sha1_add(sha, &zero, 1);
    sha1_add(sha, length, sizeof(length));
}

void uuid_of_name(const uint8_t space[UUID_BYTES], const void *name, size_t length, uint8_t uuid[UUID_BYTES])
{
    struct sha1 sha = {.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};

    sha1_add(&sha, space, UUID_BYTES);
    sha1_add(&sha, name, length);
    sha1_end(&sha);
    for (unsigned i = 0; i < UUID_BYTES; i++)
        uuid[i] = (uint8_t)(sha.state[i / 4] >> (24 - 8 * (i % 4)));
    uuid[6] = (uuid[6] & 0x0f) | 0x50; /* the version */
    uuid[8] = (uuid[8] & 0x3f) | 0x80; /* the variant */
}
