#include <stdio.h>
#include <string.h>

#include "base/plugin.h"
#include "pool/auth.h"

const struct auth_plugin *auth_open(const char *name, char *why, size_t why_size)
{
    char plugin[32];

    if (strcmp(name, "munge") && strcmp(name, "key")) {
        snprintf(why, why_size, "authentication is by munge or key, not \"%s\"", name);
        return NULL;
    }
    snprintf(plugin, sizeof(plugin), "auth-%s", name);
    return plugin_open(plugin, AUTH_SYMBOL, AUTH_VERSION, 0, false, why, why_size);
}
