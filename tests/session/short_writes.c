/*
 * Wraps vocl-tls.so: after their first writes, its connections accept about half of the bytes given, as connections
 * with little buffer space do. For short_writes.sh.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "tests/session/real_plugin.h"
#include "transport/plugin/tls.h"

static const struct tls_plugin *real;

enum { CONNECTIONS = 64, FIRST = 10 };

static atomic_uint written[CONNECTIONS]; /* the number of writes, by address; two connections may share an entry */

static ssize_t write_half(struct tls *tls, const void *bytes, size_t length)
{
    const unsigned before = atomic_fetch_add(&written[(uintptr_t)tls / 64 % CONNECTIONS], 1);

    return real->write(tls, bytes, before < FIRST ? length : length - length / 2);
}

/* The constructor fills it before libvocl can look for it. */
__attribute__((visibility("default"))) struct tls_plugin vocl_tls_plugin;

__attribute__((constructor)) static void load(void)
{
    real = real_plugin(TLS_PLUGIN_SYMBOL);
    if (!real)
        return;
    vocl_tls_plugin = *real;
    vocl_tls_plugin.write = write_half;
}
