/* See cache.h. */
#include "client/core/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/settings.h"
#include "base/socket.h"

#include "config.h"

#define FORMAT 1
#define MOST_BYTES (16u << 20) /* of a file */
#define MOST_FILES 512

struct head {
    char magic[8];
    uint32_t format, kind;
    char version[16]; /* of VOCL */
    uint64_t key_length, length;
    uint64_t hash; /* of all that follows */
};

static const char magic[8] = "VOCLkept";

/* Finds the cache's folder. Returns false if nothing is to be cached. make: creates the folder. */
static bool find_folder(char *path, size_t size, bool make)
{
    const char *wanted = settings_string(SETTING_CACHE), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;

    if (!strcmp(wanted, "off"))
        return false;
    if (*wanted)
        length = snprintf(path, size, "%s", wanted);
    else if (cache && *cache == '/')
        length = snprintf(path, size, "%s/vocl", cache);
    else if (home && *home == '/')
        length = snprintf(path, size, "%s/.cache/vocl", home);
    else
        return false;
    if (length < 0 || (size_t)length >= size)
        return false;
    for (char *at = path + 1; make && *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    return !make || !mkdir(path, 0700) || errno == EEXIST;
}

static bool find_file(enum cache_kind kind, const void *key, size_t key_length, char *path, size_t size, bool make)
{
    size_t used;

    if (!find_folder(path, size, make))
        return false;
    used = strlen(path);
    return (size_t)snprintf(path + used, size - used, "/%s-%016llx", kind == CACHE_NODE ? "node" : "build",
                            (unsigned long long)hash_bytes(key, key_length)) < size - used;
}

static bool read_all(int fd, void *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t got = read(fd, (uint8_t *)bytes + at, length - at);

        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

/* Reads a whole file, if it belongs to the user. */
static struct head *load(const char *path, size_t *length)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct head *head = NULL;
    struct stat status;

    if (fd < 0)
        return NULL;
    if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        (size_t)status.st_size >= sizeof(*head) && status.st_size <= MOST_BYTES)
        head = malloc((size_t)status.st_size);
    if (head && !read_all(fd, head, (size_t)status.st_size)) {
        free(head);
        head = NULL;
    }
    *length = head ? (size_t)status.st_size : 0;
    close(fd);
    return head;
}

static struct head head_of(enum cache_kind kind, size_t key_length, size_t length, uint64_t hash)
{
    struct head head = {.format = FORMAT, .kind = kind, .key_length = key_length, .length = length, .hash = hash};

    memcpy(head.magic, magic, sizeof(magic));
    strncpy(head.version, PACKAGE_VERSION, sizeof(head.version) - 1);
    return head;
}

bool cache_find(enum cache_kind kind, const void *key, size_t key_length, struct cached *found)
{
    char path[4096];
    size_t size;
    struct head *head, expected;
    uint8_t *rest;

    if (!find_file(kind, key, key_length, path, sizeof(path), false))
        return false;
    head = load(path, &size);
    if (!head)
        return false;
    rest = (uint8_t *)(head + 1);
    size -= sizeof(*head);
    if (size >= key_length) {
        expected = head_of(kind, key_length, size - key_length, hash_bytes(rest, size));
        if (!memcmp(head, &expected, sizeof(expected)) && !memcmp(rest, key, key_length)) {
            *found = (struct cached){head, rest + key_length, size - key_length};
            return true;
        }
    }
    free(head);
    return false;
}

void cache_free(struct cached *found)
{
    free(found->file);
    *found = (struct cached){0};
}

/* Makes room for one more file: removes the oldest if there are too many. */
static void make_room(const char *path)
{
    const char *end = strrchr(path, '/');
    char folder[4096], oldest[256] = "";
    struct timespec when = {0};
    const struct dirent *entry;
    unsigned count = 0;
    DIR *listing;

    snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path);
    listing = opendir(folder);
    while (listing && (entry = readdir(listing))) {
        struct stat status;

        if (*entry->d_name == '.' || fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
            continue;
        count++;
        if (*oldest && (status.st_mtim.tv_sec > when.tv_sec ||
                        (status.st_mtim.tv_sec == when.tv_sec && status.st_mtim.tv_nsec >= when.tv_nsec)))
            continue;
        when = status.st_mtim;
        snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
    }
    if (listing && count >= MOST_FILES)
        unlinkat(dirfd(listing), oldest, 0);
    if (listing)
        closedir(listing);
}

void cache_keep(enum cache_kind kind, const void *key, size_t key_length, const void *bytes, size_t length)
{
    const size_t size = key_length + length;
    char path[4096], beside[4096 + 32];
    uint8_t *rest;
    struct head head;
    bool good;
    int fd;

    if (size + sizeof(head) > MOST_BYTES || !find_file(kind, key, key_length, path, sizeof(path), true))
        return;
    rest = malloc(size + 1);
    if (!rest)
        return;
    memcpy(rest, key, key_length);
    memcpy(rest + key_length, bytes, length);
    head = head_of(kind, key_length, length, hash_bytes(rest, size));
    make_room(path);
    snprintf(beside, sizeof(beside), "%s.%ld", path, (long)getpid());
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        good = !write_all(fd, &head, sizeof(head)) && !write_all(fd, rest, size);
        good = !close(fd) && good;
        if (!good || rename(beside, path))
            unlink(beside);
    }
    free(rest);
}

void cache_drop(enum cache_kind kind, const void *key, size_t key_length)
{
    char path[4096];

    if (find_file(kind, key, key_length, path, sizeof(path), false))
        unlink(path);
}
