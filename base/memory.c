/* See memory.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

uint8_t *memory_map_at(uint64_t address, size_t size, int protection)
{
    void *wanted = (void *)(uintptr_t)address, *memory = MAP_FAILED;

    if (address >= MEMORY_LOWEST)
        memory = mmap(wanted, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MEMORY_AT, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (memory == wanted)
        return memory;
    munmap(memory, size);
    return NULL;
}

int memory_of_process(uint32_t process, uint32_t descriptor, uint64_t *size)
{
    struct stat file;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", process, descriptor);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &file) || !S_ISREG(file.st_mode) || file.st_uid != geteuid()) {
        close(fd);
        return -EINVAL;
    }
    *size = (uint64_t)file.st_size;
    return fd;
}

static int map(int fd, size_t bytes, void *at, uint8_t **out)
{
    void *memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);

    if (memory == MAP_FAILED)
        return -ENOMEM;
    *out = memory;
    return 0;
}

int memory_create(size_t bytes, void *at, uint8_t **out)
{
    int fd = memfd_create("vocl", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes) || fchmod(fd, S_IRUSR | S_IWUSR) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        error = -errno;
    else
        error = map(fd, bytes, at, out);
    if (error) {
        close(fd);
        return error;
    }
    return fd;
}

int memory_attach(uint32_t process, uint32_t descriptor, size_t bytes, void *at, uint8_t **out)
{
    uint64_t size = 0;
    int fd = memory_of_process(process, descriptor, &size), seals, error;

    if (fd < 0)
        return fd;
    seals = fcntl(fd, F_GET_SEALS);
    error = bytes && size >= bytes && seals >= 0 && seals & F_SEAL_SHRINK ? map(fd, bytes, at, out) : -EINVAL;
    close(fd);
    return error;
}

int memory_offer(size_t bytes, struct memory_address *address, uint8_t **out)
{
    struct memory_owner owner = {.process = (uint32_t)getpid()};
    uint8_t *memory;
    int fd;

    if (getrandom(owner.nonce, MEMORY_NONCE, 0) != MEMORY_NONCE)
        return -EIO;
    fd = memory_create(bytes, NULL, &memory);
    if (fd < 0)
        return fd;
    *address = (struct memory_address){.process = owner.process, .descriptor = (uint32_t)fd};
    memcpy(address->nonce, owner.nonce, MEMORY_NONCE);
    memcpy(memory, &owner, sizeof(owner));
    *out = memory;
    return fd;
}

int memory_accept(const struct memory_address *address, size_t bytes, uint8_t **out)
{
    uint8_t *memory;
    int error = memory_attach(address->process, address->descriptor, bytes, NULL, &memory);

    if (error)
        return error;
    if (memcmp(memory, address->nonce, MEMORY_NONCE)) {
        munmap(memory, bytes);
        return -EXDEV;
    }
    *out = memory;
    return 0;
}
