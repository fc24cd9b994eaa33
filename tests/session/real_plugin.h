/* The plugin that a test's own stands before, which VOCL_TEST_PLUGIN names. */
#ifndef VOCL_TESTS_SESSION_REAL_PLUGIN_H
#define VOCL_TESTS_SESSION_REAL_PLUGIN_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* What it has under that name; or NULL, and why is said. */
static inline const void *real_plugin(const char *symbol)
{
    const char *path = getenv("VOCL_TEST_PLUGIN");
    void *library =
        path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL; /* it is first in its own scope */
    const void *plugin = library ? dlsym(library, symbol) : NULL;

    if (!plugin)
        fprintf(stderr, "%s\n", path ? dlerror() : "VOCL_TEST_PLUGIN names no plugin");
    return plugin;
}

#endif
