/* Chunks of a mapped file, one for each thread. See timeline.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/timeline.h"

#define MOST_PARTS 100

bool timeline_on;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* unmaps a thread's chunk when the thread ends */
static char folder[PATH_MAX];
static unsigned generation; /* of the file: a thread's chunk of an older file is not used */
static uint64_t chunks, dropped;
static struct timeline_clock clock_read; /* of the file */
static unsigned part;                    /* of the process: each library that writes has its own copy of this */

static _Thread_local struct {
    struct timeline_chunk *chunk;
    unsigned generation;
    bool inside; /* in timeline_put(): seen by a signal handler that calls OpenCL */
} mine __attribute__((tls_model("initial-exec")));

static void unmap(void *chunk)
{
    munmap(chunk, TIMELINE_CHUNK);
}

static void make_key(void)
{
    pthread_key_create(&key, unmap);
}

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What cannot be read, in a sandbox, is taken to be the same. */
static void know_clock(void)
{
    char id[40] = "";
    unsigned long long high = 0, low = 0;
    struct stat space;
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    size_t length = 0;

    if (fd >= 0) {
        const ssize_t got = pread(fd, id, sizeof(id) - 1, 0);

        close(fd);
        for (ssize_t i = 0; i < got; i++) {
            if (id[i] != '-')
                id[length++] = id[i];
        }
        id[length] = '\0';
        sscanf(id, "%16llx%16llx", &high, &low);
    }
    clock_read = (struct timeline_clock){.of = {high, low, stat("/proc/self/ns/time", &space) ? 0 : space.st_ino},
                                         .wall = read_ns(CLOCK_REALTIME) - read_ns(CLOCK_MONOTONIC)};
}

static void fill(struct timeline_chunk *chunk)
{
    chunk->process = (uint32_t)getpid();
    chunk->thread = (uint32_t)syscall(SYS_gettid);
    chunk->dropped = dropped;
    chunk->clock = clock_read;
    gethostname(chunk->host, sizeof(chunk->host) - 1);
    snprintf(chunk->program, sizeof(chunk->program), "%s", program_invocation_short_name);
    prctl(PR_GET_NAME, chunk->name);
    chunk->magic = TIMELINE_MAGIC;
}

static int open_part(int flags)
{
    char path[PATH_MAX + 128], host[64] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(path, sizeof(path), "%s/%s.%d.%u" TIMELINE_SUFFIX, folder, host, (int)getpid(), part);
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
}

static int open_own(void)
{
    int fd = -1;

    know_clock();
    for (part = 0; part < MOST_PARTS && fd < 0; part++) {
        fd = open_part(O_CREAT | O_EXCL);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

/* Opens the file anew for each chunk: the program may close descriptors that it does not know. */
static struct timeline_chunk *map_next(void)
{
    const off_t at = (off_t)(chunks * TIMELINE_CHUNK);
    struct timeline_chunk *chunk = MAP_FAILED;
    int fd;

    if ((chunks + 1) * TIMELINE_CHUNK > settings_bytes(SETTING_TIMELINE_BYTES))
        return NULL;
    fd = chunks ? open_part(0) : open_own();
    if (fd < 0)
        return NULL;
    if (!posix_fallocate(fd, at, TIMELINE_CHUNK)) /* a full disk must not end the program by SIGBUS */
        chunk = mmap(NULL, TIMELINE_CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, at);
    close(fd);
    if (chunk == MAP_FAILED)
        return NULL;
    chunks++;
    return chunk;
}

static struct timeline_chunk *next_chunk(void)
{
    struct timeline_chunk *chunk;

    pthread_once(&once, make_key);
    pthread_mutex_lock(&lock);
    chunk = *folder ? map_next() : NULL;
    if (chunk)
        fill(chunk);
    else
        dropped++;
    if (mine.chunk)
        unmap(mine.chunk);
    mine.chunk = chunk;
    mine.generation = generation;
    pthread_mutex_unlock(&lock);
    pthread_setspecific(key, chunk);
    return chunk;
}

static bool has_room(const struct timeline_chunk *chunk, size_t length)
{
    return chunk && mine.generation == __atomic_load_n(&generation, __ATOMIC_RELAXED) &&
           sizeof(*chunk) + atomic_load_explicit(&chunk->used, memory_order_relaxed) + length <= TIMELINE_CHUNK;
}

bool timeline_put_short(enum timeline_kind kind, uint32_t which)
{
    const struct {
        uint16_t kind, length;
        uint32_t which;
    } head = {(uint16_t)kind, 1, which};
    struct timeline_chunk *chunk = mine.chunk;
    uint64_t used;

    if (mine.inside || !has_room(chunk, sizeof(head)))
        return false;
    used = atomic_load_explicit(&chunk->used, memory_order_relaxed);
    memcpy((uint8_t *)(chunk + 1) + used, &head, sizeof(head));
    atomic_store_explicit(&chunk->used, used + sizeof(head), memory_order_release);
    return true;
}

void timeline_put(enum timeline_kind kind, uint32_t which, uint64_t from, uint64_t to, const void *more, size_t length)
{
    const size_t whole = (sizeof(struct timeline_record) + length + 7) & ~(size_t)7;
    const struct timeline_record head = {(uint16_t)kind, (uint16_t)(whole / 8), which, from, to};
    const int error = errno;
    struct timeline_chunk *chunk;

    if (whole > TIMELINE_MOST || mine.inside)
        return;
    mine.inside = true;
    chunk = has_room(mine.chunk, whole) ? mine.chunk : next_chunk();
    if (chunk) {
        const uint64_t used = atomic_load_explicit(&chunk->used, memory_order_relaxed);
        uint8_t *at = (uint8_t *)(chunk + 1) + used;

        memcpy(at, &head, sizeof(head));
        if (length)
            memcpy(at + sizeof(head), more, length);
        atomic_store_explicit(&chunk->used, used + whole, memory_order_release);
    }
    mine.inside = false;
    errno = error;
}

int timeline_start(const char *where)
{
    char path[PATH_MAX];

    if (!realpath(where, path) || access(path, W_OK | X_OK))
        return -errno;
    pthread_mutex_lock(&lock);
    strcpy(folder, path);
    chunks = dropped = 0; /* an earlier file of the same name may be gone */
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    __atomic_store_n(&timeline_on, true, __ATOMIC_RELAXED);
    return 0;
}

const char *timeline_folder(void)
{
    return folder;
}

void timeline_stop(void)
{
    __atomic_store_n(&timeline_on, false, __ATOMIC_RELAXED);
}

/* The child gets a file of its own, if it ever records. The chunk stays mapped: it is the parent's. */
void timeline_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    mine.chunk = NULL;
    mine.inside = false;
    chunks = dropped = 0;
    pthread_once(&once, make_key);
    pthread_setspecific(key, NULL);
}
