/* Preloaded: the second worker cannot connect to UNREACHABLE, an IPv4 address; other processes can. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    const char *where = getenv("UNREACHABLE"), *rank = getenv("PMI_RANK");
    const struct sockaddr_in *to = (const struct sockaddr_in *)address;

    if (where && address->sa_family == AF_INET && to->sin_addr.s_addr == inet_addr(where) && rank &&
        !strcmp(rank, "2")) {
        errno = ECONNREFUSED;
        return -1;
    }
    return (int)syscall(SYS_connect, fd, address, length);
}
