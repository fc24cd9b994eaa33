/*
 * Preloaded into a program and its workers by the script steps: the K-th call of libc of a kind fails.
 * VOCL_FAULT=POINT:K:WHO:FILE, as in base/fault.h, with these points:
 *
 *     malloc       an allocation, with NULL
 *     descriptor   a call that returns a new descriptor, with EMFILE
 *     write        a write to a file that has a name, with ENOSPC
 *
 * WHO is the name of the process: program, vocl-proxy, vocl-launcher or vocl. Only calls by VOCL's own code count, as
 * their return addresses show: how the program, the driver or libc handle a failure is not tested. This is a library
 * outside of VOCL, so that nothing of it is installed, and so that new calls in VOCL are counted without further
 * changes.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define FAILS(kind) fails(kind, __builtin_return_address(0))
#define REAL(name) ((__typeof__(&name))real(#name))

enum kind { MALLOC, DESCRIPTOR, WRITE, KINDS };

static const char *const names[KINDS] = {"malloc", "descriptor", "write"};

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static bool begun, counts;
static int kind_wanted = -1;
static unsigned long at;
static const char *file;
static atomic_ulong steps;

static const char *who(void)
{
    return strncmp(program_invocation_short_name, "vocl", 4) ? "program" : program_invocation_short_name;
}

static void begin(void)
{
    static char own[4096];
    const char *setting = getenv("VOCL_FAULT");
    char kind[16], whom[32];
    int read = 0;

    begun = true;
    if (!setting || strlen(setting) >= sizeof(own))
        return;
    strcpy(own, setting);
    counts = !strncmp(own, "count:", 6);
    if (counts)
        file = own + 6;
    if (counts || sscanf(own, "%15[^:]:%lu:%31[^:]:%n", kind, &at, whom, &read) != 3 || !read || strcmp(whom, who()))
        return;
    file = own + read;
    for (int i = 0; i < KINDS; i++) {
        if (!strcmp(kind, names[i]))
            kind_wanted = i;
    }
}

/* Whether the caller is libvocl, one of its plugins, or a program of VOCL's. */
static bool is_ours(void *caller)
{
    struct dl_find_object found;
    const char *name;

    if (_dl_find_object(caller, &found))
        return false;
    name = found.dlfo_link_map->l_name;
    if (!*name)
        return !strncmp(program_invocation_short_name, "vocl", 4);
    name = strrchr(name, '/');
    return name && (!strncmp(name, "/libvocl", 8) || !strncmp(name, "/vocl-", 6));
}

/* Makes system calls directly, as libc's functions are counted here. */
static void note(enum kind kind)
{
    char line[100];
    const int length = snprintf(line, sizeof(line), "%s %s %d\n", who(), names[kind], (int)getpid());
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT, 0600);

    if (fd < 0)
        return;
    syscall(SYS_write, fd, line, length);
    syscall(SYS_close, fd);
}

/* Writes which call failed, for addr2line. */
static void say_where(int fd, void *caller)
{
    struct dl_find_object found;
    char line[400];
    int length;

    if (_dl_find_object(caller, &found))
        return;
    length =
        snprintf(line, sizeof(line), "%s %#lx\n", *found.dlfo_link_map->l_name ? found.dlfo_link_map->l_name : who(),
                 (unsigned long)caller - found.dlfo_link_map->l_addr - 1);
    syscall(SYS_write, fd, line, length);
}

static bool strikes(void *caller)
{
    int fd;

    if (atomic_fetch_add(&steps, 1) + 1 != at)
        return false;
    fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return false;
    say_where(fd, caller);
    syscall(SYS_close, fd);
    return true;
}

static bool fails(enum kind kind, void *caller)
{
    const int before = errno;
    bool failing = false;

    if (!begun)
        begin();
    if ((counts || kind_wanted == (int)kind) && is_ours(caller)) {
        if (counts)
            note(kind);
        else
            failing = strikes(caller);
    }
    errno = !failing ? before : kind == MALLOC ? ENOMEM : kind == DESCRIPTOR ? EMFILE : ENOSPC;
    return failing;
}

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* ---- malloc ---- */

EXPORT void *malloc(size_t size)
{
    return FAILS(MALLOC) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    return FAILS(MALLOC) ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
    return FAILS(MALLOC) ? NULL : __libc_realloc(memory, size);
}

EXPORT void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return FAILS(MALLOC) ? NULL : __libc_realloc(memory, bytes);
}

EXPORT char *strdup(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = FAILS(MALLOC) ? NULL : __libc_malloc(size);

    return copy ? memcpy(copy, text, size) : NULL;
}

EXPORT char *strndup(const char *text, size_t most)
{
    const size_t length = strnlen(text, most);
    char *copy = FAILS(MALLOC) ? NULL : __libc_calloc(1, length + 1);

    return copy ? memcpy(copy, text, length) : NULL;
}

