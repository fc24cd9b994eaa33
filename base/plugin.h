/* VOCL's plugins, vocl-NAME.so: each is linked with a library that only it needs. */
#ifndef VOCL_BASE_PLUGIN_H
#define VOCL_BASE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

/* Opens a plugin and returns the struct of that name in it. The struct begins with an unsigned, the version.
 * flags: more flags for dlopen(); fresh: loads it into a namespace of its own. Returns NULL with the reason on
 * failure. */
const void *plugin_open(const char *name, const char *symbol, unsigned version, int flags, bool fresh, char *why,
                        size_t why_size);
void plugin_path(const char *name, char *path, size_t size);

#endif
