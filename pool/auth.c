#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "pool/auth.h"

const struct auth_plugin *auth_open(const char *name, char *why, size_t why_size)
{
    const struct auth_plugin *plugin;
    char path[4096];
    void *library;

    if (strcmp(name, "munge") && strcmp(name, "key")) {
        snprintf(why, why_size, "authentication is by munge or key, not \"%s\"", name);
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/vocl-auth-%s.so", settings_string(SETTING_LIBEXECDIR), name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    plugin = library ? dlsym(library, AUTH_SYMBOL) : NULL;
    if (!plugin) {
        snprintf(why, why_size, "%s", dlerror());
        return NULL;
    }
    if (plugin->version != AUTH_VERSION) {
        snprintf(why, why_size, "%s is of another version of VOCL", path);
        return NULL;
    }
    return plugin;
}
