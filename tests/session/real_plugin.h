/* Loads the real plugin, which VOCL_TEST_PLUGIN names and which a test's own plugin wraps. */
#ifndef VOCL_TESTS_SESSION_REAL_PLUGIN_H
#define VOCL_TESTS_SESSION_REAL_PLUGIN_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the plugin's symbol, or NULL after an error message. */
static inline const void *real_plugin(const char *symbol)
{
    const char *path = getenv("VOCL_TEST_PLUGIN");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL; /* its own symbols first */
    const void *plugin = library ? dlsym(library, symbol) : NULL;

    if (!plugin)
        fprintf(stderr, "%s\n", path ? dlerror() : "VOCL_TEST_PLUGIN names no plugin");
    return plugin;
}

#endif