EXPORT int posix_memalign(void **memory, size_t alignment, size_t size)
{
    return FAILS(MALLOC) ? ENOMEM : REAL(posix_memalign)(memory, alignment, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return FAILS(MALLOC) ? NULL : REAL(aligned_alloc)(alignment, size);
}

EXPORT int vasprintf(char **text, const char *format, va_list arguments)
{
    return FAILS(MALLOC) ? -1 : REAL(vasprintf)(text, format, arguments);
}

EXPORT int asprintf(char **text, const char *format, ...)
{
    va_list arguments;
    int length;

    if (FAILS(MALLOC))
        return -1;
    va_start(arguments, format);
    length = REAL(vasprintf)(text, format, arguments);
    va_end(arguments);
    return length;
}

/* ---- descriptor ---- */

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name)                                                                                                     \
    EXPORT int name(const char *path, int flags, ...)                                                                  \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        mode_t mode;                                                                                                   \
                                                                                                                       \
        va_start(arguments, flags);                                                                                    \
        mode = mode_of(flags, arguments);                                                                              \
        va_end(arguments);                                                                                             \
        return FAILS(DESCRIPTOR) ? -1 : REAL(name)(path, flags, mode);                                                 \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    EXPORT int name(int folder, const char *path, int flags, ...)                                                      \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        mode_t mode;                                                                                                   \
                                                                                                                       \
        va_start(arguments, flags);                                                                                    \
        mode = mode_of(flags, arguments);                                                                              \
        va_end(arguments);                                                                                             \
        return FAILS(DESCRIPTOR) ? -1 : REAL(name)(folder, path, flags, mode);                                         \
    }
OPENAT(openat)
OPENAT(openat64)

EXPORT FILE *fopen(const char *path, const char *mode)
{
    return FAILS(DESCRIPTOR) ? NULL : REAL(fopen)(path, mode);
}

EXPORT int socket(int domain, int type, int protocol)
{
    return FAILS(DESCRIPTOR) ? -1 : REAL(socket)(domain, type, protocol);
}

EXPORT int socketpair(int domain, int type, int protocol, int pair[2])
{
    return FAILS(DESCRIPTOR) ? -1 : REAL(socketpair)(domain, type, protocol, pair);
}

EXPORT int pipe(int pair[2])
{
    return FAILS(DESCRIPTOR) ? -1 : REAL(pipe)(pair);
}

EXPORT int pipe2(int pair[2], int flags)
{
    return FAILS(DESCRIPTOR) ? -1 : REAL(pipe2)(pair, flags);
}

EXPORT int dup(int fd)
{
    return FAILS(DESCRIPTOR) ? -1 : REAL(dup)(fd);
}

#define FCNTL(name)                                                                                                    \
    EXPORT int name(int fd, int command, ...)                                                                          \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        void *argument;                                                                                                \
                                                                                                                       \
        va_start(arguments, command);                                                                                  \
        argument = va_arg(arguments, void *);                                                                          \
        va_end(arguments);                                                                                             \
        return (command == F_DUPFD || command == F_DUPFD_CLOEXEC) && FAILS(DESCRIPTOR)                                 \
                   ? -1                                                                                                \
                   : REAL(name)(fd, command, argument);                                                                \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    return FAILS(DESCRIPTOR) ? -1 : REAL(accept4)(fd, address, length, flags);
}

EXPORT int memfd_create(const char *name, unsigned flags)
{
    return FAILS(DESCRIPTOR) ? -1 : REAL(memfd_create)(name, flags);
}

EXPORT int epoll_create1(int flags)
{
    return FAILS(DESCRIPTOR) ? -1 : REAL(epoll_create1)(flags);
}

EXPORT int eventfd(unsigned value, int flags)
{
    return FAILS(DESCRIPTOR) ? -1 : REAL(eventfd)(value, flags);
}

EXPORT int timerfd_create(clockid_t clock, int flags)
{
    return FAILS(DESCRIPTOR) ? -1 : REAL(timerfd_create)(clock, flags);
}

/* ---- write ---- */

/* Whether fd is a file that the process opened itself: stderr may lead to a file, too, and does not count. */
static bool is_file(int fd)
{
    struct stat file_of;

    return fd > 2 && !fstat(fd, &file_of) && S_ISREG(file_of.st_mode);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t size)
{
    return is_file(fd) && FAILS(WRITE) ? -1 : REAL(write)(fd, bytes, size);
}

#define PWRITE(name)                                                                                                   \
    EXPORT ssize_t name(int fd, const void *bytes, size_t size, off_t offset)                                          \
    {                                                                                                                  \
        return is_file(fd) && FAILS(WRITE) ? -1 : REAL(name)(fd, bytes, size, offset);                                 \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

/* Writes what the stream has buffered. */
EXPORT int fflush(FILE *stream)
{
    return stream && is_file(fileno(stream)) && FAILS(WRITE) ? EOF : REAL(fflush)(stream);
}

EXPORT int fclose(FILE *stream)
{
    const bool failing = is_file(fileno(stream)) && FAILS(WRITE);

    return REAL(fclose)(stream) || failing ? EOF : 0;
}
