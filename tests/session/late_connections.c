/*
 * Preloaded: a worker delays its second connection by $VOCL_TEST_LATE seconds, like a worker on a busy machine. For
 * late_connections.sh.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    static atomic_uint count;
    int (*real)(int, const struct sockaddr *, socklen_t) =
        (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
    const char *late = getenv("VOCL_TEST_LATE");
    const bool meets = address->sa_family == AF_UNIX && !((const struct sockaddr_un *)address)->sun_path[0];

    if (late && meets && !strcmp(program_invocation_short_name, "vocl-proxy") && atomic_fetch_add(&count, 1) == 1)
        poll(NULL, 0, atoi(late) * 1000);
    return real(fd, address, length);
}
