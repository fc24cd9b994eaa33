/* What a start needs of the machine, and of the program's limits. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/settings.h"
#include "transport/launch/launch.h"

#define FILES 1024      /* descriptors that a small session needs */
#define FILES_EACH 4    /* in addition for each worker */
#define FILES_NEEDED 36 /* of a worker that compiles a kernel */

int host_lift_limit(unsigned workers, struct rlimit *before, char *why, size_t why_size)
{
    const rlim_t files = FILES + FILES_EACH * (rlim_t)workers;
    struct rlimit higher;

    if (getrlimit(RLIMIT_NOFILE, before))
        return -errno;
    if (before->rlim_max < FILES_NEEDED) {
        snprintf(why, why_size, "the program may open %lu files (ulimit -n), and its workers need %u",
                 (unsigned long)before->rlim_max, FILES_NEEDED);
        return -EMFILE;
    }
    higher = *before;
    if (higher.rlim_cur < files)
        higher.rlim_cur = higher.rlim_max < files ? higher.rlim_max : files;
    return setrlimit(RLIMIT_NOFILE, &higher) ? -errno : 0;
}

static bool loopback_is_down(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool down = fd >= 0 && connect(fd, (struct sockaddr *)&own, sizeof(own)) && errno == ENETUNREACH;

    if (fd >= 0)
        close(fd);
    return down;
}

void host_explain(char *why, size_t why_size)
{
    char said[512];

    snprintf(said, sizeof(said), "%s", why);
    if (access("/proc/self/fd", X_OK))
        snprintf(why, why_size, "MPI needs /proc, which is not mounted: %s", said);
    else if (!strcmp(settings_string(SETTING_MPI), "openmpi") && loopback_is_down())
        snprintf(why, why_size, "Open MPI needs the loopback interface, which is down (ip link set lo up): %s", said);
}
