/*
 * PoCL caches its builds in a folder of the user's, where processes that build the same program at the same time take
 * each other's files away: in 3.1 the build then fails, or an assertion ends the process. Workers of one host are such
 * processes, and all are asked to build at the same time. So the workers of a user take turns with what none of them
 * has built yet; the later ones find it in the cache. A link fails even if everything is there, as PoCL writes it anew,
 * so for links they take turns each time. A file in the folder has a byte for each program, by a hash: it is locked
 * during the build, and set after it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "executor/internal.h"

#define MOST_MS 10000 /* milliseconds to wait for another worker, which may be stopped */
#define PLACES (1u << 20)

/* Opens the file in PoCL's cache folder, which exists once PoCL has devices. */
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

/* Hashes the source of a program that is built; for a link, also the options with which it was compiled. */
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

/* Whether the program has been built since the folder was made. */
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
            vocl_log(LOG_INFO, "a build starts without waiting for its turn: %s", strerror(errno));
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
        vocl_log(LOG_INFO, "cannot record that a program is built: %s", strerror(errno));
    close(turn.fd);
}
