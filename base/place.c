#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/place.h"

static pthread_once_t looked = PTHREAD_ONCE_INIT;
static char bundle[PATH_MAX], helpers[PATH_MAX + 16];

/* Looks for the bundle one and two folders above the file's: BUNDLE/bin/vocl, BUNDLE/libexec/vocl/vocl-launcher. */
static void look_above(char *file)
{
    char mark[PATH_MAX + 16], *end;

    for (int level = 0; level < 3 && (end = strrchr(file, '/')); level++) {
        *end = '\0';
        snprintf(mark, sizeof(mark), "%s/" PLACE_MARK, file);
        if (!level || access(mark, R_OK))
            continue;
        strcpy(bundle, file);
        snprintf(helpers, sizeof(helpers), "%s/libexec/vocl", bundle);
        return;
    }
}

/* Looks where this code lies. For a program the dynamic linker knows only the name that it was called by. */
static void look(void)
{
    char file[PATH_MAX];
    Dl_info info;

    if (dladdr((void *)(uintptr_t)look, &info) && strchr(info.dli_fname, '/') && realpath(info.dli_fname, file))
        look_above(file);
    else if (realpath("/proc/self/exe", file))
        look_above(file);
}

const char *place_bundle(void)
{
    pthread_once(&looked, look);
    return *bundle ? bundle : NULL;
}

const char *place_helpers(void)
{
    return place_bundle() ? helpers : NULL;
}
