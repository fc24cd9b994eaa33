/* Loads the plugins so that the program does not notice: their symbols do not replace those of the program. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/plugin.h"
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

/* Settings of UCX, below MPICH, which reads them when it is loaded: it must neither print nor catch signals in the
 * application, and no frame may wait for a rendezvous, for which both sides have to poll several times. UCX's module
 * for FUSE (1.18) is excluded: UCX loads it with RTLD_GLOBAL while it is loaded itself, which makes glibc (2.41) crash
 * in a fresh namespace. */
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
 * RTLD_DEEPBIND binds MPI to its own libraries first, whatever the program has under the same names. Not if the
 * program's malloc is not libc's: libc then returns memory that it has not allocated itself, for instance from
 * getline(), and MPI would free it with libc's free(). MPI gets a namespace of its own then, with a libc of its own.
 * Open MPI does not work there, so it is bound to the program's functions.
 */
static int binding(const char *mpi, bool *fresh)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)mpi, (void)fresh;
    return 0; /* the sanitizer's run-time library refuses the first and does not work with the second */
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

const struct mpi_plugin *loader_open(const char *mpi, bool fresh, char *why, size_t why_size)
{
    const struct mpi_plugin *plugin;
    bool set[sizeof(ucx) / sizeof(*ucx)];
    const int deep = binding(mpi, &fresh);

    if (strcmp(mpi, "mpich") && strcmp(mpi, "openmpi")) {
        snprintf(why, why_size, "VOCL_MPI takes mpich or openmpi, not \"%s\"", mpi);
        return NULL;
    }
    for (size_t i = 0; i < sizeof(ucx) / sizeof(*ucx); i++) {
        set[i] = !getenv(ucx[i][0]);
        if (set[i])
            setenv(ucx[i][0], ucx[i][1], 1);
    }
    plugin = plugin_open(mpi, PLUGIN_SYMBOL, PLUGIN_VERSION, deep, fresh, why, why_size);
    for (size_t i = 0; i < sizeof(ucx) / sizeof(*ucx); i++) {
        if (set[i])
            unsetenv(ucx[i][0]);
    }
    return plugin;
}

/* Opens a plugin that frees only memory of its own, so that it may share a foreign malloc with the program. */
static const void *open_careful(const char *name, const char *symbol, unsigned version, char *why, size_t why_size)
{
    bool fresh = false;
    const int deep = loader_foreign_memory() ? 0 : binding(name, &fresh);

    return plugin_open(name, symbol, version, deep, false, why, why_size);
}

const struct tls_plugin *loader_open_tls(char *why, size_t why_size)
{
    return open_careful("tls", TLS_PLUGIN_SYMBOL, TLS_PLUGIN_VERSION, why, why_size);
}

bool loader_has_pack(void)
{
    char path[4096];

    plugin_path("pack", path, sizeof(path));
    return !access(path, R_OK);
}

const struct pack_plugin *loader_open_pack(void)
{
    char why[512];
    const struct pack_plugin *plugin = open_careful("pack", PACK_PLUGIN_SYMBOL, PACK_PLUGIN_VERSION, why, sizeof(why));

    if (!plugin)
        vocl_log(LOG_WARN, "nothing is packed: %s", why);
    return plugin;
}
