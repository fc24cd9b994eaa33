/* Finds this machine's drivers as the ICD loader does (cl_khr_icd). */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/executor.h"
#include "executor/icd.h"

#ifndef VENDORS
#define VENDORS "/etc/OpenCL/vendors"
#endif

/* The file's first line names the library. */
static void read_icd(const char *path, void (*take)(const char *library))
{
    char line[PATH_MAX] = "";
    FILE *file = fopen(path, "re");

    if (!file)
        return;
    if (fgets(line, sizeof(line), file))
        line[strcspn(line, "\r\n")] = '\0';
    fclose(file);
    if (*line)
        take(line);
}

static int is_icd(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');

    return end && !strcmp(end, ".icd");
}

/* Returns the folder that was set before `vocl run` put its own in its place. */
static const char *vendors(void)
{
    const char *before = getenv("VOCL_NATIVE_ICD_VENDORS");
    const char *now = before ? before : getenv("OCL_ICD_VENDORS");

    return now && *now ? now : VENDORS;
}

void icd_each(void (*take)(const char *library))
{
    const char *where = vendors();
    struct dirent **entries;
    int count = scandir(where, &entries, is_icd, alphasort);

    if (count < 0) { /* the name of one driver, not of a folder */
        if (strstr(where, ".icd"))
            read_icd(where, take);
        else
            take(where);
        return;
    }
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/%s", where, entries[i]->d_name) < (int)sizeof(path))
            read_icd(path, take);
        free(entries[i]);
    }
    free(entries);
}

static void load(const char *library)
{
    const char *name = strrchr(library, '/');

    if (strncmp(name ? name + 1 : library, "libvocl", 7))
        dlopen(library, RTLD_NOW | RTLD_LOCAL);
}

void executor_load_drivers(void)
{
    icd_each(load);
}
