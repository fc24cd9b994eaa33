/*
 * PoCL keeps what it builds in a folder of the user's, where processes that build the same program at the same time
 * take each other's files away: in 3.1 the build fails then, or the process ends by an assertion. Workers of one host
 * are such processes, and they are all told to build at once. So those of one user take turns with what none has built
 * yet; the others find it in the folder then. A link fails also if all is there (PoCL writes it anew), so with links
 * turns are taken each time. A file there has a byte for each program, by a hash, which is locked while it is built,
 * and set when it is.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "executor/internal.h"

#define MOST_MS 10000 /* for another's, which may stand still */
#define PLACES (1u << 20)

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

/* The source of one that is to be built; of one that is to be linked with others, how it was compiled, too. */
static uint64_t hash_program(cl_program program, cl_device_id compiled_for)
{
    size_t size = 0, more = 0;
    uint64_t hash = 0;
    char *text;

    clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size);
    if (compiled_for)
        clGetProgramBuildInfo(program, compiled_for, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &more);
    text = calloc(1, size + more + 1);
    if (!text)
        return 0;
    if (size && clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, text, NULL))
        size = 0;
    if (more && clGetProgramBuildInfo(program, compiled_for, CL_PROGRAM_BUILD_OPTIONS, more, text + size, NULL))
        more = 0;
    hash = hash_bytes(text, size + more);
    free(text);
    return hash;
}

/* Whether it has been built since the folder was made. */
static bool is_built(const struct build_turn *turn)
{
    char mark = 0;

    return pread(turn->fd, &mark, 1, turn->at) == 1 && mark;
}

static void await(const struct build_turn *turn)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = turn->at, .l_len = 1};
    const long until = clock_ms() + MOST_MS;

    while ((turn->always || !is_built(turn)) && fcntl(turn->fd, F_OFD_SETLK, &lock)) {
        if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || clock_ms() >= until) {
            vocl_log(LOG_INFO, "a build goes on without its turn: %s", strerror(errno));
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

struct build_turn build_turn_take(cl_device_id device, const char *options, bool links, cl_uint count,
                                  const cl_program *programs)
{
    struct build_turn turn = {.fd = driver_shares_builds(device) ? open_file() : -1, .always = links};
    uint64_t hash = hash_bytes(options ? options : "", options ? strlen(options) : 0) + links;

    if (turn.fd < 0)
        return turn;
    for (cl_uint i = 0; i < count; i++)
        hash = hash * 31 + hash_program(programs[i], links ? device : NULL);
    turn.at = (off_t)(hash % PLACES);
    await(&turn);
    return turn;
}

void build_turn_leave(struct build_turn turn, bool built)
{
    if (turn.fd < 0)
        return;
    if (built && !is_built(&turn) && pwrite(turn.fd, "+", 1, turn.at) != 1)
        vocl_log(LOG_INFO, "that a program is built cannot be noted: %s", strerror(errno));
    close(turn.fd);
}
