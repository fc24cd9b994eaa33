/* The packing plugin: see pack.h. The only file of VOCL that knows zstd. */
#include "transport/plugin/pack.h"

#include <stdlib.h>

#include <zstd.h>

#define FAST (-1) /* compression levels of zstd */
#define HARD 3

struct packer {
    ZSTD_CCtx *out;
    ZSTD_DCtx *in;
};

static void pack_close(struct packer *packer)
{
    ZSTD_freeCCtx(packer->out);
    ZSTD_freeDCtx(packer->in);
    free(packer);
}

static struct packer *pack_open(void)
{
    struct packer *packer = calloc(1, sizeof(*packer));

    if (!packer)
        return NULL;
    packer->out = ZSTD_createCCtx();
    packer->in = ZSTD_createDCtx();
    if (packer->out && packer->in)
        return packer;
    pack_close(packer);
    return NULL;
}

static size_t pack_pack(struct packer *packer, const void *from, size_t length, void *to, size_t room, bool hard)
{
    const size_t made = ZSTD_compressCCtx(packer->out, to, room, from, length, hard ? HARD : FAST);

    return ZSTD_isError(made) ? 0 : made;
}

static bool pack_unpack(struct packer *packer, const void *from, size_t length, void *to, size_t made)
{
    return ZSTD_decompressDCtx(packer->in, to, made, from, length) == made;
}

__attribute__((visibility("default"))) const struct pack_plugin vocl_pack_plugin = {
    .version = PACK_PLUGIN_VERSION,
    .open = pack_open,
    .pack = pack_pack,
    .unpack = pack_unpack,
    .close = pack_close,
};
