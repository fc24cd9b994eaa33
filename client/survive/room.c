/* Room for contents: a file gets its blocks at once, and a full disk is an error here, not a signal later. */
#include "client/survive/room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool room_begin(struct room *room, const char *directory)
{
    *room = (struct room){.fd = -1};
    if (directory && *directory)
        room->directory = strdup(directory);
    return !directory || !*directory || room->directory;
}

void room_unmap(struct room *room)
{
    if (room->bytes)
        munmap(room->bytes, room->mapped);
    room->bytes = NULL;
    room->mapped = 0;
}

void room_drop(struct room *room)
{
    room_unmap(room);
    if (room->fd >= 0)
        close(room->fd);
    room->fd = -1;
}

void room_end(struct room *room)
{
    room_drop(room);
    free(room->directory);
}

static int open_file(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char path[PATH_MAX];

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (snprintf(path, sizeof(path), "%s/vocl-XXXXXX", directory) >= (int)sizeof(path))
        return errno = ENAMETOOLONG, -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static int refuse(char *reason, size_t size, int error, const char *what, const char *where)
{
    snprintf(reason, size, "%s%s: %s", what, where, strerror(-error));
    return error;
}

int room_take(struct room *room, char *reason, size_t size)
{
    int error;

    if (!room->size)
        return 0;
    if (room->directory) {
        if (room->fd < 0)
            room->fd = open_file(room->directory);
        if (room->fd < 0)
            return refuse(reason, size, -errno, "no file for contents in ", room->directory);
        error = posix_fallocate(room->fd, 0, (off_t)room->size);
        if (error)
            return refuse(reason, size, -error, "no room for the contents in ", room->directory);
    }
    if (!room_map(room))
        return refuse(reason, size, -errno, "no room for the contents in ",
                      room->directory ? room->directory : "memory");
    return 0;
}

uint8_t *room_map(struct room *room)
{
    void *bytes;

    if (room->mapped == room->size)
        return room->bytes;
    if (room->bytes)
        bytes = mremap(room->bytes, room->mapped, room->size, MREMAP_MAYMOVE);
    else
        bytes = mmap(NULL, room->size, PROT_READ | PROT_WRITE, room->fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
                     room->fd, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    room->bytes = bytes;
    room->mapped = room->size;
    if (room->fd < 0) {
        madvise(bytes, room->size, MADV_HUGEPAGE);
        madvise(bytes, room->size, MADV_DONTFORK); /* whose child has another session */
    }
    return room->bytes;
}
