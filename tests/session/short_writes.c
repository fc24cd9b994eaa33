/*
 * What stands before vocl-tls.so: after their first writes its connections take about half of what they are given, as
 * those do that have little room. For short_writes.sh.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport/tls.h"

static const struct tls_plugin *real;

enum { CONNECTIONS = 64, FIRST = 10 };

static atomic_uint written[CONNECTIONS]; /* times, by address, which two may have in common */

static ssize_t write_half(struct tls *tls, const void *bytes, size_t length)
{
    const unsigned before = atomic_fetch_add(&written[(uintptr_t)tls / 64 % CONNECTIONS], 1);

    return real->write(tls, bytes, before < FIRST ? length : length - length / 2);
}

/* Filled before anybody can look for it. */
__attribute__((visibility("default"))) struct tls_plugin vocl_tls_plugin;

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("VOCL_TEST_PLUGIN");
    void *library =
        path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL; /* it is first in its own scope */

    real = library ? dlsym(library, TLS_PLUGIN_SYMBOL) : NULL;
    if (!real) {
        fprintf(stderr, "%s\n", path ? dlerror() : "VOCL_TEST_PLUGIN names no plugin");
        return;
    }
    vocl_tls_plugin = *real;
    vocl_tls_plugin.write = write_half;
}
