/* Which file a descriptor has. Programs close descriptors that they do not know, and take over their numbers. */
#ifndef VOCL_BASE_FILE_MARK_H
#define VOCL_BASE_FILE_MARK_H

#include <stdbool.h>
#include <sys/stat.h>

struct file_mark {
    dev_t device;
    ino_t inode;
};

/* Returns false if there is no such descriptor. */
static inline bool file_mark_get(int fd, struct file_mark *mark)
{
    struct stat file;

    if (fd < 0 || fstat(fd, &file))
        return false;
    *mark = (struct file_mark){file.st_dev, file.st_ino};
    return true;
}

/* Whether the descriptor still has that file. Only sockets, pipes, and files have marks of their own. */
static inline bool file_mark_fits(int fd, const struct file_mark *mark)
{
    struct file_mark now;

    return file_mark_get(fd, &now) && now.device == mark->device && now.inode == mark->inode;
}

#endif
