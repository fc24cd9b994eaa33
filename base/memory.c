#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

int memory_of_process(uint32_t process, uint32_t descriptor, uint64_t *size)
{
    struct stat file;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", process, descriptor);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &file) || !S_ISREG(file.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    *size = (uint64_t)file.st_size;
    return fd;
}
