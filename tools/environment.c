/* The environment of a program that uses VOCL. Everything that `vocl run` does to a program is in this file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#include "base/place.h"
#include "tools/tools.h"

static void set(const char *name, const char *value)
{
    if (setenv(name, value, 1))
        fail(EXIT_BROKEN, "cannot set %s: %m", name);
}

static void set_given(const char *name, const char *value)
{
    if (value)
        set(name, value);
}

static char *join(const char *first, const char *second)
{
    char *joined;

    if (asprintf(&joined, "%s%s", first, second) < 0)
        fail(EXIT_BROKEN, "out of memory");
    return joined;
}

/*
 * Finds a file that belongs to VOCL: in the one folder of an uninstalled build if VOCL_LIBEXECDIR names one that has
 * it, otherwise in the bundle, or where it was installed. A missing file is an error here, because the dynamic linker
 * and the ICD loader would ignore it and leave the program with the native devices.
 */
static char *find(const char *name, const char *installed_directory, const char *in_bundle)
{
    const char *uninstalled = getenv("VOCL_LIBEXECDIR");
    char *path;

    if (uninstalled && *uninstalled) {
        path = join(join(uninstalled, "/"), name);
        if (!access(path, R_OK))
            return path;
        free(path);
    }
    if (place_bundle())
        installed_directory = join(place_bundle(), in_bundle);
    path = join(join(installed_directory, "/"), name);
    if (access(path, R_OK))
        fail(EXIT_BROKEN, "%s: %m; is VOCL installed completely?", path);
    return path;
}

char *library_path(void)
{
    return find(VOCL_LIBRARY, LIBDIR, "/lib");
}

char *helper_path(const char *name)
{
    return find(name, PKGLIBEXECDIR, "/libexec/vocl");
}

void environment_set_session(const struct choices *choices)
{
    /* The command line chooses one of the two ways to get workers; the environment must not add the other. */
    if (choices->workers) {
        set("VOCL_WORKERS", choices->workers);
        unsetenv("VOCL_HOSTS");
    }
    if (choices->hosts) {
        set("VOCL_HOSTS", choices->hosts);
        unsetenv("VOCL_WORKERS");
    }
    set_given("VOCL_RSH", choices->launcher);
    set_given("VOCL_SPARE", choices->spare);
    set_given("VOCL_RESTORE", choices->restore);
    if (choices->recover)
        set("VOCL_RECOVER", "replay");
    if (choices->local)
        set("VOCL_LOCAL", "1");
    if (choices->pool) {
        set("VOCL_POOL", choices->pool);
        unsetenv("VOCL_HOSTS");
        unsetenv("VOCL_WORKERS");
        unsetenv("VOCL_LOCAL");
    }
    set_given("VOCL_POOL_COUNT", choices->count);
    set_given("VOCL_POOL_TYPE", choices->type);
    set_given("VOCL_POOL_MEMORY", choices->memory);
    set_given("VOCL_POOL_NAME", choices->name);
    set_given("VOCL_POOL_WEIGHT", choices->weight);
    set_given("VOCL_POOL_WAIT", choices->wait);
    set_given("VOCL_POOL_POLICY", choices->policy);
    if (choices->exclusive)
        set("VOCL_POOL_EXCLUSIVE", "1");
    if (choices->devices)
        set("VOCL_DEVICES", choices->devices);
    if (choices->mpi)
        set("VOCL_MPI", choices->mpi);
    set_given("VOCL_NETWORK", choices->network);
    if (choices->deploy && !choices->network && !getenv("VOCL_NETWORK"))
        set("VOCL_NETWORK", "ssh"); /* a host without VOCL seldom accepts any connection but ssh */

    /* A user who finds no device wants to know why. */
    if (!getenv("VOCL_LOG"))
        set("VOCL_LOG", "error");
}

/* The address sanitizer of a program that was built with it insists on being the first library, but a preloaded one
 * comes before it. */
static void quiet_sanitizer(void)
{
    const char *options = getenv("ASAN_OPTIONS");

    if (options && strstr(options, "verify_asan_link_order"))
        return;
    set("ASAN_OPTIONS", join("verify_asan_link_order=0", options ? join(":", options) : ""));
}

static void interpose_by_preload(void)
{
    const char *others = getenv("LD_PRELOAD");
    char *library = library_path();

    if (strpbrk(library, " :"))
        fail(EXIT_BROKEN, "%s cannot be preloaded: its path has a space or a colon; use --interpose icd", library);
    if (!others || !*others)
        set("LD_PRELOAD", library);
    else if (strncmp(others, library, strlen(library)))
        set("LD_PRELOAD", join(join(library, ":"), others));
}

static void interpose_by_icd(void)
{
    const char *before = getenv("OCL_ICD_VENDORS");
    char *directory;

    if (place_bundle() && !getenv("VOCL_LIBEXECDIR")) {
        directory = vendors_of_bundle(library_path());
    } else {
        directory = find("vendors/vocl.icd", PKGDATADIR, "/share/vocl");
        *strrchr(directory, '/') = '\0';
    }
    if (!directory)
        return;
    if (before && !strcmp(before, directory))
        return; /* one `vocl run` inside another: the outer one has saved the native value */

    /* The worker offers the platforms that the program would have had; an empty value means that there was no such
     * setting. */
    set("VOCL_NATIVE_ICD_VENDORS", before ? before : "");
    set("OCL_ICD_VENDORS", directory);
}

/* hwloc, which most MPI libraries contain, asks OpenCL for its devices when a program starts: that would start a
 * session in every MPI program, inside its MPI_Init. */
static void quiet_hwloc(void)
{
    if (!getenv("HWLOC_PLUGINS_BLACKLIST"))
        set("HWLOC_PLUGINS_BLACKLIST", "hwloc_opencl.so");
}

/* Layers belong to the loader, which a program with a preloaded libvocl.so does not call. */
static bool needs_loader(const struct choices *choices)
{
    const char *layers = getenv("OPENCL_LAYERS");

    return choices->icd && layers && *layers;
}

void environment_set_interposition(const struct choices *choices)
{
    quiet_hwloc();
    if (choices->preload && !needs_loader(choices)) {
        quiet_sanitizer();
        interpose_by_preload();
    }
    if (choices->icd)
        interpose_by_icd();
}
