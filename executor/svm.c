/* Shared virtual memory: the application's, mapped here at the address it has there. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "executor/internal.h"

/* The process and descriptor may be of another host: the nonce tells. */
static int map(struct executor *x, const struct wire_share_memory *m)
{
    struct stat file;
    char path[64];
    void *memory;
    int fd, error = 0;

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", m->process, m->descriptor);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &file) || !S_ISREG(file.st_mode) || (uint64_t)file.st_size < m->size) {
        close(fd);
        return -EINVAL;
    }
    memory =
        mmap((void *)(uintptr_t)m->address, m->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    if (memory == MAP_FAILED)
        error = -errno;
    close(fd);
    if (error)
        return error;
    if (memory != (void *)(uintptr_t)m->address || memcmp(memory, m->nonce, m->nonce_length)) {
        munmap(memory, m->size);
        return -EXDEV;
    }
    x->shared = memory;
    x->shared_size = m->size;
    return 0;
}

/* But for the page of the nonce. */
bool svm_has(const struct executor *x, uint64_t address, uint64_t size)
{
    uint64_t first = (uintptr_t)x->shared + (uint64_t)sysconf(_SC_PAGESIZE),
             end = (uintptr_t)x->shared + x->shared_size;

    return x->shared && address >= first && address <= end && size <= end - address;
}

int exec_share_memory(struct executor *x, const struct wire_share_memory *m)
{
    struct wire_share_memory_reply reply = {.call = m->call};
    struct wire_buffer out = {0};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int error = 0;

    if (x->shared || m->nonce_length != 16 || !m->size || m->size % page || !m->address || m->address % page)
        return -EBADMSG;
    error = map(x, m);
    if (error) {
        vocl_log(LOG_INFO, "no shared virtual memory: %s", strerror(-error));
        reply.error = CL_OUT_OF_RESOURCES;
    }
    wire_put_share_memory_reply(&out, &reply);
    executor_send(x, &out);
    return 0;
}
