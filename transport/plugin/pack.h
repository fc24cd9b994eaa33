/*
 * The packing plugin: a compressor, loaded at run time, so that libvocl depends on libc alone. Each piece of bulk data
 * is packed by itself. Only one thread at a time may use a packer.
 */
#ifndef VOCL_TRANSPORT_PLUGIN_PACK_H
#define VOCL_TRANSPORT_PLUGIN_PACK_H

#include <stdbool.h>
#include <stddef.h>

#define PACK_PLUGIN_VERSION 1
#define PACK_PLUGIN_SYMBOL "vocl_pack_plugin"

struct packer;

struct pack_plugin {
    unsigned version;
    struct packer *(*open)(void);
    /* Returns the packed length, or 0 if that is more than room. hard: takes more time for fewer bytes. */
    size_t (*pack)(struct packer *packer, const void *from, size_t length, void *to, size_t room, bool hard);
    /* False: the input does not unpack to exactly `made` bytes. */
    bool (*unpack)(struct packer *packer, const void *from, size_t length, void *to, size_t made);
    void (*close)(struct packer *packer);
};

#endif
