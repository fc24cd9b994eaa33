/* Loading the MPI plugin so that the program does not notice (DESIGN section 1). */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings.h"
#include "transport/plugin/loader.h"

static int find_mpi(struct dl_phdr_info *info, size_t size, void *found)
{
    const char *name = strrchr(info->dlpi_name, '/');

    (void)size;
    name = name ? name + 1 : info->dlpi_name;
    if (!strncmp(name, "libmpich.so", 11) || !strncmp(name, "libmpi.so.12", 12))
        *(const char **)found = "mpich";
    else if (!strncmp(name, "libmpi.so.40", 12))
        *(const char **)found = "openmpi";
    return 0;
}

const char *loader_program_mpi(void)
{
    const char *found = NULL;

    dl_iterate_phdr(find_mpi, &found);
    return found;
}

/* UCX, below MPICH, reads these when it is loaded: it must neither print nor catch signals in the application, and no
 * frame is to wait for a rendezvous, which takes both sides several looks. Its module for FUSE (1.18) is one that it
 * loads with RTLD_GLOBAL while it is loaded itself, which glibc (2.41) does not survive in a fresh namespace. */
static const char *const ucx[][2] = {
    {"UCX_HANDLE_ERRORS", "none"}, {"UCX_LOG_LEVEL", "fatal"}, {"UCX_RNDV_THRESH", "80k"}, {"UCX_MODULES", "^fuse"}};

bool loader_foreign_memory(void)
{
    static const char *const names[] = {"malloc", "free"};
    void *own = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

    for (size_t i = 0; own && i < sizeof(names) / sizeof(*names); i++) {
        if (dlsym(RTLD_DEFAULT, names[i]) != dlsym(own, names[i]))
            return true;
    }
    return false;
}

/*
 * RTLD_DEEPBIND binds MPI to its own libraries first, whatever the program has under the same names. Not where memory
 * is foreign: libc gives out what is not its own, for instance from getline(), and MPI would give it back to libc. Then
 * it gets a namespace of its own, with a libc of its own, which Open MPI does not bear: that takes the program's names.
 */
static int binding(const char *mpi, bool *fresh)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)mpi, (void)fresh;
    return 0; /* the sanitizer's run-time library refuses the one and does not bear the other */
#else
    if (!loader_foreign_memory())
        return RTLD_DEEPBIND;
    *fresh = *fresh || strcmp(mpi, "openmpi");
    return 0;
#endif
}

bool loader_comes_first(const char *mpi)
{
    bool fresh = false;

    return binding(mpi, &fresh) || fresh;
}

static void *open_quietly(const char *path, bool fresh, int deep)
{
    bool set[sizeof(ucx) / sizeof(*ucx)];
    void *library;

    for (size_t i = 0; i < sizeof(ucx) / sizeof(*ucx); i++) {
        set[i] = !getenv(ucx[i][0]);
        if (set[i])
            setenv(ucx[i][0], ucx[i][1], 1);
    }
    if (fresh)
        library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
    else
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL | deep);
    for (size_t i = 0; i < sizeof(ucx) / sizeof(*ucx); i++) {
        if (set[i])
            unsetenv(ucx[i][0]);
    }
    return library;
}

const struct mpi_plugin *loader_open(const char *mpi, bool fresh, char *why, size_t why_size)
{
    const struct mpi_plugin *plugin;
    char path[4096];
    void *library;
    int deep = binding(mpi, &fresh);

    snprintf(path, sizeof(path), "%s/vocl-%s.so", settings_string(SETTING_LIBEXECDIR), mpi);
    library = open_quietly(path, fresh, deep);
    if (!library) {
        if (!strcmp(mpi, "mpich") || !strcmp(mpi, "openmpi"))
            snprintf(why, why_size, "%s", dlerror());
        else
            snprintf(why, why_size, "VOCL_MPI takes mpich or openmpi, not \"%s\"", mpi);
        return NULL;
    }
    plugin = dlsym(library, PLUGIN_SYMBOL);
    if (!plugin || plugin->version != PLUGIN_VERSION) {
        snprintf(why, why_size, "%s is not this version's plugin", path);
        return NULL;
    }
    return plugin;
}

const struct tls_plugin *loader_open_tls(char *why, size_t why_size)
{
    const struct tls_plugin *plugin;
    bool fresh = false;
    char path[4096];
    void *library;
    int deep = loader_foreign_memory() ? 0 : binding("tls", &fresh); /* OpenSSL gives back only what is its own */

    snprintf(path, sizeof(path), "%s/vocl-tls.so", settings_string(SETTING_LIBEXECDIR));
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | deep);
    plugin = library ? dlsym(library, TLS_PLUGIN_SYMBOL) : NULL;
    if (plugin && plugin->version == TLS_PLUGIN_VERSION)
        return plugin;
    snprintf(why, why_size, "%s", library ? "vocl-tls.so is not this version's" : dlerror());
    return NULL;
}

static void pack_path(char *path, size_t size)
{
    snprintf(path, size, "%s/vocl-pack.so", settings_string(SETTING_LIBEXECDIR));
}

bool loader_has_pack(void)
{
    char path[4096];

    pack_path(path, sizeof(path));
    return !access(path, R_OK);
}

const struct pack_plugin *loader_open_pack(void)
{
    const struct pack_plugin *plugin;
    bool fresh = false;
    char path[4096];
    void *library;
    int deep = loader_foreign_memory() ? 0 : binding("pack", &fresh); /* zstd gives back only what is its own */

    pack_path(path, sizeof(path));
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | deep);
    plugin = library ? dlsym(library, PACK_PLUGIN_SYMBOL) : NULL;
    if (plugin && plugin->version == PACK_PLUGIN_VERSION)
        return plugin;
    vocl_log(LOG_WARN, "nothing is packed: %s", library ? "vocl-pack.so is not this version's" : dlerror());
    return NULL;
}
