/* See plugin.h. */
#include <dlfcn.h>
#include <stdio.h>

#include "base/plugin.h"
#include "base/settings.h"

void plugin_path(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/vocl-%s.so", settings_string(SETTING_LIBEXECDIR), name);
}

const void *plugin_open(const char *name, const char *symbol, unsigned version, int flags, bool fresh, char *why,
                        size_t why_size)
{
    const unsigned *plugin;
    char path[4096];
    void *library;

    plugin_path(name, path, sizeof(path));
    flags |= RTLD_NOW | RTLD_LOCAL;
    library = fresh ? dlmopen(LM_ID_NEWLM, path, flags) : dlopen(path, flags);
    plugin = library ? dlsym(library, symbol) : NULL;
    if (plugin && *plugin == version)
        return plugin;
    if (plugin)
        snprintf(why, why_size, "%s is not this version's plugin", path);
    else
        snprintf(why, why_size, "%s", dlerror());
    return NULL;
}
