/* The ICD file for a VOCL that may be installed anywhere, also in a folder without write permission: the OpenCL
 * loader wants the library's path in a file, so the file is written where this user may write. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "tools/tools.h"

/* Whether the folder is the user's own, and not writable by others. */
static bool is_ours(const char *folder)
{
    struct stat found;

    return !lstat(folder, &found) && S_ISDIR(found.st_mode) && found.st_uid == geteuid() && !(found.st_mode & 022);
}

static bool is_written(const char *path, const char *library)
{
    char text[4100] = "";
    FILE *file = fopen(path, "re");
    bool same = file && fgets(text, sizeof(text), file);

    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return same && !strcmp(text, library);
}

/* Writes the file under another name and renames it, as another program may be starting. */
static bool write_it(const char *folder, const char *library)
{
    char path[4200], new[4300];
    FILE *file;
    bool well;

    snprintf(path, sizeof(path), "%s/vocl.icd", folder);
    if (is_written(path, library))
        return true;
    snprintf(new, sizeof(new), "%s.%d", path, (int)getpid());
    file = fopen(new, "wex");
    if (!file)
        return false;
    well = fprintf(file, "%s\n", library) > 0;
    well = !fclose(file) && well && !rename(new, path);
    if (!well)
        unlink(new);
    return well;
}

static char *try_folder(const char *base, const char *name, const char *library)
{
    char *folder;

    if (!base || *base != '/' || asprintf(&folder, "%s/%s", base, name) < 0)
        return NULL;
    mkdir(folder, 0700);
    if (is_ours(folder) && write_it(folder, library))
        return folder;
    free(folder);
    return NULL;
}

char *vendors_of_bundle(const char *library)
{
    const uint64_t hash = hash_bytes(library, strlen(library)); /* one folder for each place where VOCL is installed */
    char name[64], *folder;

    snprintf(name, sizeof(name), "vocl-vendors-%u-%016llx", geteuid(), (unsigned long long)hash);
    folder = try_folder(getenv("XDG_RUNTIME_DIR"), name, library);
    if (!folder)
        folder = try_folder("/tmp", name, library);
    if (!folder)
        folder = try_folder("/dev/shm", name, library);
    if (!folder)
        fprintf(stderr,
                "vocl: no folder for an ICD file (XDG_RUNTIME_DIR, /tmp, /dev/shm: %s): --interpose preload alone\n",
                strerror(errno));
    return folder;
}
