/*
 * PoCL keeps what it builds in a folder of the user's, where processes that build the same program at the same time
 * take each other's files away: in 3.1 the build fails then, or the process ends by an assertion. Workers of one host
 * are such processes, and they are all told to build at once. So those of one user take turns with what is the same,
 * which the second one has in the folder then.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "executor/internal.h"

#define MOST_MS 30000 /* for another's, which may stand still */

static bool is_pocl(cl_device_id device)
{
    cl_platform_id platform = NULL;
    char name[64] = "";

    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    if (platform)
        clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
    return !strcmp(name, "Portable Computing Language");
}

/* Where PoCL has its folder, which is there when it has devices. */
static int open_file(void)
{
    const char *own = getenv("POCL_CACHE_DIR"), *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *folder = own ? own : caches ? caches : home ? home : "/tmp";
    char path[4096];

    snprintf(path, sizeof(path), "%s%s/vocl-turns", folder,
             own               ? ""
             : !caches && home ? "/.cache/pocl/kcache"
                               : "/pocl/kcache");
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Options make another program of it for PoCL, too, but then who waits does so in vain for a moment only. */
static uint64_t hash_source(cl_program program)
{
    size_t size = 0;
    uint64_t hash = 0;
    char *source;

    if (clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size) || !size)
        return 0;
    source = malloc(size);
    if (source && !clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, source, NULL))
        hash = hash_bytes(source, size);
    free(source);
    return hash;
}

int build_turn_take(cl_device_id device, cl_uint count, const cl_program *programs)
{
    struct flock turn = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    const long until = clock_ms() + MOST_MS;
    uint64_t hash = 0;
    int fd = is_pocl(device) ? open_file() : -1;

    if (fd < 0)
        return -1;
    for (cl_uint i = 0; i < count; i++)
        hash = hash * 31 + hash_source(programs[i]);
    turn.l_start = (off_t)(hash >> 2); /* a place in the file for each source */
    while (fcntl(fd, F_OFD_SETLK, &turn)) {
        if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || clock_ms() >= until) {
            vocl_log(LOG_INFO, "a build goes on without its turn: %s", strerror(errno));
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return fd;
}

void build_turn_leave(int fd)
{
    if (fd >= 0)
        close(fd);
}
