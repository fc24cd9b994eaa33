/*
 * The packing plugin: a compressor, loaded at run time, so that libvocl depends on libc alone. What is packed is a
 * piece of bulk data by itself. One thread at a time may use a packer.
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
    /* How long it has become, or 0: not as short as room. hard: more time for fewer bytes. */
    size_t (*pack)(struct packer *packer, const void *from, size_t length, void *to, size_t room, bool hard);
    /* False: it is nothing that makes exactly so many bytes. */
    bool (*unpack)(struct packer *packer, const void *from, size_t length, void *to, size_t made);
    void (*close)(struct packer *packer);
};

#endif
