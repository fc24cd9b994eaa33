/* VOCL's plugins, vocl-NAME.so, each with the library that it alone needs. */
#ifndef VOCL_BASE_PLUGIN_H
#define VOCL_BASE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

/* What the plugin has under that symbol: a struct that begins with this version, which is unsigned. flags: for dlopen()
 * besides; fresh: into a namespace of its own. NULL and why. */
const void *plugin_open(const char *name, const char *symbol, unsigned version, int flags, bool fresh, char *why,
                        size_t why_size);
void plugin_path(const char *name, char *path, size_t size);

#endif
